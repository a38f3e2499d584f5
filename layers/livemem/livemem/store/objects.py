"""The object store: the few operations that every part of the service needs.

A lost compare-and-swap raises `PreconditionLost`. A failure that may pass raises `StoreUnavailable`. After
StoreUnavailable a write may or may not have happened: callers look before they conclude. A write that did happen may
happen again: the client repeats a request whose answer it did not get, later, when the state has changed.

Only the store's own clock gives the age of an object (`age`): the clocks of two processes may differ by minutes.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar

from livemem.background import in_context
from livemem.errors import ConditionalWritesUnsupported, PreconditionLost, StoreUnavailable
from livemem.store import failures

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")

MARKDOWN = "text/markdown; charset=utf-8"
DELETE_BATCH = 1_000
"""Keys of one DeleteObjects request, S3's limit."""
CONFLICT_TRIES = 5
"""Tries after 409 ConditionalRequestConflict, which S3 answers while another conditional write is under way."""


class ThreadPool:
    """Up to `threads` threads that work at once, one of them the caller's own. They are started when first needed."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="store")

    def map(self, function: Callable[[T], R], todo: Sequence[T]) -> list[R]:
        """`function` of each item, in order of the items. The first error is raised."""
        if self._threads == 1 or len(todo) < 2:
            return [function(item) for item in todo]
        work = _Work(function, todo)
        helpers = [self._pool.submit(in_context(work.do)) for _ in range(min(self._threads, len(todo)) - 1)]
        work.do()
        for helper in helpers:
            # A helper that has not begun would find no items.
            if not helper.cancel():
                helper.result()
        return work.results()


class _Work(Generic[T, R]):
    """A list that several threads work off, each taking the next item."""

    def __init__(self, function: Callable[[T], R], todo: Sequence[T]) -> None:
        self._function = function
        self._todo = todo
        self._next = iter(range(len(todo)))
        self._lock = threading.Lock()
        self._done: dict[int, R] = {}
        self._failed: dict[int, BaseException] = {}

    def do(self) -> None:
        """Take items until none is left, or one has failed."""
        while True:
            with self._lock:
                index = None if self._failed else next(self._next, None)
            if index is None:
                return
            try:
                self._done[index] = self._function(self._todo[index])
            except BaseException as error:  # noqa: BLE001 - it is raised by `results`
                self._failed[index] = error

    def results(self) -> list[R]:
        """The results in the order of the items. Raises the error of the first that failed."""
        if self._failed:
            raise self._failed[min(self._failed)]
        return [self._done[index] for index in range(len(self._todo))]


@dataclass(frozen=True, kw_only=True)
class _Dated:
    last_modified: datetime
    seen_at: datetime
    """When the store answered, by its own clock."""

    @property
    def age(self) -> timedelta:
        """How long before the read it was written, in whole seconds."""
        return max(self.seen_at - self.last_modified, timedelta())


@dataclass(frozen=True, kw_only=True)
class Object(_Dated):
    """An object with its content. `etag` is the store's, quotes included."""

    key: str
    body: bytes
    etag: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    content_type: str = ""


@dataclass(frozen=True, kw_only=True)
class Entry(_Dated):
    """An object as a listing shows it. `size` in bytes."""

    key: str
    size: int
    etag: str


@dataclass(frozen=True)
class Slice:
    """The first objects of a range of keys. `more` says whether the range holds others behind them."""

    entries: list[Entry]
    more: bool


