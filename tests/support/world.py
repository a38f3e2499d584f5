"""A whole small world for tests of the domain: a bucket, a clock that is moved by hand, a scripted model, a queue.

Not all goes well in it, where a test wants it so: a write may reach the store a second time, processes have clocks that
are off, and an invocation that failed is delivered again. (How processes interleave: actors.py.)
"""

import itertools
import json
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, wraps
from typing import Any, ClassVar, ParamSpec

from botocore.exceptions import ClientError

from livemem.access.principal import PERMISSIONS, Principal
from livemem.ask import question_work as asking
from livemem.bank import review
from livemem.changes import run_progress
from livemem.changes import undo as undoing
from livemem.consolidation import pipeline as consolidation
from livemem.conversations import update
from livemem.copies import provisioning, taking
from livemem.copies import restore as restoring
from livemem.copies.manifest import Manifest
from livemem.errors import LiveMemoryError
from livemem.jobs import counter
from livemem.jobs import queue as queues
from livemem.jobs import run as runs
from livemem.jobs.shares import Waited
from livemem.jobs.worker import Kind
from livemem.llm.client import LlmError, Messages, Reply
from livemem.llm.tool_calling import ToolReply
from livemem.notes import appending
from livemem.notes import note as notes
from livemem.process import Function, Process
from livemem.rooms import digest_work as digesting
from livemem.settings import Settings
from livemem.spaces import contents, due_index, lifecycle
from livemem.spaces import head as heads
from livemem.spaces.due_index import Due
from livemem.spaces.head_fields import Mode, Review
from livemem.store import due_keys, keys, timing
from livemem.store.bucket import CAPABILITY_CHECK
from livemem.store.capability_check import has_conditional_writes
from livemem.store.due_keys import DueKind
from livemem.store.objects import Store
from livemem.upkeep import backup_work
from livemem.upkeep import sweep as sweeping
from tests.support.agent import ScriptedAgent, asks_itself
from tests.support.bucket import FakeS3
from tests.support.counting import CountingClient, Request

START = datetime(2026, 2, 20, 14, 0, 0, tzinfo=UTC)
EVERYONE = Principal("admin", frozenset(PERMISSIONS), frozenset())
BOOTSTRAP_KEY = "kq8Zr3wVtY6uPz1mXn5cB2aLh9dS4fGe"
INVOCATION = timing.INVOCATION
P = ParamSpec("P")


class HandClock:
    """Time that stands still until it is moved."""

    def __init__(self, moment: datetime = START) -> None:
        self.moment = moment

    def __call__(self) -> datetime:
        return self.moment

    def move(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)

    def off_by(self, seconds: float) -> Callable[[], datetime]:
        """The clock of a machine that is ahead of this one by so much, or behind."""
        return lambda: self.moment + timedelta(seconds=seconds)


Answerer = Callable[[dict[str, Any]], str]


def is_tidy(schema: dict[str, Any] | None) -> bool:
    """Whether a tidy run asks."""
    return set((schema or {}).get("properties", {})) == {"content", "reason"}


def tidied(messages: Messages, by: Callable[[str], str] | None = None) -> str:
    """The answer to a tidy run. `by` None: every second item stays."""
    content = (by or fewer_lines)(file_to_tidy(messages)["content"])
    return json.dumps({"content": content, "reason": "half of it is over"})


def file_to_tidy(messages: Messages) -> dict[str, str]:
    """The file that a tidy run asks for."""
    lines = messages[1]["content"].split("\n")
    found: dict[str, str] = json.loads(lines[lines.index('# The file (JSON object {"filename","content"})') + 1])
    return found


def fewer_lines(text: str) -> str:
    """A text without every second item of its lists."""
    items = itertools.count()
    return "".join(line for line in text.splitlines(True) if not line.startswith("- ") or next(items) % 2)


