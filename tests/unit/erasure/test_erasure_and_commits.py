"""Who has planned a commit before an erasure began, and who has begun another erasure."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from livemem.changes import undo as undoing
from livemem.erasure import erasure, receipts
from livemem.errors import Busy, LiveMemoryError, StillAtWork
from livemem.jobs import job as jobs
from livemem.spaces import head as heads
from livemem.spaces.head_fields import Erasing
from livemem.store.bucket import ERASURE, HEAD, IN_SPACE, LEASE
from tests.simulation.kinds.erasures import ERASURES, FOLDED, LONG, SECRET, ErasureScene, erase
from tests.simulation.scene import prepared
from tests.support.actors import Actor
from tests.support.audit import records_of
from tests.support.erased import SPACE, WATCHED, come_to_end, left_of
from tests.support.world import EVERYONE, INVOCATION, World


def begun() -> tuple[ErasureScene, World]:
    scene: Any = prepared(ERASURES, FOLDED).fork()
    return scene, scene.world


def about_to_plan(world: World) -> Actor:
    """An undo that has lost its lease, and will write its plan next, of which nobody knows yet."""
    work = lambda actor: undoing.undo(actor.process, "admin", SPACE, 1)  # noqa: E731
    actor = Actor("undo", world, work, world.clock() + INVOCATION)
    while not actor.client.requests or not actor.client.requests[-1][1].endswith(".plan.json"):
        actor.step()
    world.pass_time(LONG, beating=False)
    world.new_process()
    return actor


def at(world: World, request: tuple[str, str], do: Callable[[], Any]) -> None:
    """Let it happen just before the first such request of the world's process."""

    def before(index: int, verb: str) -> None:
        if world.client.requests[index] == request:
            world.client.before = lambda index, verb: None
            do()

    world.client.before = before


def test_a_commit_just_before_the_erasure_begins_is_erased_too():
    scene, world = begun()
    other = about_to_plan(world)
    swaps = ("PUT", HEAD.key(SPACE))

    def commit() -> None:
        other.step(2)
        other.kill()

    at(world, swaps, commit)
    receipt = erase(scene, world.process, world.clock() + INVOCATION)

    assert receipt.status == "done"
    assert swaps in other.client.requests
    assert len(records_of(world.inner.objects, SPACE)) == 2
    assert list(left_of(world, SECRET)) == []


@pytest.mark.parametrize("by_request", [False, True])
def test_nobody_commits_under_an_erasure_that_goes_on(by_request: bool):
    scene, world = begun()
    erase(scene, world.process, world.clock() + timedelta(seconds=1))
    other = about_to_plan(world)

    at(world, ("LIST versions", IN_SPACE.prefix(SPACE)), other.finish)
    if by_request:
        erase(scene, world.process, world.clock() + INVOCATION)
    else:
        world.work()

    assert isinstance(other.error, LiveMemoryError)
    assert len(records_of(world.inner.objects, SPACE)) == 1
    assert come_to_end(world, [scene.erased]) == []
    assert list(left_of(world, SECRET)) == []


def test_who_stood_still_at_the_beginning_puts_no_other_erasure_out_of_the_head():
    scene, world = begun()
    other = world.note("Bob has moved to Rome.", agent="bob").note_id
    late = Actor("erasure", world, lambda me: erase(scene, me.process, me.until), world.clock() + INVOCATION)
    while not late.client.requests or not late.client.requests[-1][1].startswith(ERASURE.prefix(SPACE)):
        late.step()
    world.pass_time(LONG, beating=False)
    world.new_process()
    soon = world.clock() + timedelta(seconds=1)
    receipt = erasure.erase(world.process, EVERYONE, SPACE, [other], soon)

    late.finish()

    assert isinstance(late.error, Busy)
    assert heads.load(world.process, SPACE).meta.erasing_now() == receipt.job_id
    world.settle()
    assert receipts.view(world.process, SPACE, receipt.job_id).status == "done"


def test_an_invocation_is_delivered_again_where_another_worker_has_taken_its_erasure():
    scene, world = begun()
    receipt = erase(scene, world.process, world.clock() + timedelta(seconds=1))

    def take() -> None:
        found = receipts.find(world.with_parts(), SPACE, receipt.job_id)
        assert found
        jobs.change(world.with_parts(), found, worker="another", attempt=9)

    at(world, ("LIST versions", IN_SPACE.prefix(SPACE)), take)
    with pytest.raises(StillAtWork):
        world.work()


def test_an_erasure_that_is_at_work_again_is_gone_on_with_by_who_read_that_it_had_ended():
    scene, world = begun()
    receipt = erase(scene, world.process, world.clock() + INVOCATION)
    world.clock.move(WATCHED)

    def look_once_more() -> None:
        found = receipts.find(world.with_parts(), SPACE, receipt.job_id)
        assert found
        jobs.change(world.with_parts(), found, status="running", ended_at=None)
        heads.update(world.with_parts(), SPACE, lambda _: {"erasing": Erasing(at_work=receipt.job_id)})

    at(world, ("PUT", LEASE.key(SPACE)), look_once_more)
    world.work({"kind": "erasure", "space_id": SPACE, "job_id": receipt.job_id})

    newest = receipts.view(world.process, SPACE, receipt.job_id)
    assert (newest.status, newest.attempt) == ("done", receipt.attempt + 1)
    assert come_to_end(world, []) == []
