"""Whom the LLM is asked about, in how many calls, and what becomes of memories of which nobody has said anything."""

import hashlib
from datetime import timedelta

import pytest

from livemem.llm.client import LlmError
from livemem.memories import correcting, forgetting, log, nearest, reading, similar, storing
from livemem.memories.correcting import Correction
from livemem.memories.memory import Memory, MemoryDraft, Provenance
from livemem.memories.merging import Candidate, Near
from tests.support.cases import each
from tests.support.memories import URL, contents, store, world_with_meaning
from tests.support.world import INVOCATION, World, pairs_asked


def unanswered(*_):
    raise LlmError("llm_timeout", "It took too long.")


@pytest.fixture
def world():
    return world_with_meaning()[0]


def silent(world):
    """A process of the same world whose LLM does not answer."""
    return world.with_parts(embed=world.process.embed, ask=unanswered)


def settle(world):
    return similar.settle(world.process, "demo", world.clock() + INVOCATION)


def links(world, memory_id):
    return reading.load(world.process, "demo", memory_id).similar_to


def test_without_a_model_both_stay_and_each_names_the_other():
    world, _ = world_with_meaning(llmaas_api_url=None)
    one = store(world.process, "1: Bob is allergic to peanuts.").memory
    other = store(world.process, "1: Bob is allergic to shellfish.")

    assert other.fresh
    assert (links(world, one.memory_id), links(world, other.memory.memory_id)) == (
        [other.memory.memory_id],
        [one.memory_id],
    )
    assert [one.memory.similar_to for one in reading.search(world.process, "demo", "1: Bob")] == [
        [other.memory.memory_id],
        [one.memory_id],
    ]
    forgetting.delete(world.process, "demo", "ann", one.memory_id, "no")
    assert links(world, other.memory.memory_id) == []


@pytest.mark.parametrize("answer", [unanswered, None], ids=["a timeout", "no time"])
def test_a_model_that_does_not_answer_in_time_leaves_a_link_too(world, answer):
    store(world.process, "1: The port is 8080.")
    until = None if answer else world.clock() + timedelta(seconds=1)
    process = silent(world) if answer else world.process
    stored = storing.store(process, "demo", "ann", MemoryDraft("1: It is port 8080."), until=until)
    assert (stored.fresh, len(stored.memory.similar_to)) == (True, 1)


def test_what_the_model_calls_different_is_not_linked_and_what_contradicts_takes_its_place(world):
    world.llm.judge = lambda new, there: "contradicts" if "owns" in new else "different"
    store(world.process, "1: Ann owns billing.")
    assert store(world.process, "1: Bob likes billing.").memory.similar_to == []
    done = store(world.process, "1: Bob owns billing now.")

    assert (done.merge.by, done.merge.former, done.merge.kept) == ("llm", "1: Ann owns billing.", "new")
    assert [one.content for one in done.memory.history] == ["1: Ann owns billing."]
    assert sorted(contents(world.process)) == ["1: Bob likes billing.", "1: Bob owns billing now."]


def test_what_says_the_same_comes_before_what_contradicts_however_near_that_is(world):
    world.llm.judge = lambda new, there: (
        "same" if "Rome" in there else "contradicts" if "Oslo" in there else "different"
    )
    for city in ("Oslo", "Rome", "Kiel"):
        store(silent(world), f"1: Ann lives in {city}.")
    assert store(world.process, "1: Rome is where Ann lives.").merge.former == "1: Ann lives in Rome."


def test_one_call_judges_all_that_is_near_to_a_memory(world):
    world.llm.judge = lambda new, there: "different"
    for number in range(45):
        store(silent(world), f"1: Fact {number}.")
    store(world.process, "1: Another one.")
    assert world.llm.judged == 1
    assert len(pairs_asked(world.llm.prompts[-1])) == 40


