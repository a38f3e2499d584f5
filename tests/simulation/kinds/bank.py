"""A space with a bank, for all kinds of work that change one: what may be before, what users are told, and the oracle,
which is the audit of the bucket (tests/support/audit.py) and of what is shown (tests/support/rest.py).
"""

import json
from collections.abc import Callable, Hashable
from contextlib import suppress
from datetime import datetime
from typing import Any, ClassVar

from livemem.bank import corrections, review
from livemem.changes import rules_change
from livemem.changes import undo as undoing
from livemem.changes.records import Record
from livemem.changes.rules_change import NewRules
from livemem.consolidation import agent_folds, space_change
from livemem.consolidation.space_change import SpaceUpdate
from livemem.jobs import queue as queues
from livemem.jobs.describable import job_id
from livemem.jobs.queue import RunOrder
from livemem.notes import appending, idempotency
from livemem.notes.appending import NoteDraft
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.spaces.head_fields import Mode
from livemem.store.bucket import HEAD, LEASE
from livemem.upkeep import sweep as sweeping
from tests.simulation.scene import SPACE, SWEEP_SECONDS, WORK_SECONDS, Action, Scene
from tests.support.audit import Audit, records_of, standing, text_of
from tests.support.counting import Killed
from tests.support.faults import LATER
from tests.support.rest import QUIET, check_alive, check_deserted, check_rest, come_to_rest, uid_of
from tests.support.world import EVERYONE, World, append_everything, read_prompt

COLUMNS: dict[str, tuple[str, ...]] = {
    "lost": ("lost",),
    "doubled": ("folded_twice", "both_live_and_folded", "doubled"),
    "wrong files": ("wrong_files", "wrong_numbers", "broken_backups"),
    "wrong runs": ("wrong_runs",),
    "left behind": ("left_behind",),
    "wrong reads": ("wrong_reads",),
    "blocked": ("blocked",),
    "wrong health": ("wrong_health",),
}
"""What of an audit is counted in each."""
REPEATED = "LLM repeated"
LONG_AGO = 1_500
"""Seconds after which nothing that was interrupted is waited for any more."""
SHORT = 20
"""Characters that a bank should have which is too long. No user can set so few."""
STALL = 200
"""Seconds for which a worker stands still in vain: longer than a lease lives that is not renewed."""


def findings(found: Audit) -> list[str]:
    """What an audit found, by columns."""
    return [f"{column}: {one}" for column, names in COLUMNS.items() for name in names for one in getattr(found, name)]


_ALIVE: dict[Hashable, list[str]] = {}
"""What was wrong with what came of the states at rest that were checked before."""


