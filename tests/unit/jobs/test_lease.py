"""The lease: one holder at a time, whoever loses the race is busy, and a lost answer is told from a lost race."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from livemem.errors import Busy
from livemem.jobs import lease, places
from livemem.jobs.job import ENDED
from livemem.jobs.lease import Hold, LeaseTaken
from livemem.store import bucket
from livemem.store.bucket import LEASE
from tests.support.cases import each
from tests.support.world import World

RUN, OTHER = "01HZZZZZZZ0000000000000001", "01HZZZZZZZ0000000000000002"
MINUTE = timedelta(minutes=1)


def acquire(
    world: World, run_id: str = RUN, kind: str = "consolidation", *, worker: str = "w", by_hand: bool = False
) -> Hold:
    return lease.acquire(
        world.process, places.of_space("demo"), run_id, kind, worker=worker, life=MINUTE, by_hand=by_hand
    )


def shown(world: World) -> tuple[lease.Lease, str] | None:
    seen = lease.look(world.process, places.of_space("demo"))
    return (seen.lease, seen.stored.etag) if seen else None


def test_taking_the_lease_costs_one_get_and_one_put():
    world = World()

    held = acquire(world)

    assert world.client.counts == {"GET": 1, "PUT": 1}
    assert (held.lease.owner, held.lease.expires_at) == (RUN, "2026-02-20T14:01:00.000Z")
    assert shown(world) == (held.lease, held.stored.etag)


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_lease_keeps_every_other_run_out_until_it_runs_out(by_hand: bool):
    world = World()
    acquire(world)
    world.clock.move(59)
    with pytest.raises(Busy):
        acquire(world, OTHER, by_hand=by_hand)

    world.clock.move(1)
    held = acquire(world, OTHER, by_hand=by_hand)

    assert (held.lease.owner, held.lease.rev, held.lease.abandoned) == (OTHER, 2, [RUN])


def test_its_holder_enters_again_and_leaves_nobody_behind():
    world = World()
    first = acquire(world)
    world.clock.move(30)

    again = acquire(world)

    assert (again.lease.rev, again.lease.abandoned) == (2, [])
    assert again.lease.expires_at > first.lease.expires_at


def test_those_left_behind_are_remembered_over_several_takeovers():
    world = World()
    for number in (1, 2, 3):
        acquire(world, f"01HZZZZZZZ000000000000000{number}")
        world.clock.move(60)

    found = shown(world)

    assert found is not None
    assert found[0].abandoned == [RUN, OTHER]


@pytest.mark.parametrize("taken_before", [False, True])
def test_of_two_runs_at_the_same_moment_one_gets_it_and_the_other_is_busy(taken_before: bool):
    world = World()
    if taken_before:
        acquire(world, "01HZZZZZZZ0000000000000009")
        world.clock.move(60)
    won: list[Hold] = []

    def other_run(index: int, verb: str) -> None:
        if verb == "PUT":
            world.client.before = lambda index, verb: None
            won.append(acquire(world, OTHER))

    world.client.before = other_run
    with pytest.raises(Busy):
        acquire(world)

    assert shown(world) == (won[0].lease, won[0].stored.etag)


def test_a_lease_whose_answer_got_lost_is_ours():
    world = World()
    world.client.break_at(1, "PreconditionFailed", 412, done=True)

    held = acquire(world)

    assert shown(world) == (held.lease, held.stored.etag)
    assert lease.still_ours(world.process, held)


def test_a_lease_is_ours_until_it_runs_out_or_is_taken_over_or_is_gone():
    world = World()
    held = acquire(world)

    world.clock.move(59)
    assert lease.still_ours(world.process, held)
    world.clock.move(1)
    assert not lease.still_ours(world.process, held)
    newer = acquire(world, OTHER)
    assert not lease.still_ours(world.process, held)
    assert lease.still_ours(world.process, newer)
    lease.release(world.process, newer)
    assert not lease.still_ours(world.process, newer)


def test_a_late_release_does_not_free_the_lease_of_the_next_holder():
    world = World()
    late = acquire(world)
    world.clock.move(60)
    acquire(world, OTHER)

    lease.release(world.process, late)
    lease.back_off(world.process, late, "llm_timeout")

    found = shown(world)
    assert found is not None
    assert (found[0].owner, found[0].kind) == (OTHER, "consolidation")


def test_a_released_lease_is_free():
    world = World()
    lease.release(world.process, acquire(world))

    assert lease.look(world.process, places.of_space("demo")) is None
    assert LEASE.key("demo") not in world.inner.objects
    acquire(world, OTHER)


@pytest.mark.parametrize(("by_hand", "enters"), [(False, False), (True, True)])
def test_a_wait_after_a_failure_binds_events_and_not_people(by_hand: bool, enters: bool):
    world = World()
    lease.back_off(world.process, acquire(world), "llm_timeout")

    if enters:
        held = acquire(world, OTHER, by_hand=by_hand)
        assert (held.lease.failures, held.lease.error, held.lease.abandoned) == (1, "llm_timeout", [])
    else:
        with pytest.raises(Busy, match="waits after a failure"):
            acquire(world, OTHER, by_hand=by_hand)


def test_another_delivery_of_the_run_waits_while_the_holder_lives_and_goes_on_after_it():
    world = World()
    acquire(world, worker="first")
    world.clock.move(59)
    with pytest.raises(LeaseTaken):
        acquire(world, worker="second", by_hand=True)

    world.clock.move(1)
    held = acquire(world, worker="second")

    assert (held.lease.worker, held.lease.abandoned) == ("second", [])


@pytest.mark.parametrize("ahead", [-300, 300])
def test_a_clock_that_differs_by_minutes_takes_no_lease_early_and_waits_for_none_longer(ahead: int):
    world = World()
    acquire(world)
    other = world.with_parts(clock=lambda: world.clock() + timedelta(seconds=ahead))
    world.clock.move(59)
    with pytest.raises(Busy):
        lease.acquire(other, places.of_space("demo"), OTHER, "consolidation")

    world.clock.move(1)
    assert lease.acquire(other, places.of_space("demo"), OTHER, "consolidation").lease.owner == OTHER


def test_a_worker_renews_its_lease_once_a_minute_for_as_long_as_it_works():
    world = World()
    ticks: list[Callable[[], None]] = []

    @contextmanager
    def every(action: Callable[[], None], seconds: float) -> Iterator[None]:
        ticks.append(action)
        yield

    process = world.with_parts(every=every)
    held = lease.acquire(process, places.of_space("demo"), RUN, "consolidation", worker="w")
    world.client.reset()
    with lease.renewal(process, held):
        for _ in range(15):
            world.clock.move(20)
            ticks[0]()
            with pytest.raises(Busy):
                acquire(world, OTHER)
    assert world.client.counts["PUT"] == 5
    lease.release(process, held)
    assert LEASE.key("demo") not in world.inner.objects


def put_run(world: World, status: str) -> None:
    run = {"job_id": RUN, "created_at": "2026-02-20T14:00:00Z", "status": status}
    world.inner.put_object(Bucket="b", Key=bucket.RUN.key("demo", RUN), Body=json.dumps(run).encode())


@each("status", ENDED)
def test_the_lease_of_a_run_that_has_ended_is_free_at_once(status: str):
    world = World()
    acquire(world)
    put_run(world, status)

    assert acquire(world, OTHER).lease.abandoned == [RUN]


def test_a_queued_run_keeps_its_place_against_events_and_gets_it_back_from_who_goes_ahead():
    world = World()
    lease.acquire(world.process, places.of_space("demo"), RUN, "queued", life=timedelta(hours=1))
    world.clock.move(30 * 60)
    with pytest.raises(Busy):
        lease.acquire(world.process, places.of_space("demo"), OTHER, "queued", life=MINUTE)

    held = acquire(world, OTHER, "manual")
    lease.release(world.process, held)

    again = shown(world)
    assert again is not None
    assert (again[0].owner, again[0].kind, again[0].seconds) == (RUN, "queued", 1_800)
    assert acquire(world, RUN, worker="w").lease.owner == RUN


def test_the_place_of_a_queued_run_that_has_ended_meanwhile_is_given_up():
    world = World()
    lease.acquire(world.process, places.of_space("demo"), RUN, "queued", life=timedelta(hours=1))
    held = acquire(world, OTHER, "manual")
    put_run(world, "cancelled")

    lease.release(world.process, held)

    assert lease.look(world.process, places.of_space("demo")) is None


def test_the_lease_of_a_dead_worker_is_forgotten_and_never_that_of_who_took_it_over_meanwhile():
    world = World()
    place = places.of_space("demo")
    acquire(world)
    world.clock.move(60)
    newer: list[Hold] = []

    def take_over(index: int, verb: str) -> None:
        if verb == "DELETE":
            world.client.before = lambda index, verb: None
            newer.append(acquire(world, OTHER))

    world.client.before = take_over
    lease.forget(world.process, place, RUN)

    assert shown(world) == (newer[0].lease, newer[0].stored.etag)
    world.clock.move(60)
    lease.forget(world.process, place, RUN)
    assert shown(world) is not None
    lease.forget(world.process, place, OTHER)
    assert shown(world) is None