def test_a_batch_asks_one_call_for_each_ten_memories_and_what_is_near_within_it_is_asked_too(world):
    names = [hashlib.sha256(bytes([number])).hexdigest()[:8] for number in range(25)]
    world.llm.judge = lambda new, there: "same" if any(name in new and name in there for name in names) else "different"
    drafts = [
        *(MemoryDraft(f"1: Since May {name} drinks tea.") for name in names),
        *(MemoryDraft(f"1: It is tea that {name} drinks.") for name in names),
    ]
    done = storing.store_all(world.process, "demo", "ann", drafts)

    assert len(world.llm.prompts) == 5
    assert all(len(pairs_asked(prompt)) == 40 for prompt in world.llm.prompts[1:])
    assert [one.fresh for one in done] == [True] * 25 + [False] * 25
    assert len(contents(world.process)) == 25


def test_of_facts_of_a_batch_that_say_the_same_one_stands(world):
    done = storing.store_all(
        world.process,
        "demo",
        "ann",
        [MemoryDraft("1: The port is 8080."), MemoryDraft("1: It is 8080."), MemoryDraft("2: Other.")],
    )
    assert [one.fresh for one in done] == [True, False, True]
    assert world.llm.judged == 1


def test_what_another_writer_stores_meanwhile_is_asked_about_too(world):
    store(world.process, "1: First.")
    racer = world.process_on(world.inner, embed=world.process.embed)
    world.llm.judge = lambda new, there: "same" if "Mine" in new and "Theirs" in there else "different"

    def stop(index, verb):
        if verb == "PUT" and "/log/" in world.client.requests[-1][1]:
            world.client.before = lambda index, verb: None
            store(racer, "1: Theirs.")

    world.client.before = stop
    done = store(world.process, "1: Mine.")
    assert done.merge.former == "1: Theirs."
    asked = [there for prompt in world.llm.prompts for _, new, there in pairs_asked(prompt) if new == "1: Mine."]
    assert asked == ["1: First.", "1: Theirs."]


def test_a_model_that_did_not_answer_is_not_waited_for_twice(world):
    store(world.process, "1: First.")
    racer = world.process_on(world.inner, embed=world.process.embed)
    calls = []

    def count(*asked):
        calls.append(asked)
        unanswered()

    world.process = world.with_parts(embed=world.process.embed, ask=count)
    world.client.before = lambda index, verb: (
        (setattr(world.client, "before", lambda *_: None), store(racer, "1: Theirs."))
        if verb == "PUT" and "/log/" in world.client.requests[-1][1]
        else None
    )
    assert store(world.process, "1: Mine.").fresh
    assert len(calls) == 1


def test_with_the_former_setting_likeness_decides_again():
    world = World(embeddings_api_url=URL, memory_merge="similarity", llmaas_api_url=None)
    world.create_space()
    world.process = world.with_parts(embed=world_with_meaning()[1])
    store(world.process, "1: Notes are kept.")
    again = store(world.process, "1: Notes are kept in S3.")
    assert (again.fresh, again.merge.by) == (False, "vector")


def test_who_corrects_a_content_starts_anew(world):
    store(world.process, "1: The port is 8080.")
    linked = store(silent(world), "1: It is port 8080.").memory
    correcting.correct(world.process, "demo", "ann", linked.memory_id, Correction(content="7: Something else."))
    assert links(world, linked.memory_id) == []


def test_a_later_look_merges_what_the_model_calls_the_same_and_unlinks_what_is_different(world):
    first = store(world.process, "1: The port is 8080.").memory
    same = store(silent(world), "1: It is port 8080.", "bob", subjects=["port"]).memory
    other = store(silent(world), "1: The host is Kiel.").memory
    world.llm.judge = lambda new, there: "same" if "8080" in new and "8080" in there else "different"

    assert settle(world) == similar.Settled(merged=1, apart=1)
    assert world.llm.judged == 1
    there = reading.load(world.process, "demo", first.memory_id)
    assert (there.content, there.subjects, there.similar_to) == ("1: The port is 8080.", ["port"], [])
    assert [one.content for one in there.history] == ["1: It is port 8080."]
    kept = reading.load(world.process, "demo", other.memory_id)
    assert (kept.similar_to, kept.revision, kept.updated_at) == ([], 1, other.updated_at)
    assert same.memory_id not in log.load(world.process, "demo", "fact").memories
    world.client.reset()
    assert settle(world) == similar.Settled()
    # A look that finds nothing: one LIST for each kind, and nobody is asked.
    assert (world.client.counts, world.llm.judged) == ({"LIST": 3}, 1)


