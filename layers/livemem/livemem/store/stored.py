"""One small document that several processes share, changed by compare-and-swap alone.

Each write has an id of its own. So no two versions have the same bytes, and thus the same ETag: a write that comes
late finds nothing to replace. And a write whose answer was lost is recognised, unless somebody has written since: then
`change` is asked again, and must see by itself that it was done.
"""

import logging
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from livemem.errors import PreconditionLost
from livemem.store import documents
from livemem.store.documents import Document
from livemem.store.objects import Store

logger = logging.getLogger(__name__)

UPDATE_TRIES = 60
"""Enough for some forty processes that change one document at the same moment."""
PAUSE = 0.02
"""Seconds to wait at most after a first lost race; twice as long after each further one."""
DOUBLED = 5


class Revised(Document):
    """Base of such a document."""

    rev: str = ""
    """Id of the write that made this version."""


D = TypeVar("D", bound=Revised)


@dataclass(frozen=True)
class Stored(Generic[D]):
    """A document as it was read or written; `etag` is None where there is none yet."""

    value: D
    etag: str | None = None


def find(store: Store, key: str, kind: type[D]) -> Stored[D]:
    """The document, an empty one where there is none: 1 GET. One that can't be read counts as empty, and is replaced.

    Raises StoreUnavailable.
    """
    found = store.get(key)
    if not found:
        return Stored(kind())
    try:
        return Stored(kind.from_bytes(found.body), found.etag)
    except ValueError:
        logger.error("a document can't be read, and begins anew", extra={"document": kind.__name__})  # noqa: TRY400
        return Stored(kind(), found.etag)


def update(
    store: Store,
    key: str,
    change: Callable[[D], D | None],
    new_id: Callable[[], str],
    *,
    kind: type[D],
    known: Stored[D] | None = None,
) -> Stored[D]:
    """Write what `change` makes of the newest version, and return it; None: nothing is to be written.

    1 GET and 1 PUT; no GET where `known` is the newest version. What rests on a version that is not the newest is never
    written, but None is taken from it as well. Raises StoreUnavailable, and PreconditionLost after 60 lost races.
    """
    seen = known or find(store, key, kind)
    for attempt in range(UPDATE_TRIES):
        changed = change(seen.value)
        if changed is None:
            return seen
        write_id = new_id()
        changed = changed.model_copy(update={"rev": write_id})
        try:
            etag = store.put(
                key,
                changed.to_bytes(),
                if_match=seen.etag,
                if_none_match=seen.etag is None,
                content_type=documents.JSON,
            )
        except PreconditionLost:
            if attempt or not known:
                store.sleep(_pause(attempt, write_id))
            seen = find(store, key, kind)
            if seen.value.rev == write_id:
                # Our own first try, whose answer was lost.
                return seen
        else:
            return Stored(changed, etag)
    raise PreconditionLost("Too many changes of one document at once.")


def _pause(attempt: int, write_id: str) -> float:
    """Seconds to wait; at random, so that those who lost do not meet again."""
    most: float = PAUSE * 2 ** min(attempt, DOUBLED)
    return most * zlib.crc32(write_id.encode()) / 2**32
