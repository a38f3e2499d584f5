"""How requests and bytes grow with what there is: the same step at 1x, 10x and 100x, by the real code.

An exponent of 0 says that the step costs the same however much there is, 1 that it grows as what there is.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from benchmarks.scale.bucket import LargeBucket
from benchmarks.scale.tally import Tally, TimedClient
from benchmarks.scale.virtual import Schedule
from livemem.access import registry as registries
from livemem.access import secret, tokens
from livemem.access.registry import Registry, Token
from livemem.copies import nightly
from livemem.jobs import counter
from livemem.llm.usage import Usage
from livemem.notes import appending, pages
from livemem.notes.appending import NoteDraft
from livemem.notes.pages import NotesFilter
from livemem.process import Process
from livemem.spaces import directory, lifecycle, totals
from livemem.spaces.totals import Added, Sums
from livemem.store.bucket import TOKENS
from livemem.upkeep import sweep
from tests.support.world import EVERYONE, INVOCATION, World

Step = Callable[[Process], object]


class LargeWorld(World):
    """The simulated world with a bucket for many objects."""

    bucket = LargeBucket


@dataclass(frozen=True)
class Case:
    """A step, what there is more and more of, how many at 1x, and what makes the world and the step. `others`: the
    many belong to others.
    """

    name: str
    of: str
    one: int
    make: Callable[[int], tuple[World, Step]]
    others: bool = False


@dataclass(frozen=True)
class Grown:
    """Requests and bytes of a step at 1x, 10x and 100x."""

    case: Case
    requests: tuple[int, ...]
    bytes: tuple[int, ...]

    @property
    def exponent(self) -> float:
        """How the requests grow over both steps."""
        return exponent(self.requests)


def exponent(numbers: tuple[int, ...]) -> float:
    """The slope of numbers at 1x, 10x and 100x, from the first to the last."""
    return math.log10(max(numbers[-1], 1) / max(numbers[0], 1)) / (len(numbers) - 1)


def measure(case: Case, sizes: tuple[int, ...] = (1, 10, 100)) -> Grown:
    """Carry the step out in a world of each size, each by a process with empty caches."""
    found = [_once(*case.make(case.one * size)) for size in sizes]
    return Grown(case, tuple(one[0] for one in found), tuple(one[1] for one in found))


def _once(world: World, step: Step) -> tuple[int, int]:
    tally = Tally()
    client = TimedClient(world.inner, Schedule(world.clock), tally, "step", 0)
    step(world.process_on(client))
    return tally.requests["step"].total(), tally.bytes["step"]


def _spaces(count: int) -> World:
    world = LargeWorld()
    for number in range(count):
        world.create_space(f"s{number:05}", threshold=30)
    world.clock.move(7_200)
    world.sweep()
    world.clock.move(7_200)
    world.sweep()
    return world


def _usage(count: int) -> tuple[World, Step]:
    world, day = LargeWorld(), None
    day = world.clock().date()
    for first in range(0, count, 100):
        added = [Added(f"{first + number}", Sums.of(Usage(calls=1), runs=1)) for number in range(100)]
        totals.add(world.process, day, f"s{first // 100 % 100:03}", added)
    return world, lambda process: totals.of_day(process, day)


def registry_of(count: int) -> World:
    """A world with so many tokens."""
    world = LargeWorld()
    entries = [
        Token(
            hash=secret.digest(f"lm_{number}".encode()),
            name="agent",
            permissions=["read", "write"],
            space_ids=["demo"],
            created_at="2026-02-20T14:00:00Z",
        )
        for number in range(count)
    ]
    world.inner.put_object(Bucket="bucket", Key=TOKENS, Body=Registry(tokens=entries).to_bytes())
    return world


def _token(count: int) -> tuple[World, Step]:
    return registry_of(count), lambda process: registries.find(process, secret.digest(b"lm_0"))


def _new_token(count: int) -> tuple[World, Step]:
    wanted = tokens.TokenRequest("new", ["read"])
    return registry_of(count - 1), lambda process: tokens.create(process, EVERYONE, "lm_new", wanted)


def _night(count: int) -> tuple[World, Step]:
    world = _spaces(count)
    nightly.fan_out(world.process, deadline=world.clock() + INVOCATION)
    world.settle(2 * count)
    world.clock.move(86_400)
    return world, lambda process: nightly.fan_out(process, deadline=world.clock() + INVOCATION)


def _sweep(*, everything: bool) -> Callable[[int], tuple[World, Step]]:
    def make(count: int) -> tuple[World, Step]:
        world = _spaces(count)
        until = world.clock() + timedelta(minutes=5)
        return world, lambda process: sweep.sweep(process, deadline=until, everything=everything)

    return make


def _append(count: int) -> tuple[World, Step]:
    world = _spaces(count)

    def step(process: Process) -> None:
        appending.append(process, "s00000", "ann", NoteDraft("progress", "A note."))
        counter.hear(process, "s00000")

    return world, step


def _live(count: int) -> World:
    world = LargeWorld()
    world.create_space("demo", threshold=30)
    for number in range(count):
        world.note(f"note {number}")
        world.clock.move(1)
    return world


def _page(count: int) -> tuple[World, Step]:
    return _live(count), lambda process: pages.page(process, "demo", NotesFilter(), limit=20)


def _count(count: int) -> tuple[World, Step]:
    world = _live(count)
    return world, lambda process: counter.start_if_due(process, "demo", "threshold")


def _records(count: int) -> tuple[World, Step]:
    world = LargeWorld()
    world.create_space("demo")
    for number in range(count):
        world.note(f"note {number}")
        world.clock.move(1)
        world.consolidate()
    world.note("the last one")
    run = world.order()
    payload = world.queued.pop()
    assert payload["job_id"] == run.job_id
    return world, lambda process: world.work(payload, process)


def _delete(count: int) -> tuple[World, Step]:
    return _live(count), lambda process: lifecycle.delete(process, "demo", "demo")


def _list(count: int) -> tuple[World, Step]:
    return _spaces(count), lambda process: directory.page(process, EVERYONE, limit=10, after=None)


CASES = (
    Case("the day's use of the LLM, for the budget", "runs of the day", 100, _usage),
    Case("a token is let in by a new process", "tokens", 100, _token, others=True),
    Case("a token is made", "tokens", 100, _new_token, others=True),
    Case("the nightly look, nothing changed", "spaces", 10, _night),
    Case("the sweep of every 15 minutes, nothing due", "spaces", 10, _sweep(everything=False), others=True),
    Case("the daily sweep", "spaces", 10, _sweep(everything=True)),
    Case("a note is written and counted", "spaces", 10, _append, others=True),
    Case("a page of 10 spaces", "spaces", 10, _list, others=True),
    Case("a run is started", "live notes", 30, _count),
    Case("a page of 20 notes", "live notes", 20, _page),
    Case("a consolidation of one note", "former consolidations", 1, _records),
    Case("a space is deleted", "notes", 100, _delete),
)


def table(cases: tuple[Case, ...] = CASES) -> Iterator[str]:
    """The lines of the table, as they are measured."""
    yield "| step | of | requests at 1x, 10x, 100x | exponent | kB at 1x, 10x, 100x | exponent |"
    yield "|---|---|---:|---:|---:|---:|"
    for case in cases:
        found = measure(case)
        sizes = ", ".join(f"{case.one * size:,}" for size in (1, 10, 100))
        asked = ", ".join(f"{number:,}" for number in found.requests)
        moved = ", ".join(f"{number / 1_000:,.0f}" for number in found.bytes)
        row = [case.name, f"{sizes} {case.of}", asked, f"{found.exponent:.2f}", moved, f"{exponent(found.bytes):.2f}"]
        yield f"| {' | '.join(row)} |"
