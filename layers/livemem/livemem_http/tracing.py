"""The trace of the event that is answered: taken from the caller, passed on, and told in log lines.

W3C Trace Context, level 2 (https://www.w3.org/TR/trace-context-2/). Each event is one span: its id stands in log lines
beside the id of the trace, and is the parent of what the event starts. `tracestate` belongs to the caller's tracing
system, and is not passed on.
"""

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

NAME = "traceparent"
"""The header of a request, and the member of an asynchronous payload: Lambda hands no headers over with that."""
ANSWER = "Traceresponse"
"""The header of an answer (level 3 of the specification, a draft)."""
SAMPLED = 0x01

_FORM = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<parent>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?P<rest>-.*)?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Trace:
    """One event's place in a trace: both ids in hexadecimal digits, 32 and 16. Of the flags only `sampled` is kept."""

    trace_id: str
    span_id: str
    flags: int = SAMPLED

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"


@dataclass
class _Event:
    trace: Trace
    was_named: bool
    """The trace is the caller's."""


_AT_WORK: ContextVar[_Event | None] = ContextVar("event", default=None)
"""The event of this thread. Threads that work beside it have it too (`background.in_context`)."""


def begun() -> Trace:
    """A new trace. It counts as sampled: its log lines are written in any case."""
    return Trace(secrets.token_hex(16), secrets.token_hex(8))


def continued(value: object) -> Trace | None:
    """The trace that a `traceparent` names, with a new span. None: the value is not valid.

    As the specification asks, a later version is read by the parts that it shares with version 00. Version ff, ids of
    zeros and upper case are not valid, nor is a header that came twice, which API Gateway joins by a comma.
    """
    found = _FORM.fullmatch(value.strip(" \t")) if isinstance(value, str) else None
    if not found or found["version"] == "ff" or (found["version"] == "00" and found["rest"]):
        return None
    if not int(found["trace"], 16) or not int(found["parent"], 16):
        return None
    return Trace(found["trace"], secrets.token_hex(8), int(found["flags"], 16) & SAMPLED)


@contextmanager
def at_work(named: object) -> Iterator[None]:
    """An event that belongs to the trace that `named` names, else to a new one."""
    trace = continued(named)
    token = _AT_WORK.set(_Event(trace or begun(), trace is not None))
    try:
        yield
    finally:
        _AT_WORK.reset(token)


def adopt(named: object) -> None:
    """Continue the trace that `named` names if the event itself has named none."""
    event, trace = _AT_WORK.get(), continued(named)
    if event and trace and not event.was_named:
        event.trace, event.was_named = trace, True


def current() -> Trace | None:
    """The trace of the event at work. None: no event is."""
    event = _AT_WORK.get()
    return event.trace if event else None


def headers() -> dict[str, str]:
    """The header of a request that is sent for the event at work."""
    trace = current()
    return {NAME: str(trace)} if trace else {}


def onto_request(event: Mapping[str, Any]) -> dict[str, Any]:
    """An HTTP API event for another function, as a part of the current trace."""
    return {**event, "headers": {**event.get("headers", {}), **headers()}}


def onto_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload of an asynchronous invocation, as a part of the current trace."""
    return {**payload, **headers()}
