"""Old notes that are moved to a record: they are read, told of and brought back like consolidated ones, and what tells
of real consolidations stays as it was."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.bank import corrections, files, history
from livemem.changes import archive_notes, rules_change
from livemem.changes.rules_change import NewRules
from livemem.copies import fork, provisioning
from livemem.errors import Busy, NotFound, TooLarge
from livemem.jobs import lease, places
from livemem.markdown.edits import Edit
from livemem.notes import pages
from livemem.notes.pages import NotesFilter
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.spaces.head import Meta
from livemem.spaces.head_fields import Erasing
from livemem.store import keys
from livemem.store.bucket import LEASE, NOTE
from tests.support.audit import audit
from tests.support.rest import check_alive, check_rest, come_to_rest
from tests.support.world import EVERYONE, INVOCATION, World

DAY = 86_400
REASON = "of long ago"


def move(world: World, *, days: float = 30) -> Any:
    until = keys.compact_time(world.clock.off_by(-days * DAY)())
    return archive_notes.move(world.process, "keeper", "demo", until=until, reason=REASON)


def with_old_notes(count: int = 3, *, folded: int = 0, threshold: int = 0) -> tuple[World, list[str]]:
    """A space with so many notes of 31 days ago, after as many that were folded; their ids."""
    world = World()
    world.create_space(threshold=threshold)
    for number in range(folded):
        world.note(f"folded {number}")
    if folded:
        world.consolidate()
    ids = []
    for number in range(count):
        world.clock.move(1)
        ids.append(world.note(f"old {number}").note_id)
    world.clock.move(31 * DAY)
    world.new_process()
    return world, ids


def meta(world: World) -> Meta:
    return heads.load(world.process, "demo").meta


def check(world: World, ids: list[str]) -> None:
    found = check_rest(world, "demo", ids)
    assert found.clean(), str(found)


def test_a_moved_note_is_read_as_one_of_the_record_s_and_is_on_no_page_of_live_notes():
    world, ids = with_old_notes()
    fresh = world.note("fresh").note_id

    record = move(world)

    assert (record.kind, record.trigger, record.author, record.model) == ("consolidation", "gc", "keeper", None)
    assert record.discarded == [{"note_id": note_id, "reason": REASON} for note_id in ids]
    assert [note.note_id for note in pages.page(world.process, "demo", NotesFilter(), limit=10).items] == [fresh]
    read = [pages.get(world.process, "demo", note_id) for note_id in ids]
    assert [(note.content, note.status, note.consolidation) for note in read] == [
        (f"old {number}", "consolidated", 1) for number in range(3)
    ]
    check(world, [*ids, fresh])


def test_no_file_changes_and_the_history_tells_of_it():
    world, ids = with_old_notes(folded=2)
    bank, synthesis = world.bank(), world.text("demo/_synthesis.md")

    move(world)

    assert (world.bank(), world.text("demo/_synthesis.md")) == (bank, synthesis)
    (newest, first), _ = history.page(world.process, "demo", limit=10, before=None)
    assert (newest.number, newest.kind, newest.trigger, newest.author, newest.files) == (
        2,
        "consolidation",
        "gc",
        "keeper",
        [],
    )
    assert (newest.notes_count, newest.model, first.trigger) == (3, None, "api")
    detail = history.read(world.process, "demo", 2)
    assert (detail.changes, detail.synthesis) == ([], {"before": None, "after": None})
    assert [note.note_id for note in detail.sources] == ids
    assert {item["note_id"] for item in detail.discarded} == set(ids)
    then = history.bank(world.process, "demo", at="2", content=True)
    assert {file.path: file.content for file in then} == bank
    assert history.synthesis(world.process, "demo", at="2").content == "2 notes."


def test_what_sections_rest_on_stays_as_it_was():
    world, _ = with_old_notes(folded=2)
    before = history.read_file(world.process, "demo", "log.md", at=None, sources=True)

    move(world)

    assert history.read_file(world.process, "demo", "log.md", at=None, sources=True) == before


def test_the_head_counts_the_notes_and_keeps_what_tells_of_real_consolidations():
    world, _ = with_old_notes(folded=2)
    rules_change.change(world.process, "admin", "demo", NewRules("Keep it short."))
    heads.update(world.process, "demo", lambda _: {"prompt_cut": True, "auto_paused": True})
    before = meta(world)

    move(world)

    after = meta(world)
    assert (after.changes, after.consolidation_count, after.total_notes_processed) == (3, 2, 5)
    kept = ("last_consolidation", "prompt_cut", "auto_paused", "rules_changed_at")
    assert [getattr(after, name) for name in kept] == [getattr(before, name) for name in kept]
    assert after.rules_changed_at is not None
    world.note("new")
    world.consolidate()
    assert meta(world).rules_changed_at is None
    assert "The rules were changed on" in world.llm.prompts[-1][1]["content"]


def test_undo_brings_the_notes_back_and_the_head_to_where_it_was():
    world, ids = with_old_notes(folded=2)
    rules_change.change(world.process, "admin", "demo", NewRules("Keep it short."))
    before = meta(world)
    move(world)

    world.undo(3)

    after = meta(world)
    assert sorted(world.live_ids()) == sorted(ids)
    names = ("consolidation_count", "total_notes_processed", "rules_changed_at", "last_consolidation")
    assert [getattr(after, name) for name in names] == [getattr(before, name) for name in names]
    assert after.auto_paused
    assert pages.get(world.process, "demo", ids[0]).status == "live"
    assert come_to_rest(world, "demo").clean()
    check(world, ids)
    assert move(world).number == 5
    check(world, ids)
    assert check_alive(world, "demo").clean()


@pytest.mark.parametrize("at", [2, 3])
def test_a_fork_as_of_then_says_of_consolidations_what_the_space_said(at: int):
    world, ids = with_old_notes(folded=2)
    rules_change.change(world.process, "admin", "demo", NewRules("Keep it short."))
    move(world)
    then = meta(world)
    world.clock.move(60)
    world.note("new")
    world.consolidate()

    head = fork.order(world.process, EVERYONE, "demo", "other", at, world.clock() + INVOCATION)
    provisioning.carry_on(world.process, head, world.clock() + INVOCATION)

    other = heads.load(world.process, "other").meta
    names = ("last_consolidation", "prompt_cut", "rules_changed_at")
    assert [getattr(other, name) for name in names] == [getattr(then, name) for name in names]
    assert other.total_notes_processed == (2 if at == 2 else 5)
    assert world.live_ids("other") == (ids if at == 2 else [])


def test_notes_that_are_set_aside_or_left_out_are_moved_and_forgotten_there():
    world, ids = with_old_notes()
    fresh = world.note("fresh").note_id
    needs = dict.fromkeys((ids[0], fresh), 10**9)
    aside = meta(world).oversized_notes.model_copy(update={"beside": 7, "needs": needs})
    heads.update(world.process, "demo", lambda _: {"oversized_notes": aside, "left_out": [ids[1], fresh]})

    move(world)

    after = meta(world)
    assert (after.oversized_notes.beside, after.oversized_notes.needs, after.left_out) == (7, {fresh: 10**9}, [fresh])


def test_a_note_that_a_record_holds_already_is_not_moved_once_more():
    world, ids = with_old_notes()
    late = world.store.get(NOTE.key("demo", ids[0]))
    assert late
    world.consolidate()
    world.store.put(late.key, late.body)

    with pytest.raises(archive_notes.NothingToMove):
        move(world)

    older = world.note("another").note_id
    world.clock.move(31 * DAY)
    assert [source.note_id for source in move(world).notes] == [older]
    assert come_to_rest(world, "demo", lost=True).clean()
    check(world, [*ids, older])


def test_a_moved_note_that_comes_back_late_is_removed():
    world, ids = with_old_notes()
    late = world.store.get(NOTE.key("demo", ids[0]))
    assert late
    move(world)

    world.store.put(late.key, late.body)

    assert pages.page(world.process, "demo", NotesFilter(), limit=10).items == []
    assert come_to_rest(world, "demo").clean()
    check(world, ids)


def test_a_note_that_is_no_text_is_moved_as_it_is():
    world, ids = with_old_notes(1)
    world.store.put(NOTE.key("demo", ids[0]), b"\xff\x00 no text")

    move(world)
    world.undo(1)

    found = world.store.get(NOTE.key("demo", ids[0]))
    assert found
    assert found.body == b"\xff\x00 no text"


def test_a_change_by_hand_and_a_run_afterwards_build_on_it():
    world, ids = with_old_notes(folded=2, threshold=4)
    move(world)
    edit = Edit("append_to_section", "## Log", "- by hand")
    corrections.edit_sections(world.process, EVERYONE, "demo", "log.md", [edit], "it was missing")
    new = [world.note(f"new {number}").note_id for number in range(4)]
    world.count()
    world.settle()

    assert meta(world).changes == 4
    assert files.read(world.process, "demo", "log.md").content.count("\n- ") == 7
    check(world, [*ids, *new])


def test_if_the_threshold_is_reached_afterwards_a_run_starts():
    world, _ = with_old_notes(2, threshold=3)
    for number in range(3):
        world.note(f"fresh {number}")

    move(world)

    assert [world.view(waiting["job_id"]).trigger for waiting in world.queued] == ["threshold"]


def test_nothing_is_moved_while_somebody_holds_the_space_or_notes_of_it_are_erased():
    world, ids = with_old_notes()
    held = lease.acquire(world.process, places.of_space("demo"), world.ids(), "manual")
    with pytest.raises(Busy):
        move(world)
    lease.release(world.process, held)
    heads.update(world.process, "demo", lambda _: {"erasing": Erasing(at_work=world.ids())})
    with pytest.raises(Busy):
        move(world)

    assert sorted(world.live_ids()) == sorted(ids)
    assert LEASE.key("demo") not in world.keys("demo/")


def test_where_there_is_no_old_note_nothing_changes():
    world, _ = with_old_notes(0)
    world.note("fresh")
    before = meta(world)

    with pytest.raises(archive_notes.NothingToMove):
        move(world)

    assert meta(world) == before
    assert [key for key in world.keys("demo/") if LEASE.key("demo") == key or "_consolidations" in key] == []


def test_a_deleted_space_and_a_reason_beyond_all_bounds_are_refused():
    world, _ = with_old_notes()
    with pytest.raises(TooLarge):
        archive_notes.move(world.process, "keeper", "demo", until="99991231T235959", reason="x" * 501)
    lifecycle.delete(world.process, "demo", "demo")
    with pytest.raises(NotFound):
        move(world)


@given(
    ages=st.lists(st.integers(0, 60), min_size=1, max_size=12),
    days=st.integers(1, 60),
    most=st.integers(1, 5),
    undone=st.booleans(),
)
def test_no_note_is_ever_lost_and_just_the_old_ones_are_moved(ages: list[int], days: int, most: int, undone: bool):
    world = World(consolidation_max_notes=most)
    world.create_space()
    written: dict[str, int] = {}
    for age, later in zip(sorted(ages, reverse=True), [*sorted(ages, reverse=True)[1:], 0], strict=True):
        written[world.note(f"note {len(written)}").note_id] = age
        world.clock.move((age - later) * DAY)
    old = [note_id for note_id, age in written.items() if age >= days]
    records = [move(world, days=days) for _ in range(-(-len(old) // most))]
    with pytest.raises(archive_notes.NothingToMove):
        move(world, days=days)

    assert [source.note_id for record in records for source in record.notes] == sorted(
        old, key=lambda note_id: keys.parse_note_id(note_id).order
    )
    if undone and records:
        world.undo(len(records))
    found = audit(world.inner.objects, "demo", list(written), unique=True)
    assert found.clean(), str(found)
