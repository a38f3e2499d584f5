"""The functions as Lambda loads them, their sample events, and a small Lambda API that notes what is invoked."""

import json
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any
from urllib.parse import urlencode

from livemem.outbound.secret_parameter import parameter_provider
from livemem_http import environment
from scripts.openapi import load

ROOT = Path(__file__).resolve().parents[2]
EVENTS = ROOT / "events"


@dataclass
class Context:
    """What a handler reads of its Lambda context."""

    function_name: str = "function"
    memory_limit_in_mb: int = 256
    invoked_function_arn: str = "arn:aws:lambda:eu-west-1:123456789012:function:function"
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


@cache
def _text_of(name: str) -> str:
    return (EVENTS / f"{name}.json").read_text()


def sample(name: str) -> dict[str, Any]:
    """A sample event of `events/`, to be changed at will."""
    found: dict[str, Any] = json.loads(_text_of(name))
    return found


def request(
    method: str,
    route: str,
    *,
    token: str | None,
    body: Any = None,
    query: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
    **path: str,
) -> dict[str, Any]:
    """An HTTP API event for a route, made from a sample one. `body` may be text, bytes or a JSON value."""
    event = sample("reads-health")
    event["routeKey"] = event["requestContext"]["routeKey"] = f"{method} {route}"
    raw = route.replace("{path+}", "{path}").format(**path)
    event["rawPath"] = event["requestContext"]["http"]["path"] = raw
    event["requestContext"]["http"]["method"] = method
    event["pathParameters"] = path
    event["queryStringParameters"] = query or {}
    event["rawQueryString"] = urlencode(query or {}, errors="surrogatepass")
    event["headers"].pop("authorization")
    if token is not None:
        event["headers"]["authorization"] = f"Bearer {token}"
    event["headers"].update(headers or {})
    if body is not None:
        event["body"] = body if isinstance(body, str) else json.dumps(body)
    return event


def fresh(function: str) -> ModuleType:
    """The function's module in a new Lambda environment, with nothing cached: modules keep nothing themselves."""
    forget()
    return loaded(function)


@cache
def loaded(function: str) -> ModuleType:
    """The function's module, in whatever environment."""
    return load(function)


def forget() -> None:
    """The next invocation is the first of a new environment."""
    environment.process.cache_clear()
    environment.settings.cache_clear()
    if parameter_provider.cache_info().currsize:
        # Its client takes long to make.
        parameter_provider().clear_cache()


class LambdaApi:
    """Takes asynchronous invocations over HTTP; `invoked` holds (function, payload). It answers with `status`.

    Those of the indexer, which nobody waits for, are in `indexing`. Whoever waits for an answer gets `answer`, and what
    was asked is in `waited`; with `unavailable` the API itself fails, with `function_fails` the function.
    """

    def __init__(self) -> None:
        self.invoked: list[tuple[str, dict[str, Any]]] = []
        self.indexing: list[dict[str, Any]] = []
        self.waited: list[tuple[str, dict[str, Any]]] = []
        self.unavailable = self.function_fails = False
        self.answer: Any = {"statusCode": 200, "body": '{"items": []}'}
        self.status = 202
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                payload = self.rfile.read(int(self.headers["Content-Length"]))
                name, event = self.path.split("/")[3], json.loads(payload)
                if self.headers.get("X-Amz-Invocation-Type", "RequestResponse") == "RequestResponse":
                    api.waited.append((name, event))
                    headers = {"X-Amz-Function-Error": "Unhandled"} if api.function_fails else {}
                    self._tell(503 if api.unavailable else 200, json.dumps(api.answer).encode(), headers)
                    return
                if api.status == 202 and name.endswith("-indexer"):
                    api.indexing.append(event)
                elif api.status == 202:
                    api.invoked.append((name, event))
                self._tell(api.status, b"")

            def _tell(self, status: int, body: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        # How long closing it takes.
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
