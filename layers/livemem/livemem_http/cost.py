"""What an answer has cost, told in its `Server-Timing` header: requests to the store by kind, and milliseconds.

The form is that of the W3C (https://www.w3.org/TR/server-timing/), which browsers show beside each request:
`store;desc="2 GET, 1 LIST", total;dur=23.4`. Requests beside the answer that were sent by then count too.
"""

import time
from dataclasses import dataclass

from livemem.store.clients import SENT, RequestCounts

HEADER = "Server-Timing"


@dataclass(frozen=True)
class Begun:
    """The state when a request came in."""

    seconds: float
    sent: RequestCounts


def begin() -> Begun:
    """Look at the clock, and count from now on."""
    SENT.set(sent := RequestCounts())
    return Begun(time.perf_counter(), sent)


def header(begun: Begun) -> dict[str, str]:
    """The header of an answer that is ready now."""
    cost = begun.sent.so_far()
    told = ", ".join(f"{cost[kind]} {kind}" for kind in sorted(cost)) or "none"
    return {HEADER: f'store;desc="{told}", total;dur={(time.perf_counter() - begun.seconds) * 1_000:.1f}'}