@dataclass
class ScriptedLlm:
    """Answers from a queue, and then by `default`; an LlmError in the queue is raised. Calls are counted."""

    default: Answerer | str | None = None
    queue: deque[str | LlmError | Answerer] = field(default_factory=deque)
    prompts: list[Messages] = field(default_factory=list)
    limits: list[tuple[int | None, float]] = field(default_factory=list)
    schemas: list[dict[str, Any] | None] = field(default_factory=list)
    judge: Callable[[str, str], str | None] | None = field(default=lambda new, there: "different")
    """What it says of a memory that is new and one that is there, where it is asked for verdicts; None: those are
    answered as all else is.
    """
    judged: int = 0
    """Calls for verdicts that this has answered."""
    tidier: Callable[[str], str] = field(default=fewer_lines)
    """What a tidy run makes of a file, given its content."""
    ends: str | None = '{"uncited": []}'
    """What it says of notes that an answer forgot, and of a long synthesis; None: as it answers all else."""

    def __call__(
        self, messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None
    ) -> Reply:
        self.prompts.append(messages)
        self.limits.append((max_tokens, timeout))
        self.schemas.append(schema)
        if self.judge and "verdicts" in (schema or {}).get("properties", {}):
            self.judged += 1
            return Reply(verdicts(messages, self.judge), {"prompt_tokens": 100, "completion_tokens": 20})
        if self.ends is not None and "uncited" in (schema or {}).get("properties", {}):
            return Reply(self.ends, {"prompt_tokens": 100, "completion_tokens": 20})
        if is_tidy(schema) and not self.queue:
            return Reply(tidied(messages, self.tidier), {"prompt_tokens": 100, "completion_tokens": 20})
        item = self.queue.popleft() if self.queue else (self.default or usual(schema))
        if isinstance(item, LlmError):
            raise item
        text = item if isinstance(item, str) else item(read_prompt(messages))
        return Reply(text, {"prompt_tokens": 100, "completion_tokens": 20})


def usual(schema: dict[str, Any] | None) -> str | Answerer:
    """What a model answers that nobody tells what to say: of memories nothing usable, and notes are folded."""
    asks_for_verdicts = "verdicts" in (schema or {}).get("properties", {})
    return "{}" if asks_for_verdicts else append_everything


def verdicts(messages: Messages, of: Callable[[str, str], str | None]) -> str:
    """The answer to a question about pairs of memories: those of which `of` says that they are the same or contradict
    each other; None: both is said of the pair, which is no verdict.
    """
    told = [(number, of(new, there)) for number, new, there in pairs_asked(messages)]
    said_of = {"different": [], None: ["same", "contradicts"]}
    named = [(number, one) for number, said in told for one in said_of.get(said, [said])]
    return json.dumps({"verdicts": [{"pair": number, "verdict": one} for number, one in named]})


def pairs_asked(messages: Messages) -> list[tuple[int, str, str]]:
    """The pairs that a question holds: number, new and there."""
    lines = messages[1]["content"].split("\n")
    entries = json.loads(lines[lines.index("# Pairs (JSON)") + 1])
    return [(pair["pair"], entry["new"], pair["there"]) for entry in entries for pair in entry["pairs"]]


def read_prompt(messages: Messages) -> dict[str, Any]:
    """What the user message holds: rules, synthesis, bank, notes."""
    values = []
    for line in messages[1]["content"].split("\n"):
        if line and not line.startswith("#"):
            try:
                values.append(json.loads(line))
            except ValueError:
                continue
    found = dict(zip(("rules", "synthesis", "bank", "notes"), values, strict=True))
    return {**found, "notes": [_note_of(*note) for note in found["notes"]]}


