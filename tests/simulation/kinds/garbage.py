"""Garbage collection: old notes are moved to a record, or folded by a run; each is live or in exactly one record."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from livemem.changes import archive_notes
from livemem.process import Process
from livemem.upkeep import garbage
from livemem.upkeep.garbage import GarbageRequest
from tests.simulation.kinds import bank
from tests.simulation.kinds.bank import COLUMNS, DELETE, ORDERED_RUN, POST, REPEATED, RUN, STALL, SWEEP, UNDO, BankScene
from tests.simulation.pairs import Pair, cut, echoed, late, lost
from tests.simulation.scene import SPACE, Action, Kind, Sampled
from tests.support.world import EVERYONE

OLD = 31 * 86_400
EVERYTHING = "99991231T235959"


def _old_notes(scene: BankScene) -> None:
    """Three that were folded and three that wait, all of long ago, in a space that does not consolidate by itself."""
    world = scene.world
    scene.space = world.create_space(SPACE, threshold=0).uid
    scene.write(3)
    world.consolidate(SPACE)
    scene.write(3)
    world.clock.move(OLD)
    # What it says of the last run is no part of what is killed.
    world.sweep_all()


def _collect(**wanted: Any) -> Any:
    asked = GarbageRequest(**{"dry_run": False, **wanted})

    def work(scene: BankScene, process: Process, until: datetime) -> None:
        garbage.collect(process, EVERYONE, asked, scene.world.clock() + timedelta(seconds=20))

    return work


def _move(scene: BankScene, process: Process, until: datetime) -> None:
    with suppress(archive_notes.NothingToMove):
        archive_notes.move(process, "admin", SPACE, until=EVERYTHING, reason="all of it")


MOVE = Action("moving", _move)


def _moved(scene: BankScene) -> None:
    bank.after(bank.almost_due, MOVE)(scene)
    scene.write(1)


PAIRS = (
    Pair(POST, MOVE, (late, lost), bank.almost_due),
    Pair(MOVE, ORDERED_RUN, (late, cut), bank.almost_due, name="moving & run"),
    Pair(RUN, MOVE, (late, cut), bank.queued),
    Pair(RUN, MOVE, (cut,), bank.queued, gap=STALL, name="stalled run & moving"),
    Pair(MOVE, UNDO, (late, lost, cut), bank.almost_due),
    Pair(UNDO, MOVE, (late, cut), _moved),
    Pair(MOVE, MOVE, (lost, cut), bank.almost_due),
    Pair(MOVE, SWEEP, (echoed, cut), bank.almost_due),
    Pair(MOVE, DELETE, (late, cut), bank.almost_due),
)
GARBAGE = Kind(
    "garbage",
    BankScene,
    (
        Action("old notes are moved", _collect(delete_only=True), _old_notes, marks=True),
        Action("a run for old notes", _collect(), _old_notes, marks=True),
    ),
    PAIRS,
    columns=(*COLUMNS, REPEATED),
    sampled=Sampled(kills=97, turns=23),
)
