"""Several notes, memories and turns are erased at once with one receipt, and a preview says what goes, and where."""

from collections import Counter
from contextlib import suppress
from datetime import timedelta

import pytest

from livemem import limits
from livemem.changes import records
from livemem.conversations.turn import Draft
from livemem.erasure import erasure
from livemem.erasure import preview as previewing
from livemem.erasure.preview import ErasurePreview
from livemem.errors import Busy, InvalidName, InvalidRequest, NotFound, TooLarge
from livemem.jobs.receipt import Receipt
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.notes import pages
from livemem.store.bucket import TURN_ID
from tests.support.counting import Killed
from tests.support.erased import damaged_backups, left_of, receipts
from tests.support.part import part
from tests.support.searching import searching_world
from tests.support.talk import Talk, frank
from tests.support.world import EVERYONE, INVOCATION, ScriptedLlm, World

NOTE = "Alice lives in Paris with her two cats"
FOLDED = "Bob keeps his bicycle behind the shed"
MEMORY = "Carol was born in Lisbon in a hotel"
TURN = "The treasure lies below the old oak in the yard"
ALL = (NOTE, FOLDED, MEMORY, TURN)
OTHERS = "Build 4711 is green again"


class Space:
    """A space with one of each: `chosen` is all of it, `other` a note that nobody erases."""

    def __init__(self) -> None:
        self.world: World = searching_world()[0]
        self.world.inner.versioned = True
        self.talk = Talk("turns", world=self.world, ratio=0.5)
        self.talk.llm.default = frank
        self.talk.append(Draft(TURN, "I shall tell nobody", message_id="m1"))
        self.talk.say("And the ferry?", "It leaves at nine.", message_id="m2")
        self.turn = TURN_ID.key(self.talk.id, 1)
        self.world.clock.move(1)
        self.other = self.world.note(OTHERS).note_id
        self.world.clock.move(1)
        self.note = self.world.note(NOTE).note_id
        draft = MemoryDraft(MEMORY)
        until = self.world.clock() + INVOCATION
        self.memory = storing.store(self.world.process, "demo", "ann", draft, op_id="op", until=until).memory.memory_id
        self.world.clock.move(60)
        self.backup = self.world.back_up().job_id
        self.world.store.put("demo/bank/places.md", f"# Places\n\n- {NOTE}.\n".encode())
        self.world.clock.move(60)

    @property
    def chosen(self) -> list[str]:
        return [self.note, self.memory, self.turn]

    def erase(self, *ids: str, within: timedelta = INVOCATION, agent: str | None = None) -> Receipt:
        chosen, deadline = ids or (() if agent else self.chosen), self.world.clock() + within
        return erasure.erase(self.world.process, EVERYONE, "demo", chosen, deadline, agent=agent)

    def preview(self, *ids: str, within: timedelta = INVOCATION, agent: str | None = None) -> ErasurePreview:
        chosen, deadline = ids or (() if agent else self.chosen), self.world.clock() + within
        return previewing.preview(self.world.process, EVERYONE, "demo", chosen, deadline, agent=agent)

    def left(self) -> list[str]:
        return [where for one in (NOTE, MEMORY, TURN) for where in left_of(self.world, one)]


@pytest.fixture
def space() -> Space:
    return Space()


def test_one_receipt_tells_of_a_note_a_memory_and_a_turn_and_nothing_of_them_is_left(space: Space):
    receipt = space.erase()

    assert receipt.status == "done"
    assert (receipt.note_ids, receipt.memory_ids, receipt.turns) == ([space.note], [space.memory], [space.turn])
    assert receipt.files == ["places.md"]
    assert {"live", "memories", "turns", "backups", "bank_files"} <= receipt.counts.keys()
    assert space.left() == []
    assert pages.get(space.world.new_process(), "demo", space.other).content == OTHERS
    assert list(damaged_backups(space.world)) == []
    assert [one.job_id for one in receipts(space.world)] == [receipt.job_id]


def test_a_repeat_of_the_request_is_answered_with_the_same_receipt(space: Space):
    first = space.erase()

    assert space.erase().job_id == first.job_id


def test_a_preview_says_what_would_go_and_where_and_writes_nothing(space: Space):
    before = dict(space.world.inner.objects)

    found = space.preview()

    assert space.world.inner.objects == before
    assert found.complete
    assert found.states == dict.fromkeys(space.chosen, "in_space")
    own, of_backup = sorted(found.places, key=lambda one: one.backup_id or "")
    assert (own.backup_id, of_backup.backup_id) == (None, space.backup)
    assert own.counts.items() >= {"live": 1, "memories": 1, "turns": 1, "bank_files": 1}.items()
    assert of_backup.counts.items() >= {"live": 1, "memories": 1, "turns": 1}.items()
    assert found.receipt.files == ["places.md"]
    assert any("LLM provider" in one for one in found.receipt.not_reached)
    assert not any(text in repr(found) for text in ALL)


