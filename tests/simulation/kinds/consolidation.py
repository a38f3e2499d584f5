"""Consolidations, and all changes of a bank by hand: corrections, undo, rules, plans and their approval; creation and
deletion of the space; the sweep.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from livemem.bank import corrections, review
from livemem.changes import rules_change
from livemem.changes import undo as undoing
from livemem.changes.rules_change import NewRules
from livemem.consolidation import space_change
from livemem.consolidation.space_change import SpaceUpdate
from livemem.errors import StoreUnavailable
from livemem.jobs import queue as queues
from livemem.jobs.queue import RunOrder
from livemem.llm.client import LlmError, Messages, Reply
from livemem.markdown.edits import Edit
from livemem.notes import appending, idempotency
from livemem.process import Process
from livemem.spaces import due_index, lifecycle
from livemem.spaces import head as heads
from livemem.store import due_keys, timing
from livemem.store.bucket import NOTE
from livemem.upkeep import sweep as sweeping
from tests.simulation.choices import chance
from tests.simulation.histories import History, Step
from tests.simulation.kinds import bank
from tests.simulation.kinds.bank import (
    ANSWER_FOLD,
    APPROVE,
    BEGIN_FOLD,
    BY_HAND,
    COLUMNS,
    COUNT,
    COUNTED_RUN,
    CREATE,
    DELETE,
    EDIT,
    NO_REVIEW,
    ORDERED_RUN,
    POST,
    POST_BATCH,
    POST_BATCH_ONCE,
    POST_ONCE,
    QUEUED_RUN,
    REFUSE,
    REPEATED,
    REPLACE,
    REVIEW,
    RULES,
    RUN,
    STALL,
    SWEEP,
    SWEEP_ALL,
    TIDY,
    UNDO,
    BankScene,
    after,
)
from tests.simulation.pairs import ALL, CROSSED, Pair, crossed, cut, failing, late, lost, overtaken, together
from tests.simulation.scene import SPACE, SWEEP_SECONDS, Action, Kind, nothing
from tests.support.actors import Actor, take_turn
from tests.support.audit import records_of
from tests.support.faults import LATER
from tests.support.rest import uid_of
from tests.support.world import EVERYONE, Invocation, append_everything, is_tidy, read_prompt, several_files, tidied

AHEAD = 300
FEW_TOKENS, HUGE = 8_000, "x" * 30_000
"""A model's window, and a note that does not fit into it."""
Before = Callable[[BankScene], None]
Act = Callable[[BankScene, Process, datetime], Any]


def case(name: str, before: Before, action: Action | Act, **traits: Any) -> Action:
    """An action in a space whose rounds have six notes."""

    def prepare(scene: BankScene) -> None:
        scene.size = 6
        before(scene)

    if not isinstance(action, Action):
        action = Action(name, action)
    return replace(action, name=name, before=prepare, **{"marks": not action.works, **traits})


def _several(before: Before) -> Before:
    """By a model that writes two files, discards a note and edits sections."""

    def prepare(scene: BankScene) -> None:
        scene.world.llm.default = several_files
        before(scene)

    return prepare


def _queued_first(scene: BankScene) -> None:
    scene.create()
    scene.write()
    scene.world.count(SPACE)
    scene.take_run()


def _queued_again(before: Before) -> Before:
    def prepare(scene: BankScene) -> None:
        before(scene)
        scene.write()
        scene.world.count(SPACE)
        scene.take_run()

    return prepare


def _unfolded(notes: Sequence[str], threshold: int, answer: Any = append_everything) -> Before:
    """A run that leaves notes live: what does not fit into the model's window, or is not cited."""

    def prepare(scene: BankScene) -> None:
        world = scene.world
        world.settings = world.settings.model_copy(update={"llmaas_context_tokens": FEW_TOKENS})
        world.new_process()
        world.llm.default = answer
        scene.size = threshold
        scene.create()
        for content in notes:
            scene.accepted([world.note(content, space_id=SPACE)])
            world.clock.move(1)
        world.count(SPACE)
        scene.take_run()

    return prepare


def _citing_all_but_the_last(shown: dict[str, Any]) -> str:
    return append_everything({**shown, "notes": shown["notes"][:-1] or shown["notes"]})


