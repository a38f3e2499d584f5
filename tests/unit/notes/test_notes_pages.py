"""Reading notes: pages in both orders, filters, and what a page costs."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem import clock, limits
from livemem.errors import InvalidName, InvalidRequest, NotFound
from livemem.notes import appending, pages
from livemem.notes import note as notes
from livemem.notes.appending import NoteDraft
from livemem.notes.pages import NotesFilter
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.store.bucket import NOTE
from tests.support.cases import each
from tests.support.world import START, World

ANY = NotesFilter()


def space_with_notes(count: int = 12) -> World:
    """Notes of three agents, one a minute, of changing category and tags."""
    world = World()
    world.create_space()
    for number in range(count):
        draft = NoteDraft(keys.CATEGORIES[number % 3], f"note {number}", ("even" if number % 2 == 0 else "odd",))
        agent = ("ann", "bob", "cat")[number % 3]
        appending.append(world.process, "demo", agent, draft)
        world.clock.move(60)
    world.new_process()
    know(world)
    return world


def know(world: World) -> None:
    """The space's head is read after all notes were written, so that counts are those of pages alone."""
    world.clock.move(1)
    heads.refresh(world.process, "demo")
    world.client.reset()


def contents(page: pages.NotesPage) -> list[int]:
    return [int(note.content.split()[1]) for note in page.items]


def walk(world: World, wanted: NotesFilter, *, limit: int, oldest_first: bool = False) -> list[int]:
    """All notes over all pages."""
    found: list[int] = []
    after = None
    for _ in range(100):
        page = pages.page(world.process, "demo", wanted, limit=limit, after=after, oldest_first=oldest_first)
        assert len(page.items) <= limit
        found += contents(page)
        after = page.next_after
        if after is None:
            return found
    raise AssertionError("the pages do not end")


@pytest.fixture(scope="module")
def twelve() -> World:
    """For tests that only read."""
    return space_with_notes()


@each("limit", [1, 3, 4, 11, 12, 13, 500])
def test_pages_together_show_every_note_once_in_order(twelve: World, limit: int):
    assert walk(twelve, ANY, limit=limit) == list(range(11, -1, -1))
    assert walk(twelve, ANY, limit=limit, oldest_first=True) == list(range(12))


@each(("limit", "more"), [(11, True), (12, False), (13, False)])
def test_the_last_page_says_that_it_is_the_last(limit: int, more: bool):
    world = space_with_notes()

    assert (pages.page(world.process, "demo", ANY, limit=limit).next_after is not None) is more
    assert (pages.page(world.process, "demo", ANY, limit=limit, oldest_first=True).next_after is not None) is more


def test_a_space_without_notes_has_one_empty_page():
    assert pages.page(space_with_notes(0).process, "demo", ANY, limit=5) == pages.NotesPage([], None)


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


FILTERS: list[tuple[NotesFilter, Callable[[int], bool]]] = [
    (NotesFilter(category="observation"), lambda n: n % 3 == 0),
    (NotesFilter(agent="bob"), lambda n: n % 3 == 1),
    (NotesFilter(agent="bo"), lambda n: False),
    (NotesFilter(tag="odd"), lambda n: n % 2 == 1),
    (NotesFilter(tag="od"), lambda n: False),
    (NotesFilter(tag="odd", agent="bob"), lambda n: n % 2 == 1 and n % 3 == 1),
    (NotesFilter(since=at(4)), lambda n: n >= 4),
    (NotesFilter(since=at(4.001)), lambda n: n >= 4),
    (NotesFilter(until=at(4)), lambda n: n <= 4),
    (NotesFilter(since=at(2), until=at(3)), lambda n: n in (2, 3)),
    (NotesFilter(since=at(3), until=at(2)), lambda n: False),
    (NotesFilter(since=datetime(1, 1, 1, tzinfo=UTC)), lambda n: True),
    (NotesFilter(category="decision", agent="bob", tag="even", since=at(3), until=at(9)), lambda n: n == 4),
]


