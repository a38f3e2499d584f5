"""Random histories of one space: writers, events, consolidators, corrections and deletions that interleave at every
single request, and processes that die. At the end everything comes to rest and the bucket is audited.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from livemem.bank import corrections
from livemem.changes import rules
from livemem.changes import undo as undoing
from livemem.changes.records import Record
from livemem.changes.rules import NewRules
from livemem.consolidation import pipeline as consolidation
from livemem.errors import LiveMemoryError
from livemem.llm.client import Messages, Reply
from livemem.markdown.edits import Edit
from livemem.notes import appending, idempotency
from livemem.runs import counter, space_change
from livemem.runs import run as runs
from livemem.runs.space_change import SpaceChange
from livemem.spaces import head as heads
from livemem.spaces import life
from livemem.upkeep import sweep as sweeping
from tests.support.actors import Actor
from tests.support.audit import Audit, audit, records_of, standing
from tests.support.world import EVERYONE, World, append_everything, read_prompt

SPACE = "demo"
THRESHOLD = 3
MOST_ACTORS = 5
HTTP_SECONDS = 29
WORK_SECONDS = 900

which = st.integers(0, MOST_ACTORS - 1)


class Histories(RuleBasedStateMachine):
    """`acknowledged`: note id -> uid of the space's life in which its writer was told `201`."""

    new_world: Callable[[], World] = World
    """May be replaced by one that gives empty worlds on a real store."""

    @initialize(rounds=st.integers(0, 2), waiting=st.integers(0, 4))
    def begin(self, rounds: int, waiting: int) -> None:
        self.world = self.new_world()
        self.world.create_space(SPACE, threshold=THRESHOLD)
        self.actors: list[Actor] = []
        self.acknowledged: dict[str, str] = {}
        self.repeated: list[str] = []
        self.delivered: list[dict[str, Any]] = []
        for _ in range(rounds):
            self.write(THRESHOLD)
            self.world.consolidate()
        self.write(waiting)
        self.world.count()

    # What users and events do at once

    @rule(count=st.integers(1, 4))
    def write(self, count: int) -> None:
        uid = self._uid()
        for _ in range(count):
            if uid is None:
                return
            note = self.world.note(f"note {self.world.ids.count}", space_id=SPACE)
            self.acknowledged[note.note_id] = uid
            self.world.clock.move(1)

    @rule()
    def order(self) -> None:
        self._try(lambda: self.world.order(SPACE))

    @rule()
    def create_again(self) -> None:
        self._try(lambda: self.world.create_space(SPACE, threshold=THRESHOLD))

    # Processes that take their time

    @rule(content=st.sampled_from(["a", "b"]), key=st.sampled_from(["k1", "k2"]))
    def write_once(self, content: str, key: str) -> None:
        def work(actor: Actor) -> None:
            draft = appending.Draft("progress", f"{content} under {key}")
            uid = self._uid()
            note, _ = idempotency.append_once(actor.process, SPACE, "ann", draft, key)
            if uid is not None and uid == self._uid():
                self.acknowledged[note.note_id] = uid

        self._spawn("writer", work, HTTP_SECONDS)

    @rule()
    def put_event(self) -> None:
        self._spawn(
            "counter",
            lambda actor: counter.start_if_due(
                actor.process,
                SPACE,
                "threshold",
            ),
            HTTP_SECONDS,
        )

    @precondition(lambda self: self.world.queued)
    @rule(index=st.integers(0, 5), again=st.booleans())
    def deliver(self, index: int, again: bool) -> None:
        """Lambda delivers a queued invocation, perhaps not for the last time and not in order."""
        queued = self.world.queued
        payload = queued[index % len(queued)]
        if not again:
            queued.remove(payload)
        self.delivered.append(payload)
        self._spawn("consolidator", lambda actor: self._consolidate(actor, payload), WORK_SECONDS)

    @rule(content=st.sampled_from(["# A\n", "# B\n"]), name=st.sampled_from(["log.md", "other.md"]))
    def edit(self, content: str, name: str) -> None:
        content = f"{content}\n## Log\n\n- by hand {self.world.ids.count}\n"
        self._correct(lambda process, author: corrections.write_file(process, author, SPACE, name, content, None))

    @rule(name=st.sampled_from(["log.md", "other.md"]))
    def delete_file(self, name: str) -> None:
        self._correct(lambda process, author: corrections.delete_file(process, author, SPACE, name, None))

    @rule(name=st.sampled_from(["log.md", "other.md"]))
    def edit_section(self, name: str) -> None:
        edit = Edit("append_to_section", "## Log", f"- corrected {self.world.ids.count}")
        self._spawn(
            "agent",
            lambda actor: corrections.edit_sections(actor.process, EVERYONE, SPACE, name, [edit], "it was wrong"),
            HTTP_SECONDS,
        )

    @rule(text=st.sampled_from(["Keep a log.", "Keep two logs."]))
    def change_rules(self, text: str) -> None:
        self._correct(lambda process, author: rules.change(process, author, SPACE, NewRules(text)))

    @rule(threshold=st.sampled_from([0, THRESHOLD]), resume=st.booleans())
    def patch(self, threshold: int, resume: bool) -> None:
        wanted = SpaceChange(threshold=threshold, auto_paused=False if resume else None)
        self._spawn("patch", lambda actor: space_change.change(actor.process, EVERYONE, SPACE, wanted), HTTP_SECONDS)

    @rule(back=st.integers(0, 1))
    def undo(self, back: int) -> None:
        head = heads.find(self.world.process, SPACE)
        number = (head.meta.changes if head else 1) - back
        self._correct(lambda process, author: undoing.undo(process, author, SPACE, number))

    @rule(luck=st.integers(0, 7))
    def delete_space(self, luck: int) -> None:
        if luck:
            return
        self._spawn(
            "deletion",
            lambda actor: life.delete(actor.process, SPACE, SPACE),
            HTTP_SECONDS,
        )

    @rule()
    def sweep(self) -> None:
        self._spawn("sweep", self._sweep, WORK_SECONDS)

    # How time and fate treat them

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

    @precondition(lambda self: self.actors)
    @rule(index=which)
    def kill(self, index: int) -> None:
        self._actor(index).kill()
        self._bury()

    @rule(seconds=st.sampled_from([1, 5, 40, 70, 1_000]))
    def pass_time(self, seconds: int) -> None:
        """Time passes, and functions time out: none lives longer than its deadline."""
        self.world.clock.move(seconds)
        for actor in self.actors:
            if actor.deadline <= self.world.clock():
                actor.kill()
        self._bury()

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        for actor in self.actors:
            actor.kill()
        world = self.world
        world.new_process()
        for _ in range(3):
            world.settle()
            world.clock.move(1_200)
            world.sweep()
        world.settle()
        found = self._audit()
        plans = [key for key in found.left_behind if key.endswith(".plan.json")]
        assert found.left_behind == plans, found
        assert replace(found, left_behind=[]).clean(), found
        # Lambda tries what died again; late, and even what did not die. Only then must nothing at all be left.
        world.queued.extend(self.delivered)
        world.settle()
        found = self._audit()
        assert found.clean(), found
        assert not self.repeated, f"the LLM was asked again for committed notes: {self.repeated}"

    def _audit(self) -> Audit:
        objects = self.world.inner.objects
        uid = self._uid()
        expected = [note_id for note_id, life in self.acknowledged.items() if life == uid]
        return audit(objects, SPACE, expected)

    # Helpers

    def _uid(self) -> str | None:
        head = heads.find(self.world.process, SPACE)
        return head.meta.uid if head else None

    def _try(self, action: Any) -> None:
        try:
            action()
        except LiveMemoryError:
            return

    def _actor(self, index: int) -> Actor:
        return self.actors[index % len(self.actors)]

    def _bury(self) -> None:
        for actor in self.actors:
            if actor.done and actor.error is not None and not isinstance(actor.error, LiveMemoryError):
                raise actor.error
        self.actors = [actor for actor in self.actors if not actor.done]

    def _spawn(self, name: str, work: Any, seconds: int) -> None:
        if len(self.actors) < MOST_ACTORS:
            deadline = self.world.clock() + timedelta(seconds=seconds)
            self.actors.append(Actor(name, self.world, work, deadline))

    def _correct(self, action: Any) -> None:
        self._spawn("editor", lambda actor: action(actor.process, "admin"), HTTP_SECONDS)

    def _sweep(self, actor: Actor) -> Any:
        return sweeping.sweep(actor.process, deadline=actor.deadline)

    def _committed(self) -> set[str]:
        """The contents of the notes that a committed change has folded, be it applied or not. Contents are unique."""
        objects = self.world.inner.objects
        records = records_of(objects, SPACE)
        head = heads.find(self.world.process, SPACE)
        run_id = head.meta.committed_run if head else None
        if run_id and run_id not in {record.run_id for record in records}:
            records.append(Record.from_bytes(objects[f"{SPACE}/_runs/{run_id}.plan.json"].body))
        return {source.raw.partition("---\n\n")[2] for record in standing(records) for source in record.notes}

    def _consolidate(self, actor: Actor, payload: dict[str, Any]) -> runs.Run | None:
        committed = self._committed()

        def ask(
            messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None
        ) -> Reply:
            actor.pause()
            prompt = read_prompt(messages)
            # What was committed before this process began and still is must not be asked for again.
            still = committed & self._committed()
            self.repeated.extend(note["content"] for note in prompt["notes"] if note["content"] in still)
            return Reply(append_everything(prompt))

        process = replace(actor.process, ask=ask)
        return consolidation.consolidate(
            process, payload["space_id"], payload["run_id"], payload["uid"], deadline=actor.deadline
        )
