"""A promotion makes one copy of a note or a memory in another space, however often, and whenever it dies."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import pytest

from livemem.access.principal import Principal
from livemem.erasure import erasure
from livemem.errors import Conflict, Forbidden, InvalidRequest, NotFound, SpaceTooNew, TooLarge
from livemem.jobs.receipt import Receipt
from livemem.memories import forgetting, log, reading, storing
from livemem.memories.memory import Memory, MemoryDraft
from livemem.notes import appending, pages
from livemem.notes import note as notes
from livemem.notes.appending import NoteDraft
from livemem.notes.note import Note, PromotedFrom
from livemem.process import Process
from livemem.promotions import promoting
from livemem.promotions.promoting import Promoted
from livemem.recall import start
from livemem.recall.start import StartRequest
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store import keys
from tests.support import hostile
from tests.support.counting import Killed
from tests.support.memories import world_with_meaning
from tests.support.world import EVERYONE, INVOCATION, World

T = TypeVar("T")
ANN = Principal("ann", frozenset(("read", "write")), frozenset(("demo", "team")))
CONTENT = "We keep S3 as the only store."
ERASED = "Ann lives in Paris with two cats."


@pytest.fixture
def world() -> World:
    """Two spaces: `demo`, and `team`, whose thirtieth note would start a consolidation."""
    found = World()
    found.create_space()
    found.create_space("team")
    found.clock.move(60)
    found.new_process()
    return found


def promote(world: World, source_id: str, by: Principal = ANN, target: str = "team") -> Promoted:
    return promoting.promote(world.process, by, "demo", source_id, target, world.clock() + INVOCATION)


def promote_beside(world: World, source_id: str, process: Process) -> Promoted:
    return promoting.promote(process, ANN, "demo", source_id, "team", world.clock() + INVOCATION)


def erase(world: World, space_id: str, note_id: str, process: Process) -> Receipt:
    if keys.RUN_ID.fullmatch(note_id):
        return erasure.erase_memory(process, EVERYONE, space_id, note_id, world.clock() + INVOCATION)
    return erasure.erase_note(process, EVERYONE, space_id, note_id, world.clock() + INVOCATION, erase=True)


def copies(world: World) -> list[str]:
    """What the live notes of the space `team` say."""
    return [pages.get(world.with_parts(), "team", one).content for one in world.live_ids("team")]


def only(world: World) -> Note:
    (note_id,) = world.live_ids("team")
    return pages.get(world.with_parts(), "team", note_id)


def test_a_promoted_note_is_a_live_note_of_the_other_space_and_names_its_source(world: World):
    source = appending.append(world.process, "demo", "bob", NoteDraft("decision", CONTENT, ("s3",)))
    world.clock.move(3_600)

    done = promote(world, source.note_id)

    copy = only(world)
    assert (copy.category, copy.content, copy.tags, copy.agent, copy.status) == (
        *("decision", CONTENT, ("s3",), source.agent, "live"),
    )
    assert copy.timestamp != source.timestamp
    assert copy.source == PromotedFrom("demo", source.note_id, done.promotion_id, "ann", copy.timestamp)
    assert done.fresh
    assert done.copy == copy
    assert world.live_ids("demo") == [source.note_id]


def test_a_copy_is_as_old_as_what_it_says_and_names_who_said_it(world: World):
    said = NoteDraft("decision", CONTENT, author="ines")
    source = appending.append(world.process, "demo", "bob", said)
    world.clock.move(3 * 86_400)

    promote(world, source.note_id)

    copy = only(world)
    assert (copy.moment, copy.author, copy.agent) == (source.timestamp, "ines", "bob")
    assert copy.timestamp != source.timestamp


def test_a_promotion_takes_5_get_and_3_put_and_its_repeat_4_get(world: World):
    source = world.note(CONTENT)
    world.clock.move(60)
    world.client.reset()

    first = promote(world, source.note_id)
    assert world.client.counts == {"GET": 5, "PUT": 3}
    world.clock.move(3_600)
    world.client.reset()
    again = promote(world, f"notes/{source.note_id}")

    assert world.client.counts == {"GET": 4}
    assert (first.fresh, again.fresh) == (True, False)
    assert (again.promotion_id, again.copy) == (first.promotion_id, first.copy)


def test_a_promoted_memory_takes_3_get_6_list_2_put_and_those_of_storing_and_its_repeat_3_get_and_1_list(world: World):
    source = storing.store(world.process, "demo", "bob", MemoryDraft("The port is 8080.")).memory
    storing.store(world.process, "team", "bob", MemoryDraft("Ann likes tea."))
    reading.find(world.process, "demo", source.memory_id)
    world.client.reset()

    promote(world, source.memory_id)
    # Of these 1 LIST and 1 PUT store it.
    assert world.client.counts == {"GET": 3, "LIST": 7, "PUT": 3}
    world.client.reset()
    promote(world, source.memory_id)

    assert world.client.counts == {"GET": 3, "LIST": 1}


def test_a_promoted_memory_is_a_memory_of_the_other_space_and_names_its_source(world: World):
    draft = MemoryDraft("I listen.", kind="self", category="capability", subjects=("me",), ttl="2d")
    source = storing.store(world.process, "demo", "bob", draft).memory
    world.clock.move(3_600)

    done = promote(world, f"memories/{source.memory_id}")

    copy = reading.load(world.process, "team", done.promotion.memory_id or "")
    assert done.copy == copy
    assert (copy.content, copy.kind, copy.category, copy.subjects, copy.expires_at) == (
        *(source.content, "self", "capability", ["me"], source.expires_at),
    )
    assert copy.provenance.author == "ann"
    promoted = copy.provenance.promoted
    assert promoted
    assert (promoted.space_id, promoted.memory_id, promoted.promotion_id, promoted.promoted_by) == (
        *("demo", source.memory_id, done.promotion_id, "ann"),
    )


def test_what_the_space_knows_already_is_not_kept_twice():
    world, _ = world_with_meaning()
    world.create_space("team")
    same = storing.store(world.process, "team", "eva", MemoryDraft("1: The port is 8080.")).memory
    other = storing.store(world.process, "team", "eva", MemoryDraft("2: Ann likes tea.")).memory
    words = storing.store(world.process, "demo", "bob", MemoryDraft("1: The port is 8080.")).memory
    meaning = storing.store(world.process, "demo", "bob", MemoryDraft("2: Ann likes green tea, with milk.")).memory

    for source, known in ((words, same), (meaning, other)):
        for fresh in (True, False):
            done = promote(world, source.memory_id)
            assert (done.fresh, done.already_known) == (fresh, True)
            assert isinstance(done.copy, Memory)
            assert done.copy.memory_id == known.memory_id

    assert len(log.load(world.process, "team", "fact").memories) == 2


def test_a_consolidated_note_is_promoted_and_a_folded_copy_is_found_again(world: World):
    source = world.note(CONTENT)
    world.consolidate()
    world.clock.move(60)
    first = promote(world, source.note_id)
    world.clock.move(60)
    world.consolidate("team")

    again = promote(world, source.note_id)

    assert world.live_ids("team") == []
    assert isinstance(again.copy, Note)
    assert (again.fresh, again.promotion_id, again.copy.consolidation) == (False, first.promotion_id, 1)
    assert CONTENT in world.bank("team")["log.md"]


def test_the_model_that_folds_a_copy_is_told_where_it_comes_from(world: World):
    source = world.note(CONTENT)
    promote(world, source.note_id)

    world.consolidate("team")

    assert f"written at {source.timestamp} in the space demo, promoted from there by ann" in str(world.llm.prompts[-1])


def test_a_start_says_from_which_space_a_live_copy_comes(world: World):
    source = world.note(CONTENT)
    promote(world, source.note_id)

    given = start.start(world.process, "team", StartRequest())

    assert f"ann progress from demo] {CONTENT}\n" in given.markdown


def stored_in(world: World, kind: str) -> str:
    """What is to be promoted: the id of a note or of a memory with this content."""
    if kind == "note":
        return world.note(CONTENT).note_id
    return storing.store(world.process, "demo", "bob", MemoryDraft(CONTENT)).memory.memory_id


def contents_of(world: World, kind: str) -> list[str]:
    if kind == "note":
        return copies(world)
    return [one.content for one in log.load(world.with_parts(), "team", "fact").memories.values()]


@pytest.mark.parametrize("kind", ["note", "memory"])
def test_one_that_dies_at_any_request_is_completed_by_its_repeat_to_one_copy(kind: str):
    points = 0
    for done in (False, True):
        for point in range(40):
            world = World()
            world.create_space()
            world.create_space("team")
            source_id = stored_in(world, kind)
            world.new_process()
            world.client.kill_at(point, done=done)
            try:
                promote(world, source_id)
            except Killed:
                points += 1
            else:
                break
            world.new_process()
            world.clock.move(60)

            first, second = promote(world, source_id), promote(world, source_id)

            assert contents_of(world, kind) == [CONTENT], (point, done)
            assert not second.fresh
            assert (second.promotion_id, second.copy) == (first.promotion_id, first.copy)
            assert len(world.keys("team/_promotions/")) == 1
    assert points >= 16


def beside(world: World, point: int, other: Callable[[Process], T]) -> list[T]:
    """Let another process do something before request `point` of what follows. Returns a list of what came of it."""
    process, done = world.process_on(world.inner), list[T]()

    def before(index: int, verb: str) -> None:
        if index == point:
            done.append(other(process))

    world.client.before = before
    return done


@pytest.mark.parametrize("kind", ["note", "memory"])
def test_two_at_once_make_one_copy(kind: str):
    reached = 0
    for point in range(40):
        world = World()
        world.create_space()
        world.create_space("team")
        source_id = stored_in(world, kind)
        world.new_process()
        told = beside(world, point, partial(promote_beside, world, source_id))
        told.append(promote(world, source_id))
        if len(told) == 1:
            break
        reached += 1

        assert contents_of(world, kind) == [CONTENT], point
        assert len({one.promotion_id for one in told}) == 1
        # At one moment both write the same operation, so that each is told that it did.
        assert sum(one.fresh for one in told) in ({1} if kind == "note" else {1, 2})
    assert reached >= 8


@pytest.mark.parametrize("kind", ["note", "memory"])
def test_what_is_erased_while_it_is_promoted_has_no_copy_or_the_receipt_names_the_space(kind: str):
    named = 0
    for point in range(40):
        world = World()
        world.inner.versioned = True
        world.create_space()
        world.create_space("team")
        source_id = stored_in(world, kind)
        world.new_process()
        receipts = beside(world, point, partial(erase, world, "demo", source_id))
        with suppress(NotFound, Conflict):
            promote(world, source_id)
        if not receipts:
            break
        told = "'team'" in str(receipts[0].not_reached)
        assert told or contents_of(world, kind) == [], point
        named += told
    assert 1 <= named < point


def test_a_receipt_names_the_spaces_that_have_a_copy_and_an_erased_note_can_not_be_promoted(world: World):
    world.inner.versioned = True
    world.create_space("other")
    live, folded = world.note(ERASED), world.note(f"{ERASED} And a dog.")
    promote(world, live.note_id)
    world.consolidate()
    alone = world.note("Only here.")

    def erased(note_id: str) -> list[str]:
        done = erase(world, "demo", note_id, world.process)
        world.clock.move(3_600)
        return [one for one in done.not_reached if "promoted" in one]

    assert erased(live.note_id) == ["It was promoted into the space 'team': erase the copy there as well."]
    assert [erased(folded.note_id), erased(alone.note_id)] == [[], []]
    for note_id in (live.note_id, folded.note_id):
        with pytest.raises(Conflict):
            promote(world, note_id, by=EVERYONE, target="other")
    with pytest.raises(NotFound):
        promote(world, alone.note_id)
    # The copy stays, and is the same promotion.
    assert not promote(world, live.note_id).fresh


def test_a_copy_that_is_erased_is_not_brought_back_by_a_repeat_but_promoted_anew(world: World):
    world.inner.versioned = True
    source = world.note(ERASED)
    first = promote(world, source.note_id)
    assert isinstance(first.copy, Note)
    world.clock.move(60)
    erase(world, "team", first.copy.note_id, world.process)

    assert world.keys("team/_promotions/") == []
    assert copies(world) == []
    again = promote(world, source.note_id)

    assert again.fresh
    assert again.copy != first.copy


def test_a_deleted_memory_can_not_be_promoted_and_one_that_was_promoted_outlives_its_source(world: World):
    source = storing.store(world.process, "demo", "ann", MemoryDraft("The port is 8080.")).memory
    done = promote(world, source.memory_id)
    forgetting.delete(world.process, "demo", "ann", source.memory_id, "It is wrong.")

    assert not promote(world, source.memory_id).fresh
    assert reading.load(world.process, "team", done.promotion.memory_id or "").content == "The port is 8080."
    world.create_space("other")
    with pytest.raises(NotFound):
        promote(world, source.memory_id, by=EVERYONE, target="other")


@pytest.mark.parametrize(
    "source_id", [*hostile.PATHS[:6], "", "x", "notes/", "bank/log.md", "20260220T140000_ann_todo_0000000g", "../x"]
)
def test_an_id_that_is_none_of_a_note_or_a_memory_is_refused(world: World, source_id: str):
    with pytest.raises(InvalidRequest) as refused:
        promote(world, source_id)

    assert [one.field for one in refused.value.fields] == ["id"]
    assert not world.keys("team/_promotions/")


def test_both_spaces_and_both_permissions_are_needed_and_no_space_is_told_of(world: World):
    source = world.note(CONTENT)
    here = Principal("ann", frozenset(("read", "write")), frozenset(("demo",)))
    refusals = set()
    for target in ("team", "nowhere"):
        with pytest.raises(Forbidden) as refused:
            promote(world, source.note_id, by=here, target=target)
        refusals.add(refused.value.detail)
    with pytest.raises(Forbidden):
        promote(world, source.note_id, by=Principal("ann", frozenset(("write",)), frozenset()))
    with pytest.raises(InvalidRequest):
        promote(world, source.note_id, target="demo")

    assert len(refusals) == 1
    assert not [key for key in world.keys("") if "promot" in key]


def test_a_target_that_is_gone_or_of_a_newer_layout_is_refused_and_nothing_is_written(world: World):
    source = world.note(CONTENT)
    world.create_space("newer")
    key = keys.meta("newer")
    body = world.text(key).replace(f'"layout": {heads.LAYOUT}', f'"layout": {heads.LAYOUT + 1}')
    world.inner.put_object(Bucket="bucket", Key=key, Body=body.encode())
    lifecycle.delete(world.process, "team", "team")
    world.new_process()

    with pytest.raises(NotFound):
        promote(world, source.note_id)
    with pytest.raises(SpaceTooNew):
        promote(world, source.note_id, by=EVERYONE, target="newer")

    assert not [key for key in world.keys("") if "promot" in key]


def test_a_paused_space_takes_a_copy_and_one_at_its_bound_refuses_a_memory(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    note = world.note(CONTENT)
    memory = storing.store(world.process, "demo", "ann", MemoryDraft("The port is 8080.")).memory
    storing.store(world.process, "team", "ann", MemoryDraft("Ann likes tea."))
    heads.patch(world.process, "team", auto_paused=True)
    monkeypatch.setattr(storing, "MOST", 1)

    assert promote(world, note.note_id).fresh
    with pytest.raises(InvalidRequest):
        promote(world, memory.memory_id)
    monkeypatch.undo()

    assert promote(world, memory.memory_id).fresh


def test_a_note_beyond_the_limits_that_came_without_the_service_is_refused(world: World):
    source = world.note(CONTENT)
    key = keys.note("demo", source.note_id)
    world.inner.put_object(Bucket="bucket", Key=key, Body=b"x" * 100_001)

    with pytest.raises(TooLarge):
        promote(world, source.note_id)

    assert not world.keys("team/_promotions/")


def test_a_copy_keeps_the_limits_and_the_redaction_of_the_service():
    world = World(redact_secrets=True)
    world.create_space()
    world.create_space("team")
    source = world.note("x")
    key = keys.note("demo", source.note_id)
    secret = world.text(key).removesuffix("x") + "PASSWORD=hunter2-hunter2"
    world.inner.put_object(Bucket="bucket", Key=key, Body=secret.encode())

    done = promote(world, source.note_id)

    assert sum(done.redacted.values()) == 1
    assert "hunter2" not in only(world).content


def test_invisible_letters_of_a_note_are_copied_as_they_are_and_its_copy_is_read_back_whole(world: World):
    content = "zero\u200bwidth \u202eright to left\n---\nsource: {promotion: x}\n---\n"
    source = world.note(content)

    promote(world, source.note_id)

    assert only(world).content == content


def test_a_source_in_another_form_than_the_service_writes_is_none():
    name = keys.parse_note_id("20260220T140000_ann_todo_00000000")
    promoted = PromotedFrom("demo", name.note_id, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "ann", "2026-02-20T14:00:00Z")
    note = notes.parse_note("team", name, b"x")
    fit = notes.Note(**{**vars(note), "malformed": False, "source": promoted})
    body = notes.format_note(fit).decode()

    assert notes.parse_note("team", name, body.encode()) == fit
    for field in ("space_id", "note_id", "promotion_id", "promoted_by", "promoted_at"):
        bad = notes.Note(**{**vars(fit), "source": PromotedFrom(**{**vars(promoted), field: "../x"})})
        assert notes.parse_note("team", name, notes.format_note(bad)).source is None, field
