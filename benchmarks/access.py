"""What it costs to decide who may do what: `.venv/bin/python -m benchmarks.access`.

One warm process, the registry read and not yet half a minute old. Times are of one call of `decision.authorise`, the
median of many; the bound is 0.3 ms. Requests are those to the store.
"""

import statistics
import time
from collections.abc import Callable

from livemem.access import decision, secret
from livemem.access.registry import Registry, Token
from livemem.errors import Unauthenticated
from livemem.store.bucket import TOKENS
from tests.support.world import BOOTSTRAP_KEY, World

SIZES = (1, 100, 10_000)
CALLS = 2_000
BOUND = 0.3
"""Milliseconds."""


def main() -> None:
    """Print the table."""
    print("| who | tokens in the registry | ms | of the bound | requests |")
    print("|---|---:|---:|---:|---:|")
    for size in SIZES:
        world = _world(size)
        for who, header in (
            ("a token", f"Bearer lm_{size - 1}"),
            ("an unknown token", "Bearer lm_nobody"),
            ("the bootstrap key", f"Bearer {BOOTSTRAP_KEY}"),
        ):
            ask = _asking(world, header)
            ask()
            world.client.reset()
            milliseconds = _median(ask)
            count = len(world.client.requests)
            print(f"| {who} | {size} | {milliseconds:.4f} | {milliseconds / BOUND:.0%} | {count} |")


def _world(size: int) -> World:
    world = World()
    tokens = [
        Token(hash=secret.digest(f"lm_{number}".encode()), name="agent", permissions=["read"], space_ids=["demo"])
        for number in range(size)
    ]
    world.inner.put_object(Bucket="bucket", Key=TOKENS, Body=Registry(tokens=tokens).to_bytes())
    return world


def _asking(world: World, header: str) -> Callable[[], None]:
    def ask() -> None:
        try:
            decision.authorise(world.process, header, needs="read", space_id="demo")
        except Unauthenticated:
            return

    return ask


def _median(ask: Callable[[], None]) -> float:
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        ask()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1_000


if __name__ == "__main__":
    main()
