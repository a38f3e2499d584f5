"""The documents of runs are kept for RUN_RETENTION_DAYS: then they go, with their entries in the index by day."""

from datetime import timedelta

import pytest
from pydantic import ValidationError

from livemem.changes import run_progress
from livemem.errors import NotFound
from livemem.jobs import queue as queues
from livemem.jobs import run as runs
from livemem.jobs import run_retention
from livemem.jobs.queue import RunOrder
from livemem.settings import Settings
from livemem.spaces import head as heads
from livemem.spaces import lifecycle, usage_counts
from livemem.store import keys
from livemem.store.bucket import DISPLACED, PLAN, RUN, TOTALS
from livemem.upkeep import usage_report as reports
from tests.support.counting import Killed
from tests.support.rest import QUIET
from tests.support.world import EVERYONE, World

DAY = 86_400


def with_old_runs(count: int = 2, *, days: float = 91) -> tuple[World, list[str]]:
    """A space whose first runs ended so many days ago, which the daily sweep has seen since; their ids."""
    world = World()
    world.create_space()
    ids = []
    for number in range(count):
        world.note(f"note {number}")
        ids.append(world.consolidate().job_id)
        world.clock.move(60)
    world.clock.move(QUIET)
    world.sweep_all()
    world.clock.move(days * DAY)
    world.new_process()
    return world, ids


def documents(world: World) -> list[str]:
    """The ids of the runs whose documents are there."""
    return [run_id for key in world.keys("demo/_runs/") if (run_id := RUN.last(key))]


def counted_days(world: World) -> list[str]:
    """The days of which there are totals."""
    return sorted({str(parsed[0]) for key in world.keys(TOTALS.prefix()) if (parsed := TOTALS.parse(key))})


def test_the_daily_look_removes_runs_and_totals_that_are_older_than_they_are_kept():
    world, ids = with_old_runs()
    world.note("new")
    new = world.consolidate().job_id

    report = world.sweep_all()

    assert report.most("removed_runs") == 2
    assert (documents(world), counted_days(world)) == ([new], [str(world.clock().date())])
    assert len(world.keys("demo/_consolidations/")) == 3
    with pytest.raises(NotFound):
        world.view(ids[0])


@pytest.mark.parametrize(("days", "kept"), [(88, True), (91, False)])
def test_a_run_is_kept_for_so_many_days(days: float, kept: bool):
    world, ids = with_old_runs(days=days)

    world.sweep_all()

    assert documents(world) == (ids if kept else [])
    assert counted_days(world) == (["2026-02-20"] if kept else [])


def test_runs_are_kept_as_long_as_usage_can_be_asked_for():
    # The setting allows no less; and if it did the runs of a month would stay all the same.
    with pytest.raises(ValidationError):
        Settings(run_retention_days=usage_counts.KEPT_DAYS - 1)
    world, ids = with_old_runs(days=usage_counts.KEPT_DAYS - 1)
    short = world.with_parts(settings=world.settings.model_copy(update={"run_retention_days": 1}))

    assert run_retention.remove(short, heads.load(short, "demo")) == 0
    assert run_retention.remove_days(short) == 0
    assert documents(world) == ids
    assert reports.read(world.process, EVERYONE, "demo", days=31, until=None).total.runs == 2


def test_a_look_at_a_marked_space_removes_no_run():
    world, ids = with_old_runs()
    world.count()

    world.sweep()

    assert documents(world) == ids


def test_runs_that_no_sweep_has_seen_to_be_over_stay():
    world, ids = with_old_runs()
    heads.update(world.process, "demo", lambda _: {"runs_seen": ids[0]})

    assert run_retention.remove(world.process, heads.load(world.process, "demo")) == 1

    assert documents(world) == ids[1:]
    heads.update(world.process, "demo", lambda _: {"runs_seen": None})
    assert run_retention.remove(world.process, heads.load(world.process, "demo")) == 0


def test_an_old_run_that_never_ended_is_ended_first_and_removed_by_a_later_look():
    world, _ = with_old_runs(days=0)
    run_id = world.order().job_id
    world.queued.clear()
    world.clock.move(91 * DAY)

    world.sweep_all()
    assert documents(world) == [run_id]
    assert world.view(run_id).state == "failed"

    world.clock.move(QUIET)
    world.sweep_all()
    world.sweep_all()
    assert documents(world) == []


