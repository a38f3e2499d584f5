"""A client for programs that live for a moment, such as hooks: by the standard library alone, one try for a request.

httpx takes longer to load than such a program has to run. Answers, errors and their texts are those of the other
clients.
"""

import http.client
import os
import select
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from live_memory import _answers, _exchange
from live_memory._answers import Reply
from live_memory._building import Request
from live_memory._calls import Calls
from live_memory._exchange import Target
from live_memory._repeating import Policy
from live_memory.errors import LiveMemoryError

if TYPE_CHECKING:
    import ssl

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_REFUSED = 401
_IN_PATHS = "/%:@!$&'()*+,;=~"


def fits(url: str, variables: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether requests to this URL need no proxy. This client knows none, neither of variables nor of a system."""
    if urlsplit(url).hostname in _answers.LOOPBACK:
        return True
    return platform.startswith("linux") and not any(name.lower() in _PROXIES and variables[name] for name in variables)


class PlainClient(Calls):
    """A client for one thread. Its methods raise LiveMemoryError."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float,
        retries: int = 0,
        renew: Callable[[str], str] | None = None,
        headers: Mapping[str, str] | None = None,
        variables: Mapping[str, str] = os.environ,
    ) -> None:
        """Connects to nothing yet. Raises BadArgument for a URL or token that can't be sent.

        Args:
            url: the service without /v1.
            token: the token.
            timeout: seconds to wait for a connection, and for each part of an answer.
            retries: how often a request without an answer is sent again.
            renew: gives another token for one that the service refuses; asked once.
            headers: further headers of every request.
            variables: name certificates to trust.
        """
        super().__init__(Policy(retries), time.sleep)
        self._renew = renew
        self._target = _exchange.target(url, token, headers)
        self._timeout = timeout
        self._variables = variables
        self._connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        """Close the connection."""
        if self._connection:
            self._connection.close()

    def _ask(self, request: Request) -> Reply | LiveMemoryError:
        came = self._once(request)
        if isinstance(came, Reply) and came.status == _REFUSED and self._renew:
            renew, self._renew = self._renew, None
            self._target = replace(self._target, token=renew(self._target.token or ""))
            return self._once(request)
        return came

    def _once(self, request: Request) -> Reply | LiveMemoryError:
        parts = urlsplit(self._target.url)
        try:
            connection = self._connected()
        except (OSError, ValueError) as error:
            return _answers.no_connection(_reason(error), f"{parts.scheme}://{parts.netloc}")
        path = f"{quote(parts.path, safe=_IN_PATHS)}/v1{request.target}"
        headers = {**self._target.headers, **request.headers}
        try:
            connection.request(request.operation.method, path, body=request.content, headers=headers)
            came = connection.getresponse()
            told = {name.lower(): value for name, value in came.getheaders()}
            return Reply(came.status, came.reason, told, came.read())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            return _answers.no_answer(_reason(error))

    def _connected(self) -> http.client.HTTPConnection:
        """The connection of the request before, if it is still open; else a new one. Raises OSError."""
        if self._connection is None:
            self._connection = _new(self._target, self._timeout, self._variables)
        sock = self._connection.sock
        # Nothing was asked, so something to read is the end of the connection.
        if sock is not None and select.select([sock], [], [], 0)[0]:
            self._connection.close()
        if self._connection.sock is None:
            self._connection.connect()
        return self._connection


def _new(target: Target, timeout: float, variables: Mapping[str, str]) -> http.client.HTTPConnection:
    parts = urlsplit(target.url)
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=timeout)
    return http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=_trust(target, variables))


def _trust(target: Target, variables: Mapping[str, str]) -> "ssl.SSLContext":
    """The certificates that httpx would trust."""
    import ssl  # noqa: PLC0415 - a service on this machine needs neither

    import certifi  # noqa: PLC0415

    file, folder = (None if target.is_near else variables.get(f"SSL_CERT_{name}") for name in ("FILE", "DIR"))
    if file or folder:
        return ssl.create_default_context(cafile=file or None, capath=None if file else folder)
    return ssl.create_default_context(cafile=certifi.where())


def _reason(error: Exception) -> str:
    # An exception of http.client may quote what came.
    return type(error).__name__ if isinstance(error, http.client.HTTPException) else str(error) or type(error).__name__
