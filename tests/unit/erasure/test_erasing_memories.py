"""Erasing a memory: nothing of what it ever said is left anywhere, and all other memories are as they were."""

import base64
import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import cycle

import numpy as np
import pytest

from livemem.access.principal import Principal
from livemem.changes.late_write_repair import WATCHED_FOR
from livemem.erasure import erased, erasure, scrubbing
from livemem.erasure import receipts as kept_receipts
from livemem.erasure.occurrences import ErasureTarget
from livemem.errors import Busy, Conflict, InvalidRequest, LiveMemoryError, MemoriesBroken, NotFound
from livemem.llm.client import LlmError
from livemem.memories import correcting, erasing, forgetting, log, memory_vectors, reading, similar, splitting, storing
from livemem.memories.correcting import Correction
from livemem.rooms.digest_documents import Extract, ExtractedFact
from livemem.spaces import head as heads
from livemem.store import bucket, vector_file
from livemem.store.bucket import ERASURE, OPERATION, VERDICT
from tests.support.cases import each
from tests.support.counting import WRITES, Killed
from tests.support.erased import damaged_backups, left_of, receipts
from tests.support.faults import ERRORS, KILLS, LATER
from tests.support.memories import Meaning, contents, store, world_with_meaning
from tests.support.part import part
from tests.support.world import EVERYONE, INVOCATION, World

FIRST = "1: Alice lives in Paris with her two cats"
NOW = "1: Alice has moved to Rome, where she lives with three dogs"
VAGUER = "1: Alice lives abroad by now"
SUBJECT = "alice-from-paris"
EXTRACT = bucket.EXTRACT.key("demo", "20260220T140000", 0)
OTHER = "2: The port is 8080."
WATCHED = WATCHED_FOR.total_seconds() + 60
SECRETS = (*(text.removeprefix("1: ") for text in (FIRST, NOW, VAGUER)), SUBJECT)


@pytest.fixture
def world() -> World:
    found, _ = world_with_meaning()
    found.inner.versioned = True
    return found


def erase(world: World, memory_id: str, within: timedelta = INVOCATION, by: Principal = EVERYONE):
    return erasure.erase(world.process, by, "demo", [memory_id], world.clock() + within)


def told(world: World) -> str:
    """A memory that was told three times, beside another one; its id."""
    first = store(world.process, FIRST, op_id="first", subjects=[SUBJECT]).memory
    store(world.process, OTHER, "bob")
    store(world.process, NOW)
    store(world.process, VAGUER)
    return first.memory_id


def everything(world: World) -> str:
    """The same in a space with all that can hold a memory's words: backups, snapshots with vectors, quotes."""
    memory_id = told(world)
    world.clock.move(60)
    world.back_up()
    snapshot(world)
    facts = [
        ExtractedFact(kind="fact", content=NOW, subjects=[SUBJECT]),
        ExtractedFact(kind="fact", content=OTHER, subjects=["port"]),
    ]
    extract = Extract(room="main", facts=facts, messages=2, at="2026-02-20T14:00:00Z")
    world.store.put(EXTRACT, extract.to_bytes())
    world.store.put("demo/bank/people.md", f"# People\n\n- {NOW}.\n".encode())
    world.clock.move(60)
    world.back_up()
    store(world.process, "3: The build is green.", "bob")
    world.store.put(VERDICT.key("demo", "0" * 64), b'{"verdict": "different"}')
    world.clock.move(WATCHED)
    return memory_id


def snapshot(world: World) -> None:
    """Let there be a snapshot of the facts, with vectors."""
    state = log.load(world.process, "demo", "fact")
    found = memory_vectors.of(world.process, "demo", "fact", state, 64)
    many = replace(state, snapshot=state.number - log.SNAPSHOT_EVERY)
    storing.keep_snapshot(world.process, "demo", "fact", many, found)


def left(world: World) -> list[str]:
    """Where something of what the memory said is left, its vectors too."""
    found = [where for secret in SECRETS for where in left_of(world, secret)]
    bodies = [(key, stored.body) for key, stored in world.inner.objects.items()]
    bodies += [(f"a version of {version.key}", version.stored.body) for version in world.inner.versions]
    for text in (FIRST, NOW, VAGUER):
        halves = np.frombuffer(Meaning()([text], query=False, timeout=1)[0], dtype=np.float32).astype("<f2").tobytes()
        traces = (halves, base64.b64encode(halves), vector_file.name_of(text, ""))
        found += [f"a vector is left in {where}" for where, body in bodies if any(trace in body for trace in traces)]
    return found