class BankScene(Scene):
    """`notes`: note id -> uid of the life of the space in which it was accepted. `space`: the uid of a life that was
    created, and that nobody has asked to end. `lost`: something may be left of which no marker tells.
    """

    recoveries: ClassVar[tuple[str, ...]] = ("repeat", "sweep", "next_run")

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.size = 3
        """Notes of a round, and the threshold."""
        self.notes: dict[str, str] = {}
        self.space: str | None = None
        self.revision = ""
        self.question = self.answer = ""
        """The job that an agent is to answer, and its answer."""
        self.lost = False
        self.committed: frozenset[str] = frozenset()
        self.there: frozenset[str] = frozenset()

    def accepted(self, notes: list[Any]) -> None:
        """A user was told that the notes are written."""
        uid = uid_of(self.world, SPACE)
        self.notes |= {note.note_id: uid for note in notes if uid}

    def draft(self) -> NoteDraft:
        # Ids count up, so no text comes twice.
        return NoteDraft("progress", f"note {self.world.ids()}")

    # What was before

    def create(self) -> None:
        self.space = self.world.create_space(SPACE, threshold=self.size).uid

    def write(self, notes: int | None = None) -> None:
        for _ in range(self.size if notes is None else notes):
            content = self.draft().content
            agent = "ann" if self.world.ids.count % 2 else "bob"
            self.accepted([self.world.note(content, space_id=SPACE, agent=agent)])
            self.world.clock.move(1)

    def fold(self) -> None:
        self.write()
        self.world.consolidate(SPACE)

    def take_run(self) -> None:
        """Somebody is given the newest invocation."""
        self.run = self.world.queued.pop()

    def die(self, action: Action, turns: int) -> None:
        """Somebody died long ago, after so many turns."""
        actor = self.enter(action)
        actor.step(turns)
        assert not actor.done
        actor.kill()
        self.world.pass_time(LONG_AGO)

    def die_behind_the_commit(self, act: Callable[[], Any]) -> None:
        """Somebody died just when the commit was made."""
        client = self.world.client

        def die(index: int, verb: str) -> None:
            if client.requests[index] == ("PUT", HEAD.key(SPACE)):
                raise Killed

        self.world.new_process()
        client.after = die
        with suppress(Killed):
            act()
        self.world.new_process()

    # Faults, and how to recover

    def begin(self, action: Action) -> None:
        self.there = frozenset(self.world.inner.objects) if action.unheard else frozenset()

    def struck(self, action: Action) -> None:
        super().struck(action)
        self.lost = self.lost or (action.unheard and set(self.world.inner.objects) == self.there)
        self.there = frozenset()
        self.committed = frozenset(committed(self.world))
        self.world.llm.prompts.clear()

    def sweep(self, action: Action) -> list[str]:
        """Nobody repeats; the leases run out and the sweep comes by."""
        self.world.clock.move(LATER)
        self.world.sweep()
        return []

    def next_run(self, action: Action) -> list[str]:
        """The leases run out and somebody starts a run by hand, before any sweep."""
        self.world.clock.move(LATER)
        if self.attempt(BY_HAND):
            self.world.work(self.world.queued.pop())
        return []

    def seen(self) -> list[str]:
        return findings(check_deserted(self.world, SPACE))

    def rest(self) -> list[str]:
        found = self.come_to_rest()
        wanted = [f'"content": {json.dumps(text)}' for text in self.committed]
        again = [one for one in self.world.llm.prompts if any(text in one[1]["content"] for text in wanted)]
        return [*found, *(f"{REPEATED}: a call for notes that were committed" for _ in again), *self.stay_alive()]

    def come_to_rest(self) -> list[str]:
        found = come_to_rest(self.world, SPACE, lost=self.lost)
        return findings(found + self._checked())

    def stay_alive(self) -> list[str]:
        # Plays that went different ways come to rest in one state.
        state = type(self), self.world.state(), self.space, frozenset(self.notes.items())
        if state not in _ALIVE:
            found = check_alive(self.world, SPACE)
            _ALIVE[state] = findings(found + self._checked())
        return _ALIVE[state]

    def _checked(self) -> Audit:
        uid = uid_of(self.world, SPACE)
        gone = [f"the space {self.space}"] if self.space not in (None, uid) else []
        told = [note_id for note_id, life in self.notes.items() if life == uid]
        return check_rest(self.world, SPACE, told) + Audit(lost=gone)


def committed(world: World) -> set[str]:
    """The contents of all notes that are folded by a committed change, applied or not, and not taken back."""
    objects = world.inner.objects
    meta = objects.get(HEAD.key(SPACE))
    records = records_of(objects, SPACE)
    run_id = json.loads(meta.body)["committed_run"] if meta else None
    plan = objects.get(f"{SPACE}/_runs/{run_id}.plan.json")
    if plan and run_id not in {record.run_id for record in records}:
        records.append(Record.from_bytes(plan.body))
    return {text_of(source.raw) for record in standing(records) for source in record.notes}


# What is done


def post(scene: BankScene, process: Process, until: datetime) -> None:
    scene.accepted([appending.append(process, SPACE, "ann", scene.draft())])


def post_batch(scene: BankScene, process: Process, until: datetime) -> None:
    scene.accepted(appending.append_batch(process, SPACE, "ann", [scene.draft() for _ in range(scene.size)]))


def post_once(scene: BankScene, process: Process, until: datetime) -> None:
    scene.accepted([idempotency.append_once(process, SPACE, "ann", scene.draft(), "key")[0]])


def post_batch_once(scene: BankScene, process: Process, until: datetime) -> None:
    drafts = [scene.draft() for _ in range(scene.size)]
    scene.accepted([note for note, _ in idempotency.append_batch_once(process, SPACE, "ann", drafts, "key")])


def create(scene: BankScene, process: Process, until: datetime) -> None:
    wanted = lifecycle.SpaceRequest(SPACE, rules="Keep a log.", threshold=scene.size)
    scene.space = lifecycle.create(process, EVERYONE, wanted).uid
    for _ in range(scene.size - 1):
        post(scene, process, until)


