"""Changes of the registry of tokens at once: how long each takes, how many fail, and whether one is lost.

Each change comes from a process of its own with empty caches, as an admin's request to a new function environment.
Requests take the time that AWS documents, and computing takes as long as here, on a slower machine.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks.scale.growth import registry_of
from benchmarks.scale.tally import Tally, TimedClient
from benchmarks.scale.virtual import Pool, Schedule
from livemem.access import tokens
from livemem.access.registry import Registry
from livemem.errors import LiveMemoryError
from livemem.store.bucket import TOKENS
from tests.support.world import EVERYONE

S3_SECONDS = 0.1
"""Of a small request: "roughly 100-200 milliseconds" (Amazon S3, performance guidelines)."""
CPU = 1_769 / 1_024
"""A function of 1,024 MB has so much less than a whole processor (AWS Lambda, memory)."""


@dataclass
class Changes:
    """What became of the changes."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0
    lost: int = 0
    requests: int = 0
    kilobytes: int = 0

    def percentile(self, share: float) -> float:
        """So many seconds, or fewer, took this share of the changes that succeeded."""
        return sorted(self.seconds)[min(len(self.seconds) - 1, int(len(self.seconds) * share))]


def play(entries: int, changes: int, seconds: float, *, cpu: float = CPU, seed: int = 1) -> Changes:
    """Make so many tokens within so many seconds at random moments, where there are `entries` already."""
    world, tally, outcome = registry_of(entries), Tally(), Changes()
    schedule, moments = Schedule(world.clock), random.Random(seed)  # noqa: S311 - no secret
    made: list[str] = []

    def change(number: int) -> None:
        client = TimedClient(world.inner, schedule, tally, "admin", S3_SECONDS, cpu=cpu)
        process = world.process_on(client)
        object.__setattr__(process.store, "sleep", schedule.sleep)
        object.__setattr__(process.store, "_pool", Pool(schedule))
        began = schedule.now
        try:
            wanted = tokens.TokenRequest("new", ["read"], ["demo"])
            made.append(tokens.create(process, EVERYONE, f"lm_new{number}", wanted).token.hash)
        except LiveMemoryError:
            outcome.failed += 1
        else:
            outcome.seconds.append(schedule.now - began)

    for number in range(changes):
        schedule.at(moments.random() * seconds, lambda number=number: change(number))  # type: ignore[misc]
    schedule.run(3_600)
    there = {token.hash for token in Registry.from_bytes(world.inner.objects[TOKENS].body).tokens}
    outcome.lost = len(set(made) - there)
    outcome.requests = tally.requests["admin"].total()
    outcome.kilobytes = len(world.inner.objects[TOKENS].body) // 1_000
    return outcome


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| tokens | kB | changes | p50 s | p99 s | requests a change | failed | lost |"
    yield "|---:|---:|---|---:|---:|---:|---:|---:|"
    for entries in (100, 1_000, 9_800):
        for changes, seconds, said in ((100, 60.0, "100 in a minute"), (50, 1.0, "50 in a second")):
            found = play(entries, changes, seconds)
            times = f"{found.percentile(0.5):.1f} | {found.percentile(0.99):.1f}"
            asked = found.requests / changes
            became = f"{asked:.1f} | {found.failed} | {found.lost}"
            yield f"| {entries:,} | {found.kilobytes:,} | {said} | {times} | {became} |"
