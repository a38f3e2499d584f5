"""Runs that are started by hand follow each other after a pause, whoever starts them and however many do so at once."""

from typing import Any

import pytest

from livemem.errors import LiveMemoryError, TooSoon
from livemem.jobs import queue
from livemem.jobs.queue import RunOrder
from livemem.jobs.run import Run
from livemem.store.bucket import STARTED_BY_HAND
from tests.support.world import EVERYONE, World


def start(world: World, space_id: str = "demo", **order: Any) -> Run:
    return queue.order(world.process, EVERYONE, space_id, RunOrder("api", **order))


@pytest.fixture
def world() -> World:
    made = World(consolidation_cooldown_seconds=10)
    made.create_space()
    return made


@pytest.mark.parametrize("order", [{}, {"dry_run": True}])
def test_a_second_run_is_refused_until_the_pause_is_over_and_told_when(world: World, order: dict[str, Any]):
    start(world)
    world.clock.move(3)

    with pytest.raises(TooSoon) as refused:
        start(world, **order)

    assert (refused.value.status, refused.value.retry_after) == (429, 7)
    assert len(world.queued) == 1
    world.clock.move(7)
    start(world, **order)
    assert len(world.queued) == 2


def test_each_space_has_its_own_pause_and_a_run_that_starts_by_itself_has_none(world: World):
    world.create_space("other", threshold=1)
    world.note("x", space_id="other")
    start(world)
    start(world, "other")

    assert world.count("other").result == "started"


def test_without_a_pause_nothing_is_asked_or_written_for_it():
    world = World(consolidation_cooldown_seconds=0)
    world.create_space()
    for _ in range(3):
        start(world)

    assert len(world.queued) == 3
    assert STARTED_BY_HAND.key("demo") not in world.keys("demo/")


def test_a_run_that_is_refused_for_what_it_asks_takes_nobody_the_turn(world: World):
    with pytest.raises(LiveMemoryError):
        start(world, agent="a_b")

    start(world)


def test_of_many_who_start_a_run_at_once_one_does(world: World):
    others: list[str] = []

    def somebody_else(index: int, verb: str) -> None:
        if verb == "PUT":
            world.client.before = lambda index, verb: None
            others.append(queue.order(world.with_parts(), EVERYONE, "demo", RunOrder("api")).job_id)

    world.client.before = somebody_else
    with pytest.raises(TooSoon):
        start(world)

    assert [queued["job_id"] for queued in world.queued] == others


def test_a_start_whose_answer_the_store_lost_is_one_start(world: World):
    world.client.reset()
    # GET of the head, GET of the last start, PUT of this one.
    world.client.break_at(2, "PreconditionFailed", 412, done=True)

    run = start(world)

    assert [queued["job_id"] for queued in world.queued] == [run.job_id]


def test_a_start_costs_2_get_and_2_put(world: World):
    start(world)
    world.clock.move(10)
    world.client.reset()

    start(world)

    # The head and the last start; this one, the run.
    assert dict(world.client.counts) == {"GET": 2, "PUT": 2}