def delete(scene: BankScene, process: Process, until: datetime) -> None:
    scene.space = None
    lifecycle.delete(process, SPACE, SPACE)


def run(scene: BankScene, process: Process, until: datetime) -> None:
    scene.world.work(scene.run, process, until)


def order(scene: BankScene, process: Process, until: datetime) -> None:
    queues.order(process, EVERYONE, SPACE, RunOrder(trigger="api"))


def replace_plan(scene: BankScene, process: Process, until: datetime) -> None:
    queues.order(process, EVERYONE, SPACE, RunOrder(trigger="api", replace=True))


def hear(scene: BankScene, process: Process, until: datetime) -> None:
    """A put event of a note arrives."""
    scene.world.count(SPACE, process)


def order_tidy(scene: BankScene, process: Process, until: datetime) -> None:
    queues.order(process, EVERYONE, SPACE, RunOrder(trigger="api", tidy=True))


def work_off(scene: BankScene, process: Process, until: datetime) -> None:
    """Work off the newest run that is queued, if there is one."""
    if scene.world.queued:
        scene.take_run()
        run(scene, process, until)


def then(*works: Callable[[BankScene, Process, datetime], None]) -> Callable[[BankScene, Process, datetime], None]:
    """One after the other, by the same process."""

    def work(scene: BankScene, process: Process, until: datetime) -> None:
        for one in works:
            one(scene, process, until)

    return work


def undo(scene: BankScene, process: Process, until: datetime) -> None:
    undoing.undo(process, "admin", SPACE, heads.load(scene.world.with_parts(), SPACE).meta.changes)


def write_file(name: str, content: str) -> Callable[[BankScene, Process, datetime], None]:
    return lambda scene, process, until: corrections.write_file(process, "admin", SPACE, name, content, None)  # type: ignore[func-returns-value,return-value]


def change_rules(scene: BankScene, process: Process, until: datetime) -> None:
    rules_change.change(process, "admin", SPACE, NewRules("Keep a log, newest first."))


def approve(scene: BankScene, process: Process, until: datetime) -> None:
    assert scene.run
    review.approve(process, EVERYONE, SPACE, scene.run["job_id"], scene.revision)


def refuse(scene: BankScene, process: Process, until: datetime) -> None:
    assert scene.run
    review.refuse(process, EVERYONE, SPACE, scene.run["job_id"], "not so")


def mode(wanted: Mode) -> Callable[[BankScene, Process, datetime], None]:
    def work(scene: BankScene, process: Process, until: datetime) -> None:
        space_change.change(process, EVERYONE, SPACE, SpaceUpdate(consolidation_mode=wanted))

    return work


def sweep(scene: Scene, process: Process, until: datetime) -> None:
    sweeping.sweep(process, deadline=until)


def sweep_all(scene: Scene, process: Process, until: datetime) -> None:
    sweeping.sweep(process, deadline=until, everything=True)


def begin_fold(scene: BankScene, process: Process, until: datetime) -> None:
    folding = agent_folds.begin(process, EVERYONE, SPACE)
    if folding.question:
        scene.question = job_id(SPACE, "consolidation", folding.run.job_id)
        scene.answer = append_everything(read_prompt(folding.question.messages))


def answer_fold(scene: BankScene, process: Process, until: datetime) -> None:
    agent_folds.answer(process, EVERYONE, scene.question, scene.answer)


POST = Action("append", post)
POST_BATCH = Action("batch", post_batch)
POST_ONCE = Action("append with a key", post_once)
POST_BATCH_ONCE = Action("append several with a key", post_batch_once)
CREATE = Action("creation", create)
DELETE = Action("deletion", delete)
BY_HAND = Action("order", order)
COUNT = Action("counter", hear)
RUN = Action("run", run, works=True, seconds=WORK_SECONDS)
QUEUED_RUN = Action("queued run", work_off, works=True, seconds=WORK_SECONDS)
ORDERED_RUN = Action("run by hand", then(order, work_off), works=True, seconds=WORK_SECONDS)
COUNTED_RUN = Action("automatic run", then(hear, work_off), works=True, seconds=WORK_SECONDS)
TIDY = Action("tidy run by hand", then(order_tidy, work_off), works=True, seconds=WORK_SECONDS)
REPLACE = Action("plan in place of another", then(replace_plan, work_off), works=True, seconds=WORK_SECONDS)
UNDO = Action("undo", undo)
"""Of the newest change."""
EDIT = Action("correction", write_file("log.md", "# Log\n\n## Log\n\nRewritten.\n"))
RULES = Action("change of the rules", change_rules)
APPROVE = Action("approval", approve)
REFUSE = Action("refusal", refuse)
BEGIN_FOLD = Action("question to an agent", begin_fold)
ANSWER_FOLD = Action("answer of an agent", answer_fold)
REVIEW = Action("begin of review", mode("review"))
NO_REVIEW = Action("end of review", mode("auto"))
SWEEP = Action("sweep", sweep, seconds=SWEEP_SECONDS)
SWEEP_ALL = Action("daily sweep", sweep_all, seconds=SWEEP_SECONDS)


