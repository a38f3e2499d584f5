"""Storing memories: each fact once, nothing lost, and a repeat changes nothing."""

import pytest

from livemem.errors import Forbidden, InvalidRequest, NotFound, PreconditionLost, TooLarge
from livemem.memories import correcting, forgetting, log
from livemem.memories import state as states
from livemem.memories.correcting import Correction
from livemem.memories.memory import MemoryDraft
from livemem.memories.storing import BATCH, store_all
from livemem.store.bucket import MEMORY_SNAPSHOT, OPERATION
from tests.support.cases import each
from tests.support.memories import contents, store, world_with_meaning
from tests.support.world import World


@pytest.fixture
def world():
    return world_with_meaning()[0]


def test_a_memory_is_stored_as_the_first_operation_of_its_log(world):
    stored = store(world.process, "1: The port is 8080.", subjects=["Port"])

    assert (stored.fresh, stored.number, stored.memory.subjects) == (True, 1, ["port"])
    assert world.keys("demo/memories/") == ["demo/memories/facts/log/00000001.json"]


def test_the_same_in_other_words_is_the_same_memory_and_what_it_said_before_is_kept(world):
    first = store(world.process, "1: We keep notes in S3.")
    again = store(world.process, "1: Notes are kept in S3, in the bucket eu-data.", "bob")

    assert (again.fresh, again.merge.kept, again.memory.memory_id) == (False, "new", first.memory.memory_id)
    assert [(one.content, one.author) for one in again.memory.history] == [("1: We keep notes in S3.", "ann")]
    assert len(contents(world.process)) == 1


def test_a_vaguer_restatement_does_not_replace_what_is_more_precise(world):
    store(world.process, "1: Notes are kept in the bucket eu-data since March.")
    again = store(world.process, "1: Notes are kept.", "bob")

    assert contents(world.process) == ["1: Notes are kept in the bucket eu-data since March."]
    assert (again.merge.kept, again.memory.history[0].content) == ("former", "1: Notes are kept.")


def test_a_caller_who_says_so_replaces_it_all_the_same(world):
    store(world.process, "1: Notes are kept in the bucket eu-data since March.")
    store(world.process, "1: Notes are kept.", ttl="7d", replace=True)

    assert contents(world.process) == ["1: Notes are kept."]
    assert log.load(world.process, "demo", "fact").alive(world.clock())[0].expires_at is not None


def test_a_repeat_with_the_same_key_changes_nothing_and_tells_the_same(world):
    first = store(world.process, "1: We keep notes in S3.", op_id="k")
    again = store(world.process, "1: We keep notes in S3.", op_id="k")

    assert (again.repeated, again.memory, again.number) == (True, first.memory, 1)
    with pytest.raises(InvalidRequest, match="Idempotency-Key"):
        store(world.process, "2: Something else.", op_id="k")


def test_kinds_are_apart(world):
    store(world.process, "1: I am patient.", kind="self", category="context")
    store(world.process, "1: I am patient.", kind="goal")

    assert contents(world.process, "self") == contents(world.process, "goal") == ["1: I am patient."]


@each("ttl", ["2x", "0d", "99999y", "-1d", "9999y", "", "1", "d", "٣d", "1D", " 1d", "1d\n", "01d"])
def test_a_time_to_live_that_is_none_is_refused_and_never_means_for_ever(world, ttl):
    with pytest.raises(InvalidRequest, match="ttl"):
        store(world.process, "1: The port is 8080.", ttl=ttl)
    assert world.keys("demo/memories/") == []


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        ({"kind": "wish"}, "kind"),
        ({"kind": "self", "category": "mood"}, "category"),
        ({"kind": "goal", "category": "context"}, "category"),
        ({"subjects": [f"s{n}" for n in range(10_000)]}, "subjects"),
        ({"subjects": ["x" * 51]}, "subjects.0"),
        ({"subjects": ["ok", " "]}, "subjects.1"),
        ({"subjects": ["bell\x07"]}, "subjects.0"),
    ],
)
def test_what_a_memory_can_not_have_is_refused_by_the_name_of_its_field(world, draft, field):
    with pytest.raises(InvalidRequest, match=field):
        store(world.process, "1: The port is 8080.", **draft)


