"""Appending notes: checked before anything is written, one PUT each, never over another note."""

from typing import Any

import pytest

from livemem.errors import (
    InvalidName,
    InvalidRequest,
    LiveMemoryError,
    NotFound,
    PreconditionLost,
    StoreUnavailable,
    TooLarge,
)
from livemem.notes import appending, idempotency, pages
from livemem.notes import note as notes
from livemem.notes.appending import NoteDraft
from livemem.spaces import head as heads
from livemem.store import keys
from tests.support.cases import each
from tests.support.world import World


def new_world() -> World:
    world = World()
    world.create_space()
    world.new_process()
    return world


def append(world: World, draft: NoteDraft, agent: str = "ann", **changes: Any) -> notes.Note:
    process = world.with_parts(**changes) if changes else world.process
    return appending.append(process, "demo", agent, draft)


def batch(world: World, drafts: list[NoteDraft]) -> list[notes.Note]:
    return appending.append_batch(world.process, "demo", "ann", drafts)


def test_an_appended_note_is_one_object_that_reads_back_as_it_was_answered():
    world = new_world()

    note = append(world, NoteDraft("decision", "We use S3.\n---\n", ("s3", "étoile")))

    assert world.live_ids() == [note.note_id]
    assert note.note_id.startswith("20260220T140000_ann_decision_")
    assert (note.status, note.size, note.malformed) == ("live", 15, False)
    assert pages.get(world.process, "demo", note.note_id) == note


def test_appending_costs_one_put_once_the_space_is_known():
    world = new_world()
    append(world, NoteDraft("todo", "first"))
    world.client.reset()

    append(world, NoteDraft("todo", "second"))
    world.clock.move(1)
    batch(world, [NoteDraft("todo", str(number)) for number in range(10)])

    assert world.client.counts == {"PUT": 11}


BAD_DRAFTS = [
    (NoteDraft("gossip", "x"), InvalidRequest, "category"),
    (NoteDraft("", "x"), InvalidRequest, "category"),
    (NoteDraft("Todo", "x"), InvalidRequest, "category"),
    (NoteDraft("todo", ""), InvalidRequest, "content"),
    (NoteDraft("todo", " \r\n\t"), InvalidRequest, "content"),
    (NoteDraft("todo", "x" * 100_001), TooLarge, "content"),
    (NoteDraft("todo", "é" * 50_001), TooLarge, "content"),
    (NoteDraft("todo", "half \ud83d"), InvalidRequest, "content"),
    (NoteDraft("todo", "x", tuple("abcdefghijklmnopqrstu")), InvalidRequest, "tags"),
    (NoteDraft("todo", "x", ("a" * 51,)), InvalidRequest, "tags"),
    (NoteDraft("todo", "x", ("",)), InvalidRequest, "tags"),
    (NoteDraft("todo", "x", (" ",)), InvalidRequest, "tags"),
    (NoteDraft("todo", "x", ("a\nb",)), InvalidRequest, "tags"),
    (NoteDraft("todo", "x", ("a\u2028b",)), InvalidRequest, "tags"),
    (NoteDraft("todo", "x", ("a\x00b",)), InvalidRequest, "tags"),
    (NoteDraft("todo", "x", ("\ud83d",)), InvalidRequest, "tags"),
]


@each(("draft", "error", "field"), BAD_DRAFTS)
def test_what_is_wrong_with_a_note_is_named_and_nothing_is_asked_or_written(
    draft: NoteDraft, error: type[LiveMemoryError], field: str
):
    world = new_world()

    with pytest.raises(error) as refused:
        append(world, draft)

    assert [found.field for found in refused.value.fields] == [field]
    assert world.client.counts == {}


@each(
    "draft",
    [
        NoteDraft("todo", "x" * 100_000),
        NoteDraft("todo", "é" * 50_000),
        NoteDraft("todo", "x", tuple("abcdefghijklmnopqrst")),
        NoteDraft("todo", "x", ("🦊" * 50,)),
        *(NoteDraft(category, "x") for category in keys.CATEGORIES),
    ],
    ids=range(11),
)
def test_a_note_at_its_limits_is_taken(draft: NoteDraft):
    world = new_world()

    note = append(world, draft)

    assert pages.get(world.process, "demo", note.note_id).content == draft.content


@each("agent", ["", "a_b", "a/b", "é", "a" * 65, "-a"])
def test_an_agent_whose_name_would_not_parse_back_can_not_write(agent: str):
    world = new_world()

    with pytest.raises(InvalidName):
        append(world, NoteDraft("todo", "x"), agent)
    assert world.live_ids() == []


def test_a_batch_keeps_its_order_within_the_second():
    world = new_world()

    written = batch(world, [NoteDraft("todo", str(number)) for number in range(100)])

    assert [note.note_id for note in written] == world.live_ids()
    assert [note.content for note in written] == [str(number) for number in range(100)]


@each("suffix", ["00000000", "ffffffff", "fffffff0", "0000007f"])
def test_the_suffixes_of_a_batch_stay_eight_hex_digits(suffix: str):
    world = new_world()

    process = world.with_parts(new_suffix=lambda: suffix)
    written = appending.append_batch(process, "demo", "ann", [NoteDraft("todo", "x")] * 100)

    assert len(world.live_ids()) == 100
    assert all(keys.parse_note_id(note.note_id) for note in written)


