"""The asynchronous client, for programs that do other work while they wait."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from live_memory import _answers, _building, _exchange, _over_httpx
from live_memory._answers import Reply
from live_memory._async_groups import AsyncGroups
from live_memory._repeating import Policy
from live_memory._waiting import AsyncJobs
from live_memory.errors import BadArgument, LiveMemoryError


class AsyncClient(AsyncGroups):
    """A client of Live Memory: a method for each operation, in groups, and the same by name.

    Every method raises LiveMemoryError. It belongs to one event loop. Close it, or use it by `async with`.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 3,
        headers: Mapping[str, str] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Connects to nothing yet.

        Args:
            url: the service without /v1; else that of the environment (LIVEMEM_URL). By `http://` everybody on the
                network reads the token: use it for your own machine only.
            token: the token; else that of the environment (LIVEMEM_TOKEN). With none (`""`) only health answers.
            timeout: seconds to wait for a connection, and for each part of an answer.
            retries: how often a request without an answer is sent again, if it can't be carried out twice.
            headers: further headers of every request.
            transport: sends the requests; for tests and for httpx's own settings.
            sleep: waits for a number of seconds.
        """
        self._target = _exchange.target(url, token, headers)
        self._policy = Policy(retries)
        self._sleep = sleep
        self._http = httpx.AsyncClient(**_over_httpx.options(self._target, timeout), transport=transport)

    @property
    def jobs(self) -> AsyncJobs:
        """Long work of any kind in one form, and the wait for it."""
        return AsyncJobs(self._invoke, self._sleep)

    @property
    def url(self) -> str:
        """Where the service is, without /v1."""
        return self._target.url

    def __repr__(self) -> str:
        return f"AsyncClient({self._target.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def call(self, name: str, arguments: Mapping[str, Any], *, idempotency_key: str | None = None) -> Any:
        """Carry out an operation by its name, JSON in and out; None where it answers nothing."""
        return await self._send(_building.build(name, arguments, key=idempotency_key))

    async def markdown(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The answer as Markdown, of an operation that has such a form."""
        text: str = await self._send(_building.build(name, arguments, accept=_building.MARKDOWN))
        return text

    async def pages(self, name: str, arguments: Mapping[str, Any]) -> AsyncIterator[Any]:
        """The items of all pages of a list, read as the caller asks for them."""
        if not _building.find(name).paged:
            raise BadArgument(f"{name} has no pages.")
        following: dict[str, Any] | None = dict(arguments)
        while following is not None:
            page = await self.call(name, following)
            for item in page["items"]:
                yield item
            following = _exchange.next_page(following, page)

    async def _invoke(self, name: str, given: dict[str, Any]) -> Any:
        request = _building.build_given(name, given)
        return _answers.as_model(request, await self._send(request))

    async def _send(self, request: _building.Request) -> Any:
        steps = _exchange.steps(request, self._policy)
        step = next(steps)
        while True:
            came: Reply | LiveMemoryError | None = None
            if isinstance(step, _building.Request):
                try:
                    response = await self._http.request(
                        step.operation.method, step.target, content=step.content, headers=dict(step.headers)
                    )
                    came = _over_httpx.reply(response)
                except httpx.HTTPError as error:
                    came = _over_httpx.broken(error)
            else:
                await self._sleep(step)
            try:
                step = steps.send(came)
            except StopIteration as end:
                return end.value
