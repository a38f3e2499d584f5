"""Erasures of notes and turns, in a bucket that keeps versions: in the end the receipt says that it is done, the text
is nowhere in the bucket, every other note is where it was, and every backup is whole (tests/support/erased.py).
"""

import gzip
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from livemem.bank import corrections
from livemem.changes import undo as undoing
from livemem.consolidation import agent_folds, space_change
from livemem.consolidation.space_change import SpaceUpdate
from livemem.conversations import log, orders
from livemem.conversations.turn import Draft as TurnDraft
from livemem.conversations.turn import ToolCall
from livemem.erasure import erasure
from livemem.errors import NotFound
from livemem.jobs.describable import job_id
from livemem.markdown.edits import Edit
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.notes.appending import NoteDraft
from livemem.notes.idempotency import append_once
from livemem.process import Process
from livemem.store import keys
from livemem.store.bucket import EXPORT, NOTE, TURN_ID
from tests.simulation.kinds.backups import take
from tests.simulation.pairs import Pair, cut, late, lost
from tests.simulation.scene import SPACE, WORK_SECONDS, Action, Before, Kind, Sampled, Scene, nothing
from tests.support.actors import Actor
from tests.support.erased import WATCHED, come_to_end, left_of, notes_of, receipts
from tests.support.faults import LATER
from tests.support.talk import Talk, frank
from tests.support.world import EVERYONE, INVOCATION, World, append_everything, read_prompt

SECRET = "Alice lives in Paris with her two cats"
"""What the erased note says, and what must be nowhere afterwards."""
CALL = ToolCall(name="read", result=f"{'r' * 40_000} {SECRET}")
LONG = 200
"""Seconds for which somebody stands still: longer than a lease lives that is not renewed."""
Work = Callable[[Any, Process, datetime], Any]


class ErasureScene(Scene):
    """`erased`: the id of the note or turn. `selection`: what is erased together with it. `others`: notes that nobody
    erases. `question`: the job that an agent is to answer, with `answer`.
    """

    def __init__(self, world: World) -> None:
        super().__init__(world)
        world.inner.versioned = True
        self.erased = self.question = self.answer = ""
        self.selection: list[str] = []
        self.others: list[str] = []

    def state(self) -> Any:
        versions = frozenset((version.version_id, version.key) for version in self.world.inner.versions)
        return super().state(), versions

    def prepare(self, action: Action) -> None:
        super().prepare(action)
        gone = {self.erased, *self.selection}
        self.others = [other for other in notes_of(self.world) if other not in gone]

    def left(self, action: Action, actor: Actor) -> None:
        super().left(action, actor)
        self.failed = self.failed or (action.work is erase and bool(actor.error))

    def repeat(self, action: Action) -> list[str]:
        """Whoever got no answer sends it again."""
        self.world.clock.move(LATER)
        if self.failed:
            self._again()
        return []

    def _again(self) -> None:
        try:
            self.do(ERASE)
        except NotFound:
            # It was done, and nothing is left of it.
            return

    def rest(self) -> list[str]:
        wrong = come_to_end(self.world, self.others)
        if self.failed and not receipts(self.world):
            # It died before it began anything: then all is as it was, and the request is sent again.
            self._again()
            wrong = wrong + come_to_end(self.world, self.others)
        return [*wrong, *left_of(self.world, SECRET)]


# What was before


def used(scene: ErasureScene) -> None:
    """Two notes of which one quotes a secret."""
    world = scene.world
    world.create_space(SPACE)
    first, _ = append_once(world.process, SPACE, "ann", NoteDraft("progress", f"{SECRET}."), "key")
    scene.erased = first.note_id
    world.clock.move(1)
    world.note("The build is green again.", agent="bob")
    world.clock.move(1)


def live(scene: ErasureScene) -> None:
    used(scene)
    scene.world.back_up(SPACE)
    long_ago(scene)


def long_ago(scene: ErasureScene) -> None:
    scene.world.clock.move(WATCHED)
    scene.world.sweep_all()
    scene.world.settle()


def folded_now(scene: ErasureScene) -> None:
    used(scene)
    scene.world.consolidate(SPACE)
    scene.world.back_up(SPACE)


def folded(scene: ErasureScene) -> None:
    folded_now(scene)
    leave_archive(scene.world)
    long_ago(scene)


