"""The life of a note is told from the documents that show it, whatever became of the note."""

import json
from collections import Counter

import pytest

from livemem.access.principal import Principal
from livemem.audit import note_changes, note_life
from livemem.audit.note_life import NoteLife
from livemem.changes import archive_notes, records
from livemem.erasure import erasure
from livemem.errors import InvalidName, NotFound, ObjectUnreadable
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.promotions import promoting, taking_back
from tests.support.world import EVERYONE, INVOCATION, World

ANN = Principal("ann", frozenset(("read", "write")), frozenset(("demo", "team")))
HERE = Principal("bob", frozenset(("read",)), frozenset(("demo",)))
NOBODYS = "20260220T135900_ann_todo_00000000"


@pytest.fixture
def world() -> World:
    found = World()
    found.create_space()
    found.clock.move(60)
    return found


def life(world: World, note_id: str, by: Principal = EVERYONE) -> NoteLife:
    return note_life.life(world.process, by, "demo", note_id)


def told(found: NoteLife) -> list[str]:
    return [event.what for event in found.events]


def answer(world: World, **parts) -> None:
    world.llm.queue.append(json.dumps({"bank_files": [], "synthesis": "Some notes.", **parts}))


def erase(world: World, note_id: str) -> None:
    erasure.erase_note(world.process, EVERYONE, "demo", note_id, world.clock() + INVOCATION, erase=True)


def test_a_live_note_has_been_written_and_no_more(world: World):
    note = world.note("one")

    found = life(world, note.note_id)

    assert (found.status, found.consolidation, found.sections) == ("live", None, [])
    assert [(event.what, event.at, event.by) for event in found.events] == [("written", note.timestamp, "ann")]


def test_a_folded_note_names_the_change_its_edit_and_the_sections_that_rest_on_it(world: World):
    world.note("zero")
    world.consolidate()
    world.clock.move(60)
    note = world.note("one")
    world.clock.move(60)
    run = world.consolidate()

    found = life(world, note.note_id)

    assert (found.status, found.consolidation) == ("consolidated", 2)
    assert told(found) == ["written", "folded"]
    folded = found.events[1]
    assert (folded.consolidation, folded.run_id, folded.undone) == (2, run.job_id, None)
    (file,) = folded.files
    assert (file.path, file.action) == ("log.md", "edited")
    assert [(edit.op, edit.heading) for edit in file.edits] == [("append_to_section", "## Log")]
    assert file.sections == [["# Log", "## Log"]]
    assert [(one.path, one.section) for one in found.sections] == [("log.md", path) for path in file.sections]


def test_a_note_that_was_undone_and_folded_again_shows_all_three_changes(world: World):
    note = world.note("one")
    world.clock.move(60)
    world.consolidate()
    world.clock.move(60)
    world.undo(1)
    returned = life(world, note.note_id)
    world.clock.move(60)
    world.consolidate()

    found = life(world, note.note_id)

    assert (returned.status, returned.consolidation, returned.sections) == ("live", None, [])
    assert told(returned) == ["written", "folded", "returned"]
    assert [(event.what, event.consolidation, event.undoes, event.undone) for event in found.events] == [
        ("written", None, None, None),
        ("folded", 1, None, True),
        ("returned", 2, 1, None),
        ("folded", 3, None, None),
    ]
    assert (found.status, found.consolidation) == ("consolidated", 3)


def test_a_note_that_a_model_left_out_twice_says_so_both_times(world: World):
    forgotten = world.note("forgotten")
    world.clock.move(1)
    for content in ("one", "two"):
        world.note(content)
        file = {"filename": f"{content}.md", "action": "created", "content": f"# Log\n\n{content}\n", "notes": [2]}
        # A model that leaves a note out is asked once more.
        for _ in range(2):
            answer(world, bank_files=[file])
        world.clock.move(60)
        world.consolidate()
        if content == "one":
            assert told(life(world, forgotten.note_id)) == ["written", "left_out"]

    found = life(world, forgotten.note_id)

    assert [(event.what, event.consolidation) for event in found.events[1:]] == [("left_out", 1), ("uncited", 2)]
    assert found.sections == []


def test_a_discarded_an_archived_and_a_planned_note_say_why_and_by_whom(world: World):
    discarded, archived, planned = world.note("of no use"), world.note("old"), ""
    world.clock.move(60)
    for _ in range(2):  # the model is asked once more before all notes are discarded
        answer(world, discarded=[{"note": 1, "reason": "of no use"}, {"note": 2, "reason": "of no use"}])
    world.consolidate()
    world.undo(1)
    world.clock.move(60)
    archive_notes.move(world.process, "admin", "demo", until="20270101T000000", reason="Nobody folded them.")
    world.create_space("team", mode="review")
    planned = world.note("two", space_id="team").note_id
    world.clock.move(1)
    run = world.consolidate("team")

    reasons = [(event.what, event.by, event.reason) for event in life(world, archived.note_id).events]
    waits = note_life.life(world.process, EVERYONE, "team", planned)

    assert told(life(world, discarded.note_id)) == ["written", "discarded", "returned", "archived"]
    assert reasons[1] == ("discarded", None, "of no use")
    assert reasons[3] == ("archived", "admin", "Nobody folded them.")
    assert (waits.status, [(one.what, one.run_id) for one in waits.events][1:]) == ("live", [("planned", run.job_id)])


