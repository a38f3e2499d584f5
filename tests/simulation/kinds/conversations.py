"""Conversations: writers, importers, events, workers, rebuilds, redos, deletions, erasures of turns, sweeps. The laws
are in conversation_law.py.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, cast

from greenlet import getcurrent

from livemem.conversations import conversation as conversations
from livemem.conversations import levels, log, orders, removal, summaries, summary_versions, update
from livemem.conversations.conversation import NewConversation
from livemem.conversations.parameters import Parameters
from livemem.conversations.summary_versions import At
from livemem.conversations.turn import Draft, ToolCall, Turn
from livemem.erasure import erasure
from livemem.errors import LiveMemoryError, StillAtWork
from livemem.jobs.shares import CROWDED
from livemem.llm.client import Messages
from livemem.process import Process
from livemem.spaces import caps
from livemem.spaces import head as heads
from livemem.store import due_keys, timing
from livemem.store.bucket import BOUNDARY, IN_CONVERSATION, IN_VERSION, TURN, BoundaryKey
from tests.simulation.choices import chance, some
from tests.simulation.histories import History, Step
from tests.simulation.kinds import conversation_law as law
from tests.simulation.kinds.bank import sweep, sweep_all
from tests.simulation.kinds.conversation_law import Watched
from tests.simulation.model import Model
from tests.simulation.pairs import CROSSED, Pair
from tests.simulation.scene import SPACE, SWEEP_SECONDS, WORK_SECONDS, Action, Before, Kind, Sampled, Scene, nothing
from tests.support.actors import Actor
from tests.support.bucket import FakeS3
from tests.support.talk import extract
from tests.support.world import EVERYONE, World, append_everything, read_prompt

SMALL: dict[str, Any] = {
    "window_chars": 500,
    "min_flush_chars": 100,
    "group_chars": 1_000,
    "group_raw_chars": 500,
    "ratio": 0.5,
    "batch_delay_ms": 0,
    "verbatim_chars": 0,
}
"""So small that a few short messages make several blocks, and some of them groups on all levels."""
PROFILES: tuple[tuple[Any, dict[str, Any]], ...] = (
    ("windows", {}),
    ("windows", {"seal_policy": "time", "flush_after_ms": 300_000}),
    ("windows", {"seal_policy": "chars", "wiggle": 0.5}),
    ("windows", {"ensure_assistant": False, "flush_after_ms": 60_000}),
    ("windows", {"overlap_chars": 100, "concurrency": 1}),
    ("turns", {}),
    ("turns", {"group_raw_chars": 800}),
)
REBUILDS: tuple[dict[str, Any], ...] = (
    {"window_chars": 700},
    {"window_chars": 1_000, "min_flush_chars": 400},
    {"group_chars": 1_500},
    {"concurrency": 2},
    {"ratio": 0.4},
)
RESULT = ToolCall(name="read", arguments={"path": "a.py"}, result="r" * 40_000)


def long_extract(messages: Messages) -> str:
    """Honest, and long enough that a few of them fill a group: `ratio` is a half here. It names a note of a block where
    it is asked for notes, and folds notes.
    """
    if "# Live notes" in messages[1]["content"]:
        return append_everything(read_prompt(messages))
    whole: dict[str, Any] = json.loads(extract(messages))
    shown = json.loads(messages[1]["content"].strip().rsplit("\n", 1)[-1])
    parts = [part.get("summary") or part["user"] + part["assistant"] for part in shown]
    told = " ".join(parts)
    whole["summary"] = told[: max(1, min(len(told) // 2, 400))]
    if "`notes`" in messages[0]["content"]:
        turn = shown[-1]["turn"]
        whole["notes"] = [{"category": "decision", "content": f"Of {turn}: {parts[-1][:11]}.", "turns": [turn]}]
    return json.dumps(whole)


class TalkWorld(World):
    """A world whose bucket notices what is asked of the model."""

    bucket: ClassVar[type[FakeS3]] = Watched

    def __init__(self, inner: Any = None, **more: Any) -> None:
        super().__init__(inner, **more)
        self.llm = Model(long_extract)  # type: ignore[assignment]

    def _ask(self, *asked: Any) -> Any:
        reply = super()._ask(*asked)
        cast("Watched", self.inner).asked.add(getcurrent())
        return reply


class TalkScene(Scene):
    """One conversation, and what its users were told.

    `told` has each acknowledged message; `late` says that a process may have seen the end of the log too early, or by a
    clock that is off, so that the time rule may have ended a block where the whole log would not. `doomed`: somebody
    has begun to delete it; `deleted`: somebody was told that it is. `erasing` and `erased`: messages whose turns
    somebody has begun to erase, or was told that they are. `promised`: jobs that make a summary anew. `kept`: nobody
    died and nothing was lost, so that each job must have ended.
    """

    world_type: ClassVar[type[World]] = TalkWorld
    recoveries: ClassVar[tuple[str, ...]] = ("repeat", "update_first", "nobody")

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.id = ""
        self.told: dict[str, Draft] = {}
        self.wanted: list[Draft] = []
        self.promised: dict[str, tuple[int, int, int]] = {}
        self.erasing: set[str] = set()
        self.erased: set[str] = set()
        self.late = self.doomed = self.deleted = self.kept = False

    @property
    def bucket(self) -> Watched:
        return cast("Watched", self.world.inner)

    def state(self) -> Any:
        return super().state(), tuple(self.bucket.wrong)

    def create(self, profile: Any = "windows", capture: Any = "off", **parameters: Any) -> None:
        self.world.create_space(SPACE)
        told = Parameters(**{**SMALL, **parameters})
        wanted = NewConversation(cwd="/work", host="ada", profile=profile, parameters=told, capture=capture)
        self.id = conversations.create(self.world.process, SPACE, "ann", wanted).conversation_id

    def draft(self, size: int = 200, *, named: bool = True, **more: Any) -> Draft:
        """A turn that nobody has written yet."""
        own = self.world.ids()[-6:]
        words = f"{own} " * (size // 7 + 1)
        half = len(words) // 2
        both = {"user_message": words[:half], "assistant_message": words[half:]}
        return Draft(**{**both, "message_id": f"m{own}" if named else None, **more})

    # What users and workers do: each is given the process that does it.

    def append(self, process: Process, draft: Draft) -> None:
        gone = self.deleted
        appended = log.append(process, SPACE, self.id, "ann", draft)
        assert not gone, "a turn was taken in although the conversation was gone"
        self.told[appended.turn.message_id] = draft

    def bring(self, process: Process, drafts: list[Draft]) -> None:
        gone = self.deleted
        for one, draft in zip(log.append_all(process, SPACE, self.id, "bob", drafts), drafts, strict=True):
            assert not gone, "turns were taken in although the conversation was gone"
            self.told[one.turn.message_id] = draft

    def say(self, *sizes: int) -> None:
        """Turns of so many characters, a second apart."""
        for size in sizes:
            self.world.pass_time(1)
            self.append(self.world.process, self.draft(size))

    def redo(self, process: Process, level: int, number: int) -> None:
        job = orders.redo(process, SPACE, self.id, level, number)
        self.promised[job.job_id] = (job.generation, level, number)

    def rebuild(self, process: Process, changes: dict[str, Any]) -> None:
        orders.rebuild(process, SPACE, self.id, None, changes)

    def erase(self, process: Process, until: datetime, index: int) -> None:
        """Erase a turn, if there is one of this number."""
        stored = self.bucket.objects.get(TURN.key(SPACE, self.id, index))
        if not stored:
            return
        turn = Turn.from_bytes(stored.body)
        named = {message_id for message_id in self.told if turn.is_of(message_id)}
        self.erasing |= named
        if erasure.erase(process, EVERYONE, SPACE, [f"{self.id}/{index}"], until).status == "done":
            self.erased |= named

    def delete(self, process: Process) -> None:
        """Delete the conversation; from its acknowledgement on nothing may be taken in."""
        self.doomed = True
        removal.delete(process, SPACE, self.id)
        self.deleted = True

    def event(self, process: Process, until: datetime) -> Any:
        """A turn was written."""
        return self.world.work({"space_id": SPACE, "conversation_id": self.id}, process, until)

    def crowded_event(self, process: Process, until: datetime) -> Any:
        """A turn was written, and its event has waited in a long queue: the space has its share of the slots alone."""
        payload = {"space_id": SPACE, "conversation_id": self.id}
        return update.carry_out(process, payload, until, waited=CROWDED)

    def fill_share(self, count: int) -> None:
        """So many workers of the space are at work, and die before they end."""
        for number in range(count):
            caps.enter(self.world.process, SPACE, "summarize", f"other-{number}", count, timing.INVOCATION)

    # Faults, and how to recover

    def update_first(self, action: Action) -> list[str]:
        """An event of another turn comes, before any sweep."""
        self.attempt(UPDATE)
        return []

    def left(self, action: Action, actor: Actor) -> None:
        super().left(action, actor)
        if isinstance(actor.error, StillAtWork) and self.world.queued:
            # Lambda delivers it again.
            self.world.queued[0].ready_at = self.world.clock() + timedelta(seconds=200)
        self.kept = not self.doomed

    # The oracle

    def rest(self) -> list[str]:
        """Let the sweeps of the next hours come by, and what they start; nobody else does anything."""
        world = self.world
        world.new_process()
        world.llm.fails = 0  # type: ignore[attr-defined]
        for _ in range(12):
            world.settle()
            world.pass_time(20 * 60)
            world.new_process()
            world.sweep()
            if not world.queued and not world.keys(due_keys.DUE) and not heads.load(world.process, SPACE).meta.erasing:
                break
        world.settle()
        wrong = []
        if self.deleted:
            # Not only a day later, as a tombstone and what no entry tells of.
            folder = IN_CONVERSATION.prefix(SPACE, self.id)
            below = {key.removeprefix(folder) for key in self.bucket.objects if key.startswith(folder)}
            wrong = [f"the sweep left behind: {name}" for name in below - {"conversation.json", "deleted"}]
        # The daily look, when all that was late has come.
        world.pass_time(25 * 3600)
        world.new_process()
        world.sweep_all()
        return wrong + self.check()

    def check(self) -> list[str]:
        """What is wrong, when all has come to rest."""
        process = self.world.new_process()
        wrong = list(self.bucket.wrong)
        there = conversations.find(process, SPACE, self.id)
        if self.deleted or (self.doomed and not there):
            return [*wrong, *(f"left behind: {key}" for key in self.bucket.objects if self.id in key)]
        if not there:
            return [*wrong, "the conversation is gone"]
        wrong += law.wrong_turns(self)
        at = At(SPACE, there, summary_versions.read(process, SPACE, there).current())
        wrong += ["there is work left"] if levels.is_due(process, at) else []
        layers = summaries.read(process, at)
        for law_of in (law.wrong_jobs, law.wrong_blocks, law.wrong_groups, law.wrong_summaries, law.wrong_notes):
            wrong += law_of(self, layers)
        folder = IN_CONVERSATION.prefix(SPACE, self.id)
        here = (folder + "versions.json", IN_VERSION.prefix(SPACE, self.id, at.version))
        stray = [key for key in self.bucket.objects if key.startswith(f"{folder}v") and not key.startswith(here)]
        return [*wrong, *(f"an old version stays: {key}" for key in stray[:1]), *self._wrong_no_op()]

    def _wrong_no_op(self) -> Iterator[str]:
        world = self.world
        calls = len(world.llm.prompts)
        self.do(UPDATE)
        if len(world.llm.prompts) != calls:
            yield "an update of nothing asks the LLM"
        if any(verb not in {"GET", "LIST"} for verb, _ in world.client.requests):
            yield f"an update of nothing writes: {world.client.requests}"

    def redo_costs(self, number: int) -> list[str]:
        """What is wrong with the calls that it takes to make a summary of level 1 anew: one, and one for each above."""
        world = self.world
        there = conversations.find(world.process, SPACE, self.id)
        assert there
        at = At(SPACE, there, summary_versions.read(world.process, SPACE, there).current())
        layers = summaries.read(world.process, at)
        expected, child = 1, number
        for level in (2, 3):
            for one in range(1, layers.boundaries[level] + 1):
                first, last = summaries.group_boundaries(world.process, layers, level, [one])[0].children
                if first <= child <= last:
                    expected, child = expected + 1, one
                    break
            else:
                break
        calls = len(world.llm.prompts)
        orders.redo(world.new_process(), SPACE, self.id, 1, number)
        world.settle()
        taken = len(world.llm.prompts) - calls
        return [] if taken == expected else [f"a summary made anew took {taken} calls, not {expected}"]


# What is done


def talked(rounds: int, before: Before = nothing) -> Before:
    """Two levels of summaries, after four rounds three, and a few turns that none is made of."""

    def prepare(scene: TalkScene) -> None:
        if not scene.id:
            scene.create()
            scene.say(*[300, 200, 400, 1_300, 250, 350] * rounds)
            scene.event(scene.world.new_process(), scene.world.clock() + timedelta(minutes=15))
            scene.say(400, 300)
        before(scene)

    return prepare


def _wants(**more: Any) -> Before:
    def prepare(scene: TalkScene) -> None:
        scene.wanted = [scene.draft(300, **more)]

    return prepare


def _came_before(scene: TalkScene) -> None:
    scene.wanted = [scene.draft(300)]
    scene.append(scene.world.process, scene.wanted[0])
    scene.say(200, 300)


def _wants_lines(scene: TalkScene) -> None:
    scene.wanted = [scene.draft(200) for _ in range(3)]
    scene.append(scene.world.process, scene.wanted[1])


def _deliver(scene: TalkScene, process: Process, until: datetime) -> None:
    """Work off what is queued; Lambda delivers again what failed."""
    if scene.world.queued:
        invocation = scene.world.queued[0]
        scene.world.work(invocation, process, until)
        with suppress(ValueError):
            scene.world.queued.remove(invocation)


def _long_ago(scene: TalkScene) -> None:
    scene.world.pass_time(1_800)


def _behind_others(scene: TalkScene) -> None:
    scene.fill_share(scene.world.settings.work_at_once_per_space)


def _behind_one(scene: TalkScene) -> None:
    """The conversation stands in the line already, and one place is free again."""
    _behind_others(scene)
    scene.crowded_event(scene.world.process, scene.world.clock() + timedelta(minutes=15))
    caps.leave(scene.world.process, SPACE, "summarize", "other-0")


def _rebuilt(scene: TalkScene) -> None:
    scene.rebuild(scene.world.process, {"window_chars": 700})
    scene.world.settle()
    scene.world.pass_time(25 * 3_600)


def _action(name: str, do: Callable[..., Any], before: Before = nothing, rounds: int = 2) -> Action:
    return Action(name, do, talked(rounds, before), seconds=WORK_SECONDS)


def _append(scene: TalkScene, process: Process, until: datetime) -> None:
    scene.append(process, scene.wanted[0])


def _ordered(name: str, do: Callable[[TalkScene, Process], None]) -> tuple[Action, Action]:
    """The order of a work, and the work."""
    order = _action(f"order of a {name}", lambda scene, process, until: do(scene, process))
    return order, _action(f"work of a {name}", _deliver, lambda scene: do(scene, scene.world.process))


def _captures(scene: TalkScene) -> None:
    """Notes are captured: some are live, some are folded, and more are to be named."""
    scene.create(capture="notes")
    scene.say(300, 200, 400)
    scene.event(scene.world.new_process(), scene.world.clock() + timedelta(minutes=15))
    scene.world.consolidate(SPACE)
    scene.say(300, 400, 350)
    scene.event(scene.world.new_process(), scene.world.clock() + timedelta(minutes=15))
    scene.say(300, 200)
    log.close(scene.world.process, SPACE, scene.id)
    scene.world.queued.clear()


def _folds(scene: TalkScene) -> None:
    scene.world.order(SPACE)


def _capturing(name: str, do: Callable[..., Any], before: Before = nothing) -> Action:
    def prepare(scene: TalkScene) -> None:
        if not scene.id:
            _captures(scene)
        before(scene)

    return Action(name, do, prepare, seconds=WORK_SECONDS)


ORDER_REBUILD, REBUILD = _ordered("rebuild", lambda scene, process: scene.rebuild(process, {"window_chars": 700}))
_, REGROUP = _ordered("rebuild that reuses", lambda scene, process: scene.rebuild(process, {"group_chars": 1_500}))
ORDER_REDO, REDO = _ordered("redo", lambda scene, process: scene.redo(process, 1, 2))
APPEND = _action("append", _append, _wants())
IMPORT = _action("import", lambda scene, process, until: scene.bring(process, scene.wanted), _wants_lines)
UPDATE = _action("update", lambda scene, process, until: scene.event(process, until))
IN_A_CROWD = _action("update in a crowd", lambda scene, process, until: scene.crowded_event(process, until))
BEHIND_OTHERS = replace(IN_A_CROWD, name="update behind others", before=talked(2, _behind_others))
CALLED = replace(IN_A_CROWD, name="update after a wait in the line", before=talked(2, _behind_one))
DELETE = _action("deletion", lambda scene, process, until: scene.delete(process))
ERASE = _action("erasure of a turn", lambda scene, process, until: scene.erase(process, until, 4))
"""It is longer than a block."""
SWEEP = _action("sweep", sweep, _long_ago)
CAPTURE = _capturing("capture", lambda scene, process, until: scene.event(process, until))
CAPTURE_ERASED = _capturing(
    "erasure of a turn with notes", lambda scene, process, until: scene.erase(process, until, 4)
)
CAPTURE_DELETED = _capturing("deletion with notes", lambda scene, process, until: scene.delete(process))
FOLD = _capturing("consolidation", _deliver, _folds)


def _at(action: Action, rounds: int, name: str = "") -> Action:
    return replace(action, name=name or action.name, before=talked(rounds, action.before))


ACTIONS = (
    APPEND,
    _action("append of a large result", _append, _wants(tool_calls=(RESULT,))),
    _action("append without an id", _append, _wants(named=False)),
    _action("append of what came before", _append, _came_before),
    IMPORT,
    _action("close", lambda scene, process, until: log.close(process, SPACE, scene.id)),
    UPDATE,
    IN_A_CROWD,
    BEHIND_OTHERS,
    CALLED,
    ORDER_REBUILD,
    _at(REBUILD, 1),
    _at(REGROUP, 1),
    ORDER_REDO,
    REDO,
    _at(REDO, 4, "work of a redo below three levels"),
    DELETE,
    ERASE,
    SWEEP,
    _action("daily look", sweep_all, _rebuilt),
    CAPTURE,
    CAPTURE_ERASED,
    FOLD,
)
PAIRS = tuple(
    Pair(first, second, CROSSED)
    for first, others in (
        (APPEND, (APPEND, IMPORT, UPDATE, DELETE)),
        (IMPORT, (APPEND, IMPORT, DELETE)),
        (UPDATE, (APPEND, UPDATE, DELETE, SWEEP, REBUILD, REDO, ERASE)),
        (IN_A_CROWD, (APPEND, UPDATE, IN_A_CROWD, DELETE, SWEEP)),
        (BEHIND_OTHERS, (IN_A_CROWD, SWEEP)),
        (REBUILD, (APPEND, UPDATE, REBUILD, DELETE, REDO, ERASE)),
        (REDO, (UPDATE, REDO, APPEND, DELETE, ERASE)),
        (SWEEP, (APPEND, UPDATE, DELETE)),
        (DELETE, (APPEND, UPDATE, DELETE, ERASE)),
        (ERASE, (APPEND, UPDATE, DELETE, REDO)),
        (CAPTURE, (CAPTURE, FOLD, CAPTURE_ERASED, CAPTURE_DELETED)),
    )
    for second in others
)


class TalkHistory(History):
    """Everything that is done to a conversation; some histories have deletions or erasures. In calm ones nothing at all
    may be asked twice, but where two are told to do so.
    """

    begins = len(PROFILES)
    times = (1, 20, 100, 100, 330, 1_000, 1_500)

    @classmethod
    def begin(cls, scene: TalkScene, place: int) -> None:
        profile, parameters = PROFILES[place]
        scene.create(profile, **parameters)

    def first(self) -> None:
        self.scene.late = not self.calm
        self.drafts: list[Draft] = []
        self.write()

    def steps(self) -> list[Step]:
        steps: list[Step] = [
            (self.write, 8), (self.append, 6), (self.bring, 2), (self.close, 1), (self.event, 6), (self.deliver, 5),
            (self.sweep, 2), (self.rebuild, 2), (self.redo, 2), (self.crowd, 2),
        ]  # fmt: skip
        rare = self.choices.number(1, 8)
        return steps + [(self.delete, 2)] * (rare == 7) + [(self.erase, 2)] * (rare == 8) if not self.calm else steps

    def write(self) -> None:
        """A few turns, at once."""
        if not self.scene.deleted:
            for _ in range(self.choices.number(1, 4)):
                seconds = self.choices.pick((1, 1, 1, 5, 90, 400))
                if self.calm and seconds > 60:
                    # Nobody stands still for longer than a claim lives.
                    self.finish_all()
                self.world.pass_time(seconds)
                self._append(self.world.process, self._draft())

    def append(self) -> None:
        """A turn by somebody who may be interrupted; sometimes one that came before."""
        draft = self.choices.pick(self.drafts) if self.drafts and chance(self.choices, 30) else self._draft()
        self.spawn("append", lambda process, until: self._append(process, draft))

    def _append(self, process: Process, draft: Draft) -> None:
        with suppress(LiveMemoryError):
            self.scene.append(process, draft)

    def bring(self) -> None:
        """An import: some lines that came before, and new ones, in any order."""
        old = some(self.choices, self.drafts, self.choices.number(0, 3))
        new = [draft for _ in range(self.choices.number(1, 4)) if (draft := self._draft()).message_id]
        drafts = some(self.choices, [*old, *new], len(old) + len(new))
        self.spawn("import", lambda process, until: self.scene.bring(process, drafts))

    def close(self) -> None:
        self.spawn("close", lambda process, until: log.close(process, SPACE, self.scene.id))

    def rebuild(self) -> None:
        changes = self.choices.pick(REBUILDS)
        self.spawn("rebuild", lambda process, until: self.scene.rebuild(process, changes))

    def redo(self) -> None:
        there = [key for key in self.scene.bucket.objects if self.scene.id in key and "/boundaries/l" in key]
        boundary = BOUNDARY.parse_as(BoundaryKey, self.choices.pick(there)) if there else None
        if boundary:
            if self.calm:
                # Two who make one summary anew side by side both ask.
                self.finish_all()
            self.spawn("redo", lambda process, until: self.scene.redo(process, boundary.level, boundary.number))

    def delete(self) -> None:
        self.spawn("delete", lambda process, until: self.scene.delete(process))

    def erase(self) -> None:
        """One of the turns that there are; it takes an invocation of its own."""
        last = log.last_index(self.world.process, SPACE, self.scene.id)
        if last:
            index = self.choices.number(1, last)
            self.spawn("erasure", lambda process, until: self.scene.erase(process, until, index), WORK_SECONDS)

    def event(self) -> None:
        self.spawn("event", self.scene.event, WORK_SECONDS)

    def crowd(self) -> None:
        """An event from a long queue; sometimes others of the space have all of its places."""
        if chance(self.choices, 30):
            self.scene.fill_share(self.world.settings.work_at_once_per_space)
        self.spawn("event in a crowd", self.scene.crowded_event, WORK_SECONDS)

    def sweep(self) -> None:
        self.spawn("sweep", lambda process, until: sweep(self.scene, process, until), SWEEP_SECONDS)

    def end(self) -> list[str]:
        wrong: list[str] = self.scene.rest()
        there = [key for key in self.scene.bucket.objects if self.scene.id in key and "/boundaries/l1/" in key]
        if not wrong and there and not self.scene.deleted and chance(self.choices, 10):
            wrong = self.scene.redo_costs(self.choices.number(1, len(there))) + self.scene.check()
        raced = self.scene.bucket.raced if self.calm else 0
        return [*wrong, f"{raced} calls for what another worker made"] if raced else wrong

    def _draft(self) -> Draft:
        size = self.choices.pick((200, 50, 120, 200, 300, 400, 400, 1_300, 0))
        kind = self.choices.number(1, 100)
        more: dict[str, Any] = {"named": kind <= 85}
        if size == 0 or kind > 93:
            result = "r" * (40_000 if kind > 96 else 30)
            more["tool_calls"] = (ToolCall(name="read", arguments={"path": "src/a.py"}, result=result),)
        draft = self.scene.draft(size, **more)
        if 65 < kind <= 85:
            role = "user" if kind <= 75 else "assistant"
            draft = Draft.of_message(role, draft.user_message + draft.assistant_message, message_id=draft.message_id)
        if draft.message_id:
            self.drafts.append(draft)
        return cast("Draft", draft)


CONVERSATIONS = Kind("conversations", TalkScene, ACTIONS, PAIRS, (TalkHistory,), sampled=Sampled(kills=587, turns=167))
