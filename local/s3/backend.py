"""Everything that touches moto: requests go in, answers come out, and objects can be read, put back and dropped.

`S3Response.bucket_dispatch` and `key_dispatch` are the two functions that moto's own URL table names. Called directly
they take half the time that they take behind moto's Flask application.
"""

import io
import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote, urlencode
from xml.parsers.expat import ExpatError

from moto.core.model_instances import model_data
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.request import PRESERVED_HEADER_NAMES_ENVIRON_KEY, environ_key_for_header
from moto.core.request import Request as MotoRequest
from moto.s3.models import FakeKey, S3Backend, s3_backends
from moto.s3.responses import S3Response
from moto.utilities.utils import get_partition

from local.front.httpd import Request, Response
from local.s3.objects import DEFAULT_CONTENT_TYPE, StoredObject, compute_crc32
from local.s3.operations import COPY_IF_MATCH, Operation, S3Error, Target
from local.s3.uploads import Upload, check_part_order

_log = logging.getLogger(__name__)

_PARTITION = "aws"
_DEFAULT_REGION = "us-east-1"
# moto reads nothing of the signature but the region.
_AUTHORIZATION = "AWS4-HMAC-SHA256 Credential=local/20000101/{}/s3/aws4_request, SignedHeaders=host, Signature=0"
# werkzeug would take bodies of these types apart and hand an empty one to moto.
_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")
# Request headers that moto files under the object's metadata and S3 does not.
_NOT_METADATA = frozenset({"content-md5", "x-amz-content-sha256", "x-amz-checksum-algorithm", "x-amz-checksum-type"})
# Filled in by us, or of no use to moto, which walks through all headers several times.
_NOT_PASSED_ON = frozenset(
    {
        *("content-type", "content-length", "authorization", "host", "transfer-encoding", "expect", "connection"),
        *("accept", "accept-encoding", "user-agent", "amz-sdk-invocation-id", "amz-sdk-request", "x-amz-date"),
    }
)


class _Request(MotoRequest):
    """Says that a real server stands in front, which adds the Date header itself."""

    from_wsgi_server = True

    def keep(self, body: bytes) -> None:
        """Put a body where werkzeug keeps one that it has read: a large one is then not read and copied in pieces."""
        self._cached_data = body


class _Untracked(list[Any]):
    """moto appends every instance of its models to a list, for its dashboard, and never takes one off."""

    def append(self, item: Any) -> None:
        """Forget the item."""


