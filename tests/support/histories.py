"""Random histories of one space: writers, events, consolidators, corrections, deletions and creations that interleave
at every single request, processes that die or stall, answers that get lost, writes that arrive late, clocks that are
off. At the end everything comes to rest and is checked.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from livemem.bank import corrections, review
from livemem.changes import rules
from livemem.changes import undo as undoing
from livemem.changes.records import Record
from livemem.changes.rules import NewRules
from livemem.consolidation import pipeline as consolidation
from livemem.errors import LiveMemoryError, StoreUnavailable
from livemem.llm.client import LlmError, Messages, Reply
from livemem.markdown.edits import Edit
from livemem.notes import appending, idempotency
from livemem.process import Process
from livemem.runs import counter, space_change
from livemem.runs import queue as queues
from livemem.runs import run as runs
from livemem.runs.queue import Order
from livemem.runs.space_change import SpaceChange
from livemem.spaces import head as heads
from livemem.spaces import life, markers
from livemem.spaces.head_fields import Mode
from livemem.store import keys
from livemem.upkeep import sweep as sweeping
from tests.support.actors import Actor, Listing, Loss
from tests.support.audit import Audit, records_of, standing, text_of
from tests.support.counting import Request
from tests.support.rest import Told, check_alive, check_deserted, check_rest, come_to_rest, uid_of
from tests.support.world import EVERYONE, Invocation, World, append_everything, read_prompt

SPACE = "demo"
THRESHOLD = 3
MOST_ACTORS = 6
HTTP_SECONDS = 29
WORK_SECONDS = 900
SWEEP_SECONDS = 300

which = st.integers(0, MOST_ACTORS - 1)
how_far = st.integers(0, 40)
"""Requests that a process does before anybody else has a turn: few operations make more."""
skews = st.sampled_from([0, 1, 45, 120, 300, -1, -45, -120, -300])
"""By how many seconds the clocks of some processes are off."""
listings = st.sampled_from(["at once", "begin", "end"])
prompts = st.sampled_from([True, True, False])
"""Whether all put events arrive."""


def _begin(world: World, rounds: int | None) -> Told:
    told = Told()
    if rounds is None:
        return told
    told.space = world.create_space(SPACE, threshold=THRESHOLD).uid
    for number in range(rounds):
        for index in range(THRESHOLD):
            told.notes[world.note(f"before {number} {index}", space_id=SPACE).note_id] = told.space
            world.clock.move(1)
        world.consolidate(SPACE)
    return told


@cache
def _begun(rounds: int | None) -> tuple[World, Told]:
    world = World()
    return world, _begin(world, rounds)


class Calm(RuleBasedStateMachine):
    """Histories without faults: notes, events, invocations that are delivered several times at once, time.

    Every other process has a clock that is off. `asked` counts the calls of the LLM by run. In some all put events
    arrive (`prompt`): in these, and as long as none is `lost`, markers lead the sweep to all that waits.
    """

    new_world: Callable[[], World] = World
    """May be replaced by one that gives empty worlds on a real store."""

    @initialize(
        rounds=st.integers(0, 2),
        waiting=st.integers(0, 4),
        skew=skews,
        lists=listings,
        prompt=prompts,
    )
    def begin(self, rounds: int, waiting: int, skew: float, lists: Listing, prompt: bool) -> None:
        self.begin_with(rounds)
        self.prompt = prompt and self.new_world is World
        self.lost = not self.prompt
        self.heard: set[tuple[str, Any]] = set()
        self.actors: list[Actor] = []
        self.spawned = self.texts = self.model_fails = 0
        self.skew, self.lists = skew, lists
        self.asked = Counter[str]()
        self.repeated: list[str] = []
        self.invocations: dict[Actor, Invocation] = {}
        self.delivered: list[Invocation] = []
        self.write(waiting, event=True)

    def begin_with(self, rounds: int | None) -> None:
        """A world in which so many consolidations were made; None: without a space."""
        if self.new_world is World:
            world, told = _begun(rounds)
            self.world, self.told = world.fork(), Told(dict(told.notes), told.space)
        else:
            self.world = self.new_world()
            self.told = _begin(self.world, rounds)
        # What is written at once may come late as well.
        self.world.client.carry = self._carry

    # What users and events do

    @rule(count=st.integers(1, 4), event=st.booleans())
    def write(self, count: int, event: bool) -> None:
        """Notes are written, and the event of the last one arrives at once."""
        uid = self._uid()
        for _ in range(count if uid else 0):
            note = self.world.note(self._text(), space_id=SPACE)
            self.told.notes[note.note_id] = str(uid)
            self.world.clock.move(1)
        if event:
            self.world.count()

    @rule(requests=how_far)
    def post(self, requests: int) -> None:
        draft = appending.Draft("progress", self._text())
        self._write(lambda process: [appending.append(process, SPACE, "ann", draft)], requests)

    @invariant()
    def hear(self) -> None:
        """Where no event is lost each one arrives at once, also those of notes that are written again."""
        if not hasattr(self, "heard") or not self.prompt:
            return
        written = {
            (key, stored.last_modified) for key, stored in self.world.inner.objects.items() if keys.parse_note(key)
        }
        if written - self.heard:
            self.heard = written
            self.world.count()

    @rule(requests=how_far)
    def put_event(self, requests: int) -> None:
        self._spawn("counter", lambda actor: counter.hear(actor.process, SPACE), requests)

    @precondition(lambda self: self.world.queued)
    @rule(index=st.integers(0, 5), times=st.sampled_from([1, 1, 1, 2, 3, 5]), again=st.booleans(), requests=how_far)
    def deliver(self, index: int, times: int, again: bool, requests: int) -> None:
        """Lambda delivers a queued invocation, perhaps several times, not for the last time, and not in order."""
        queued = self.world.queued
        invocation = queued[index % len(queued)]
        if not again:
            queued.remove(invocation)
        self.delivered.append(invocation)
        for _ in range(times):
            if len(self.actors) == MOST_ACTORS:
                self.world.retry(invocation)
                return
            actor = self._spawn(
                "consolidator", lambda actor: self._consolidate(actor, invocation), seconds=WORK_SECONDS
            )
            self.invocations[actor] = invocation
        for actor in self.actors[-times:]:
            actor.step(requests)
        self._bury()

    # How time treats them

    @precondition(lambda self: self.actors)
    @rule(index=which, requests=st.integers(1, 25))
    def step(self, index: int, requests: int) -> None:
        self._actor(index).step(requests)
        self._bury()

    @precondition(lambda self: self.actors)
    @rule(index=which)
    def finish(self, index: int) -> None:
        self._actor(index).finish()
        self._bury()

    @rule(seconds=st.sampled_from([1, 20, 70, 200]))
    def pass_time(self, seconds: int) -> None:
        """Time passes, and nobody takes longer than may be."""
        for actor in self.actors:
            if actor.deadline <= self.world.clock() + timedelta(seconds=seconds):
                actor.finish()
        self._bury()
        self.world.pass_time(seconds)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        for actor in self.actors:
            actor.finish()
        self._bury()
        self._check()
        bearing = {record.run() for record in records_of(self.world.inner.objects, SPACE)}
        calls = {run_id: self.asked[run_id] for run_id in bearing | set(self.asked) if run_id in self.asked}
        assert set(calls) <= bearing, f"the LLM was asked for runs that did not commit: {calls}"
        assert set(calls.values()) <= {1}, f"the LLM was asked more than once for a run: {calls}"

    def _check(self) -> None:
        """Let everything come to rest, and check it."""
        world = self.world
        world.new_process()
        found = check_deserted(world, SPACE) + come_to_rest(world, SPACE, lost=self.lost)
        found += self._checked()
        assert found.clean(), str(found)
        # Lambda tries what died again; late, and even what did not die.
        world.queued.extend(self.delivered)
        world.settle()
        found = check_alive(world, SPACE)
        found += self._checked()
        assert found.clean(), str(found)
        assert not self.repeated, f"the LLM was asked again for committed notes: {self.repeated}"

    def _checked(self) -> Audit:
        uid = self._uid()
        gone = [f"the space {self.told.space}"] if self.told.space not in (None, uid) else []
        return check_rest(self.world, SPACE, self.told.of(uid)) + Audit(lost=gone)

    # Helpers

    def _carry(self, request: Request) -> Any:
        self.world.note_sent(request)
        return request.send(self.world.inner)

    def _text(self) -> str:
        """What nobody has written yet."""
        self.texts += 1
        return f"note {self.texts}"

    def _uid(self) -> str | None:
        return uid_of(self.world, SPACE)

    def _actor(self, index: int) -> Actor:
        return self.actors[index % len(self.actors)]

    def _bury(self) -> None:
        ended = [actor for actor in self.actors if actor.done]
        self.actors = [actor for actor in self.actors if not actor.done]
        for actor in ended:
            if actor.error is not None and not isinstance(actor.error, LiveMemoryError):
                raise actor.error
            if actor in self.invocations and (actor.killed or actor.error):
                self.world.retry(self.invocations[actor])

    def _spawn(
        self, name: str, work: Callable[[Actor], Any], requests: int = 0, *, seconds: int = HTTP_SECONDS
    ) -> Actor:
        """Let a process begin, and do so many requests. Where there are many the oldest one has to end first."""
        if len(self.actors) == MOST_ACTORS:
            self.actors[0].finish()
            self._bury()
        self.spawned += 1
        # No two begin in the same moment.
        self.world.pass_time(0.25)
        deadline = self.world.clock() + timedelta(seconds=seconds)
        skew = self.skew if self.spawned % 2 else 0
        actor = Actor(name, self.world, work, deadline, skew=skew, lists=self.lists)
        self.actors.append(actor)
        actor.step(requests)
        self._bury()
        return actor

    def _write(self, append: Callable[[Process], list[Any]], requests: int) -> None:
        def work(actor: Actor) -> None:
            uid = self._uid()
            written = append(actor.process)
            if uid is not None and uid == self._uid():
                self.told.notes |= {note.note_id: uid for note in written}

        self._spawn("writer", work, requests)

    def _committed(self) -> set[str]:
        """The contents of the notes that a committed change has folded, be it applied or not. Contents are unique."""
        objects = self.world.inner.objects
        records = records_of(objects, SPACE)
        head = heads.find(self.world.process, SPACE)
        plan = objects.get(f"{SPACE}/_runs/{head.meta.committed_run if head else None}.plan.json")
        if plan:
            record = Record.from_bytes(plan.body)
            if record.run_id not in {found.run_id for found in records}:
                records.append(record)
        return {text_of(source.raw) for record in standing(records) for source in record.notes}

    def _consolidate(self, actor: Actor, payload: Invocation) -> runs.Run | None:
        committed = self._committed()

        def ask(
            messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None
        ) -> Reply:
            self.asked[payload["run_id"]] += 1
            actor.pause()
            if self.model_fails:
                self.model_fails -= 1
                raise LlmError("llm_unavailable", "The LLM does not answer.")
            prompt = read_prompt(messages)
            # What was committed before this process began and still is must not be asked for again.
            still = committed & self._committed()
            self.repeated.extend(note["content"] for note in prompt["notes"] if note["content"] in still)
            return Reply(append_everything(prompt))

        process = replace(actor.process, ask=ask)
        return consolidation.consolidate(
            process, payload["space_id"], payload["run_id"], payload["uid"], deadline=actor.until
        )


class Histories(Calm):
    """Everything that users do, and everything that can go wrong."""

    deletions = 0
    deleting: tuple[Actor, ...] = ()

    @initialize(
        rounds=st.integers(0, 2),
        waiting=st.integers(0, 4),
        skew=skews,
        lists=listings,
        prompt=prompts,
        unborn=st.sampled_from([False] * 7 + [True]),
        reviewed=st.sampled_from([False] * 3 + [True]),
    )
    def begin(
        self, rounds: int, waiting: int, skew: float, lists: Listing, prompt: bool, unborn: bool, reviewed: bool
    ) -> None:
        self.unborn = unborn
        self.reviewed = reviewed and not unborn
        self.creating: list[Actor] = []
        super().begin(rounds, waiting, skew, lists, prompt)

    def begin_with(self, rounds: int | None) -> None:
        super().begin_with(None if self.unborn else rounds)
        if self.reviewed:
            space_change.change(self.world.process, EVERYONE, SPACE, SpaceChange(consolidation_mode="review"))

    # What users do

    @rule(kind=st.sampled_from(["a", "b", "batch"]), key=st.sampled_from(["k1", "k2"]), requests=how_far)
    def post_more(self, kind: str, key: str, requests: int) -> None:
        """A batch, or a note under a key."""
        if kind == "batch":
            drafts = [appending.Draft("todo", self._text()) for _ in range(3)]
            self._write(lambda process: appending.append_batch(process, SPACE, "bob", drafts), requests)
            return
        draft = appending.Draft("progress", f"{kind} under {key}")
        self._write(lambda process: [idempotency.append_once(process, SPACE, "ann", draft, key)[0]], requests)

    @rule(
        what=st.sampled_from(["edit", "delete", "edit section", "rules"]),
        name=st.sampled_from(["log.md", "other.md"]),
        requests=how_far,
    )
    def correct(self, what: str, name: str, requests: int) -> None:
        """A change by hand."""
        text = f"by hand {self.world.ids.count}"
        content, edit = f"# A\n\n## Log\n\n- {text}\n", Edit("append_to_section", "## Log", f"- {text}")
        works: dict[str, Callable[[Process], Any]] = {
            "edit": lambda process: corrections.write_file(process, "admin", SPACE, name, content, None),
            "delete": lambda process: corrections.delete_file(process, "admin", SPACE, name, None),
            "edit section": lambda process: corrections.edit_sections(process, EVERYONE, SPACE, name, [edit], "wrong"),
            "rules": lambda process: rules.change(process, "admin", SPACE, NewRules(f"Keep a log. {name}")),
        }
        self._spawn(what, lambda actor: works[what](actor.process), requests)

    @rule(back=st.sampled_from([0, 0, 0, 1]), requests=how_far)
    def undo(self, back: int, requests: int) -> None:
        head = heads.find(self.world.process, SPACE)
        number = (head.meta.changes if head else 1) - back
        self._spawn("undo", lambda actor: undoing.undo(actor.process, "admin", SPACE, number), requests)

    @rule(by=st.sampled_from(["hand", "hand", "hand, dry", "patch", "patch, off"]), requests=how_far)
    def start(self, by: str, requests: int) -> None:
        """A run is started by hand, or by a change of the space."""
        wanted = SpaceChange(threshold=0 if by == "patch, off" else THRESHOLD, auto_paused=False)
        works: dict[str, Callable[[Process], Any]] = {
            "hand": lambda process: queues.order(process, EVERYONE, SPACE, Order("api")),
            "hand, dry": lambda process: queues.order(process, EVERYONE, SPACE, Order("api", dry_run=True)),
        }
        otherwise: Callable[[Process], Any] = partial(
            space_change.change, principal=EVERYONE, space_id=SPACE, wanted=wanted
        )
        self._spawn(by, lambda actor: works.get(by, otherwise)(actor.process), requests)

    @precondition(lambda self: self.reviewed)
    @rule(what=st.sampled_from(["approve", "approve", "refuse", "replace", "auto", "review"]), requests=how_far)
    def decide(self, what: str, requests: int) -> None:
        """Somebody decides on the plan that waits, or on whether plans wait."""
        head = heads.find(self.world.process, SPACE)
        plan = head.meta.pending_plan if head else None
        run_id, revision = (plan.run_id, plan.revision) if plan else (f"{0:026d}", "")
        mode: Mode = "auto" if what == "auto" else "review"
        works: dict[str, Callable[[Process], Any]] = {
            "approve": lambda process: review.approve(process, EVERYONE, SPACE, run_id, revision),
            "refuse": lambda process: review.refuse(process, EVERYONE, SPACE, run_id, None),
            "replace": lambda process: queues.order(process, EVERYONE, SPACE, Order("api", replace=True)),
        }
        otherwise: Callable[[Process], Any] = partial(
            space_change.change, principal=EVERYONE, space_id=SPACE, wanted=SpaceChange(consolidation_mode=mode)
        )
        self._spawn(what, lambda actor: works.get(what, otherwise)(actor.process), requests)

    @rule(what=st.sampled_from([*["sweep"] * 3, "daily sweep", *["creation"] * 3, "deletion"]), requests=how_far)
    def keep_house(self, what: str, requests: int) -> None:
        """The sweep comes by; somebody creates or deletes the space."""
        if what.endswith("sweep"):
            self._spawn(
                what,
                lambda actor: sweeping.sweep(actor.process, deadline=actor.until, everything=what != "sweep"),
                requests,
                seconds=SWEEP_SECONDS,
            )
        elif what == "creation":
            actor = self._spawn(what, lambda actor: self._create(actor.process))
            self.creating.append(actor)
            actor.step(requests)
            self._bury()
        else:
            self.deletions += 1
            self.told.space = None
            actor = self._spawn(what, lambda actor: life.delete(actor.process, SPACE, SPACE))
            self.deleting = (*self.deleting, actor)
            actor.step(requests)
            self._bury()

    # How time and fate treat them

    @precondition(lambda self: self.actors)
    @rule(index=which)
    def kill(self, index: int) -> None:
        self._actor(index).kill()
        self._bury()

    @precondition(lambda self: self.actors)
    @rule(index=which, loss=st.sampled_from(["again", "for good", "hangs"]), requests=how_far)
    def lose_answer(self, index: int, loss: Loss, requests: int) -> None:
        """It goes on, and the answer to its next write gets lost."""
        actor = self._actor(index)
        actor.loses = loss
        while not actor.done and actor.loses:
            actor.step()
        if actor.unanswered.startswith(keys.MARKERS):
            # It may never be written.
            self.lost = True
        actor.step(requests)
        self._bury()

    @precondition(lambda self: self.world.repeatable())
    @rule(back=st.integers(0, 30), of=st.sampled_from(["", "/live/", "/bank/", "DELETE", "DeleteObjects"]))
    def repeat(self, back: int, of: str) -> None:
        """A write that the store executed long ago reaches it once more; one of these if there is one."""
        sent = self.world.repeatable()
        chosen = [one for one in sent if of in str(one.request)] or sent
        self.world.repeat(chosen[back % len(chosen)])

    @rule(how=st.sampled_from([*["double"] * 3, "lose"]))
    def spoil_markers(self, how: str) -> None:
        """There are markers for which there is no reason, or all are gone."""
        if how == "double":
            markers.leave(self.world.with_parts(), SPACE)
            self.world.store.put(keys.waiting_marker(SPACE, self.world.clock()), b"")
        else:
            self.world.store.delete_many(self.world.keys(keys.MARKERS))
            self.lost = True

    @precondition(lambda self: self.world.queued)
    @rule(index=st.integers(0, 5))
    def lose_invocation(self, index: int) -> None:
        """All deliveries of it fail before they begin."""
        del self.world.queued[index % len(self.world.queued)]

    @rule(times=st.integers(1, 3))
    def break_model(self, times: int) -> None:
        """The LLM does not answer so many questions."""
        self.model_fails = times

    @rule(seconds=st.sampled_from([1, 5, 5, 20, 20, 70, 200, 860, 1_000, 1_700]), stalled=st.booleans())
    def pass_time(self, seconds: int, stalled: bool) -> None:
        """Time passes, and functions time out: none lives longer than its deadline. Stalled, workers do not even renew
        their leases.
        """
        world = self.world
        end = world.clock() + timedelta(seconds=seconds)
        while due := [actor.deadline for actor in self.actors if actor.deadline <= end]:
            world.pass_time((min(due) - world.clock()).total_seconds(), beating=not stalled)
            for actor in self.actors:
                if actor.deadline <= world.clock():
                    actor.kill()
            self._bury()
        world.pass_time((end - world.clock()).total_seconds(), beating=not stalled)
        world.expire()

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        for actor in self.actors:
            actor.kill()
        self._bury()
        # A creation leaves no marker: what is left of one that died is found by the sweep of once a day.
        died = [actor for actor in self.creating if actor.killed or isinstance(actor.error, StoreUnavailable)]
        self.lost = self.lost or bool(died)
        self._check()

    # Helpers

    def _create(self, process: Process) -> None:
        begun = self.deletions
        meta = life.create(process, EVERYONE, life.NewSpace(SPACE, rules="Keep a log.", threshold=THRESHOLD))
        if begun == self.deletions and all(actor.done for actor in self.deleting):
            self.told.space = meta.uid
