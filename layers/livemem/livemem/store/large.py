"""Objects that are too large for memory: read in pieces, written in parts."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError

from livemem.errors import NotFound, PreconditionLost
from livemem.store import failures
from livemem.store.objects import Store, date

CHUNK = 1 << 20

MOST_PARTS = 10_000
"""S3's limit of the parts of one upload."""

_GONE = {"NoSuchUpload", "InvalidPart", "InvalidPartOrder"} | failures.MISSING
"""Codes of an upload that is gone, or does not have the parts that it should."""


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
    except (ClientError, BotoCoreError) as error:
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


def _chunks(body: object) -> Iterator[bytes]:
    try:
        yield from body.iter_chunks(CHUNK)  # type: ignore[attr-defined]
    except (BotoCoreError, HTTPError, OSError) as error:
        raise failures.own(error) from error


def begin(store: Store, key: str, content_type: str) -> str:
    """Begin to write an object in parts. Returns the id of the upload."""
    try:
        answer = store.v4.create_multipart_upload(Bucket=store.bucket, Key=key, ContentType=content_type)
    except (ClientError, BotoCoreError) as error:
        raise failures.own(error) from error
    return answer["UploadId"]


def put_part(store: Store, key: str, upload_id: str, number: int, body: bytes) -> str:
    """Write part `number` (from 1), again if need be, and return its ETag. Raises NotFound: the upload is gone."""
    try:
        answer = store.v4.upload_part(Bucket=store.bucket, Key=key, UploadId=upload_id, PartNumber=number, Body=body)
    except (ClientError, BotoCoreError) as error:
        raise _gone_or_own(error) from error
    return answer["ETag"]


def complete(store: Store, key: str, upload_id: str, etags: Sequence[str]) -> None:
    """Make the object of its parts, given by their ETags in order. Raises NotFound: the upload is gone, perhaps because
    an earlier try completed it, or it has other parts.
    """
    parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(etags, start=1)]
    try:
        store.v4.complete_multipart_upload(
            Bucket=store.bucket,
            Key=key,
            UploadId=upload_id,
            MultipartUpload={"Parts": parts},  # type: ignore[typeddict-item]
        )
    except (ClientError, BotoCoreError) as error:
        raise _gone_or_own(error) from error


def abort(store: Store, key: str, upload_id: str) -> None:
    """Give an upload up, and remove its parts. Nothing happens where there is none."""
    try:
        store.v4.abort_multipart_upload(Bucket=store.bucket, Key=key, UploadId=upload_id)
    except (ClientError, BotoCoreError) as error:
        if failures.code(error) not in _GONE:
            raise failures.own(error) from error


@dataclass(frozen=True)
class Begun:
    """An upload in parts that is neither complete nor given up, and when it was begun, by the store's clock."""

    key: str
    upload_id: str
    begun_at: datetime
    seen_at: datetime


def begun(store: Store, prefix: str) -> list[Begun]:
    """The uploads in parts below `prefix`: 1 ListMultipartUploads per 1,000. Not every store lists them, so the list
    may lack uploads. It finds uploads that no document names.
    """
    uploads: list[Begun] = []
    after: dict[str, Any] = {}
    while True:
        try:
            page = store.v4.list_multipart_uploads(Bucket=store.bucket, Prefix=prefix, **after)
        except (ClientError, BotoCoreError) as error:
            if failures.code(error) in failures.UNSUPPORTED:
                return uploads
            raise failures.own(error) from error
        now = date(page)
        uploads += [Begun(item["Key"], item["UploadId"], item["Initiated"], now) for item in page.get("Uploads", [])]
        if not page.get("IsTruncated"):
            return uploads
        after = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}


def _gone_or_own(error: Exception) -> Exception:
    if failures.code(error) in _GONE:
        return NotFound("upload", "of parts")
    return failures.own(error)
