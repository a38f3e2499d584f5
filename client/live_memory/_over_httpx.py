"""Requests by httpx: the settings of its clients, its answers and its errors as our own."""

from typing import Any
from urllib.parse import urlsplit

import httpx

from live_memory import _answers
from live_memory._answers import Reply
from live_memory._exchange import Target
from live_memory.errors import BadArgument, LiveMemoryError

_BEFORE = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
"""Errors before the first byte is sent."""


def options(target: Target, timeout: float) -> dict[str, Any]:
    """The arguments for a client of httpx. Raises BadArgument for a URL that httpx does not take."""
    try:
        httpx.URL(target.url)
    except httpx.InvalidURL:
        # Its text may hold a password.
        raise BadArgument("The URL of the service can't be read.") from None
    return {
        "base_url": f"{target.url}/v1",
        "headers": target.headers,
        "timeout": timeout,
        "follow_redirects": False,
        "trust_env": not target.is_near,
        # Reading the authorities takes longer than a request to this machine, which needs none.
        "verify": not target.is_near or urlsplit(target.url).scheme != "http",
    }


def reply(response: httpx.Response) -> Reply:
    """An answer that was read."""
    return Reply(response.status_code, response.reason_phrase, response.headers, response.content)


def broken(error: httpx.HTTPError) -> LiveMemoryError:
    """The error for a request that had no answer. It names the address if no server was reached."""
    reason = str(error) or type(error).__name__
    told = _answers.no_connection(reason, _whereto(error)) if isinstance(error, _BEFORE) else _answers.no_answer(reason)
    told.__cause__ = error
    return told


def _whereto(error: httpx.HTTPError) -> str | None:
    try:
        url = error.request.url
    except RuntimeError:
        return None
    return f"{url.scheme}://{url.netloc.decode()}"
