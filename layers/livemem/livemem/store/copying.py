"""Copies within the bucket. The store makes them itself: no bytes pass through this process."""

import base64
from dataclasses import dataclass
from typing import Any

from livemem.errors import PreconditionLost
from livemem.store import failures, objects
from livemem.store.objects import Entry, Store


@dataclass(frozen=True)
class Copied:
    """The store's answer about a copy that it made. `sha256` is in hex, None where the store does not return it."""

    etag: str
    sha256: str | None


def copy(store: Store, source: str, target: str, *, if_match: str | None = None) -> Copied | None:
    """Copy an object with its metadata: 1 CopyObject. None where there is no `source`.

    `if_match`: only while the source has this ETag, so that a late repeat writes no other content. Raises
    PreconditionLost. Stores that ignore the condition answer with another ETag. A copy sends no put event, so it starts
    no consolidation.
    """
    extra: dict[str, Any] = {"ChecksumAlgorithm": "SHA256"} if store.gives_sha256 else {}
    if if_match:
        extra["CopySourceIfMatch"] = if_match
    try:
        answer = store.plain.copy_object(
            Bucket=store.bucket, Key=target, CopySource={"Bucket": store.bucket, "Key": source}, **extra
        )["CopyObjectResult"]
    except failures.CLIENT_ERRORS as error:
        if failures.code(error) in failures.MISSING:
            return None
        if if_match and failures.code(error) in failures.LOST:
            raise PreconditionLost("The object was changed before it was copied.") from error
        raise failures.own(error) from error
    return Copied(answer["ETag"], _hex(answer.get("ChecksumSHA256")))


def _hex(checksum: str | None) -> str | None:
    # For an object that was uploaded in parts it is a checksum of the parts' checksums, with their number.
    return base64.b64decode(checksum).hex() if checksum and "-" not in checksum else None


def look(store: Store, key: str) -> Entry | None:
    """An object as a listing would show it, or None: 1 HEAD."""
    try:
        answer = store.v4.head_object(Bucket=store.bucket, Key=key)
    except failures.CLIENT_ERRORS as error:
        if failures.code(error) in failures.MISSING:
            return None
        raise failures.own(error) from error
    return Entry(
        key=key,
        size=answer["ContentLength"],
        etag=answer["ETag"],
        last_modified=answer["LastModified"],
        seen_at=objects.date(answer),
    )
