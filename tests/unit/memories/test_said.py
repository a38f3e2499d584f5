"""When a memory was said and by whom: it belongs to the words that stand, through merges, corrections and splits."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem import clock
from livemem.errors import InvalidRequest
from livemem.memories import correcting, forgetting, log, merging, operation, reading, splitting
from livemem.memories.correcting import Correction
from livemem.memories.memory import Memory, Provenance
from livemem.memories.merging import Candidate, Near
from livemem.notes import appending
from livemem.notes.appending import NoteDraft
from livemem.store.bucket import OPERATION
from tests.support.chatter import Chatter, fact
from tests.support.memories import store, world_with_meaning
from tests.support.searching import find
from tests.support.world import World

MARCH, JUNE = "2025-03-01T09:30:00Z", "2025-06-01T18:00:00Z"


@pytest.fixture
def world() -> World:
    return world_with_meaning()[0]


def said(memory: Memory) -> tuple[str, str | None, str | None]:
    return memory.content, memory.said_at, memory.author


def moments() -> st.SearchStrategy[str | None]:
    return st.one_of(st.none(), st.sampled_from([MARCH, JUNE]))


@st.composite
def a_memory(draw: st.DrawFn, memory_id: str) -> Memory:
    at = draw(st.sampled_from(["2026-02-20T14:00:00.000Z", "2026-02-20T15:00:00.000Z"]))
    return Memory(
        memory_id=memory_id,
        kind="fact",
        content=draw(
            st.sampled_from(["We meet on Mondays.", "we meet on mondays", "We meet on Mondays at 9 in Kiel."])
        ),
        created_at=at,
        updated_at=at,
        expires_at=draw(st.one_of(st.none(), st.just("2026-03-20T14:00:00.000Z"))),
        said_at=draw(moments()),
        author=draw(st.one_of(st.none(), st.sampled_from(["ines", "zoé"]))),
        provenance=Provenance(author=draw(st.sampled_from(["ann", "bob"]))),
    )


@given(a_memory("old"), a_memory("new"), st.sampled_from([None, "same", "contradicts"]), st.booleans())
def test_of_two_that_become_one_time_and_speaker_are_those_of_the_words_that_stand(old, new, verdict, replace):
    now = clock.parse("2026-02-21T14:00:00Z")

    met = merging.merge(Candidate(new, replace), Near(old, 0.9, "text"), verdict, now, 7)

    if met is not None:
        standing, merged = met
        kept = new if merged.kept == "new" else old
        assert (said(standing), standing.provenance) == (said(kept), kept.provenance)


def test_a_memory_keeps_when_it_was_said_and_by_whom_through_merge_split_and_correction(world):
    first = store(world.process, "1: The port is 8080.", said_at=MARCH, author="ines").memory
    merged = store(world.process, "1: The port is 8080, for the shop of Kiel.", "bob", said_at=JUNE, author="zoé")
    assert said(merged.memory) == ("1: The port is 8080, for the shop of Kiel.", JUNE, "zoé")

    apart = splitting.split(world.process, "demo", "ann", first.memory_id)
    assert said(apart.memory.memory) == ("1: The port is 8080.", MARCH, "ines")
    assert said(apart.other) == ("1: The port is 8080, for the shop of Kiel.", JUNE, "zoé")

    # Who corrects the words says them, and who corrects the rest does not.
    def corrected(**wanted) -> Memory:
        done = correcting.correct(world.process, "demo", "eva", first.memory_id, Correction(**wanted))
        return done.memory

    assert said(corrected(subjects=["port"]))[1:] == (MARCH, "ines")
    assert said(corrected(content="1: The port is 8080.", subjects=["web"]))[1:] == (MARCH, "ines")
    assert said(corrected(said_at=JUNE, author=None))[1:] == (JUNE, None)
    fresh = corrected(content="1: The port is 9090.")
    assert (fresh.said_at, fresh.author, fresh.speaker, fresh.moment) == (None, None, "eva", fresh.updated_at)
    gone = forgetting.delete(world.process, "demo", "ann", apart.other.memory_id, "x", anyone=True)
    back = forgetting.restore(world.process, "demo", "ann", gone.memory_id, anyone=True)
    assert said(back.memory)[1:] == (JUNE, "zoé")


def test_a_time_ahead_of_the_clock_is_now_and_what_is_no_time_or_name_is_refused(world):
    assert store(world.process, "1: x", said_at="2031-01-01T00:00:00Z").memory.said_at is None
    assert store(world.process, "2: x", said_at="2025-03-01T10:30:00+01:00").memory.said_at == MARCH
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"said_at": "2025-02-30T10:00:00Z"}, "said_at"),
        ({"said_at": "yesterday"}, "said_at"),
        ({"author": "a\nb"}, "author"),
        ({"author": " "}, "author"),
    ]
    for draft, field in wrong:
        with pytest.raises(InvalidRequest, match=field):
            store(world.process, "3: x", **draft)
        (memory,) = reading.search(world.process, "demo", "1: x", limit=1)
        with pytest.raises(InvalidRequest, match=field):
            correcting.correct(world.process, "demo", "ann", memory.memory.memory_id, Correction(**draft))


def test_a_log_of_before_these_fields_reads_on_and_knows_its_repeats(world):
    store(world.process, "1: The port is 8080.", op_id="k")
    key = OPERATION.key("demo", "fact", 1)
    old = json.loads(world.store.get(key).body)
    del old["memory"]["said_at"], old["memory"]["author"]
    world.store.put(key, json.dumps(old).encode())
    world.new_process()
    world.process = world.with_parts(embed=world_with_meaning()[1])

    again = store(world.process, "1: The port is 8080.", op_id="k")

    assert (again.repeated, again.memory.said_at, again.memory.moment) == (True, None, again.memory.updated_at)
    # The hash of a request without them, as versions before these fields have made it.
    assert operation.read(world.process, world.store.get(key)).request == "79e99e2bec26aef2362bcbf74e2a58e3"
    with pytest.raises(InvalidRequest, match="Idempotency-Key"):
        store(world.process, "1: The port is 8080.", op_id="k", said_at=MARCH)


def test_a_memory_of_a_note_was_said_when_and_by_whom_the_note_was(world):
    note = appending.append(
        world.process, "demo", "ann", NoteDraft("decision", "Port 8080.", said_at=MARCH, author="ines")
    )
    own = appending.append(world.process, "demo", "bob", NoteDraft("decision", "Port 9090."))
    gone = "20260101T120000_eva_todo_00000000"
    store(world.process, "9: The log is known.")
    world.clock.move(1)
    world.client.reset()

    one = store(world.process, "1: The port is 8080.", "bob", note_id=note.note_id).memory
    # The note, and the head, because the note is newer than the one that this process knows.
    assert world.client.counts == {"GET": 2, "LIST": 1, "PUT": 1}
    assert said(one)[1:] == (MARCH, "ines")
    assert said(store(world.process, "2: b", "bob", note_id=own.note_id).memory)[1:] == (own.timestamp, None)
    # Its id says as much of a note that is gone.
    assert said(store(world.process, "3: c", "bob", note_id=gone).memory)[1:] == ("2026-01-01T12:00:00Z", "eva")
    # What the caller says counts.
    told = store(world.process, "4: d", "bob", note_id=note.note_id, said_at=JUNE).memory
    assert said(told)[1:] == (JUNE, "ines")


def test_a_note_whose_author_is_no_name_makes_no_memory_that_can_not_be_read(world):
    note = appending.append(world.process, "demo", "ann", NoteDraft("decision", "Port 8080.", author="ines"))
    key = f"demo/live/{note.note_id}.md"
    body = world.store.get(key).body
    world.store.put(key, body.replace(b'"ines"', b'"in\\nes"'))
    world.clock.move(60)

    made = store(world.process, "1: The port is 8080.", "bob", note_id=note.note_id).memory

    assert made.author is None
    world.new_process()
    assert log.load(world.process, "demo", "fact").number == 1


def test_a_memory_of_a_digest_was_said_when_its_last_message_was_by_its_one_speaker():
    chatter = Chatter()
    chatter.say(fact(1), author="Zoé", timestamp="2026-02-19T08:00:00Z")
    chatter.digested()

    (found,) = reading.recent(chatter.process, "demo")

    assert said(found) == (fact(1), "2026-02-19T08:00:00Z", "Zoé")
    (hit,) = find(chatter.process, fact(1), scope="memories").hits
    assert (hit.document.time, hit.document.author) == ("2026-02-19T08:00:00Z", "Zoé")


def test_a_search_finds_a_memory_by_when_it_was_said_and_by_whom(world):
    store(world.process, "1: The port is 8080.", said_at=MARCH, author="ines")
    store(world.process, "2: The port of Kiel is closed.", said_at=JUNE)
    store(world.process, "3: Ann asked for the port.", user="dev")

    def which(**asked) -> list[str]:
        return [hit.document.text[:1] for hit in find(world.process, "port", scope="memories", **asked).hits]

    assert which(author="ines") == ["1"]
    assert which(author="dev") == ["3"]
    assert which(since="2025-05-01T00:00:00Z", until="2025-07-01T00:00:00Z") == ["2"]