@each("oldest_first", [False, True])
@each("limit", [1, 2, 500])
@each(("wanted", "shown"), FILTERS, ids=range(len(FILTERS)))
def test_filters_together_show_exactly_what_they_say(
    twelve: World, wanted: NotesFilter, shown: Callable[[int], bool], limit: int, oldest_first: bool
):
    expected = [number for number in range(12) if shown(number)]

    found = walk(twelve, wanted, limit=limit, oldest_first=oldest_first)

    assert found == (expected if oldest_first else expected[::-1])


@pytest.mark.parametrize("oldest_first", [False, True])
def test_a_page_of_large_notes_ends_early_and_the_pages_together_still_show_all(oldest_first: bool):
    world = World()
    world.create_space()
    for number in range(12):
        world.note(f"note {number} " + "x" * (limits.NOTE_BYTES - 10))
        world.clock.move(60)

    page = pages.page(world.process, "demo", ANY, limit=500, oldest_first=oldest_first)

    assert len(page.items) == limits.PAGE_BYTES // limits.NOTE_BYTES - 1  # front matter takes its part
    in_order = walk(world, ANY, limit=500, oldest_first=oldest_first)
    assert in_order == (list(range(12)) if oldest_first else list(range(11, -1, -1)))
    assert walk(world, NotesFilter(tag="none"), limit=500) == []


def test_a_page_holds_a_note_however_large_it_is():
    world = space_with_notes(2)
    key = NOTE.key("demo", world.live_ids()[0])
    world.inner.put_object(Bucket="b", Key=key, Body=b"note 0 " + b"x" * 2 * limits.PAGE_BYTES)

    assert walk(world, ANY, limit=500) == [1, 0]


def test_the_largest_page_fits_into_what_lambda_answers():
    # The costliest character: \u0001 in the body's JSON, and that backslash doubled in the answer's.
    text = json.dumps({"body": json.dumps({"content": "\x01" * limits.PAGE_BYTES})})
    others = limits.PAGE_ITEMS * 500

    assert len(text) + others < limits.ANSWER_BYTES


def test_a_cursor_goes_on_behind_a_note_that_is_gone_meanwhile():
    world = space_with_notes()
    page = pages.page(world.process, "demo", ANY, limit=3)
    assert page.next_after is not None
    world.inner.delete_object(Bucket="b", Key=NOTE.key("demo", page.next_after))

    assert contents(pages.page(world.process, "demo", ANY, limit=3, after=page.next_after)) == [8, 7, 6]


def test_a_new_note_does_not_shift_the_pages_behind_a_cursor():
    world = space_with_notes()
    page = pages.page(world.process, "demo", ANY, limit=3)
    world.note("note 12")

    assert contents(pages.page(world.process, "demo", ANY, limit=3, after=page.next_after)) == [8, 7, 6]


def test_a_note_that_vanishes_between_listing_and_reading_is_left_out():
    world = space_with_notes()
    doomed = NOTE.key("demo", world.live_ids()[-2])
    world.client.reset()

    def consolidated_meanwhile(index: int, verb: str) -> None:
        if verb == "LIST":
            world.inner.delete_object(Bucket="b", Key=doomed)

    world.client.after = consolidated_meanwhile

    page = pages.page(world.process, "demo", ANY, limit=3)

    assert contents(page) == [11, 9]
    assert contents(pages.page(world.process, "demo", ANY, limit=3, after=page.next_after)) == [8, 7, 6]


def test_a_page_costs_one_list_and_one_get_for_each_note_shown():
    world = space_with_notes()

    pages.page(world.process, "demo", NotesFilter(agent="bob"), limit=3)

    assert world.client.counts == {"LIST": 1, "GET": 3}


