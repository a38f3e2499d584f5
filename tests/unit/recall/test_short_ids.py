"""Short ids: what they are made of, and that they never lead to another thing than the one that they name."""

import re
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.conversations import conversation as conversations
from livemem.errors import InvalidRequest, NotFound
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.recall import by_id, short_ids
from livemem.store import keys
from livemem.store.bucket import NOTE
from livemem.store.keys import NoteName
from tests.support.world import World

ULIDS = st.from_regex(keys.RUN_ID, fullmatch=True)
NAMES = st.builds(
    NoteName,
    st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31)).map(lambda one: one.replace(microsecond=0, tzinfo=UTC)),  # noqa: DTZ001
    st.from_regex(keys.AGENT, fullmatch=True),
    st.sampled_from(keys.CATEGORIES),
    st.from_regex(re.compile("[0-9a-f]{8}"), fullmatch=True),
)
NUMBERS = st.integers(1, 10**9)
LONG = st.one_of(
    NAMES.map(lambda one: f"notes/{one.note_id}"),
    ULIDS.map(lambda one: f"memories/{one}"),
    st.builds("conversations/{}/turns/{}".format, ULIDS, NUMBERS),
    st.builds("conversations/{}/summaries/{}/{}".format, ULIDS, st.integers(1, 3), NUMBERS),
)


@given(LONG, st.booleans())
def test_a_short_id_is_shorter_keeps_the_kind_and_is_told_from_a_full_one(reference, archived):
    short = short_ids.short_id(reference, archived=archived)

    assert len(short) < len(reference)
    assert short_ids.is_short(short)
    assert not short_ids.is_short(reference)
    assert short_ids.short_id(short) == short
    kind = reference.split("/")[-2 if "/turns/" in reference else -3 if "/summaries/" in reference else 0]
    assert short.split("/")[0] == ("archive" if archived and kind == "notes" else kind)


@given(st.text() | st.from_regex(keys.NOTE_ID, fullmatch=True) | ULIDS)
def test_what_is_no_id_of_these_kinds_stays_as_it_is(text):
    assert short_ids.short_id(text) == text
    assert short_ids.short_id(f"bank/{text}") == f"bank/{text}"


def test_the_notes_of_a_batch_differ_in_their_short_ids():
    base = NoteName(datetime(2026, 2, 20, 14, tzinfo=UTC), "ann", "todo", "")
    for first in (0, 0x0F423F80, 0xFFFFFF80):
        some = {short_ids.of_note(f"{base.note_id}{first + place:08x}") for place in range(100)}
        assert len(some) == 100


def test_each_is_looked_up_with_the_requests_that_the_call_says():
    world = World()
    world.create_space()
    folded = world.note("Folded.")
    world.consolidate()
    world.clock.move(5)
    live = world.note("Live.")
    memory = storing.store(world.process, "demo", "ann", MemoryDraft("Kept.")).memory
    talk = conversations.create(world.process, "demo", "ann", conversations.NewConversation()).conversation_id
    # As in reading one, in a process that knows none.
    of_memory = Counter(GET=2, LIST=6)
    wanted = {
        f"notes/{live.note_id}": Counter(LIST=2),
        # The record, of which this process knows nothing yet.
        f"notes/{folded.note_id}": Counter(LIST=2, GET=1),
        f"memories/{memory.memory_id}": of_memory,
        f"conversations/{talk}/turns/3": Counter(LIST=1),
        f"conversations/{talk}/summaries/1/2": Counter(LIST=1),
        "bank/log.md#A > B": Counter(),
    }
    world.new_process()
    for reference, cost in wanted.items():
        for name in {short_ids.short_id(reference), short_ids.short_id(reference, archived=True)}:
            world.new_process()
            world.client.reset()
            assert by_id.full_id(world.process, "demo", name) == reference
            assert world.client.counts <= cost, (name, world.client.counts)
        world.client.reset()
        assert by_id.full_id(world.process, "demo", reference) == reference
        assert not world.client.counts


def test_where_several_fit_all_are_told_and_a_note_that_is_live_and_in_a_record_is_one():
    world = World()
    world.create_space()
    one = world.note("One.")
    world.consolidate()
    world.undo(1)
    short = short_ids.short_id(f"notes/{one.note_id}")

    assert by_id.full_id(world.process, "demo", short) == f"notes/{one.note_id}"
    other = one.note_id.replace("_ann_", "_bob_")
    body = world.process.store.get(NOTE.key("demo", one.note_id))
    assert body
    world.inner.put_object(Bucket="bucket", Key=NOTE.key("demo", other), Body=body.body)
    for name in (short, short.replace("notes/", "archive/"), f"notes/{one.note_id[:15]}", one.note_id[:15]):
        with pytest.raises(InvalidRequest) as refused:
            by_id.full_id(world.process, "demo", name)
        assert all(f"notes/{note_id}" in refused.value.detail for note_id in (one.note_id, other))
    # More of it, or all, is enough.
    assert by_id.full_id(world.process, "demo", one.note_id[:19]) == f"notes/{one.note_id}"
    assert by_id.full_id(world.process, "demo", f"archive/{other}") == f"notes/{other}"


def test_conversations_and_memories_of_one_millisecond_are_told_apart_or_all_are_told():
    world = World()
    world.create_space()
    made = conversations.create(world.process, "demo", "ann", conversations.NewConversation()).conversation_id
    start = made[:10]
    others = [f"{start}{letter * 16}" for letter in "ABCDEFG" if not made.startswith(start + letter)]
    for other in others:
        world.inner.put_object(Bucket="bucket", Key=f"demo/conversations/{other}/conversation.json", Body=b"{}")

    assert by_id.conversation_id(world.process, "demo", others[0][:12]) == others[0]
    with pytest.raises(InvalidRequest, match="and more"):
        by_id.full_id(world.process, "demo", f"turns/{start}/1")
    with pytest.raises(NotFound):
        by_id.conversation_id(world.process, "demo", "0" * 12)


SLOPPY = [
    *("2", "20260220", "20260220T", "n", "notes/2", "memories/0", "turns/0/1", "../x", "notes/..", "notes/../../other"),
    *(
        "20260220T140000/..",
        "turns/01ARZ3NDEKTS/1/../..",
        "01arz3ndekts",
        "summaries/01ARZ3NDEKTS",
        "",
        " ",
        "x" * 10_000,
    ),
]


@pytest.mark.parametrize("name", SLOPPY)
def test_what_is_too_short_or_no_id_is_asked_of_no_bucket(name):
    world = World()
    world.create_space()
    world.note("x")
    world.client.reset()

    assert by_id.full_id(world.process, "demo", name) == name
    assert by_id.conversation_id(world.process, "demo", name) == name
    assert not world.client.counts


def test_an_id_of_another_space_is_not_found():
    world = World()
    world.create_space("demo")
    world.create_space("other")
    note = world.note("x", space_id="other")
    memory = storing.store(world.process, "other", "ann", MemoryDraft("Kept.")).memory
    talk = conversations.create(world.process, "other", "ann", conversations.NewConversation()).conversation_id

    for reference in (f"notes/{note.note_id}", f"memories/{memory.memory_id}", f"conversations/{talk}/turns/1"):
        with pytest.raises(NotFound):
            by_id.full_id(world.process, "demo", short_ids.short_id(reference))