def folded_before_others(scene: ErasureScene) -> None:
    """The newest record does not hold the note, but quotes it in what was in the bank before."""
    used(scene)
    scene.world.consolidate(SPACE)
    scene.world.note("Another one.", agent="bob")
    scene.world.consolidate(SPACE)


def given_back(scene: ErasureScene) -> None:
    """Folded, given back by an undo, and so live and in two records."""
    used(scene)
    scene.world.consolidate(SPACE)
    scene.world.undo(1)


def planned(scene: ErasureScene) -> None:
    """Live, and in a plan that waits for approval."""
    used(scene)
    space_change.change(scene.world.process, EVERYONE, SPACE, SpaceUpdate(consolidation_mode="review"))
    scene.world.consolidate(SPACE)


def _asked(scene: ErasureScene) -> None:
    """Live, and in the prompt that an agent is to answer."""
    live(scene)
    process = scene.world.process
    space_change.change(process, EVERYONE, SPACE, SpaceUpdate(agent_folds=True))
    folding = agent_folds.begin(process, EVERYONE, SPACE)
    assert folding.question
    scene.question = job_id(SPACE, "consolidation", folding.run.job_id)
    scene.answer = append_everything(read_prompt(folding.question.messages))


def _corrects(scene: ErasureScene) -> None:
    """Live, and in an answer that the agent is to correct."""
    _asked(scene)
    assert agent_folds.answer(scene.world.process, EVERYONE, scene.question, scene.answer[:-1]).question


def said_now(scene: ErasureScene) -> None:
    """A turn that a summary repeats, with a large result of a tool, and a backup of it."""
    talk = Talk("turns", world=scene.world, ratio=0.5)
    talk.llm.default = frank
    scene.world.note("The build is green again.", agent="bob")
    talk.say("Which port do we use for the build?", "We use port 8080.", message_id="other")
    scene.world.clock.move(1)
    talk.say(f"{SECRET}.", "So be it.", message_id="secret", tool_calls=(CALL,))
    talk.update()
    scene.world.back_up(SPACE)
    scene.erased = TURN_ID.key(talk.id, 2)


def said(scene: ErasureScene) -> None:
    said_now(scene)
    leave_archive(scene.world)
    long_ago(scene)


def of_all_kinds(scene: ErasureScene) -> None:
    """The turn, a note and a memory that say the same, all in a backup."""
    said_now(scene)
    world = scene.world
    world.clock.move(1)
    note = world.note(f"{SECRET}.")
    until = world.clock() + INVOCATION
    made = storing.store(world.process, SPACE, "ann", MemoryDraft(f"{SECRET}."), op_id="secret", until=until)
    scene.selection = [note.note_id, made.memory.memory_id, scene.erased]
    world.clock.move(60)
    world.back_up(SPACE)
    leave_archive(world)
    long_ago(scene)


def leave_archive(world: World) -> None:
    """An archive to be downloaded."""
    store, key = world.inner, EXPORT.key(SPACE, "2026-02-20T14-00-02", 1)
    store.put_object(Bucket="", Key=key, Body=gzip.compress(f"{SECRET}.".encode(), mtime=0))


def _begun(scene: ErasureScene) -> None:
    """An erasure that ran out of time, and goes on in its next invocation."""
    folded(scene)
    world = scene.world
    erase(scene, world.process, world.clock() + timedelta(seconds=1))
    scene.run = world.queued.popleft()


def _came_back(scene: ErasureScene) -> None:
    """What was erased is there again, and the second look at the erasure is due."""
    live(scene)
    world, key = scene.world, NOTE.key(SPACE, scene.erased)
    body = world.inner.objects[key].body
    erase(scene, world.process, world.clock() + INVOCATION)
    world.store.put(key, body)
    world.clock.move(WATCHED)
    world.sweep()
    scene.run = world.queued.popleft()


def _heard(before: Before) -> Before:
    """All that is written on the way may come late."""

    def prepare(scene: ErasureScene) -> None:
        world = scene.world

        def carry(request: Any) -> Any:
            # A head is no text; that a late copy of it disturbs a backup is a matter of backups.
            if not (request.verb == "COPY" and request.key.endswith(f"/{keys.META}")):
                world.note_sent(request)
            return request.send(world.inner)

        world.client.carry = carry
        before(scene)

    return prepare


# What is done


