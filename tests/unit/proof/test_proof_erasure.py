"""Whatever request an erasure dies at or that fails, and whoever works beside it: after recovery the receipt says that
it is done, the erased text is nowhere in the bucket, every other note is where it was, and every backup is whole."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from livemem.backups import snapshots
from livemem.backups.snapshots import Wanted
from livemem.bank import corrections
from livemem.changes import undo as undoing
from livemem.consolidation import pipeline
from livemem.conversations import log, orders, update
from livemem.conversations.turn import Draft
from livemem.erasure import erasure
from livemem.errors import LiveMemoryError
from livemem.markdown.edits import Edit
from livemem.store import keys
from tests.support import crash_erasure
from tests.support.actors import Actor
from tests.support.audit import records_of
from tests.support.crash import ERRORS, KILLS, Fault
from tests.support.crash_erasure import ERASURES, SPACE, WATCHED, Erasure
from tests.support.world import EVERYONE, INVOCATION, World

FOLDED, LIVE, GIVEN_BACK, PLANNED, SAID = ERASURES


def name(item: Erasure | Fault) -> str:
    return item.name


@pytest.mark.parametrize(
    ("which", "repeated"),
    [
        (FOLDED, True),
        (FOLDED, False),
        (LIVE, True),
        (LIVE, False),
        (GIVEN_BACK, False),
        (PLANNED, False),
        (SAID, True),
        (SAID, False),
    ],
    ids=lambda item: item.name if isinstance(item, Erasure) else "repeated" if item else "sweep",
)
def test_an_erasure_killed_anywhere_is_finished(which, repeated):
    before, after = KILLS
    # Between two writes nothing changes, so a kill anywhere is one right behind a write, or before the first.
    for point, fault in [(0, before), *((point, after) for point in crash_erasure.writes_of(which))]:
        assert crash_erasure.crash(which, fault, point, repeated=repeated) == [], f"request {point}"


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
    [_just_folded, GIVEN_BACK.prepare, PLANNED.prepare, _folded_before_others, SAID.prepare],
    ids=["folded", "given back", "planned", "folded before others", "summarised"],
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


def _conversation(world: World) -> str:
    return next(key.split("/")[2] for key in world.inner.objects if key.startswith(f"{SPACE}/conversations/"))


def _summarise(world: World, actor: Actor) -> None:
    """All summaries are made anew, of turns that are read now."""
    one = _conversation(world)
    orders.rebuild(actor.process, SPACE, one, None, {"ratio": 0.4})
    update.look(actor.process, SPACE, one, actor.until)


def _say_again(world: World, actor: Actor) -> None:
    draft = Draft(f"{crash_erasure.SECRET}.", "So be it.", message_id="secret", tool_calls=(crash_erasure.CALL,))
    log.append(actor.process, SPACE, _conversation(world), "ann", draft)


@pytest.mark.parametrize(
    ("which", "work"),
    [(LIVE, _consolidate), (FOLDED, _undo), (LIVE, _back_up), (SAID, _summarise), (SAID, _say_again)],
    ids=["consolidation", "undo", "backup", "summaries", "repeated message"],
)
def test_who_read_the_note_before_it_was_erased_brings_nothing_of_it_back(
    which: Erasure, work: Callable[[World, Actor], Any]
):
    for where, wrong in crash_erasure.stands_still(which, work):
        assert wrong == [], where


def test_who_read_the_note_between_two_invocations_of_its_erasure_brings_nothing_of_it_back():
    for where, wrong in crash_erasure.between_invocations(FOLDED, _edit):
        assert wrong == [], where


@pytest.mark.parametrize(
    ("which", "work"),
    [
        (LIVE, lambda world: world.consolidate(SPACE)),
        (FOLDED, lambda world: world.undo(1)),
        (LIVE, lambda world: world.back_up(SPACE, description="another")),
    ],
    ids=["consolidation", "undo", "backup"],
)
def test_what_others_do_while_an_erasure_stands_still_is_erased_too(which: Erasure, work: Callable[[World], Any]):
    for where, wrong in crash_erasure.overtaken(which, work):
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


def _about_to_plan(world: World) -> Actor:
    """An undo that has lost its lease, and will write its plan next, of which nobody knows yet."""
    actor = Actor("undo", world, lambda actor: _undo(world, actor), world.clock() + INVOCATION)
    while not actor.client.requests or not actor.client.requests[-1][1].endswith(".plan.json"):
        actor.step()
    world.pass_time(crash_erasure.LONG, beating=False)
    world.new_process()
    return actor


def _at(world: World, request: tuple[str, str], do: Callable[[], Any]) -> None:
    """Let it happen just before the first such request of the world's process."""

    def before(index: int, verb: str) -> None:
        if world.client.requests[index] == request:
            world.client.before = lambda index, verb: None
            do()

    world.client.before = before


def test_a_commit_just_before_the_erasure_begins_is_erased_too():
    world, note_id = crash_erasure.begun(FOLDED)
    other = _about_to_plan(world)
    swaps = ("PUT", keys.meta(SPACE))

    def commit() -> None:
        other.step(2)
        other.kill()

    _at(world, swaps, commit)
    receipt = crash_erasure.erase(world, note_id)

    assert receipt.status == "done"
    assert swaps in other.client.requests
    assert len(records_of(world.inner.objects, SPACE)) == 2
    assert list(crash_erasure.left_of(world, crash_erasure.SECRET)) == []


def test_nobody_commits_under_an_erasure_that_goes_on():
    world, note_id = crash_erasure.begun(FOLDED)
    soon = world.clock() + timedelta(seconds=1)
    erasure.erase_note(world.process, EVERYONE, SPACE, note_id, soon, erase=True)
    other = _about_to_plan(world)

    _at(world, ("LIST versions", keys.prefix(SPACE)), other.finish)
    world.work()

    assert isinstance(other.error, LiveMemoryError)
    assert len(records_of(world.inner.objects, SPACE)) == 1
    assert crash_erasure.come_to_end(world, [note_id]) == []
    assert list(crash_erasure.left_of(world, crash_erasure.SECRET)) == []
