"""The embedded store over HTTP: requests of the S3 protocol become calls of the store's client, and its answers XML."""

import uuid
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NoBase64
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import md5, sha256
from typing import Any
from urllib.parse import quote, unquote
from xml.etree import ElementTree
from xml.sax.saxutils import escape
from zlib import crc32

from botocore.exceptions import ClientError

from local.front.guard import is_from_web_page
from local.front.httpd import Headers, Request, Response
from local.s3.operations import COPY_IF_MATCH, Operation, S3Error, Target, classify, parse_target
from local.s3.signatures import Signatures
from local.store.client import MAX_KEYS, FileStore

MAX_OBJECT_BYTES = 512 * 1024 * 1024
"""Of one body: it is in memory while it comes."""
_META = "x-amz-meta-"
_XML = (("Content-Type", "application/xml"),)
_CHECKSUMS: dict[str, Callable[[bytes], bytes]] = {
    "content-md5": lambda body: md5(body, usedforsecurity=False).digest(),
    "x-amz-checksum-crc32": lambda body: crc32(body).to_bytes(4, "big"),
    "x-amz-checksum-sha256": lambda body: sha256(body).digest(),
}


class S3Application:
    """Answers S3 requests."""

    def __init__(self, store: FileStore, signatures: Signatures) -> None:
        self._store = store
        self._signatures = signatures
        self._operations: dict[Operation, Callable[[Request, Target], Response]] = {
            Operation.LIST_BUCKETS: self._list_buckets,
            Operation.HEAD_BUCKET: lambda _, target: _done(store.head_bucket(Bucket=target.bucket)),
            Operation.CREATE_BUCKET: lambda _, target: _done(store.create_bucket(Bucket=target.bucket)),
            Operation.LIST_OBJECTS_V2: self._list,
            Operation.GET_OBJECT: self._get,
            Operation.HEAD_OBJECT: self._head,
            Operation.PUT_OBJECT: self._put,
            Operation.COPY_OBJECT: self._copy,
            Operation.DELETE_OBJECT: self._delete,
            Operation.DELETE_OBJECTS: self._delete_many,
        }

    def answer(self, request: Request) -> Response:
        """Answer one request; every failure becomes an error document of the S3 protocol."""
        request_id = uuid.uuid4().hex[:16].upper()
        try:
            response = self._answer(request)
        except S3Error as error:
            response = _render_error(error.status, error.code, error.message, request_id)
        except ClientError as error:
            status, told = error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]
            response = _render_error(status, told["Code"], told["Message"], request_id)
        return Response(response.status, (*response.headers, ("x-amz-request-id", request_id)), response.body)

    def _answer(self, request: Request) -> Response:
        if is_from_web_page(request):
            raise S3Error(403, "AccessDenied", "Requests from web pages are refused.")
        self._signatures.check(request)
        target = parse_target(request)
        operation = classify(request, target)
        _check_sums(request)
        return self._operations[operation](request, target)

    def _list_buckets(self, *_: object) -> Response:
        buckets = [{"Name": name, "CreationDate": created} for name, created in self._store.buckets()]
        return _xml("ListAllMyBucketsResult", {"Buckets": {"Bucket": buckets}})

    def _list(self, _: Request, target: Target) -> Response:
        query = target.query
        limit = _read_limit(query.get("max-keys"))
        token = query.get("continuation-token")
        answer = self._store.list_objects_v2(
            Bucket=target.bucket,
            Prefix=query.get("prefix", ""),
            Delimiter=query.get("delimiter", ""),
            StartAfter=query.get("start-after", ""),
            ContinuationToken="" if token is None else _read_token(token),
            MaxKeys=limit,
        )
        encode = _read_encoding(query.get("encoding-type"))
        told = {
            "Name": target.bucket,
            "Prefix": encode(query.get("prefix", "")),
            "Delimiter": encode(query.get("delimiter", "")) or None,
            "MaxKeys": limit,
            "KeyCount": len(answer["Contents"]) + len(answer["CommonPrefixes"]),
            "EncodingType": query.get("encoding-type"),
            "IsTruncated": answer["IsTruncated"],
            "NextContinuationToken": _write_token(answer.get("NextContinuationToken")),
            "Contents": [{**item, "Key": encode(item["Key"])} for item in answer["Contents"]],
            "CommonPrefixes": [{"Prefix": encode(item["Prefix"])} for item in answer["CommonPrefixes"]],
        }
        return _xml("ListBucketResult", told)

    def _get(self, request: Request, target: Target) -> Response:
        found = self._store.get_object(
            Bucket=target.bucket,
            Key=target.key,
            Range=request.header("Range") or "",
            IfMatch=request.header("If-Match"),
            IfNoneMatch=request.header("If-None-Match"),
        )
        with found["Body"] as body:
            content = body.read()
        headers = _described(found, target)
        if "ContentRange" in found:
            return Response(206, (*headers, ("Content-Range", found["ContentRange"])), content)
        return Response(200, headers, content)

    def _head(self, _: Request, target: Target) -> Response:
        found = self._store.head_object(Bucket=target.bucket, Key=target.key)
        return Response(200, _described(found, target))

    def _put(self, request: Request, target: Target) -> Response:
        written = self._store.put_object(
            Bucket=target.bucket,
            Key=target.key,
            Body=request.body,
            IfMatch=request.header("If-Match"),
            IfNoneMatch=request.header("If-None-Match"),
            **_headers(request),
        )
        return Response(200, (("ETag", written["ETag"]),))

    def _copy(self, request: Request, target: Target) -> Response:
        source = unquote((request.header("x-amz-copy-source") or "").partition("?")[0]).removeprefix("/")
        bucket, _, key = source.partition("/")
        algorithm = request.header("x-amz-checksum-algorithm") or ""
        copied = self._store.copy_object(
            Bucket=target.bucket,
            Key=target.key,
            CopySource={"Bucket": bucket, "Key": key},
            CopySourceIfMatch=request.header(COPY_IF_MATCH),
            ChecksumAlgorithm=algorithm,
        )
        return _xml("CopyObjectResult", copied["CopyObjectResult"])

    def _delete(self, request: Request, target: Target) -> Response:
        condition = request.header("If-Match")
        return _done(self._store.delete_object(Bucket=target.bucket, Key=target.key, IfMatch=condition))

    def _delete_many(self, request: Request, target: Target) -> Response:
        document = _parse(request.body)
        doomed = [_texts(item) for item in document if _name(item) == "Object"]
        if not doomed or any(not item.get("Key") for item in doomed):
            raise _malformed()
        if any(item.keys() - {"Key"} for item in doomed):
            raise S3Error(501, "NotImplemented", "The embedded store deletes by key only.")
        answer = self._store.delete_objects(Bucket=target.bucket, Delete={"Objects": doomed})
        errors = {item["Key"] for item in answer["Errors"]}
        quiet = _texts(document).get("Quiet") == "true"
        deleted = [] if quiet else [item for item in doomed if item["Key"] not in errors]
        return _xml("DeleteResult", {"Deleted": deleted, "Error": answer["Errors"]})


