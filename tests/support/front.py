"""Functions of this process behind the front of the local runtime: real HTTP, the template's routes, our handlers."""

import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any, cast

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from urllib3 import HTTPHeaderDict, HTTPResponse

from local.front.http_api import MAX_BODY_BYTES, HttpApi
from local.front.httpd import Request, Server
from local.functions.invocations import Outcome
from local.functions.pools import FunctionPool
from local.functions.template import Function, read_template
from tests.support.functions import ROOT
from tests.support.service import Service

Invoke = Callable[[Function, dict[str, Any]], Any]
"""What a function answers to an event."""


@dataclass(frozen=True)
class _Pool:
    """One function, called where it is."""

    invoke: Invoke
    function: Function

    def submit(self, payload: bytes) -> "Future[Outcome]":
        done: Future[Outcome] = Future()
        answer = self.invoke(self.function, json.loads(payload))
        done.set_result(Outcome(json.dumps(answer).encode()))
        return done


@dataclass(frozen=True)
class Front:
    """A server on loopback that is spoken to in bytes: clients of libraries mend what they are given to send."""

    port: int

    def send(self, head: str, *headers: str) -> tuple[int, Any]:
        """Status and body of the answer to a request line (`GET /v1/health`) with these header lines."""
        lines = [f"{head} HTTP/1.1", "Host: localhost", "Connection: close", *headers, "", ""]
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall("\r\n".join(lines).encode("latin-1"))
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        top, _, body = answer.partition(b"\r\n\r\n")
        return int(top.split()[1]), json.loads(body)


@cache
def _functions() -> tuple[Function, ...]:
    return tuple(function for function in read_template(ROOT / "template.yaml").functions if function.routes)


@contextmanager
def opened(service: Service) -> Iterator[Front]:
    """The front of the service, until the end of the block."""
    with before(lambda function, event: service.invoke(function.code.name, event)) as door:
        yield door


def _api(invoke: Invoke) -> HttpApi:
    pools = {function.logical_id: cast("FunctionPool", _Pool(invoke, function)) for function in _functions()}
    return HttpApi(_functions(), pools)


class Adapter(HTTPAdapter):
    """Answers what a session of `requests` sends by the front, with no socket in between: thousands of requests."""

    def __init__(self, invoke: Invoke) -> None:
        super().__init__()
        self._api = _api(invoke)

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        """The answer to a request."""
        headers = tuple((_text(name), _text(value)) for name, value in request.headers.items())
        body = request.body or b""
        assert isinstance(body, str | bytes)
        sent = body.encode() if isinstance(body, str) else body
        answer = self._api.answer(Request(str(request.method), request.path_url, headers, sent))
        found = HTTPResponse(
            BytesIO(answer.body),
            HTTPHeaderDict(answer.headers),
            answer.status,
            version=11,
            preload_content=False,
            reason="",
        )
        return self.build_response(request, found)


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


@contextmanager
def before(invoke: Invoke) -> Iterator[Front]:
    """The front of all functions that have routes, until the end of the block."""
    server = Server("127.0.0.1", 0, _api(invoke).answer, max_body=MAX_BODY_BYTES)
    server.start()
    try:
        yield Front(server.port)
    finally:
        server.stop()