class MotoBackend:
    """moto's S3. Calls that change something need the server's write lock, the others its read lock."""

    def __init__(self) -> None:
        # An object brings its access list, grants and grantees.
        for model in model_data["s3"].values():
            setattr(model, "instances_tracked", _Untracked())  # noqa: B010 - made by a metaclass
        self._backend: S3Backend = s3_backends[DEFAULT_ACCOUNT_ID][_PARTITION]
        # When uploads began, by bucket and id.
        self._begun: dict[str, dict[str, datetime]] = {}

    def dispatch(self, request: Request, target: Target, operation: Operation) -> Response:
        """Let moto answer a request.

        Raises:
            S3Error: what moto would answer with an exception of its own.
        """
        self._check_upload(target, operation)
        self._check_source(request)
        if operation is Operation.COMPLETE_MULTIPART_UPLOAD:
            check_part_order(request.body)
        environ = _build_environ(request, target)
        moto_request = _Request(environ)
        moto_request.keep(request.body)
        handler = S3Response.key_dispatch if target.key else S3Response.bucket_dispatch
        try:
            status, headers, body = handler(moto_request, moto_request.raw_url, dict(moto_request.headers))
        except ExpatError as error:
            raise S3Error(400, "MalformedXML", "The XML you provided was not well-formed.") from error
        except Exception as error:
            # moto raises werkzeug's HTTPException and botocore's ClientError for some refusals, and trips over others.
            _log.exception("%s %s", request.method, request.path)
            raise S3Error(500, "InternalError", "We encountered an internal error. Please try again.") from error
        data = body.encode() if isinstance(body, str) else bytes(body)
        return Response(status, tuple((str(k), str(v)) for k, v in headers.items() if v is not None), data)

    def _check_upload(self, target: Target, operation: Operation) -> None:
        """Refuse an unknown upload id, on which moto raises a KeyError."""
        upload = target.query.get("uploadId")
        if upload is None or operation is Operation.LIST_MULTIPART_UPLOADS:
            return
        bucket = self._backend.buckets.get(target.bucket)
        known = bucket.multiparts.get(upload) if bucket else None
        if bucket and (known is None or known.key_name != target.key):
            key = bucket.keys.get(target.key)
            # Completing an upload a second time is idempotent.
            if operation is Operation.COMPLETE_MULTIPART_UPLOAD and key is not None and _upload_of(key) == upload:
                return
            raise S3Error(404, "NoSuchUpload", "The specified multipart upload does not exist.", target.key)

    def _check_source(self, request: Request) -> None:
        """Refuse a copy of another version than the one that is asked for, which moto would make."""
        wanted = request.header(COPY_IF_MATCH)
        if wanted is None:
            return
        source = unquote((request.header("x-amz-copy-source") or "").partition("?")[0]).removeprefix("/")
        bucket, _, key = source.partition("/")
        found = self.find(bucket, key)
        if found is not None and wanted.strip('"') not in {"*", found.etag.strip('"')}:
            detail = "At least one of the pre-conditions you specified did not hold"
            raise S3Error(412, "PreconditionFailed", detail, key)

    def note_uploads(self, bucket: str) -> None:
        """Keep the time of the upload that has just begun, and forget those of uploads that have ended."""
        begun, now = self._begun.get(bucket, {}), datetime.now(UTC)
        self._begun[bucket] = {upload: begun.get(upload, now) for upload in self._backend.buckets[bucket].multiparts}

    def uploads(self, bucket: str) -> list[Upload]:
        """Return the multipart uploads of an existing bucket that are under way, in no order."""
        begun = self._begun.get(bucket, {})
        under_way = self._backend.buckets[bucket].multiparts.values()
        return [Upload(upload.key_name, upload.id, begun[upload.id]) for upload in under_way]

    def has_bucket(self, name: str) -> bool:
        """Tell whether a bucket exists."""
        return name in self._backend.buckets

    def bucket_region(self, name: str) -> str:
        """Return an existing bucket's region."""
        return str(self._backend.buckets[name].region_name)

    def bucket_created(self, name: str) -> float:
        """Return when an existing bucket was created, in seconds of Unix time."""
        return float(self._backend.buckets[name].creation_date.timestamp())

    def create_bucket(self, name: str, region: str, created: float | None = None) -> None:
        """Create a bucket, or put it back as it was, `created` in seconds of Unix time."""
        bucket = self._backend.create_bucket(name, region)
        if created is not None:
            bucket.creation_date = datetime.fromtimestamp(created, UTC)

    def keys(self, bucket: str) -> Iterable[str]:
        """Return all keys of a bucket, in no order."""
        return list(self._backend.buckets[bucket].keys)

    def find(self, bucket: str, key: str) -> FakeKey | None:
        """Return moto's object, or None."""
        found = self._backend.buckets.get(bucket)
        return found.keys.get(key) if found else None

    def tidy(self, bucket: str, key: str, request: Request) -> StoredObject | None:
        """Make an object that a request has just written what S3 would have made of it, and return it.

        moto leaves request headers in its metadata, computes its ETag at the first read (not safe for threads), and
        gives it a checksum only if the client sent one.
        """
        found = self.find(bucket, key)
        if found is None:
            return None
        metadata = {name: value for name, value in found.metadata.items() if name.lower() not in _NOT_METADATA}
        content_type = request.header("content-type") or ""
        if content_type.startswith(_FORM_TYPES) and request.header("x-amz-copy-source") is None:
            metadata["content-type"] = content_type
        found.set_metadata({name.lower(): value for name, value in metadata.items()}, replace=True)
        # What moto keeps of a put is its body, as signatures.py lets through no body in chunks; reading it is a copy.
        put = request.method == "PUT" and request.header("x-amz-copy-source") is None
        body = request.body if put else found.value
        if not found.checksum_value or not found.checksum_algorithm:
            found.checksum_algorithm, found.checksum_value = "CRC32", compute_crc32(body)
        if found.multipart is not None:
            found.multipart.parts = {}  # moto would keep them in memory beside the object
        return StoredObject(
            body=body,
            modified_ns=_to_ns(found.last_modified),
            attributes={
                "etag": found.etag.strip('"'),
                "headers": dict(found.metadata),
                "checksum_algorithm": found.checksum_algorithm,
                "checksum_value": found.checksum_value,
                "checksum_type": found.checksum_type,
                "checksum_parts": found.checksum_parts,
                "encryption": found.encryption,
            },
        )

    def restore(self, bucket: str, key: str, stored: StoredObject) -> None:
        """Put an object back as it was."""
        attributes = stored.attributes
        restored = FakeKey(
            name=key,
            value=stored.body,
            account_id=DEFAULT_ACCOUNT_ID,
            region_name=self.bucket_region(bucket),
            etag=attributes["etag"],
            version_id="null",
            bucket_name=bucket,
            encryption=attributes.get("encryption"),
            checksum_value=attributes.get("checksum_value"),
            checksum_type=attributes.get("checksum_type"),
            checksum_parts=attributes.get("checksum_parts"),
        )
        restored.checksum_algorithm = attributes.get("checksum_algorithm")
        restored.last_modified = _from_ns(stored.modified_ns)
        restored.set_metadata(dict(attributes.get("headers") or {"content-type": DEFAULT_CONTENT_TYPE}), replace=True)
        self._backend.buckets[bucket].keys.setlist(key, [restored])

    def drop(self, bucket: str, key: str) -> None:
        """Remove an object; one that is not there is no error."""
        found = self._backend.buckets[bucket]
        # moto keeps a dictionary of tags for each key that was ever written.
        self._backend.tagger.delete_all_tags_for_resource(f"arn:{_PARTITION}:s3:::{bucket}/{key}/null")
        if key in found.keys:
            found.keys.pop(key)


