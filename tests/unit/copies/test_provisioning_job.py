"""The head of a space as the job that brings it: what is one, and what each swap of it keeps."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from livemem.copies import new_space, provisioning, restore
from livemem.copies.new_space import ProvisioningJob
from livemem.jobs import job as jobs
from livemem.jobs.job import Failure
from livemem.spaces import head as heads
from livemem.spaces.head import LAYOUT, Meta
from livemem.spaces.head_fields import ProvisioningState
from livemem.store.bucket import HEAD
from tests.support.world import EVERYONE, INVOCATION, World

NOW = "2026-02-20T14:00:00Z"
ERRORS = st.none() | st.just({"code": "backup_damaged", "detail": "x"}) | st.just({"detail": "of a stranger\n"})


def claimed() -> tuple[World, heads.Head]:
    """A world in which somebody has ordered a restore."""
    world = World()
    world.create_space()
    world.note("x")
    return world, restore.order(world.process, EVERYONE, "demo", world.back_up().job_id, "copy")


@given(
    brought=st.booleans(),
    deleted_at=st.none() | st.just(NOW),
    finished_at=st.none() | st.just(NOW),
    error=ERRORS,
    held_seconds=st.floats(0, 900),
)
def test_a_head_is_work_for_somebody_only_as_long_as_nobody_sees_the_space_and_nothing_has_ended(
    brought: bool, deleted_at: str | None, finished_at: str | None, error: Any, held_seconds: float
):
    provisioning = ProvisioningState(
        provisioning_id="01HZZZZZZZ0000000000000009",
        kind="fork",
        requested_by="ann",
        started_at=NOW,
        finished_at=finished_at,
        error=error,
        held_seconds=held_seconds,
    )
    meta = Meta(
        space_id="copy",
        description="",
        owner=None,
        created_at=NOW,
        uid="u",
        consolidation_threshold=0,
        deleted_at=deleted_at,
        provisioning=provisioning if brought else None,
    )

    job = ProvisioningJob.from_bytes(meta.to_bytes())

    assert (job.to_bytes(), job.space_id, job.uid) == (meta.to_bytes(), "copy", "u")
    assert job.ended() == (not meta.is_being_provisioned())
    # Who looks for a job by its id finds none in a head that is no job, or of a space that was deleted since.
    assert bool(job.job_id) == (brought and (not deleted_at or not finished_at or bool(error)))


def test_each_swap_counts_keeps_the_life_of_the_space_and_what_it_does_not_know():
    world, head = claimed()
    strange = json.loads(world.text("copy/_meta.json")) | {"of_a_later_version": 1}
    world.inner.put_object(Bucket="b", Key="copy/_meta.json", Body=json.dumps(strange).encode())
    found = heads.find_any(world.process, "copy")
    assert found

    taken = jobs.change(world.process, new_space.of_head(found), status="running", held_seconds=7.5)
    failed = jobs.change(world.process, taken, status="failed", ended_at=NOW, error=Failure(code="x", detail="y"))

    stands = heads.find_any(world.process, "copy")
    assert stands
    assert stands == replace(new_space.head_of(failed), age=stands.age, seen_at=stands.seen_at)
    assert (stands.meta.uid, stands.meta.rev) == (head.meta.uid, head.meta.rev + 2)
    assert stands.meta.model_extra == {"of_a_later_version": 1}
    assert len({one.write_id for one in (found.meta, taken.value.meta, stands.meta)}) == 3
    assert (taken.value.held_seconds, failed.value.status, failed.value.job_id) == (7.5, "failed", taken.value.job_id)


def test_a_process_that_makes_a_space_visible_forgets_the_head_that_it_knew():
    world, head = claimed()
    process = world.process
    # Of the space that had the id before, as this process may have read it.
    known = heads.load_recent(process, "demo")
    former = known.meta.model_copy(update={"space_id": "copy"})
    key = HEAD.key("copy")
    body = world.inner.objects[key]
    world.inner.put_object(Bucket="b", Key=key, Body=former.to_bytes())
    heads.load_recent(process, "copy")
    world.inner.objects[key] = body

    activated = provisioning.carry_on(process, head, world.clock() + INVOCATION)

    assert heads.load_recent(process, "copy").meta == activated


def test_a_worker_leaves_a_head_alone_that_a_newer_version_of_the_service_wrote():
    world, head = claimed()
    newer = json.loads(world.text("copy/_meta.json")) | {"layout": LAYOUT + 1}
    world.inner.put_object(Bucket="b", Key="copy/_meta.json", Body=json.dumps(newer).encode())
    before = dict(world.inner.objects)
    job = new_space.of_head(head).value

    assert world.work(provisioning.KINDS[job.kind].payload(job.space_id, job.job_id)) == {"status": "gone"}
    assert world.inner.objects == before
