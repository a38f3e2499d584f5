"""A day of thousands of spaces in virtual time, by the real code: agents, put events, schedules, sweeps, backups.

The spaces at rest are real ones too: the night and the sweeps go through all of them.
"""

import random
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from benchmarks.scale import aws, land
from benchmarks.scale.account import Account, Work
from benchmarks.scale.land import BUSY, LOOP, THRESHOLD, VERY_BUSY, Mix, names
from benchmarks.scale.model import Model
from benchmarks.scale.virtual import Schedule
from livemem.access import decision
from livemem.bank import files
from livemem.conversations import conversation as conversations
from livemem.conversations import log, update
from livemem.conversations.conversation import NewConversation
from livemem.conversations.turn import Draft
from livemem.jobs import counter
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.notes import appending
from livemem.notes.appending import NoteDraft
from livemem.process import Function, Process
from livemem.recall import indexing, search, start
from livemem.recall.search_request import SearchRequest
from livemem.recall.start import StartRequest
from livemem.rooms import digest_work, posting
from livemem.rooms.message import MessageDraft
from livemem.store.bucket import HEAD, TURN
from livemem.upkeep import sweep
from tests.support import world as worlds
from tests.support.template import read_template

BEGIN = datetime(2026, 2, 25, 6, tzinfo=UTC)
HOUR, DAY = 3_600.0, 86_400.0
WORK = 2 * HOUR, 12 * HOUR
"""When agents work: from 08:00 to 18:00."""
NIGHT, ALL_SPACES = 20 * HOUR, 21 * HOUR
"""02:00 and 03:00, when the schedules of the template begin."""
ZONES = "Europe/Paris", "America/New_York", "Europe/London", "Asia/Kolkata"
"""Zones whose digests begin at different hours of UTC. (The hours are four apart, so Tokyo's are those of Paris.)"""
MIX = Mix()
WORDS = "port server release test error agent cache token bucket index search note plan review sprint".split()


@dataclass(frozen=True)
class Load:
    """What a day has. `notes` to `memories` are those of a busy space; a very busy one has `times_more`. Of busy spaces
    one of `share` is played, with as small a part of slots and limits, and what they cost counts so often.
    """

    mix: Mix = MIX
    share: int = 10
    notes: int = 60
    sessions: int = 4
    turns: int = 10
    """Of a session, as the hooks send them."""
    searches: int = 3
    reads: int = 5
    messages: int = 40
    """Of each fourth space."""
    memories: int = 4
    times_more: int = 20
    slots: Mapping[str, int] = field(
        default_factory=lambda: {"consolidate": 50, "summarize": 50, "digest": 20, "backup": 20, "ask": 10}
    )
    llm_seconds: float = 20.0
    llm_a_minute: int = 2_000
    llm_down: tuple[float, float] = (0.0, 0.0)
    zones: tuple[str, ...] = ZONES
    loop: int = 0
    """Notes, and as many searches, that one tenant sends who has a space of its own. It is one, so it counts once."""


