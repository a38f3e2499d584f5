"""The benchmark's audit sees what it is there to see."""

import json

import pytest

from benchmarks.chaos import findings
from benchmarks.chaos.ledger import Ledger, Life, Note
from benchmarks.chaos.llm_door import Asked
from tests.support.audit import records_of
from tests.support.world import World

SPACE = "demo"


@pytest.fixture
def world():
    """A space with a consolidation of three notes, and one that is live."""
    world = World()
    world.create_space(SPACE, threshold=3)
    for number in range(3):
        world.note(f"note {number}")
    world.consolidate()
    world.note("note 3")
    return world


@pytest.fixture
def ledger(world):
    objects = world.inner.objects
    life = Life(SPACE, str(findings.head_of(objects, SPACE)["uid"]))
    ledger = Ledger(lives=[life])
    folded = [source.note_id for record in records_of(objects, SPACE) for source in record.notes]
    for note_id in (*folded, *world.live_ids(SPACE)):
        ledger.acknowledged(Note(note_id, "n", life))
    return ledger


def look(world, ledger, asked=(), hit=()):
    found = findings.look(world.inner.objects, ledger, asked, set(hit))
    return {name: items for name, items in found.columns.items() if items}


def test_a_space_in_which_nothing_went_wrong_has_no_findings(world, ledger):
    assert look(world, ledger) == {}


def test_a_note_that_is_nowhere_is_lost(world, ledger):
    note_id = world.live_ids(SPACE)[0]
    del world.inner.objects[f"{SPACE}/live/{note_id}.md"]
    assert look(world, ledger) == {"lost": [f"{SPACE}: {note_id}"]}


def test_a_space_that_is_gone_though_nobody_deleted_it_is_lost_with_its_notes(world, ledger):
    world.inner.objects.clear()
    assert len(look(world, ledger)["lost"]) == 1 + 4
    ledger.lives[0].deletion_asked = True
    assert look(world, ledger) == {}


def test_a_promised_run_that_is_gone_is_told(world, ledger):
    ledger.runs["01HZZZZZZZ0000000000009999"] = ledger.lives[0]
    assert look(world, ledger) == {"wrong runs": [f"{SPACE}: 01HZZZZZZZ0000000000009999 was promised and is gone"]}


def test_a_correction_is_in_one_record(world, ledger):
    ledger.corrections["c0000001"] = ledger.lives[0]
    assert look(world, ledger) == {"corrections": [f"{SPACE}: c0000001 is in 0 records"]}


def test_a_run_that_met_no_fault_asks_the_llm_once(world, ledger):
    run_id = records_of(world.inner.objects, SPACE)[0].run_id
    asked = [Asked(1.0, "n")] * 2
    assert list(look(world, ledger, asked)) == ["LLM repeated"]
    assert look(world, ledger, asked, [run_id]) == {}
    assert look(world, ledger, asked[:1]) == {}


def test_what_lies_beside_a_young_tombstone_is_not_due(world, ledger):
    key = f"{SPACE}/_meta.json"
    stored = world.inner.objects[key]
    head = json.loads(stored.body) | {"deleted_at": "2026-02-20T14:00:00Z"}
    world.inner.put_object(Bucket="b", Key=key, Body=json.dumps(head).encode())
    ledger.lives[0].deletion_asked = True
    # The world's clock is long behind, so what lies there is overdue.
    assert list(look(world, ledger)) == ["left behind"]
