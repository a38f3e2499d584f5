"""The embedded S3 server as one function from request to response: the order in which things happen.

Reads run side by side. A request that changes something runs alone, from the condition that it depends on to the copy
on the disk. Thus conditional writes are atomic, and all that a reader has seen, or a client has had acknowledged,
survives the process.
"""

import errno
import logging
import uuid
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from local.front.guard import is_from_web_page
from local.front.httpd import Request, Response
from local.s3.backend import MotoBackend
from local.s3.disk import Disk, StoredBucket
from local.s3.events import Notifier, Put
from local.s3.listing import KeyIndex, Listed, render_listing
from local.s3.locks import ReadWriteLock
from local.s3.operations import Operation, S3Error, Target, classify, parse_target
from local.s3.signatures import Signatures
from local.s3.uploads import render_uploads

_log = logging.getLogger(__name__)

# Objects live in memory.
MAX_OBJECT_BYTES = 512 * 1024 * 1024
_MAX_DELETES = 1000
_WRITES_KEY = frozenset(
    {
        Operation.PUT_OBJECT,
        Operation.COPY_OBJECT,
        Operation.DELETE_OBJECT,
        Operation.COMPLETE_MULTIPART_UPLOAD,
    }
)


class S3Application:
    """Answers S3 requests."""

    def __init__(self, backend: MotoBackend, disk: Disk, notifier: Notifier, signatures: Signatures) -> None:
        self._backend = backend
        self._disk = disk
        self._notifier = notifier
        self._signatures = signatures
        self._lock = ReadWriteLock()
        self._indexes: dict[str, KeyIndex] = {}

    def load(self) -> int:
        """Take over what is on the disk; returns the number of objects. Before the first request."""
        count = 0
        for bucket in self._disk.load_buckets():
            self._backend.create_bucket(bucket.name, bucket.region, bucket.created)
            for key, stored in self._disk.load_objects(bucket.name):
                self._backend.restore(bucket.name, key, stored)
                count += 1
            self._indexes[bucket.name] = KeyIndex(self._backend.keys(bucket.name))
        return count

    def ensure_bucket(self, name: str, region: str) -> None:
        """Create a bucket unless it exists."""
        with self._lock.write():
            if not self._backend.has_bucket(name):
                self._backend.create_bucket(name, region)
                self._keep_bucket(name)

    def answer(self, request: Request) -> Response:
        """Answer one request; every failure becomes an error document of the S3 protocol."""
        request_id = uuid.uuid4().hex[:16].upper()
        try:
            response = self._answer(request, request_id)
        except S3Error as error:
            response = _render_error(error, request_id)
        except OSError as error:
            _log.exception("%s %s: the disk refused it", request.method, request.path)
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            status, code = (507, "InsufficientStorage") if full else (500, "InternalError")
            response = _render_error(S3Error(status, code, f"disk: {error.strerror}"), request_id)
        return Response(response.status, (*response.headers, ("x-amz-request-id", request_id)), response.body)

    def _answer(self, request: Request, request_id: str) -> Response:
        if is_from_web_page(request):
            raise S3Error(403, "AccessDenied", "Requests from web pages are refused.")
        self._signatures.check(request)
        target = parse_target(request)
        operation = classify(request, target)
        lock: AbstractContextManager[None] = self._lock.write() if operation.changes else self._lock.read()
        # Waiting for the disk is most of what a write takes: done before, several writers wait side by side.
        early = operation is Operation.PUT_OBJECT and not any(
            n.lower().startswith("x-amz-meta-") for n, _ in request.headers
        )
        put = self._disk.prepared(request.body) if early else nullcontext()
        with put as file, lock:
            if operation is Operation.DELETE_BUCKET and not self._disk.is_empty(target.bucket):
                raise S3Error(409, "BucketNotEmpty", "The bucket you tried to delete is not empty", target.bucket)
            if operation in {Operation.LIST_OBJECTS, Operation.LIST_OBJECTS_V2}:
                return self._list(target)
            if operation is Operation.LIST_MULTIPART_UPLOADS:
                return self._list_uploads(target)
            if operation is Operation.DELETE_OBJECTS:
                return self._delete_objects(request, target)
            response = self._backend.dispatch(request, target, operation)
            if response.status < 300 and operation.changes:
                self._keep(request, target, operation, request_id, file)
            return response

    def _keep(self, request: Request, target: Target, operation: Operation, request_id: str, file: Path | None) -> None:
        """Bring the disk and the index up to what moto has just done."""
        if operation is Operation.CREATE_BUCKET:
            if target.bucket in self._indexes:
                return  # created again by its owner
            self._keep_bucket(target.bucket)
        elif operation is Operation.DELETE_BUCKET:
            self._disk.delete_bucket(target.bucket)
            del self._indexes[target.bucket]
        elif operation is Operation.CREATE_MULTIPART_UPLOAD:
            self._backend.note_uploads(target.bucket)
        elif operation in _WRITES_KEY:
            self._keep_key(request, target, operation, request_id, file)

    def _keep_bucket(self, name: str) -> None:
        region, created = self._backend.bucket_region(name), self._backend.bucket_created(name)
        self._disk.create_bucket(StoredBucket(name, region, created))
        self._indexes[name] = KeyIndex()

    def _keep_key(
        self, request: Request, target: Target, operation: Operation, request_id: str, file: Path | None
    ) -> None:
        bucket, key = target.bucket, target.key
        stored = self._backend.tidy(bucket, key, request)
        if stored is None:
            self._remove(bucket, key)
            return
        try:
            self._disk.store(bucket, key, stored, file)
        except OSError:
            # The client is told that nothing happened, so nothing may have happened.
            self._undo(bucket, key)
            raise
        self._indexes[bucket].add(key)
        if operation is Operation.PUT_OBJECT:
            region = self._backend.bucket_region(bucket)
            etag, sequencer = stored.attributes["etag"], self._notifier.sequence()
            try:
                self._notifier.announce(Put(bucket, key, len(stored.body), etag, region, sequencer, request_id))
            except OSError:
                # The object is stored; events are hints, and the schedule finds what they miss.
                _log.exception("%s/%s: no event", bucket, key)

    def _remove(self, bucket: str, key: str) -> None:
        try:
            self._disk.remove(bucket, key)
        except OSError:
            self._undo(bucket, key)
            raise
        self._backend.drop(bucket, key)
        self._indexes[bucket].discard(key)

    def _undo(self, bucket: str, key: str) -> None:
        """Put the object back as the disk has it."""
        before = self._disk.read(bucket, key)
        if before is None:
            self._backend.drop(bucket, key)
        else:
            self._backend.restore(bucket, key, before)

    def _list(self, target: Target) -> Response:
        bucket = target.bucket
        index = self._indexes.get(bucket)
        if index is None:
            raise S3Error(404, "NoSuchBucket", "The specified bucket does not exist", bucket)

        def describe(key: str) -> Listed:
            found = self._backend.find(bucket, key)
            if found is None:
                raise S3Error(500, "InternalError", "index and objects differ", key)
            return Listed(found.last_modified_ISO8601, found.etag, found.size, found.checksum_algorithm)

        body = render_listing(bucket, target.query, index, describe)
        return Response(200, (("Content-Type", "application/xml"),), body)

    def _list_uploads(self, target: Target) -> Response:
        if target.bucket not in self._indexes:
            raise S3Error(404, "NoSuchBucket", "The specified bucket does not exist", target.bucket)
        body = render_uploads(target.bucket, target.query, self._backend.uploads(target.bucket))
        return Response(200, (("Content-Type", "application/xml"),), body)

    def _delete_objects(self, request: Request, target: Target) -> Response:
        if target.bucket not in self._indexes:
            raise S3Error(404, "NoSuchBucket", "The specified bucket does not exist", target.bucket)
        keys, quiet = _read_deletes(request.body)
        parts = [
            '<?xml version="1.0" encoding="UTF-8"?>\n<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        ]
        for key in keys:
            try:
                self._remove(target.bucket, key)
            except OSError:
                _log.exception("%s/%s: not deleted", target.bucket, key)
                parts.append(
                    f"<Error><Key>{escape(key)}</Key><Code>InternalError</Code><Message>disk</Message></Error>"
                )
            else:
                parts.append("" if quiet else f"<Deleted><Key>{escape(key)}</Key></Deleted>")
        parts.append("</DeleteResult>")
        return Response(200, (("Content-Type", "application/xml"),), "".join(parts).encode())


def _read_deletes(body: bytes) -> tuple[list[str], bool]:
    malformed = S3Error(400, "MalformedXML", "The XML you provided was not well-formed or did not validate.")
    try:
        root = ElementTree.fromstring(body)  # noqa: S314 - from this machine; expat bounds what entities may grow to
    except ElementTree.ParseError as error:
        raise malformed from error
    keys, quiet = [], False
    for element in root:
        name = element.tag.rpartition("}")[2]
        if name == "Quiet":
            quiet = (element.text or "").strip() == "true"
        elif name == "Object":
            fields = {child.tag.rpartition("}")[2]: child.text or "" for child in element}
            if fields.keys() - {"Key"}:
                raise S3Error(501, "NotImplemented", "The embedded S3 server deletes by key only.")
            keys.append(fields.get("Key", ""))
    if not keys or len(keys) > _MAX_DELETES or "" in keys:
        raise malformed
    return keys, quiet


def _render_error(error: S3Error, request_id: str) -> Response:
    body = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{error.code}</Code>'
        f"<Message>{escape(error.message)}</Message><Resource>{escape(error.resource)}</Resource>"
        f"<RequestId>{request_id}</RequestId></Error>"
    )
    return Response(error.status, (("Content-Type", "application/xml"),), body.encode("utf-8", "replace"))
