"""Random histories of one conversation: writers, importers, events, workers, rebuilds, redos, deletions and sweeps that
interleave at single requests; processes that die, answers that get lost, writes that come late, clocks that are off, an
LLM that fails. At the end everything comes to rest by the sweep alone, and is checked.

Each history follows from its number. Used by the tests and by benchmarks/conversations_proof.py.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import cache
from random import Random
from typing import Any

from livemem.conversations import log, maintenance, orders, update
from livemem.conversations.turn import Draft, ToolCall
from livemem.errors import LiveMemoryError
from livemem.store import conversation_keys as keys
from tests.support.actors import Actor
from tests.support.mishaps import Mishaps
from tests.support.talk_proof import SPACE, Scene, check_error, delete
from tests.support.world import INVOCATION, Invocation

MOST_ACTORS = 5
HTTP_SECONDS = 29
STEPS = (6, 14)
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


@cache
def _begun(place: int) -> Scene:
    profile, parameters = PROFILES[place]
    return Scene.new(profile, **parameters)


def play(number: int, *, calm: bool = False) -> tuple[list[str], int, int]:
    """What is wrong after a history; how often the LLM was asked, and how often for what came in the meantime."""
    history = History(number, calm=calm)
    wrong = history.play()
    return [f"history {number}: {one}" for one in wrong], history.scene.model.calls, history.scene.bucket.raced


class History(Mishaps):
    """One history. A `calm` one has no faults, and clocks that agree: there nothing at all may be asked twice."""

    def __init__(self, number: int, *, calm: bool = False) -> None:
        self.random = Random(number)
        self.calm = calm
        self.scene = _begun(self.random.randrange(len(PROFILES))).fork()
        self.scene.late = not calm
        self.world = self.scene.world
        self.skew = 0 if calm else self.random.choice((0, 0, 30, 120, 300, -30, -120, -300))
        self.actors: list[Actor] = []
        self.invocations: dict[Actor, Invocation] = {}
        self.spawned = 0
        self.drafts: list[Draft] = []
        self.trace: list[str] = []

    def play(self) -> list[str]:
        """Let it happen; what is wrong at the end."""
        steps: list[tuple[Callable[[], None], int]] = [
            (self.write, 8),
            (self.append, 6),
            (self.bring, 2),
            (self.close, 1),
            (self.event, 6),
            (self.deliver, 5),
            (self.sweep, 2),
            (self.rebuild, 2),
            (self.redo, 2),
            (self.step, 6),
            (self.pass_time, 4),
        ]
        if not self.calm:
            steps += [(self.kill, 2), (self.lose, 3), (self.repeat, 2), (self.break_model, 2), (self.lose_queued, 1)]
            if self.random.random() < 0.12:
                steps.append((self.delete, 2))
            if self.random.random() < 0.12:
                steps.append((self.erase, 2))
        self.write()
        kinds, weights = zip(*steps, strict=True)
        for step in self.random.choices(kinds, weights, k=self.random.randint(*STEPS)):
            self.trace.append(step.__name__)
            step()
        for actor in list(self.actors):
            if self.calm or self.random.random() < 0.6:
                actor.finish()
            else:
                actor.kill()
            self._bury()
        self.scene.rest()
        wrong = self.scene.check()
        if not wrong and not self.scene.deleted and self.random.random() < 0.1:
            wrong += self._redo_at_rest()
        return wrong

    def _redo_at_rest(self) -> list[str]:
        there = [key for key in self.scene.bucket.objects if self.scene.id in key and "/boundaries/l1/" in key]
        if not there:
            return []
        taken, expected = self.scene.redo_costs(self.random.randint(1, len(there)))
        wrong = [] if taken == expected else [f"a summary made anew took {taken} calls, not {expected}"]
        return wrong + self.scene.check()

    # What users do

    def write(self) -> None:
        """A few turns, at once."""
        if self.scene.deleted:
            return
        for _ in range(self.random.randint(1, 4)):
            self.world.pass_time(self.random.choice((1, 1, 1, 5, 90, 400)))
            self._write(self.world.process, self._draft())

    def append(self) -> None:
        """A turn by somebody who may be interrupted; sometimes one that came before."""
        draft = self.random.choice(self.drafts) if self.drafts and self.random.random() < 0.3 else self._draft()
        self._spawn("append", lambda actor: self._write(actor.process, draft))

    def bring(self) -> None:
        """An import: some lines that came before, and new ones, in any order."""
        old = self.random.sample(self.drafts, min(len(self.drafts), self.random.randint(0, 3)))
        drafts = [*old, *(self._draft() for _ in range(self.random.randint(1, 4)))]
        drafts = [draft for draft in drafts if draft.message_id]
        self.random.shuffle(drafts)

        def work(actor: Actor) -> None:
            done = log.append_all(actor.process, SPACE, self.scene.id, "bob", drafts)
            for one, draft in zip(done, drafts, strict=True):
                self.scene.told[one.turn.message_id] = draft

        self._spawn("import", work)

    def close(self) -> None:
        self._spawn("close", lambda actor: log.close(actor.process, SPACE, self.scene.id, "ann", None))

    def rebuild(self) -> None:
        changes = self.random.choice(REBUILDS)
        self._spawn("rebuild", lambda actor: orders.rebuild(actor.process, SPACE, self.scene.id, None, changes))

    def redo(self) -> None:
        there = [key for key in self.scene.bucket.objects if self.scene.id in key and "/boundaries/l" in key]
        boundary = keys.parse_boundary(self.random.choice(there)) if there else None
        if boundary:
            self._spawn("redo", lambda actor: self.scene.redo(actor.process, boundary.level, boundary.number))

    def delete(self) -> None:
        self._spawn("delete", lambda actor: delete(self.scene, actor.process))

    def erase(self) -> None:
        """One of the turns that there are; it takes an invocation of its own."""
        last = log.last_index(self.world.process, SPACE, self.scene.id)
        if last:
            index = self.random.randint(1, last)
            self._spawn("erasure", lambda actor: self.scene.erase(actor.process, actor.until, index), seconds=900)

    # What events and schedules do

    def event(self) -> None:
        self._spawn(
            "event", lambda actor: self.scene.work(actor.process, actor.until), seconds=INVOCATION.total_seconds()
        )

    def deliver(self) -> None:
        """A queued invocation is delivered, sometimes twice."""
        queued = self.world.queued
        if not queued:
            return self.event()
        invocation = queued[self.random.randrange(len(queued))]
        if self.calm or self.random.random() < 0.8:
            queued.remove(invocation)
        actor = self._spawn(
            "worker",
            lambda actor: update.carry_out(actor.process, invocation, actor.until, invocation.delivery),
            seconds=900,
            steps=0,
        )
        self.invocations[actor] = invocation
        self._step(actor)
        return None

    def sweep(self) -> None:
        self._spawn("sweep", lambda actor: maintenance.start_due(actor.process, actor.until), seconds=300)

    # How time and fate treat them

    def step(self) -> None:
        if self.actors:
            self._step(self.random.choice(self.actors))

    def pass_time(self) -> None:
        """Time passes, and who takes too long is ended. Calm ones end before that by themselves."""
        seconds = self.random.choice((1, 20, 100, 100, 330, 1_000, 1_500))
        end = self.world.clock() + timedelta(seconds=seconds)
        if self.calm:
            self._end_all()
        for actor in [actor for actor in self.actors if actor.deadline <= end]:
            actor.kill()
        self._bury()
        self.world.pass_time(seconds, beating=self.calm or self.random.random() < 0.7)

    def break_model(self) -> None:
        self.scene.model.fails = self.random.randint(1, 3)

    # Helpers

    def _draft(self) -> Draft:
        size = self.random.choice((0, 50, 120, 200, 200, 300, 400, 400, 1_300))
        kind = self.random.random()
        named = kind > 0.15
        more: dict[str, Any] = {}
        if size == 0 or kind > 0.93:
            result = "r" * (40_000 if kind > 0.96 else 30)
            more["tool_calls"] = (ToolCall(name="read", arguments={"path": "src/a.py"}, result=result),)
        draft = self.scene.draft(size, named=named, **more)
        if 0.15 < kind < 0.35:
            role = "user" if kind < 0.25 else "assistant"
            draft = Draft.of_message(role, draft.user_message + draft.assistant_message, message_id=draft.message_id)
        if named:
            self.drafts.append(draft)
        return draft

    def _write(self, process: Any, draft: Draft) -> None:
        with suppress(LiveMemoryError):
            self.scene.append(process, draft)

    def _spawn(
        self, name: str, work: Callable[[Actor], Any], *, seconds: float = HTTP_SECONDS, steps: int | None = None
    ) -> Actor:
        if len(self.actors) == MOST_ACTORS:
            self.actors[0].finish()
            self._bury()
        self.spawned += 1
        self.world.pass_time(0.25)
        actor = Actor(
            name,
            self.world,
            work,
            self.world.clock() + timedelta(seconds=seconds),
            skew=self.skew if self.spawned % 2 else 0,
            lists="at once" if self.calm else self.random.choice(("at once", "at once", "begin", "end")),
        )
        self.scene.model.actors[actor._self] = actor
        self.actors.append(actor)
        if steps is None:
            self._step(actor)
        return actor

    def _step(self, actor: Actor) -> None:
        if self.random.random() < 0.5:
            actor.finish()
        else:
            actor.step(self.random.randint(1, 40))
        self._bury()

    def _end_all(self) -> None:
        for actor in list(self.actors):
            actor.finish()
        self._bury()

    def _bury(self) -> None:
        ended = [actor for actor in self.actors if actor.done]
        self.actors = [actor for actor in self.actors if not actor.done]
        for actor in ended:
            check_error(actor)
            if actor in self.invocations and (actor.killed or actor.error):
                self.world.retry(self.invocations[actor])