def _undo_of(number: int) -> Act:
    return lambda scene, process, until: undoing.undo(process, "admin", SPACE, number)


def _corrected(work: Callable[..., Any], *wanted: Any) -> Act:
    return lambda scene, process, until: work(process, "admin", SPACE, *wanted)


def _edit_section(scene: BankScene, process: Process, until: datetime) -> None:
    edit = Edit("add_section", "## New", "Text.")
    corrections.edit_sections(process, EVERYONE, SPACE, "log.md", [edit], "it was missing")


def _confirm_section(scene: BankScene, process: Process, until: datetime) -> None:
    edit = Edit("confirm_section", "## Log")
    corrections.edit_sections(process, EVERYONE, SPACE, "log.md", [edit], "it still holds")


def _end_pause(scene: BankScene, process: Process, until: datetime) -> None:
    space_change.change(process, EVERYONE, SPACE, SpaceUpdate(auto_paused=False))


def _after_a_dead_run(scene: BankScene) -> None:
    """A worker died just after its commit, and its invocation is given up."""
    bank.queued(scene)
    scene.die_behind_the_commit(lambda: scene.do(RUN))
    scene.world.clock.move(LATER)


def _after_a_dead_approval(scene: BankScene) -> None:
    """Somebody approved, and died just after the commit."""
    bank.planned(scene)
    scene.die_behind_the_commit(lambda: scene.do(APPROVE))


def _to_be_replaced(scene: BankScene) -> None:
    bank.planned(scene)
    scene.world.order(SPACE, replace=True)
    scene.take_run()


def _silent_agent(scene: BankScene) -> None:
    bank.asked(scene)
    scene.world.clock.move(timing.DEAD_AFTER.total_seconds() + 1)


def _waits(scene: BankScene) -> None:
    """One note waits, and the marker of its event is old enough to go."""
    bank.folded_and_one_live(scene)
    scene.world.count(SPACE)
    scene.world.clock.move(bank.QUIET)


ACTIONS = (
    case("first consolidation", _several(_queued_first), RUN),
    case("consolidation", bank.queued, RUN),
    case("consolidation, 2 files", _several(bank.queued), RUN),
    case("put event at the threshold", bank.due, COUNT, unheard=True),
    case("undo", bank.folded, _undo_of(1)),
    case("second undo", after(_queued_again(bank.folded), RUN, Action("undo", _undo_of(2))), _undo_of(1)),
    case("manual edit of a file", bank.folded, EDIT),
    case("manual new file", bank.folded, bank.write_file("new.md", "# New\n")),
    case("manual deletion of a file", bank.folded, _corrected(corrections.delete_file, "log.md", None)),
    case("edit of a section", bank.folded, _edit_section),
    case("confirmation of a section", bank.folded, _confirm_section),
    case("change of the rules", bank.folded, RULES),
    case("undo of a change of the rules", after(bank.folded, RULES), _undo_of(2)),
    case("consolidation, changed rules", _queued_again(after(bank.folded, RULES)), RUN),
    case("end of a pause", after(bank.folded, UNDO), _end_pause),
    case("deletion of a space", bank.queued, DELETE, marks=False),
    case("plan for approval", bank.queued_for_review, RUN),
    case("approval", bank.planned, APPROVE),
    case("refusal", bank.planned, REFUSE),
    case("approval of an outdated plan", after(bank.planned, EDIT), APPROVE),
    case("sweep after a dead approval", _after_a_dead_approval, SWEEP, marks=False),
    case("plan in place of another", _to_be_replaced, RUN),
    case("end of review", bank.planned, NO_REVIEW),
    case("question to an agent", bank.due_for_agents, BEGIN_FOLD, unheard=True),
    case("answer of an agent", bank.asked, ANSWER_FOLD, unheard=True),
    case("answer of an agent, for approval", bank.asked_for_review, ANSWER_FOLD, unheard=True),
    case("correction while an agent folds", bank.asked, EDIT, marks=False),
    case("sweep after an agent that never answers", _silent_agent, SWEEP, marks=False),
    case("run by hand", bank.folded_and_one_live, BY_HAND),
    case("sweep after a dead run", _after_a_dead_run, SWEEP, marks=False),
    case("sweep of a space at rest", _waits, SWEEP, marks=False),
    case("daily sweep of a threshold that no event noticed", bank.due, SWEEP_ALL, unheard=True),
    case("some notes unfolded", _unfolded(("one", HUGE, "two", "three"), 3, _citing_all_but_the_last), RUN),
    case("consolidation, then a long bank", bank.due_for_tidying, RUN),
    case("tidy run", bank.queued_tidy, RUN),
    case("tidy run by hand", bank.ordered_tidy, RUN),
    case("plan of a tidy run", bank.tidy_for_review, RUN),
    case("approval of a tidy run", bank.planned_tidy, APPROVE),
    case("refusal of a tidy run", bank.planned_tidy, REFUSE),
    case("undo of a tidy run", bank.tidied, _undo_of(2)),
    case("no note to fold", _unfolded((HUGE, f"{HUGE}y"), 2), RUN),
)