def test_a_note_that_was_read_before_costs_nothing_and_is_shown_only_while_it_is_listed():
    world = space_with_notes()
    first = pages.page(world.process, "demo", ANY, limit=3)
    world.note("note 12")
    world.inner.delete_object(Bucket="b", Key=NOTE.key("demo", first.items[1].note_id))
    world.client.reset()

    again = pages.page(world.process, "demo", ANY, limit=3)

    assert contents(again) == [12, 11, 9]
    assert again.items[1:] == [first.items[0], first.items[2]]
    # The new note, and the head: a note that is newer than what is known of the space may be a late duplicate.
    assert world.client.counts == {"LIST": 1, "GET": 2}


def test_an_object_that_was_replaced_is_read_again():
    world = space_with_notes(1)
    pages.page(world.process, "demo", ANY, limit=3)
    world.inner.put_object(Bucket="b", Key=NOTE.key("demo", world.live_ids()[0]), Body=b"note 7 by hand")

    assert contents(pages.page(world.process, "demo", ANY, limit=3)) == [7]


@cache
def ids_of(count: int, apart: float, since: datetime, agents: tuple[str, ...]) -> list[str]:
    moments = (since + timedelta(seconds=int(number * apart)) for number in range(count))
    return [
        keys.NoteName(moment, agents[number % len(agents)], "todo", f"{number:08x}").note_id
        for number, moment in enumerate(moments)
    ]


def many(
    world: World, count: int, *, apart: float = 1, since: datetime = START, agents: tuple[str, ...] = ("ann",)
) -> None:
    """`count` notes, one each `apart` seconds from `since` on, written by the agents in turn."""
    objects = world.inner.objects
    body = notes.format_note(notes.Note("", "demo", clock.iso(START), "ann", "todo", ("x",), "note 1", 6))
    world.inner.put_object(Bucket="b", Key="one", Body=body)
    # All are alike: only one has to be taken in as a store does.
    stored, prefix = objects.pop("one"), NOTE.prefix("demo")
    objects.update({f"{prefix}{note_id}.md": stored for note_id in ids_of(count, apart, since, agents)})


def suffixes(page: pages.NotesPage) -> list[int]:
    """The numbers of notes that `many` wrote."""
    return [int(note.note_id[-8:], 16) for note in page.items]


MANY = 12_000
FOUR = ("ann", "bob", "cat", "dan")


@each(("count", "lists"), [(50, 1), (999, 1), (1_000, 3), (2_500, 3), (MANY, 3)])
def test_what_a_page_costs_does_not_grow_with_the_number_of_notes(count: int, lists: int):
    world = space_with_notes(0)
    many(world, count)
    world.clock.move(count)
    know(world)

    page = pages.page(world.process, "demo", ANY, limit=50)

    # One key of the listing is live/.keep.
    assert world.client.counts["LIST"] <= lists
    assert world.client.counts["GET"] == 50
    assert suffixes(page) == list(range(count - 1, count - 51, -1))
    world.client.reset()
    # Where the newest begin is known by now, and what they say.
    assert pages.page(world.process, "demo", ANY, limit=50) == page
    assert world.client.counts == {"LIST": 1}


def test_the_newest_notes_are_found_however_their_number_changed_since_the_last_page():
    world = space_with_notes(0)
    many(world, 3_000)
    world.clock.move(3_000)
    assert suffixes(pages.page(world.process, "demo", ANY, limit=50)) == list(range(2_999, 2_949, -1))
    for key in world.keys(NOTE.prefix("demo"))[1_101:]:
        world.inner.delete_object(Bucket="b", Key=key)
    for _ in range(2):
        assert suffixes(pages.page(world.process, "demo", ANY, limit=50)) == list(range(1_099, 1_049, -1))
    world.client.reset()
    pages.page(world.process, "demo", ANY, limit=50)
    assert world.client.counts == {"LIST": 1}
    many(world, 5_000)
    for _ in range(2):
        assert suffixes(pages.page(world.process, "demo", ANY, limit=50)) == list(range(4_999, 4_949, -1))
    for key in world.keys(NOTE.prefix("demo"))[1:]:
        world.inner.delete_object(Bucket="b", Key=key)
    assert pages.page(world.process, "demo", ANY, limit=50).items == []


