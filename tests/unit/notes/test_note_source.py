"""A note that passes on one of another space names it, and the notes that promotions wrote say where they are from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.errors import InvalidRequest, NotFound
from livemem.notes import appending, idempotency, pages
from livemem.notes import note as notes
from livemem.notes.appending import NoteDraft
from livemem.notes.note import CopiedFrom
from livemem.store import keys
from tests.support.world import World

NOTE = "20260220T140000_bob_decision_00000000"
MEMORY = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
SOURCE = CopiedFrom("team", NOTE)
PROMOTED = f"""---
timestamp: "2026-02-21T09:00:00Z"
agent: "bob"
category: "decision"
tags: []
space_id: "demo"
source: {{"space": "lab", "note": "{NOTE}", "promotion": "{MEMORY}", "promoted_by": "ann", \
"promoted_at": "2026-02-21T09:00:00Z"}}
said_at: "2026-02-20T14:00:00Z"
---

We keep S3."""


@given(st.from_regex(keys.SPACE_ID, fullmatch=True), st.sampled_from([NOTE, MEMORY]))
def test_a_source_is_read_as_it_was_written(space_id: str, source_id: str):
    world = World()
    draft = NoteDraft("decision", "We keep S3.", source=CopiedFrom(space_id, source_id))
    note = appending.new_note("demo", "ann", draft, world.clock(), "00000000")

    assert notes.parse_note("demo", keys.parse_note_id(note.note_id), notes.format_note(note)) == note


def test_an_id_may_come_as_start_and_search_give_it():
    world = World()
    world.create_space()

    for source_id in (f"notes/{NOTE}", f"memories/{MEMORY}"):
        made = appending.append(
            world.process, "demo", "ann", NoteDraft("decision", "It is so.", source=CopiedFrom("team", source_id))
        )
        assert pages.get(world.process, "demo", made.note_id).source == CopiedFrom("team", source_id.partition("/")[2])


@pytest.mark.parametrize("source", [CopiedFrom("no space", NOTE), CopiedFrom("team", "x"), CopiedFrom("team", "../a")])
def test_a_source_that_is_none_is_refused_and_named(source: CopiedFrom):
    world = World()
    world.create_space()
    drafts = [NoteDraft("todo", "a"), NoteDraft("todo", "b", source=source)]

    with pytest.raises(InvalidRequest) as refused:
        appending.append_batch(world.process, "demo", "ann", drafts)

    assert [error.field for error in refused.value.fields] == ["items.1.source"]
    assert not world.live_ids()


def test_a_key_is_of_one_source():
    world = World()
    for space_id in ("demo", "team"):
        world.create_space(space_id)
    source = CopiedFrom("team", world.note("We keep S3.", space_id="team").note_id)
    draft = NoteDraft("decision", "We keep S3.", source=source)

    first, _ = idempotency.append_once(world.process, "demo", "ann", draft, "key")
    again, is_new = idempotency.append_once(world.process, "demo", "ann", draft, "key")
    with pytest.raises(InvalidRequest):
        idempotency.append_once(world.process, "demo", "ann", NoteDraft("decision", "We keep S3."), "key")

    assert (again, is_new) == (first, False)


def test_sources_are_looked_for_together_and_those_that_are_folded_cost_one_listing():
    world = World()
    for space_id in ("demo", "team"):
        world.create_space(space_id)
    made = []
    for number in range(9):
        made.append(CopiedFrom("team", world.note(f"{number}", space_id="team").note_id))
        world.clock.move(1)
    world.consolidate("team")
    process = world.new_process()

    pages.check_sources(process, made)

    assert world.client.counts["LIST"] == 1
    with pytest.raises(NotFound):
        pages.check_sources(process, [*made, SOURCE])


def test_a_note_that_a_promotion_wrote_names_its_source():
    note = notes.parse_note("demo", keys.parse_note_id("20260221T090000_bob_decision_12345678"), PROMOTED.encode())

    assert (note.source, note.content, note.malformed) == (CopiedFrom("lab", NOTE), "We keep S3.", False)