def test_nothing_of_what_a_memory_ever_said_is_left_in_a_space_that_has_everything(world):
    memory_id = everything(world)
    assert len(left(world)) > 15

    receipt = erase(world, memory_id)

    assert left(world) == []
    assert not any("_verdicts/" in key for key in world.inner.objects)
    assert (receipt.status, receipt.memory_ids, receipt.note_ids) == ("done", [memory_id], [])
    assert list(damaged_backups(world)) == []
    with pytest.raises(NotFound):
        reading.load(world.process, "demo", memory_id)


def test_what_a_digest_took_from_the_same_room_beside_it_stays_with_whom_it_is_about(world):
    memory_id = everything(world)
    erase(world, memory_id)
    stored = world.store.get(EXTRACT)
    first, second = Extract.from_bytes(stored.body).facts
    assert (first.content, first.subjects) == ("[erased]", [])
    assert (second.content, second.subjects) == (OTHER, ["port"])


def test_all_other_memories_stand_as_before_for_warm_processes_and_for_cold_ones(world):
    memory_id = everything(world)
    before = [one for one in log.load(world.process, "demo", "fact").memories.values() if one.memory_id != memory_id]

    erase(world, memory_id)
    warm = list(log.load(world.process, "demo", "fact").memories.values())
    world.new_process()
    cold = list(log.load(world.process, "demo", "fact").memories.values())

    assert warm == cold == before
    assert store(world.process, OTHER, "carl").merge.into == before[0].memory_id


def test_the_vectors_of_other_memories_are_not_made_again(world):
    memory_id = everything(world)
    meaning = world.process.embed

    erase(world, memory_id)
    world.process = world.with_parts(embed=meaning)
    meaning.calls.clear()
    found = reading.search(world.process, "demo", "2: Which port?")

    assert [one.memory.content for one in found] == [OTHER, "3: The build is green."]
    assert meaning.calls == [["2: Which port?"]]


def test_the_receipt_tells_what_was_erased_and_who_else_says_it(world):
    memory_id = everything(world)
    world.note(f"Bob says: {NOW}.", agent="bob")
    quoting = store(world.process, f"9: It was said: {NOW}.", "bob").memory.memory_id

    receipt = erase(world, memory_id)

    assert receipt.counts["memories"] == 3
    assert receipt.counts["backups"] == 2
    assert (receipt.files, receipt.versions) == (["people.md"], "removed")
    assert quoting in receipt.quoted_in
    assert len(receipt.quoted_in) == 2
    assert reading.load(world.process, "demo", quoting).content.endswith(f"{NOW}.")
    assert not any(secret in world.text(ERASURE.key("demo", receipt.job_id)) for secret in SECRETS)


def test_each_backup_is_whole_afterwards_and_has_the_other_memories_alone(world):
    memory_id = everything(world)
    backups = list(world.store.folders("_backups/demo/"))

    erase(world, memory_id)

    for number, backup_id in enumerate(backups):
        assert world.restore("demo", backup_id, f"again-{number}")
        state = log.load(world.process, f"again-{number}", "fact")
        assert [one.content for one in state.memories.values()] == [OTHER]
        with pytest.raises((Conflict, NotFound)):
            forgetting.restore(world.process, f"again-{number}", "admin", memory_id, anyone=True)
    assert left(world) == []


def test_an_erased_memory_is_not_brought_back_not_even_by_a_repeat_of_what_stored_it(world):
    memory_id = everything(world)
    erase(world, memory_id)

    with pytest.raises(Conflict):
        forgetting.restore(world.process, "demo", "ann", memory_id)
    again = store(world.process, FIRST, op_id="first", subjects=[SUBJECT])

    assert (again.repeated, again.memory.content) == (True, "")
    assert left(world) == []


@pytest.mark.parametrize("gone", ["deleted", "expired"])
def test_a_memory_that_was_deleted_or_has_expired_can_still_be_erased(world, gone):
    memory_id = store(world.process, FIRST, ttl="1h").memory.memory_id
    if gone == "deleted":
        forgetting.delete(world.process, "demo", "ann", memory_id, f"Not so: {FIRST}")
    else:
        world.clock.move(4_000)

    receipt = erase(world, memory_id)

    assert (receipt.status, left(world)) == ("done", [])


