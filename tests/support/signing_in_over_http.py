"""The official SDK's client of OAuth against a service over HTTP, with a person whose browser is a program."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from tests.support.signing_in import Browser, Got, Send

CALLBACK = "http://127.0.0.1:33418/callback"


def over_http(url: str) -> Send:
    """Sends to the service at this base URL."""
    client = httpx.Client(base_url=url, timeout=60)

    def send(method: str, path: str, query: str, body: str, headers: Mapping[str, str]) -> Got:
        address = f"{path}?{query}" if query else path
        answer = client.request(method, address, content=body or None, headers=dict(headers))
        cookies = tuple(answer.headers.get_list("set-cookie"))
        return Got(answer.status_code, dict(answer.headers), answer.text, cookies)

    return send


@dataclass
class Storage:
    """Where the SDK's client keeps what it got."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass
class Person:
    """Has a token, and allows each client that asks what stands in `choices`: one for each visit."""

    url: str
    token: str
    choices: list[dict[str, Any]] = field(default_factory=list)
    visits: int = 0
    target: str = ""

    async def visit(self, address: str) -> None:
        choice = self.choices[self.visits] if self.visits < len(self.choices) else {}
        self.visits += 1
        browser = Browser(over_http(self.url), self.url)
        self.target = (await asyncio.to_thread(browser.allow, address, self.token, **choice)).target()

    async def come_back(self) -> AuthorizationCodeResult:
        told = {name: values[0] for name, values in parse_qs(urlsplit(self.target).query).items()}
        return AuthorizationCodeResult(code=told["code"], state=told["state"], iss=told.get("iss"))


@dataclass
class SdkClient:
    """A program that knows the URL of MCP and nothing else."""

    url: str
    person: Person
    storage: Storage = field(default_factory=Storage)
    on_answer: Callable[[httpx2.Response], Awaitable[None]] | None = None
    provider: OAuthClientProvider | None = None

    def run(self, use: Callable[[ClientSession], Awaitable[Any]]) -> Any:
        """Connect, and do this with the session."""

        async def main() -> Any:
            async with self._session() as session:
                return await use(session)

        return asyncio.run(main())

    def _session(self) -> AbstractAsyncContextManager[ClientSession]:
        @asynccontextmanager
        async def opened() -> Any:
            metadata = OAuthClientMetadata(client_name="SDK", redirect_uris=[CALLBACK])  # type: ignore[list-item]
            self.provider = OAuthClientProvider(
                self.url, metadata, self.storage, self.person.visit, self.person.come_back
            )
            hooks: Any = {"response": [self.on_answer]} if self.on_answer else None
            async with (
                httpx2.AsyncClient(auth=self.provider, timeout=60, event_hooks=hooks) as http,
                streamable_http_client(self.url, http_client=http) as streams,
                ClientSession(streams[0], streams[1]) as session,
            ):
                await session.initialize()
                yield session

        return opened()
