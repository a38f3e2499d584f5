"""Consolidated notes by pages, with the filters of live notes."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livemem import clock
from livemem.bank import folded_notes
from livemem.bank.folded_notes import FoldedAfter
from livemem.errors import InvalidRequest, NotFound
from livemem.notes.note import Note
from livemem.notes.pages import NotesFilter
from livemem.store import cursors
from tests.support.cases import each
from tests.support.world import World, forked

ANY = NotesFilter()


@forked
def folded(changes: int = 3, notes: int = 3) -> World:
    """A space with so many consolidations of notes by two agents, a minute apart."""
    world = World()
    world.create_space()
    for change in range(changes):
        for number in range(notes):
            category = "decision" if number % 2 else "progress"
            world.note(f"{change}.{number}", agent="bob" if number % 2 else "ann", category=category)
            world.clock.move(60)
        assert world.consolidate().state == "done"
    return world


def every(world: World, wanted: NotesFilter = ANY, *, limit: int = 500) -> list[Note]:
    found: list[Note] = []
    after: FoldedAfter | None = None
    while True:
        page = folded_notes.page(world.process, "demo", wanted, limit=limit, after=after)
        assert len(page.items) <= limit
        found += page.items
        if page.next_after is None:
            return found
        after = cursors.decode_with(FoldedAfter.parse, cursors.encode(page.next_after))


def told(found: list[Note]) -> list[str]:
    return [note.content for note in found]


def test_the_notes_of_the_newest_change_come_first_and_of_it_the_newest_note():
    found = every(folded(2, 2))

    assert told(found) == ["1.1", "1.0", "0.1", "0.0"]
    assert [(note.status, note.consolidation) for note in found] == [("consolidated", n) for n in (2, 2, 1, 1)]


def test_what_an_agent_decided_on_a_day_is_found_after_it_was_folded():
    world = folded(2, 4)
    since = clock.parse("2026-02-20T14:04:00Z")
    wanted = NotesFilter(category="decision", agent="bob", since=since, until=since + timedelta(days=1))

    assert told(every(world, wanted)) == ["1.3", "1.1"]


@given(limit=st.integers(1, 13))
@settings(max_examples=13, deadline=None)
def test_pages_of_any_size_give_each_note_once(limit: int):
    world = folded(4, 3)
    assert told(every(world, limit=limit)) == told(every(world))


def test_notes_that_an_undo_gave_back_are_not_among_them():
    world = folded(2, 2)
    world.undo(2)

    assert told(every(world)) == ["0.1", "0.0"]
    world.clock.move(60)
    world.consolidate()
    assert told(every(world)) == ["1.1", "1.0", "0.1", "0.0"]
    assert {note.consolidation for note in every(world)} == {1, 4}


def test_a_page_reads_only_records_whose_times_fit():
    world = folded(6, 2)
    first = clock.parse("2026-02-20T14:00:00Z")
    world.client.reset()

    found = every(world, NotesFilter(until=first + timedelta(seconds=30)))

    assert told(found) == ["0.0"]
    # The head and one record.
    assert dict(world.client.counts) == {"GET": 2, "LIST": 1}


def test_a_tag_is_looked_for_in_the_notes():
    assert every(folded(1, 2), NotesFilter(tag="storage")) == []


def test_a_long_history_comes_in_pages_that_look_at_a_bounded_number_of_changes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(folded_notes, "CHANGES_MOST", 8)
    world = World()
    world.create_space()
    for number in range(11):
        world.note(f"note {number}")
        world.clock.move(1)
        world.consolidate()

    page = folded_notes.page(world.process, "demo", NotesFilter(agent="nobody"), limit=10)

    assert (page.items, page.next_after) == ([], FoldedAfter(4))
    assert told(every(world, limit=10)) == [f"note {n}" for n in reversed(range(11))]


@each("text", ["", "x/", "1/no-note", "-1/", "9999999999/", "१/"])
def test_a_cursor_that_is_none_is_refused(text: str):
    with pytest.raises(InvalidRequest):
        cursors.decode_with(FoldedAfter.parse, cursors.encode(text))


def test_a_space_that_is_not_there_is_not_found():
    with pytest.raises(NotFound):
        folded_notes.page(World().process, "demo", ANY, limit=1)
