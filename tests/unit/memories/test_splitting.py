"""Taking a merge back: what became one is two again, each with what is its own."""

import pytest

from livemem.errors import Conflict, NotFound
from livemem.memories import correcting, forgetting, log, reading, similar, splitting, storing
from livemem.memories.correcting import Correction
from livemem.memories.memory import MemoryDraft
from tests.support.memories import contents, store, world_with_meaning
from tests.support.world import INVOCATION


@pytest.fixture
def world():
    return world_with_meaning()[0]


def split(world, memory_id, **more):
    return splitting.split(world.process, "demo", "eva", memory_id, **more)


def plain(memory):
    """What a memory says and is, but for what tells when it was written."""
    return memory.model_dump(exclude={"updated_at", "revision", "memory_id", "similar_to", "absorbed"})


def test_a_value_that_took_another_one_s_place_is_a_memory_of_its_own_and_the_other_says_what_it_said(world):
    first = store(world.process, "1: Bob is allergic to peanuts.", subjects=["bob"], ttl="2w").memory
    store(world.process, "1: Bob is allergic to shellfish.", "max", subjects=["food"], source="chat")

    done = split(world, first.memory_id)

    assert done.memory.memory.memory_id == first.memory_id
    assert plain(done.memory.memory) == plain(first)
    other = done.other
    assert (other.content, other.subjects, other.expires_at) == ("1: Bob is allergic to shellfish.", ["food"], None)
    assert (other.source, other.provenance.author, other.revision, other.history) == ("chat", "max", 1, [])
    assert sorted(contents(world.process)) == ["1: Bob is allergic to peanuts.", "1: Bob is allergic to shellfish."]
    assert reading.load(world.process, "demo", other.memory_id) == other


def test_a_restatement_that_was_dropped_comes_back(world):
    first = store(world.process, "1: Notes are kept in the bucket eu-data since March.").memory
    store(world.process, "1: Notes are kept.", "bob")
    done = split(world, first.memory_id)
    assert (done.memory.memory.content, done.other.content) == (first.content, "1: Notes are kept.")
    assert (done.memory.memory.history, done.other.provenance.author) == ([], "bob")


def test_again_takes_back_the_merge_before_and_then_there_is_nothing_left(world):
    first = store(world.process, "1: The port is 1.").memory
    for number in (2, 3):
        store(world.process, f"1: The port is {number}.")
    # The same words are no merge that could be taken back.
    store(world.process, "1: the port is 3")

    assert split(world, first.memory_id).other.content == "1: The port is 3."
    assert split(world, first.memory_id).other.content == "1: The port is 2."
    assert sorted(contents(world.process)) == [f"1: The port is {number}." for number in (1, 2, 3)]
    with pytest.raises(Conflict):
        split(world, first.memory_id)


def test_corrections_stay_with_the_content_that_they_corrected(world):
    first = store(world.process, "1: The port is 1.", subjects=["a"]).memory
    store(world.process, "1: The port is 2.", subjects=["b"])
    correcting.correct(
        world.process, "demo", "ann", first.memory_id, Correction(content="1: It is 22.", subjects=["c"])
    )

    done = split(world, first.memory_id)

    assert (done.memory.memory.content, done.memory.memory.subjects) == ("1: The port is 1.", ["a"])
    assert (done.other.content, done.other.subjects) == ("1: It is 22.", ["c"])
    assert [one.content for one in done.other.history] == ["1: The port is 2."]


def test_a_repeat_with_the_same_cause_takes_back_no_other_merge(world):
    first = store(world.process, "1: The port is 1.").memory
    for number in (2, 3):
        store(world.process, f"1: The port is {number}.")
    done = split(world, first.memory_id, op_id="k")
    again = split(world, first.memory_id, op_id="k")
    assert (again.memory.repeated, again.other, again.memory.memory) == (True, done.other, done.memory.memory)
    assert len(contents(world.process)) == 2


def test_two_memories_that_a_digest_made_one_are_the_two_that_they_were(world):
    def silent(*_):
        from livemem.llm.client import LlmError

        raise LlmError("llm_timeout", "It took too long.")

    process = world.with_parts(embed=world.process.embed, ask=silent)
    first = store(process, "1: Ann has a dog.").memory
    second = store(process, "1: A dog belongs to Ann.", "bob").memory
    similar.settle(world.process, "demo", world.clock() + INVOCATION)
    assert len(contents(world.process)) == 1
    with pytest.raises(Conflict, match=first.memory_id):
        forgetting.restore(world.process, "demo", "bob", second.memory_id)

    done = split(world, first.memory_id)

    assert (done.other.memory_id, done.other.content) == (second.memory_id, second.content)
    assert plain(done.memory.memory) == plain(first)
    # Who has split them has said that they are two.
    assert similar.settle(world.process, "demo", world.clock() + INVOCATION) == similar.Settled()
    assert len(contents(world.process)) == 2


def test_what_would_have_expired_since_lives_for_an_hour(world):
    first = store(world.process, "1: Ann is away.", ttl="1h").memory
    store(world.process, "1: Ann is away, in Kiel.")
    world.clock.move(2 * 3_600)
    done = split(world, first.memory_id)
    assert done.memory.memory.expires_at == "2026-02-20T17:00:00.000Z"
    assert done.other.expires_at is None
    assert f"demo/fact/{first.memory_id}" in world.due("memory")


def test_what_was_never_merged_and_what_is_not_there_can_not_be_split(world):
    one = store(world.process, "1: The port is 1.").memory
    store(world.process, "1: the port is 1")
    for memory_id, error in ((one.memory_id, Conflict), ("0" * 26, NotFound)):
        with pytest.raises(error):
            split(world, memory_id)
    forgetting.delete(world.process, "demo", "ann", one.memory_id, "no")
    with pytest.raises(NotFound):
        split(world, one.memory_id)


def test_a_split_costs_a_list_for_each_kind_and_two_requests(world):
    first = store(world.process, "1: The port is 1.").memory
    store(world.process, "1: The port is 2.")
    reading.recent(world.process, "demo")
    world.client.reset()
    split(world, first.memory_id)
    assert world.client.counts == {"LIST": 4, "GET": 1, "PUT": 1}


def test_a_replay_of_the_log_and_a_snapshot_know_both(world, monkeypatch):
    monkeypatch.setattr(log, "SNAPSHOT_EVERY", 20)
    first = store(world.process, "1: The port is 1.").memory
    store(world.process, "1: The port is 2.")
    split(world, first.memory_id)
    for number in range(log.SNAPSHOT_EVERY):
        storing.store(world.process, "demo", "ann", MemoryDraft(f"{2 + number % 9}: {number}", ttl="1h"))
    world.clock.move(4_000)
    assert any("/snapshot/" in key for key in world.keys("demo/memories/"))
    cold = world.with_parts()
    assert sorted(contents(cold)) == ["1: The port is 1.", "1: The port is 2."]


def test_a_memory_that_was_restored_before_is_given_as_it_is(world):
    memory_id = store(world.process, "1: The port is 1.").memory.memory_id
    forgetting.delete(world.process, "demo", "ann", memory_id, "no")
    first = forgetting.restore(world.process, "demo", "ann", memory_id)
    world.client.reset()
    again = forgetting.restore(world.process, "demo", "ann", memory_id)

    assert (again.repeated, again.memory) == (True, first.memory)
    assert "PUT" not in world.client.counts
    assert len(world.keys("demo/memories/facts/log/")) == 3
