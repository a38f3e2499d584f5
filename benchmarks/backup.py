"""How long a backup takes, and a restore, where each S3 request takes its time: in parallel, and one after the other.

    .venv/bin/python -m benchmarks.backup [--objects 500] [--delay 20] [--threads 16]

The bucket is in memory; each request to it takes the delay, in milliseconds. Exits with 1 if a backup of 500 objects or
fewer with 20 ms takes longer than 1.5 s.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from livemem.notes import appending
from livemem.notes.appending import NoteDraft
from livemem.spaces import lifecycle
from tests.support.counting import NAMES, CountingClient
from tests.support.world import World

SPACE = "demo"
GOAL_SECONDS = 1.5
GOAL_OBJECTS = 500
GOAL_DELAY = 20.0
BATCH = 100


class Delayed:
    """A client of a store that takes `seconds` for each request."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name not in NAMES:
            return found

        def call(**arguments: Any) -> Any:
            time.sleep(self.seconds)
            return found(**arguments)

        return call


@dataclass(frozen=True)
class Row:
    """One piece of work, done by so many threads."""

    work: str
    threads: int
    seconds: float
    requests: Counter[str]


def run(objects: int, delay: float, threads: int) -> list[Row]:
    """All rows: a backup, another one of what has not changed, and restores, each in parallel and not."""
    rows = []
    for count in (threads, 1):
        world, delayed = _space(objects, count)
        delayed.seconds = delay / 1_000
        backup_id = ""

        def back_up(world: World = world) -> None:
            nonlocal backup_id
            backup_id = world.back_up().job_id

        rows.append(_timed("backup", world, back_up))
        rows.append(_timed("backup, nothing changed", world, world.back_up))
        rows.append(_timed("restore under another id", world, lambda: world.restore(SPACE, backup_id, "twin")))  # noqa: B023
        delayed.seconds = 0
        lifecycle.delete(world.process, SPACE, SPACE)
        world.clock.move(lifecycle.TOMBSTONE_LIFE.total_seconds() + 1)
        world.new_process()
        delayed.seconds = delay / 1_000
        rows.append(_timed("restore", world, lambda: world.restore(SPACE, backup_id)))  # noqa: B023
    return sorted(rows, key=lambda row: row.work)


def _space(objects: int, threads: int) -> tuple[World, Delayed]:
    """A world with a space of so many objects: notes and what every space has."""
    world = World(threads=threads)
    delayed = Delayed(world.inner)
    world.client = CountingClient(delayed)
    world.new_process()
    world.create_space(SPACE)
    left = objects - len(world.keys(f"{SPACE}/"))
    while left > 0:
        drafts = [NoteDraft("progress", f"Note {left - number}") for number in range(min(left, BATCH))]
        appending.append_batch(world.process, SPACE, "ann", drafts)
        left -= len(drafts)
        world.clock.move(1)
    world.new_process()
    return world, delayed


def _timed(work: str, world: World, act: Callable[[], Any]) -> Row:
    world.client.reset()
    began = time.perf_counter()
    act()
    return Row(work, world.threads, time.perf_counter() - began, world.client.counts)


def show(rows: list[Row]) -> str:
    """The rows as a Markdown table; how many times faster each is than one after the other."""
    alone = {row.work: row.seconds for row in rows if row.threads == 1}
    lines = ["| work | threads | seconds | times faster | requests |", "|---|---|---|---|---|"]
    for row in rows:
        requests = ", ".join(f"{count} {verb}" for verb, count in sorted(row.requests.items()))
        faster = alone[row.work] / max(row.seconds, 1e-9)
        lines.append(f"| {row.work} | {row.threads} | {row.seconds:.2f} | {faster:.1f} | {requests} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backup", description="Backups and restores, timed.")
    parser.add_argument("--objects", type=int, default=GOAL_OBJECTS)
    parser.add_argument("--delay", type=float, default=GOAL_DELAY, help="milliseconds of each S3 request")
    parser.add_argument("--threads", type=int, default=16)
    wanted = parser.parse_args(arguments)
    rows = run(wanted.objects, wanted.delay, wanted.threads)
    print(f"{wanted.objects} objects, {wanted.delay:g} ms for each S3 request\n")
    print(show(rows))
    slowest = max(row.seconds for row in rows if row.work == "backup" and row.threads == wanted.threads)
    measured = wanted.objects <= GOAL_OBJECTS and wanted.delay <= GOAL_DELAY and wanted.threads > 1
    return 1 if measured and slowest > GOAL_SECONDS else 0


if __name__ == "__main__":
    sys.exit(main())