def test_an_id_is_taken_in_each_form_that_read_takes(space: Space):
    forms = [f"notes/{space.note}", f"memories/{space.memory}", f"conversations/{space.turn.replace('/', '/turns/')}"]

    for ids in (forms, [f"/v1/spaces/demo/{form}" for form in forms], [*forms, *space.chosen]):
        assert space.preview(*ids).states == dict.fromkeys(space.chosen, "in_space")
    assert sorted(space.erase(*forms).ids) == sorted(space.chosen)


def test_a_preview_of_an_agent_names_its_notes(space: Space):
    found = space.preview(agent="ann")

    assert found.states == {space.note: "in_space", space.other: "in_space"}
    assert (found.receipt.agent, space.preview(agent="zoe").states) == ("ann", {})
    assert sorted(space.erase(agent="ann").note_ids) == sorted(found.states)


def test_what_a_preview_counts_is_what_the_receipt_counts(space: Space):
    found = space.preview()
    (own,) = [one.counts for one in found.places if one.backup_id is None]

    counts = space.erase().counts

    assert found.receipt.counts == {**own, "backups": 1}
    assert {kind: counts.get(kind) for kind in found.receipt.counts} == found.receipt.counts


def test_sections_of_the_bank_that_rest_on_a_folded_note_are_previewed(space: Space):
    world = space.world
    world.note(FOLDED)
    world.clock.move(1)
    world.llm = ScriptedLlm()
    world.consolidate()

    found = space.preview(*_consolidated(world))

    assert {(one.path, tuple(one.section)) for one in found.receipt.sections} == {("log.md", ("# Log", "## Log"))}
    assert set(found.states.values()) == {"in_space"}


def test_of_several_of_which_one_is_unknown_nothing_is_erased_and_the_preview_names_it(space: Space):
    for unknown in (
        "20260220T140000_ann_todo_00000000",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        f"{space.talk.id}/9",
    ):
        with pytest.raises(NotFound):
            space.erase(space.note, unknown)
        assert space.preview(space.note, unknown).states == {space.note: "in_space", unknown: "unknown"}

    assert pages.get(space.world.process, "demo", space.note).content == NOTE
    assert receipts(space.world) == []


def test_what_was_erased_before_is_told_as_erased(space: Space):
    space.erase()

    assert space.preview().states == {
        space.note: "unknown",  # a live note leaves nothing
        space.memory: "erased",
        space.turn: "erased",
    }


def test_selections_that_cannot_be_are_refused_before_anything_is_read(space: Space):
    space.world.client.reset()
    many = [f"20260220T140000_ann_todo_{number:08x}" for number in range(limits.ERASED_AT_ONCE + 1)]
    for ids, agent, error in (
        ([], None, InvalidRequest),
        ([space.note], "ann", InvalidRequest),
        ([], "a_b", InvalidName),
        (["../x"], None, InvalidRequest),
        (["x"], None, InvalidRequest),
        ([f"{space.talk.id}/0"], None, InvalidRequest),
        ([space.memory.lower()], None, InvalidRequest),
        (["bank/places.md"], None, InvalidRequest),
        (many, None, TooLarge),
    ):
        for send in (erasure.erase, previewing.preview):
            with pytest.raises(error):
                send(space.world.process, EVERYONE, "demo", ids, space.world.clock() + INVOCATION, agent=agent)
    assert space.world.client.requests == []


def test_the_requests_of_a_preview_are_reads(space: Space):
    space.world.new_process()

    space.preview()

    assert space.world.client.counts == Counter(GET=24, LIST=29)


def test_a_preview_without_time_says_that_it_is_not_complete(space: Space):
    found = space.preview(within=timedelta())

    assert (found.complete, found.states, found.places) == (False, {}, [])


def test_another_selection_waits_until_the_first_one_is_done(space: Space):
    first = space.erase(within=timedelta())

    assert first.status == "running"
    with pytest.raises(Busy):
        space.erase(space.other)
    space.world.settle()
    assert space.left() == []


@pytest.mark.slow
def test_killed_at_any_request_it_is_finished_by_the_same_request(space: Space):
    total = len(_erased(space, kill=None))
    for point in part(range(total), 13):
        twin = Space()
        _erased(twin, kill=point)
        twin.world.clock.move(3_600)
        twin.world.new_process()
        # It may be done, and a live note leaves nothing.
        with suppress(NotFound):
            twin.erase()
        twin.world.settle()
        assert twin.left() == [], point


def _erased(space: Space, kill: int | None) -> list[tuple[str, str]]:
    space.world.client.reset()
    if kill is not None:
        space.world.client.kill_at(kill, done=False)
    with suppress(Killed):
        space.erase()
    space.world.client.before = lambda index, verb: None
    return list(space.world.client.requests)


def test_one_erasure_of_several_costs_less_than_one_for_each(space: Space):
    space.world.new_process()
    space.erase()
    together = space.world.client.counts

    alone: Counter[str] = Counter()
    twin = Space()
    for one in twin.chosen:
        twin.world.new_process()
        twin.erase(one)
        alone += twin.world.client.counts

    assert together.total() < alone.total() * 0.6


def _consolidated(world: World) -> list[str]:
    return [source.note_id for source in records.get(world.process, "demo", 1).notes]
