"""The store of this process, and its clients: an S3 client (two where the store wants old signatures), a Lambda client.

botocore itself makes them. boto3 adds features that the service does not use, and takes longer to load than the
service. A program that runs the functions within itself (`Host`) is asked instead.

The client's own parser takes a quarter of a second for the thousand objects of a listing: it guesses the format of each
time, and walks through a model for each object. `read_objects` reads them, and leaves it the rest of the answer.

Requests are counted for each event, by their kind as S3 bills them.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.loaders import Loader
from botocore.session import Session, get_session
from botocore.utils import parse_timestamp

from livemem import __version__
from livemem.errors import StoreUnavailable
from livemem.settings import Settings
from livemem.store.objects import Store

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

CONNECTIONS = 32
OK = 200
FIELDS = ("Key", "LastModified", "ETag", "Size")
KINDS = {
    "get_object": "GET",
    "head_object": "HEAD",
    "list_objects_v2": "LIST",
    "list_object_versions": "LIST",
    "put_object": "PUT",
    "copy_object": "COPY",
    "delete_object": "DELETE",
    "delete_objects": "DELETE",
}
"""The kind of each method of a client. A request that the client repeats by itself counts once."""


class RequestCounts:
    """Counts requests of several threads."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def note(self, kind: str) -> None:
        """One more."""
        with self._lock:
            self._counts[kind] += 1

    def so_far(self) -> Counter[str]:
        """All that were sent, by kind."""
        with self._lock:
            return Counter(self._counts)


SENT: ContextVar[RequestCounts | None] = ContextVar("requests sent", default=None)
"""The counts of the event that this thread works for."""


class CountingS3:
    """An S3 client whose requests are counted."""

    def __init__(self, client: Any) -> None:
        """Pass everything on to `client`."""
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name in KINDS:
            method = self._counting(method, KINDS[name])
            # Looked up once.
            setattr(self, name, method)
        return method

    def _counting(self, method: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def call(**arguments: Any) -> Any:
            if counts := SENT.get():
                counts.note(kind)
            return method(**arguments)

        return call


@dataclass(frozen=True)
class Host:
    """A program that runs the functions in its own process.

    `invoke` has a function answer an event (JSON), and says whether it failed. `enqueue` takes an asynchronous one on.
    Both raise OSError. `check` is
    called before each request to the store, and raises OutOfTime where the invocation should have ended. `s3`: the
    client of the program's own store, with the methods of a client of botocore. None: the store is another program.
    """

    invoke: Callable[[str, bytes], tuple[Any, bool]]
    enqueue: Callable[[str, bytes], None]
    check: Callable[[], None]
    s3: Any = None


HOST: ContextVar[Host | None] = ContextVar("host", default=None)
"""The program that runs the function of this thread. None: Lambda does."""


class _Loader(Loader):
    """botocore's loader of its models. The original looks into 400 folders to list the services."""

    def list_available_services(self, type_name: str) -> list[str]:  # noqa: ARG002
        """The services that this module uses."""
        return ["lambda", "s3"]


def _session() -> Session:
    session = get_session()
    session.register_component("data_loader", _Loader())
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_moment)
    return session


def _moment(text: Any) -> datetime:
    """A time in the format of headers. botocore's own parser tries every format, each time."""
    return parsedate_to_datetime(text) if str(text).endswith(" GMT") else parse_timestamp(text)