# What was before


def folded(scene: BankScene) -> None:
    scene.create()
    scene.fold()


def folded_twice(scene: BankScene) -> None:
    folded(scene)
    scene.fold()


def folded_and_one_live(scene: BankScene) -> None:
    folded(scene)
    scene.write(1)


def almost_due(scene: BankScene) -> None:
    folded(scene)
    scene.write(scene.size - 1)


def due(scene: BankScene) -> None:
    folded(scene)
    scene.write()


def at_rest(scene: BankScene) -> None:
    """Notes wait that are too few, and the marker of the last event is old enough to go."""
    almost_due(scene)
    scene.world.count(SPACE)
    scene.world.pass_time(QUIET)


def queued(scene: BankScene) -> None:
    due(scene)
    scene.world.count(SPACE)
    scene.take_run()


def ordered(scene: BankScene) -> None:
    due(scene)
    scene.world.order(SPACE)
    scene.take_run()


def limit(scene: BankScene) -> None:
    """From now on the bank should be shorter than any is here."""
    heads.update(scene.world.process, SPACE, lambda _: {"bank_chars": SHORT})


def too_long(scene: BankScene) -> None:
    """A space with a bank that is too long, of which no run of the space has seen that."""
    folded(scene)
    limit(scene)


def due_for_tidying(scene: BankScene) -> None:
    """A run is queued whose bank will be too long."""
    too_long(scene)
    scene.write()
    scene.world.count(SPACE)
    scene.take_run()


def queued_tidy(scene: BankScene) -> None:
    """A tidy run is queued that starts by itself."""
    due_for_tidying(scene)
    scene.world.work(scene.run)
    scene.take_run()


def ordered_tidy(scene: BankScene) -> None:
    too_long(scene)
    scene.world.order(SPACE, tidy=True)
    scene.take_run()


def tidy_for_review(scene: BankScene) -> None:
    queued_tidy(scene)
    REVIEW.work(scene, scene.world.process, scene.world.clock())


def planned_tidy(scene: BankScene) -> None:
    tidy_for_review(scene)
    scene.world.work(scene.run)
    plan = scene.world.plan(SPACE)
    assert plan
    scene.revision = plan.revision


def tidied(scene: BankScene) -> None:
    ordered_tidy(scene)
    scene.world.work(scene.run)


def reviewed(scene: BankScene) -> None:
    """A space with a bank, in which runs wait for approval from now on."""
    folded(scene)
    REVIEW.work(scene, scene.world.process, scene.world.clock())


def queued_for_review(scene: BankScene) -> None:
    reviewed(scene)
    scene.write()
    scene.world.count(SPACE)
    scene.take_run()


def due_for_agents(scene: BankScene) -> None:
    due(scene)
    space_change.change(scene.world.process, EVERYONE, SPACE, SpaceUpdate(agent_folds=True))
    # No run was queued before.
    scene.world.queued.clear()
    scene.world.store.delete_many([LEASE.key(SPACE)])


def asked(scene: BankScene) -> None:
    """An agent was asked, and has its answer ready."""
    due_for_agents(scene)
    scene.do(BEGIN_FOLD)


def asked_for_review(scene: BankScene) -> None:
    asked(scene)
    REVIEW.work(scene, scene.world.process, scene.world.clock())


def planned(scene: BankScene) -> None:
    queued_for_review(scene)
    scene.world.work(scene.run)
    plan = scene.world.plan(SPACE)
    assert plan
    scene.revision = plan.revision


def after(before: Callable[[Any], None], *actions: Action) -> Callable[[BankScene], None]:
    """The same, and then something was done."""

    def prepare(scene: BankScene) -> None:
        before(scene)
        for action in actions:
            scene.do(action)

    return prepare
