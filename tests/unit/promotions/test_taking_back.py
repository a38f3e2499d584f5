"""A promotion is taken back while its copy is a live note or a memory; else the refusal names what to undo first."""

import pytest

from livemem.access.principal import Principal
from livemem.changes import records
from livemem.changes import undo as undoing
from livemem.erasure import erasure
from livemem.errors import Forbidden, InvalidName, NotFound, PromotionFolded
from livemem.memories import correcting, forgetting, log, reading, splitting, storing
from livemem.memories.correcting import Correction
from livemem.memories.memory import Memory, MemoryDraft
from livemem.notes import pages
from livemem.notes.note import Note
from livemem.promotions import promoting, taking_back
from livemem.promotions.promoting import Promoted
from livemem.restore import fork, provisioning
from livemem.spaces import lifecycle
from tests.support.archives import exported, import_it
from tests.support.audit import audit
from tests.support.counting import Killed
from tests.support.memories import world_with_meaning
from tests.support.world import EVERYONE, INVOCATION, World

ANN = Principal("ann", frozenset(("read", "write")), frozenset(("demo", "team")))
CONTENT = "We keep S3 as the only store."


@pytest.fixture
def world() -> World:
    found, _ = world_with_meaning()
    found.create_space("team")
    found.clock.move(60)
    return found


def promote(world: World, source_id: str) -> Promoted:
    return promoting.promote(world.process, ANN, "demo", source_id, "team", world.clock() + INVOCATION)


def take_back(world: World, done: Promoted, by: Principal = ANN, space_id: str = "team") -> None:
    taking_back.take_back(world.process, by, space_id, done.promotion_id)


def memory_of(world: World, content: str = "1: The port is 8080.") -> Memory:
    return storing.store(world.process, "demo", "bob", MemoryDraft(content)).memory


def name_of(done: Promoted) -> str:
    return done.copy.note_id if isinstance(done.copy, Note) else done.copy.memory_id


def test_a_live_copy_goes_to_the_history_and_stays_readable_and_the_source_stays_live(world: World):
    source = world.note(CONTENT)
    done = promote(world, source.note_id)

    for _ in range(2):
        take_back(world, done)

    assert world.live_ids("team") == []
    copy = pages.get(world.process, "team", name_of(done))
    assert (copy.content, copy.consolidation) == (CONTENT, 1)
    record = records.get(world.process, "team", 1)
    assert (record.trigger, record.author, record.files, record.model) == ("promotion", "ann", [], None)
    assert record.discarded == [{"note_id": copy.note_id, "reason": taking_back.REASON}]
    assert len(records.names(world.process, "team")) == 1
    assert world.live_ids("demo") == [source.note_id]


def test_it_takes_3_get_and_the_requests_of_a_change_by_hand_and_1_list_2_get_1_put_for_a_memory(world: World):
    done = promote(world, memory_of(world).memory_id)
    world.client.reset()
    take_back(world, done)

    assert world.client.counts == {"GET": 2, "LIST": 1, "PUT": 1}

    note = promote(world, world.note(CONTENT).note_id)
    world.client.reset()
    take_back(world, note)

    assert world.client.counts["GET"] <= 12
    assert world.client.counts["PUT"] <= 9
    assert world.client.counts["DeleteObjects"] == 1


def test_what_was_taken_back_is_promoted_anew_and_an_undo_of_the_taking_back_brings_it_back(world: World):
    note_id, memory_id = world.note(CONTENT).note_id, memory_of(world).memory_id
    for source_id in (note_id, memory_id):
        first = promote(world, source_id)
        take_back(world, first)
        world.clock.move(60)
        second = promote(world, source_id)

        assert second.fresh
        assert second.promotion_id == first.promotion_id
        assert name_of(second) != name_of(first)
        assert not promote(world, source_id).fresh
        take_back(world, second)
    # The history: taken back twice. The undo makes the second copy live again, and then it is promoted.
    undoing.undo(world.process, "admin", "team", 2)
    assert len(world.live_ids("team")) == 1
    assert not promote(world, note_id).fresh
    take_back(world, promote(world, note_id))
    assert world.live_ids("team") == []


def test_a_folded_copy_is_refused_with_the_change_and_its_undo_and_goes_after_that(world: World):
    done = promote(world, world.note(CONTENT).note_id)
    world.consolidate("team")

    with pytest.raises(PromotionFolded, match=r"change 1 folded.*POST /v1/spaces/team/consolidations/1/undo"):
        take_back(world, done)
    world.undo(1, "team")
    take_back(world, done)

    assert world.live_ids("team") == []
    assert world.bank("team") == {}


def test_only_who_promoted_it_and_an_admin_take_it_back(world: World):
    done = promote(world, world.note(CONTENT).note_id)

    with pytest.raises(Forbidden):
        take_back(world, done, Principal("bob", frozenset(("read", "write")), frozenset(("team",))))
    assert len(world.live_ids("team")) == 1
    take_back(world, done, EVERYONE)

    assert world.live_ids("team") == []


