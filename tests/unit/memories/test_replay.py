"""A snapshot of memories is compared with the log that it was made of."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from livemem.erasure import erasure
from livemem.memories import correcting, forgetting, log, replay, storing
from livemem.memories import state as states
from livemem.memories.correcting import Correction
from livemem.memories.memory import Memory
from livemem.memories.state import Snapshot
from livemem.store.bucket import MEMORY_SNAPSHOT, OPERATION
from livemem.store.keys import MemoryKind
from livemem.upkeep import invariants
from livemem.upkeep.invariants import Invariant
from tests.support.cases import each
from tests.support.memories import contents, store, world_with_meaning
from tests.support.world import EVERYONE, INVOCATION, World


@pytest.fixture
def world() -> World:
    """Three operations and a snapshot, two more and another snapshot, and one more."""
    found, _ = world_with_meaning()
    store(found.process, "1: The port is 8080.", op_id="first")
    gone = store(found.process, "2: The build is red.").memory.memory_id
    store(found.process, "1: The port is 8080, as it was in March.", replace=True)
    snapshot(found)
    forgetting.delete(found.process, "demo", "ann", gone, "It is green.")
    store(found.process, "3: We meet on Mondays.", ttl="1h")
    snapshot(found)
    store(found.process, "4: Ann likes tea.")
    store(found.process, "I am patient.", kind="self", category="context")
    return found


def snapshot(world: World, kind: MemoryKind = "fact") -> None:
    state = log.load(world.process, "demo", kind)
    storing.keep_snapshot(world.process, "demo", kind, replace(state, snapshot=state.number - log.SNAPSHOT_EVERY), None)


def agreement(world: World) -> Invariant:
    return next(
        one for one in invariants.page(world.with_parts(), "demo", limit=10).invariants if one.name == "snapshots_agree"
    )


def tamper(world: World, number: int, change: Callable[[Snapshot], Snapshot]) -> None:
    key = MEMORY_SNAPSHOT.key("demo", "fact", number)
    found = Snapshot.from_bytes(world.store.get(key).body)
    world.store.put(key, change(found).to_bytes())


def with_ghost(found: Snapshot) -> Snapshot:
    one = found.memories[0]
    return found.model_copy(
        update={"memories": [*found.memories, one.model_copy(update={"memory_id": "0" * 26, "content": "Ghost."})]}
    )


def without_first(found: Snapshot) -> Snapshot:
    return found.model_copy(update={"memories": found.memories[1:]})


def with_other_words(found: Snapshot) -> Snapshot:
    return _first(found, content="The port is 9999.")


def that_never_expires(found: Snapshot) -> Snapshot:
    (*others, last) = found.memories
    return found.model_copy(update={"memories": [*others, last.model_copy(update={"expires_at": None})]})


def with_a_false_repeat(found: Snapshot) -> Snapshot:
    done = next(iter(found.done.values()))
    return found.model_copy(update={"done": {**found.done, "never": done}})


def with_a_false_deletion(found: Snapshot) -> Snapshot:
    return found.model_copy(update={"deleted": {**found.deleted, "0" * 26: 1}})


def _first(found: Snapshot, **changes: Any) -> Snapshot:
    first: Memory = found.memories[0]
    return found.model_copy(update={"memories": [first.model_copy(update=changes), *found.memories[1:]]})


def test_snapshots_that_the_service_made_agree_with_the_log(world: World):
    found = agreement(world)

    assert (found.holds, found.looked_at, found.evidence) == (True, 4, ())


def test_they_still_agree_after_a_correction_and_an_erasure(world: World):
    port = next(iter(log.load(world.process, "demo", "fact").memories))
    correcting.correct(world.process, "demo", "ann", port, Correction(content="1: The port is 8081."))
    erasure.erase(world.process, EVERYONE, "demo", [port], world.clock() + INVOCATION)
    snapshot(world)

    assert agreement(world).holds is True


@each(
    ("change", "words"),
    [
        (with_ghost, "has the memory 00000000000000000000000000, which the log does not have"),
        (without_first, "lacks the memory"),
        (with_other_words, "in another state"),
        (that_never_expires, "in another state"),
        (with_a_false_repeat, "knows other operations"),
        (with_a_false_deletion, "knows other deletions"),
    ],
)
def test_a_snapshot_that_says_something_else_than_the_log_breaks_an_invariant(change: Any, words: str):
    world, _ = world_with_meaning()
    for content in ("1: The port is 8080.", "2: The build is red."):
        store(world.process, content, ttl="1h", op_id=content)
    snapshot(world)
    tamper(world, 2, change)

    found = agreement(world)

    assert found.holds is False
    assert words in found.evidence[0]
    assert "snapshot 2 of facts" in found.evidence[0]
    assert "made again" in (found.detail or "")


def test_both_snapshots_that_are_kept_are_compared(world: World):
    tamper(world, 3, with_ghost)

    assert [text[:19] for text in agreement(world).evidence] == ["snapshot 3 of facts"]


def test_a_snapshot_that_no_reader_uses_breaks_nothing(world: World):
    tamper(world, 5, lambda found: with_ghost(found).model_copy(update={"op_id": "of another log"}))
    store(world.process, "5: One more.")

    assert agreement(world).holds is True
    world.new_process()
    assert "Ghost." not in contents(world.process)


def test_of_a_log_that_is_too_long_nothing_is_said(world: World, monkeypatch):
    monkeypatch.setattr(replay, "MOST_OPERATIONS", 4)
    found = agreement(world)

    assert (found.holds, found.detail) == (None, "The log of fact is too long, or has gaps.")


def test_a_log_with_a_gap_is_not_compared(world: World):
    world.store.delete(OPERATION.key("demo", "fact", 2))

    assert agreement(world).holds is None


def test_the_requests_grow_with_the_log_up_to_its_newest_snapshot(world: World):
    world.client.reset()
    found = replay.compare(world.with_parts(), "demo")

    assert found.broken == []
    assert world.client.counts == Counter(LIST=3, GET=7)


def test_what_comes_behind_a_gap_or_is_too_much_is_left_out(world: World, monkeypatch):
    state = log.load(world.process, "demo", "fact")
    read = [log.operation_at(world.process, "demo", "fact", number) for number in range(1, state.number + 1)]
    whole, gap, small = replay.Replay(), replay.Replay(), replay.Replay()

    for start in range(0, len(read), 2):
        whole.add(read[start : start + 2])
    gap.add([*read[:2], *read[3:]])
    monkeypatch.setattr(replay, "MOST_BYTES", 900)
    small.add(read)

    assert states.to_snapshot(whole.state) == states.to_snapshot(state)
    assert gap.state.number == 2
    assert 0 < small.state.number < state.number
