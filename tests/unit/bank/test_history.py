"""The history as users read it: newest first, diffs, sources, what is undone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.bank import corrections, history
from livemem.errors import InvalidRequest, NotFound, ObjectUnreadable
from livemem.llm.usage import Usage
from livemem.spaces import head as heads
from livemem.store.bucket import RECORD
from tests.support.cases import each
from tests.support.world import World, forked


@forked
def space_with_history() -> World:
    """Change 1 a consolidation, 2 a correction, 3 a consolidation, 4 its undo."""
    world = World()
    world.create_space()
    world.note("one")
    world.consolidate()
    world.clock.move(60)
    corrections.write_file(world.process, "bob", "demo", "log.md", "# Log\n\n## Log\n\n- One.\n", "a typo")
    world.clock.move(60)
    world.note("two", agent="cat")
    world.consolidate()
    world.clock.move(60)
    world.undo(3)
    return world


def page(world: World, limit: int = 50, before: int | None = None) -> tuple[list[history.RecordSummary], int | None]:
    return history.page(world.process, "demo", limit=limit, before=before)


def test_the_history_shows_every_change_newest_first_with_what_is_undone():
    found, more = page(space_with_history())

    assert more is None
    assert [(item.number, item.kind, item.undone, item.undoes, item.author) for item in found] == [
        (4, "undo", False, 3, "admin"),
        (3, "consolidation", True, None, None),
        (2, "manual", False, None, "bob"),
        (1, "consolidation", False, None, None),
    ]
    assert [item.notes_count for item in found] == [1, 1, 0, 1]
    assert [item.files for item in found] == [
        [{"path": "log.md", "action": action}] for action in ("updated", "edited", "updated", "created")
    ]
    assert found[3].committed_at == "2026-02-20T14:00:00Z"
    assert found[3].metrics["notes_processed"] == 1


@each("limit", [1, 2, 3, 4, 5])
def test_pages_of_the_history_show_every_change_once_and_know_what_later_pages_undid(limit: int):
    world = space_with_history()
    found: list[history.RecordSummary] = []
    before = None
    while True:
        items, before = page(world, limit, before)
        found += items
        if before is None:
            break

    assert [(item.number, item.undone) for item in found] == [(4, False), (3, True), (2, False), (1, False)]


def test_a_space_without_changes_has_an_empty_history():
    world = World()
    world.create_space()

    assert page(world) == ([], None)


def test_a_page_of_the_history_costs_one_list_and_one_get_for_each_change():
    world = space_with_history()
    world.new_process()
    page(world, 2)
    assert world.client.counts == {"LIST": 1, "GET": 3}  # one is for the head
    world.client.reset()

    page(world, 3)

    assert world.client.counts == {"LIST": 1, "GET": 2}  # records that were read before cost nothing


def test_one_change_shows_its_sources_diffs_and_synthesis():
    world = space_with_history()

    found = history.read(world.process, "demo", 3)

    assert found.summary.undone
    assert [(note.content, note.agent, note.malformed) for note in found.sources] == [("two", "cat", False)]
    assert found.changes == [
        {
            "path": "log.md",
            "action": "edited",
            "diff": "--- a/log.md\n+++ b/log.md\n@@ -3,3 +3,4 @@\n ## Log\n \n - One.\n+- two\n",
            "edits": [
                {
                    "op": "append_to_section",
                    "heading": "## Log",
                    "content": "- two",
                    "notes": [found.sources[0].note_id],
                }
            ],
            "reason": None,
            "said": None,
            "coarse": False,
        }
    ]
    assert found.synthesis == {"before": "1 notes.", "after": "1 notes."}
    assert found.usage == Usage(1, 100, 20)
    assert found.prompt_version


def test_the_first_change_has_no_synthesis_before_it_and_a_correction_has_none_at_all():
    world = space_with_history()

    assert history.read(world.process, "demo", 1).synthesis == {"before": None, "after": "1 notes."}
    correction = history.read(world.process, "demo", 2)
    assert correction.synthesis == {"before": None, "after": None}
    assert correction.changes[0]["reason"] == "a typo"
    assert not correction.summary.undone


def statuses(world: World, number: int) -> list[tuple[str, int | None]]:
    return [(note.status, note.consolidation) for note in history.read(world.process, "demo", number).sources]


def test_the_sources_of_an_undone_consolidation_are_shown_as_live():
    world = space_with_history()

    assert statuses(world, 1) == [("consolidated", 1)]
    assert statuses(world, 3) == [("live", None)]
    assert statuses(world, 4) == [("live", None)]


def test_notes_that_were_folded_again_after_an_undo_are_shown_with_the_consolidation_that_holds_them():
    world = space_with_history()
    world.note("three")
    world.consolidate()

    assert statuses(world, 3) == statuses(world, 4) == [("consolidated", 5)]
    assert statuses(world, 5) == [("consolidated", 5)] * 2


def test_an_undo_is_answered_as_the_history_lists_it_and_its_own_page_shows_its_notes_as_live():
    world = space_with_history()

    corrections.undo(world.process, "admin", "demo", 2)
    answer = corrections.undo(world.process, "admin", "demo", 1)

    found = history.read(world.process, "demo", answer.number)
    assert answer == found.summary
    assert (answer.undoes, answer.notes_count) == (1, 1)
    assert [(note.content, note.status) for note in found.sources] == [("one", "live")]


@pytest.mark.parametrize("number", [0, 5, -1])
def test_a_change_that_never_was_is_not_found(number: int):
    with pytest.raises(NotFound) as missing:
        history.read(space_with_history().process, "demo", number)
    assert missing.value.code == "consolidation_not_found"


def test_the_history_of_an_unknown_space_is_not_found():
    for ask in (
        lambda: history.page(World().process, "demo", limit=1, before=None),
        lambda: history.read(World().process, "demo", 1),
    ):
        with pytest.raises(NotFound) as missing:
            ask()
        assert missing.value.code == "space_not_found"


def test_a_record_that_can_not_be_read_is_named_and_hides_no_other_and_is_an_error_where_it_is_asked_for():
    world = space_with_history()
    first, *_ = world.keys(RECORD.prefix("demo"))
    all_numbers = [change.number for change in page(world)[0]]
    world.inner.put_object(Bucket="b", Key=first, Body=b"{")
    missing: list[str] = []

    found, _ = history.page(world.process, "demo", limit=50, before=None, missing=missing)

    assert ([change.number for change in found], missing) == ([one for one in all_numbers if one != 1], [first])
    with pytest.raises(ObjectUnreadable) as broken:
        history.read(world.process, "demo", 1)
    assert broken.value.key == first
    assert first in broken.value.detail


@each("text", ["", "-1", "1.0", "one", " 1", "1" * 10, "１x"])
def test_what_is_no_number_of_a_change_is_refused(text: str):
    with pytest.raises(InvalidRequest) as refused:
        history.check_number(text)
    assert [field.field for field in refused.value.fields] == ["number"]


def test_a_number_of_a_change_may_have_leading_zeros():
    assert [history.check_number(text) for text in ("1", "000001", "0", "999999999")] == [1, 1, 0, 999_999_999]


def test_a_page_of_a_long_history_costs_no_more_than_one_of_a_short_one_wherever_it_is():
    world = World()
    world.create_space()
    for number in range(150):
        corrections.write_file(world.process, "admin", "demo", "a.md", f"{number}\n", None)
        if number % 10 == 9:
            world.undo(heads.load(world.process, "demo").meta.changes)

    for before in (None, 100, 40):
        world.new_process()
        items, more = page(world, 5, before)
        assert (len(items), more) == (5, items[-1].number)
        assert world.client.counts == {"LIST": 1, "GET": 6}
    world.new_process()
    history.read(world.process, "demo", 10)
    assert world.client.counts == {"LIST": 1, "GET": 2}


steps = st.lists(st.sampled_from(["write", "write", "undo"]), max_size=25)


@given(steps=steps, limit=st.integers(1, 9))
def test_what_the_history_calls_undone_is_what_the_records_say(steps: list[str], limit: int):
    world = World()
    world.create_space()
    standing: list[int] = []
    undone: set[int] = set()
    count = 0
    for step in steps:
        if step == "undo" and standing:
            world.undo(standing[-1])
            undone.add(standing.pop())
        else:
            corrections.write_file(world.process, "admin", "demo", "a.md", f"{count}\n", None)
            standing.append(count + 1)
        count += 1
    found: list[history.RecordSummary] = []
    before = None
    while True:
        items, before = page(world, limit, before)
        found += items
        if before is None:
            break

    assert [item.number for item in found] == list(range(count, 0, -1))
    assert {item.number for item in found if item.undone} == undone
    assert {number for number in range(1, count + 1) if history.read(world.process, "demo", number).summary.undone} == (
        undone
    )


def test_a_history_whose_oldest_records_were_removed_ends_where_they_do():
    world = space_with_history()
    for key in world.keys(RECORD.prefix("demo"))[:2]:
        world.inner.delete_object(Bucket="b", Key=key)

    assert [item.number for item in page(world)[0]] == [4, 3]
    items, more = page(world, 2)
    assert ([item.number for item in items], page(world, 2, more)) == ([4, 3], ([], None))
