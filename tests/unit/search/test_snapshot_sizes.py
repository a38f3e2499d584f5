"""What lies in the place of a snapshot does not fill the disk of who fetches it."""

from livemem.search import search_snapshots
from tests.support.world import World


def test_a_snapshot_of_whatever_size_is_not_fetched_beyond_the_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(search_snapshots, "MOST_BYTES", 1_000)
    world = World()
    world.create_space()
    key = search_snapshots.key_of("demo", 1)
    world.store.put(key, b"x" * 1_001, metadata={search_snapshots.UID: "u"})
    path = tmp_path / "view"

    loaded = search_snapshots.load(world.store, "demo", "u", path)

    assert (loaded.number, loaded.damaged) == (None, (key,))
    assert not path.exists()