DAY = 86_400
SPREADS = {
    "a note each 10 minutes, over months": (600, 0, 2),
    "all in one day": (DAY / MANY, 0, 2),
    "all in one day, months ago": (DAY / MANY, 90 * DAY, 8),
    "years ago": (600, 3_000 * DAY, 10),
    "two in three seconds, and the reader's clock is three hours behind": (1.5, -3 * 3_600, 9),
}


@pytest.mark.slow
@each(("apart", "age", "lists"), SPREADS.values(), ids=SPREADS)
def test_the_newest_of_many_notes_cost_a_few_lists_whenever_they_were_written(apart: float, age: float, lists: int):
    world = space_with_notes(0)
    many(world, MANY, apart=apart, agents=FOUR)
    world.clock.move(MANY * apart + age)

    first = pages.page(world.process, "demo", ANY, limit=50)
    costs = world.client.counts["LIST"]
    world.client.reset()
    second = pages.page(world.process, "demo", ANY, limit=50, after=first.next_after)

    assert suffixes(first) + suffixes(second) == list(range(MANY - 1, MANY - 101, -1))
    assert costs <= lists
    assert world.client.counts["LIST"] <= 4


def test_notes_of_one_second_are_listed_once_and_no_others_with_them():
    world = space_with_notes(0)
    many(world, 5_000, since=START - timedelta(days=100))
    many(world, 3_000, apart=0, since=START, agents=("ann", "bob", "cat"))

    page = pages.page(world.process, "demo", ANY, limit=50)

    assert suffixes(page) == list(range(2_999, 2_949, -1))
    assert world.client.counts["LIST"] <= 1 + 2 + 4


def test_many_notes_of_one_second_are_listed_once_a_page():
    world = space_with_notes(0)
    many(world, 4_000, apart=0, agents=("ann", "bob"))
    world.clock.move(3_600)

    page = pages.page(world.process, "demo", ANY, limit=50)

    assert suffixes(page) == list(range(3_999, 3_949, -1))
    assert world.client.counts["LIST"] <= 4 + 9


def test_notes_dated_in_the_future_are_the_newest_and_cost_no_more():
    world = space_with_notes(0)
    many(world, MANY, apart=600, agents=FOUR)
    world.clock.move(MANY * 600)
    for days in (1, 400, 40_000):
        many(world, 1, since=world.clock() + timedelta(days=days))
    world.client.reset()

    page = pages.page(world.process, "demo", ANY, limit=5)

    years = [note.note_id[:4] for note in page.items]
    assert years == ["2135", "2027", "2026", "2026", "2026"]
    assert suffixes(page) == [0, 0, 0, MANY - 1, MANY - 2]
    assert world.client.counts["LIST"] <= 3


FILTERED = {
    "the oldest day": (NotesFilter(until=START + timedelta(days=1)), 3, 5),
    "a day in the middle": (NotesFilter(since=START + timedelta(days=60), until=START + timedelta(days=61)), 1, 1),
    "since yesterday": (NotesFilter(since=START + timedelta(days=82)), 1, 2),
    "an agent that writes every fourth note": (NotesFilter(agent="bob"), 4, 2),
    "an agent that never wrote": (NotesFilter(agent="eve"), 14, 6),
}


@cache
def of_four() -> World:
    """Many notes of four agents."""
    world = space_with_notes(0)
    many(world, MANY, apart=600, agents=FOUR)
    world.clock.move(MANY * 600)
    return world


@pytest.mark.slow
@each("oldest_first", [False, True])
@each(("wanted", "newest", "oldest"), FILTERED.values(), ids=FILTERED)
def test_a_filtered_page_of_many_notes_looks_at_a_bounded_number_of_names(
    wanted: NotesFilter, newest: int, oldest: int, oldest_first: bool
):
    world = of_four().fork()

    page = pages.page(world.process, "demo", wanted, limit=50, oldest_first=oldest_first)

    assert world.client.counts["LIST"] <= (oldest if oldest_first else newest)
    assert len(page.items) == 50 or page.next_after


