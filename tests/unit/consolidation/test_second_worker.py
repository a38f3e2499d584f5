"""An invocation that Lambda delivers twice: the slow worker may die over a run that the quick one has ended."""

from dataclasses import replace
from datetime import timedelta

import pytest

from livemem.consolidation import pipeline
from livemem.jobs import lease
from livemem.store.bucket import LEASE, PLAN
from tests.support.actors import Actor
from tests.support.audit import audit
from tests.support.cases import each
from tests.support.part import part
from tests.support.world import World, forked

SPACE = "demo"


def _slow_worker(world: World, payload: dict[str, str]) -> Actor:
    until = world.clock() + timedelta(seconds=900)

    def work(actor: Actor) -> object:
        process = replace(actor.process, ask=world.process.ask)
        return pipeline.consolidate(process, SPACE, payload["job_id"], deadline=until)

    return Actor("slow", world, work, until)


@forked
def _with_a_run_ordered() -> World:
    world = World()
    world.create_space(SPACE, threshold=3)
    for number in range(3):
        world.note(f"note {number}")
    world.count()
    return world


def _killed_after(before: int, after: int) -> tuple[World, dict[str, str], list[str], bool]:
    """The slow worker makes `before` requests, the quick one does everything, the slow one makes `after` more."""
    world = _with_a_run_ordered()
    notes = world.live_ids(SPACE)
    payload = dict(world.queued[0])
    slow = _slow_worker(world, payload)
    slow.step(before)
    # So long that its lease has run out, as if it could not renew it.
    world.clock.move(lease.LIFE.total_seconds())
    world.work()
    slow.step(after)
    ended = slow.done
    slow.kill()
    return world, payload, notes, ended


@pytest.mark.slow
@each("before", part(range(1, 31, 3), 2))
def test_what_a_second_worker_of_an_ended_run_leaves_is_cleared_when_lambda_tries_again(before: int):
    after, ended = 0, False
    while not ended:
        world, payload, notes, ended = _killed_after(before, after)
        world.work(payload)
        # A lease of its own that it died with runs out, and is the sweep's.
        world.clock.move(1_200)
        world.sweep()
        found = audit(world.inner.objects, SPACE, notes)
        assert found.clean(), f"{before} requests, then {after}: {found}"
        after += 1


def _with_a_plan_left() -> tuple[World, dict[str, str]]:
    for before in range(1, 31):
        world, payload, _, _ = _killed_after(before, 1)
        if PLAN.key(SPACE, payload["job_id"]) in world.inner.objects and LEASE.key(SPACE) not in world.inner.objects:
            return world, payload
    raise AssertionError("It leaves no plan at any moment.")


def test_a_put_event_that_found_the_space_busy_with_clearing_up_is_not_forgotten():
    world, payload = _with_a_plan_left()
    for number in range(3):
        world.note(f"later {number}")
    assert not world.queued
    world.work(payload)
    assert PLAN.key(SPACE, payload["job_id"]) not in world.inner.objects
    assert len(world.queued) == 1


def test_a_delivery_of_a_run_that_ended_takes_4_get():
    world, payload, _, _ = _killed_after(0, 0)
    world.client.reset()
    assert world.work(payload) is None
    assert world.client.counts == {"GET": 4}
