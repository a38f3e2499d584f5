"""What garbage collection does, for the proof: operations to kill at every request (crash.py), and pairs (pairs.py)."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

from livemem.changes import moving
from livemem.upkeep import garbage
from livemem.upkeep.garbage_report import Report, Wanted
from tests.support.actors import Actor
from tests.support.crash import Operation
from tests.support.pairs import (
    DELETE,
    NOTES,
    ORDERED_RUN,
    POST,
    RUN,
    SPACE,
    STALL,
    SWEEP,
    UNDO,
    Pair,
    Part,
    Scene,
    cut,
    echoed,
    late,
    lost,
)
from tests.support.world import EVERYONE, World

OLD = 31 * 86_400
EVERYTHING = "99991231T235959"


def collect(world: World, **wanted: Any) -> Report:
    """Collect garbage in earnest, as a handler does."""
    asked = Wanted(**{"dry_run": False, **wanted})
    return garbage.collect(world.process, EVERYONE, asked, world.clock() + timedelta(seconds=20))


def _old_notes(world: World) -> None:
    """Three that were folded and three that wait, all of long ago, in a space that does not consolidate by itself."""
    world.create_space(SPACE, threshold=0)
    for number in range(6):
        world.note(f"note {number}", space_id=SPACE)
        world.clock.move(1)
        if number == 2:
            world.consolidate(SPACE)
    world.clock.move(OLD)
    # What it says of the last run is no part of what is killed.
    world.sweep_all()


OPERATIONS = (
    Operation("old notes are moved", _old_notes, lambda world: collect(world, delete_only=True)),
    Operation("a run for old notes", _old_notes, collect),
)


def _move(scene: Scene, actor: Actor) -> None:
    with suppress(moving.NothingToMove):
        moving.move(actor.process, "admin", SPACE, until=EVERYTHING, reason="all of it")


MOVE = Part("moving", _move)


def _folded(scene: Scene) -> None:
    """A space that consolidates by itself, and has done so once."""
    scene.told.space = scene.world.create_space(SPACE, threshold=NOTES).uid
    _write(scene, NOTES)
    scene.world.consolidate(SPACE)


def _write(scene: Scene, notes: int) -> None:
    for _ in range(notes):
        scene.accepted([scene.world.note(f"note {scene.world.ids()}", space_id=SPACE)])
        scene.world.clock.move(1)


def _almost_due(scene: Scene) -> None:
    _folded(scene)
    _write(scene, NOTES - 1)


def _moved(scene: Scene) -> None:
    _almost_due(scene)
    moving.move(scene.world.process, "admin", SPACE, until=EVERYTHING, reason="all of it")
    _write(scene, 1)


def _queued(scene: Scene) -> None:
    _folded(scene)
    _write(scene, NOTES)
    scene.world.count(SPACE)
    scene.run = scene.world.queued.pop()


PAIRS = (
    Pair("append & moving", _almost_due, POST, MOVE, (late, lost)),
    Pair("moving & run", _almost_due, MOVE, ORDERED_RUN, (late, cut)),
    Pair("run & moving", _queued, RUN, MOVE, (late, cut)),
    Pair("stalled run & moving", _queued, RUN, MOVE, (cut,), gap=STALL),
    Pair("moving & undo", _almost_due, MOVE, UNDO, (late, lost, cut)),
    Pair("undo & moving", _moved, UNDO, MOVE, (late, cut)),
    Pair("moving & moving", _almost_due, MOVE, MOVE, (lost, cut)),
    Pair("moving & sweep", _almost_due, MOVE, SWEEP, (echoed, cut)),
    Pair("moving & deletion", _almost_due, MOVE, DELETE, (late, cut)),
)