def test_pages_behind_a_filter_that_nothing_passes_come_to_an_end():
    world = space_with_notes(0)
    many(world, 3_000, apart=600)

    for oldest_first in (False, True):
        world.client.reset()
        assert walk(world, NotesFilter(agent="eve"), limit=50, oldest_first=oldest_first) == []
        assert world.client.counts["LIST"] <= 30


crowd = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 0, 1, 2, 3_600, 90_000, 31_536_000]),
        st.sampled_from(["ann", "bob", "zoe"]),
        st.sampled_from(keys.CATEGORIES),
        st.integers(0, 0xFFFFFFFF),
    ),
    max_size=25,
    unique=True,
)


@given(crowd=crowd, limit=st.integers(1, 9), oldest_first=st.booleans(), most=st.sampled_from([1, 2, 3, 1_000]))
def test_pages_of_any_size_show_every_note_once_in_the_order_of_writing(
    crowd: list[tuple[int, str, str, int]], limit: int, oldest_first: bool, most: int
):
    world = World()
    world.create_space()
    # A store may answer with fewer keys than were asked for.
    world.inner.most_keys = most
    names = [
        keys.NoteName(START + timedelta(seconds=seconds), agent, category, f"{suffix:08x}")
        for seconds, agent, category, suffix in crowd
    ]
    for name in names:
        world.inner.put_object(Bucket="b", Key=NOTE.key("demo", name.note_id), Body=b"note 1")
    found: list[str] = []
    after = None
    while True:
        page = pages.page(world.process, "demo", ANY, limit=limit, after=after, oldest_first=oldest_first)
        assert len(page.items) <= limit
        found += [note.note_id for note in page.items]
        after = page.next_after
        if after is None:
            break

    in_order = [name.note_id for name in sorted(names, key=lambda name: name.order)]
    assert found == (in_order if oldest_first else in_order[::-1])


def test_oldest_first_begins_its_listing_at_the_cursor():
    world = space_with_notes(0)
    many(world, 2_500)
    after = world.live_ids()[2_300]
    world.new_process()
    know(world)

    page = pages.page(world.process, "demo", ANY, limit=10, after=after, oldest_first=True)

    assert world.client.counts == {"LIST": 1, "GET": 10}
    assert page.items[0].note_id.endswith(f"{2_301:08x}")


def test_a_page_by_tag_reads_at_most_five_hundred_notes_and_goes_on_behind_them():
    world = space_with_notes(0)
    many(world, 700)
    know(world)

    page = pages.page(world.process, "demo", NotesFilter(tag="rare"), limit=10)

    assert world.client.counts == {"LIST": 1, "GET": 500}
    assert page.items == []
    assert page.next_after is not None
    assert pages.page(
        world.process, "demo", NotesFilter(tag="rare"), limit=10, after=page.next_after
    ) == pages.NotesPage([], None)


def wanted(**texts: Any) -> NotesFilter:
    return NotesFilter.of(**{"category": None, "agent": None, "tag": None, "since": None, "until": None} | texts)


def test_a_filter_is_read_from_texts_also_where_a_plus_sign_arrived_as_a_space():
    found = wanted(category="todo", agent="ann", since="2026-02-20T15:00:00 01:00", until="2026-02-21T00:00:00")

    assert found == NotesFilter("todo", "ann", None, START, datetime(2026, 2, 21, tzinfo=UTC))