class Play:
    """A day that is played."""

    def __init__(self, load: Load, seed: int = 1) -> None:
        self.load, self.moments = load, random.Random(seed)  # noqa: S311 - no secret
        self.mix = load.mix.part(load.share)
        self.looping = names(LOOP, min(load.loop, 1))
        self.world = land.made(self.mix, BEGIN, self.looping)
        self.schedule = Schedule(self.world.clock)
        self.model = Model(
            self.schedule, seconds=load.llm_seconds, a_minute=load.llm_a_minute // load.share, down=load.llm_down
        )
        parameters = read_template()["Parameters"]
        self.account = Account(
            self.world,
            self.schedule,
            {"ask": self.model, "enqueue": self._enqueue},
            slots={name: slots // load.share for name, slots in load.slots.items()},
            api_rate=parameters["ApiRateLimit"]["Default"] / load.share,
            api_burst=parameters["ApiBurstLimit"]["Default"] / load.share,
            concurrency=aws.CONCURRENCY.value / load.share,
        )
        self.account.tally.owner = land.owner
        self.account.heard = self._heard
        self.waited: list[float] = []
        """Seconds from the note that reaches the threshold to the bank, of all but the tenant in a loop."""
        self.runs: Counter[str] = Counter()
        self.posted: Counter[str] = Counter()
        self.of_loop: Counter[str] = Counter()
        """Tokens of the LLM in runs of the tenant in a loop."""
        self._live: defaultdict[str, deque[float]] = defaultdict(deque)
        self.before = self._sizes()

    def play(self) -> "Play":
        """From 06:00 to 06:00."""
        self._plan_schedules()
        for sort, count, times in (
            (BUSY, self.mix.busy, 1),
            (VERY_BUSY, self.mix.very_busy, self.load.times_more),
        ):
            for number, name in enumerate(names(sort, count)):
                self._plan_space(name, number, times)
        for name in self.looping:
            for _ in range(self.load.loop):
                moment = self._moment()
                self._at(moment, "ingest", "a note", name, self._note)
                self._at(moment, "search", "a search", name, self._search)
        self.schedule.run(DAY)
        self.account.tally.close()
        self.after = self._sizes()
        return self

    # What is done

    def _plan_schedules(self) -> None:
        for quarter in range(96):
            self._every(quarter * 900.0, "sweep", "the sweep of what is due", self._sweep(everything=False))
        for hour in range(24):
            self._every(hour * HOUR, "digest", "the look at digests", self._start_digests)
        self._every(ALL_SPACES, "sweep", "the daily sweep", self._sweep(everything=True))
        self.schedule.at(NIGHT, lambda: self._enqueue("backup", {"do": "nightly"}))

    def _every(self, moment: float, function: str, operation: str, work: Work) -> None:
        self.schedule.at(moment, lambda: self.account.queue(function, operation, work))

    def _plan_space(self, name: str, number: int, times: int) -> None:
        load = self.load
        for _ in range(load.notes * times):
            self._at(self._moment(), "ingest", "a note", name, self._note)
        for _ in range(load.memories * times):
            self._at(self._moment(), "memories", "a memory", name, self._memory)
        for _ in range(load.sessions * times):
            self.schedule.at(self._moment(), lambda: self._session(name))
        if number % 4 == 0:
            self._set_zone(name, load.zones[number // 4 % len(load.zones)])
            for _ in range(load.messages * times):
                self._at(self._moment(), "rooms", "a message of a room", name, self._message)

    def _moment(self) -> float:
        return self.moments.uniform(*WORK)

    def _at(self, moment: float, function: str, operation: str, name: str, work: Any) -> None:
        self.schedule.at(moment, lambda: self._request(function, operation, name, work))

    def _request(self, function: str, operation: str, name: str, work: Any) -> Any:
        def do(process: Process, _: datetime) -> Any:
            decision.authorise(process, f"Bearer {land.token_of(name)}", needs="write", space_id=name)
            return work(process, name)

        return self.account.request(function, operation, do)

    def _note(self, process: Process, name: str) -> None:
        text = f"{self._words(12)} at {self.schedule.now:.3f}."
        appending.append(process, name, "agent", NoteDraft("progress", text))
        self.posted["notes"] += 1
        self._live[name].append(self.schedule.now)

    def _memory(self, process: Process, name: str) -> None:
        storing.store(process, name, "agent", MemoryDraft(self._words(8)))

    def _message(self, process: Process, name: str) -> None:
        said = ("fact " if self.moments.random() < 0.1 else "") + self._words(15)
        posting.post(process, name, "general", MessageDraft("Ann", said))
        self.posted["messages"] += 1

    def _search(self, process: Process, name: str) -> None:
        search.search(process, name, SearchRequest.of(self._words(3), scope="all"))

    def _session(self, name: str) -> None:
        """A session of an agent: its start, its turns, and what it asks between them."""
        load = self.load
        self._request("search", "a start", name, lambda process, _: start.start(process, name, StartRequest()))
        talk = self._request(
            "conversations",
            "a conversation",
            name,
            lambda process, _: conversations.create(process, name, "agent", NewConversation()),
        )
        asks = [("search", "a search", self._search)] * load.searches
        asks += [("reads", "a bank file", self._read)] * load.reads
        self.moments.shuffle(asks)
        for turn in range(load.turns):
            self.schedule.sleep(self.moments.uniform(30, 240))
            for function, operation, work in asks[turn :: load.turns]:
                self._request(function, operation, name, work)
            if talk:
                said = Draft(self._words(60), self._words(300))
                self._request(
                    "conversations",
                    "a turn",
                    name,
                    lambda process, _, said=said: log.append(process, name, talk.conversation_id, "agent", said),
                )
                self.posted["turns"] += 1

    def _read(self, process: Process, name: str) -> None:
        files.read(process, name, "log.md")

    def _words(self, count: int) -> str:
        return " ".join(self.moments.choices(WORDS, k=count))

    def _set_zone(self, name: str, zone: str) -> None:
        key = HEAD.key(name)
        body = self.world.inner.objects[key].body
        self.world.inner.put_object(
            Bucket="bucket", Key=key, Body=body.replace(b'"timezone": null', f'"timezone": "{zone}"'.encode())
        )

    # What follows by itself

    def _heard(self, key: str) -> None:
        """The put events of the template."""
        if key.endswith(".md"):
            self.account.queue("counter", "a count", lambda process, _: counter.notice(process, [key]))
        elif key.endswith(".turn.json") and TURN.parse(key):
            self.account.queue(
                "summarize", "a look at summaries", lambda process, until: update.hear(process, [key], until)
            )

    def _enqueue(self, function: Function, payload: Mapping[str, Any]) -> None:
        named = {
            "consolidate": "a consolidation",
            "summarize": "a look at summaries",
            "indexer": "the indexer",
            "digest": "a digest",
            "backup": "the night" if payload.get("do") == "nightly" else "a backup",
        }
        work = self._index(payload) if function == "indexer" else self._work(payload)
        self.account.queue(function, named[function], work)

    def _index(self, payload: Mapping[str, Any]) -> Work:
        return lambda process, until: indexing.index(process, payload["space_id"], until)

    def _work(self, payload: Mapping[str, Any]) -> Work:
        def work(process: Process, until: datetime) -> None:
            ended = worlds.carry_out(payload, process, until, self.schedule.sleep)
            if payload.get("kind") == "consolidation":
                self._ended(payload["space_id"], ended)

        return work

    def _ended(self, name: str, run: Any) -> None:
        self.runs[run.state if run else "none"] += 1
        if run and run.state == "done":
            written = self._live[name]
            if name in self.looping:
                used = "llm_prompt_tokens", "llm_completion_tokens"
                self.of_loop.update({each: run.metrics[each] for each in used})
            folded = run.metrics["notes_processed"]
            if len(written) >= THRESHOLD and name not in self.looping:
                self.waited.append(self.schedule.now - written[THRESHOLD - 1])
            for _ in range(min(folded, len(written))):
                written.popleft()

    def _sweep(self, *, everything: bool) -> Work:
        return lambda process, until: sweep.sweep(process, deadline=until, everything=everything)

    def _start_digests(self, process: Process, until: datetime) -> None:
        digest_work.start_due(process, until)
        digest_work.longest_wait(process, until)

    # What came of it

    def _sizes(self) -> dict[str, tuple[int, int]]:
        """By sort of space: objects and bytes."""
        found: dict[str, tuple[int, int]] = {}
        for key, stored in self.world.inner.objects.items():
            sort = land.owner(key)
            count, size = found.get(sort, (0, 0))
            found[sort] = count + 1, size + len(stored.body)
        return found

    @property
    def left(self) -> int:
        """Runs that are due at the end of the day, and events that wait."""
        return sum(len(one) // THRESHOLD for one in self._live.values()) + self.account.waiting.total()

    def percentile(self, share: float) -> float:
        """So many seconds, or fewer, waited this share of the notes."""
        found = sorted(self.waited)
        return found[min(len(found) - 1, int(len(found) * share))] if found else 0.0
