"""Random histories: whoever works on a space interleaves at single requests; processes die or stall, answers get lost,
writes and invocations come late, several times or not at all, clocks differ, the model fails. At the end all comes to
rest and is checked.

A kind says what its users and schedules do; what time and fate do to them is the same for all.
"""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from typing import Any, ClassVar

from livemem.errors import LiveMemoryError
from livemem.process import Process
from tests.simulation.choices import Choices, chance
from tests.simulation.scene import HTTP_SECONDS, WORK_SECONDS, Kind, Scene
from tests.support.actors import Actor, Listing
from tests.support.counting import Request
from tests.support.world import INVOCATION, Invocation, World

Work = Callable[[Process, datetime], Any]
Step = tuple[Callable[[], Any], int]
"""What may happen next, and how often it does."""


class History:
    """One history of a kind. A `calm` one has no faults, and clocks that agree."""

    has_calm: ClassVar[bool] = True
    """Whether calm ones prove more than others do."""
    reuses: ClassVar[bool] = False
    """Whether processes go on with what they know."""
    begins: ClassVar[int] = 1
    """How many different scenes there are to begin with."""
    most_actors: ClassVar[int] = 5
    most_turns: ClassVar[int] = 40
    skews: ClassVar[tuple[float, ...]] = (0, 0, 30, 120, 300, -30, -120, -300)
    """By how many seconds the clock of every other process is off."""
    length: ClassVar[tuple[int, int]] = (6, 14)
    times: ClassVar[tuple[float, ...]] = (1, 20, 100, 400, 1_000, 1_500)

    def __init__(self, kind: Kind, choices: Choices, *, calm: bool = False, world: World | None = None) -> None:
        self.choices, self.calm, self.remote = choices, calm, world is not None
        place = choices.number(0, self.begins - 1)
        mine: Any = type(self)
        scene_type: Any = kind.scene
        self.scene: Any = begun(mine, scene_type, place).fork() if world is None else kind.scene(world)
        if world is not None:
            self.begin(self.scene, place)
        self.world: Any = self.scene.world
        # What is written at once may come late as well.
        self.world.client.carry = self._carry
        self.skew: float = 0 if calm else choices.pick(self.skews)
        self.actors: list[Actor] = []
        self.idle: list[Actor] = []
        self.invocations: dict[Actor, Invocation] = {}
        self.spawned = 0
        self.done: Counter[str] = Counter()

    # What a kind brings

    @classmethod
    def begin(cls, scene: Any, place: int) -> None:
        """What was before, in one of `begins` ways."""

    def steps(self) -> list[Step]:
        """What its users, events and schedules do."""
        raise NotImplementedError

    def first(self) -> None:
        """What happens in each history, at its beginning."""

    def work(self, invocation: Invocation, process: Process, until: datetime) -> Any:
        """Work off an invocation."""
        return self.world.work(invocation, process, until)

    def end(self) -> list[str]:
        """What is wrong when all have ended."""
        wrong: list[str] = self.scene.seen()
        return wrong + self.scene.rest()

    # How it is played

    def play(self) -> list[str]:
        """Let it happen; what is wrong at the end."""
        steps = [*self.steps(), (self.step, 5), (self.pass_time, 4)]
        if not self.calm:
            steps += [(self.kill, 2), (self.lose, 3), (self.repeat, 2), (self.lose_queued, 1), (self.break_model, 1)]
        wheel = [step for step, weight in steps for _ in range(weight)]
        self.first()
        for _ in range(self.choices.number(*self.length)):
            step = self.choices.pick(wheel)
            self.done[step.__name__] += 1
            step()
            self.after()
        for actor in list(self.actors):
            if self.calm or chance(self.choices, 70):
                actor.finish()
            else:
                actor.kill()
        self._bury()
        return self.end()

    def after(self) -> None:
        """Called after each step."""

    # What time and fate do

    def step(self) -> None:
        if self.actors:
            self._step(self.choices.pick(self.actors))

    def pass_time(self) -> None:
        """Time passes, and who takes too long is ended; calm ones end before that by themselves. In some, workers do
        not even renew their leases.
        """
        seconds = self.choices.pick(self.times)
        end = self.world.clock() + timedelta(seconds=seconds)
        beating = self.calm or not chance(self.choices, 30)
        if self.calm:
            self.finish_all()
        while due := [actor.deadline for actor in self.actors if actor.deadline <= end]:
            self.world.pass_time((min(due) - self.world.clock()).total_seconds(), beating=beating)
            for actor in self.actors:
                if actor.deadline <= self.world.clock():
                    actor.kill()
            self._bury()
        self._bury()
        self.world.pass_time((end - self.world.clock()).total_seconds(), beating=beating)
        self.world.expire()

    def kill(self) -> None:
        if self.actors:
            self.choices.pick(self.actors).kill()
            self._bury()

    def lose(self) -> Actor | None:
        """The answer to somebody's next write gets lost."""
        if not self.actors:
            return None
        actor = self.choices.pick(self.actors)
        actor.loses = self.choices.pick(("again", "again", "for good", "hangs"))
        while not actor.done and actor.loses:
            actor.step()
        self._bury()
        return actor

    def repeat(self) -> None:
        """A write of before reaches the store once more."""
        sent = self.world.repeatable()
        if sent:
            self.world.repeat(self.choices.pick(sent))

    def lose_queued(self) -> None:
        """All deliveries of an invocation fail before they begin."""
        if self.world.queued:
            del self.world.queued[self.choices.number(0, len(self.world.queued) - 1)]

    def break_model(self) -> None:
        """The LLM does not answer so many questions."""
        self.world.llm.fails = self.choices.number(1, 4)

    def deliver(self) -> None:
        """A queued invocation is delivered, in any order, sometimes several times at once and not for the last time."""
        queued = self.world.queued
        if not queued:
            return
        invocation = self.choices.pick(queued)
        if not chance(self.choices, 20):
            queued.remove(invocation)
        for _ in range(self.choices.pick((1, 1, 1, 2, 3, 5))):
            self.spawn(
                "worker", lambda process, until: self.work(invocation, process, until), WORK_SECONDS, of=invocation
            )

    # Helpers

    def finish_all(self) -> None:
        """Let all that are at work end."""
        for actor in list(self.actors):
            actor.finish()
        self._bury()

    def _carry(self, request: Request) -> Any:
        self.world.note_sent(request)
        return request.send(self.world.inner)

    def spawn(
        self, name: str, work: Work, seconds: float = HTTP_SECONDS, *, of: Invocation | None = None, go: bool = True
    ) -> Actor:
        """Let a process begin, and do a part of its work or all. Where there are many the oldest has to end first."""
        if len(self.actors) == self.most_actors:
            self.actors[0].finish()
            self._bury()
        self.world.pass_time(0.25)
        deadline = self.world.clock() + min(timedelta(seconds=seconds), INVOCATION)
        if self.idle and chance(self.choices, 60):
            actor = self.idle.pop(self.choices.number(0, len(self.idle) - 1))
            actor.go_on(lambda actor: work(actor.process, actor.until), deadline)
        else:
            self.spawned += 1
            lists: Listing = "at once" if self.calm else self.choices.pick(("at once", "at once", "begin", "end"))
            skew = self.skew if self.spawned % 2 else 0
            done = lambda actor: work(actor.process, actor.until)  # noqa: E731
            actor = Actor(name, self.world, done, deadline, skew=skew, lists=lists)
        self.actors.append(actor)
        if of is not None:
            self.invocations[actor] = of
        if go:
            self._step(actor)
        return actor

    def _step(self, actor: Actor) -> None:
        if chance(self.choices, 50):
            actor.step(self.choices.number(1, self.most_turns))
        else:
            actor.finish()
        self._bury()

    def _bury(self) -> None:
        ended = [actor for actor in self.actors if actor.done]
        self.actors = [actor for actor in self.actors if not actor.done]
        for actor in ended:
            if actor.error and not isinstance(actor.error, LiveMemoryError):
                raise actor.error
            if actor in self.invocations and (actor.killed or actor.error):
                self.world.retry(self.invocations[actor])
            if self.reuses and not actor.killed:
                self.idle.append(actor)


@cache
def begun(history: Any, scene_type: Any, place: int) -> Scene:
    """A scene in which a history may begin; to be forked."""
    scene: Scene = scene_type.new()
    history.begin(scene, place)
    return scene


def play(kind: Kind, history: type[History], choices: Choices, **how: Any) -> list[str]:
    """What is wrong after a history."""
    with kind.limits():
        return history(kind, choices, **how).play()
