"""Which S3 operation a request is, and whether this server does it.

Fails closed: a sub-resource or a header whose effect would be lost (versions, tags, locks, caching) is answered with
501 NotImplemented, so that a client never relies on something that did not happen.
"""

from dataclasses import dataclass
from enum import Enum
from urllib.parse import parse_qsl, unquote_to_bytes

from local.front.httpd import Request

MAX_KEY_BYTES = 1024


class Operation(Enum):
    """The operations that the server does. The value says whether it changes anything."""

    LIST_BUCKETS = ("ListBuckets", False)
    HEAD_BUCKET = ("HeadBucket", False)
    LIST_OBJECTS_V2 = ("ListObjectsV2", False)
    GET_OBJECT = ("GetObject", False)
    HEAD_OBJECT = ("HeadObject", False)
    CREATE_BUCKET = ("CreateBucket", True)
    PUT_OBJECT = ("PutObject", True)
    COPY_OBJECT = ("CopyObject", True)
    DELETE_OBJECT = ("DeleteObject", True)
    DELETE_OBJECTS = ("DeleteObjects", True)

    @property
    def changes(self) -> bool:
        """Return whether the operation changes stored data."""
        return self.value[1]


class S3Error(Exception):
    """An error answer of the S3 protocol."""

    def __init__(self, status: int, code: str, message: str, resource: str = "") -> None:
        super().__init__(f"{code}: {message}")
        self.status, self.code, self.message, self.resource = status, code, message, resource


@dataclass(frozen=True)
class Target:
    """What a request is about. `query` holds the decoded parameters; of a repeated one the last."""

    bucket: str
    key: str
    query: dict[str, str]


# (method, has a key) -> (sub-resource or None, copy source given, operation); the first that fits
_TABLE: dict[tuple[str, bool], list[tuple[frozenset[str], bool | None, Operation]]] = {
    ("GET", False): [
        (frozenset({"list-type"}), None, Operation.LIST_OBJECTS_V2),
    ],
    ("HEAD", False): [(frozenset(), None, Operation.HEAD_BUCKET)],
    ("PUT", False): [(frozenset(), None, Operation.CREATE_BUCKET)],
    ("POST", False): [(frozenset({"delete"}), None, Operation.DELETE_OBJECTS)],
    ("GET", True): [
        (frozenset(), None, Operation.GET_OBJECT),
    ],
    ("HEAD", True): [(frozenset(), None, Operation.HEAD_OBJECT)],
    ("PUT", True): [
        (frozenset(), True, Operation.COPY_OBJECT),
        (frozenset(), False, Operation.PUT_OBJECT),
    ],
    ("DELETE", True): [
        (frozenset(), None, Operation.DELETE_OBJECT),
    ],
}

# Parameters beside the sub-resource, by operation.
_LISTING = {
    "prefix",
    "delimiter",
    "max-keys",
    "encoding-type",
    "start-after",
    "continuation-token",
}
_PARAMETERS: dict[Operation, set[str]] = {
    Operation.LIST_OBJECTS_V2: _LISTING,
}
# What every request may carry: the parameters of presigned URLs (both signature versions) and the SDK's own.
_ANYWHERE = {"awsaccesskeyid", "signature", "expires", "x-id"}

COPY_IF_MATCH = "x-amz-copy-source-if-match"
"""The condition of a copy: the source's ETag."""

_NEVER = (
    "x-amz-tagging",
    "x-amz-object-lock-mode",
    "x-amz-object-lock-retain-until-date",
    "x-amz-object-lock-legal-hold",
    "x-amz-server-side-encryption-customer-algorithm",
    "x-amz-server-side-encryption-aws-kms-key-id",
    "x-amz-website-redirect-location",
    "x-amz-write-offset-bytes",
    "x-amz-checksum-crc32c",
    "x-amz-checksum-sha1",
    "x-amz-checksum-crc64nvme",
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "expires",
    "x-amz-copy-source-if-modified-since",
    "x-amz-copy-source-if-unmodified-since",
    "x-amz-if-match-last-modified-time",
    "x-amz-if-match-size",
)


def parse_target(request: Request) -> Target:
    """Find bucket, key and parameters of a path-style request.

    Raises:
        S3Error: the path is not UTF-8 below its percent-encoding, or the key is too long.
    """
    try:
        path = unquote_to_bytes(request.path.encode("latin-1")).decode("utf-8")
    except UnicodeError as error:
        raise S3Error(400, "InvalidURI", "Couldn't parse the specified URI.") from error
    bucket, _, key = path[1:].partition("/")
    if len(key.encode()) > MAX_KEY_BYTES:
        raise S3Error(400, "KeyTooLongError", "Your key is too long", key)
    return Target(bucket, key, dict(parse_qsl(request.query, keep_blank_values=True, errors="replace")))


def classify(request: Request, target: Target) -> Operation:
    """Return the operation that a request asks for.

    Raises:
        S3Error: 501 for everything that this server does not do.
    """
    if not target.bucket:
        if request.method != "GET":
            raise _not_implemented(request.method)
        operation, subresource = Operation.LIST_BUCKETS, frozenset[str]()
    else:
        operation, subresource = _find(request, target)
    allowed = subresource | _PARAMETERS.get(operation, set())
    for name in target.query:
        low = name.lower()
        if name not in allowed and low not in _ANYWHERE and not low.startswith(("x-amz-", "response-")):
            raise _not_implemented(f"the parameter {name}")
    if operation.changes:
        _check_headers(request, operation)
    return operation


def _find(request: Request, target: Target) -> tuple[Operation, frozenset[str]]:
    copies = request.header("x-amz-copy-source") is not None
    for subresource, wants_copy, operation in _TABLE.get((request.method, bool(target.key)), []):
        if subresource <= target.query.keys() and wants_copy in {None, copies}:
            return operation, subresource
    raise _not_implemented(f"this {request.method}")


def _check_headers(request: Request, operation: Operation) -> None:
    for name in _NEVER:
        if request.header(name) is not None:
            raise _not_implemented(f"the header {name}")
    if operation is not Operation.COPY_OBJECT and request.header(COPY_IF_MATCH) is not None:
        raise _not_implemented(f"the header {COPY_IF_MATCH}")
    if request.header("x-amz-server-side-encryption") not in {None, "AES256"}:
        raise _not_implemented("encryption other than AES256")
    if request.header("x-amz-storage-class") not in {None, "STANDARD"}:
        raise _not_implemented("storage classes")
    conditions = {name for name in ("If-Match", "If-None-Match") if request.header(name) is not None}
    # Better no answer than an unprotected write.
    supported = {
        Operation.PUT_OBJECT: {"If-Match", "If-None-Match"},
        Operation.DELETE_OBJECT: {"If-Match"},
    }
    if conditions - supported.get(operation, set()):
        raise _not_implemented(f"a condition on {operation.value[0]}")
    if request.header("If-None-Match") not in {None, "*"}:
        raise _not_implemented("If-None-Match with anything but *")


def _not_implemented(what: str) -> S3Error:
    return S3Error(501, "NotImplemented", f"The embedded store does not do {what}.")
