"""A bucket in memory with the semantics that the service relies on, as an S3 client: a fake, not a mock.

Strongly consistent, atomic per request, conditional writes with 412, listings in key order with pages, and a clock of
its own that every answer tells. The storage tests run on it, on moto and on real stores alike, so that it can't drift
from them.
"""

import hashlib
import io
import threading
from base64 import b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from typing import Any, BinaryIO

from botocore.exceptions import ClientError
from botocore.response import StreamingBody

LAST = "\U0010ffff"
"""Behind every character of a key."""


@dataclass(frozen=True)
class Stored:
    body: bytes
    etag: str
    last_modified: datetime
    metadata: dict[str, str]
    content_type: str = ""


@dataclass(frozen=True)
class Version:
    """A former version of an object."""

    key: str
    version_id: str
    stored: Stored


def _etag(body: bytes) -> str:
    return f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def error(code: str, status: int, operation: str, moment: datetime | None = None) -> ClientError:
    """What boto3 raises for an S3 error, answered at `moment` if the store itself says it."""
    response: Any = {"Error": {"Code": code, "Message": code}, **answered(status, moment)}
    return ClientError(response, operation)


def answered(status: int, moment: datetime | None) -> dict[str, Any]:
    """What every answer tells besides its content."""
    headers = {"date": http_date(moment)} if moment else {}
    return {"ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers}}


@lru_cache
def http_date(moment: datetime) -> str:
    """The moment as the `Date` header has it (RFC 1123): whole seconds."""
    return format_datetime(moment.astimezone(UTC), usegmt=True)


class FakeS3:
    """The client's methods that the service uses; `clock` gives LastModified and Date."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.objects: dict[str, Stored] = {}
        self.versioned = False
        """Whether it keeps what is overwritten and deleted, in `versions`."""
        self.versions: list[Version] = []
        self.count = 0
        self.most_keys = 1_000
        """Most keys of a listing's answer; S3 may give fewer than are asked for."""
        self._keys: list[str] = []
        self._sorted: list[str] = []
        self._clock = clock
        self._lock = threading.Lock()

    def copy_to(self, other: "FakeS3") -> None:
        """Let another bucket hold what this one does."""
        other.objects = dict(self.objects)
        other.versioned, other.versions, other.count = self.versioned, list(self.versions), self.count

    def put_object(
        self,
        *,
        Bucket: str,
        Key: str,
        Body: bytes | str | BinaryIO,
        ContentType: str = "",
        Metadata: dict[str, str] | None = None,
        IfMatch: str | None = None,
        IfNoneMatch: str | None = None,
    ) -> dict[str, Any]:
        with self._lock:
            current = self.objects.get(Key)
            if IfNoneMatch == "*" and current:
                raise self._error("PreconditionFailed", 412, "PutObject")
            if IfMatch and not current:
                raise self._error("NoSuchKey", 404, "PutObject")
            if IfMatch and current and current.etag != IfMatch:
                raise self._error("PreconditionFailed", 412, "PutObject")
            sent = Body if isinstance(Body, bytes | str) else Body.read()
            body = sent.encode() if isinstance(sent, str) else bytes(sent)
            etag = _etag(body)
            self._keep_version(Key)
            self.objects[Key] = Stored(body, etag, self._clock(), dict(Metadata or {}), ContentType)
            return {"ETag": etag, **self._answered()}

    def get_object(
        self,
        *,
        Bucket: str,
        Key: str,
        IfNoneMatch: str | None = None,
        IfMatch: str | None = None,
        Range: str = "",
        VersionId: str = "",
    ) -> dict[str, Any]:
        with self._lock:
            current = self._version(Key, VersionId) if VersionId else self.objects.get(Key)
        if not current:
            raise self._error("NoSuchKey", 404, "GetObject")
        if IfNoneMatch == current.etag:
            raise self._error("304", 304, "GetObject")
        if IfMatch and IfMatch != current.etag:
            raise self._error("PreconditionFailed", 412, "GetObject")
        body = current.body
        if Range:
            first, _, last = Range.removeprefix("bytes=").partition("-")
            body = body[int(first) : int(last) + 1]
        return {
            "Body": StreamingBody(io.BytesIO(body), len(body)),
            "ContentLength": len(body),
            "ETag": current.etag,
            "LastModified": current.last_modified,
            "Metadata": current.metadata,
            "ContentType": current.content_type,
            **self._answered(),
        }

    def head_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:
        with self._lock:
            current = self.objects.get(Key)
        if not current:
            raise self._error("404", 404, "HeadObject")
        return {
            "ContentLength": len(current.body),
            "ETag": current.etag,
            "LastModified": current.last_modified,
            "Metadata": current.metadata,
            **self._answered(),
        }

    def copy_object(
        self,
        *,
        Bucket: str,
        Key: str,
        CopySource: dict[str, str],
        CopySourceIfMatch: str | None = None,
        ChecksumAlgorithm: str = "",
    ) -> dict[str, Any]:
        with self._lock:
            source = self.objects.get(CopySource["Key"])
            if not source:
                raise self._error("NoSuchKey", 404, "CopyObject")
            if CopySourceIfMatch and CopySourceIfMatch != source.etag:
                raise self._error("PreconditionFailed", 412, "CopyObject")
            self._keep_version(Key)
            self.objects[Key] = replace(source, last_modified=self._clock())
            result = {"ETag": source.etag}
            if ChecksumAlgorithm == "SHA256":
                result["ChecksumSHA256"] = b64encode(hashlib.sha256(source.body).digest()).decode()
            return {"CopyObjectResult": result, **self._answered()}

    def generate_presigned_url(self, operation: str, *, Params: dict[str, Any], ExpiresIn: int) -> str:
        return f"https://store.invalid/{Params['Key']}?{operation}&expires={ExpiresIn}"

    def delete_object(
        self, *, Bucket: str, Key: str, IfMatch: str | None = None, VersionId: str = ""
    ) -> dict[str, Any]:
        with self._lock:
            if VersionId:
                self.versions = [old for old in self.versions if old.version_id != VersionId]
                return self._answered()
            current = self.objects.get(Key)
            if IfMatch and not current:
                raise self._error("NoSuchKey", 404, "DeleteObject")
            if IfMatch and current and current.etag != IfMatch:
                raise self._error("PreconditionFailed", 412, "DeleteObject")
            self._keep_version(Key)
            self.objects.pop(Key, None)
        return self._answered()

    def delete_objects(self, *, Bucket: str, Delete: dict[str, Any]) -> dict[str, Any]:
        doomed = Delete["Objects"]
        assert len(doomed) <= 1_000, "S3 refuses more"
        with self._lock:
            for item in doomed:
                if "VersionId" in item:
                    self.versions = [old for old in self.versions if old.version_id != item["VersionId"]]
                    continue
                self._keep_version(item["Key"])
                self.objects.pop(item["Key"], None)
        return self._answered()

    def list_object_versions(
        self, *, Bucket: str, Prefix: str = "", KeyMarker: str = "", VersionIdMarker: str = "", MaxKeys: int = 1_000
    ) -> dict[str, Any]:
        """The former versions below a prefix, all in one page (the present ones and delete markers are left out)."""
        with self._lock:
            found = [old for old in self.versions if old.key.startswith(Prefix)]
        versions = [
            {
                "Key": old.key,
                "VersionId": old.version_id,
                "IsLatest": False,
                "Size": len(old.stored.body),
                "ETag": old.stored.etag,
                "LastModified": old.stored.last_modified,
            }
            for old in found
        ]
        return {"Versions": versions, "IsTruncated": False, **self._answered()}

    def _in_order(self) -> list[str]:
        """All keys, sorted again only if they are others than before: tests reach into `objects` as well."""
        keys = list(self.objects)
        if keys != self._keys:
            self._keys, self._sorted = keys, sorted(keys)
        return self._sorted

    def _keep_version(self, key: str) -> None:
        current = self.objects.get(key)
        if self.versioned and current:
            self.count += 1
            self.versions.append(Version(key, f"v{self.count}", current))

    def _version(self, key: str, version_id: str) -> Stored | None:
        found = (old.stored for old in self.versions if (old.key, old.version_id) == (key, version_id))
        return next(found, None)

    def list_objects_v2(
        self,
        *,
        Bucket: str,
        Prefix: str = "",
        MaxKeys: int = 1_000,
        StartAfter: str = "",
        ContinuationToken: str = "",
        Delimiter: str = "",
    ) -> dict[str, Any]:
        after = ContinuationToken or StartAfter
        with self._lock:
            every = self._in_order()
            start, end = bisect_left(every, Prefix), bisect_left(every, Prefix + LAST)
            if not Delimiter:
                # As many as may be shown, and one that tells of more.
                start = bisect_right(every, after, start, end)
                end = min(end, start + min(MaxKeys, self.most_keys) + 1)
            keys = every[start:end]
            objects = {key: self.objects[key] for key in keys}
        contents: list[dict[str, Any]] = []
        folders: list[str] = []
        last, truncated = after, False
        for key in keys:
            folder = Delimiter and Delimiter in key[len(Prefix) :]
            name = Prefix + key[len(Prefix) :].split(Delimiter)[0] + Delimiter if folder else key
            if name <= after or (folders and folders[-1] == name):
                continue
            if len(contents) + len(folders) == min(MaxKeys, self.most_keys):
                truncated = True
                break
            last = name
            if folder:
                folders.append(name)
                continue
            stored = objects[key]
            contents.append(
                {"Key": key, "Size": len(stored.body), "ETag": stored.etag, "LastModified": stored.last_modified}
            )
        answer: dict[str, Any] = {
            "Contents": contents,
            "CommonPrefixes": [{"Prefix": folder} for folder in folders],
            "IsTruncated": truncated,
            **self._answered(),
        }
        return {**answer, "NextContinuationToken": last} if truncated else answer

    def _answered(self) -> dict[str, Any]:
        return answered(200, self._clock())

    def _error(self, code: str, status: int, operation: str) -> ClientError:
        return error(code, status, operation, self._clock())
