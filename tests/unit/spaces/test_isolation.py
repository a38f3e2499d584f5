"""What lies in a space's folder can neither lead writes out of it nor spoil other spaces."""

import json
from typing import Any

import pytest

from livemem.access.principal import Principal
from livemem.bank import corrections, summary
from livemem.errors import Conflict, Forbidden, SpaceBroken
from livemem.jobs import queue
from livemem.jobs.queue import RunOrder
from livemem.notes.appending import NoteDraft, append
from livemem.spaces import directory, lifecycle
from livemem.spaces import head as heads
from livemem.spaces.lifecycle import SpaceRequest
from livemem.upkeep import health
from tests.support.cases import each
from tests.support.world import EVERYONE, World

COPY = "copy"


def copied() -> World:
    """A space in use, and its folder copied under another name by somebody with a file manager."""
    world = World()
    world.create_space(threshold=2)
    world.note("one")
    world.consolidate()
    world.note("two")
    world.order()
    world.inner.objects |= {
        key.replace("demo/", f"{COPY}/", 1): stored
        for key, stored in world.inner.objects.items()
        if key.startswith("demo/")
    }
    world.new_process()
    return world


ACTS: dict[str, Any] = {
    "append": lambda world: append(world.process, COPY, "eve", NoteDraft("todo", "x")),
    "consolidate": lambda world: queue.order(world.process, EVERYONE, COPY, RunOrder("api")),
    "correct": lambda world: corrections.write_file(world.process, "eve", COPY, "log.md", "# Mine\n", None),
    "delete a file": lambda world: corrections.delete_file(world.process, "eve", COPY, "log.md", None),
    "undo": lambda world: corrections.undo(world.process, "eve", COPY, 1),
    "patch": lambda world: heads.patch(world.process, COPY, description="mine"),
    "delete": lambda world: lifecycle.delete(world.process, COPY, COPY),
    "create": lambda world: lifecycle.create(world.process, EVERYONE, SpaceRequest(COPY)),
    "info": lambda world: summary.info(world.process, COPY),
    "summary": lambda world: summary.summary(world.process, COPY),
}


@each("act", ACTS.values(), ids=ACTS)
def test_a_copied_folder_is_a_broken_space_and_says_so_and_the_original_is_left_alone(act: Any):
    world = copied()
    before = dict(world.inner.objects)

    with pytest.raises(SpaceBroken) as refused:
        act(world)

    assert "another space" in refused.value.detail
    assert world.inner.objects == before


def test_a_run_in_a_copied_folder_whose_head_was_mended_does_not_write_to_the_original():
    world = copied()
    meta = json.loads(world.text(f"{COPY}/_meta.json")) | {"space_id": COPY}
    world.inner.put_object(Bucket="b", Key=f"{COPY}/_meta.json", Body=json.dumps(meta).encode())
    original = {key: stored for key, stored in world.inner.objects.items() if key.startswith("demo/")}

    assert world.work({**world.queued[0], "space_id": COPY}) is None
    world.sweep_all()

    left = {key: stored for key, stored in world.inner.objects.items() if key.startswith("demo/")}
    assert left == original


def test_a_space_that_can_not_be_read_costs_no_other_one():
    world = World()
    for space_id in ("alpha", "beta", "gamma"):
        world.create_space(space_id, threshold=1)
        world.note("x", space_id=space_id)
    world.inner.put_object(Bucket="b", Key="beta/_meta.json", Body=b"{")

    found, _ = directory.page(world.process, EVERYONE, limit=50, after=None)
    report = world.sweep_all()
    problems = health.deep(world.process, EVERYONE).problems

    assert [meta.space_id for meta in found] == ["alpha", "gamma"]
    assert (report.failed, report.did("started")) == (["beta"], ["alpha", "gamma"])
    assert [(problem.space_id, problem.code) for problem in problems] == [("beta", "space_broken")]


@each(
    ("name", "field"),
    [
        ("_lease.json", "expires_at"),
        ("_meta.json", "created_at"),
        ("_meta.json", "last_consolidation"),
        ("_meta.json", "deleted_at"),
    ],
)
@each("moment", ["yesterday", "", "2026-13-01T00:00:00Z", "9999-12-31T23:59:59-14:00", "0"])
def test_a_bad_date_in_one_space_stops_neither_sweep_nor_health(name: str, field: str, moment: str):
    world = World()
    for space_id in ("bad", "good"):
        world.create_space(space_id, threshold=1)
        world.note("x", space_id=space_id)
    lease = {"owner": "x", "kind": "consolidation", "expires_at": "2026-02-20T14:00:00Z", "rev": 1}
    body = lease if name == "_lease.json" else json.loads(world.text("bad/_meta.json"))
    world.inner.put_object(Bucket="b", Key=f"bad/{name}", Body=json.dumps(body | {field: moment}).encode())

    report = world.sweep_all()
    seen = health.deep(world.process, EVERYONE)

    assert "good" in report.did("started")
    assert {problem.space_id for problem in seen.problems} <= {"bad"}


def test_a_run_with_a_bad_date_is_not_found_instead_of_an_error_of_the_service():
    world = World()
    world.create_space()
    world.note("x")
    run = world.order()
    body = json.loads(world.text(f"demo/_runs/{run.job_id}.json")) | {"created_at": "soon"}
    world.inner.put_object(Bucket="b", Key=f"demo/_runs/{run.job_id}.json", Body=json.dumps(body).encode())

    assert world.work() is None


def test_a_token_that_may_not_see_a_space_learns_nothing_by_creating_it():
    world = World()
    world.create_space("secret")
    world.create_space("gone")
    lifecycle.delete(world.process, "gone", "gone")
    world.inner.put_object(Bucket="b", Key="broken/_meta.json", Body=b"{")
    eve = Principal("eve", frozenset(("read", "write")), frozenset(("demo",)), token_hash="sha256:0")

    for space_id in ("secret", "gone", "broken"):
        with pytest.raises(Forbidden) as refused:
            lifecycle.create(world.process, eve, SpaceRequest(space_id))
        assert refused.value.detail == "The token 'eve' may not use this space."
    with pytest.raises(Conflict):
        lifecycle.create(world.process, EVERYONE, SpaceRequest("gone"))
