"""The steps of a request until it has an answer, for both clients. Nothing here sends anything."""

import os
import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from live_memory import _answers
from live_memory._answers import Reply
from live_memory._building import Request
from live_memory._repeating import Policy
from live_memory._version import __version__
from live_memory.errors import BadArgument, LiveMemoryError

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_UNDER_WAY = frozenset({"queued", "running"})
_SHORTEST_PAUSE, _LONGEST_PAUSE, _GROWTH = 0.2, 3.0, 1.3

Steps = Generator[Request | float, Reply | LiveMemoryError | None, Any]


@dataclass(frozen=True)
class Target:
    """The address of the service, and the caller's token."""

    url: str
    token: str | None = field(repr=False)
    more: Mapping[str, str] = field(default_factory=dict)
    """Further headers, such as that of the trace that requests belong to."""

    @property
    def is_near(self) -> bool:
        """Whether the service is on this machine: a request to it needs no proxy."""
        return urlsplit(self.url).hostname in _answers.LOOPBACK

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        headers = {"User-Agent": f"live-memory/{__version__}", **self.more}
        return {**headers, "Authorization": f"Bearer {self.token}"} if self.token else headers


def target(
    url: str | None,
    token: str | None,
    headers: Mapping[str, str] | None = None,
    variables: Mapping[str, str] = os.environ,
) -> Target:
    """The target from the arguments, else from the environment, with further `headers`. Raises BadArgument."""
    url = (url or variables.get("LIVEMEM_URL") or "").strip().rstrip("/").removesuffix("/v1")
    token = (token if token is not None else variables.get("LIVEMEM_TOKEN", "")).strip() or None
    try:
        parsed = urlsplit(url)
        _ = parsed.port
        # urlsplit() leaves out line breaks and tabs.
        if not url.isprintable():
            raise ValueError
    except ValueError:
        # Their texts may hold a password.
        raise BadArgument("The URL of the service can't be read.") from None
    if url and "://" not in url:
        raise BadArgument("The URL of the service has no scheme: add http:// or https:// before it.")
    if not parsed.hostname or parsed.scheme not in ("http", "https"):
        raise BadArgument("The URL of the service is missing: set LIVEMEM_URL, such as https://memory.example.org.")
    if "@" in parsed.netloc or parsed.query or parsed.fragment:
        raise BadArgument("The URL of the service must have no user, password, query or fragment.")
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise BadArgument("The token must be printable ASCII without spaces.")
    return Target(url, token, {**trace(variables), **(headers or {})})


def trace(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The header of the trace that `TRACEPARENT` names, if it has the form of W3C Trace Context."""
    value = variables.get("TRACEPARENT", "").strip()
    return {"traceparent": value} if _TRACEPARENT.fullmatch(value) else {}


def steps(request: Request, policy: Policy) -> Steps:
    """Yields each request to send and receives its result, or yields seconds to wait. Returns the body.

    Raises LiveMemoryError when no further try is left.
    """
    tries = 0
    in_doubt = False
    while True:
        came = yield request
        tries += 1
        try:
            if isinstance(came, LiveMemoryError):
                raise came
            assert came is not None
            return _answers.read(came, request)
        except LiveMemoryError as error:
            error.repeated = in_doubt
            pause = policy.pause(error, repeatable=request.repeatable, tries=tries)
            if pause is None:
                raise
            in_doubt = in_doubt or not (error.code == "no_connection" or error.status == 429)
        yield pause


def pauses(patience: float) -> Iterator[float]:
    """Seconds between looks at work that continues, `patience` in all: short at first, then longer."""
    waited, pause = 0.0, _SHORTEST_PAUSE
    while waited < patience:
        yield pause
        waited += pause
        pause = min(_LONGEST_PAUSE, pause * _GROWTH)


def is_under_way(status: str) -> bool:
    """Whether a job of this status has not ended."""
    return status in _UNDER_WAY


def still_running(job: str, patience: float) -> LiveMemoryError:
    """The error after the caller's timeout."""
    return LiveMemoryError("still_running", f"The job {job} has not ended within {patience:.0f} s. It continues.")


def next_page(arguments: Mapping[str, Any], page: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments for the page after this one; None: it is the last."""
    cursor = page.get("next_cursor")
    if cursor and cursor == arguments.get("cursor"):
        raise LiveMemoryError("unexpected_answer", "A page names itself as the next one.")
    return {**arguments, "cursor": cursor} if cursor else None
