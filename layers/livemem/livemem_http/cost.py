"""What an answer has cost, told in its `Server-Timing` header: requests to the store by kind, and milliseconds.

The form is that of the W3C (https://www.w3.org/TR/server-timing/), which browsers show beside each request:
`store;desc="2 GET, 1 LIST", total;dur=23.4`. Requests that the process sends beside the answer count too.
"""

import time
from collections import Counter
from dataclasses import dataclass

from livemem_http import environment

HEADER = "Server-Timing"


@dataclass(frozen=True)
class Begun:
    """The state when a request came in."""

    seconds: float
    sent: Counter[str]


def begin() -> Begun:
    """Look at the clock and the counts."""
    return Begun(time.perf_counter(), _sent())


def header(begun: Begun) -> dict[str, str]:
    """The header of an answer that is ready now."""
    cost = _sent() - begun.sent
    told = ", ".join(f"{cost[kind]} {kind}" for kind in sorted(cost)) or "none"
    return {HEADER: f'store;desc="{told}", total;dur={(time.perf_counter() - begun.seconds) * 1_000:.1f}'}


def _sent() -> Counter[str]:
    # A process that is not made yet has sent nothing, and need not be made for this.
    made = environment.process.cache_info().currsize
    return environment.process().store.sent.so_far() if made else Counter()
