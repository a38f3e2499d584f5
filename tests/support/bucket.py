"""A bucket in memory with the semantics that the service relies on, as an S3 client: a fake, not a mock.

Strongly consistent, atomic per request, conditional writes with 412, listings in key order with pages, and a clock of
its own that every answer tells. The storage tests run on it, on moto and on real stores alike, so that it can't drift
from them.
"""

import hashlib
import io
import threading
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from typing import Any

from botocore.exceptions import ClientError


@dataclass(frozen=True)
class Stored:
    body: bytes
    etag: str
    last_modified: datetime
    metadata: dict[str, str]


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
        self.most_keys = 1_000
        """Most keys of a listing's answer; S3 may give fewer than are asked for."""
        self._clock = clock
        self._lock = threading.Lock()

    def put_object(
        self,
        *,
        Bucket: str,
        Key: str,
        Body: bytes,
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
            etag = f'"{hashlib.md5(Body, usedforsecurity=False).hexdigest()}"'
            self.objects[Key] = Stored(bytes(Body), etag, self._clock(), dict(Metadata or {}))
            return {"ETag": etag, **self._answered()}

    def get_object(self, *, Bucket: str, Key: str, IfNoneMatch: str | None = None) -> dict[str, Any]:
        with self._lock:
            current = self.objects.get(Key)
        if not current:
            raise self._error("NoSuchKey", 404, "GetObject")
        if IfNoneMatch == current.etag:
            raise self._error("304", 304, "GetObject")
        return {
            "Body": io.BytesIO(current.body),
            "ETag": current.etag,
            "LastModified": current.last_modified,
            "Metadata": current.metadata,
            **self._answered(),
        }

    def delete_object(self, *, Bucket: str, Key: str, IfMatch: str | None = None) -> dict[str, Any]:
        with self._lock:
            current = self.objects.get(Key)
            if IfMatch and not current:
                raise self._error("NoSuchKey", 404, "DeleteObject")
            if IfMatch and current and current.etag != IfMatch:
                raise self._error("PreconditionFailed", 412, "DeleteObject")
            self.objects.pop(Key, None)
        return self._answered()

    def delete_objects(self, *, Bucket: str, Delete: dict[str, Any]) -> dict[str, Any]:
        doomed = [item["Key"] for item in Delete["Objects"]]
        assert len(doomed) <= 1_000, "S3 refuses more"
        with self._lock:
            for key in doomed:
                self.objects.pop(key, None)
        return self._answered()

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
            keys = sorted(key for key in self.objects if key.startswith(Prefix))
            if not Delimiter:
                # As many as may be shown, and one that tells of more.
                start = bisect_right(keys, after)
                keys = keys[start : start + min(MaxKeys, self.most_keys) + 1]
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
