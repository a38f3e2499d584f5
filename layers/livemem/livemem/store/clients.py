"""The store of this process, and its clients. A program that runs the functions in itself (`Host`) is asked instead.

Requests are counted for each event, by their kind as S3 bills them.
"""

from __future__ import annotations

import importlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from livemem.errors import StoreUnavailable
from livemem.settings import Settings
from livemem.store import failures
from livemem.store.objects import Store

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

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
    Both raise OSError. `check` is called before each request to the store, and raises OutOfTime where the invocation
    should have ended. `s3`: the client of the program's own store, with the methods of a client of botocore. None: the
    store is another program.
    """

    invoke: Callable[[str, bytes], tuple[Any, bool]]
    enqueue: Callable[[str, bytes], None]
    check: Callable[[], None]
    s3: Any = None


HOST: ContextVar[Host | None] = ContextVar("host", default=None)
"""The program that runs the function of this thread. None: Lambda does."""


def _aws() -> ModuleType:
    # A program that runs the functions needs nothing of botocore.
    return importlib.import_module("livemem.store.aws")


def s3_client(settings: Settings, *, signature: str = "s3v4") -> S3Client:
    """A new S3 client for the settings' store. `signature` is botocore's name of the signing method."""
    host = HOST.get()
    if host and host.s3:
        return host.s3  # type: ignore[no-any-return]
    return _aws().s3_client(settings, signature, host.check if host else None)  # type: ignore[no-any-return]


def open_store(settings: Settings) -> Store:
    """The store of the settings, with clients of its own."""
    v4: Any = CountingS3(s3_client(settings))
    # Some stores (Dell ECS) take SigV2 only for object requests and SigV4 only for HEAD and LIST.
    plain: Any = CountingS3(s3_client(settings, signature="s3")) if settings.s3_signature == "hybrid" else v4
    store = Store(settings.s3_bucket_name, v4, plain, gives_sha256=settings.s3_endpoint_url is None)
    host = HOST.get()
    return store.checked(host.check) if host else store


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
            _aws().lambda_client().invoke(FunctionName=function_name, InvocationType="Event", Payload=body)
    except (*failures.CLIENT_ERRORS, OSError) as error:
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
            answer = (
                _aws()
                .lambda_client(attempts=1, read_timeout=INVOKE_SECONDS)
                .invoke(FunctionName=function_name, Payload=body)
            )
            answer_data, failed = json.loads(answer["Payload"].read()), answer.get("FunctionError")
    except (*failures.CLIENT_ERRORS, ValueError, OSError) as error:
        raise StoreUnavailable(
            "The function service did not answer. The request may have been carried out: check before you repeat it."
        ) from error
    if failed or not isinstance(answer_data, dict):
        raise StoreUnavailable("The function of this operation failed. Its log has the reason.")
    return answer_data