def test_a_memory_that_only_a_backup_holds_is_erased_there(world):
    memory_id = store(world.process, FIRST).memory.memory_id
    world.back_up()
    world.store.delete_many(world.keys("demo/memories/"))
    world.new_process()

    receipt = erase(world, memory_id)

    assert (receipt.counts["backups"], left(world), list(damaged_backups(world))) == (1, [], [])


def test_one_too_short_to_be_looked_for_goes_and_leaves_other_texts(world):
    short = store(world.process, "Ann").memory.memory_id
    world.store.put("demo/bank/people.md", b"# People\n\nAnn and Bob\n")

    receipt = erase(world, short)

    assert receipt.counts["memories"] == 1
    assert "Ann and Bob" in world.text("demo/bank/people.md")
    assert '"content": "Ann"' not in world.text(OPERATION.key("demo", "fact", 1))


def test_an_unknown_memory_is_not_found_and_nothing_is_begun(world):
    with pytest.raises(NotFound) as refused:
        erase(world, "0" * 26)
    with pytest.raises(InvalidRequest):
        erase(world, "../demo")

    assert refused.value.code == "memory_not_found"
    assert not world.keys("demo/_erasures/")
    assert heads.load(world.process, "demo").meta.erasing is None


def test_where_the_log_is_broken_nothing_is_begun_that_could_not_end(world):
    memory_id = told(world)
    world.store.delete(OPERATION.key("demo", "fact", 2))
    world.new_process()

    with pytest.raises(MemoriesBroken):
        erase(world, memory_id)

    assert heads.load(world.process, "demo").meta.erasing is None


def test_the_same_request_again_gives_the_receipt_of_the_first(world):
    memory_id = told(world)

    first = erase(world, memory_id)

    assert erase(world, memory_id) == first
    assert len(world.keys("demo/_erasures/")) == 1


def test_a_request_without_time_begins_it_and_nobody_finds_the_memory_from_then_on(world):
    memory_id = everything(world)

    receipt = erase(world, memory_id, within=timedelta(0))

    assert receipt.status == "running"
    with pytest.raises(NotFound):
        reading.load(world.process, "demo", memory_id)
    with pytest.raises(Conflict):
        forgetting.restore(world.process, "demo", "ann", memory_id)
    with pytest.raises(Busy):
        erase(world, store(world.process, OTHER).memory.memory_id)
    world.settle()
    assert kept_receipts.view(world.process, "demo", receipt.job_id).status == "done"
    assert left(world) == []


def test_a_request_without_time_for_all_memories_closes_the_log_for_as_many_as_there_was_time_for(world):
    ids = [
        store(world.process, f"{number}: It is {number} o'clock in Lisbon.").memory.memory_id for number in range(20)
    ]
    world.client.before = lambda index, verb: world.clock.move(1 if verb == "PUT" else 0)

    receipt = erasure.erase(world.process, EVERYONE, "demo", ids, world.clock() + timedelta(seconds=10))
    world.client.before = lambda index, verb: None

    assert receipt.status == "running"
    assert 10 <= len(contents(world.process)) < 20
    world.settle()
    assert kept_receipts.view(world.process, "demo", receipt.job_id).status == "done"
    assert contents(world.process) == []
    assert list(left_of(world, "in Lisbon")) == []


@pytest.mark.parametrize("deleted", [False, True])
def test_the_listings_before_an_erasure_of_memories_are_as_many_for_twenty_as_for_two(world, deleted):
    ids = [
        store(world.process, f"{number}: It is {number} o'clock in Lisbon.").memory.memory_id for number in range(20)
    ]
    for memory_id in ids if deleted else ():
        forgetting.delete(world.process, "demo", "ann", memory_id, "over")

    def listings(number: int) -> int:
        world.client.reset()
        target = ErasureTarget.of("demo", ids[:number]).with_merged(world.process, "demo")
        assert target.memory_ids == set(ids[:number])
        erasing.renew_snapshots(world.process, "demo", ids[:number])
        assert erasing.known(world.process, "demo", ids[:number]) == set(ids[:number])
        return world.client.counts["LIST"]

    listings(1)
    assert listings(2) == listings(20) < 12


def test_what_was_stored_to_it_while_it_was_begun_goes_too(world, monkeypatch):
    memory_id = told(world)
    close, late = erasing.close, "1: Alice was in Lisbon for a week with her sister and two uncles"

    def beaten(*arguments):
        store(world.process, late)
        return close(*arguments)

    monkeypatch.setattr(erasing, "close", beaten)
    erase(world, memory_id)

    assert list(left_of(world, late.removeprefix("1: "))) == []
    assert left(world) == []