def _post_and_mark(scene: BankScene, process: Process, until: datetime) -> None:
    bank.post(scene, process, until)
    due_index.leave(process, SPACE)


MARK = Action("note whose counter dies", _post_and_mark)
OTHER_RULES = Action("other rules", _corrected(rules_change.change, NewRules("Keep two logs.")))


def _dead_run(scene: BankScene) -> None:
    bank.queued(scene)
    scene.die(RUN, 20)


def _dead_creation(turns: int) -> Before:
    """Nothing but what a creation left that died long ago, after so many requests. It left no marker."""

    def before(scene: BankScene) -> None:
        scene.lost = True
        scene.die(CREATE, turns)

    return before


def _dead_deletion(scene: BankScene) -> None:
    """A tombstone, and beside it all that was to be deleted."""
    bank.due(scene)
    scene.die(DELETE, 4)


def _work_as_well(scene: BankScene) -> None:
    """The same invocation, delivered once more, is worked off."""
    scene.enter(RUN).finish()


def _delete_and_wait(scene: BankScene) -> None:
    scene.enter(DELETE).finish()
    scene.world.pass_time(RUN.seconds - 30)


def _wait(scene: BankScene) -> None:
    """As long as a sweep may live, almost."""
    scene.world.pass_time(SWEEP.seconds - 10)