@dataclass(frozen=True, eq=False)
class Store:
    """One bucket. `threads` is how many requests run at once where an operation needs many. 1 keeps their order."""

    bucket: str
    v4: "S3Client"
    plain: "S3Client"
    """Signs PUT, GET and DELETE. Differs from `v4` only where S3_SIGNATURE=hybrid."""
    threads: int = 16
    sleep: Callable[[float], None] = time.sleep
    check: Callable[[], None] = lambda: None
    """A function called before each request. It may stop the request by raising its own error."""
    gives_sha256: bool = False
    """Whether the store is asked for the SHA-256 of its copies: S3 returns it, other stores may not know the option."""
    capability_checked: list[bool] = field(default_factory=list, repr=False)
    """Whether it obeys conditional writes, once that was tested (capability_check.py)."""
    _pool: ThreadPool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_pool", ThreadPool(self.threads))

    def checked(self, check: Callable[[], None]) -> "Store":
        """The same bucket and threads with another check."""
        other = replace(self, check=check)
        object.__setattr__(other, "_pool", self._pool)
        return other

    def get(self, key: str, *, first: int | None = None) -> Object | None:
        """The object, or None where there is none. `first` limits the read to that many bytes from the beginning."""
        self.check()
        part: dict[str, Any] = {"Range": f"bytes=0-{first - 1}"} if first else {}
        try:
            return _object(key, self.plain.get_object(Bucket=self.bucket, Key=key, **part))
        except failures.CLIENT_ERRORS as error:
            if failures.code(error) in failures.MISSING:
                return None
            if first and failures.code(error) in failures.NO_SUCH_RANGE:
                # There is no first byte of an empty object.
                return self.get(key)
            raise failures.own(error) from error

    def get_if_changed(self, key: str, etag: str) -> tuple[bool, Object | None]:
        """Whether the object has another ETag than `etag` by now. If so, also the object, None if it is gone."""
        self.check()
        try:
            return True, _object(key, self.plain.get_object(Bucket=self.bucket, Key=key, IfNoneMatch=etag))
        except failures.CLIENT_ERRORS as error:
            if failures.code(error) in failures.UNCHANGED:
                return False, None
            if failures.code(error) in failures.MISSING:
                return True, None
            raise failures.own(error) from error

    def get_many(self, object_keys: Sequence[str]) -> list[Object | None]:
        """The objects of these keys, in their order, None for those that do not exist. Read in parallel."""
        return self.map(self.get, object_keys)

    def put(
        self,
        key: str,
        body: bytes | BinaryIO,
        *,
        if_match: str | None = None,
        if_none_match: bool = False,
        content_type: str = MARKDOWN,
        metadata: Mapping[str, str] | None = None,
    ) -> str:
        """Write an object and return its ETag. A file is read from its beginning while it is sent.

        `if_match`: only over this ETag; `if_none_match`: only where no object is yet. Raises PreconditionLost.
        """
        condition: dict[str, Any] = {"IfMatch": if_match} if if_match else {}
        if if_none_match:
            condition["IfNoneMatch"] = "*"
        extra: dict[str, Any] = {"Metadata": dict(metadata)} if metadata else {}

        def send() -> Mapping[str, Any]:
            if not isinstance(body, bytes):
                body.seek(0)
            return self.plain.put_object(
                Bucket=self.bucket, Key=key, Body=body, ContentType=content_type, **condition, **extra
            )

        try:
            answer = self._with_patience(send)
        except failures.CLIENT_ERRORS as error:
            if condition and failures.code(error) in failures.LOST | failures.MISSING:
                raise PreconditionLost("Another process changed the object first. Try again.") from error
            if condition and failures.code(error) in failures.UNSUPPORTED:
                raise ConditionalWritesUnsupported("The object store refuses If-Match or If-None-Match.") from error
            raise failures.own(error) from error
        return str(answer["ETag"])

    def _with_patience(self, request: Callable[[], R]) -> R:
        """The request's answer. The request is repeated while S3 says that another conditional write is under way."""
        self.check()
        for attempt in range(CONFLICT_TRIES - 1):
            try:
                return request()
            except failures.ClientError as error:
                if failures.code(error) not in failures.CONFLICT:
                    raise
                self.sleep(0.05 * 2**attempt)
        return request()

    def delete(self, key: str, *, if_match: str | None = None) -> bool:
        """Delete an object; with `if_match` only while it has this ETag. False if it had another one.

        Stores that don't know conditional deletes ignore the condition: callers use it to save work, not for safety.
        """
        condition: dict[str, Any] = {"IfMatch": if_match} if if_match else {}
        try:
            self._with_patience(lambda: self.plain.delete_object(Bucket=self.bucket, Key=key, **condition))
        except failures.CLIENT_ERRORS as error:
            code = failures.code(error)
            if code in failures.MISSING:
                return True
            if condition and code in failures.LOST:
                return False
            raise failures.own(error) from error
        return True

    def delete_many(self, doomed: Sequence[str]) -> None:
        """Delete all the objects, 1,000 a request. Raises StoreUnavailable if one of them could not be deleted."""
        for start in range(0, len(doomed), DELETE_BATCH):
            self.check()
            batch = doomed[start : start + DELETE_BATCH]
            try:
                # A POST: stores that take old signatures for objects take the new one for it.
                answer = self.v4.delete_objects(
                    Bucket=self.bucket, Delete={"Objects": [{"Key": key} for key in batch], "Quiet": True}
                )
            except failures.CLIENT_ERRORS as error:
                raise failures.own(error) from error
            if answer.get("Errors"):
                logger.warning("store refused to delete objects", extra={"count": len(answer["Errors"])})
                raise StoreUnavailable("The store could not delete everything.")

    def first(self, prefix: str, *, start_after: str = "", stop: str = "") -> Slice:
        """Up to 1,000 objects below `prefix` with keys behind `start_after` and before `stop`: one request."""
        self.check()
        after: dict[str, Any] = {"StartAfter": start_after} if start_after else {}
        try:
            page = self.v4.list_objects_v2(Bucket=self.bucket, Prefix=prefix, MaxKeys=1_000, **after)
        except failures.CLIENT_ERRORS as error:
            raise failures.own(error) from error
        entries = _entries(page)
        within = [entry for entry in entries if not stop or entry.key < stop]
        return Slice(within, bool(page.get("IsTruncated")) and len(within) == len(entries))

    def scan(self, prefix: str, *, start_after: str = "", stop: str = "", limit: int | None = None) -> Iterator[Entry]:
        """The objects below `prefix` in the order of their keys, one request per 1,000.

        `limit` bounds their number. Up to 1,000 are one request. `stop` is a key to stop before.
        """
        token: dict[str, Any] = {"StartAfter": start_after} if start_after else {}
        rest = limit
        while True:
            self.check()
            size = 1_000 if rest is None else min(rest, 1_000)
            try:
                page = self.v4.list_objects_v2(Bucket=self.bucket, Prefix=prefix, MaxKeys=size, **token)
            except failures.CLIENT_ERRORS as error:
                raise failures.own(error) from error
            entries = _entries(page)
            for entry in entries:
                if stop and entry.key >= stop:
                    return
                yield entry
            if rest is not None:
                rest -= len(entries)
            if not page.get("IsTruncated") or (rest is not None and rest <= 0):
                return
            token = {"ContinuationToken": page["NextContinuationToken"]}

    def folders(self, below: str = "", *, start_after: str = "") -> Iterator[str]:
        """The first parts of the keys `below` a prefix (of all: `demo`, `_system`), in order, one request per 1,000."""
        token: dict[str, Any] = {"StartAfter": start_after} if start_after else {}
        if below:
            token["Prefix"] = below
        while True:
            self.check()
            try:
                page = self.v4.list_objects_v2(Bucket=self.bucket, Delimiter="/", **token)
            except failures.CLIENT_ERRORS as error:
                raise failures.own(error) from error
            for folder in page.get("CommonPrefixes", []):
                yield folder["Prefix"].removeprefix(below).rstrip("/")
            if not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": page["NextContinuationToken"], **({"Prefix": below} if below else {})}

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """`function` of each item, in order of the items, up to `threads` at once. The first error is raised.

        `function` may call `map` itself: the calling thread does a part of the work, so a call never waits for a free
        thread.
        """
        return self._pool.map(function, list(items))

    def concurrently(self, *calls: Callable[[], Any]) -> list[Any]:
        """The results of some calls, in their order, as `map` does it."""
        return self.map(lambda call: call(), calls)


def _object(key: str, answer: Mapping[str, Any]) -> Object:
    return Object(
        key=key,
        body=answer["Body"].read(),
        etag=answer["ETag"],
        metadata=answer.get("Metadata", {}),
        content_type=answer.get("ContentType", ""),
        last_modified=answer["LastModified"],
        seen_at=date(answer),
    )


def _entries(page: Mapping[str, Any]) -> list[Entry]:
    now = date(page)
    return [
        Entry(
            key=item["Key"],
            size=item["Size"],
            etag=item["ETag"],
            last_modified=item["LastModified"],
            seen_at=now,
        )
        for item in page.get("Contents", [])
    ]


def date(answer: Mapping[str, Any]) -> datetime:
    """The store's clock when it answered. This machine's clock if the answer has no date."""
    try:
        return _parse_date(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
    except (KeyError, ValueError):
        return datetime.now(UTC)


# The answers of one second hold the same date.
_parse_date = lru_cache(64)(parsedate_to_datetime)