@each(
    ("field", "value"),
    [
        ("category", "gossip"),
        ("category", ""),
        ("agent", "a_b"),
        ("agent", ""),
        ("since", "yesterday"),
        ("since", ""),
        ("until", "2026-02-31"),
        ("until", "0001-01-01T00:00:00+14:00"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused_and_named(field: str, value: str):
    with pytest.raises((InvalidRequest, InvalidName)) as refused:
        wanted(**{field: value})

    error = refused.value
    assert (
        [found.field for found in error.fields] == [field]
        if isinstance(error, InvalidRequest)
        else error.field == field
    )


def test_a_note_is_found_by_its_id_as_long_as_it_is_live_with_one_get():
    world = space_with_notes()
    note_id = world.live_ids()[3]
    world.client.reset()

    note = pages.get(world.process, "demo", note_id)

    assert (note.content, note.status, note.consolidation) == ("note 3", "live", None)
    assert world.client.counts == {"GET": 1}


def test_a_folded_note_is_found_for_ever_with_its_consolidation():
    world = space_with_notes()
    ids = world.live_ids()
    world.consolidate(max_notes=6)
    world.consolidate()
    world.client.reset()

    note = pages.get(world.process, "demo", ids[8])

    assert (note.content, note.status, note.consolidation) == ("note 8", "consolidated", 2)
    # The note, the head, one listing of records, and the one record whose times cover the note.
    assert world.client.counts == {"GET": 3, "LIST": 1}


def test_a_folded_note_whose_consolidation_was_undone_is_live_again_and_then_folded_by_the_next():
    world = space_with_notes(2)
    note_id = world.live_ids()[0]
    world.consolidate()
    world.undo(1)
    assert pages.get(world.process, "demo", note_id).status == "live"

    world.consolidate()

    note = pages.get(world.process, "demo", note_id)
    assert (note.status, note.consolidation) == ("consolidated", 3)


@pytest.mark.parametrize("note_id", ["20260220T140000_ann_todo_ffffffff", "20990220T140000_eve_todo_00000001"])
def test_a_note_that_never_was_is_not_found(note_id: str):
    world = space_with_notes()
    world.consolidate()

    with pytest.raises(NotFound) as missing:
        pages.get(world.process, "demo", note_id)
    assert missing.value.code == "note_not_found"


def test_a_note_of_an_unknown_space_tells_that_the_space_is_unknown():
    with pytest.raises(NotFound) as missing:
        pages.get(World().process, "nowhere", "20260220T140000_ann_todo_ffffffff")
    assert missing.value.code == "space_not_found"


@each("note_id", ["", "x", "../x", "20260220T140000_ann_todo_ffffffff.md"])
def test_what_is_no_note_id_is_refused(note_id: str):
    with pytest.raises(InvalidName):
        pages.get(space_with_notes(0).process, "demo", note_id)


def test_notes_are_read_by_their_ids_wherever_they_are_in_the_order_of_the_ids():
    world = World()
    world.create_space()
    folded = [world.note(f"folded {number}") for number in range(3)]
    world.clock.move(60)
    world.consolidate()
    world.clock.move(60)
    live = world.note("live")
    gone = "20260101T000000_ann_todo_00000000"
    world.new_process()
    world.client.reset()

    wanted = [live.note_id, folded[2].note_id, gone, folded[0].note_id, live.note_id]
    found = pages.of_ids(world.process, "demo", wanted)

    assert [(note.content, note.status, note.consolidation) for note in found] == [
        ("live", "live", None),
        ("folded 2", "consolidated", 1),
        ("folded 0", "consolidated", 1),
    ]
    # The head, four ids, the record.
    assert world.client.counts["GET"] <= 1 + 4 + 1 + 1
    assert found == [pages.get(world.process, "demo", note.note_id) for note in found]


def test_notes_that_an_undo_gave_back_are_live():
    world = World()
    world.create_space()
    note = world.note("folded, then given back")
    world.clock.move(60)
    world.consolidate()
    world.undo(1)

    assert [one.status for one in pages.of_ids(world.process, "demo", [note.note_id])] == ["live"]


@each("ids", [[], [""], ["x"], [f"20260101T000000_ann_todo_{n:08x}" for n in range(101)]])
def test_ids_that_are_none_or_too_many_are_refused(ids: list[str]):
    world = World()
    world.create_space()

    with pytest.raises(InvalidRequest):
        pages.of_ids(world.process, "demo", ids)