EARLIEST = lifecycle.TOMBSTONE_LIFE.total_seconds()
PAIRS = (
    Pair(DELETE, replace(CREATE, skew=AHEAD), (late,), bank.due, gap=600, name="deletion & creation, clock ahead"),
    Pair(
        replace(DELETE, pace=4), CREATE, (late,), bank.due,
        # The tombstone is there since 16 s.
        gap=EARLIEST - 16, name="slow deletion & creation, at the earliest",
    ),
    Pair(POST, COUNTED_RUN, (late, lost), bank.almost_due, name="append & run"),
    Pair(POST_BATCH, COUNTED_RUN, (late, lost), bank.folded, name="batch & run"),
    Pair(POST_ONCE, COUNTED_RUN, (late, lost), bank.almost_due, name="append with a key & run"),
    Pair(POST_BATCH_ONCE, COUNTED_RUN, (late, lost), bank.folded, name="batch with a key & run"),
    Pair(UNDO, ORDERED_RUN, ALL, bank.folded_twice, name="undo & run"),
    Pair(UNDO, ORDERED_RUN, (late,), bank.folded, name="first undo & run"),
    Pair(UNDO, replace(ORDERED_RUN, skew=AHEAD), (crossed,), bank.folded_twice, name="undo & run, clock ahead"),
    Pair(RUN, UNDO, ALL, bank.queued),
    Pair(RUN, UNDO, (crossed,), bank.queued, between=_work_as_well, name="twin run & undo"),
    Pair(RUN, RUN, (*CROSSED, together), bank.queued, name="twin runs"),
    Pair(RUN, SWEEP, ALL, bank.queued),
    Pair(RUN, SWEEP, (cut,), bank.queued, gap=STALL, name="stalled run & sweep"),
    Pair(RUN, ORDERED_RUN, (cut,), bank.queued, gap=STALL, name="stalled run & run by hand"),
    Pair(RUN, EDIT, (cut,), bank.queued, gap=STALL, name="stalled run & correction"),
    Pair(SWEEP, ORDERED_RUN, CROSSED, _dead_run, name="sweep & run"),
    Pair(SWEEP, MARK, CROSSED, bank.at_rest),
    Pair(MARK, SWEEP, CROSSED, bank.at_rest),
    Pair(EDIT, UNDO, ALL, bank.folded),
    Pair(UNDO, EDIT, ALL, bank.folded_twice),
    Pair(RULES, UNDO, ALL, bank.folded),
    Pair(UNDO, RULES, ALL, after(bank.folded, OTHER_RULES)),
    Pair(CREATE, CREATE, CROSSED, nothing),
    *(
        Pair(first, CREATE, CROSSED, _dead_creation(at), name=f"{name} & creation after one that died at {at}")
        for first, name in ((CREATE, "creation"), (SWEEP_ALL, "sweep"))
        for at in (2, 4)
    ),
    *(
        Pair(
            SWEEP_ALL, CREATE, (overtaken,), before, _wait, EARLIEST - SWEEP.seconds + 10,
            f"stalled sweep & creation after {name}, at the earliest",
        )
        for name, before in (("one that died", _dead_creation(4)), ("a deletion that died", _dead_deletion))
    ),
    Pair(RUN, RUN, (*CROSSED, together), bank.queued_for_review, name="twin plans"),
    Pair(RUN, SWEEP, ALL, bank.queued_for_review, name="plan & sweep"),
    Pair(SWEEP, RUN, CROSSED, bank.queued_for_review, name="sweep & plan"),
    Pair(SWEEP, REFUSE, CROSSED, bank.planned),
    Pair(RUN, ORDERED_RUN, (cut,), bank.queued_for_review, gap=STALL, name="stalled plan & run by hand"),
    Pair(RUN, NO_REVIEW, CROSSED, bank.queued_for_review, name="plan & end of review"),
    Pair(RUN, REVIEW, CROSSED, bank.queued),
    Pair(APPROVE, APPROVE, CROSSED, bank.planned),
    Pair(APPROVE, REFUSE, ALL, bank.planned),
    Pair(REFUSE, APPROVE, ALL, bank.planned),
    Pair(APPROVE, REFUSE, (cut,), bank.planned, gap=STALL, name="stalled approval & refusal"),
    Pair(REFUSE, APPROVE, (cut,), bank.planned, gap=STALL, name="stalled refusal & approval"),
    Pair(APPROVE, REPLACE, (cut,), bank.planned, gap=STALL, name="stalled approval & plan in place of another"),
    Pair(REPLACE, APPROVE, ALL, bank.planned),
    Pair(APPROVE, NO_REVIEW, CROSSED, bank.planned),
    Pair(NO_REVIEW, APPROVE, ALL, bank.planned),
    Pair(APPROVE, EDIT, ALL, bank.planned),
    Pair(EDIT, APPROVE, ALL, bank.planned),
    Pair(APPROVE, UNDO, ALL, bank.planned),
    Pair(APPROVE, SWEEP, ALL, bank.planned),
    Pair(APPROVE, SWEEP, (failing,), bank.planned, name="approval that fails"),
    Pair(RUN, SWEEP, (failing,), bank.ordered, name="run by hand that fails"),
    Pair(RUN, SWEEP, (failing,), bank.queued, name="run that fails"),
    Pair(BEGIN_FOLD, BEGIN_FOLD, CROSSED, bank.due_for_agents, name="two agents"),
    Pair(BEGIN_FOLD, COUNTED_RUN, CROSSED, bank.due_for_agents, name="question to an agent & run"),
    Pair(BEGIN_FOLD, EDIT, (cut,), bank.due_for_agents),
    Pair(ANSWER_FOLD, ANSWER_FOLD, (*CROSSED, together), bank.asked, name="twin answers of an agent"),
    Pair(ANSWER_FOLD, EDIT, ALL, bank.asked),
    Pair(ANSWER_FOLD, EDIT, (cut,), bank.asked, gap=STALL, name="stalled answer of an agent & correction"),
    Pair(ANSWER_FOLD, ORDERED_RUN, (cut, crossed), bank.asked),
    Pair(ANSWER_FOLD, ORDERED_RUN, (cut,), bank.asked, gap=STALL, name="stalled answer of an agent & run by hand"),
    Pair(ANSWER_FOLD, ANSWER_FOLD, (cut,), bank.asked, gap=STALL, name="stalled answer of an agent & the same"),
    Pair(ANSWER_FOLD, SWEEP, (late, cut, failing), bank.asked),
    Pair(EDIT, ANSWER_FOLD, ALL, bank.asked),
    Pair(ANSWER_FOLD, DELETE, (late, cut), bank.asked),
    Pair(BY_HAND, QUEUED_RUN, (late, lost), bank.due, name="order & run"),
    Pair(COUNT, RUN, CROSSED, bank.ordered),
    Pair(RUN, COUNT, CROSSED, bank.ordered),
    Pair(RUN, RUN, (*CROSSED, together), bank.queued_tidy, name="twin tidy runs"),
    Pair(RUN, SWEEP, (late, cut, failing), bank.queued_tidy, name="tidy run & sweep"),
    Pair(RUN, TIDY, (cut,), bank.queued_tidy, gap=STALL, name="stalled tidy run & another"),
    Pair(RUN, ORDERED_RUN, (cut,), bank.queued_tidy, gap=STALL, name="stalled tidy run & run by hand"),
    Pair(RUN, EDIT, (late, cut), bank.queued_tidy, gap=STALL, name="stalled tidy run & correction"),
    Pair(RUN, UNDO, ALL, bank.ordered_tidy, name="tidy run & undo"),
    Pair(UNDO, TIDY, (late, lost), bank.tidied, name="undo & tidy run"),
    Pair(RUN, DELETE, (late, cut), bank.queued_tidy, name="tidy run & deletion"),
    Pair(
        RUN, CREATE, (overtaken,), bank.queued, _delete_and_wait, EARLIEST - RUN.seconds + 30,
        "run over a deletion & creation, at the earliest",
    ),
)  # fmt: skip


