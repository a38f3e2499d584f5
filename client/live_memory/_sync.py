"""The synchronous client, for programs that wait for each answer."""

import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from live_memory import _answers, _building, _exchange, _over_httpx
from live_memory._answers import Reply
from live_memory._calls import Calls
from live_memory._groups import Groups
from live_memory._repeating import Policy
from live_memory._waiting import Jobs
from live_memory.errors import BadArgument, LiveMemoryError


class Client(Calls, Groups):
    """A client of Live Memory: a method for each operation, in groups, and the same by name.

    Every method raises LiveMemoryError. Several threads may use it at once. Close it, or use it by `with`.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 3,
        headers: Mapping[str, str] | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
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
        Calls.__init__(self, Policy(retries), sleep)
        self._target = _exchange.target(url, token, headers)
        self._http = httpx.Client(**_over_httpx.options(self._target, timeout), transport=transport)

    @property
    def jobs(self) -> Jobs:
        """Long work of any kind in one form, and the wait for it."""
        return Jobs(self._invoke, self._sleep)

    @property
    def url(self) -> str:
        """Where the service is, without /v1."""
        return self._target.url

    def __repr__(self) -> str:
        return f"Client({self._target.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def pages(self, name: str, arguments: Mapping[str, Any]) -> Iterator[Any]:
        """The items of all pages of a list, read as the caller asks for them."""
        if not _building.find(name).paged:
            raise BadArgument(f"{name} has no pages.")
        following: dict[str, Any] | None = dict(arguments)
        while following is not None:
            page = self.call(name, following)
            yield from page["items"]
            following = _exchange.next_page(following, page)

    def _invoke(self, name: str, given: dict[str, Any]) -> Any:
        request = _building.build_given(name, given)
        return _answers.as_model(request, self._send(request))

    def _ask(self, request: _building.Request) -> Reply | LiveMemoryError:
        try:
            response = self._http.request(
                request.operation.method, request.target, content=request.content, headers=dict(request.headers)
            )
            return _over_httpx.reply(response)
        except httpx.HTTPError as error:
            return _over_httpx.broken(error)
