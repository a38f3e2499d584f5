"""Whatever request an erasure dies at or that fails, and whoever works beside it: after recovery the receipt says that
it is done, the erased text is nowhere in the bucket, every other note is where it was, and every backup is whole."""

from collections.abc import Callable
from typing import Any

import pytest

from livemem.backups import snapshots
from livemem.backups.snapshots import Wanted
from livemem.bank import corrections
from livemem.changes import undo as undoing
from livemem.consolidation import pipeline
from livemem.markdown.edits import Edit
from livemem.store import keys
from tests.support import crash_erasure
from tests.support.actors import Actor
from tests.support.crash import ERRORS, KILLS, Fault
from tests.support.crash_erasure import ERASURES, SPACE, WATCHED, Erasure
from tests.support.world import EVERYONE, INVOCATION, World

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


def _folded_before_others(world: World) -> str:
    """The newest record does not hold the note, but quotes it in what was in the bank before."""
    note_id, _ = crash_erasure.used(world)
    world.consolidate(SPACE)
    world.note("Another one.", agent="bob")
    world.consolidate(SPACE)
    return note_id


@pytest.mark.parametrize(
    "prepare",
    [_just_folded, GIVEN_BACK.prepare, _folded_before_others],
    ids=["folded", "given back", "folded before others"],
)
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


def _edit(_: World, actor: Actor) -> None:
    edit = Edit("add_section", "## New", "Text.")
    corrections.edit_sections(actor.process, EVERYONE, SPACE, "log.md", [edit], "it was missing")


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


def test_who_read_the_note_between_two_invocations_of_its_erasure_brings_nothing_of_it_back():
    for where, wrong in crash_erasure.between_invocations(FOLDED, _edit):
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


def test_a_commit_just_before_the_erasure_begins_is_erased_too():
    world, note_id = crash_erasure.begun(LIVE)
    other = Actor("run", world, lambda actor: _consolidate(world, actor), world.clock() + INVOCATION)
    while not other.client.requests or other.client.requests[-1] != ("PUT", keys.meta(SPACE)):
        other.step()
    world.pass_time(crash_erasure.LONG, beating=False)
    world.new_process()

    def commit(index: int, verb: str) -> None:
        # The other one's next request is the swap that commits.
        if world.client.requests[index] == ("PUT", keys.meta(SPACE)) and not other.killed:
            other.step()
            other.kill()

    world.client.before = commit
    receipt = crash_erasure.erase(world, note_id)

    assert other.killed
    assert receipt.status == "done"
    assert list(crash_erasure.left_of(world, crash_erasure.SECRET)) == []
    assert note_id in crash_erasure.notes_of(world)
