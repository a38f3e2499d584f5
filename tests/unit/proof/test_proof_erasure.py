"""Whatever request an erasure dies at or that fails, and whoever works beside it: after recovery the receipt says that
it is done, the erased text is nowhere in the bucket, every other note is where it was, and every backup is whole."""

from collections.abc import Callable
from typing import Any

import pytest

from livemem.backups import snapshots
from livemem.backups.snapshots import Wanted
from livemem.changes import undo as undoing
from livemem.consolidation import pipeline
from tests.support import crash_erasure
from tests.support.actors import Actor
from tests.support.crash import ERRORS, KILLS, Fault
from tests.support.crash_erasure import ERASURES, SPACE, WATCHED, Erasure
from tests.support.world import World

FOLDED, LIVE, GIVEN_BACK = ERASURES


def name(item: Erasure | Fault) -> str:
    return item.name


@pytest.mark.parametrize(
    ("erasure", "repeated"),
    [(FOLDED, True), (FOLDED, False), (LIVE, True), (LIVE, False), (GIVEN_BACK, False)],
    ids=["folded, repeated", "folded, sweep", "live, repeated", "live, sweep", "given back, sweep"],
)
def test_an_erasure_killed_anywhere_is_finished(erasure, repeated):
    before, after = KILLS
    # Between two writes nothing changes, so a kill anywhere is one right behind a write, or before the first.
    for point, fault in [(0, before), *((point, after) for point in crash_erasure.writes_of(erasure))]:
        assert crash_erasure.crash(erasure, fault, point, repeated=repeated) == [], f"request {point}"


@pytest.mark.parametrize("fault", [fault for fault in ERRORS if fault.code != "SlowDown"], ids=name)
def test_an_erasure_whose_writes_fail_one_by_one_is_finished(fault):
    for point in crash_erasure.writes_of(LIVE):
        assert crash_erasure.crash(LIVE, fault, point, repeated=True) == [], f"request {point}"


def test_an_erasure_whose_reads_fail_one_by_one_is_finished():
    (fault,) = [fault for fault in ERRORS if fault.name == "500"]
    for point in range(0, len(crash_erasure.requests_of(FOLDED)), 5):
        assert crash_erasure.crash(FOLDED, fault, point, repeated=True) == [], f"request {point}"


def _just_folded(world: World) -> str:
    note_id, _ = crash_erasure.used(world)
    world.consolidate(SPACE)
    world.back_up(SPACE)
    return note_id


@pytest.mark.parametrize("prepare", [_just_folded, GIVEN_BACK.prepare], ids=["folded", "given back"])
def test_no_write_that_comes_late_brings_an_erased_note_back(prepare):
    for where, wrong in crash_erasure.repeats(prepare):
        assert wrong == [], where


def _consolidate(world: World, actor: Actor) -> None:
    if not world.queued:
        world.order(SPACE)
    run = world.queued[0]
    pipeline.consolidate(actor.process, SPACE, run["run_id"], run["uid"], deadline=actor.until)


def _undo(_: World, actor: Actor) -> None:
    undoing.undo(actor.process, "admin", SPACE, 1)


def _back_up(_: World, actor: Actor) -> None:
    snapshots.take(actor.process, SPACE, Wanted("api", "another"), deadline=actor.until)


@pytest.mark.parametrize(
    ("erasure", "work"),
    [(LIVE, _consolidate), (FOLDED, _undo), (LIVE, _back_up)],
    ids=["consolidation", "undo", "backup"],
)
def test_who_read_the_note_before_it_was_erased_brings_nothing_of_it_back(
    erasure: Erasure, work: Callable[[World, Actor], Any]
):
    for where, wrong in crash_erasure.stands_still(erasure, work):
        assert wrong == [], where


@pytest.mark.parametrize(
    ("erasure", "work"),
    [
        (LIVE, lambda world: world.consolidate(SPACE)),
        (FOLDED, lambda world: world.undo(1)),
        (LIVE, lambda world: world.back_up(SPACE, description="another")),
    ],
    ids=["consolidation", "undo", "backup"],
)
def test_what_others_do_while_an_erasure_stands_still_is_erased_too(erasure: Erasure, work: Callable[[World], Any]):
    for where, wrong in crash_erasure.overtaken(erasure, work):
        assert wrong == [], where


def test_the_look_for_what_is_left_finds_a_text_wherever_it_is():
    world, note_id = crash_erasure.begun(FOLDED)
    crash_erasure.erase(world, note_id)
    world.clock.move(WATCHED)
    assert list(crash_erasure.left_of(world, crash_erasure.SECRET)) == []

    before, _ = crash_erasure.begun(FOLDED)
    found = "\n".join(crash_erasure.left_of(before, crash_erasure.SECRET))

    for where in ("_backups/", "_exports/", "_consolidations/", "bank/log.md", "a version of", "upload-0"):
        assert where in found