def erase(scene: ErasureScene, process: Process, until: datetime) -> Any:
    return erasure.erase(process, EVERYONE, SPACE, scene.selection or [scene.erased], until)


def _answer(scene: ErasureScene, process: Process, until: datetime) -> None:
    agent_folds.answer(process, EVERYONE, scene.question, scene.answer)


def _consolidate(scene: ErasureScene, process: Process, until: datetime) -> None:
    if not scene.world.queued:
        scene.world.order(SPACE)
    scene.world.work(scene.world.queued[0], process, until)


def _undo(scene: ErasureScene, process: Process, until: datetime) -> None:
    undoing.undo(process, "admin", SPACE, 1)


def _edit(scene: ErasureScene, process: Process, until: datetime) -> None:
    edit = Edit("add_section", "## New", "Text.")
    corrections.edit_sections(process, EVERYONE, SPACE, "log.md", [edit], "it was missing")


def _talk(scene: ErasureScene) -> str:
    return next(key.split("/")[2] for key in scene.world.inner.objects if key.startswith(f"{SPACE}/conversations/"))


def _summarise(scene: ErasureScene, process: Process, until: datetime) -> None:
    """All summaries are made anew, of turns that are read now."""
    orders.rebuild(process, SPACE, _talk(scene), None, {"ratio": 0.4})
    scene.world.work({"space_id": SPACE, "conversation_id": _talk(scene)}, process, until)


def _say_again(scene: ErasureScene, process: Process, until: datetime) -> None:
    draft = TurnDraft(f"{SECRET}.", "So be it.", message_id="secret", tool_calls=(CALL,))
    log.append(process, SPACE, _talk(scene), "ann", draft)


def _action(name: str, work: Work, before: Before = nothing, **more: Any) -> Action:
    return Action(name, work, before, seconds=WORK_SECONDS, **more)


ERASE = _action("erasure", erase)
NEXT, SECOND_LOOK = (
    _action(name, lambda scene, *more: scene.world.work(scene.run, *more), before, works=True)
    for name, before in (("next invocation of an erasure", _begun), ("second look of an erasure", _came_back))
)
RUN = _action("consolidation", _consolidate)
ANSWER = _action("answer of an agent", _answer)
UNDO = _action("undo", _undo)
BACK_UP = _action("backup", take("api", "another"))
NOTHING = _action("nothing", lambda *_: None)
FOLDED, LIVE = (_action(f"erasure of a note that is {before.__name__}", erase, before) for before in (folded, live))
ACTIONS = (
    LIVE,
    FOLDED,
    _action("erasure of a note that is given back", erase, given_back),
    _action("erasure of a note that is planned", erase, planned),
    _action("erasure of a note while an agent corrects its answer", erase, _corrects),
    _action("erasure of a turn that is summarised", erase, said),
    _action("erasure of a turn, a note and a memory at once", erase, of_all_kinds),
    NEXT,
    SECOND_LOOK,
)


def _cut(first: Action, second: Action, before: Before, name: str = "") -> Pair:
    return Pair(first, second, (cut,), before, gap=LONG, name=name)


PAIRS = (
    *(
        Pair(ERASE, NOTHING, (late,), _heard(before), gap=600, name=f"late writes, {before.__name__}")
        for before in (folded_now, given_back, planned, folded_before_others, said_now)
    ),
    _cut(RUN, ERASE, live),
    _cut(ANSWER, ERASE, _asked),
    _cut(ANSWER, ERASE, _corrects, name="corrected answer of an agent & erasure"),
    _cut(ERASE, ANSWER, _asked),
    _cut(UNDO, ERASE, folded),
    _cut(BACK_UP, ERASE, live),
    _cut(_action("new summaries", _summarise), ERASE, said),
    _cut(_action("repeated message", _say_again), ERASE, said),
    _cut(_action("correction", _edit), NEXT, _begun),
    Pair(NEXT, NEXT, (lost, cut), gap=LONG),
    Pair(SECOND_LOOK, SECOND_LOOK, (cut,), gap=LONG),
    Pair(LIVE, LIVE, (cut,), gap=LONG),
    _cut(ERASE, RUN, live),
    _cut(ERASE, UNDO, folded),
    _cut(ERASE, BACK_UP, live),
)
ERASURES = Kind("erasures", ErasureScene, ACTIONS, PAIRS, sampled=Sampled(kills=397, turns=67))
