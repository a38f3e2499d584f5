"""Restores and forks that are killed or fail at any request, or meet something else half-way: the target is whole, as
an undisturbed one leaves it, or it is not there at all; and nobody ever sees it otherwise.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from functools import cache
from typing import Any

from livemem.arrivals import bringing, fork, restore
from livemem.backups import catalog
from livemem.consolidation import pipeline as consolidation
from livemem.errors import LiveMemoryError
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import life
from livemem.store import keys, timing
from tests.support.actors import Actor
from tests.support.audit import audit, records_of
from tests.support.counting import Killed
from tests.support.crash import Fault
from tests.support.rest import check_alive, check_rest
from tests.support.whole import Kept, differences, objects
from tests.support.world import EVERYONE, INVOCATION, World

NOTES = 2
ROUNDS = (1_000, 1_000, 3_700)
"""Seconds before each sweep: nobody works any more on what was begun, and nothing waits in a queue."""
REQUEST = timedelta(seconds=20)
"""What a request over HTTP gives to such work."""
Act = Callable[[World, Process], Any]


@dataclass(frozen=True)
class Bringing:
    """What brings a space to `target`."""

    name: str
    prepare: Callable[[World], None]
    act: Act
    target: str = "other"

    def world(self) -> World:
        """The world just before it."""
        return _prepared(self).fork()

    def points(self) -> range:
        """The requests that it makes undisturbed, but for those of the backup that a fork takes."""
        keys_asked = [key for _, key in _undisturbed(self).client.requests]
        backup = [index for index, key in enumerate(keys_asked) if key == keys.lease("demo")]
        return range(max(backup, default=0), len(keys_asked))

    def whole(self) -> Mapping[str, Kept]:
        """What it leaves undisturbed."""
        return _whole(self)


def _folded(world: World, times: int = 1) -> None:
    world.create_space()
    for _ in range(times):
        for _ in range(NOTES):
            world.note(f"note {world.ids.count}")
        world.clock.move(2)
        world.consolidate()
        world.clock.move(2)
    world.note(f"live {world.ids.count}")
    world.clock.move(2)


def _backed_up(world: World) -> None:
    _folded(world)
    world.back_up()
    world.clock.move(60)


def _deleted(world: World) -> None:
    _backed_up(world)
    life.delete(world.process, "demo", "demo")
    world.clock.move(life.TOMBSTONE_LIFE.total_seconds())


def _twice(world: World) -> None:
    _folded(world, 2)


def _first_backup() -> str:
    return catalog.ids(_prepared(RESTORE_OTHER).process, "demo")[0]


def _restore(target: str) -> Act:
    def act(world: World, process: Process) -> Any:
        backup_id = _first_backup()
        head = restore.order(process, EVERYONE, "demo", backup_id, target)
        return bringing.carry_on(process, head, world.clock() + INVOCATION)

    return act


def _fork(at: int | None) -> Act:
    def act(world: World, process: Process) -> Any:
        # Who waits for a busy space lets time pass.
        process = replace(process, store=replace(process.store, sleep=world.clock.move))
        head = fork.order(process, EVERYONE, "demo", "other", at, world.clock() + REQUEST)
        return bringing.carry_on(process, head, world.clock() + INVOCATION)

    return act


RESTORE = Bringing("restore under the same id", _deleted, _restore("demo"), "demo")
RESTORE_OTHER = Bringing("restore under another id", _backed_up, _restore("other"))
FORK = Bringing("fork", _twice, _fork(None))
FORK_AT = Bringing("fork at a change", _twice, _fork(1))
ALL = (RESTORE, RESTORE_OTHER, FORK, FORK_AT)


@cache
def _prepared(bringing: Bringing) -> World:
    world = World()
    bringing.prepare(world)
    world.store.delete_many(world.keys(keys.MARKERS))
    return world


@cache
def _undisturbed(bringing: Bringing) -> World:
    world = bringing.world()
    bringing.act(world, world.process)
    return world


@cache
def _whole(bringing: Bringing) -> Mapping[str, Kept]:
    return objects(_undisturbed(bringing), bringing.target)


def seen(world: World, bringing: Bringing, wholes: tuple[Mapping[str, Kept], ...] = ()) -> list[str]:
    """What is wrong with what users see of the target: it is whole, in one of these ways, or not there."""
    if not heads.find(world.with_parts(), bringing.target):
        return []
    there, ways = objects(world, bringing.target), wholes
    if wholes:
        # Runs may be at work meanwhile: the audit tells whether they are right at last.
        there, *ways = [_without_runs(one) for one in (there, *wholes)]  # type: ignore[assignment]
    wrong = [differences(one, there, bringing.target, bringing.target) for one in ways or (bringing.whole(),)]
    return [] if [] in wrong else [f"seen half: {wrong}"]


def _without_runs(whole: Mapping[str, Kept]) -> dict[str, Kept]:
    return {name: kept for name, kept in whole.items() if not name.startswith("_runs/")}


def come_to_rest(world: World, bringing: Bringing, wholes: tuple[Mapping[str, Kept], ...] = ()) -> list[str]:
    """Let happen what would happen by itself, and give it time; what was wrong on the way and is at the end."""
    found = []
    for seconds in ROUNDS:
        world.settle()
        found += seen(world, bringing, wholes)
        world.pass_time(seconds)
        world.sweep()
    world.settle()
    world.pass_time(7_200)
    world.sweep_all()
    found += seen(world, bringing, wholes)
    head = heads.find_any(world.process, bringing.target)
    if head and head.meta.arriving():
        found.append("nobody goes on with it")
    if not head or head.meta.deleted_at:
        found += [f"{key} was left" for key in world.keys(keys.prefix(bringing.target)) if not key.endswith(keys.META)]
    if heads.find(world.process, bringing.target):
        live = world.live_ids(bringing.target)
        at_rest = check_rest(world, bringing.target, live) + check_alive(world, bringing.target)
        found += [] if at_rest.clean() else [str(at_rest)]
    return found


def crash(bringing: Bringing, fault: Fault, point: int, *, repeats: bool) -> list[str]:
    """One fault at request `point`, and then the same call again, or the sweep alone: what is wrong."""
    world = bringing.world()
    before = _unleased(world)
    fault.arm(world, point)
    failed = False
    try:
        bringing.act(world, world.process)
    except (Killed, LiveMemoryError):
        failed = True
    world.new_process()
    state = (bringing, repeats, failed, world.state())
    if state not in _RECOVERED:
        _RECOVERED[state] = _recovered(world, bringing, before, failed=failed, repeats=repeats)
    return _RECOVERED[state]


_RECOVERED: dict[Hashable, list[str]] = {}


def _recovered(
    world: World, bringing: Bringing, before: Mapping[str, Kept], *, failed: bool, repeats: bool
) -> list[str]:
    found = seen(world, bringing)
    head = heads.find_any(world.process, bringing.target)
    begun = bool(head and (head.meta.arriving() or not head.meta.deleted_at))
    if failed and repeats:
        found += _repeat(world, bringing)
    elif failed and not begun:
        # What the sweep of once a day finds alone: a marker may be what failed.
        world.pass_time(1_000)
        world.sweep_all()
    if bringing.target != "demo":
        found += differences(before, _unleased(world), "demo", "demo")
    found += come_to_rest(world, bringing)
    there = bool(heads.find(world.process, bringing.target))
    expected = begun or repeats or not failed
    return found + ([] if there is expected else [f"it is {'there' if there else 'not there'}"])


def _unleased(world: World) -> dict[str, Kept]:
    """The source; the lease of a backup that failed may lie there."""
    return {name: kept for name, kept in objects(world, "demo").items() if name != "_lease.json"}


def _repeat(world: World, bringing: Bringing) -> list[str]:
    """The client asks again until it is told that the space is there."""
    for _ in range(3):
        try:
            bringing.act(world, world.process)
        except LiveMemoryError as error:
            if error.code == "space_exists":
                return []
            # A lease of the one that died.
            world.pass_time(120)
        else:
            return seen(world, bringing)
    return ["it does not succeed"]


@dataclass(frozen=True)
class Meeting:
    """What else happens while a space is brought; the target may then be whole in any of `wholes`, or not there."""

    name: str
    bringing: Bringing
    other: Act
    before: Callable[[World], None] = lambda world: None
    wholes: Callable[[World], list[Mapping[str, Kept]]] = lambda world: []
    gap: float = 0
    """Seconds for which the one stands still that is overtaken."""
    stride: int = 1
    """How many requests lie between two points at which one stands still."""

    def world(self) -> World:
        world = self.bringing.world()
        self.before(world)
        return world

    def actors(self, world: World) -> tuple[Actor, Actor]:
        """Both, before their first request."""
        until = world.clock() + INVOCATION
        acts = (self.bringing.act, self.other)
        first, second = (
            Actor(name, world, lambda actor, act=act: act(world, actor.process), until)  # type: ignore[misc]
            for name, act in zip(("bringing", "other"), acts, strict=True)
        )
        return first, second

    def play(self) -> Iterator[tuple[str, list[str]]]:
        """Each overtakes the other at each of its requests; and they take turns."""
        for index in range(0, 1_000, self.stride):
            for overtaken in (0, 1):
                world = self.world()
                actors = self.actors(world)
                standing, passing = actors[overtaken], actors[1 - overtaken]
                standing.step(index)
                ended = standing.done
                world.pass_time(self.gap)
                passing.finish()
                found = self._checked(world, actors)
                standing.finish()
                yield f"{standing.name} stands before request {index}", found + self._end(world, actors)
                if ended and overtaken:
                    return

    def turns(self) -> Iterator[tuple[str, list[str]]]:
        """They take turns; one is so many requests ahead."""
        for ahead in range(0, 24, 4):
            world = self.world()
            actors = self.actors(world)
            actors[0].step(ahead)
            while not all(actor.done for actor in actors):
                for actor in actors:
                    actor.step()
            yield f"turns, {ahead} ahead", self._end(world, actors)

    def _ways(self, world: World) -> tuple[Mapping[str, Kept], ...]:
        return (self.bringing.whole(), *self.wholes(world))

    def _checked(self, world: World, actors: tuple[Actor, Actor]) -> list[str]:
        return seen(world, self.bringing, self._ways(world))

    def _end(self, world: World, actors: tuple[Actor, Actor]) -> list[str]:
        for actor in actors:
            if actor.error and not isinstance(actor.error, LiveMemoryError):
                raise actor.error
        ways = self._ways(world)
        world.new_process()
        state = (self, world.state())
        if state not in _RECOVERED:
            _RECOVERED[state] = seen(world, self.bringing, ways) + come_to_rest(world, self.bringing, ways)
        return _RECOVERED[state]


def _create(world: World, process: Process) -> Any:
    return life.create(process, EVERYONE, life.NewSpace("other", rules="Others."))


def _created(world: World) -> list[Mapping[str, Kept]]:
    head = heads.find(world.with_parts(), "other")
    if not head or head.meta.arrival:
        return []
    alone = World()
    _create(alone, alone.process)
    return [objects(alone, "other")]


def _remove_backup(world: World, process: Process) -> Any:
    catalog.remove(process, "demo", _first_backup())


def _restore_later_backup(world: World, process: Process) -> Any:
    backup_id = catalog.ids(process, "demo")[-1]
    head = restore.order(process, EVERYONE, "demo", backup_id, "other")
    return bringing.carry_on(process, head, world.clock() + INVOCATION)


def _second_backup(world: World) -> None:
    world.note("one more")
    world.clock.move(2)
    world.back_up()
    world.clock.move(2)


@cache
def _of_the_second_alone() -> Mapping[str, Kept]:
    twin = RESTORE_OTHER.world()
    _second_backup(twin)
    _restore_later_backup(twin, twin.process)
    return objects(twin, "other")


def _of_the_second(world: World) -> list[Mapping[str, Kept]]:
    return [_of_the_second_alone()]


def _ordered(world: World) -> None:
    world.order()


def _consolidate(world: World, process: Process) -> Any:
    run = next(waiting for waiting in world.queued if "run_id" in waiting)
    return consolidation.consolidate(process, "demo", run["run_id"], run["uid"], deadline=world.clock() + INVOCATION)


def _as_its_records_say(world: World) -> list[Mapping[str, Kept]]:
    """When the run commits, and so what a fork holds, is a matter of time: so it is what its records say, and none of
    the notes is lost.
    """
    if not heads.find(world.with_parts(), "other"):
        return []
    found = audit(world.inner.objects, "other", _notes_of_the_source())
    running = {"wrong_runs", "left_behind"}
    wrong = [str(found) for one in fields(found) if one.name not in running and getattr(found, one.name)]
    return [] if wrong else [objects(world, "other")]


@cache
def _notes_of_the_source() -> tuple[str, ...]:
    world = _prepared(FORK)
    folded = [source.note_id for record in records_of(world.inner.objects, "demo") for source in record.notes]
    return (*world.live_ids("demo"), *folded)


def _hand_over(world: World, process: Process) -> Any:
    head = heads.find_any(process, "other")
    if head and head.meta.arriving():
        assert head.meta.arrival
        payload = {"space_id": "other", "arrival_id": head.meta.arrival.arrival_id}
        bringing.work(process, payload, world.clock() + INVOCATION)


MEETINGS = (
    Meeting("the same restore twice", RESTORE_OTHER, RESTORE_OTHER.act, stride=2),
    Meeting(
        "two restores to one target", RESTORE_OTHER, _restore_later_backup, _second_backup, _of_the_second, stride=3
    ),
    Meeting("restore & creation", RESTORE_OTHER, _create, wholes=_created),
    Meeting("restore & removal of its backup", RESTORE_OTHER, _remove_backup),
    Meeting("restore that stalls & the next worker", RESTORE_OTHER, _hand_over, gap=1_000),
    Meeting("the same fork twice", FORK_AT, FORK_AT.act, stride=5),
    Meeting("fork & consolidation", FORK, _consolidate, _ordered, _as_its_records_say, stride=4),
)
assert timing.DEAD_AFTER.total_seconds() < 1_000
