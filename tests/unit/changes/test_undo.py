"""Undo: bank and synthesis as before, notes live again, step by step back to the empty bank."""

import pytest

from livemem.bank import corrections
from livemem.errors import Conflict, LiveMemoryError, NotFound
from livemem.notes import pages
from livemem.spaces import head as heads
from livemem.store.bucket import BANK_FILE, NOTE, SYNTHESIS_FILE
from tests.support.audit import audit
from tests.support.cases import each
from tests.support.world import World, several_files


def fold(world: World, *texts: str) -> None:
    for text in texts:
        world.clock.move(1)
        world.note(text)
    assert world.consolidate().state == "done"


def space_with_two_consolidations(threshold: int = 0) -> World:
    world = World()
    world.create_space(threshold=threshold)
    fold(world, "one", "two")
    fold(world, "three")
    return world


def unchanged_after(world: World, error: type[LiveMemoryError], number: int) -> str:
    before = {key: stored.body for key, stored in world.inner.objects.items() if key.startswith("demo/")}
    with pytest.raises(error) as refused:
        world.undo(number)
    assert {key: stored.body for key, stored in world.inner.objects.items() if key.startswith("demo/")} == before
    return refused.value.detail


def test_an_undo_brings_back_bank_synthesis_and_notes_byte_for_byte():
    world = World()
    world.create_space()
    fold(world, "one")
    bank, synthesis = world.bank(), world.text(SYNTHESIS_FILE.key("demo"))
    world.note("two")
    live = {note_id: world.text(NOTE.key("demo", note_id)) for note_id in world.live_ids()}
    world.consolidate()

    record = world.undo(2)

    assert (record.number, record.kind, record.undoes, record.author) == (3, "undo", 2, "admin")
    assert world.bank() == bank
    assert world.text(SYNTHESIS_FILE.key("demo")) == synthesis
    assert {note_id: world.text(NOTE.key("demo", note_id)) for note_id in world.live_ids()} == live
    head = heads.load(world.process, "demo").meta
    assert (head.changes, head.consolidation_count, head.total_notes_processed, head.committed_run) == (3, 1, 1, None)


def test_an_undo_says_what_it_does_to_each_file():
    world = World()
    world.create_space()
    fold(world, "one")
    fold(world, "two")
    corrections.delete_file(world.process, "admin", "demo", "log.md", None)

    actions = [[(change.path, change.action) for change in world.undo(number).files] for number in (3, 2, 1)]

    assert actions == [[("log.md", "created")], [("log.md", "updated")], [("log.md", "deleted")]]


def test_a_note_that_is_no_text_comes_back_byte_for_byte_as_well():
    world = World()
    world.create_space()
    key = NOTE.key("demo", "20260220T135959_cat_todo_0000abcd")
    world.inner.put_object(Bucket="b", Key=key, Body=b"\xff\xfe no text")
    world.consolidate()
    assert world.live_ids() == []

    world.undo(1)

    assert world.inner.objects[key].body == b"\xff\xfe no text"


def test_repeated_undo_walks_back_to_the_empty_bank():
    world = World()
    world.create_space()
    world.llm.default = several_files
    states = [world.bank()]
    for number in range(3):
        fold(world, *(f"note {number}.{part}" for part in range(4)))
        states.append(world.bank())
    corrections.write_file(world.process, "admin", "demo", "log.md", "# By hand\n", None)
    states.append(world.bank())
    corrections.delete_file(world.process, "admin", "demo", "people/all.md", None)

    for number in (5, 4, 3, 2, 1):
        world.undo(number)
        assert world.bank() == states.pop()

    assert world.bank() == {}
    assert world.inner.objects.get(SYNTHESIS_FILE.key("demo")) is None
    assert len(world.live_ids()) == 12
    assert heads.load(world.process, "demo").meta.total_notes_processed == 0
    assert audit(world.inner.objects, "demo", world.live_ids()).clean()


def test_the_notes_of_an_undone_consolidation_are_folded_by_the_next_one_once():
    world = space_with_two_consolidations()
    world.undo(2)

    fold(world, "four")

    assert world.bank()["log.md"].count("- three") == 1
    assert "- four" in world.bank()["log.md"]
    assert world.live_ids() == []
    assert heads.load(world.process, "demo").meta.total_notes_processed == 4


def test_only_the_newest_change_can_be_undone():
    world = space_with_two_consolidations()

    assert "Only the newest change, 2, can be undone." in unchanged_after(world, Conflict, 1)


def test_an_undone_change_can_not_be_undone_again():
    world = space_with_two_consolidations()
    world.undo(2)

    assert "2 is undone already" in unchanged_after(world, Conflict, 2)


def test_an_undo_is_not_undone_but_folded_again():
    world = space_with_two_consolidations()
    world.undo(2)

    assert "3 is an undo" in unchanged_after(world, Conflict, 3)


@each("number", [0, 3, -1, 10**9])
def test_a_change_that_never_was_can_not_be_undone(number: int):
    world = space_with_two_consolidations()

    unchanged_after(world, NotFound, number)


def test_a_space_without_changes_has_nothing_to_undo():
    world = World()
    world.create_space()

    unchanged_after(world, NotFound, 1)


@pytest.mark.parametrize("body", [b"# From outside\n", None])
def test_a_file_that_was_changed_outside_the_service_is_not_overwritten(body: bytes | None):
    world = space_with_two_consolidations()
    key = BANK_FILE.key("demo", "log.md")
    if body is None:
        world.inner.delete_object(Bucket="b", Key=key)
    else:
        world.inner.put_object(Bucket="b", Key=key, Body=body)

    assert "log.md was changed outside" in unchanged_after(world, Conflict, 2)


def test_an_undo_pauses_automatic_consolidation_until_a_run_by_hand():
    world = space_with_two_consolidations(threshold=1)
    world.undo(2)

    assert heads.load(world.process, "demo").meta.auto_paused
    assert world.count().result == "not_automatic"
    assert world.sweep().did("started") == []
    assert not world.queued

    assert world.consolidate().state == "done"
    assert not heads.load(world.process, "demo").meta.auto_paused
    world.note("five")
    assert world.count().result == "started"


def test_an_undo_pauses_automatic_consolidation_until_a_patch_resumes_it():
    world = space_with_two_consolidations(threshold=1)
    world.undo(2)

    heads.patch(world.process, "demo", auto_paused=False)

    assert world.count().result == "started"


def test_a_run_by_hand_that_fails_does_not_resume():
    world = space_with_two_consolidations(threshold=1)
    world.undo(2)
    world.llm.queue.extend(["prose", "prose"])

    assert world.consolidate().state == "failed"

    assert heads.load(world.process, "demo").meta.auto_paused


def test_the_undo_of_a_correction_brings_no_notes_and_so_pauses_nothing():
    world = space_with_two_consolidations()
    before = world.bank()
    corrections.write_file(world.process, "admin", "demo", "log.md", "# By hand\n", None)

    world.undo(3)

    assert world.bank() == before
    assert world.live_ids() == []
    assert not heads.load(world.process, "demo").meta.auto_paused


def test_a_note_written_meanwhile_stays_live_beside_those_that_come_back():
    world = space_with_two_consolidations()
    world.clock.move(1)
    late = world.note("late")

    world.undo(2)

    contents = [pages.get(world.process, "demo", note_id).content for note_id in world.live_ids()]
    assert contents == ["three", "late"]
    assert late.note_id in world.live_ids()
