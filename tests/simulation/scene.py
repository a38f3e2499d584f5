"""What a kind of work brings to the simulation: scenes, in which its actions are done and checked.

A scene is a world (tests/support/world.py) with what its users were told. Kills (kills.py), pairs (pairs.py) and random
histories (histories.py) do the actions, disturb them, let the scene come to rest, and ask it what is wrong.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, ClassVar, Self

from livemem.errors import LiveMemoryError
from livemem.process import Process
from livemem.store import due_keys
from tests.support.actors import Actor
from tests.support.counting import READS, Killed
from tests.support.faults import FAULTS, Fault
from tests.support.world import INVOCATION, Invocation, World

SPACE = "demo"
HTTP_SECONDS, SWEEP_SECONDS, WORK_SECONDS = 29.0, 300.0, 900.0
"""How long a function may live that answers a request, sweeps, or works off an invocation."""


class Scene:
    """A world in which a kind acts. What a subclass keeps in lists, sets and dicts goes its own way in a fork.

    `run`: the invocation that is worked off. `failed`: whoever acted died or got an error.
    """

    world_type: ClassVar[type[World]] = World
    recoveries: ClassVar[tuple[str, ...]] = ("repeat", "nobody")
    """Methods: what may happen after a fault."""
    faults: ClassVar[tuple[Fault, ...]] = FAULTS

    unconditional: ClassVar[tuple[str, ...]] = tuple(READS.values())
    """Verbs of requests that are never answered with a condition that did not hold, unless it is so."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.run: Invocation | None = None
        self.failed = False

    @classmethod
    def new(cls) -> Self:
        """One in which nothing was done yet."""
        return cls(cls.world_type())

    def fork(self) -> Self:
        """One that goes on from here on its own."""
        twin = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | set | list):
                setattr(twin, name, copy(value))
        twin.world = self.world.fork()
        return twin

    def state(self) -> Hashable:
        """All that what happens from here on depends on, where nobody is at work."""
        return self.world.state(), *(_frozen(value) for name, value in sorted(vars(self).items()) if name != "world")

    def may_meet(self, fault: Fault, verb: str) -> bool:
        """Whether a request can go wrong so, and not as another fault has it: a read that was done changes nothing."""
        if fault.status in {409, 412}:
            return verb not in self.unconditional
        return not fault.done or verb not in READS.values()

    def prepare(self, action: "Action") -> None:
        """Make the scene what it is just before the action."""
        action.before(self)
        if action.marks:
            self.world.store.delete_many(self.world.keys(due_keys.DUE))

    def do(self, action: "Action") -> Any:
        """Do it with the world's present process."""
        return action.work(self, self.world.process, self.world.clock() + INVOCATION)

    def attempt(self, action: "Action") -> bool:
        """Do it; False if whoever does it dies or gets an error."""
        try:
            self.do(action)
        except (Killed, LiveMemoryError):
            return False
        return True

    def begin(self, action: "Action") -> None:
        """Called before a fault: what has to be remembered of how it was."""

    def struck(self, action: "Action") -> None:
        """Called after a fault, with `failed`. The function service delivers again what failed."""
        if action.works and self.failed and self.run:
            self.world.retry(self.run)

    def enter(self, action: "Action") -> Actor:
        """Let somebody begin the action, as far as to the first request. No two begin in the same moment."""
        self.world.pass_time(0.5)
        deadline = self.world.clock() + timedelta(seconds=action.seconds)
        actor = Actor(
            action.name,
            self.world,
            lambda actor: action.work(self, actor.process, actor.until),
            deadline,
            skew=action.skew,
        )
        actor.step()
        return actor

    def left(self, action: "Action", actor: Actor) -> None:
        """Called when an actor has ended; raises what no caller expects."""
        if actor.error and not isinstance(actor.error, LiveMemoryError):
            raise actor.error
        if action.works and self.run and (actor.error or actor.killed):
            self.world.retry(self.run)

    # Ways to recover: each returns what was wrong in it.

    def repeat(self, action: "Action") -> list[str]:
        """The caller repeats; that may be refused."""
        self.attempt(action)
        return []

    def nobody(self, action: "Action") -> list[str]:
        """Nobody does anything: the schedules come by."""
        return []

    # The oracle

    def seen(self) -> list[str]:
        """What is wrong as soon as nobody works any more, with whatever is left half done."""
        return []

    def rest(self) -> list[str]:
        """Let all come to rest by what would happen by itself; what was wrong on the way and is at the end."""
        raise NotImplementedError


def _frozen(value: Any) -> Hashable:
    if isinstance(value, dict):
        return frozenset((key, _frozen(one)) for key, one in value.items())
    if isinstance(value, set):
        return frozenset(map(_frozen, value))
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value  # type: ignore[no-any-return]


Before = Callable[[Any], None]
"""Makes a scene what it is just before something."""


def nothing(scene: Scene) -> None:
    """Nothing was before."""


@dataclass(frozen=True)
class Action:
    """What somebody does in a scene with a process until a moment, within `seconds`, on a clock that is off by `skew`.

    `pace` seconds pass after each request. `works`: it works off an invocation, which is delivered again if it failed.
    `marks`: no sign of before tells anybody that there is work, so that it has to leave its own; `unheard`: before it
    does so and begins anything nothing tells that the space is due.
    """

    name: str
    work: Callable[[Any, Process, datetime], Any]
    before: Before = nothing
    works: bool = False
    marks: bool = False
    unheard: bool = False
    seconds: float = HTTP_SECONDS
    skew: float = 0
    pace: float = 0

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Sampled:
    """How much of a kind `make test` plays: every so many-th kill, and turn of pairs; so many histories."""

    kills: int = 331
    turns: int = 83
    histories: int = 9


@dataclass(frozen=True)
class Kind:
    """A kind of work. `small` has (module, name, value): limits that are so small here that little reaches them."""

    name: str
    scene: type[Scene]
    actions: tuple[Action, ...] = ()
    pairs: tuple[Any, ...] = ()
    histories: tuple[Any, ...] = ()
    extras: tuple[tuple[str, Callable[[int], list[str]], int], ...] = ()
    """What else is played: a name, what is wrong after its play of a number, and how many `make proof` plays."""
    columns: tuple[str, ...] = ("wrong",)
    """What a finding may begin with, before a colon; by default all are counted in one column."""
    small: tuple[tuple[Any, str, Any], ...] = ()
    sampled: Sampled = Sampled()

    def __str__(self) -> str:
        return self.name

    @contextmanager
    def limits(self) -> Iterator[None]:
        """The small limits hold within."""
        usual = [(module, name, getattr(module, name)) for module, name, _ in self.small]
        for module, name, value in self.small:
            setattr(module, name, value)
        try:
            yield
        finally:
            for module, name, value in usual:
                setattr(module, name, value)


def prepared(kind: Kind, *actions: Action) -> Scene:
    """A scene just before these actions, with a fresh process; to be forked."""
    scene_type: Any = kind.scene
    return _prepared(scene_type, tuple(dict.fromkeys(actions)))


@cache
def _prepared(scene_type: Any, actions: tuple[Action, ...]) -> Scene:
    if not actions:
        fresh: Scene = scene_type.new()
        return fresh
    scene = _prepared(scene_type, actions[:-1]).fork()
    scene.prepare(actions[-1])
    scene.world.new_process()
    return scene