def _note_of(
    number: int, timestamp: str, agent: str, category: str, content: str, more: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A note of the prompt by the names of its fields."""
    named = {"number": number, "timestamp": timestamp, "agent": agent, "category": category, "content": content}
    return {**named, **(more or {})}


def append_everything(prompt: dict[str, Any]) -> str:
    """The simplest faithful model: one bullet per note in `log.md`, which names the note's content."""
    bullets = "\n".join(f"- {note['content']}" for note in prompt["notes"])
    numbers = [note["number"] for note in prompt["notes"]]
    edit = {"op": "append_to_section", "heading": "## Log", "content": bullets, "notes": numbers}
    if "log.md" in prompt["bank"]:
        file: dict[str, Any] = {"filename": "log.md", "action": "edited", "edits": [edit]}
    else:
        content = f"# Log\n\n## Log\n\n{bullets}\n"
        file = {"filename": "log.md", "action": "created", "content": content, "notes": numbers}
    return json.dumps({"bank_files": [file], "synthesis": f"{len(numbers)} notes."})


def several_files(prompt: dict[str, Any]) -> str:
    """A model that writes two files, discards the last note and edits sections."""
    notes = prompt["notes"]
    exists = prompt["bank"]
    files: list[dict[str, Any]] = []
    for name, chosen in (("log.md", notes[:-1:2]), ("people/all.md", notes[1:-1:2])):
        bullets = "\n".join(f"- {note['content']}" for note in chosen)
        cited = [note["number"] for note in chosen]
        if name in exists:
            edit = {"op": "append_to_section", "heading": "## Log", "content": bullets, "notes": cited}
            files.append({"filename": name, "action": "edited", "edits": [edit]})
        else:
            content = f"# Title\n\n## Log\n\n{bullets}\n"
            files.append({"filename": name, "action": "created", "content": content, "notes": cited})
    discarded = [{"note": notes[-1]["number"], "reason": "of no use"}]
    return json.dumps({"bank_files": files, "synthesis": "Two files.", "discarded": discarded})


class Ids:
    """ULIDs of the moment that the clock shows, which count up."""

    def __init__(self, clock: HandClock) -> None:
        self.count = 0
        self._clock = clock

    def __call__(self) -> str:
        self.count += 1
        return f"{keys.run_moment(int(self._clock().timestamp() * 1_000))}{self.count:016d}"

    def suffix(self) -> str:
        self.count += 1
        return f"{self.count:08x}"


KINDS: Mapping[str, Kind[Any]] = {
    **backup_work.KINDS,
    **update.KINDS,
    **{kind.name: kind for kind in (asking.KIND, digesting.KIND)},
}


def worker_of(payload: Mapping[str, Any]) -> Function:
    """The function that takes such a payload."""
    if payload.get("kind") == "consolidation":
        return "consolidate"
    if "kind" in payload:
        return KINDS[payload["kind"]].function
    of: dict[str, Function] = {
        "conversation_id": "summarize",
        "slot": "digest",
        "forced": "digest",
        "do": "backup",
    }
    return next(function for key, function in of.items() if key in payload)


def carry_out(
    payload: Mapping[str, Any],
    process: Process,
    until: datetime,
    pause: Callable[[float], None],
    waited: timedelta = timedelta(),
) -> Any:
    """Work off an invocation as the function that takes it does: the run of a consolidation, else what was done.
    `waited`: how long it has waited for a slot.
    """
    function = worker_of(payload)
    if function == "ask":
        return asking.carry_on(
            process, payload["space_id"], payload["job_id"], until, pause=pause, waited=Waited(waited)
        )
    if function == "summarize":
        return update.carry_out(process, payload, until, getattr(payload, "delivery", ""), waited)
    if function == "digest":
        wanted = digesting.DigestOrder.of(payload, getattr(payload, "delivery", ""))
        return digesting.carry_out(process, payload["space_id"], wanted, until)
    if function == "backup":
        return backup_work.carry_out(process, payload, until)
    return consolidation.consolidate(process, payload["space_id"], payload["job_id"], deadline=until)


class Invocation(dict[str, Any]):
    """The payload of an asynchronous invocation, with what the function service remembers of it."""

    def __init__(self, payload: Mapping[str, Any], queued_at: datetime, tries: int = 0) -> None:
        super().__init__(payload)
        self.queued_at = queued_at
        # The same in each run of a history.
        self.delivery = f"{queued_at.isoformat()} {json.dumps(payload, sort_keys=True)}"
        """The id of the invocation, which a retry keeps."""
        self.tries = tries
        self.ready_at = queued_at

    def again(self, now: datetime) -> "Invocation | None":
        """What is delivered after a try that failed `now`; None if that is given up."""
        if self.tries == len(timing.RETRIES):
            return None
        later = Invocation(self, self.queued_at, self.tries + 1)
        later.delivery = self.delivery
        later.ready_at = now + timing.RETRIES[self.tries]
        return later


@dataclass(frozen=True)
class Sent:
    """A write that the store has executed at `moment`, and may execute once more."""

    request: Request
    moment: datetime


@dataclass
class Beat:
    """What a process does every so many seconds while it does something else."""

    action: Callable[[], None]
    seconds: float
    due: datetime


@cache
def _settings(**settings: Any) -> Settings:
    # Without a pause between runs by hand and a limit of requests a second, where a test does not ask for them.
    usual = {
        "llmaas_api_url": "http://llm.invalid/v1",
        "consolidation_cooldown_seconds": 0,
        "requests_per_space_per_second": 0,
        "requests_per_token_per_second": 0,
    }
    return Settings(admin_bootstrap_key=BOOTSTRAP_KEY, **{**usual, **settings})


class World:
    """One account. `queued` holds the asynchronous invocations that nobody has worked off yet; `sent` the writes that
    may reach the store once more.
    """

    bucket: ClassVar[type[FakeS3]] = FakeS3
    """What its bucket in memory is."""

    def __init__(self, inner: Any = None, *, threads: int = 1, **settings: Any) -> None:
        self.clock = HandClock()
        self.inner = inner if inner is not None else self.bucket(self.clock)
        self.client = CountingClient(self.inner)
        self.threads = threads
        self.llm = ScriptedLlm()
        self.agent = ScriptedAgent()
        """The model where it may call tools."""
        self.ids = Ids(self.clock)
        self.queued: deque[Invocation] = deque()
        self.sent: list[Sent] = []
        self.beats: list[Beat] = []
        self.background: list[Callable[[], None]] = []
        """What processes would do beside their work."""
        self.reindexed: list[str] = []
        """Spaces that the indexer was asked for."""
        self.capability_checked: list[bool] = []
        """Shared by all processes: what a store heeds does not change."""
        self.settings = _settings(**settings)
        self.process = self.new_process()

    def fork(self) -> "World":
        """A world that goes on from here on its own, with a bucket in memory."""
        twin = type(self)(threads=self.threads)
        twin.capability_checked = self.capability_checked
        twin.settings = self.settings
        twin.clock.moment = self.clock.moment
        self.inner.copy_to(twin.inner)
        # Another model that tests have put there may be one that can be forked.
        fork = getattr(self.llm, "fork", None)
        twin.llm = fork() if fork else ScriptedLlm(self.llm.default, deque(self.llm.queue))
        twin.agent = ScriptedAgent(self.agent.default, deque(self.agent.queue))
        twin.ids.count = self.ids.count
        twin.queued = deque(self.queued)
        twin.sent = list(self.sent)
        twin.new_process()
        return twin

    def state(self) -> Hashable:
        """All that what happens from here on depends on, where nobody is at work and no process has a cache."""
        objects = ((key, stored.etag, stored.last_modified) for key, stored in self.inner.objects.items())
        queued = ((str(waiting), waiting.queued_at, waiting.ready_at, waiting.tries) for waiting in self.queued)
        return frozenset(objects), tuple(queued), self.clock(), self.ids.count

    @property
    def store(self) -> Store:
        """The store of the world's present process."""
        return self.process.store

    def new_process(self) -> Process:
        """A process with empty caches, as a fresh one has them; the capability check is done, so that counts are
        steady.
        """
        self.client.before = self.client.after = lambda index, verb: None
        self.process = self.process_on(self.client, threads=self.threads)
        self.client.reset()
        return self.process

    def process_on(self, client: Any, *, threads: int = 1, **parts: Any) -> Process:
        """A process of this world whose requests go through `client`; `parts` replaces some of its parts."""
        store = Store(
            "bucket",
            client,
            client,
            threads=threads,
            sleep=lambda seconds: None,
            capability_checked=self.capability_checked,
        )
        assert has_conditional_writes(store)
        return self.with_parts(store=store, **parts)

    def with_parts(self, **parts: Any) -> Process:
        """A process like the world's, with some parts replaced and caches of its own."""
        usual: dict[str, Any] = {
            "store": parts.get("store") or self.process.store,
            "settings": self.settings,
            "ask": self._ask,
            "converse": self._converse,
            "enqueue": self.enqueue,
            "new_suffix": self.ids.suffix,
            "new_id": self.ids,
            "clock": self.clock,
            "timer": lambda: self.clock().timestamp(),
            "every": self.every,
            "in_background": self.background.append,
        }
        return asks_itself(Process(**{**usual, **parts}))

    def _ask(self, *asked: Any) -> Reply:
        # Tests put another model in the place of `llm`.
        return self.llm(*asked)

    def _converse(self, *asked: Any, **more: Any) -> ToolReply:
        return self.agent(*asked, **more)

    def enqueue(self, function: Function, payload: Mapping[str, Any]) -> None:
        if function == "indexer":
            self.reindexed.append(payload["space_id"])
            return
        assert function == worker_of(payload), f"{function} does not take {payload}"
        self.queued.append(Invocation(payload, self.clock()))

    def retry(self, failed: Invocation) -> None:
        """The function service takes note that an invocation failed."""
        later = failed.again(self.clock())
        if later:
            self.queued.append(later)

    @contextmanager
    def every(self, action: Callable[[], None], seconds: float) -> Iterator[None]:
        """Call `action` every so many seconds of those that pass in the world (pass_time)."""
        beat = Beat(action, seconds, self.clock() + timedelta(seconds=seconds))
        self.beats.append(beat)
        try:
            yield
        finally:
            self.beats.remove(beat)

    def do_background(self) -> None:
        """Do what processes would do beside their work."""
        while self.background:
            self.background.pop(0)()

    def pass_time(self, seconds: float, *, beating: bool = True) -> None:
        """Let time pass. Without `beating` what processes do every so often is held up, as in a machine that stalls."""
        end = self.clock() + timedelta(seconds=seconds)
        while beating and (due := [beat for beat in self.beats if beat.due <= end]):
            beat = min(due, key=lambda beat: beat.due)
            self.clock.moment = max(self.clock(), beat.due)
            beat.due = self.clock() + timedelta(seconds=beat.seconds)
            beat.action()
        self.clock.moment = end

    def expire(self) -> None:
        """The function service gives up what waits for too long."""
        self.queued = deque(waiting for waiting in self.queued if self.clock() - waiting.queued_at < timing.DELIVERED)

    def note_sent(self, request: Request) -> None:
        """Remember a write that may reach the store once more."""
        if request.writes and request.key != CAPABILITY_CHECK:
            self.sent.append(Sent(request, self.clock()))

    def repeatable(self) -> list[Sent]:
        """The writes that may still do so, newest first."""
        return [sent for sent in reversed(self.sent) if self.clock() - sent.moment <= timing.REPEATED]

    def repeat(self, sent: Sent) -> None:
        """A write reaches the store once more, and nobody waits for its answer."""
        self.sent.remove(sent)
        with suppress(ClientError):
            sent.request.send(self.inner)

    def create_space(
        self, space_id: str = "demo", *, threshold: int = 0, rules: str = "Keep a log.", mode: Mode = "auto"
    ) -> heads.Meta:
        wanted = lifecycle.SpaceRequest(space_id, rules=rules, threshold=threshold, consolidation_mode=mode)
        return lifecycle.create(self.process, EVERYONE, wanted)

    def note(
        self, content: str, *, space_id: str = "demo", agent: str = "ann", category: str = "progress"
    ) -> notes.Note:
        draft = appending.NoteDraft(category, content)
        return appending.append(self.process, space_id, agent, draft)

    def count(self, space_id: str = "demo", process: Process | None = None) -> counter.Counted:
        """A put event of a note arrives."""
        return counter.hear(process or self.process, space_id)

    def order(self, space_id: str = "demo", **order: Any) -> runs.Run:
        return queues.order(self.process, EVERYONE, space_id, queues.RunOrder(**{"trigger": "api", **order}))

    def work(
        self,
        payload: Mapping[str, Any] | None = None,
        process: Process | None = None,
        until: datetime | None = None,
    ) -> Any:
        """Work off one queued invocation, the oldest unless given: the run of a consolidation, else what was done. By
        the world's present process, unless one is given that has time `until` then.
        """
        todo = payload or self.queued.popleft()
        process, until = process or self.process, until or self.clock() + INVOCATION
        if worker_of(todo) == "backup":
            # Who waits for a busy space lets time pass. Else it would wait for ever.
            process = replace(process, store=replace(process.store, sleep=self.clock.move))
        return carry_out(todo, process, until, self.pass_time)

    def consolidate(self, space_id: str = "demo", **order: Any) -> runs.Run:
        """Order a run and work it off."""
        run = self.order(space_id, **order)
        ended = self.work(self.queued.pop())
        assert ended is not None
        assert ended.job_id == run.job_id
        return ended

    def view(self, run_id: str, space_id: str = "demo") -> runs.Run:
        return run_progress.view(self.process, space_id, run_id)

    def sweep(self) -> sweeping.SweepReport:
        """The sweep of every quarter of an hour: of the spaces that are marked."""
        return sweeping.sweep(self.process, deadline=self.clock() + INVOCATION)

    def sweep_all(self) -> sweeping.SweepReport:
        """The sweep of once a day: of all spaces."""
        return sweeping.sweep(self.process, deadline=self.clock() + INVOCATION, everything=True)

    def plan(self, space_id: str = "demo") -> Review | None:
        """The plan that waits for approval."""
        head = heads.find(self.process, space_id)
        return head.meta.pending_plan if head else None

    def approve(self, space_id: str = "demo") -> Any:
        """Approve the plan that waits, if one does."""
        plan = self.plan(space_id)
        return plan and review.approve(self.process, EVERYONE, space_id, plan.run_id, plan.revision)

    def undo(self, number: int, space_id: str = "demo") -> Any:
        return undoing.undo(self.process, "admin", space_id, number)

    def back_up(self, space_id: str = "demo", **wanted: Any) -> Manifest:
        """Take a backup of the space."""
        asked = taking.BackupRequest(**{"trigger": "api", **wanted})
        return taking.take(self.process, space_id, asked, deadline=self.clock() + INVOCATION).manifest

    def restore(self, space_id: str, backup_id: str, target: str | None = None) -> heads.Meta | None:
        """Restore a backup."""
        head = restoring.order(self.process, EVERYONE, space_id, backup_id, target)
        return provisioning.carry_on(self.process, head, self.clock() + INVOCATION)

    def text(self, key: str) -> str:
        found = self.store.get(key)
        assert found is not None, key
        return found.body.decode()

    def keys(self, prefix: str = "") -> list[str]:
        return [entry.key for entry in self.store.scan(prefix)]

    def due(self, kind: DueKind) -> list[str]:
        """Of which spaces, or of what in them (`demo/x`), something of the kind stands in the due index."""
        found = [entry for key in self.keys(due_keys.DUE) if (entry := due_keys.parse_due(key)) and entry.kind == kind]
        return [f"{entry.space_id}/{entry.name}".rstrip("/") for entry in found]

    def due_now(self, kind: DueKind) -> list[Due]:
        """What is due now of a kind, as a package that looks at it gets it."""
        return due_index.due_now(self.process).get(kind, [])

    def live_ids(self, space_id: str = "demo") -> list[str]:
        return [
            entry.key.rpartition("/")[2].removesuffix(".md") for entry in contents.live_notes(self.process, space_id)
        ]

    def bank(self, space_id: str = "demo") -> dict[str, str]:
        return {
            entry.key.partition("/bank/")[2]: self.text(entry.key)
            for entry in contents.bank_files(self.process, space_id)
        }

    def settle(self, rounds: int = 500) -> None:
        """Work off whatever is queued, and again what fails, until nothing is left."""
        for _ in range(rounds):
            if not self.queued:
                return
            invocation = min(self.queued, key=lambda waiting: waiting.ready_at)
            self.queued.remove(invocation)
            self.clock.moment = max(self.clock(), invocation.ready_at)
            try:
                self.work(invocation)
            except LiveMemoryError:
                self.retry(invocation)
        raise AssertionError("the queue does not empty")


def forked(make: Callable[P, World]) -> Callable[P, World]:
    """Makes a world for the same arguments once. Each caller gets one that goes on from there."""
    made: Any = cache(make)

    @wraps(make)
    def fork(*arguments: P.args, **named: P.kwargs) -> World:
        world: World = made(*arguments, **named).fork()
        return world

    return fork