def test_a_promoted_note_names_the_other_space_only_to_those_who_may_see_it(world: World):
    world.create_space("team")
    note = world.note("one")
    world.clock.move(60)
    done = promoting.promote(world.process, ANN, "demo", note.note_id, "team", world.clock() + INVOCATION)
    world.clock.move(60)
    taking_back.take_back(world.process, ANN, "team", done.promotion_id)

    copy = note_life.life(world.process, ANN, "team", done.promotion.note_id or "")

    assert [(one.what, one.space_id) for one in life(world, note.note_id, ANN).events][1:] == [("promoted", "team")]
    assert [(one.what, one.space_id) for one in life(world, note.note_id, HERE).events][1:] == [("promoted", None)]
    assert told(copy) == ["promoted_here", "taken_back"]
    begun = copy.events[0]
    assert (begun.by, begun.space_id, begun.note_id) == ("ann", "demo", note.note_id)


def test_memories_and_backups_that_hold_the_note_are_named(world: World):
    before = world.back_up()
    world.clock.move(60)
    note = world.note("Ann lives in Paris.")
    world.clock.move(60)
    draft = MemoryDraft("Ann lives in Paris.", note_id=note.note_id)
    made = storing.store(world.process, "demo", "ann", draft, op_id="op", until=world.clock() + INVOCATION)
    world.clock.move(60)
    after = world.back_up()

    found = life(world, note.note_id)

    assert [(one.what, one.memory_id, one.backup_id) for one in found.events[1:]] == [
        ("remembered", made.memory.memory_id, None),
        ("backed_up", None, after.job_id),
    ]
    assert before.job_id != after.job_id


@pytest.mark.parametrize("folded", [False, True])
def test_an_erased_note_keeps_the_events_without_its_words_and_names_the_receipt(world: World, folded: bool):
    note = world.note("Ann lives in Paris.")
    world.clock.move(60)
    if folded:
        world.consolidate()
    world.back_up()
    world.clock.move(60)
    erase(world, note.note_id)

    found = life(world, note.note_id)

    assert found.status == "erased"
    assert told(found) == ["written", *(["folded"] if folded else []), "erased"]
    assert found.events[-1].erasure_id
    assert found.events[-1].by == "admin"
    assert "Paris" not in repr(found)


def test_a_restored_space_says_when_its_notes_came(world: World):
    note = world.note("one")
    world.clock.move(60)
    backup = world.back_up()
    world.clock.move(60)
    world.restore("demo", backup.job_id, "copy")

    came = note_life.life(world.process, EVERYONE, "copy", note.note_id).events[1]

    assert (came.what, came.space_id, came.backup_id) == ("came_with_space", "demo", backup.job_id)


def test_no_note_of_that_name_is_not_found_and_a_bad_name_is_refused(world: World):
    world.note("one")
    with pytest.raises(NotFound):
        life(world, NOBODYS)
    with pytest.raises(InvalidName):
        life(world, "../x")
    with pytest.raises(NotFound):
        note_life.life(world.process, EVERYONE, "none", NOBODYS)


def test_an_unreadable_record_is_named_and_hides_only_what_it_alone_holds(world: World):
    note = world.note("one")
    world.consolidate()
    world.undo(1)
    world.consolidate()
    first, *_ = world.keys("demo/_consolidations/")
    world.store.put(first, b"{")
    world.new_process()

    found = life(world, note.note_id)

    assert found.unreadable == [first]
    assert told(found) == ["written", "returned", "folded"]
    for key in world.keys("demo/_consolidations/"):
        world.store.put(key, b"{")
    world.new_process()
    with pytest.raises(ObjectUnreadable):
        life(world, note.note_id)


def test_the_requests_do_not_grow_with_a_history_that_cannot_hold_the_note(world: World):
    for number in range(12):
        world.note(f"note {number}")
        world.clock.move(60)
        world.consolidate()
    (source,) = records.get(world.process, "demo", 7).notes
    world.new_process()

    life(world, source.note_id)

    # The head, the note, its record, 4 before it, and its file with the newest record; the changes, the copies, the
    # snapshots and logs of the memories of three kinds, and the backups.
    assert world.client.counts == Counter(GET=9, LIST=9)


def test_more_changes_than_are_read_are_counted_in_the_answer(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(note_changes, "MOST_RECORDS", 2)
    note = world.note("one")
    for number in (1, 3):
        world.consolidate()
        world.undo(number)
    world.consolidate()

    found = life(world, note.note_id)

    assert (found.unread, found.status, found.consolidation) == (3, "consolidated", 5)
