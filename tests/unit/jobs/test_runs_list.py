"""The runs of a space: newest first, as they stand in truth, at a cost that does not grow with their number."""

from datetime import timedelta

import pytest
from ulid import ULID

from livemem.access.principal import Principal
from livemem.errors import Forbidden, InvalidName, NotFound
from livemem.jobs import run as runs
from livemem.jobs.run import Run
from livemem.spaces import head as heads
from livemem.store.bucket import RUN
from livemem.upkeep import job_lookup
from livemem.upkeep.job_lookup import After, JobFilter
from tests.support.cases import each
from tests.support.world import EVERYONE, World


def with_runs(count: int, *, apart: float = 60) -> tuple[World, list[str]]:
    """A space whose runs were queued one after the other; the ids, newest first."""
    world = World()
    world.create_space()
    uid = heads.load(world.process, "demo").meta.uid
    ids = []
    for number in range(count):
        moment = world.clock() + timedelta(seconds=number * apart)
        random = number.to_bytes(10, "big")
        ids.append(str(ULID.from_bytes(int(moment.timestamp() * 1_000).to_bytes(6, "big") + random)))
        run = Run(job_id=ids[-1], space_id="demo", uid=uid, trigger="api", created_at="2026-02-20T14:00:00Z")
        world.inner.put_object(Bucket="b", Key=RUN.key("demo", ids[-1]), Body=run.to_bytes())
    world.clock.move(count * apart)
    world.client.reset()
    return world, ids[::-1]


def page(
    world: World, limit: int, after: After | None = None, caller: Principal = EVERYONE, space_id: str = "demo"
) -> tuple[list[Run], After | None]:
    runs_alone = JobFilter("consolidation")
    items, more = job_lookup.page(world.process, caller, space_id, limit=limit, after=after, filter_by=runs_alone)
    return [job.result.run for job in items], more


def walk(world: World, limit: int) -> list[str]:
    found: list[str] = []
    after = None
    while True:
        items, after = page(world, limit, after)
        assert len(items) <= limit
        found += [run.job_id for run in items]
        if after is None:
            return found


@each("limit", [1, 3, 7, 8, 500])
@each("apart", [60, 0])
def test_pages_together_show_every_run_once_newest_first(limit: int, apart: float):
    world, ids = with_runs(7, apart=apart)

    assert walk(world, limit) == ids


def test_plans_displaced_files_and_other_objects_are_no_runs():
    world, ids = with_runs(2)
    for name in (f"{ids[0]}.plan.json", f"{ids[0]}.displaced/a.md", "x.json", f"{'Z' * 26}.json"):
        world.inner.put_object(Bucket="b", Key=f"demo/_runs/{name}", Body=b"{}")

    assert walk(world, 1) == ids


def test_a_run_is_listed_as_it_stands_in_truth():
    world = World()
    world.create_space()
    world.note("one")
    good = world.consolidate().job_id
    world.llm.queue.append("no json")
    world.llm.queue.append("no json")
    world.note("two")
    bad = world.consolidate().job_id
    never = world.order().job_id
    world.clock.move(3_700)

    found, more = page(world, 50)

    assert more is None
    assert [(run.job_id, run.state, run.error.code if run.error else None) for run in found] == [
        (never, "failed", "not_started"),
        (bad, "failed", "llm_contract"),
        (good, "done", None),
    ]
    assert [run == world.view(run.job_id) for run in found] == [True] * 3


@pytest.mark.parametrize("count", [20, 6_000])
def test_a_page_costs_the_runs_that_it_shows_and_few_lists(count: int):
    world, ids = with_runs(count)

    found, more = page(world, 10)

    assert [run.job_id for run in found] == ids[:10]
    assert more
    assert more.text().endswith(ids[9])
    assert world.client.counts["GET"] == 1 + 10
    assert world.client.counts["LIST"] <= 2


def test_runs_of_a_deleted_namesake_are_not_shown():
    world, ids = with_runs(2)
    saved = runs.find(world.process, "demo", ids[0])
    assert saved is not None
    runs.change(world.process, saved, uid="another")

    assert walk(world, 1) == ids[1:]


def test_who_may_not_see_the_space_is_refused_whether_it_exists_or_not():
    world, _ = with_runs(1)
    other = Principal("ann", frozenset(("read",)), frozenset(("other",)))

    for space_id in ("demo", "nowhere"):
        with pytest.raises(Forbidden):
            page(world, 1, None, other, space_id)
    with pytest.raises(InvalidName):
        page(world, 1, None, other, "no space")
    with pytest.raises(NotFound):
        page(world, 1, None, EVERYONE, "nowhere")