def test_what_a_run_displaced_a_plan_and_what_is_no_run_stay():
    world, ids = with_old_runs()
    others = [
        DISPLACED.key("demo", ids[0], "log.md"),
        PLAN.key("demo", ids[1]),
        "demo/_runs/notes.txt",
        f"{TOTALS.prefix()}20200101/readme.txt",
    ]
    for key in others:
        world.store.put(key, b"{}")

    run_retention.remove(world.process, heads.load(world.process, "demo"))
    run_retention.remove_days(world.process)

    assert documents(world) == []
    assert set(others) <= set(world.keys())


def test_a_removed_run_does_not_come_back_by_a_write_that_comes_late():
    world, ids = with_old_runs()
    saved = runs.find(world.process, "demo", ids[0])
    assert saved

    world.sweep_all()

    assert runs.finish(world.process, saved, "failed") == saved.value
    assert documents(world) == []
    with pytest.raises(NotFound):
        run_progress.view(world.process, "demo", ids[0])


@pytest.mark.parametrize("done", [False, True])
def test_a_look_that_dies_while_it_removes_is_made_good_by_the_next_one(done: bool):
    world, _ = with_old_runs()
    world.client.before = lambda index, verb: _die(verb, done=done, after=False)
    world.client.after = lambda index, verb: _die(verb, done=done, after=True)
    with pytest.raises(Killed):
        world.sweep_all()
    assert bool(documents(world)) is not done
    world.new_process()

    world.sweep_all()

    assert (documents(world), counted_days(world)) == ([], [])


def _die(verb: str, *, done: bool, after: bool) -> None:
    if verb == "DeleteObjects" and done is after:
        raise Killed


def test_what_a_deleted_space_used_goes_with_its_day():
    world, _ = with_old_runs(days=0)
    lifecycle.delete(world.process, "demo", "demo")
    assert counted_days(world) == ["2026-02-20"]
    world.clock.move(89 * DAY)
    world.sweep_all()
    assert counted_days(world) == ["2026-02-20"]

    world.clock.move(2 * DAY)
    world.sweep_all()

    assert counted_days(world) == []


def test_many_old_runs_cost_a_list_and_a_delete_a_look():
    world, _ = with_old_runs(1)
    uid = heads.load(world.process, "demo").meta.uid
    old = [f"{keys.run_moment(1_000_000 + number)}{number:016d}" for number in range(1_200)]
    for run_id in old:
        run = runs.Run(job_id=run_id, space_id="demo", uid=uid, trigger="api", created_at="2026-02-20T14:00:00Z")
        world.inner.put_object(Bucket="bucket", Key=RUN.key("demo", run_id), Body=run.to_bytes())
    head = heads.load(world.process, "demo")
    removed = []
    for _ in range(4):
        world.client.reset()
        removed.append(run_retention.remove(world.process, head))
        assert world.client.counts["LIST"] == 1
        assert world.client.counts["DeleteObjects"] == (1 if removed[-1] else 0)
        assert set(world.client.counts) <= {"LIST", "DeleteObjects"}

    assert removed == [500, 500, 201, 0]
    assert documents(world) == []


def test_a_space_younger_than_runs_are_kept_costs_no_request():
    world, _ = with_old_runs(days=80)
    head = heads.load(world.process, "demo")
    world.client.reset()

    assert run_retention.remove(world.process, head) == 0

    assert not world.client.requests


def test_a_run_whose_index_entry_is_of_the_next_day_leaves_none_for_ever():
    world = World()
    world.create_space()
    world.note("before midnight")
    head = heads.load(world.process, "demo")
    run_id = world.ids()
    world.clock.move(12 * 3_600)
    queues.enqueue(world.process, head, RunOrder(trigger="api"), run_id=run_id)
    world.settle()
    world.clock.move(QUIET)
    world.sweep_all()
    world.clock.move(92 * DAY)

    world.sweep_all()

    assert (documents(world), counted_days(world)) == ([], [])


def test_usage_of_the_last_month_is_told_as_before():
    world, _ = with_old_runs(days=0)
    world.clock.move(65 * DAY)
    world.note("new")
    world.consolidate()
    world.clock.move(30 * DAY)
    before = reports.read(world.process, EVERYONE, None, days=31, until=None)
    assert before.total.runs == 1

    world.sweep_all()
    world.new_process()

    assert reports.read(world.process, EVERYONE, None, days=31, until=None) == before
    assert before.days[(world.clock() - timedelta(days=30)).date()].runs == 1
