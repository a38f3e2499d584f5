"""Kills or breaks an action at every single request to the store, lets it recover, and looks what is wrong then."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import groupby

from tests.simulation.scene import Action, Kind, Scene, prepared
from tests.support.counting import WRITES
from tests.support.faults import KILLS, Fault
from tests.support.world import World

Found = tuple[str, list[str]]
"""What happened, and what is wrong after it."""
Case = tuple[int, Fault, str]
"""The request, how it goes wrong, and the way to recover."""
_SETTLED: dict[Hashable, list[str]] = {}
"""What came of the states that were checked before."""
NewScene = Callable[[], Scene]


def requests(scene: Scene, action: Action) -> list[str]:
    """The verbs of the requests that the action makes undisturbed, in a scene just before it. It may be refused."""
    scene.world.new_process()
    scene.attempt(action)
    return [verb for verb, _ in scene.world.client.requests]


def kill(kind: Kind, action: Action, every: int = 1) -> Iterator[Found]:
    """Every fault at every request, and every way to recover; or every so many-th, in each action other ones."""
    with kind.limits():
        cases = _cases(kind, action)
        yield from _played(kind, action, cases[sum(str(action).encode()) % min(every, len(cases)) :: every])


def kill_each(kind: Kind, action: Action) -> Iterator[Found]:
    """Both kills at every request; the ways to recover take turns with what was written till then."""
    with kind.limits():
        ways = kind.scene.recoveries
        writes = [verb in WRITES.values() for verb in requests(prepared(kind, action).fork(), action)]
        yield from _played(
            kind,
            action,
            [
                (point, fault, how)
                for point, fault, how in _cases(kind, action)
                if fault in KILLS and how == ways[(sum(writes[:point]) + fault.done) % len(ways)]
            ],
        )


def _cases(kind: Kind, action: Action) -> list[Case]:
    base = prepared(kind, action)
    return [
        (point, fault, how)
        for point, verb in enumerate(requests(base.fork(), action))
        for fault in kind.scene.faults
        if base.may_meet(fault, verb)
        for how in kind.scene.recoveries
    ]


def _played(kind: Kind, action: Action, cases: Iterable[Case]) -> Iterator[Found]:
    base = prepared(kind, action)
    for (point, fault), ways in groupby(cases, key=lambda case: case[:2]):
        struck = strike(base.fork(), action, fault, point)
        for _, _, how in ways:
            where = f"{action}: {fault.name} request {point}, then {how}"
            yield where, settled(struck.fork, action, how, struck.state())


def strike(scene: Scene, action: Action, fault: Fault, point: int) -> Scene:
    """Do the action in a scene just before it; the scene afterwards, in which nobody is at work."""
    scene.world.new_process()
    scene.begin(action)
    fault.arm(scene.world, point)
    scene.failed = not scene.attempt(action)
    scene.world.new_process()
    scene.struck(action)
    return scene


def settled(fork: NewScene, action: Action, how: str, state: Hashable = None) -> list[str]:
    """What is wrong after a recovery, when all has come to rest. Many faults leave one state: what follows is then the
    same, and not played again.
    """
    key = action, how, state
    if state is None or key not in _SETTLED:
        scene = fork()
        wrong = scene.seen()
        if scene.failed or not action.works:
            wrong = wrong + getattr(scene, how)(action)
        wrong = wrong + scene.rest()
        if state is None:
            return wrong
        _SETTLED[key] = wrong
    return _SETTLED[key]


def on_store(kind: Kind, action: Action, fault: Fault, how: str, point: int, world: Callable[[], World]) -> list[str]:
    """One crash in a world on a real store, an empty one."""
    scene = kind.scene(world())
    scene.prepare(action)
    struck = strike(scene, action, fault, point)
    return settled(lambda: struck, action, how)
