"""Objects that are too large for memory, read in pieces."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from livemem.errors import PreconditionLost
from livemem.store import failures
from livemem.store.objects import Store

CHUNK = 1 << 20


@dataclass(frozen=True)
class Stream:
    """An object that is being read: its size in bytes, its ETag, its content in pieces, and its metadata."""

    size: int
    etag: str
    chunks: Iterator[bytes]
    metadata: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def read(store: Store, key: str, *, etag: str | None = None) -> Iterator[Stream | None]:
    """The object in pieces of 1 MiB, None where there is none: 1 GET. With `etag` it must still be that version.

    Raises PreconditionLost; while reading, StoreUnavailable.
    """
    condition: Mapping[str, str] = {"IfMatch": etag} if etag else {}
    try:
        answer = store.plain.get_object(Bucket=store.bucket, Key=key, **condition)  # type: ignore[arg-type]
    except failures.CLIENT_ERRORS as error:
        if failures.code(error) in failures.MISSING:
            yield None
            return
        if failures.code(error) in failures.LOST:
            raise PreconditionLost("The object was replaced in the meantime. Try again.") from error
        raise failures.own(error) from error
    body = answer["Body"]
    try:
        yield Stream(answer["ContentLength"], answer["ETag"], _chunks(body), answer.get("Metadata", {}))
    finally:
        body.close()


def _chunks(body: Any) -> Iterator[bytes]:
    try:
        yield from iter(lambda: body.read(CHUNK), b"")
    except failures.BROKEN as error:
        raise failures.own(error) from error