def test_what_is_said_of_it_afterwards_is_a_memory_of_its_own(world):
    memory_id = told(world)
    erase(world, memory_id)

    stored = store(world.process, NOW)

    assert stored.fresh
    assert stored.memory.memory_id != memory_id


def test_who_had_decided_to_bring_it_back_comes_too_late(world):
    memory_id = told(world)
    forgetting.delete(world.process, "demo", "ann", memory_id, "not so")
    begun = []

    def overtaken(index, verb):
        if verb == "PUT" and "/log/" in world.client.requests[-1][1]:
            world.client.before = lambda index, verb: None
            begun.append(verb)
            erase(world, memory_id)

    world.client.before = overtaken
    with pytest.raises(Conflict):
        forgetting.restore(world.process, "demo", "ann", memory_id)

    assert begun
    assert left(world) == []


def test_a_snapshot_and_vectors_that_come_late_are_removed_when_it_is_looked_at_once_more(world):
    memory_id = everything(world)
    late = {key: world.store.get(key).body for key in world.keys("demo/memories/facts/snapshot/")}
    assert len(late) == 2
    erase(world, memory_id)
    for key, body in late.items():
        world.store.put(key, body)
    assert left(world)

    come_to_end(world)

    assert left(world) == []
    assert contents(world.process) == [OTHER, "3: The build is green."]


def test_an_operation_that_comes_back_late_is_erased_again(world):
    memory_id = everything(world)
    key = OPERATION.key("demo", "fact", 1)
    late = world.store.get(key).body
    erase(world, memory_id)
    world.store.put(key, late)

    come_to_end(world)

    assert left(world) == []


def come_to_end(world: World) -> None:
    """Let the sweep do what is left to do."""
    for seconds in (60, WATCHED, WATCHED, WATCHED):
        world.clock.move(seconds)
        world.sweep_all()
        world.settle()
        if not heads.load(world.process, "demo").meta.erasing:
            return


def begun() -> tuple[World, str]:
    world, _ = world_with_meaning()
    world.inner.versioned = True
    return world, everything(world)


def writes_of() -> list[int]:
    world, memory_id = begun()
    world.new_process()
    erase(world, memory_id)
    return [point for point, (verb, _) in enumerate(world.client.requests) if verb in WRITES.values()]


@pytest.mark.slow
@each("fault", [KILLS[1], *ERRORS], ids=lambda fault: fault.name)
def test_wherever_it_dies_or_fails_it_is_finished(fault):
    prepared, memory_id = begun()
    points = writes_of()
    assert len(points) > 15
    for point, repeated in zip(part(points, 8 if fault is KILLS[1] else 24), cycle([True, False])):
        world = prepared.fork()
        world.new_process()
        fault.arm(world, point)
        done = None
        with suppress(Killed, LiveMemoryError):
            done = erase(world, memory_id)
        world.new_process()
        world.clock.move(LATER)
        if not done and (repeated or not receipts(world)):
            erase(world, memory_id)
        come_to_end(world)
        found = receipts(world)
        assert ([one.status for one in found], left(world), list(damaged_backups(world))) == (["done"], [], []), point
        assert heads.load(world.process, "demo").meta.erasing is None
        assert contents(world.process) == [OTHER, "3: The build is green."], point


def test_a_note_that_is_erased_leaves_memories_as_others_words_and_names_them(world):
    note = world.note(f"{NOW}.", agent="ann")
    memory_id = store(world.process, NOW).memory.memory_id

    receipt = erasure.erase(world.process, EVERYONE, "demo", [note.note_id], world.clock() + INVOCATION)

    assert receipt.quoted_in == [memory_id]
    assert reading.load(world.process, "demo", memory_id).content == NOW


def test_a_correction_says_nothing_of_what_was_before_either(world):
    memory_id = store(world.process, FIRST).memory.memory_id
    correcting.correct(world.process, "demo", "ann", memory_id, Correction(content=NOW, subjects=[SUBJECT]))

    erase(world, memory_id)

    assert left(world) == []


def silent(world: World):
    """A process whose LLM does not answer, so that what may be the same is linked."""

    def unanswered(*_):
        raise LlmError("llm_timeout", "It took too long.")

    return world.with_parts(embed=world.process.embed, ask=unanswered)