def _done(answer: dict[str, Any]) -> Response:
    return Response(answer["ResponseMetadata"]["HTTPStatusCode"])


def _headers(request: Request) -> dict[str, Any]:
    """The arguments that an object's headers are."""
    metadata = {name[len(_META) :]: value for name, value in request.joined_headers().items() if name.startswith(_META)}
    kind = request.header("Content-Type")
    return {"Metadata": metadata, **({"ContentType": kind} if kind else {})}


def _described(found: dict[str, Any], target: Target) -> Headers:
    """The headers of an object, with those that the query puts in their place."""
    headers = {
        "Content-Type": found["ContentType"],
        "Content-Length": str(found["ContentLength"]),
        "ETag": found["ETag"],
        "Last-Modified": format_datetime(found["LastModified"], usegmt=True),
        "Accept-Ranges": "bytes",
        **{_META + name: value for name, value in found["Metadata"].items()},
    }
    for name, value in target.query.items():
        if name.startswith("response-"):
            headers[name.removeprefix("response-").title()] = value
    return tuple(headers.items())


def _check_sums(request: Request) -> None:
    """Refuse a body that is not the one that its client has sent."""
    for name, value in request.joined_headers().items():
        if name in _CHECKSUMS and b64encode(_CHECKSUMS[name](request.body)).decode() != value:
            raise S3Error(400, "BadDigest", f"The body is not that of {name}.")


def _xml(name: str, value: object) -> Response:
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n{_element(name, value)}'
    return Response(200, _XML, text.encode("utf-8", "replace"))


def _element(name: str, value: object) -> str:
    """An element; one for each item of a list, none for None."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "".join(_element(name, item) for item in value)
    if isinstance(value, dict):
        inner = "".join(_element(key, item) for key, item in value.items())
    elif isinstance(value, datetime):
        inner = value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    else:
        inner = str(value).lower() if isinstance(value, bool) else escape(str(value), {'"': "&quot;"})
    return f"<{name}>{inner}</{name}>"


def _render_error(status: int, code: str, message: str, request_id: str) -> Response:
    told = {"Code": code, "Message": message, "RequestId": request_id}
    return Response(status, _XML, _xml("Error", told).body)


def _parse(body: bytes) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(body)  # noqa: S314 - from this machine; expat bounds what entities may grow to
    except ElementTree.ParseError as error:
        raise _malformed() from error


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _texts(element: ElementTree.Element) -> dict[str, str]:
    return {_name(child): child.text or "" for child in element}


def _malformed() -> S3Error:
    return S3Error(400, "MalformedXML", "The XML you provided was not well-formed or did not validate.")


def _read_limit(text: str | None) -> int:
    if text is None:
        return MAX_KEYS
    if not text.isascii() or not text.isdigit() or int(text[:10]) >= 2**31:
        raise S3Error(400, "InvalidArgument", "Provided max-keys not an integer or within integer range")
    return min(int(text), MAX_KEYS)


def _read_encoding(name: str | None) -> Callable[[str], str]:
    if name not in {None, "url"}:
        raise S3Error(400, "InvalidArgument", "Invalid Encoding Method specified in Request")
    return (lambda text: quote(text, safe="/-_.~*")) if name else str


def _read_token(token: str) -> str:
    try:
        if last := urlsafe_b64decode(token.encode()).decode():
            return last
    except (NoBase64, UnicodeError):
        pass
    raise S3Error(400, "InvalidArgument", "The continuation token provided is incorrect")


def _write_token(last: str | None) -> str | None:
    return urlsafe_b64encode(last.encode()).decode() if last else None
