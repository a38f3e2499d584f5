"""A backup that does not fit into one invocation goes on in the next ones."""

from datetime import timedelta
from typing import Any

import pytest

from livemem.backups import catalog, nightly, snapshots
from livemem.errors import NotFound
from livemem.jobs import lease
from livemem.spaces import head as heads
from livemem.store import keys
from tests.support import backups
from tests.support.backing_up import on_copy, own_etags, put, take, used
from tests.support.counting import CountingClient, Killed
from tests.support.world import World

SPACE = "demo"


@pytest.fixture(name="small")
def _small(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshots, "BATCH", 3)


def slow(world: World) -> None:
    world.client.before = lambda index, verb: world.clock.move(10) if verb == "COPY" else None


@pytest.mark.parametrize("store", [used, own_etags])
def test_what_does_not_fit_goes_on_in_the_next_invocations_and_nothing_is_copied_twice(small: None, store: Any):
    world = store()
    slow(world)
    todo = {"do": "back_up", "space_id": SPACE, "trigger": "schedule"}
    results = []
    while todo:
        deadline = world.clock() + timedelta(seconds=65)
        results.append(nightly.back_up(world.process, todo, deadline)["status"])
        assert backups.complete(world.inner.objects) == [] or not world.queued
        todo = dict(world.queued.popleft()) if world.queued else {}

    made = catalog.newest(world.process, SPACE).manifest
    assert results == ["unfinished"] * (len(results) - 1) + ["made"]
    assert len(results) > 1
    assert world.client.counts["COPY"] == made.objects_count
    assert backups.broken(world.inner.objects) == []
    assert backups.left_over(world.inner.objects) == []


def unfinished(world: World) -> str:
    slow(world)
    taken = take(world, time=timedelta(seconds=65))
    world.client.before = lambda index, verb: None
    assert taken.result == "unfinished"
    assert not taken.manifest.complete
    return taken.manifest.backup_id


def test_what_has_changed_between_two_invocations_is_copied_again_and_what_is_gone_goes(small: None):
    world = used()
    put(world, "_idempotency/0.json")
    backup_id = unfinished(world)
    assert keys.backup_object(SPACE, backup_id, "_idempotency/0.json") in world.inner.objects
    del world.inner.objects["demo/_idempotency/0.json"]
    world.note("three")
    world.consolidate()

    made = take(world, unfinished=backup_id).manifest

    assert (made.backup_id, made.complete, made.changes) == (backup_id, True, 2)
    assert backups.broken(world.inner.objects) == []
    assert backups.left_over(world.inner.objects) == []


def test_who_stood_still_can_not_complete_what_another_goes_on_with(small: None):
    world = used()
    backup_id = unfinished(world)
    other = world.with_parts()

    def overtake() -> None:
        world.clock.move(lease.LIFE.total_seconds() + 1)
        world.note("three")
        taken = take(world, other, unfinished=backup_id, time=timedelta(seconds=65))
        assert taken.result == "made"

    on_copy(world, "live/.keep", overtake)
    with pytest.raises(NotFound):
        take(world, unfinished=backup_id)

    assert backups.complete(world.inner.objects) == [backup_id]
    assert backups.broken(world.inner.objects) == []


def test_who_stood_still_can_not_complete_what_another_died_at(small: None):
    world = used()
    backup_id = unfinished(world)
    other = CountingClient(world.inner)

    def overtake() -> None:
        world.clock.move(lease.LIFE.total_seconds() + 1)
        heads.patch(world.with_parts(), SPACE, description="new")
        # Dead behind its first batch, in which the head is.
        process = world.process_on(other)
        other.reset()
        other.before = lambda index, verb: other.kill_at(index, done=False) if other.counts["COPY"] == 3 else None
        with pytest.raises(Killed):
            take(world, process, unfinished=backup_id)

    on_copy(world, "live/.keep", overtake)
    with pytest.raises(NotFound):
        take(world, unfinished=backup_id)

    assert backups.broken(world.inner.objects) == []
    world.clock.move(lease.LIFE.total_seconds() + 1)
    assert take(world, unfinished=backup_id).result == "made"
    assert backups.broken(world.inner.objects) == []


@pytest.mark.parametrize("gone", ["removed", "of another life", "never there"])
def test_an_unfinished_backup_that_is_gone_is_not_gone_on_with(small: None, gone: str):
    world = used()
    backup_id = unfinished(world)
    if gone == "removed":
        catalog.remove(world.process, SPACE, backup_id)
    elif gone == "of another life":
        heads.update(world.process, SPACE, lambda _: {"uid": "01HZZZZZZZ0000000000000009"})
    else:
        backup_id = "2020-01-01T00-00-00"
    before = dict(world.inner.objects)

    with pytest.raises(NotFound):
        take(world, unfinished=backup_id)

    after = dict(world.inner.objects)
    assert before == after


def test_one_that_is_complete_already_is_told_so(small: None):
    world = used()
    backup_id = unfinished(world)
    made = take(world, unfinished=backup_id)
    world.client.reset()

    assert take(world, unfinished=backup_id) == made
    assert "COPY" not in world.client.counts