def words_left(world: World, *texts: str) -> list[str]:
    found = [where for text in texts for where in left_of(world, text.removeprefix("1: "))]
    bodies = [(key, stored.body) for key, stored in world.inner.objects.items()]
    bodies += [(f"a version of {version.key}", version.stored.body) for version in world.inner.versions]
    for text in texts:
        halves = np.frombuffer(Meaning()([text], query=False, timeout=1)[0], dtype=np.float32).astype("<f2").tobytes()
        found += [
            f"a vector in {where}" for where, body in bodies if base64.b64encode(halves) in body or halves in body
        ]
    return found


SECOND = "1: Alice has sold her boat to Tomasz last winter"


@pytest.mark.parametrize("kept", ["new", "former"])
@pytest.mark.parametrize("gone", ["the one split off", "the one it was split off"])
def test_of_two_that_were_one_the_words_of_one_go_and_the_other_stays_whole(world, kept, gone):
    first = store(world.process, FIRST).memory.memory_id
    world.llm.judge = lambda new, there: "contradicts" if kept == "new" else "same"
    other = SECOND if kept == "new" else "1: Alice went fishing"
    assert store(world.process, other).merge.kept == kept
    world.clock.move(60)
    world.back_up()
    snapshot(world)
    split = splitting.split(world.process, "demo", "ann", first)
    store(world.process, OTHER, "bob")
    world.clock.move(60)
    world.back_up()
    world.clock.move(WATCHED)
    erased, stays = (other, FIRST) if gone == "the one split off" else (FIRST, other)
    erased_id, stays_id = (
        (split.other.memory_id, first) if gone == "the one split off" else (first, split.other.memory_id)
    )
    before = reading.load(world.process, "demo", stays_id)
    assert len(words_left(world, erased)) > 3

    receipt = erase(world, erased_id)

    assert receipt.status == "done"
    assert words_left(world, erased) == []
    assert reading.load(world.process, "demo", stays_id) == before
    world.new_process()
    world.process = world.with_parts(embed=Meaning())
    assert sorted(contents(world.process)) == sorted([stays, OTHER])
    assert list(damaged_backups(world)) == []
    # Nothing that is done later brings the words back.
    for memory_id in (first, split.other.memory_id):
        with suppress(Conflict, NotFound):
            splitting.split(world.process, "demo", "ann", memory_id)
        with suppress(Conflict, NotFound):
            forgetting.restore(world.process, "demo", "ann", memory_id)
    assert words_left(world, erased) == []
    come_to_end(world)
    assert words_left(world, erased) == []


@pytest.mark.parametrize("asked_for", ["the one that stands", "the one that was merged into it"])
def test_memories_that_a_digest_made_one_are_erased_together(world, asked_for):
    first = store(silent(world), FIRST).memory.memory_id
    second = store(silent(world), NOW).memory.memory_id
    store(world.process, OTHER, "bob")
    world.back_up()
    similar.settle(world.process, "demo", world.clock() + INVOCATION)
    assert len(contents(world.process)) == 2
    world.clock.move(WATCHED)

    wanted = first if asked_for == "the one that stands" else second
    receipt = erase(world, wanted)

    assert (receipt.status, sorted(receipt.memory_ids)) == ("done", sorted([first, second]))
    assert (left(world), contents(world.process)) == ([], [OTHER])
    assert erase(world, wanted) == receipt
    assert list(damaged_backups(world)) == []


def test_a_link_names_no_memory_that_was_erased(world):
    first = store(silent(world), FIRST).memory.memory_id
    second = store(silent(world), NOW).memory.memory_id
    erase(world, first)
    assert reading.load(world.process, "demo", second).similar_to == []
    assert similar.settle(world.process, "demo", world.clock() + INVOCATION) == similar.Settled()


SECRET = 'The code of "Ann\\Bob" is 4711.\tKeep it, naïve 😀 one.\nSecond line of it.'
SPELLINGS = [json.dumps(SECRET), json.dumps(SECRET, ensure_ascii=False), json.dumps(SECRET).replace("a", "\\u0061")]


@each("spelling", SPELLINGS)
def test_words_in_a_damaged_document_are_found_behind_every_escape(spelling: str):
    body = ('{"half": ' + spelling).encode()

    scrubbed = erased._scrubbed(body, scrubbing.pieces_of([SECRET]))

    assert "4711" not in scrubbed.decode()
    assert "Second line" not in scrubbed.decode()
    assert scrubbed.startswith(b'{"half": ')


def test_a_document_without_the_words_stays_byte_for_byte():
    body = b'{"half": "tab\\t quote\\" back\\\\ half a pair \\ud83d'
    assert erased._scrubbed(body, scrubbing.pieces_of([SECRET])) == body
