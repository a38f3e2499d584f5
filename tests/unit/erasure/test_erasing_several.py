"""Several notes, memories and turns are erased at once with one receipt, and a preview says what goes, and where."""

from collections import Counter
from contextlib import suppress
from datetime import timedelta

import pytest

from livemem import limits
from livemem.changes import records
from livemem.conversations.turn import Draft
from livemem.erasure import receipts as kept_receipts
from livemem.erasure import several
from livemem.erasure.several import ErasurePreview, Selection
from livemem.errors import Busy, InvalidName, InvalidRequest, NotFound, TooLarge
from livemem.jobs.receipt import Receipt
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from livemem.notes import pages
from livemem.store.bucket import TURN_ID
from tests.support.counting import Killed
from tests.support.erased import damaged_backups, left_of
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
    def chosen(self) -> Selection:
        return Selection([self.note], [self.memory], [self.turn])

    def erase(self, wanted: Selection | None = None, within: timedelta = INVOCATION) -> Receipt:
        deadline = self.world.clock() + within
        return several.erase_several(self.world.process, EVERYONE, "demo", wanted or self.chosen, deadline, erase=True)

    def preview(self, wanted: Selection | None = None, within: timedelta = INVOCATION) -> ErasurePreview:
        deadline = self.world.clock() + within
        return several.preview(self.world.process, EVERYONE, "demo", wanted or self.chosen, deadline)

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
    assert [one.job_id for one in kept_receipts.page(space.world.process, "demo", limit=9)[0]] == [receipt.job_id]


def test_a_repeat_of_the_request_is_answered_with_the_same_receipt(space: Space):
    first = space.erase()

    assert space.erase().job_id == first.job_id


def test_a_preview_says_what_would_go_and_where_and_writes_nothing(space: Space):
    before = dict(space.world.inner.objects)

    found = space.preview()

    assert space.world.inner.objects == before
    assert found.complete
    assert [(one.id, one.kind, one.state, one.also) for one in found.items] == [
        (space.note, "note", "in_space", False),
        (space.memory, "memory", "in_space", False),
        (space.turn, "turn", "in_space", False),
    ]
    own, of_backup = sorted(found.places, key=lambda one: one.backup_id or "")
    assert (own.backup_id, of_backup.backup_id) == (None, space.backup)
    assert own.counts.items() >= {"live": 1, "memories": 1, "turns": 1, "bank_files": 1}.items()
    assert of_backup.counts.items() >= {"live": 1, "memories": 1, "turns": 1}.items()
    assert found.files == ["places.md"]
    assert any("LLM provider" in one for one in found.not_reached)
    assert not any(text in repr(found) for text in ALL)


def test_what_a_preview_counts_is_what_the_receipt_counts(space: Space):
    (own,) = [one.counts for one in space.preview().places if one.backup_id is None]

    counts = space.erase().counts

    assert {kind: counts.get(kind) for kind in own} == own


def test_sections_of_the_bank_that_rest_on_a_folded_note_are_previewed(space: Space):
    world = space.world
    world.note(FOLDED)
    world.clock.move(1)
    world.llm = ScriptedLlm()
    world.consolidate()

    found = space.preview(Selection(_consolidated(world)))

    assert {(one.path, tuple(one.section)) for one in found.sections} == {("log.md", ("# Log", "## Log"))}
    assert {one.state for one in found.items} == {"in_space"}


def test_of_several_of_which_one_is_unknown_nothing_is_erased_and_the_preview_names_it(space: Space):
    for unknown, wanted in (
        ("20260220T140000_ann_todo_00000000", Selection([space.note, "20260220T140000_ann_todo_00000000"])),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", Selection([space.note], ["01ARZ3NDEKTSV4RRFFQ69G5FAV"])),
        (f"{space.talk.id}/9", Selection([space.note], turns=[f"{space.talk.id}/9"])),
    ):
        with pytest.raises(NotFound):
            space.erase(wanted)
        states = {one.id: one.state for one in space.preview(wanted).items}
        assert states == {space.note: "in_space", unknown: "unknown"}

    assert pages.get(space.world.process, "demo", space.note).content == NOTE
    assert kept_receipts.page(space.world.process, "demo", limit=9)[0] == []


def test_what_was_erased_before_is_told_as_erased(space: Space):
    space.erase()

    assert {one.kind: one.state for one in space.preview().items} == {
        "note": "unknown",  # a live note leaves nothing
        "memory": "erased",
        "turn": "erased",
    }


def test_selections_that_cannot_be_are_refused_before_anything_is_read(space: Space):
    space.world.client.reset()
    for wanted, error in (
        (Selection(), InvalidRequest),
        (Selection(["../x"]), InvalidName),
        (Selection(memory_ids=["x"]), InvalidName),
        (Selection(turns=["x/0"]), InvalidRequest),
        (
            Selection([f"20260220T140000_ann_todo_{number:08x}" for number in range(limits.ERASED_AT_ONCE + 1)]),
            TooLarge,
        ),
    ):
        with pytest.raises(error):
            space.erase(wanted)
        with pytest.raises(error):
            space.preview(wanted)
    with pytest.raises(InvalidRequest):
        several.erase_several(space.world.process, EVERYONE, "demo", space.chosen, space.world.clock(), erase=False)
    assert space.world.client.requests == []


def test_the_requests_of_a_preview_are_reads(space: Space):
    space.world.new_process()

    space.preview()

    assert space.world.client.counts == Counter(GET=24, LIST=28)


def test_a_preview_without_time_says_that_it_is_not_complete(space: Space):
    found = space.preview(within=timedelta())

    assert (found.complete, found.items, found.places) == (False, [], [])


def test_another_selection_waits_until_the_first_one_is_done(space: Space):
    first = space.erase(within=timedelta())

    assert first.status == "running"
    with pytest.raises(Busy):
        space.erase(Selection([space.other]))
    space.world.settle()
    assert space.left() == []


@pytest.mark.slow
def test_killed_at_any_request_it_is_finished_by_the_same_request(space: Space):
    total = len(_erased(space, kill=None))
    for point in range(0, total, 9):
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
    for one in (Selection([twin.note]), Selection(memory_ids=[twin.memory]), Selection(turns=[twin.turn])):
        twin.world.new_process()
        twin.erase(one)
        alone += twin.world.client.counts

    assert together.total() < alone.total() * 0.6


def _consolidated(world: World) -> list[str]:
    return [source.note_id for source in records.get(world.process, "demo", 1).notes]
