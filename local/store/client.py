"""The methods of a botocore S3 client that the service calls, on files: the same answers and errors, without HTTP.

A put file is on the disk before its answer. What changes an object runs alone in its bucket, from the condition that it
depends on. A method that S3 has and this store has not is an AttributeError: nothing here is done by halves.
"""

import errno
import io
import logging
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import formatdate
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, BinaryIO

from livemem.store.failures import ClientError
from local.store.folder import CHUNK, DEFAULT_CONTENT_TYPE, Clock, Entry, Folder
from local.store.paths import unbounded

_log = logging.getLogger(__name__)

MAX_KEY_BYTES = 1024
MAX_KEYS = 1_000
_META = "x-amz-meta-"
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_NO_KEY = "The specified key does not exist."
_CONDITION = "At least one of the pre-conditions you specified did not hold"


class FileStore:
    """The client. Safe for threads; the folder is no other process's."""

    def __init__(self, root: Path, *, on_put: Callable[[str, str], object] = lambda *_: None) -> None:
        """Open the folder. `on_put` is told the bucket and the key of each PutObject before it is answered."""
        self.root = root = unbounded(root)
        self._on_put = on_put
        self._clock = Clock()
        self._lock = threading.Lock()
        self._folders: dict[str, Folder] = {}
        scratch = root / "s3-scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        for folder in (root / "s3", scratch):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def create_bucket(self, *, Bucket: str) -> dict[str, Any]:
        """Create a bucket. One that exists is no error."""
        if not _BUCKET.fullmatch(Bucket):
            raise _error("InvalidBucketName", 400, "CreateBucket", "The specified bucket is not valid.")
        with self._answering("CreateBucket"):
            (self.root / "s3" / Bucket).mkdir(mode=0o700, exist_ok=True)
        return _answered()

    def head_bucket(self, *, Bucket: str) -> dict[str, Any]:
        """Look whether there is such a bucket."""
        with self._opened("HeadBucket", Bucket):
            return _answered()

    def put_object(
        self,
        *,
        Bucket: str,
        Key: str,
        Body: bytes | str | BinaryIO,
        ContentType: str = DEFAULT_CONTENT_TYPE,
        Metadata: Mapping[str, str] | None = None,
        IfMatch: str | None = None,
        IfNoneMatch: str | None = None,
    ) -> dict[str, Any]:
        """Write an object. `IfNoneMatch` is `*`."""
        headers = _headers(ContentType, Metadata)
        with (
            self._opened("PutObject", Bucket, Key) as folder,
            folder.prepared(Key, _pieces(Body), headers) as draft,
            folder.lock,
        ):
            before = folder.find(Key)
            if before and IfNoneMatch == "*":
                raise _error("PreconditionFailed", 412, "PutObject", _CONDITION)
            _check_match("PutObject", before, IfMatch)
            entry = folder.commit(Key, draft)
        try:
            self._on_put(Bucket, Key)
        except OSError:
            # The object is stored. Events are hints, and the schedule finds what they miss.
            _log.exception("%s/%s: no event", Bucket, Key)
        return {"ETag": _quoted(entry), **_answered()}

    def get_object(
        self,
        *,
        Bucket: str,
        Key: str,
        Range: str = "",
        IfMatch: str | None = None,
        IfNoneMatch: str | None = None,
    ) -> dict[str, Any]:
        """Read an object. `Range` is `bytes=FIRST-LAST`, `bytes=FIRST-` or `bytes=-LENGTH`; others are ignored."""
        with self._opened("GetObject", Bucket, Key) as folder, folder.lock:
            found = folder.open(Key)
            if found is None:
                raise _error("NoSuchKey", 404, "GetObject", _NO_KEY)
            entry, file = found
            asked = _range(Range, entry.size)
            first, last = asked or (0, entry.size - 1)
            size = last - first + 1
            kept = False
            try:
                _check_match("GetObject", entry, IfMatch)
                if IfNoneMatch == _quoted(entry):
                    raise _error("304", 304, "GetObject", "Not Modified")
                if asked and size <= 0:
                    raise _error("InvalidRange", 416, "GetObject", "The requested range is not satisfiable")
                file.seek(first)
                # A large one is read as it is asked for: what replaces it meanwhile is another file.
                kept = size > CHUNK
                body: IO[bytes] = (
                    io.BufferedReader(_Section(file, size), CHUNK) if kept else io.BytesIO(file.read(size))
                )
            finally:
                if not kept:
                    file.close()
            part = {"ContentRange": f"bytes {first}-{last}/{entry.size}"} if asked else {}
            return {"Body": body, **_described(entry), **part, "ContentLength": size, **_answered()}

    def head_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:
        """Look at an object."""
        with self._opened("HeadObject", Bucket, Key) as folder, folder.lock:
            entry = folder.find(Key)
            if entry is None:
                raise _error("404", 404, "HeadObject", "Not Found")
            return {**_described(entry), **_answered()}

    def copy_object(
        self,
        *,
        Bucket: str,
        Key: str,
        CopySource: Mapping[str, str],
        CopySourceIfMatch: str | None = None,
    ) -> dict[str, Any]:
        """Copy an object with its metadata. It sends no event."""
        with self._opened("CopyObject", CopySource["Bucket"], CopySource["Key"]) as folder, folder.lock:
            found = folder.open(CopySource["Key"])
            if found is None:
                raise _error("NoSuchKey", 404, "CopyObject", _NO_KEY)
            source, file = found
        with file:
            _check_match("CopyObject", source, CopySourceIfMatch)
            with (
                self._opened("CopyObject", Bucket, Key) as folder,
                folder.prepared(Key, _pieces(file), source.headers) as draft,
                folder.lock,
            ):
                entry = folder.commit(Key, draft)
        return {"CopyObjectResult": {"ETag": _quoted(entry), "LastModified": _moment(entry)}, **_answered()}

    def delete_object(self, *, Bucket: str, Key: str, IfMatch: str | None = None) -> dict[str, Any]:
        """Delete an object; one that is not there is no error, unless there is a condition."""
        with self._opened("DeleteObject", Bucket, Key) as folder, folder.lock:
            _check_match("DeleteObject", folder.find(Key), IfMatch)
            folder.remove(Key)
        return _answered(204)

    def delete_objects(self, *, Bucket: str, Delete: Mapping[str, Any]) -> dict[str, Any]:
        """Delete up to 1,000 objects; the answer names those that the disk has refused."""
        if len(Delete["Objects"]) > MAX_KEYS:
            raise _error("MalformedXML", 400, "DeleteObjects", "More than 1,000 keys.")
        errors = []
        with self._opened("DeleteObjects", Bucket) as folder:
            for item in Delete["Objects"]:
                try:
                    with folder.lock:
                        folder.remove(item["Key"])
                except OSError:
                    _log.exception("%s/%s: not deleted", Bucket, item["Key"])
                    errors.append({"Key": item["Key"], "Code": "InternalError"})
        return {"Errors": errors, **_answered()}

    def list_objects_v2(
        self,
        *,
        Bucket: str,
        Prefix: str = "",
        MaxKeys: int = MAX_KEYS,
        StartAfter: str = "",
        ContinuationToken: str = "",
        Delimiter: str = "",
    ) -> dict[str, Any]:
        """List objects. The token is the position itself: it is good after a restart and after deletions."""
        with self._opened("ListObjectsV2", Bucket) as folder, folder.lock:
            page = folder.index.page(Prefix, Delimiter, ContinuationToken or StartAfter, min(MaxKeys, MAX_KEYS))
            found = [(key, folder.find(key)) for key in page.keys]
            contents = [
                {"Key": key, "Size": entry.size, "ETag": _quoted(entry), "LastModified": _moment(entry)}
                for key, entry in found
                if entry
            ]
        folders = [{"Prefix": prefix} for prefix in page.prefixes]
        answer = {"Contents": contents, "CommonPrefixes": folders, "IsTruncated": page.truncated, **_answered()}
        return {**answer, "NextContinuationToken": page.last} if page.truncated else answer

    def list_object_versions(self, *, Bucket: str, **_: Any) -> dict[str, Any]:
        """Refuse: the store keeps no former versions."""
        raise _error("NotImplemented", 501, "ListObjectVersions", f"{Bucket} keeps no versions.")

    @contextmanager
    def _opened(self, operation: str, bucket: str, key: str = "") -> Iterator[Folder]:
        """The bucket's folder; what goes wrong within becomes an error of S3."""
        if len(key.encode()) > MAX_KEY_BYTES:
            raise _error("KeyTooLongError", 400, operation, "Your key is too long")
        with self._answering(operation):
            with self._lock:
                folder = self._folders.get(bucket)
                if folder is None:
                    if not _BUCKET.fullmatch(bucket) or not (self.root / "s3" / bucket).is_dir():
                        raise _error("NoSuchBucket", 404, operation, "The specified bucket does not exist")
                    folder = self._folders[bucket] = Folder(self.root, bucket, self._clock)
            yield folder

    @contextmanager
    def _answering(self, operation: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            _log.exception("%s: the disk refused it", operation)
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            code, status = ("InsufficientStorage", 507) if full else ("InternalError", 500)
            raise _error(code, status, operation, f"disk: {error.strerror}") from error


def _pieces(body: bytes | str | BinaryIO) -> Iterable[bytes]:
    if isinstance(body, str):
        return [body.encode()]
    return [bytes(body)] if isinstance(body, bytes | bytearray | memoryview) else iter(lambda: body.read(CHUNK), b"")


def _headers(content_type: str, metadata: Mapping[str, str] | None) -> dict[str, str]:
    return {"content-type": content_type, **{_META + name.lower(): value for name, value in (metadata or {}).items()}}


def _range(text: str, size: int) -> tuple[int, int] | None:
    """The first and the last byte that a Range asks for; None: the whole object, also for a form that is not known."""
    match = re.fullmatch(r"bytes=(\d{0,19})-(\d{0,19})", text)
    if not match or not (match[1] or match[2]):
        return None
    if not match[1]:
        return max(size - int(match[2]), 0), size - 1
    return int(match[1]), min(int(match[2] or size - 1), size - 1)


class _Section(io.RawIOBase):
    """So many bytes of a file, from where it stands."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        super().__init__()
        self._file, self._rest = file, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(memoryview(buffer)[: self._rest])  # type: ignore[attr-defined]
        self._rest -= count
        return int(count)

    def close(self) -> None:
        self._file.close()
        super().close()


def _check_match(operation: str, entry: Entry | None, wanted: str | None) -> None:
    if wanted and not entry:
        raise _error("NoSuchKey", 404, operation, _NO_KEY)
    if wanted and entry and _quoted(entry) != wanted:
        raise _error("PreconditionFailed", 412, operation, _CONDITION)


def _quoted(entry: Entry) -> str:
    return f'"{entry.etag}"'


def _moment(entry: Entry) -> datetime:
    """LastModified in whole seconds, as S3 has it."""
    return datetime.fromtimestamp(entry.modified_ns // 1_000_000_000, UTC)


def _described(entry: Entry) -> dict[str, Any]:
    return {
        "ContentLength": entry.size,
        "ETag": _quoted(entry),
        "LastModified": _moment(entry),
        "ContentType": entry.headers["content-type"],
        "Metadata": {
            name.removeprefix(_META): value for name, value in entry.headers.items() if name.startswith(_META)
        },
    }


def _answered(status: int = 200) -> dict[str, Any]:
    return {"ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {"date": _date(int(time.time()))}}}


@lru_cache(4)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


def _error(code: str, status: int, operation: str, message: str) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": message}, **_answered(status)}
    return ClientError(response, operation)
