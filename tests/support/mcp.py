"""Agents that speak MCP, in a world: the function's answer to HTTP API events, in both eras of the protocol.

What a tool of the catalog asks of another function is answered here by the route of this process.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY

from livemem.access import secret
from livemem.access.registry import Registry, Token
from livemem.errors import StoreUnavailable
from livemem.store.bucket import TOKENS
from livemem_http import environment
from livemem_http.api import Api
from livemem_mcp import http
from scripts.operation_table import FUNCTIONS
from tests.support.functions import Context, sample
from tests.support.world import BOOTSTRAP_KEY, World

MODERN = "2026-07-28"
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEWEST_HANDSHAKE = HANDSHAKES[-1]
ACCEPT = "application/json, text/event-stream"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_MODULES = {function: module for module, function in FUNCTIONS.items()}


@dataclass
class Agents:
    """Agents of one service; `invoked` is what their tools had other functions do, as (function, event)."""

    world: World
    token: str = BOOTSTRAP_KEY
    protocol: str = NEWEST_HANDSHAKE
    invoked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    paused: list[float] = field(default_factory=list)
    meanwhile: Callable[[], Any] = lambda: None
    """What happens while a call waits for a moment."""

    def pause(self, seconds: float) -> None:
        """What a call that waits does: the world's time passes."""
        self.paused.append(seconds)
        self.world.clock.move(seconds)
        self.meanwhile()

    def invoke(self, function: str, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Have the route of this process answer."""
        self.invoked.append((function, event))
        return answered(function, event)

    def send(
        self,
        body: Any,
        *,
        method: str = "POST",
        token: str | None = "",
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> dict[str, Any]:
        """The answer to a request; an empty `token` is that of these agents, and a header None is left out."""
        event = event_of(body, method, self.token if token == "" else token, query or {}, headers or {})
        return http.handle(self.world.process, event, self.invoke, pause=self.pause)

    def ask(self, method: str, params: Any = None, **rest: Any) -> dict[str, Any]:
        """The JSON-RPC answer to a request in these agents' protocol."""
        body, headers = asked(method, params, self.protocol)
        headers |= rest.pop("headers", {})
        answer = self.send(body, headers=headers, **rest)
        assert answer["headers"]["Content-Type"].startswith("application/json"), answer
        found: dict[str, Any] = json.loads(answer["body"])
        assert (found["jsonrpc"], found["id"]) == ("2.0", 1), found
        return found

    def good(self, method: str, params: Any = None, **rest: Any) -> Any:
        """The result of a request that must succeed."""
        answer = self.ask(method, params, **rest)
        assert "error" not in answer, answer
        return answer["result"]

    def error(self, method: str, params: Any = None, **rest: Any) -> Any:
        """The protocol's error of a request that must be refused."""
        answer = self.ask(method, params, **rest)
        assert "result" not in answer, answer
        return answer["error"]

    def tools(self, **rest: Any) -> dict[str, Any]:
        """The tools that are listed, by name."""
        return {tool["name"]: tool for tool in self.good("tools/list", **rest)["tools"]}

    def result(self, tool: str, arguments: Mapping[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
        """The result of a call, whether it failed or not."""
        found: dict[str, Any] = self.good("tools/call", {"name": tool, "arguments": dict(arguments or {})}, **rest)
        assert [part["type"] for part in found["content"]] == ["text"], found
        return found

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """The structured content of a call that must succeed."""
        found = self.result(tool, arguments)
        assert not found.get("isError"), found
        return found["structuredContent"]

    def text(self, tool: str, /, **arguments: Any) -> str:
        """The text of a call that must succeed."""
        found = self.result(tool, arguments)
        assert not found.get("isError"), found
        return str(found["content"][0]["text"])

    def refused(self, tool: str, /, **arguments: Any) -> str:
        """The text of a call that must fail."""
        found = self.result(tool, arguments)
        assert found["isError"] is True, found
        return str(found["content"][0]["text"])

    def http(self, function: str, event: Mapping[str, Any]) -> tuple[int, Any]:
        """Status and body of the same service's answer over HTTP."""
        answer = answered(function, event)
        return answer["statusCode"], json.loads(answer["body"]) if answer["body"] else None

    def let_in(self, *tokens: Token) -> None:
        """Have the service know these tokens and no other; a process of the service begins."""
        registry = Registry(tokens=list(tokens)).to_bytes()
        self.world.inner.put_object(Bucket="bucket", Key=TOKENS, Body=registry)
        self.world.new_process()

    def as_one(self, token: str, **parts: Any) -> "Agents":
        """Agents with another token, in the same world."""
        return Agents(self.world, token, **{"protocol": self.protocol, "invoked": self.invoked, **parts})


def started(patch: pytest.MonkeyPatch, world: World | None = None) -> Agents:
    """Agents of a service whose functions all work in one world."""
    agents = Agents(world or World())
    patch.setenv("POWERTOOLS_METRICS_NAMESPACE", "LiveMemory")
    patch.setattr(environment, "Process", lambda **_: agents.world.process)
    patch.setattr(environment, "settings", lambda: agents.world.settings)
    patch.setattr(environment, "open_store", lambda _: None)
    return agents


def routes_of(function: str) -> Api:
    """The routes that a function of the template has."""
    api: Api = import_module(f"livemem_http.routes.{_MODULES.get(function, function)}").api
    return api


def answered(function: str, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a function answers, in an environment that knows nothing of the tests before."""
    environment.process.cache_clear()
    try:
        # As it comes out of the function service, and goes back into it.
        sent = json.loads(json.dumps(event))
        answer: Mapping[str, Any] = routes_of(function).handle(sent, cast("LambdaContext", Context()))
        return json.loads(json.dumps(answer))  # type: ignore[no-any-return]
    finally:
        environment.process.cache_clear()


def nobody(function: str, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """No function can be reached."""
    raise StoreUnavailable(f"The function {function} did not answer.")


def token(plain: str, *permissions: Any, spaces: tuple[str, ...] = ("demo",), name: str = "ann") -> Token:
    """An entry of the registry."""
    digest = secret.digest(plain.encode())
    return Token(hash=digest, name=name, permissions=list(permissions), space_ids=list(spaces))


def asked(method: str, params: Any, protocol: str, *, message_id: Any = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """The body of a request, and the headers that go with it in a version of the protocol."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": message_id, "method": method}
    headers: dict[str, Any] = {"mcp-protocol-version": protocol}
    if protocol != MODERN:
        return body | ({"params": params} if params is not None else {}), headers
    meta = {
        PROTOCOL_VERSION_META_KEY: protocol,
        CLIENT_INFO_META_KEY: {"name": "test", "version": "1"},
        CLIENT_CAPABILITIES_META_KEY: {},
    }
    headers["mcp-method"] = method
    if method in NAMES and params:
        headers["mcp-name"] = params[NAMES[method]]
    return body | {"params": {**(params or {}), "_meta": meta}}, headers


def event_of(
    body: Any, method: str, plain: str | None, query: Mapping[str, str], headers: Mapping[str, str | None]
) -> dict[str, Any]:
    """An HTTP API event for `/mcp`. `body` is a JSON value, or a text as it is."""
    event = sample("mcp-list")
    event["routeKey"] = event["requestContext"]["routeKey"] = f"{method} /mcp"
    event["requestContext"]["http"]["method"] = method
    event["rawQueryString"] = "&".join(f"{name}={value}" for name, value in query.items())
    event["queryStringParameters"] = dict(query)
    sent = {**event["headers"], "accept": ACCEPT, "authorization": f"Bearer {plain}", **headers}
    if plain is None:
        sent["authorization"] = None
    event["headers"] = {name: value for name, value in sent.items() if value is not None}
    event["body"] = body if isinstance(body, str) or body is None else json.dumps(body)
    return event
