"""A note that is live and in a record: it is shown as what it is, and removed through a commit alone."""

from livemem.bank import summary
from livemem.changes import late_duplicates, maintenance
from livemem.jobs import lease, places
from livemem.notes import pages
from livemem.notes.pages import NotesFilter
from livemem.spaces import contents
from livemem.spaces import head as heads
from livemem.store.bucket import NOTE
from tests.support.audit import audit
from tests.support.world import World


def with_a_late_duplicate(threshold: int = 0) -> tuple[World, str]:
    """A space whose only note is folded, and was written once more afterwards."""
    world = World()
    world.create_space(threshold=threshold)
    note = world.note("once")
    key = NOTE.key("demo", note.note_id)
    body = world.text(key).encode()
    heads.refresh(world.process, "demo")
    world.clock.move(1)
    world.consolidate()
    world.inner.put_object(Bucket="b", Key=key, Body=body)
    return world, note.note_id


def live(world: World) -> list[str]:
    return [note.content for note in pages.page(world.process, "demo", NotesFilter(), limit=10).items]


def test_no_reader_shows_it_as_live_even_one_that_knew_the_space_from_before_it_was_folded():
    world, note_id = with_a_late_duplicate()

    assert live(world) == []
    assert pages.get(world.process, "demo", note_id).status == "consolidated"
    assert summary.info(world.process, "demo").live == []
    found = summary.summary(world.process, "demo").live
    assert found is not None
    assert (found.count, found.notes) == (0, [])


def test_a_new_note_beside_it_is_shown_and_folded_alone():
    world, _ = with_a_late_duplicate()
    world.clock.move(1)
    world.note("twice")

    assert live(world) == ["twice"]
    run = world.consolidate()

    assert run.metrics["notes_processed"] == 1
    assert world.live_ids() == []
    assert world.bank()["log.md"].count("- once") == 1


def test_a_space_without_notes_that_were_written_late_pays_nothing_for_looking():
    world, note_id = with_a_late_duplicate()
    world.inner.delete_object(Bucket="b", Key=NOTE.key("demo", note_id))
    world.clock.move(1)
    world.note("later")
    world.clock.move(1)
    heads.refresh(world.process, "demo")
    world.client.reset()

    pages.page(world.process, "demo", NotesFilter(), limit=10)

    assert world.client.counts == {"LIST": 1, "GET": 1}


def test_the_records_that_tell_are_read_once_a_process():
    world, _ = with_a_late_duplicate()
    live(world)
    world.client.reset()

    assert live(world) == []
    # The list of notes and that of records; the head, because something was written since it was read.
    assert world.client.counts["GET"] <= 1
    assert world.client.counts["LIST"] == 2


def test_the_sweep_removes_it_and_costs_two_changes_of_the_head():
    for threshold in (0, 5):
        world, note_id = with_a_late_duplicate(threshold)
        rev = heads.load(world.process, "demo").meta.rev

        world.sweep()

        assert world.live_ids() == []
        assert heads.load(world.process, "demo").meta.rev == rev + 2
        assert audit(world.inner.objects, "demo", [note_id]).clean()


def test_notes_that_an_undo_brings_back_while_they_are_judged_stay():
    world, note_id = with_a_late_duplicate()
    head = heads.load(world.process, "demo")
    judged = late_duplicates.among(world.process, head, contents.live_notes(world.process, "demo"))
    assert judged == {note_id}
    world.undo(1)

    after = maintenance.remove_late_duplicates(world.process, head)

    assert world.live_ids() == [note_id]
    assert after.meta.late_duplicates == []
    assert live(world) == ["once"]


def test_a_worker_that_dies_over_the_removal_leaves_it_to_the_next():
    world, note_id = with_a_late_duplicate()
    head = heads.load(world.process, "demo")
    heads.swap(world.process, head, late_duplicates=[note_id])

    world.undo(1)

    assert heads.load(world.process, "demo").meta.late_duplicates == []
    assert world.live_ids() == [note_id]
    assert lease.look(world.process, places.of_space("demo")) is None
