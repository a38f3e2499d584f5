"""The store on files as a program that others reach over HTTP: `python -m tests.support.files_over_http --data FOLDER`.

For tests and benchmarks with several processes on one store, or with one that is killed. Requests of the S3 protocol
become calls of `FileStore`, and its answers XML. It checks no signatures.
"""

import argparse
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from botocore.exceptions import ClientError

from local.front.httpd import Headers, Request, Response, Server
from local.stopping import StopRequest, on_signals
from local.store.client import MAX_KEYS, FileStore

_META = "x-amz-meta-"
_XML = (("Content-Type", "application/xml"),)


class FilesOverHttp:
    """Answers S3 requests."""

    def __init__(self, store: FileStore) -> None:
        self._store = store

    def answer(self, request: Request) -> Response:
        """Answer one request; every failure becomes an error document of the S3 protocol."""
        request_id = uuid.uuid4().hex[:16].upper()
        try:
            response = self._answer(request)
        except ClientError as error:
            told = {name: error.response["Error"][name] for name in ("Code", "Message")}
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            response = Response(status, _XML, _xml("Error", told).body)
        return Response(response.status, (*response.headers, ("x-amz-request-id", request_id)), response.body)

    def _answer(self, request: Request) -> Response:  # noqa: C901, PLR0911 - a table
        bucket, _, key = unquote(request.path)[1:].partition("/")
        query = dict(parse_qsl(request.query, keep_blank_values=True))
        where: dict[str, Any] = {"Bucket": bucket, "Key": key} if key else {"Bucket": bucket}
        conditions: dict[str, Any] = {
            "IfMatch": request.header("If-Match"),
            "IfNoneMatch": request.header("If-None-Match"),
        }
        if not bucket:
            return self._list_buckets()
        match request.method, bool(key):
            case "GET", False:
                return self._list(bucket, query)
            case "HEAD", False:
                return _done(self._store.head_bucket(**where))
            case "PUT", False:
                return _done(self._store.create_bucket(**where))
            case "POST", False:
                return self._delete_many(bucket, request)
            case "GET", True:
                return self._get(where | conditions | {"Range": request.header("Range") or ""}, query)
            case "HEAD", True:
                return Response(200, _described(self._store.head_object(**where), query))
            case "PUT", True if request.header("x-amz-copy-source"):
                return self._copy(where, request)
            case "PUT", True:
                written = self._store.put_object(**where, **conditions, Body=request.body, **_headers(request))
                return Response(200, (("ETag", written["ETag"]),))
            case "DELETE", True:
                return _done(self._store.delete_object(**where, IfMatch=conditions["IfMatch"]))
        return Response(501)

    def _list_buckets(self) -> Response:
        found = sorted(path for path in (self._store.root / "s3").iterdir() if path.is_dir())
        made = [datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in found]
        buckets = [{"Name": one.name, "CreationDate": at} for one, at in zip(found, made, strict=True)]
        return _xml("ListAllMyBucketsResult", {"Buckets": {"Bucket": buckets}})

    def _list(self, bucket: str, query: dict[str, str]) -> Response:
        limit = min(int(query.get("max-keys", MAX_KEYS)), MAX_KEYS)
        answer = self._store.list_objects_v2(
            Bucket=bucket,
            Prefix=query.get("prefix", ""),
            Delimiter=query.get("delimiter", ""),
            StartAfter=query.get("start-after", ""),
            ContinuationToken=urlsafe_b64decode(query.get("continuation-token", "")).decode(),
            MaxKeys=limit,
        )
        encode: Callable[[str], str] = (lambda text: quote(text, safe="/-_.~*")) if "encoding-type" in query else str
        last = answer.get("NextContinuationToken")
        told = {
            "Name": bucket,
            "Prefix": encode(query.get("prefix", "")),
            "MaxKeys": limit,
            "KeyCount": len(answer["Contents"]) + len(answer["CommonPrefixes"]),
            "EncodingType": query.get("encoding-type"),
            "IsTruncated": answer["IsTruncated"],
            "NextContinuationToken": urlsafe_b64encode(last.encode()).decode() if last else None,
            "Contents": [{**item, "Key": encode(item["Key"])} for item in answer["Contents"]],
            "CommonPrefixes": [{"Prefix": encode(item["Prefix"])} for item in answer["CommonPrefixes"]],
        }
        return _xml("ListBucketResult", told)

    def _get(self, wanted: dict[str, Any], query: dict[str, str]) -> Response:
        found = self._store.get_object(**wanted)
        with found["Body"] as body:
            content = body.read()
        headers = _described(found, query)
        if "ContentRange" in found:
            return Response(206, (*headers, ("Content-Range", found["ContentRange"])), content)
        return Response(200, headers, content)

    def _copy(self, where: dict[str, Any], request: Request) -> Response:
        source = unquote((request.header("x-amz-copy-source") or "").partition("?")[0]).removeprefix("/")
        bucket, _, key = source.partition("/")
        copied = self._store.copy_object(
            **where,
            CopySource={"Bucket": bucket, "Key": key},
            CopySourceIfMatch=request.header("x-amz-copy-source-if-match"),
        )
        return _xml("CopyObjectResult", copied["CopyObjectResult"])

    def _delete_many(self, bucket: str, request: Request) -> Response:
        document = ElementTree.fromstring(request.body)
        doomed = [{"Key": item.findtext("{*}Key")} for item in document.iterfind("{*}Object")]
        answer = self._store.delete_objects(Bucket=bucket, Delete={"Objects": doomed})
        return _xml("DeleteResult", {"Error": answer["Errors"]})


def _done(answer: dict[str, Any]) -> Response:
    return Response(answer["ResponseMetadata"]["HTTPStatusCode"])


def _headers(request: Request) -> dict[str, Any]:
    """The arguments that an object's headers are."""
    metadata = {name[len(_META) :]: value for name, value in request.joined_headers.items() if name.startswith(_META)}
    kind = request.header("Content-Type")
    return {"Metadata": metadata, **({"ContentType": kind} if kind else {})}


def _described(found: dict[str, Any], query: dict[str, str]) -> Headers:
    """The headers of an object, with those that the query puts in their place."""
    headers = {
        "Content-Type": found["ContentType"],
        "Content-Length": str(found["ContentLength"]),
        "ETag": found["ETag"],
        "Last-Modified": format_datetime(found["LastModified"], usegmt=True),
        **{_META + name: value for name, value in found["Metadata"].items()},
    }
    for name, value in query.items():
        if name.startswith("response-"):
            headers[name.removeprefix("response-").title()] = value
    return tuple(headers.items())


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


def main() -> None:
    """Serve until SIGTERM or SIGINT; prints one line when it is ready."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.files_over_http")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--data", type=Path, required=True, help="folder that keeps the objects")
    parser.add_argument("--bucket", help="created unless it exists")
    arguments = parser.parse_args()
    store = FileStore(arguments.data)
    if arguments.bucket:
        store.create_bucket(Bucket=arguments.bucket)
    server = Server("127.0.0.1", arguments.port, FilesOverHttp(store).answer, max_body=512 * 1024 * 1024)
    server.start()
    stop = StopRequest()
    on_signals(stop.ask)
    print(f"S3 ready on {server.url}", flush=True)
    stop.wait()
    server.stop(grace_seconds=2.0)


if __name__ == "__main__":
    main()
