"""Memories: stored, refreshed, corrected, deleted, brought back and split by several authors; settled by a digest,
deleted for their time by the sweep. The laws are in memory_law.py.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any, ClassVar, cast

from livemem.errors import LiveMemoryError
from livemem.llm.client import LlmError
from livemem.memories import correcting, forgetting, log, reading, similar, splitting, storing
from livemem.memories.correcting import Correction
from livemem.memories.memory import MemoryDraft
from livemem.memories.storing_outcome import StoredMemory
from livemem.process import Process
from livemem.store import due_keys
from livemem.store.keys import MEMORY_FOLDERS, MEMORY_KINDS, MemoryKind
from tests.simulation.choices import chance, some
from tests.simulation.histories import History, Step
from tests.simulation.kinds.bank import sweep, sweep_all
from tests.simulation.kinds.memory_law import (
    MIXED,
    TOPICS,
    Log,
    Told,
    alive,
    judged,
    op_id,
    said_of,
    says,
    text,
    wrong_log,
)
from tests.simulation.model import Model
from tests.simulation.pairs import CROSSED, Pair
from tests.simulation.scene import SPACE, SWEEP_SECONDS, Action, Before, Scene, nothing
from tests.simulation.scene import Kind as KindOfWork
from tests.support.actors import Actor
from tests.support.bucket import FakeS3
from tests.support.memories import URL, Meaning
from tests.support.world import INVOCATION, World, verdicts

AUTHORS = ("ann", "bob", "eva")
SKEW = 300
"""Seconds by which clocks may be off."""
SNAPSHOT_EVERY = 5
"""So few that short histories have several snapshots."""


class MemoryWorld(World):
    """A world all of whose processes have an embedding model, and an LLM that is always right."""

    def __init__(self, inner: Any = None, *, threads: int = 1, **settings: Any) -> None:
        self.meaning = Meaning()
        super().__init__(inner, threads=threads, **{"embeddings_api_url": URL, **settings})
        self.llm = Model(lambda messages: verdicts(messages, judged))  # type: ignore[assignment]

    def with_parts(self, **parts: Any) -> Process:
        return super().with_parts(**{"embed": self.meaning, **parts})


class MemoryScene(Scene):
    """Memories, and what users did and were told: see memory_law.Users. `asked` has what each cause stores."""

    world_type: ClassVar[type[World]] = MemoryWorld

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.told: list[Told] = []
        self.asked: dict[str, MemoryDraft] = {}
        self.causes: list[str] = []
        self.shortens: set[str] = set()
        self.by_hand: set[str] = set()
        self.deletions: set[str] = set()
        self.skew = 0.0
        world.create_space(SPACE)

    @property
    def bucket(self) -> FakeS3:
        return cast("FakeS3", self.world.inner)

    @property
    def judged(self) -> bool:
        return bool(self.world.settings.llmaas_api_url)

    @property
    def now(self) -> datetime:
        return self.world.clock()

    def cause(self, name: str) -> str:
        """A cause that nothing had before."""
        return f"{name}/{self.world.ids()}"

    # What users do: each is given the process that does it.

    def _begun(self, cause: str, *sets: set[str]) -> None:
        self.causes.append(cause)
        for one in sets:
            one.add(op_id(cause))

    def _was_told(self, done: StoredMemory, cause: str | None, content: str) -> None:
        self.told.append(Told(done.memory.kind, done.number, cause, content, done.memory.memory_id))

    def store(self, process: Process, author: str, draft: MemoryDraft, cause: str | None) -> StoredMemory:
        said_at, speaker = said_of(draft.content)
        draft = replace(draft, said_at=said_at, author=speaker)
        if cause:
            self.asked[cause] = draft
            self._begun(cause, *([self.shortens] if draft.replace and draft.ttl else []))
        stored = storing.store(process, SPACE, author, draft, op_id=cause)
        self._was_told(stored, cause, draft.content)
        return stored

    def correct(self, process: Process, memory_id: str, wanted: Correction, cause: str) -> None:
        self._begun(cause, self.by_hand, *([self.shortens] if isinstance(wanted.ttl, str) else []))
        done = correcting.correct(process, SPACE, "ann", memory_id, wanted, op_id=cause)
        self._was_told(done, cause, wanted.content if isinstance(wanted.content, str) else done.memory.content)

    def delete(self, process: Process, memory_id: str, cause: str) -> None:
        self._begun(cause, self.deletions)
        forgetting.delete(process, SPACE, "ann", memory_id, "It is wrong.", op_id=cause, anyone=True)

    def bring_back(self, process: Process, memory_id: str, cause: str) -> None:
        # What was deleted for its time lives for an hour.
        self._begun(cause, self.by_hand, self.shortens)
        done = forgetting.restore(process, SPACE, "ann", memory_id, op_id=cause, anyone=True)
        if not done.repeated:
            # One that is there already has no operation of this cause.
            self._was_told(done, cause, done.memory.content)

    def split(self, process: Process, memory_id: str, cause: str) -> None:
        # What has expired since lives for an hour, and what was made permanent by what is split off does so no more.
        self._begun(cause, self.by_hand, self.shortens)
        done = splitting.split(process, SPACE, "ann", memory_id, op_id=cause)
        self._was_told(done.memory, cause, done.memory.memory.content)

    # Faults, and how to recover

    def begin(self, action: Action) -> None:
        self.told_before = len(self.told)
        self.causes.clear()

    def repeat(self, action: Action) -> list[str]:
        """Whoever asked asks again: it succeeds, and all of it has happened once."""
        self.do(action)
        logs = [Log.read(self.bucket, kind) for kind in MEMORY_KINDS]
        times = {
            cause: sum(one["op_id"] == op_id(cause) for log in logs for one in log.operations) for cause in self.causes
        }
        told = {(told.number, told.memory_id) for told in self.told[self.told_before :]}
        return [
            *(f"{cause} is in the log {count} times" for cause, count in times.items() if count != 1),
            *([f"was told {told}"] if len(told) > 1 else []),
        ]

    # The oracle

    def seen(self) -> list[str]:
        return self.check()

    def rest(self) -> list[str]:
        """What the sweep and the look of the next days do; nobody else does anything."""
        world = self.world
        for seconds, look in ((2 * SKEW, sweep), (26 * 3_600, sweep_all)):
            world.pass_time(seconds)
            look(self, world.new_process(), world.clock() + INVOCATION)
        wrong = self.check()
        for kind in MEMORY_KINDS:
            standing = Log.read(self.bucket, kind).standing()
            wrong += [f"expired, and it stays: {one}" for one in standing.values() if not alive(one, self.now)]
            folder = f"{SPACE}/memories/{MEMORY_FOLDERS[kind]}/snapshot/"
            there = [key.removeprefix(folder) for key in self.bucket.objects if key.startswith(folder)]
            newest = max((name for name in there if name.endswith(".json")), default="")
            # Vectors that are newer than the newest snapshot may be under way.
            numbers = {name[:8] for name in there if name <= newest}
            if len(numbers) > 2:
                wrong.append(f"old snapshots stay: {numbers}")
        before = due_keys.due_after(self.now - timedelta(hours=3))
        return wrong + [f"an old entry stays: {key}" for key in self.bucket.objects if due_keys.DUE <= key < before]

    def check(self, readers: Sequence[Process] = ()) -> list[str]:
        """What is wrong now: in the bucket, and in what these processes and a fresh one read."""
        found = {kind: Log.read(self.bucket, kind) for kind in MEMORY_KINDS}
        wrong = [one for kind in MEMORY_KINDS for one in wrong_log(self, kind, found[kind])]
        if not wrong:
            # Reading builds on it.
            wrong = [one for reader in (*readers, self.world.new_process()) for one in _wrong_reads(reader, found)]
        return wrong


def _wrong_reads(process: Process, found: Mapping[MemoryKind, Log]) -> Iterator[str]:
    now = process.clock()
    for kind in MEMORY_KINDS:
        wanted = {memory_id: memory for memory_id, memory in found[kind].standing().items() if alive(memory, now)}
        there = {one.memory_id: json.loads(one.model_dump_json()) for one in reading.all_of(process, SPACE, kind)}
        if there != wanted:
            yield f"{kind}: reads {there}, in the log is {wanted}"
    newest = max((one["updated_at"] for log in found.values() for one in log.alive(now)), default=None)
    recent = reading.recent(process, SPACE)
    if (recent[0].updated_at if recent else None) != newest:
        yield f"the newest is of {newest}, not {recent[:1]}"


# What is done


def _memory(scene: MemoryScene, topic: int) -> str:
    """The memory of a topic, also one that is deleted."""
    return next(
        str(one["memory"]["memory_id"])
        for one in Log.read(scene.bucket, "fact").operations
        if one["memory"]["content"].startswith(f"{topic}: ")
    )


def three(scene: MemoryScene) -> None:
    """Three memories, which are there before everything."""
    if not scene.told:
        for topic in (0, 1, 2):
            _put(scene, text(topic, 0, 0))


def _put(scene: MemoryScene, content: str, **more: Any) -> None:
    scene.store(scene.world.process, "ann", MemoryDraft(content, **more), None)


def _store(name: str, draft: MemoryDraft, before: Before = nothing) -> Action:
    return _action(name, lambda scene, process: scene.store(process, "eva", draft, f"cause of {name}"), before)


def _action(name: str, do: Any, before: Before = nothing) -> Action:
    def prepare(scene: MemoryScene) -> None:
        three(scene)
        before(scene)

    return Action(name, lambda scene, process, until: do(scene, process), prepare)


def _merged(scene: MemoryScene) -> None:
    scene.store(scene.world.process, "eva", MemoryDraft(text(1, 0, 2)), "a merge before")


def _similar(scene: MemoryScene) -> None:
    """Two that say the same, and two that do not, were stored while no model answered."""
    process = scene.world.with_parts(ask=_unanswered)
    for topic, thing, wording in ((2, 0, 2), (3, 0, 0), (3, 1, 0)):
        scene.store(process, "ann", MemoryDraft(text(topic, thing, wording)), None)


def _unanswered(*asked: Any) -> Any:
    raise LlmError("llm_timeout", "It took too long.")


def _gone(scene: MemoryScene) -> None:
    scene.delete(scene.world.process, _memory(scene, 2), "a deletion before")


def _almost_snapshot(scene: MemoryScene) -> None:
    """So many operations that the next one makes a snapshot."""
    while len(Log.read(scene.bucket, "fact").operations) % SNAPSHOT_EVERY != SNAPSHOT_EVERY - 1:
        _put(scene, text(0, 0, 0))


def _expires(scene: MemoryScene) -> None:
    """Something is for an hour; that has passed."""
    _put(scene, text(3, 5, 0), ttl="1h")
    _put(scene, text(3, 4, 0), ttl="3h")
    scene.world.pass_time(7_300)


def _about_to_expire(scene: MemoryScene) -> None:
    """Something is for an hour, which has nearly passed."""
    _put(scene, text(3, 5, 0), ttl="1h")
    scene.world.pass_time(3_599)


def _snapshots(scene: MemoryScene) -> None:
    for number in range(4 * SNAPSHOT_EVERY):
        _put(scene, text(0, 0, number % 3))


FRESH = _store("store", MemoryDraft(text(3, 0, 0)))
MERGED = _store("store in other words", MemoryDraft(text(1, 0, 2)))
FOR_A_TIME = _store("store for a time", MemoryDraft(text(3, 1, 0), ttl="1h"))
REFRESH = _store("refresh", MemoryDraft(text(3, 5, 1), ttl="2h"), _about_to_expire)
WITH_SNAPSHOT = _store("store with a snapshot", MemoryDraft(text(0, 0, 1)), _almost_snapshot)
REPLACE = _store("replace", MemoryDraft(text(1, 0, 0), ttl="1h", replace=True))
CORRECTION = Correction(content=text(1, 0, 1))
CORRECT = _action("correct", lambda scene, process: scene.correct(process, _memory(scene, 1), CORRECTION, "corrects"))
DELETE = _action("delete", lambda scene, process: scene.delete(process, _memory(scene, 0), "deletes"))
BRING_BACK = _action("bring back", lambda scene, process: scene.bring_back(process, _memory(scene, 2), "brings"), _gone)
SPLIT = _action("split", lambda scene, process: scene.split(process, _memory(scene, 1), "splits"), _merged)
SETTLE = replace(
    _action("look at what may be the same", nothing, _similar),
    work=lambda scene, process, until: similar.settle(process, SPACE, until),
)
SWEEP = replace(_action("sweep", nothing, _expires), work=sweep, seconds=SWEEP_SECONDS)
DAILY = replace(_action("daily look", nothing, _snapshots), work=sweep_all, seconds=SWEEP_SECONDS)
ACTIONS = (
    FRESH, MERGED, FOR_A_TIME, REFRESH, WITH_SNAPSHOT, REPLACE, CORRECT, DELETE, BRING_BACK, SPLIT, SETTLE, SWEEP, DAILY
)  # fmt: skip
WITH_OTHERS = (FRESH, MERGED, FOR_A_TIME, WITH_SNAPSHOT, CORRECT, DELETE, BRING_BACK)
PAIRS = tuple(
    Pair(first, second, CROSSED)
    for first, second in dict.fromkeys((
        *((first, second) for first in WITH_OTHERS for second in WITH_OTHERS),
        *((first, SWEEP) for first in (REFRESH, SWEEP, FRESH, DAILY)),
        *((SWEEP, second) for second in (REFRESH, FRESH)),
        (DAILY, WITH_SNAPSHOT), (WITH_SNAPSHOT, DAILY),
        *((one, other) for one in (SPLIT, SETTLE) for other in (MERGED, CORRECT, DELETE, SPLIT, SETTLE)),
        *((other, one) for one in (SPLIT, SETTLE) for other in (MERGED, CORRECT, DELETE)),
    ))
)  # fmt: skip


class MemoryHistory(History):
    """Authors who store, correct, delete, bring back and split; processes that go on with what they know; a space that
    is brought back to what it was.
    """

    begins = 3
    """The last: without an LLM, so that what is not said in the same words stays apart."""
    most_actors = 4
    most_turns = 12
    has_calm = False
    reuses = True
    skews = (0, 0, 0, 60, SKEW, -60, -SKEW)
    times = (1, 20, 100, 400, 3_700, 3_700, 8_000)

    @classmethod
    def begin(cls, scene: MemoryScene, place: int) -> None:
        if place == cls.begins - 1:
            scene.world.settings = scene.world.settings.model_copy(update={"llmaas_api_url": ""})
            scene.world.new_process()

    def first(self) -> None:
        self.scene.skew = abs(self.skew)
        # Little to speak of, so that much of it meets.
        self.topics = some(self.choices, range(MIXED), self.choices.number(1, 2))
        self.drafts: list[str] = []
        self.store()

    def steps(self) -> list[Step]:
        return [
            (self.store, 12), (self.store_again, 3), (self.correct, 2), (self.delete, 2), (self.bring_back, 2),
            (self.split, 2), (self.settle, 1), (self.sweep, 2), (self.look, 1), (self.go_back, 1),
        ]  # fmt: skip

    def break_model(self) -> None:
        """What no model judged may stand twice: this history looks for what does so although it was judged."""

    def store(self) -> None:
        """One to three memories by one process."""
        drafts = [self._draft() for _ in range(self.choices.number(1, 3))]
        told = [(draft, self._cause(draft), self.choices.pick(AUTHORS)) for draft in drafts]

        def work(process: Process, until: datetime) -> None:
            for draft, cause, author in told:
                with suppress(LiveMemoryError):
                    self.scene.store(process, author, draft, cause)

        self.spawn("store", work)

    def store_again(self) -> None:
        """What was asked for before, by who does not know what came of it."""
        if self.drafts:
            cause = self.choices.pick(self.drafts)
            draft = self.scene.asked[cause]
            self.spawn("repeat", lambda process, until: self.scene.store(process, "bob", draft, cause))

    def correct(self) -> None:
        thing = self.choices.number(0, len(TOPICS[self.topics[0]]) - 1)
        changes: Any = self.choices.pick(
            ({"content": text(self.topics[0], thing, 1)}, {"ttl": "1h"}, {"ttl": None}, {"subjects": ["port"]})
        )
        self._of_some(
            "correct",
            lambda process, memory, cause: self.scene.correct(process, memory, Correction(**changes), cause),
        )

    def delete(self) -> None:
        self._of_some("delete", self.scene.delete)

    def split(self) -> None:
        self._of_some("split", self.scene.split)

    def bring_back(self) -> None:
        logs = [Log.read(self.scene.bucket, kind) for kind in MEMORY_KINDS]
        deleted = [one["memory"]["memory_id"] for log in logs for one in log.operations if one["op"] == "delete"]
        self._of_some("restore", self.scene.bring_back, deleted)

    def settle(self) -> None:
        self.spawn("settle", lambda process, until: similar.settle(process, SPACE, until), SWEEP_SECONDS)

    def sweep(self) -> None:
        self.spawn("sweep", lambda process, until: sweep(self.scene, process, until), SWEEP_SECONDS)

    def look(self) -> None:
        self.spawn("daily look", lambda process, until: sweep_all(self.scene, process, until), SWEEP_SECONDS)

    def go_back(self) -> None:
        """The space is brought back to what it was; who knew it as it is now goes on."""
        if chance(self.choices, 50):
            return
        for actor in list(self.actors):
            actor.kill()
        self._bury()
        self.world.sent.clear()
        objects = self.scene.bucket.objects
        for kind in MEMORY_KINDS:
            names = Log.read(self.scene.bucket, kind).names
            kept = self.choices.number(0, len(names))
            for name in names[kept:]:
                del objects[name]
            # A backup that was made while memories were stored may have a snapshot that is newer than the log.
            newest = (
                f"{SPACE}/memories/{MEMORY_FOLDERS[kind]}/snapshot/{kept + self.choices.pick((0, SNAPSHOT_EVERY)):08d}~"
            )
            for key in [key for key in objects if key.startswith(newest[:-9]) and key > newest]:
                del objects[key]
            self.scene.told = [told for told in self.scene.told if told.kind != kind or told.number <= kept]

    def end(self) -> list[str]:
        self.world.pass_time(2 * SKEW)
        wrong: list[str] = self.scene.check([actor.process for actor in self.idle[-2:]])
        return wrong or self._repeated() or self.scene.rest()

    def _repeated(self) -> list[str]:
        """A repeat of what was acknowledged changes nothing."""
        told = next((told for told in self.scene.told if told.cause in self.scene.asked), None)
        if not told:
            return []
        before = dict(self.scene.bucket.objects)
        again = self.scene.store(self.world.new_process(), "bob", self.scene.asked[told.cause], told.cause)
        if not again.repeated or again.memory.memory_id != told.memory_id:
            return [f"a repeat of {told} was told {again}"]
        now = self.scene.bucket.objects
        changed = {key for key in before | now if before.get(key) != now.get(key)}
        return [f"a repeat of {told} changed {changed}"] if changed else []

    # Helpers

    def _draft(self) -> MemoryDraft:
        topic = self.choices.pick(self.topics)
        thing = self.choices.number(0, len(TOPICS[topic]) - 1)
        wording = self.choices.number(0, len(TOPICS[topic][thing]) - 1)
        kind: MemoryKind = self.choices.pick(("fact", "fact", "fact", "fact", "goal"))
        ttl = self.choices.pick((None, None, None, "1m", "1h", "3h"))
        return MemoryDraft(text(topic, thing, wording), kind=kind, ttl=ttl, replace=chance(self.choices, 10))

    def _cause(self, draft: MemoryDraft) -> str | None:
        if not draft.replace and chance(self.choices, 30):
            return None
        cause: str = self.scene.cause("store")
        self.scene.asked[cause] = draft
        self.drafts.append(cause)
        return cause

    def _of_some(self, name: str, do: Any, memories: Sequence[str] | None = None) -> None:
        """Somebody does this to one of the memories, by default of those that there are."""
        if memories is None:
            logs = [Log.read(self.scene.bucket, kind) for kind in MEMORY_KINDS]
            memories = [memory["memory_id"] for log in logs for memory in log.alive(self.world.clock())]
        if memories:
            memory, cause = self.choices.pick(memories), self.scene.cause(name)
            self.spawn(name, lambda process, until: do(process, memory, cause))


def race(number: int) -> list[str]:
    """Forty processes store ten facts in four wordings each: in any order of their requests, or one each in turn."""
    random = Random(number)
    scene = MemoryScene.new()
    drafts = [MemoryDraft(text(topic, 0, wording)) for topic in range(MIXED, len(TOPICS)) for wording in range(4)]
    random.shuffle(drafts)

    def storing(place: int, draft: MemoryDraft) -> Any:
        return lambda actor: scene.store(actor.process, f"author-{place}", draft, f"cause/{place}")

    until = scene.world.clock() + INVOCATION
    actors = [Actor(str(place), scene.world, storing(place, draft), until) for place, draft in enumerate(drafts)]
    while left := [actor for actor in actors if not actor.done]:
        for actor in left if number % 2 else [random.choice(left)]:
            actor.step()
    for actor in actors:
        if actor.error:
            raise actor.error
    there = Log.read(scene.bucket, "fact").standing().values()
    missing = [
        f"not in one memory: {draft.content}" for draft in drafts if not any(says(one, draft.content) for one in there)
    ]
    return [*scene.check(), *missing, *([] if len(there) == 10 else [f"{len(there)} memories of ten facts"])]


MEMORIES = KindOfWork(
    "memories",
    MemoryScene,
    ACTIONS,
    PAIRS,
    (MemoryHistory,),
    extras=(("40 who store 10 facts at once", race, 20),),
    small=((log, "SNAPSHOT_EVERY", SNAPSHOT_EVERY),),
)
