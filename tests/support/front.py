"""Functions of this process behind the front of the local runtime: real HTTP, the template's routes, our handlers."""

import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from local.front.http_api import MAX_BODY_BYTES, HttpApi
from local.front.httpd import Server
from local.functions.environments import Outcome
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


@contextmanager
def before(invoke: Invoke) -> Iterator[Front]:
    """The front of all functions that have routes, until the end of the block."""
    pools = {function.logical_id: cast("FunctionPool", _Pool(invoke, function)) for function in _functions()}
    server = Server("127.0.0.1", 0, HttpApi(_functions(), pools).answer, max_body=MAX_BODY_BYTES)
    server.start()
    try:
        yield Front(server.port)
    finally:
        server.stop()
