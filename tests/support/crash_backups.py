"""Backups that are killed, or whose requests fail, at every single request, and what else happens to a space meanwhile.

As crash.py and pairs.py do it for what changes a bank. The laws: a complete manifest never stands over missing or other
objects; what is not complete can't be loaded; two daily looks later nothing is left of it; no note is lost, and the
lease is not stuck.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from livemem.backups import catalog, nightly, retention, snapshots
from livemem.backups.snapshots import Wanted
from livemem.bank import corrections
from livemem.errors import LiveMemoryError
from livemem.jobs import lease
from livemem.store import keys
from tests.support import backups, pairs
from tests.support.actors import Actor
from tests.support.audit import audit
from tests.support.counting import Killed
from tests.support.crash import ERRORS, KILLS, Fault, die_behind_the_commit
from tests.support.pairs import Pair, Part, Scene
from tests.support.world import INVOCATION, World

SPACE = "demo"
DAY = 86_400.0
FREE = lease.LIFE.total_seconds() + 1


@dataclass(frozen=True)
class Operation:
    """What is killed: `prepare` makes the world before it. `makes`: when it has succeeded there is a complete backup of
    the space as it is.
    """

    name: str
    prepare: Callable[[World], None]
    act: Callable[[World], Any]
    makes: bool = True


def _used(world: World) -> None:
    world.create_space(SPACE)
    world.note("folded")
    world.consolidate()
    world.note("live")
    world.clock.move(DAY)
    world.sweep_all()


def _backed_up(world: World) -> None:
    _used(world)
    world.back_up(trigger="schedule")
    world.clock.move(DAY)


def _changed(world: World) -> None:
    _backed_up(world)
    corrections.write_file(world.process, "admin", SPACE, "log.md", "# Log\n\n## Log\n\nOther.\n", None)


def _committed(world: World) -> None:
    """A run died just behind its commit."""
    _used(world)
    world.order()
    die_behind_the_commit(world)
    world.clock.move(FREE)


def _several(world: World) -> None:
    """Two that go, one of them of an export, and two that stay."""
    _used(world)
    for number, trigger in enumerate(("schedule", "export", "schedule", "schedule")):
        world.note(f"note {number}")
        world.back_up(trigger=trigger)
        world.clock.move(2 * DAY)


def _begun(world: World) -> None:
    """An unfinished backup, of which the space has changed since."""
    _used(world)
    # No time for more than one batch.
    deadline = world.clock() + timedelta(seconds=1)
    taken = snapshots.take(world.process, SPACE, Wanted("schedule"), deadline=deadline)
    snapshots.queue_rest(world.process, taken.manifest)
    corrections.write_file(world.process, "admin", SPACE, "log.md", "# Log\n\n## Log\n\nOther.\n", None)
    assert taken.result == "unfinished"


def _dead(world: World) -> None:
    """A backup whose worker died long ago."""
    _backed_up(world)
    world.note("one more")
    world.new_process()
    world.client.kill_at(12, done=True)
    with suppress(Killed):
        world.back_up()
    world.new_process()
    assert backups.left_over(world.inner.objects)
    world.clock.move(DAY)


def _scheduled(world: World) -> None:
    payload = {"do": "back_up", "space_id": SPACE, "trigger": "schedule"}
    nightly.back_up(world.process, payload, world.clock() + INVOCATION)


def _retain(world: World) -> None:
    retention.apply(world.process, SPACE, dry_run=False, keep_last=2, days=1)


def _go_on(world: World) -> None:
    nightly.back_up(world.process, world.queued[0], world.clock() + INVOCATION)


def _remove(world: World) -> None:
    catalog.remove(world.process, SPACE, catalog.ids(world.process, SPACE)[0])


OPERATIONS = (
    Operation("backup", _used, World.back_up),
    Operation("backup of an unchanged space", _backed_up, World.back_up),
    Operation("scheduled backup, with retention", _changed, _scheduled),
    Operation("backup behind a dead commit", _committed, World.back_up),
    Operation("second leg of a backup", _begun, _go_on),
    Operation("retention", _several, _retain, makes=False),
    Operation("removal", _several, _remove, makes=False),
    Operation("daily look at a dead backup", _dead, World.sweep_all, makes=False),
)


@cache
def _prepared(operation: Operation) -> World:
    world = World()
    operation.prepare(world)
    return world


def _world(operation: Operation) -> World:
    world = _prepared(operation).fork()
    world.new_process()
    return world


def requests_of(operation: Operation) -> int:
    """How many requests it makes undisturbed."""
    world = _world(operation)
    operation.act(world)
    return len(world.client.requests)


def crash(operation: Operation, fault: Fault, point: int, *, again: bool) -> list[str]:
    """What is wrong after one crash at request `point`. `again`: somebody repeats it when the lease has run out."""
    world = _world(operation)
    fault.arm(world, point)
    _try(world, operation)
    world.new_process()
    # Many points leave one state: what follows is then the same.
    state = (operation, again, world.state())
    if state not in _RECOVERED:
        _RECOVERED[state] = _recover(world, operation, again=again)
    return _RECOVERED[state]


_RECOVERED: dict[Hashable, list[str]] = {}


def _recover(world: World, operation: Operation, *, again: bool) -> list[str]:
    kept = backups.complete(_prepared(operation).inner.objects)
    notes = _prepared(operation).live_ids()
    wrong = _wrong(world, kept)
    if again:
        world.clock.move(FREE)
        ended = _try(world, operation)
        wrong += [] if ended else ["the repeat fails"]
        wrong += ["no backup of the space as it is"] if ended and operation.makes and not _is_current(world) else []
        wrong += _wrong(world, kept)
    for _ in range(2):
        world.clock.move(DAY)
        world.queued.clear()
        world.sweep_all()
    left = [*backups.left_over(world.inner.objects), *(key for key in world.keys("demo/_lease"))]
    wrong += [f"{key} is left" for key in left] + _wrong(world, kept)
    found = audit(world.inner.objects, SPACE, notes)
    return [*wrong, *([] if found.clean() else [str(found)])]


def _try(world: World, operation: Operation) -> bool:
    try:
        operation.act(world)
    except (Killed, LiveMemoryError) as error:
        # A removal that is repeated finds it gone.
        return getattr(error, "status", 0) == 404
    return True


def _wrong(world: World, kept: list[str]) -> list[str]:
    lost = (
        ["the newest complete backup is gone"] if kept and kept[-1] not in backups.complete(world.inner.objects) else []
    )
    return [*backups.broken(world.inner.objects), *lost]


def _is_current(world: World) -> bool:
    """Whether the newest complete backup holds just what the space does."""
    (*_, newest) = backups.complete(world.inner.objects)
    _, items = backups.all_of(world.inner.objects)[keys.backup_prefix(SPACE, newest)]
    there = {(entry.key.removeprefix("demo/"), entry.etag) for entry in snapshots.contents(world.process, SPACE)}
    return {(item.name, item.etag) for item in items} == there


FAULTS = (*KILLS, *(fault for fault in ERRORS if fault.status in (412, 500)))
"""A 409 and a 503 go the way of a 500."""


def table() -> Iterator[tuple[Operation, Fault, bool]]:
    """What is to be tried: every fault with a repeat, and what nobody repeats for the kills."""
    for operation in OPERATIONS:
        for fault in FAULTS:
            yield operation, fault, True
        for fault in KILLS:
            yield operation, fault, False


# Two at once


def _take(scene: Scene, actor: Actor) -> None:
    wanted = Wanted("api", description="by hand")
    snapshots.take(actor.process, SPACE, wanted, deadline=actor.until)


def _take_if_changed(scene: Scene, actor: Actor) -> None:
    snapshots.take(actor.process, SPACE, Wanted("schedule"), deadline=actor.until)


def _remove_newest(scene: Scene, actor: Actor) -> None:
    for backup_id in reversed(catalog.ids(actor.process, SPACE)):
        catalog.remove(actor.process, SPACE, backup_id)


def _retain_two(scene: Scene, actor: Actor) -> None:
    retention.apply(actor.process, SPACE, dry_run=False, keep_last=1, days=1)


BACKUP = Part("backup", _take, seconds=120)
CONFIRMATION = Part("scheduled backup", _take_if_changed, seconds=120)
REMOVAL = Part("removal", _remove_newest)
RETENTION = Part("retention", _retain_two)


def _two_old(scene: Scene) -> None:
    pairs._folded(scene)
    for number in range(2):
        snapshots.take(
            scene.world.process, SPACE, Wanted("api", str(number)), deadline=scene.world.clock() + INVOCATION
        )
        scene.world.pass_time(40 * DAY)


PAIRS = (
    Pair("backup & backup", pairs._folded_and_one_live, BACKUP, BACKUP, (pairs.lost, pairs.cut)),
    Pair("backup & removal", pairs._folded_and_one_live, BACKUP, REMOVAL, (pairs.late, pairs.cut)),
    Pair("backup & deletion", pairs._folded_and_one_live, BACKUP, pairs.DELETE, (pairs.late, pairs.cut)),
    Pair("backup & correction", pairs._folded_and_one_live, BACKUP, pairs.EDIT, (pairs.late,)),
    Pair("backup & run by hand", pairs._folded_and_one_live, BACKUP, pairs.ORDERED_RUN, (pairs.cut,)),
    Pair("run & backup", pairs._queued, pairs.RUN, BACKUP, (pairs.late,)),
    Pair(
        "stalled backup & run by hand", pairs._folded_and_one_live, BACKUP, pairs.ORDERED_RUN, (pairs.cut,),
        gap=pairs.STALL,
    ),
    Pair("stalled backup & correction", pairs._folded_and_one_live, BACKUP, pairs.EDIT, (pairs.cut,), gap=pairs.STALL),
    Pair("stalled run & backup", pairs._queued, pairs.RUN, BACKUP, (pairs.cut,), gap=pairs.STALL),
    Pair("retention & scheduled backup", _two_old, RETENTION, CONFIRMATION, (pairs.lost, pairs.crossed)),
    Pair("scheduled backup & retention", _two_old, CONFIRMATION, RETENTION, (pairs.late, pairs.cut)),
    Pair("backup & daily sweep", pairs._folded_and_one_live, BACKUP, pairs.SWEEP_ALL, (pairs.cut,)),
)  # fmt: skip
