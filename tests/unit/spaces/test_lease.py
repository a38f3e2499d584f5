"""The lease: one holder at a time, whoever loses the race is busy, and a lost answer is told from a lost race."""

from datetime import timedelta

import pytest

from livemem.errors import Busy
from livemem.spaces import lease
from livemem.spaces.lease import Held
from livemem.store import keys
from tests.support.world import World

RUN, OTHER = "01HZZZZZZZ0000000000000001", "01HZZZZZZZ0000000000000002"
MINUTE = timedelta(minutes=1)


def acquire(world: World, run_id: str = RUN, kind: str = "consolidation", *, by_hand: bool = False) -> Held:
    now = world.clock()
    return lease.acquire(world.process, "demo", run_id, kind, until=now + MINUTE, by_hand=by_hand)


def test_taking_the_lease_costs_one_get_and_one_put():
    world = World()

    held = acquire(world)

    assert world.client.counts == {"GET": 1, "PUT": 1}
    assert (held.lease.owner, held.lease.expires_at) == (RUN, "2026-02-20T14:01:00.000Z")
    assert lease.look(world.process, "demo") == (held.lease, held.etag)


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_lease_keeps_every_other_run_out_until_it_runs_out(by_hand: bool):
    world = World()
    acquire(world)
    world.clock.move(59.9)
    with pytest.raises(Busy):
        acquire(world, OTHER, by_hand=by_hand)

    world.clock.move(0.1)
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

    found = lease.look(world.process, "demo")

    assert found is not None
    assert found[0].abandoned == [RUN, OTHER]


@pytest.mark.parametrize("taken_before", [False, True])
def test_of_two_runs_at_the_same_moment_one_gets_it_and_the_other_is_busy(taken_before: bool):
    world = World()
    if taken_before:
        acquire(world, "01HZZZZZZZ0000000000000009")
        world.clock.move(60)
    won: list[Held] = []

    def other_run(index: int, verb: str) -> None:
        if verb == "PUT":
            world.client.before = lambda index, verb: None
            won.append(acquire(world, OTHER))

    world.client.before = other_run
    with pytest.raises(Busy):
        acquire(world)

    assert lease.look(world.process, "demo") == (won[0].lease, won[0].etag)


def test_a_lease_whose_answer_got_lost_is_ours():
    world = World()
    world.client.break_at(1, "PreconditionFailed", 412, done=True)

    held = acquire(world)

    assert lease.look(world.process, "demo") == (held.lease, held.etag)
    assert lease.still_ours(world.process, held)


def test_a_lease_is_ours_until_it_runs_out_or_is_taken_over_or_is_gone():
    world = World()
    held = acquire(world)

    world.clock.move(59.999)
    assert lease.still_ours(world.process, held)
    world.clock.move(0.001)
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

    found = lease.look(world.process, "demo")
    assert found is not None
    assert (found[0].owner, found[0].kind) == (OTHER, "consolidation")


def test_a_released_lease_is_free():
    world = World()
    lease.release(world.process, acquire(world))

    assert lease.look(world.process, "demo") is None
    assert keys.lease("demo") not in world.inner.objects
    acquire(world, OTHER)


@pytest.mark.parametrize(("by_hand", "enters"), [(False, False), (True, True)])
def test_a_wait_after_a_failure_binds_events_and_not_people(by_hand: bool, enters: bool):
    world = World()
    lease.back_off(world.process, acquire(world), "llm_timeout")

    if enters:
        held = acquire(world, OTHER, by_hand=by_hand)
        assert (held.lease.failures, held.lease.error, held.lease.abandoned) == (1, "llm_timeout", [])
    else:
        with pytest.raises(Busy, match="backoff"):
            acquire(world, OTHER, by_hand=by_hand)
