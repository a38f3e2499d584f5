"""Compare-and-swap of one object that several processes share, and the lost answer of a write to it.

The store's client repeats a write whose answer did not come. The repeat then meets the write's own first try and loses
the race to it. So a write that lost reads the stored object once. If those are the very bytes that it sent, it has won.
This is certain where no two writes send the same bytes. Therefore each version of a document carries the id of the
write that made it (`Revised`). For the same reason no two versions have the same ETag, and a late write finds nothing
to replace.

If another process has written since, a lost answer looks like a lost race. `create` and `swap` raise PreconditionLost
then. `update` calls `change` again, which must see by itself that its change was done.

After StoreUnavailable a write may have happened or may still happen: callers look before they conclude.
"""

import logging
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import EllipsisType
from typing import Any, BinaryIO, Generic, Protocol, Self, TypeVar

from livemem.errors import PreconditionLost
from livemem.store import stored_documents
from livemem.store.objects import Object, Store
from livemem.store.stored_documents import Line, StoredDocument

logger = logging.getLogger(__name__)

UPDATE_TRIES = 60
"""Enough for some forty processes that change one document at the same moment."""
PAUSE = 0.02
"""Seconds to wait at most after a first lost race; twice as long after each further one."""
DOUBLED = 5


class Stampable(Protocol):
    """A value that can be written by compare-and-swap."""

    def stamped(self, write_id: str) -> Self:
        """The same as a version of its own, made by this write."""

    def to_bytes(self) -> bytes:
        """The bytes to store. They hold the id of the write."""


class Revised(StoredDocument):
    """Base of such a document."""

    write_id: Line = ""
    """Id of the write that made this version."""

    def stamped(self, write_id: str) -> Self:
        """The document as this write makes it."""
        return self.model_copy(update={"write_id": write_id})


D = TypeVar("D", bound=StoredDocument)
T = TypeVar("T")
V = TypeVar("V", bound=Stampable)

Read = Callable[[Object], T]
"""A function that makes a value of an object. It decides what to do with one that can't be read, and may raise."""


@dataclass(frozen=True)
class Stored(Generic[T]):
    """A value as it was read or written under `key`, with the ETag that a swap needs."""

    key: str
    value: T
    etag: str
    age: timedelta = timedelta()
    """Age of the version when it was read, by the store's clock."""
    seen_at: datetime | None = None
    """When it was read, by the store's clock. None for one that was written and not read."""


@dataclass(frozen=True)
class WriteOutcome:
    """The stored object after `write_once`."""

    etag: str
    """The ETag of the stored object. Empty if the object is gone."""
    other: Object | None = None
    """The object that is stored instead of the given bytes, with other content."""

    @property
    def says_so(self) -> bool:
        """Whether the given bytes are stored, by this write or another one."""
        return bool(self.etag) and self.other is None

    @property
    def gone(self) -> bool:
        """Whether there was an object, which was gone a moment later."""
        return not self.etag


def or_none(kind: type[D]) -> Read[D | None]:
    """A reader of documents of this kind. It returns None for one that can't be read."""

    def read(item: Object) -> D | None:
        try:
            return kind.from_bytes(item.body)
        except ValueError:
            return None

    return read


def or_empty(kind: type[D]) -> Read[D]:
    """A reader of documents of this kind. It returns an empty one for one that can't be read: the document begins
    again.
    """

    def read(item: Object) -> D:
        try:
            return kind.from_bytes(item.body)
        except ValueError:
            logger.error("a document can't be read, and is started again", extra={"document": kind.__name__})  # noqa: TRY400
            return kind()

    return read


def find(store: Store, key: str, read: Read[T]) -> Stored[T] | None:
    """The value stored under the key, None where there is none: 1 GET. Raises StoreUnavailable, and the errors that
    `read` raises for an object that can't be read.
    """
    item = store.get(key)
    return of(item, read) if item else None


def of(item: Object, read: Read[T]) -> Stored[T]:
    """The value of an object that was read already: no request."""
    return Stored(item.key, read(item), item.etag, item.age, item.seen_at)