def _upload_of(key: FakeKey) -> str | None:
    return getattr(getattr(key, "multipart", None), "id", None)


def _to_ns(moment: datetime) -> int:
    """moto's times are UTC without a zone. Microseconds, reckoned in whole numbers."""
    since = moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


def _from_ns(nanoseconds: int) -> datetime:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000, tzinfo=None)


def _build_environ(request: Request, target: Target) -> dict[str, Any]:
    """Build a WSGI environment from the parsed target, so that moto and the shell never read a path differently."""
    path = f"/{quote(target.bucket)}" + (f"/{quote(target.key)}" if target.key else "")
    query = urlencode(target.query, quote_via=quote)
    content_type = request.header("content-type") or ""
    body = request.body
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "RAW_URI": f"{path}?{query}" if query else path,
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost",  # path-style, whatever name the server was reached by
        "HTTP_AUTHORIZATION": _AUTHORIZATION.format(_read_region(request, target)),
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
    }
    if content_type:
        environ["CONTENT_TYPE"] = "application/octet-stream" if content_type.startswith(_FORM_TYPES) else content_type
    preserved = {}
    for name, value in request.joined_headers().items():
        if name in _NOT_PASSED_ON:
            continue
        key = environ_key_for_header(name)
        if "_" in name:
            if not name.startswith("x-amz-meta-"):
                continue  # WSGI could not tell it from the same name with a hyphen
            preserved[key] = name
        environ[key] = value
    environ[PRESERVED_HEADER_NAMES_ENVIRON_KEY] = preserved
    return environ


def _read_region(request: Request, target: Target) -> str:
    """The region of the signature's scope; one of another partition would lead moto to other buckets."""
    credential = target.query.get("X-Amz-Credential", "")
    authorization = request.header("Authorization") or ""
    if "Credential=" in authorization:
        credential = authorization.partition("Credential=")[2].partition(",")[0]
    parts = credential.strip().split("/")
    region = parts[2] if len(parts) == 5 else ""
    known = region.replace("-", "").isalnum() and region.isascii() and get_partition(region) == _PARTITION
    return region if known else _DEFAULT_REGION
