"""When snapshots are made, and what is beside them."""

from livemem.memories import correcting, log
from livemem.memories.correcting import Correction
from tests.support.memories import store, world_with_meaning


def snapshots(world):
    return [key.rpartition("/")[2] for key in world.keys("demo/memories/facts/snapshot/")]


def correct(world, memory_id, subject):
    correcting.correct(world.process, "demo", "ann", memory_id, Correction(subjects=[subject]))


def test_a_correction_leaves_the_snapshot_to_the_next_store_which_has_the_vectors(monkeypatch):
    monkeypatch.setattr(log, "SNAPSHOT_EVERY", 20)
    world, meaning = world_with_meaning()
    memory_id = [store(world.process, f"{number % 9}: Fact {number}.").memory.memory_id for number in range(19)][-1]
    correct(world, memory_id, "port")
    assert snapshots(world) == []

    store(world.process, "1: Fact 21.")
    assert snapshots(world) == ["00000021.json", "00000021.text-embedding-3-small.vec"]
    meaning.calls.clear()
    store(world.with_parts(embed=meaning), "1: Fact 22.")
    assert meaning.calls == [["1: Fact 22."]]
