"""What was done to memories is told whole, the newest first, each operation once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.errors import MemoriesBroken, NotFound
from livemem.memories import changes, correcting, forgetting, memory_expiry, splitting
from livemem.memories.correcting import Correction
from livemem.store.bucket import OPERATION
from tests.support.memories import store, world_with_meaning


@pytest.fixture
def world():
    return world_with_meaning()[0]


def told(world, **wanted):
    return changes.page(world.process, "demo", **wanted)[0]


def places(found):
    return [(one.kind, one.operation.number) for one in found]


def test_nothing_was_done_where_nothing_was_stored(world):
    assert changes.page(world.process, "demo") == ([], None)
    with pytest.raises(NotFound):
        changes.page(world.process, "other")


def test_each_operation_is_told_by_what_it_did(world):
    one = store(world.process, "1: We keep notes in S3.").memory.memory_id
    correcting.correct(world.process, "demo", "ann", one, Correction(subjects=["notes"]))
    correcting.correct(world.process, "demo", "ann", one, Correction(content="1: We keep notes in the bucket."))
    forgetting.delete(world.process, "demo", "ann", one, "It moved.")
    forgetting.restore(world.process, "demo", "ann", one)

    restored, deleted, content, subjects, stored = told(world)

    assert [one.what for one in (stored, subjects, content, deleted, restored)] == [
        "stored",
        "corrected",
        "corrected",
        "deleted",
        "restored",
    ]
    assert (content.former, subjects.former) == ("1: We keep notes in S3.", None)
    assert (deleted.operation.reason, deleted.former) == ("It moved.", None)


@pytest.mark.parametrize(
    ("again", "kept", "former"),
    [
        # The words that were sent stand, or they do not: what does not stand is told.
        ("1: Notes are kept in the bucket eu-data since March.", "new", "1: We keep notes in S3."),
        ("1: S3.", "former", "1: S3."),
        ("1: we keep notes in s3", "former", None),
    ],
)
def test_of_what_was_merged_the_words_that_do_not_stand_are_told(world, again, kept, former):
    store(world.process, "1: We keep notes in S3.")
    store(world.process, again, "bob")

    merged = told(world)[0]

    assert (merged.what, merged.operation.author) == ("merged", "bob")
    assert merged.operation.merged
    assert (merged.operation.merged.kept, merged.former) == (kept, former)


def test_what_has_expired_is_not_told_as_somebodys_deletion(world):
    store(world.process, "1: Ann is away.", ttl="1h")
    world.clock.move(2 * 3_600)
    assert memory_expiry.delete_expired(world.process, "demo", "fact") == 1

    assert [one.what for one in told(world)] == ["expired", "stored"]


def test_the_order_of_a_kinds_log_stands_whatever_clocks_said(world):
    store(world.process, "1: first")
    world.clock.move(-3_600)
    store(world.process, "2: second")
    world.clock.move(1_800)
    store(world.process, "3: a goal", kind="goal")

    assert places(told(world, kind="fact")) == [("fact", 2), ("fact", 1)]
    assert [place for place in places(told(world)) if place[0] == "fact"] == [("fact", 2), ("fact", 1)]


@given(st.lists(st.sampled_from(["fact", "self", "goal"]), max_size=8), st.integers(1, 4), st.integers(0, 3))
def test_page_by_page_each_operation_comes_once_though_others_are_stored_meanwhile(kinds, limit, more):
    world, _ = world_with_meaning()
    for number, kind in enumerate(kinds):
        store(world.process, f"{number}: Thing {number}.", kind=kind)
        world.clock.move(1)
    found, after = changes.page(world.process, "demo", limit=limit)
    for number in range(more):
        store(world.process, f"{20 + number}: Later thing {number}.", kind=kinds[0] if kinds else "fact")
    while after:
        page, after = changes.page(world.process, "demo", limit=limit, after=after)
        assert 1 <= len(page) <= limit
        found += page

    assert [one.operation.memory.content for one in found] == [
        f"{number}: Thing {number}." for number in reversed(range(len(kinds)))
    ]


def test_a_place_beyond_the_log_is_that_of_its_end(world):
    store(world.process, "1: first")

    assert places(told(world, kind="fact", after={"fact": 10**9})) == [("fact", 1)]
    assert changes.page(world.process, "demo", kind="fact", after={"fact": 1}) == ([], None)


def test_a_page_costs_a_get_for_each_operation_that_it_may_hold(world):
    for number in range(20):
        store(world.process, f"{number}: Thing {number}.")
    told(world)
    world.client.reset()

    told(world, kind="fact", limit=3)

    assert world.client.counts == {"LIST": 1, "GET": 3}


def test_the_changes_of_one_memory_are_told_to_its_beginning_and_of_no_other(world):
    store(world.process, "0: before it")
    one = store(world.process, "1: We keep notes in S3.").memory.memory_id
    store(world.process, "2: another")
    correcting.correct(world.process, "demo", "ann", one, Correction(content="1: We keep notes in the bucket."))
    store(world.process, "3: a goal", kind="goal")
    forgetting.delete(world.process, "demo", "ann", one, "It moved.")

    whole, after = changes.page(world.process, "demo", memory_id=one)
    assert ([change.what for change in whole], after) == (["deleted", "corrected", "stored"], None)
    first, after = changes.page(world.process, "demo", memory_id=one, limit=2)
    rest, end = changes.page(world.process, "demo", memory_id=one, limit=2, after=after)
    assert ([*first, *rest], end) == (whole, None)


def test_the_changes_of_one_memory_are_looked_for_in_bounded_steps(world, monkeypatch):
    monkeypatch.setattr(changes, "LOOKED_AT", 3)
    one = store(world.process, "1: We keep notes in S3.").memory.memory_id
    for number in range(2, 9):
        store(world.process, f"{number}: Thing {number}.")
    told(world)
    world.client.reset()

    pages, after = [changes.page(world.process, "demo", kind="fact", memory_id=one)], None
    assert world.client.counts == {"LIST": 1, "GET": 3}
    while after := pages[-1][1]:
        pages.append(changes.page(world.process, "demo", kind="fact", memory_id=one, after=after))

    assert [[change.what for change in page] for page, _ in pages] == [[], [], ["stored"]]


def test_a_memory_that_was_split_off_begins_with_the_split(world):
    one = store(world.process, "1: We keep notes in S3.").memory.memory_id
    store(world.process, "1: Notes are kept in the bucket eu-data since March.", "bob")
    other = splitting.split(world.process, "demo", "ann", one).other.memory_id

    found, after = changes.page(world.process, "demo", memory_id=other)

    assert ([change.what for change in found], after) == (["split"], None)


@pytest.mark.parametrize("number", [1, 2])
def test_a_hole_in_the_log_is_named_and_nothing_is_stored_over_it(world, number):
    for place in range(3):
        store(world.process, f"{place}: Thing {place}.")
    world.store.delete(OPERATION.key("demo", "fact", number))

    missing: list[str] = []
    changes.page(world.process, "demo", missing=missing)
    assert missing == [OPERATION.key("demo", "fact", number)]
    with pytest.raises(MemoriesBroken, match=f"operation {number}"):
        store(world.new_process(), "9: one more")


def test_an_operation_of_another_kind_is_not_looked_at(world):
    store(world.process, "1: first")
    store(world.process, "2: I watch.", kind="self")
    world.store.delete(OPERATION.key("demo", "self", 1))

    assert places(told(world, kind="fact")) == [("fact", 1)]
