"""What runs leave when nobody comes back to them is ended and cleared away by the sweep."""

import pytest

from livemem.errors import PreconditionLost
from livemem.jobs import job as jobs
from livemem.jobs import run as runs
from livemem.spaces import head as heads
from livemem.store.bucket import LEASE, PLAN, RUN
from tests.support.counting import Killed
from tests.support.world import World

HOUR = 3_600


def space() -> World:
    world = World()
    world.create_space()
    world.note("a note")
    return world


def seen(world: World) -> str | None:
    return heads.load(world.process, "demo").meta.runs_seen


def test_a_run_by_hand_whose_invocation_never_comes_is_ended_after_an_hour_and_not_before():
    world = space()
    run = world.order()
    world.queued.clear()
    world.clock.move(HOUR)
    world.sweep()
    assert world.inner.objects[RUN.key("demo", run.job_id)].body.count(b'"queued"') == 1
    world.clock.move(1)

    world.sweep()

    saved = runs.find(world.process, "demo", run.job_id)
    assert saved is not None
    assert (saved.value.state, saved.value.error.code) == ("failed", "not_started")
    assert world.live_ids() != []


def test_a_late_first_write_of_a_run_does_not_set_it_back_to_queued():
    world = space()
    run = world.order()
    first = world.inner.objects[RUN.key("demo", run.job_id)].body
    world.work()

    with pytest.raises(PreconditionLost):
        jobs.create(world.process, RUN.key("demo", runs.Run.from_bytes(first).job_id), runs.Run.from_bytes(first))

    assert world.view(run.job_id).state == "done"


def test_a_plan_that_comes_once_more_after_its_run_has_ended_is_removed():
    world = space()
    run = world.order()
    plan = PLAN.key("demo", run.job_id)
    kept: list[bytes] = []

    def keep(index: int, verb: str) -> None:
        if plan in world.inner.objects:
            kept.append(world.inner.objects[plan].body)

    world.client.after = keep
    world.work()
    world.new_process()
    world.inner.put_object(Bucket="b", Key=plan, Body=kept[0])
    world.clock.move(60)

    world.sweep()

    assert plan not in world.inner.objects
    assert LEASE.key("demo") not in world.inner.objects


def test_the_head_is_told_once_that_all_runs_up_to_one_have_ended():
    world = space()
    run = world.consolidate()
    world.sweep()
    assert seen(world) is None
    world.clock.move(2 * HOUR)
    world.sweep()
    assert seen(world) == run.job_id
    world.client.reset()

    world.sweep()

    # Nothing is due any more.
    assert world.client.counts == {"LIST": 1}
    world.client.reset()

    world.sweep_all()

    # Markers, spaces, the runs behind the mark, notes that may be late duplicates, Idempotency-Keys, backups,
    # conversations and those that are due, snapshots for a search, old days of runs, archives, codes of the page,
    # counts of requests and uploads; the head and the lease. And its documents of the last two days: a run and its
    # record.
    assert world.client.counts == {"LIST": 12, "GET": 2 + 2}


def test_a_run_that_goes_on_holds_the_mark_back():
    world = space()
    first = world.consolidate()
    world.note("another")
    world.order()
    payload = world.queued.pop()
    world.llm.queue.append(lambda prompt: (_ for _ in ()).throw(Killed()))
    world.clock.move(2 * HOUR)
    with pytest.raises(Killed):
        world.work(payload)
    world.new_process()

    world.sweep()

    assert seen(world) == first.job_id


def test_runs_that_are_known_to_have_ended_are_not_read_again():
    world = space()
    for _ in range(3):
        world.consolidate()
        world.note("more")
    world.sweep()
    world.client.reset()

    world.sweep()

    assert not [key for verb, key in world.client.requests if verb == "GET" and "/_runs/" in key]