def test_contents_have_bounds(world):
    for content, error in (("", InvalidRequest), (" \n", InvalidRequest), ("x" * 8_001, TooLarge)):
        with pytest.raises(error):
            store(world.process, content)


def test_there_must_be_such_a_space():
    world, _ = world_with_meaning()
    with pytest.raises(NotFound):
        store_all(world.process, "other", "ann", [MemoryDraft("x")])


def test_what_holds_for_ever_does_not_become_temporary_by_being_said_again_for_a_time(world):
    store(world.process, "1: Ann works in Kiel.")
    store(world.process, "1: Ann works in Kiel now.", ttl="1d")

    world.pass_time(2 * 86_400)
    assert len(contents(world.process)) == 1


def test_what_says_something_else_for_a_time_stands_beside_what_holds_for_ever(world):
    store(world.process, "1: The port is 8080.")
    store(world.process, "1: The port is 9090.", ttl="1d")

    assert sorted(contents(world.process)) == ["1: The port is 8080.", "1: The port is 9090."]
    world.pass_time(2 * 86_400)
    assert contents(world.process) == ["1: The port is 8080."]


def test_of_two_lives_the_longer_one_counts(world):
    store(world.process, "1: Ann is away.", ttl="1d")
    kept = store(world.process, "1: Ann is away.", ttl="1h").memory
    assert kept.expires_at == "2026-02-21T14:00:00.000Z"
    assert store(world.process, "1: Ann is away.").memory.expires_at is None


def test_what_has_expired_is_no_more_even_before_the_sweep_and_nothing_is_merged_into_it(world):
    first = store(world.process, "1: Ann is away.", ttl="1h").memory
    world.pass_time(3_600)

    assert contents(world.process) == []
    assert store(world.process, "1: Ann is away.").memory.memory_id != first.memory_id


def test_a_batch_is_stored_with_one_call_of_the_model_and_all_are_checked_before(world):
    world, meaning = world_with_meaning()
    drafts = [MemoryDraft(f"{n}: Fact number {n}.") for n in range(BATCH)]
    stored = store_all(world.process, "demo", "ann", drafts)

    assert all(one.fresh for one in stored)
    assert len(meaning.calls) == 1
    with pytest.raises(InvalidRequest, match=r"items\.1\.ttl"):
        store_all(world.process, "demo", "ann", [MemoryDraft("99: x"), MemoryDraft("98: y", ttl="2x")])
    assert len(contents(world.process)) == BATCH


def test_requests_of_a_warm_store_and_of_a_cold_one(world):
    store(world.process, "1: First.")
    world.client.reset()
    store(world.process, "2: Second.")
    assert world.client.counts == {"LIST": 1, "PUT": 1}


def test_after_a_hundred_operations_a_snapshot_with_vectors_is_all_that_a_cold_process_reads(world):
    world, meaning = world_with_meaning()
    for number in range(100):
        store(world.process, f"{number % 30}: Fact {number}.")
    assert [key for key in world.keys("demo/memories/") if "snapshot" in key] == [
        "demo/memories/facts/snapshot/00000100.json",
        "demo/memories/facts/snapshot/00000100.text-embedding-3-small.vec",
    ]
    before = contents(world.process)
    meaning.calls.clear()
    cold = world.with_parts(embed=meaning)
    world.client.reset()

    assert contents(cold) == before
    assert world.client.counts == {"LIST": 2, "GET": 2}
    assert not store(cold, "3: Fact of topic 3 in other words.").fresh
    assert meaning.calls == [["3: Fact of topic 3 in other words."]]


def test_a_snapshot_says_the_same_as_the_log(world, monkeypatch):
    monkeypatch.setattr(log, "SNAPSHOT_EVERY", 20)
    for number in range(20):
        store(world.process, f"{number % 7}: Fact {number}.")
    whole = log.load(world.process, "demo", "fact")
    for key in [key for key in world.keys("demo/memories/") if "snapshot" in key]:
        world.store.delete(key)
    replayed = log.load(world.with_parts(), "demo", "fact")
    assert (replayed.memories, replayed.done, replayed.deleted) == (whole.memories, whole.done, whole.deleted)
    assert states.to_snapshot(replayed) == states.to_snapshot(whole)