def create(
    store: Store, key: str, value: V, new_id: Callable[[], str], *, over: Stored[Any] | None = None
) -> Stored[V]:
    """Write a document where there is none; with `over`, over exactly that version: 1 PUT, and 1 GET if the race or the
    answer is lost.

    Raises StoreUnavailable, and PreconditionLost where another document is stored, or none over which to write.
    """
    stamped = value.stamped(new_id())
    written = write_once(store, key, stamped.to_bytes(), over=over.etag if over else None)
    if not written.says_so:
        raise PreconditionLost("Another process changed the object first. Try again.")
    return Stored(key, stamped, written.etag)


def swap(store: Store, stored: Stored[Any], value: V, new_id: Callable[[], str]) -> Stored[V]:
    """Write a document over exactly the version that was read or written: one try. Requests and errors as `create`."""
    return create(store, stored.key, value, new_id, over=stored)


@contextmanager
def race(*, lost: Exception) -> Iterator[None]:
    """Raise `lost` in the place of PreconditionLost: what it means here that another process was first."""
    try:
        yield
    except PreconditionLost:
        raise lost from None


def update(
    store: Store,
    key: str,
    change: Callable[[V | None], V | None],
    new_id: Callable[[], str],
    *,
    read: Read[V],
    current: Stored[V] | EllipsisType | None = ...,
) -> Stored[V] | None:
    """Write the document that `change` makes of the newest version, and return the stored one. `change` gets None where
    there is no version.

    `change` returns None to write nothing, and may be called again. 1 GET and 1 PUT. No GET where `current` is the
    newest version, None for no version. A document made of an older version is never written, but None is accepted
    from it too. Raises StoreUnavailable, what `read` raises, and PreconditionLost after 60 lost races.
    """
    last = find(store, key, read) if isinstance(current, EllipsisType) else current
    for attempt in range(UPDATE_TRIES):
        changed = change(last.value if last else None)
        if changed is None:
            return last
        write_id = new_id()
        changed = changed.stamped(write_id)
        body = changed.to_bytes()
        etag = write_if(store, key, body, over=last.etag if last else None)
        if etag:
            return Stored(key, changed, etag)
        if attempt or isinstance(current, EllipsisType):
            store.sleep(_pause(attempt, write_id))
        item = store.get(key)
        if item and item.body == body:
            # The first try of this write, whose answer was lost.
            return Stored(key, changed, item.etag, item.age, item.seen_at)
        last = of(item, read) if item else None
    raise PreconditionLost("Too many processes changed one document at the same time. Try again.")


def write_once(
    store: Store,
    key: str,
    body: bytes,
    *,
    over: str | None = None,
    content_type: str = stored_documents.JSON,
    metadata: Mapping[str, str] | None = None,
) -> WriteOutcome:
    """Write bytes where no object is, or over exactly the version with the ETag `over`, and return the stored object: 1
    PUT, and 1 GET if the race or the answer is lost.

    An object with the same bytes, and the same metadata if any are given, counts as written. This settles a lost answer
    for bytes that only this write sends. It also does for immutable objects, which any process may write. Raises
    StoreUnavailable.
    """
    etag = write_if(store, key, body, over=over, content_type=content_type, metadata=metadata)
    if etag:
        return WriteOutcome(etag)
    item = store.get(key)
    if not item:
        return WriteOutcome("")
    same = item.body == body and (metadata is None or dict(item.metadata) == dict(metadata))
    return WriteOutcome(item.etag, None if same else item)


def write_if(
    store: Store,
    key: str,
    body: bytes | BinaryIO,
    *,
    over: str | None = None,
    content_type: str = stored_documents.JSON,
    metadata: Mapping[str, str] | None = None,
) -> str | None:
    """As `write_once`, but without the GET. Returns the ETag, None if the race or the answer is lost: 1 PUT.

    For callers that need not know which of the two was lost, or see it in an object that they read anyway.
    """
    try:
        return store.put(
            key, body, if_match=over, if_none_match=over is None, content_type=content_type, metadata=metadata
        )
    except PreconditionLost:
        return None


def stands(store: Store, key: str, body: bytes) -> bool:
    """Whether exactly these bytes are stored: 1 GET. The check that `write_if` leaves to its caller."""
    item = store.get(key)
    return item is not None and item.body == body


def _pause(attempt: int, write_id: str) -> float:
    """Seconds to wait, at random, so that the losers of a race do not meet again."""
    most: float = PAUSE * 2 ** min(attempt, DOUBLED)
    return most * zlib.crc32(write_id.encode()) / 2**32
