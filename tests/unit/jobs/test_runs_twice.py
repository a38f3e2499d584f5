"""Invocations that come twice, late or while somebody else is at it: no note is folded twice, nobody pays twice."""

from typing import Any

import pytest

from livemem.errors import StillAtWork
from livemem.jobs import lease, places
from livemem.spaces import head as heads
from livemem.spaces import lifecycle
from livemem.store.bucket import LEASE, RUN
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.world import World, append_everything


def queued(threshold: int = 3) -> World:
    world = World()
    world.create_space(threshold=threshold)
    for number in range(3):
        world.note(f"note {number}")
        world.clock.move(1)
    world.order()
    return world


def die(prompt: dict[str, Any]) -> str:
    raise Killed


def test_an_invocation_of_a_finished_run_does_nothing():
    world = queued()
    todo = dict(world.queued[0])
    world.work()
    before = dict(world.inner.objects)

    assert world.work(todo) is None

    assert len(world.llm.prompts) == 1
    assert world.inner.objects == before


@pytest.mark.parametrize("queue", [["prose", "prose"], []])
def test_an_invocation_of_a_failed_or_finished_run_asks_nobody_again(queue: list[str]):
    world = queued()
    todo = dict(world.queued[0])
    world.llm.queue.extend(queue)
    world.work()
    asked = len(world.llm.prompts)
    world.note("one more")

    assert world.work(todo) is None
    assert len(world.llm.prompts) == asked


def test_an_invocation_delivered_twice_at_once_folds_the_notes_once():
    world = queued()
    todo = dict(world.queued[0])

    def second_delivery(prompt: dict[str, Any]) -> str:
        for _ in range(4):
            with pytest.raises(StillAtWork):
                world.work(todo)
        return append_everything(prompt)

    world.llm.queue.append(second_delivery)
    world.work()

    assert world.bank() == {"log.md": "# Log\n\n## Log\n\n- note 0\n- note 1\n- note 2\n"}
    assert heads.load(world.process, "demo").meta.consolidation_count == 1
    assert len(world.keys("demo/_consolidations/")) == 1
    assert world.view(todo["job_id"]).state == "done"
    assert len(world.llm.prompts) == 1
    assert not [key for key in world.keys("demo/") if key.endswith((".plan.json", "_lease.json"))]


def test_a_second_run_finds_the_space_busy_and_asks_nobody():
    world = queued()
    seen: list[Any] = []

    def another_by_hand(prompt: dict[str, Any]) -> str:
        seen.append(world.consolidate())
        return append_everything(prompt)

    world.llm.queue.append(another_by_hand)
    run = world.work()

    assert run is not None
    assert run.state == "done"
    busy = seen[0]
    assert (busy.status, busy.state, busy.error.code) == ("failed", "busy", "busy")
    assert "Other work (consolidation) holds the lease until" in busy.error.detail
    assert world.view(busy.job_id) == busy
    assert len(world.llm.prompts) == 1


def test_the_lease_is_there_during_the_run_and_gone_after_it():
    world = queued()
    held: list[lease.Lease] = []

    def looking(prompt: dict[str, Any]) -> str:
        found = lease.look(world.process, places.of_space("demo"))
        assert found
        held.append(found.lease)
        return append_everything(prompt)

    world.llm.queue.append(looking)
    world.work()

    assert (held[0].kind, held[0].expires_at) == ("consolidation", "2026-02-20T14:01:33.000Z")
    assert lease.look(world.process, places.of_space("demo")) is None


def test_the_lease_of_a_dead_run_is_taken_over_when_it_has_run_out_and_not_before():
    world = queued()
    dead = world.queued[0]["job_id"]
    world.llm.queue.append(die)
    with pytest.raises(Killed):
        world.work()
    world.new_process()

    assert world.consolidate().state == "busy"
    world.clock.move(90)
    run = world.consolidate()

    assert run.state == "done"
    assert run.metrics["notes_processed"] == 3
    assert world.live_ids() == []
    ended = world.view(dead)
    assert (ended.state, ended.error.code) == ("failed", "interrupted")


def test_the_retry_of_a_dead_invocation_goes_on_once_the_lease_was_not_renewed():
    world = queued()
    todo = dict(world.queued[0])
    world.llm.queue.append(die)
    with pytest.raises(Killed):
        world.work()
    world.new_process()
    world.clock.move(60)
    with pytest.raises(StillAtWork):
        world.work(todo)
    world.clock.move(120)

    run = world.work(todo)

    assert run is not None
    assert run.state == "done"
    assert world.live_ids() == []


@each("body", [b"", b"{", b"[]", b'{"owner": 1}'])
def test_a_lease_that_can_not_be_read_counts_as_run_out(body: bytes):
    world = queued()
    world.inner.put_object(Bucket="b", Key=LEASE.key("demo"), Body=body)

    run = world.work()

    assert run is not None
    assert run.state == "done"
    assert lease.look(world.process, places.of_space("demo")) is None


def test_a_late_invocation_for_a_deleted_space_does_nothing():
    world = queued()
    lifecycle.delete(world.process, "demo", "demo")
    before = dict(world.inner.objects)

    assert world.work() is None

    assert world.llm.prompts == []
    assert world.inner.objects == before


def test_a_late_invocation_for_a_namesake_of_a_deleted_space_does_nothing():
    world = queued()
    lifecycle.delete(world.process, "demo", "demo")
    world.clock.move(lifecycle.TOMBSTONE_LIFE.total_seconds())
    world.create_space()
    world.note("a note of the new space")
    before = dict(world.inner.objects)

    assert world.work() is None

    assert world.llm.prompts == []
    assert world.inner.objects == before


def test_a_space_that_is_replaced_just_before_the_lease_is_taken_keeps_its_notes():
    world = queued()

    def replaced(index: int, verb: str) -> None:
        if world.client.requests[index] == ("GET", LEASE.key("demo")):
            world.client.before = lambda index, verb: None
            lifecycle.delete(world.process, "demo", "demo")
            world.clock.move(lifecycle.TOMBSTONE_LIFE.total_seconds())
            world.create_space()
            world.note("a note of the new space")

    world.client.before = replaced

    assert world.work() is None

    assert world.llm.prompts == []
    assert len(world.live_ids()) == 1
    assert lease.look(world.process, places.of_space("demo")) is None


def test_a_late_invocation_does_not_even_touch_a_run_of_the_same_id_in_a_namesake():
    world = queued()
    todo = dict(world.queued[0])
    run_key = RUN.key("demo", todo["job_id"])
    body = world.text(run_key).encode()
    lifecycle.delete(world.process, "demo", "demo")
    world.clock.move(lifecycle.TOMBSTONE_LIFE.total_seconds())
    world.create_space()
    world.note("a note of the new space")
    # What a write that was under way during the deletion can leave behind.
    world.inner.put_object(Bucket="b", Key=run_key, Body=body)

    assert world.work(todo) is None

    assert world.llm.prompts == []
    assert len(world.live_ids()) == 1


@pytest.mark.parametrize("payload", [{"job_id": "01HZZZZZZZ9999999999999999"}, {"space_id": "nowhere"}])
def test_an_invocation_that_fits_nothing_does_nothing(payload: dict[str, str]):
    world = queued()
    before = dict(world.inner.objects)

    assert world.work({**world.queued[0], **payload}) is None

    assert world.llm.prompts == []
    assert world.inner.objects == before