class BankHistory(History):
    """Everything that users of a bank do. Calm ones: notes, events, and runs delivered several times at once.

    In some all put events arrive (`prompt`): in these, and as long as none is lost, markers lead the sweep to all that
    waits. `asked` counts the calls of the LLM by run.
    """

    begins = 4
    """So many consolidations were made; the last: there is no space."""
    most_actors = 6
    skews = (0, 1, 45, 120, 300, -1, -45, -120, -300)
    times = (1, 5, 5, 20, 20, 70, 200, 860, 1_000, 1_700)

    @classmethod
    def begin(cls, scene: BankScene, place: int) -> None:
        if place < cls.begins - 1:
            scene.create()
            for _ in range(place):
                scene.fold()

    def first(self) -> None:
        self.prompt = self.choices.pick((True, True, False)) and not self.remote
        self.scene.lost = not self.prompt
        self.heard: set[Any] = set()
        self.asked = Counter[str]()
        self.repeated: list[str] = []
        self.delivered: list[Invocation] = []
        self.creating: list[Actor] = []
        self.deleting: list[Actor] = []
        self.fails = 0
        if not self.calm and self.scene.space and chance(self.choices, 25):
            bank.REVIEW.work(self.scene, self.world.process, self.world.clock())
        if not self.calm and self.scene.space and chance(self.choices, 40):
            bank.limit(self.scene)
        self.write()

    def steps(self) -> list[Step]:
        calm: list[Step] = [(self.write, 5), (self.post, 5), (self.put_event, 5), (self.deliver, 8)]
        return calm if self.calm else [
            *calm, (self.post_more, 5), (self.correct, 5), (self.undo, 5), (self.start, 5), (self.decide, 4),
            (self.keep_house, 6), (self.spoil_due_index, 2),
        ]  # fmt: skip

    # What users and events do

    def write(self) -> None:
        """Notes are written, and perhaps the event of the last one arrives at once."""
        if uid_of(self.world, SPACE):
            self.scene.write(self.choices.number(1, 4))
        if chance(self.choices, 50):
            self.world.count()

    def after(self) -> None:
        """Where no event is lost each one arrives at once, also those of notes that are written again."""
        if not self.prompt:
            return
        objects = self.world.inner.objects
        written = {(key, stored.last_modified) for key, stored in objects.items() if NOTE.parse(key)}
        if written - self.heard:
            self.heard = written
            self.world.count()

    def post(self) -> None:
        draft = self.scene.draft()
        self._write(lambda process: [appending.append(process, SPACE, "ann", draft)])

    def post_more(self) -> None:
        """A batch, or a note under a key."""
        key = self.choices.pick(("k1", "k2", None))
        if key:
            draft = appending.NoteDraft("progress", f"{self.choices.pick('ab')} under {key}")
            self._write(lambda process: [idempotency.append_once(process, SPACE, "ann", draft, key)[0]])
            several = [replace(draft, content=f"{draft.content}, {place}") for place in ("first", "second")]
            self._write(
                lambda process: [note for note, _ in idempotency.append_batch_once(process, SPACE, "ann", several, key)]
            )
        else:
            drafts = [self.scene.draft() for _ in range(3)]
            self._write(lambda process: appending.append_batch(process, SPACE, "bob", drafts))

    def _write(self, append: Callable[[Process], list[Any]]) -> None:
        def work(process: Process, until: datetime) -> None:
            uid = uid_of(self.world, SPACE)
            written = append(process)
            if uid is not None and uid == uid_of(self.world, SPACE):
                self.scene.notes |= {note.note_id: uid for note in written}

        self.spawn("writer", work)

    def put_event(self) -> None:
        self.spawn("counter", lambda process, until: self.world.count(SPACE, process))

    def correct(self) -> None:
        """A change by hand."""
        name, text = self.choices.pick(("log.md", "other.md")), f"by hand {self.world.ids.count}"
        content, edit = f"# A\n\n## Log\n\n- {text}\n", Edit("append_to_section", "## Log", f"- {text}")
        holds = Edit("confirm_section", "## Log")
        self._one_of(
            lambda process: corrections.write_file(process, "admin", SPACE, name, content, None),
            lambda process: corrections.delete_file(process, "admin", SPACE, name, None),
            lambda process: corrections.edit_sections(process, EVERYONE, SPACE, name, [edit], "wrong"),
            lambda process: corrections.edit_sections(process, EVERYONE, SPACE, name, [holds], "holds"),
            lambda process: rules_change.change(process, "admin", SPACE, NewRules(f"Keep a log. {name}")),
        )

    def _one_of(self, *works: Callable[[Process], Any]) -> None:
        work = self.choices.pick(works)
        self.spawn("user", lambda process, until: work(process))

    def undo(self) -> None:
        head = heads.find(self.world.process, SPACE)
        number = (head.meta.changes if head else 1) - self.choices.pick((0, 0, 0, 1))
        self._one_of(lambda process: undoing.undo(process, "admin", SPACE, number))

    def start(self) -> None:
        """A run is started by hand, or by a change of the space."""
        by_hand, dry = (
            partial(queues.order, principal=EVERYONE, space_id=SPACE, request=RunOrder("api", dry_run=dry))
            for dry in (False, True)
        )
        tidy = partial(queues.order, principal=EVERYONE, space_id=SPACE, request=RunOrder("api", tidy=True))
        on, off = (SpaceUpdate(threshold=threshold, auto_paused=False) for threshold in (self.scene.size, 0))
        changes = [partial(space_change.change, principal=EVERYONE, space_id=SPACE, update=one) for one in (on, off)]
        self._one_of(by_hand, by_hand, by_hand, dry, tidy, *changes)

    def decide(self) -> None:
        """Somebody decides on the plan that waits, or on whether plans wait."""
        head = heads.find(self.world.process, SPACE)
        plan = head.meta.pending_plan if head else None
        run_id, revision = (plan.run_id, plan.revision) if plan else (f"{0:026d}", "")
        self._one_of(
            *[lambda process: review.approve(process, EVERYONE, SPACE, run_id, revision)] * 2,
            lambda process: review.refuse(process, EVERYONE, SPACE, run_id, None),
            lambda process: queues.order(process, EVERYONE, SPACE, RunOrder("api", replace=True)),
            lambda process: bank.mode("auto")(self.scene, process, self.world.clock()),
            lambda process: bank.mode("review")(self.scene, process, self.world.clock()),
        )

    def keep_house(self) -> None:
        """The sweep comes by; somebody creates or deletes the space."""
        what = self.choices.pick((*["sweep"] * 3, "daily sweep", *["creation"] * 3, "deletion"))
        if what.endswith("sweep"):
            everything = what != "sweep"
            self.spawn(
                what,
                lambda process, until: sweeping.sweep(process, deadline=until, everything=everything),
                SWEEP_SECONDS,
            )
        elif what == "creation":
            self.creating.append(self.spawn(what, self._create))
        else:
            self.scene.space = None
            self.deleting.append(self.spawn(what, lambda process, until: lifecycle.delete(process, SPACE, SPACE)))

    def _create(self, process: Process, until: datetime) -> None:
        begun = len(self.deleting)
        meta = lifecycle.create(
            process, EVERYONE, lifecycle.SpaceRequest(SPACE, rules="Keep a log.", threshold=self.scene.size)
        )
        if begun == len(self.deleting) and all(actor.done for actor in self.deleting):
            self.scene.space = meta.uid

    # What events and fate do

    def work(self, invocation: Invocation, process: Process, until: datetime) -> Any:
        if invocation not in self.delivered:
            self.delivered.append(invocation)
        before = bank.committed(self.world)

        def ask(messages: Messages, max_tokens: int | None, timeout: float, schema: Any = None) -> Reply:
            self.asked[invocation["job_id"]] += 1
            take_turn()
            if self.fails:
                self.fails -= 1
                raise LlmError("llm_unavailable", "The LLM does not answer.")
            if is_tidy(schema):
                return Reply(tidied(messages), {})
            prompt = read_prompt(messages)
            # What was committed before this process began and still is must not be asked for again.
            still = before & bank.committed(self.world)
            self.repeated.extend(note["content"] for note in prompt["notes"] if note["content"] in still)
            return Reply(append_everything(prompt))

        return self.world.work(invocation, replace(process, ask=ask), until)

    def break_model(self) -> None:
        self.fails = self.choices.number(1, 3)

    def spoil_due_index(self) -> None:
        """There are entries for which there is no reason, or all are gone."""
        if chance(self.choices, 75):
            due_index.leave(self.world.with_parts(), SPACE)
            due_index.leave_waiting(self.world.with_parts(), SPACE, self.world.clock())
        else:
            self.world.store.delete_many(self.world.keys(due_keys.DUE))
            self.scene.lost = True

    def lose(self) -> Actor | None:
        actor = super().lose()
        if actor and actor.unanswered.startswith(due_keys.DUE):
            # It may never be written.
            self.scene.lost = True
        return actor

    def end(self) -> list[str]:
        # A creation leaves no marker: what is left of one that died is found by the sweep of once a day.
        died = [actor for actor in self.creating if actor.killed or isinstance(actor.error, StoreUnavailable)]
        self.scene.lost = self.scene.lost or bool(died)
        self.world.new_process()
        wrong: list[str] = self.scene.seen() + self.scene.come_to_rest()
        # Lambda tries what died again; late, and even what did not die.
        self.world.queued.extend(self.delivered)
        self.world.settle()
        wrong += self.scene.stay_alive()
        wrong += [f"{REPEATED}: {one}" for one in self.repeated]
        if self.calm:
            bearing = {record.run() for record in records_of(self.world.inner.objects, SPACE)}
            wrong += [f"{REPEATED}: {count} calls for {run}" for run, count in self.asked.items() if count > 1]
            wrong += [f"{REPEATED}: a call for {run}, which did not commit" for run in set(self.asked) - bearing]
        return wrong


CONSOLIDATION = Kind(
    "consolidation",
    BankScene,
    ACTIONS,
    PAIRS,
    (BankHistory,),
    columns=(*COLUMNS, REPEATED),
)
