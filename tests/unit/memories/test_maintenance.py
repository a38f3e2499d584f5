"""What the daily look removes of memories."""

from livemem.jobs.package import look_at_space
from livemem.memories import log, maintenance
from livemem.store.bucket import MEMORY_SNAPSHOT, MEMORY_VECTORS
from tests.support.memories import store, world_with_meaning


def look(world):
    space = look_at_space(world.process, "demo", daily=True)
    assert space
    return maintenance.maintain(world.process, space)


def test_vectors_whose_snapshot_was_never_written_go_with_the_old_snapshots(monkeypatch):
    monkeypatch.setattr(log, "SNAPSHOT_EVERY", 10)
    world, _ = world_with_meaning()
    for number in range(30):
        store(world.process, f"{number % 9}: Fact {number}.")
    model = world.settings.embeddings_model
    for number in (5, 15, 25, 35):
        world.store.put(MEMORY_VECTORS.key("demo", "fact", number, model), b"of somebody who died")

    assert look(world) == {"memory_snapshots_removed": 1.0}
    left = [key.removeprefix(MEMORY_SNAPSHOT.prefix("demo", "fact")) for key in world.keys("demo/memories/facts/snap")]
    # Newer than the newest snapshot: it may be under way.
    kept = [f"{number:08d}.{kind}" for number in (20, 30) for kind in ("json", f"{model}.vec")]
    assert left == [*kept, f"00000035.{model}.vec"]