def test_a_promotion_that_is_not_there_is_not_found_and_a_name_that_is_none_is_refused(world: World):
    done = promote(world, world.note(CONTENT).note_id)

    with pytest.raises(NotFound):
        take_back(world, done, space_id="demo")
    with pytest.raises(InvalidName):
        taking_back.take_back(world.process, ANN, "team", "../../x")


def test_a_memory_of_its_own_is_deleted_and_one_that_was_there_before_in_the_same_words_stays(world: World):
    there = storing.store(world.process, "team", "eva", MemoryDraft("1: The port is 8080.")).memory
    own, known = (
        promote(world, memory_of(world, "Ann likes tea.").memory_id),
        promote(world, memory_of(world).memory_id),
    )

    for _ in range(2):
        take_back(world, own)
        take_back(world, known)

    left = log.load(world.process, "team", "fact").memories
    assert list(left) == [there.memory_id] == [name_of(known)]
    # The deletion can be undone as any other.
    assert forgetting.restore(world.process, "team", "ann", name_of(own)).memory.content == "Ann likes tea."


def test_a_merged_memory_is_refused_until_it_is_split_off(world: World):
    there = storing.store(world.process, "team", "eva", MemoryDraft("1: The port is 8080.")).memory
    done = promote(world, memory_of(world, "1: The port of the service is 8080, on every machine.").memory_id)
    assert done.already_known

    with pytest.raises(PromotionFolded, match=f"POST /v1/spaces/team/memories/{there.memory_id}/split"):
        take_back(world, done)
    splitting.split(world.process, "team", "ann", there.memory_id)
    take_back(world, done)

    left = log.load(world.process, "team", "fact").memories
    assert [one.content for one in left.values()] == ["1: The port is 8080."]


def test_a_memory_that_others_have_changed_since_is_not_taken_from_them(world: World):
    done = promote(world, memory_of(world).memory_id)
    correcting.correct(world.process, "team", "eva", name_of(done), Correction(content="1: The port is 9090."))

    with pytest.raises(PromotionFolded, match=f"DELETE /v1/spaces/team/memories/{name_of(done)}"):
        take_back(world, done)

    assert reading.load(world.process, "team", name_of(done)).content == "1: The port is 9090."


@pytest.mark.parametrize("kind", ["note", "memory"])
def test_one_that_dies_at_any_request_is_completed_by_its_repeat(kind: str):
    reached = 0
    for killed in (True, False):
        for point in range(60):
            world = World()
            world.create_space()
            world.create_space("team")
            source_id = world.note(CONTENT).note_id if kind == "note" else memory_of(world).memory_id
            done = promote(world, source_id)
            other = world.note("Another note.", space_id="team")
            world.new_process()
            world.client.kill_at(point, done=killed)
            try:
                take_back(world, done)
            except Killed:
                reached += 1
            else:
                break
            world.new_process()
            world.clock.move(1_200)

            take_back(world, done)
            world.clock.move(60)
            world.sweep_all()
            world.settle()

            assert world.live_ids("team") == [other.note_id], point
            assert not log.load(world.process, "team", "fact").memories
            folded = [name_of(done)] if kind == "note" else []
            found = audit(world.inner.objects, "team", [other.note_id, *folded])
            assert found.clean(), (point, killed, found)
    assert reached >= 8


def test_a_copied_space_has_its_promotions_with_their_sources(world: World):
    done = promote(world, world.note(CONTENT).note_id)
    memory = promote(world, memory_of(world).memory_id)
    promoted_here = world.live_ids("demo")[0]
    backup = world.back_up("team")
    world.restore("team", backup.job_id, "restored")
    forked = fork.order(world.process, EVERYONE, "team", "forked", None, world.clock() + INVOCATION)
    assert provisioning.carry_on(world.process, forked, world.clock() + INVOCATION)
    assert import_it(world, exported(world, "team"), "brought")
    world.settle()
    lifecycle.delete(world.process, "team", "team")

    for space_id in ("restored", "forked", "brought"):
        copy = pages.get(world.process, space_id, name_of(done))
        promoted = reading.load(world.process, space_id, name_of(memory)).provenance.promoted
        assert isinstance(done.copy, Note)
        assert (copy.space_id, copy.source) == (space_id, done.copy.source)
        assert promoted
        assert promoted.space_id == "demo"
        for one in (done, memory):
            take_back(world, one, EVERYONE, space_id)
        assert world.live_ids(space_id) == []
        assert not log.load(world.process, space_id, "fact").memories
    with pytest.raises(NotFound):
        take_back(world, done)
    # A copy of the source's space knows where its notes went, too.
    assert import_it(world, exported(world), "again")
    until = world.clock() + INVOCATION
    receipt = erasure.erase_note(world.process, EVERYONE, "again", promoted_here, until, erase=True)
    assert "'team'" in str(receipt.not_reached)