@each(("draft", "error", "field"), BAD_DRAFTS)
def test_one_bad_note_of_a_batch_stops_all_of_it_and_is_named_by_its_place(
    draft: NoteDraft, error: type[LiveMemoryError], field: str
):
    world = new_world()

    with pytest.raises(error) as refused:
        batch(world, [NoteDraft("todo", "fine"), NoteDraft("todo", "fine"), draft])

    assert [found.field for found in refused.value.fields] == [f"items.2.{field}"]
    assert world.client.counts == {}


@pytest.mark.parametrize(("count", "error"), [(0, InvalidRequest), (101, TooLarge)])
def test_a_batch_has_1_to_100_notes(count: int, error: type[LiveMemoryError]):
    world = new_world()

    with pytest.raises(error) as refused:
        batch(world, [NoteDraft("todo", "x")] * count)

    assert [found.field for found in refused.value.fields] == ["items"]
    assert world.client.counts == {}


def test_an_unknown_space_takes_no_note():
    world = World()

    for write in (
        lambda: append(world, NoteDraft("todo", "x")),
        lambda: batch(world, [NoteDraft("todo", "x")]),
        lambda: idempotency.append_once(
            world.process,
            "demo",
            "ann",
            NoteDraft("todo", "x"),
            "k",
        ),
    ):
        with pytest.raises(NotFound):
            write()
    assert world.keys("demo/") == []


def test_a_name_that_is_taken_is_not_written_over():
    world = new_world()
    first = append(world, NoteDraft("todo", "first"), new_suffix=lambda: "00000001")
    suffixes = iter(["00000001", "00000001", "00000002"])

    second = append(world, NoteDraft("todo", "second"), new_suffix=lambda: next(suffixes))

    assert second.note_id.endswith("_00000002")
    assert pages.get(world.process, "demo", first.note_id).content == "first"
    assert pages.get(world.process, "demo", second.note_id) == second


def test_a_note_without_any_free_name_is_an_error_and_not_an_overwrite():
    world = new_world()
    append(world, NoteDraft("todo", "first"), new_suffix=lambda: "00000001")

    with pytest.raises(PreconditionLost):
        append(world, NoteDraft("todo", "second"), new_suffix=lambda: "00000001")
    assert len(world.live_ids()) == 1


def test_a_write_that_happened_although_the_store_answered_412_is_not_written_twice():
    world = new_world()
    heads.load_recent(world.process, "demo")
    world.client.reset()
    world.client.break_at(0, "PreconditionFailed", 412, done=True)

    note = append(world, NoteDraft("todo", "once"))

    assert world.live_ids() == [note.note_id]


def test_a_write_that_the_store_refused_is_an_error_for_the_client():
    world = new_world()
    heads.load_recent(world.process, "demo")
    world.client.reset()
    world.client.break_at(0, "SlowDown", 503, done=False)

    with pytest.raises(StoreUnavailable):
        append(world, NoteDraft("todo", "x"))
    assert world.live_ids() == []


def test_a_note_keeps_when_and_by_whom_it_was_said():
    world = World()
    world.create_space()
    draft = NoteDraft("observation", "I painted a boat", said_at="2023-05-08T15:56:00+02:00", author="Caroline O'Hara")
    written = appending.append(world.process, "demo", "importer", draft)
    ahead = appending.append(world.process, "demo", "importer", NoteDraft("todo", "x", said_at="2999-01-01T00:00:00Z"))

    found = pages.get(world.process, "demo", written.note_id)
    assert (found.agent, found.author, found.said_at) == ("importer", "Caroline O'Hara", "2023-05-08T13:56:00Z")
    assert (found.moment, found.speaker) == (found.said_at, found.author)
    assert (ahead.said_at, ahead.moment, ahead.speaker) == (None, ahead.timestamp, "importer")


@each("field, value", [("said_at", "yesterday"), ("author", " "), ("author", "a\nb"), ("author", "x" * 201)])
def test_a_time_or_an_author_that_is_none_is_refused_by_name(field: str, value: str):
    world = World()
    world.create_space()
    drafts = [
        NoteDraft("todo", "a"),
        NoteDraft(
            "todo", "b", said_at=value if field == "said_at" else None, author=value if field == "author" else None
        ),
    ]
    with pytest.raises((InvalidRequest, TooLarge), match=f"items.1.{field}"):
        appending.append_batch(world.process, "demo", "ann", drafts)
    assert world.keys("demo/live/") == ["demo/live/.keep"]


def test_another_author_under_the_same_idempotency_key_is_another_note():
    world = World()
    world.create_space()
    draft = NoteDraft("todo", "a", author="ines")
    assert idempotency.append_once(world.process, "demo", "ann", draft, "k")[1]
    assert not idempotency.append_once(world.process, "demo", "ann", draft, "k")[1]
    for other in (NoteDraft("todo", "a"), NoteDraft("todo", "a", said_at="2023-05-08T13:56:00Z", author="ines")):
        with pytest.raises(InvalidRequest, match="another request"):
            idempotency.append_once(world.process, "demo", "ann", other, "k")