def s3_client(settings: Settings, *, signature: str = "s3v4") -> S3Client:
    """A new S3 client for the settings' store. `signature` is botocore's name of the signing method."""
    host = HOST.get()
    if host and host.s3:
        return host.s3  # type: ignore[no-any-return]
    session = _session()
    client: S3Client = session.create_client(  # type: ignore[assignment]
        "s3",
        endpoint_url=settings.s3_endpoint_url,
        region_name=settings.s3_region_name or session.get_config_variable("region") or "us-east-1",
        aws_access_key_id=settings.s3_access_key_id,
        aws_secret_access_key=settings.s3_secret_access_key,
        config=Config(
            signature_version=signature,
            # botocore's own user agent is put together from thirty parts for each request.
            user_agent=f"live-memory/{__version__}",
            retries={"mode": "standard", "total_max_attempts": 3},
            connect_timeout=5,
            read_timeout=30,
            max_pool_connections=CONNECTIONS,
            s3={"addressing_style": "path" if settings.s3_endpoint_url else "auto"},
            # Other stores don't know the newer checksums. S3 itself checks the MD5 or TLS either way.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )
    # By `*` it is called before the client's own handlers: one of them parses each answer to look for an error in it.
    client.meta.events.register("before-parse.*.ListObjectsV2", read_objects)
    if host:
        # The client sends a request again by itself.
        client.meta.events.register("before-send.s3", lambda **_: host.check())
    return client


def open_store(settings: Settings) -> Store:
    """The store of the settings, with clients of its own."""
    v4: Any = CountingS3(s3_client(settings))
    # Some stores (Dell ECS) take SigV2 only for object requests and SigV4 only for HEAD and LIST.
    plain: Any = CountingS3(s3_client(settings, signature="s3")) if settings.s3_signature == "hybrid" else v4
    store = Store(settings.s3_bucket_name, v4, plain, gives_sha256=settings.s3_endpoint_url is None)
    host = HOST.get()
    return store.checked(host.check) if host else store


@lru_cache(maxsize=2)
def _lambda_client(*, attempts: int = 3, read_timeout: int = 10) -> Any:
    session = _session()
    return session.create_client(
        "lambda",
        region_name=session.get_config_variable("region") or "us-east-1",
        config=Config(
            retries={"mode": "standard", "total_max_attempts": attempts}, connect_timeout=3, read_timeout=read_timeout
        ),
    )


INVOKE_SECONDS = 29
"""Seconds to wait for a function's answer: as long as the HTTP API would wait."""


def invoke_async(function_name: str, payload: Mapping[str, Any]) -> None:
    """Queue one asynchronous invocation of `function_name` with `payload` as JSON.

    Raises StoreUnavailable if the Lambda API does not accept it. AWS_ENDPOINT_URL_LAMBDA names another endpoint.
    """
    host, body = HOST.get(), json.dumps(payload).encode()
    try:
        if host:
            host.enqueue(function_name, body)
        else:
            _lambda_client().invoke(FunctionName=function_name, InvocationType="Event", Payload=body)
    except (BotoCoreError, ClientError, OSError) as error:
        raise StoreUnavailable(
            "The work could not be queued: the function service did not accept it. Try again."
        ) from error


def invoke(function_name: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Invoke `function_name` with `payload` as JSON, wait, and return its answer, a JSON object.

    It is invoked once: the work may be done even if the answer never came. Raises StoreUnavailable if the function
    could not be invoked, or failed.
    """
    host, body = HOST.get(), json.dumps(payload).encode()
    try:
        if host:
            answer_data, failed = host.invoke(function_name, body)
        else:
            answer = _lambda_client(attempts=1, read_timeout=INVOKE_SECONDS).invoke(
                FunctionName=function_name, Payload=body
            )
            answer_data, failed = json.loads(answer["Payload"].read()), answer.get("FunctionError")
    except (BotoCoreError, ClientError, ValueError, OSError) as error:
        raise StoreUnavailable(
            "The function service did not answer. The request may have been carried out: check before you repeat it."
        ) from error
    if failed or not isinstance(answer_data, dict):
        raise StoreUnavailable("The function of this operation failed. Its log has the reason.")
    return answer_data


def read_objects(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    """Take the objects out of a ListObjectsV2 answer before the client parses it (its event `before-parse`).

    If the answer does not have S3's format, nothing is taken: the client reads it all, or raises its error.
    """
    if response_dict.get("status_code") != OK:
        return
    try:
        root = ElementTree.fromstring(response_dict["body"])  # noqa: S314 - botocore's own parser, and as trusting
        space = root.tag.rpartition("ListBucketResult")[0]
        nodes = root.findall(f"{space}Contents")
        objects = [_object(node, space) for node in nodes]
    except (ElementTree.ParseError, KeyError, ValueError, TypeError):
        return
    if not objects:
        return
    root[:] = [node for node in root if node.tag != f"{space}Contents"]
    response_dict["body"] = ElementTree.tostring(root)
    customized_response_dict["Contents"] = objects


def _object(node: Element, space: str) -> dict[str, Any]:
    fields = {field.tag.removeprefix(space): field.text or "" for field in node}
    key, modified, etag, size = (fields[name] for name in FIELDS)
    moment = datetime.fromisoformat(modified)
    return {
        "Key": key,
        "LastModified": moment if moment.tzinfo else moment.replace(tzinfo=UTC),
        "ETag": etag,
        "Size": int(size),
        "StorageClass": fields.get("StorageClass", ""),
    }
