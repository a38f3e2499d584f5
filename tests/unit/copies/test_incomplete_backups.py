"""A backup that does not fit into one invocation goes on in the next ones."""

from datetime import timedelta
from typing import Any

import pytest

from livemem.changes import direct
from livemem.copies import catalog, taking
from livemem.copies.taking import BackupOutcome
from livemem.errors import Busy, Conflict, NotFound, PreconditionLost
from livemem.jobs import lease, worker
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store.bucket import BACKUP_OBJECT, LEASE
from tests.support import backups
from tests.support.backing_up import go_on, hold, on_copy, own_etags, put, take, used, waiting
from tests.support.counting import CountingClient, Killed
from tests.support.world import INVOCATION, World

SPACE = "demo"


@pytest.fixture(name="small")
def _small(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(taking, "BATCH", 3)


def slow(world: World) -> None:
    world.client.before = lambda index, verb: world.clock.move(10) if verb == "COPY" else None


@pytest.mark.parametrize("store", [used, own_etags])
def test_what_does_not_fit_goes_on_in_the_next_invocations_and_nothing_is_copied_twice(small: None, store: Any):
    world = store()
    slow(world)
    todo: Any = {"do": "back_up", "space_id": SPACE}
    results = []
    while todo:
        results.append(world.work(todo, until=world.clock() + timedelta(seconds=65))["status"])
        assert backups.complete(world.inner.objects) == [] or not world.queued
        todo = world.queued.popleft() if world.queued else None

    made = catalog.newest(world.process, SPACE)
    assert results == ["unfinished"] * (len(results) - 1) + ["made"]
    assert len(results) > 1
    assert world.client.counts["COPY"] == made.objects_count
    assert backups.broken(world.inner.objects) == []
    assert backups.left_over(world.inner.objects) == []


def unfinished(world: World) -> str:
    slow(world)
    taken = take(world, time=timedelta(seconds=65), nested=True)
    world.client.before = lambda index, verb: None
    assert taken.result == "unfinished"
    assert not taken.manifest.complete
    return taken.manifest.job_id


def test_what_has_changed_between_two_invocations_is_copied_again_and_what_is_gone_goes(small: None):
    world = used()
    put(world, "_idempotency/0.json")
    backup_id = unfinished(world)
    assert BACKUP_OBJECT.key(SPACE, backup_id, "_idempotency/0.json") in world.inner.objects
    del world.inner.objects["demo/_idempotency/0.json"]
    world.note("three")
    world.consolidate()

    made = go_on(world, backup_id).manifest

    assert (made.job_id, made.complete, made.changes) == (backup_id, True, 2)
    assert backups.broken(world.inner.objects) == []
    assert backups.left_over(world.inner.objects) == []


def test_to_go_on_costs_a_listing_of_what_is_there_instead_of_one_of_the_backups(small: None):
    world = used()
    backup_id = unfinished(world)
    world.new_process()

    assert go_on(world, backup_id).result == "made"

    # Manifest, lease, and the head before, behind, and for the next consolidation.
    assert world.client.counts == {"GET": 5, "LIST": 2, "COPY": 7, "PUT": 3, "DELETE": 1}


def test_who_may_wait_goes_on_when_the_space_is_free(small: None):
    world = used()
    backup_id = unfinished(world)
    hold(world)
    process, slept = waiting(world)
    deadline = world.clock() + INVOCATION

    with pytest.raises(Busy):
        go_on(world, backup_id)
    assert taking.go_on(process, SPACE, backup_id, deadline=deadline, wait=True).result == "made"
    assert sum(slept) == lease.LIFE.total_seconds()


def test_it_goes_on_although_runs_of_the_space_wait_after_a_failure(small: None):
    world = used()
    backup_id = unfinished(world)
    lease.back_off(world.process, hold(world), "llm_timeout")

    assert go_on(world, backup_id).result == "made"


def test_one_whose_space_changes_too_often_to_begin_with_is_gone_on_with_later(
    small: None, monkeypatch: pytest.MonkeyPatch
):
    world = used()
    backup_id = unfinished(world)

    def changes_too_often(*_: Any) -> Any:
        raise PreconditionLost("The space was changed too often at the same time. Try again.")

    with monkeypatch.context() as patch:
        patch.setattr(direct, "settled", changes_too_often)
        with pytest.raises(Conflict):
            go_on(world, backup_id)

    assert go_on(world, backup_id).result == "made"


def test_who_stood_still_is_told_what_another_has_completed(small: None):
    world = used()
    backup_id = unfinished(world)
    other = world.with_parts()
    made: list[BackupOutcome] = []

    def overtake() -> None:
        world.clock.move(lease.LIFE.total_seconds() + 1)
        world.note("three")
        made.append(go_on(world, backup_id, other))

    on_copy(world, "live/.keep", overtake)

    assert [go_on(world, backup_id)] == made
    assert made[0].result == "made"
    assert backups.broken(world.inner.objects) == []


@pytest.mark.parametrize("since", ["changed", "gone"])
def test_who_stood_still_touches_nothing_of_what_another_has_completed(small: None, since: str):
    world = used()
    put(world, "_idempotency/0.json")
    backup_id = unfinished(world)
    put(world, "_idempotency/0.json", b"y")
    other = world.process_on(world.inner)

    def overtake() -> None:
        world.clock.move(lease.LIFE.total_seconds() + 1)
        assert go_on(world, backup_id, other).result == "made"
        if since == "changed":
            put(world, "_idempotency/0.json", b"z")
        else:
            del world.inner.objects["demo/_idempotency/0.json"]

    on_copy(world, "_idempotency/0.json", overtake)
    with pytest.raises(Conflict):
        go_on(world, backup_id)

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
            go_on(world, backup_id, process)

    on_copy(world, "live/.keep", overtake)
    with pytest.raises(NotFound):
        go_on(world, backup_id)

    assert backups.broken(world.inner.objects) == []
    world.clock.move(lease.LIFE.total_seconds() + 1)
    assert go_on(world, backup_id).result == "made"
    assert backups.broken(world.inner.objects) == []


@pytest.mark.parametrize("gone", ["removed", "never there"])
def test_an_unfinished_backup_that_is_gone_is_not_gone_on_with(small: None, gone: str):
    world = used()
    backup_id = unfinished(world)
    if gone == "removed":
        catalog.remove(world.process, SPACE, backup_id)
    else:
        backup_id = "2020-01-01T00-00-00"
    before = dict(world.inner.objects)

    with pytest.raises(NotFound):
        go_on(world, backup_id)

    after = dict(world.inner.objects)
    assert before == after


@pytest.mark.parametrize("space", ["deleted", "a namesake"])
def test_an_unfinished_backup_of_a_space_that_is_gone_has_failed(small: None, space: str):
    world = used()
    backup_id = unfinished(world)
    if space == "deleted":
        lifecycle.delete(world.process, SPACE, SPACE)
    else:
        heads.update(world.process, SPACE, lambda _: {"uid": "01HZZZZZZZ0000000000000009"})

    assert world.work(taking.KIND.payload(SPACE, backup_id)) == {"status": "failed"}

    manifest = catalog.get(world.process, SPACE, backup_id).value
    assert (manifest.status, manifest.error.code) == ("failed", "space_not_found")
    assert LEASE.key(SPACE) not in world.inner.objects


def test_a_long_backup_of_many_invocations_is_not_taken_for_one_whose_workers_die(
    small: None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(worker, "MOST_ATTEMPTS", 1)
    world = used()
    slow(world)
    backup_id = take(world, time=timedelta(seconds=35)).manifest.job_id
    for _ in range(2):
        assert world.work(until=world.clock() + timedelta(seconds=35))["status"] == "unfinished"
    manifest = catalog.get(world.process, SPACE, backup_id).value
    assert 0 < manifest.progress.done < (manifest.progress.total or 0)


def test_one_that_is_complete_already_is_told_so(small: None):
    world = used()
    backup_id = unfinished(world)
    made = go_on(world, backup_id)
    world.client.reset()

    assert go_on(world, backup_id) == made
    assert "COPY" not in world.client.counts