def test_the_same_words_are_the_same_memory_and_nobody_is_asked():
    world = World()
    world.create_space()
    store(world.process, "The import fails at night because port Kiel answers 503.")
    for text in (
        "The import fails at night, because the port Kiel answers 503!",
        "Because port Kiel answers 503, the import fails at night.",
        "THE IMPORT FAILS AT NIGHT BECAUSE PORT KIEL ANSWERS 503",
    ):
        again = store(world.process, text)
        assert (again.fresh, again.merge.by, again.merge.kept) == (False, "text", "former")
    assert world.llm.prompts == []
    assert store(world.process, "We deploy on Tuesdays.").fresh


def test_a_process_that_knows_a_state_notices_that_the_space_was_restored(world):
    for number in range(3):
        store(world.process, f"{number}: Fact {number}.")
    third = world.store.get(OPERATION.key("demo", "fact", 3))
    world.store.delete(third.key)
    store(world.with_parts(embed=world.process.embed), "9: Another one.")

    assert contents(world.process) == ["0: Fact 0.", "1: Fact 1.", "9: Another one."]


def test_a_snapshot_of_a_log_that_there_is_no_more_is_left_aside_and_replaced(world, monkeypatch):
    monkeypatch.setattr(log, "SNAPSHOT_EVERY", 20)
    for number in range(19):
        store(world.process, f"{number % 9}: Fact {number}.")
    earlier = {key: world.store.get(key).body for key in world.keys("demo/memories/")}
    store(world.process, "20: The twentieth.")
    # As a backup has it that listed the log before the twentieth operation, and the snapshots after it.
    world.store.delete(OPERATION.key("demo", "fact", 20))
    assert len(earlier) == 19

    cold = world.with_parts(embed=world.process.embed)
    assert "20: The twentieth." not in contents(cold)
    store(cold, "21: Another twentieth.")
    again = world.with_parts(embed=world.process.embed)
    assert contents(again)[-1] == "21: Another twentieth."


def test_what_holds_for_a_time_and_stands_beside_is_found_again_in_other_words(world):
    store(world.process, "1: The port is 8080.")
    store(world.process, "1: The port is 9090.", ttl="1d")
    store(world.process, "1: For now the port is 9090.", ttl="2d")

    assert len(contents(world.process)) == 2


def test_a_snapshot_that_was_made_after_another_operation_of_the_same_number_is_not_believed(world, monkeypatch):
    monkeypatch.setattr(log, "SNAPSHOT_EVERY", 20)
    for number in range(20):
        store(world.process, f"{number % 9}: Fact {number}.")
    snapshot = world.store.get(MEMORY_SNAPSHOT.key("demo", "fact", 20))
    world.store.delete_many([snapshot.key, OPERATION.key("demo", "fact", 20)])
    store(world.with_parts(embed=world.process.embed), "21: Another twentieth.")
    world.store.put(snapshot.key, snapshot.body)

    assert contents(world.with_parts(embed=world.process.embed))[-1] == "21: Another twentieth."


def test_what_stands_after_a_vaguer_restatement_is_not_embedded_again():
    world, meaning = world_with_meaning()
    store(world.process, "1: Notes are kept in the bucket eu-data since March.")
    store(world.process, "1: Notes are kept.")
    meaning.calls.clear()
    store(world.with_parts(embed=meaning), "2: Something else.")

    assert meaning.calls == [["2: Something else."]]


def test_only_its_author_deletes_a_memory_or_who_may_delete_anybodys(world):
    memory_id = store(world.process, "1: We keep notes in S3.").memory.memory_id
    with pytest.raises(Forbidden):
        forgetting.delete(world.process, "demo", "bob", memory_id, "no")
    assert len(contents(world.process)) == 1
    forgetting.delete(world.process, "demo", "bob", memory_id, "no", anyone=True)
    assert contents(world.process) == []


def test_a_correction_of_another_revision_is_refused(world):
    memory_id = store(world.process, "1: The port is 8080.").memory.memory_id
    with pytest.raises(PreconditionLost):
        correcting.correct(world.process, "demo", "ann", memory_id, Correction(content="1: The port is 1.", revision=2))
    correcting.correct(world.process, "demo", "ann", memory_id, Correction(content="1: The port is 2.", revision=1))
    assert contents(world.process) == ["1: The port is 2."]
