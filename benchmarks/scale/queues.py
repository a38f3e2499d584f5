"""How long a note waits for the bank when many spaces are busy: two hours in virtual time, by the real code.

Each space gets notes at random moments. Each note's put event is counted, and runs wait in the queue of the
consolidation function until one of its slots is free, the oldest first. A call of the LLM takes its time, and so does
each request to the store.
"""

import random
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.scale.growth import LargeWorld
from benchmarks.scale.one_model import reply
from benchmarks.scale.registry import S3_SECONDS
from benchmarks.scale.tally import Tally, TimedClient, dollars
from benchmarks.scale.virtual import Pool, Schedule
from livemem.errors import LiveMemoryError
from livemem.jobs import counter
from livemem.llm.client import Reply
from livemem.notes import appending
from livemem.notes.appending import NoteDraft
from livemem.process import Function, Process
from livemem.store.due_keys import DUE
from tests.support.world import INVOCATION

THRESHOLD = 30
EVENT_SECONDS = 1.0
"""Between a write and its put event: "typically in seconds" (Amazon S3, event notifications)."""
HOURS = 2
LOOP = "loop"
"""The space of the tenant that writes without a pause."""


@dataclass(frozen=True)
class Load:
    """What is played: busy spaces, notes of each in two hours, slots, seconds of a call, and notes of the tenant in a
    loop.
    """

    spaces: int = 500
    notes: int = 60
    slots: int = 50
    llm_seconds: float = 20.0
    loop: int = 0


@dataclass
class Waits:
    """Seconds from the note that reaches the threshold to the bank: of all, and of the tenant in a loop."""

    others: list[float] = field(default_factory=list)
    loop: list[float] = field(default_factory=list)
    runs: int = 0
    failed: int = 0
    left: int = 0
    most_at_once: int = 0
    s3: float = 0.0
    due_index: float = 0.0
    """The part of `s3` for entries of the due index."""

    def percentile(self, share: float) -> float:
        """So many seconds, or fewer, waited this share of the notes of others."""
        found = sorted(self.others)
        return found[min(len(found) - 1, int(len(found) * share))]


class _Play:
    def __init__(self, load: Load) -> None:
        self.load, self.waits, self.tally = load, Waits(), Tally()
        self.world = LargeWorld()
        self.names = [f"s{number:04}" for number in range(load.spaces)] + [LOOP] * bool(load.loop)
        for name in self.names:
            self.world.create_space(name, threshold=THRESHOLD)
        self.tally.owner = lambda key: DUE if key.startswith(DUE) else ""
        self.schedule = Schedule(self.world.clock)
        self.idle: defaultdict[str, list[Process]] = defaultdict(list)
        self.live: defaultdict[str, deque[float]] = defaultdict(deque)
        self.queue: deque[Mapping[str, Any]] = deque()
        self.busy = 0

    def process(self, who: str) -> Process:
        """A warm process of the function, or a new one."""
        if self.idle[who]:
            return self.idle[who].pop()
        client = TimedClient(self.world.inner, self.schedule, self.tally, who, S3_SECONDS)
        process = self.world.process_on(
            client,
            ask=self.ask,
            enqueue=self.enqueue,
            every=self.schedule.every,
            in_background=self.world.background.append,
        )
        object.__setattr__(process.store, "sleep", self.schedule.sleep)
        object.__setattr__(process.store, "_pool", Pool(self.schedule))
        return process

    def ask(self, messages: Any, *_: Any) -> Reply:
        self.schedule.sleep(self.load.llm_seconds)
        return reply(messages)

    def enqueue(self, function: Function, payload: Mapping[str, Any]) -> None:
        if function == "consolidate":
            self.queue.append(payload)
            self.serve()

    def serve(self) -> None:
        """Begin waiting runs while slots are free."""
        while self.queue and self.busy < self.load.slots:
            self.busy += 1
            self.waits.most_at_once = max(self.waits.most_at_once, self.busy)
            payload = self.queue.popleft()
            self.schedule.at(self.schedule.now, lambda payload=payload: self.run(payload))  # type: ignore[misc]

    def run(self, payload: Mapping[str, Any]) -> None:
        process = self.process("consolidate")
        try:
            run = self.world.work(payload, process, self.world.clock() + INVOCATION)
            self.ended(payload["space_id"], run)
        except LiveMemoryError:
            self.waits.failed += 1
        self.idle["consolidate"].append(process)
        self.busy -= 1
        self.serve()

    def ended(self, space_id: str, run: Any) -> None:
        self.waits.runs += 1
        if not run or run.state != "done":
            self.waits.failed += 1
            return
        written = self.live[space_id]
        waited = self.schedule.now - written[THRESHOLD - 1]
        (self.waits.loop if space_id == LOOP else self.waits.others).append(waited)
        for _ in range(run.metrics["notes_processed"]):
            written.popleft()

    def note(self, space_id: str) -> None:
        process = self.process("ingest")
        appending.append(process, space_id, "ann", NoteDraft("progress", f"A note of {self.schedule.now:.3f}."))
        self.live[space_id].append(self.schedule.now)
        self.idle["ingest"].append(process)
        self.schedule.at(self.schedule.now + EVENT_SECONDS, lambda: self.hear(space_id))

    def hear(self, space_id: str) -> None:
        process = self.process("counter")
        try:
            counter.hear(process, space_id)
        except LiveMemoryError:
            self.waits.failed += 1
        self.idle["counter"].append(process)


def by_the_cost_page(notes: int, runs: int) -> float:
    """What docs/deploy.md says that S3 takes: for a note 2 PUT or LIST and a GET, for a run 18 and 42."""
    return dollars({"PUT": 2 * notes + 18 * runs, "GET": notes + 42 * runs})


def play(load: Load, seed: int = 1) -> Waits:
    """Play the load, and half an hour more in which nobody writes."""
    game, moments = _Play(load), random.Random(seed)  # noqa: S311 - no secret
    for name in game.names:
        for _ in range(load.loop if name == LOOP else load.notes):
            game.schedule.at(moments.random() * HOURS * 3_600, lambda name=name: game.note(name))  # type: ignore[misc]
    game.schedule.run(HOURS * 3_600 + 1_800)
    waits = game.waits
    waits.left = sum(len(left) // THRESHOLD for left in game.live.values()) + len(game.queue)
    waits.s3 = sum(dollars(asked) for asked in game.tally.requests.values())
    waits.due_index = sum(dollars(asked) for (_, owner), asked in game.tally.owned.items() if owner == DUE)
    return waits


LOADS = (
    ("500 busy spaces", Load()),
    ("the same with an LLM that takes 120 s", Load(llm_seconds=120.0)),
    ("the same as first, and a tenant that writes two notes a second", Load(loop=14_400)),
)


def table(loads: tuple[tuple[str, Load], ...] = LOADS) -> Iterator[str]:
    """The lines of the table."""
    yield "| load | runs | p50 s | p99 s | slots in use | failed | left | S3 $ | of that due index | by the cost page |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for said, load in loads:
        found = play(load)
        times = f"{found.percentile(0.5):.0f} | {found.percentile(0.99):.0f}"
        page = by_the_cost_page(load.spaces * load.notes + load.loop, found.runs)
        rest = f"{found.most_at_once} | {found.failed} | {found.left}"
        cost = f"{found.s3:.2f} | {found.due_index:.2f} | {page:.2f}"
        yield f"| {said} | {found.runs:,} | {times} | {rest} | {cost} |"