def test_a_chain_of_links_ends_in_one_memory_wherever_its_parts_have_gone(world):
    for text in ("1: One.", "1: Two.", "1: Three.", "1: Four."):
        store(silent(world), text)
    while settle(world).merged:
        pass
    (left,) = log.load(world.process, "demo", "fact").alive(world.clock())
    assert {left.content, *(one.content for one in left.history)} == {"1: One.", "1: Two.", "1: Three.", "1: Four."}


def test_of_two_that_contradict_each_other_the_one_that_was_said_later_stands(world):
    first = store(world.process, "1: Ann owns billing.").memory
    store(silent(world), "1: Bob owns billing.")
    world.clock.move(60)
    correcting.correct(world.process, "demo", "ann", first.memory_id, Correction(content="1: Eva owns billing."))
    world.llm.judge = lambda new, there: "contradicts"
    settle(world)
    assert contents(world.process) == ["1: Eva owns billing."]


def test_what_holds_for_a_time_stays_beside_what_holds_for_ever_and_is_not_asked_about_again(world):
    store(world.process, "1: The port is 8080.")
    store(silent(world), "1: The port is 9090 today.", ttl="1d")
    world.llm.judge = lambda new, there: "contradicts"
    assert settle(world) == similar.Settled(apart=1)
    assert len(contents(world.process)) == 2
    settle(world)
    assert world.llm.judged == 1


def test_a_look_takes_a_few_calls_and_the_next_one_goes_on(world, monkeypatch):
    monkeypatch.setattr(similar, "CALLS", 2)
    world.llm.judge = lambda new, there: "different"
    for topic in range(4):
        for number in range(12):
            store(silent(world), f"{topic}: Fact {number}.")
    world.llm.prompts.clear()
    settle(world)
    assert len(world.llm.prompts) == similar.CALLS
    while settle(world).apart:
        pass
    assert not any(one.similar_to for one in log.load(world.process, "demo", "fact").memories.values())
    assert len(contents(world.process)) == 48


def test_a_merge_of_two_memories_keeps_the_vector_of_the_content_that_stands():
    world, meaning = world_with_meaning()
    store(world.process, "1: Notes are kept.")
    store(silent(world), "1: Notes are kept in S3, in the bucket eu-data.")
    settle(world)
    meaning.calls.clear()
    store(world.with_parts(embed=meaning), "2: Something else.")
    assert meaning.calls == [["2: Something else."]]


def of(content, *subjects):
    now = "2026-05-01T10:00:00.000Z"
    return Memory(
        memory_id="m1",
        kind="fact",
        content=content,
        subjects=list(subjects),
        created_at=now,
        updated_at=now,
        source="manual",
        provenance=Provenance(author="ann"),
    )


@each(
    ("new", "old", "is_asked"),
    [
        (of("The review is on 3 May."), of("Port Kiel closes on May 3."), False),
        (of("Backups run on Fridays."), of("The choir meets on Fridays."), False),
        (of("Release 2 went out on 2026-05-03."), of("Ines moved on 2026-05-03."), False),
        (of("Le gel commence le 1er mai 2026."), of("Raul part en mai 2026."), False),
        (of("The import begins at 14:30."), of("Lunch ends at 14:30."), False),
        # A subject, or a word beside the date.
        (of("The freeze begins on 3 May.", "deploys"), of("Nothing goes out from May 3 on.", "deploys"), True),
        (of("The freeze begins on 3 May."), of("The freeze begins on 10 May."), True),
        (of("Python 3.12 since May."), of("The build needs 3.12."), True),
        # Texts in two languages share no word.
        (of("The port is closed."), of("Le havre reste inaccessible."), True),
    ],
)
@each("by", ["vector", "lexical"])
def test_two_memories_that_share_a_date_alone_are_no_candidates(world, new, old, is_asked, by):
    for candidate, there in ((new, old), (old, new)):
        asked = nearest.to_ask(world.process, Candidate(candidate), [Near(there, 0.9, by)])
        assert bool(asked) == is_asked
