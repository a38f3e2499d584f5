"""What waits in a space, and what its next consolidation waits for."""

from datetime import timedelta

import pytest

from livemem.access.principal import Principal
from livemem.bank import summary
from livemem.jobs import lease as leases
from livemem.jobs import next_run, places
from livemem.jobs.next_run import NextRun, Waiting, WaitReason
from livemem.llm.client import LlmError
from livemem.spaces import head as heads
from tests.support.world import World

EVERYTHING = Principal("ann", frozenset(("read",)), frozenset())


def space(threshold: int = 3, **parts) -> World:
    world = World(**parts)
    world.create_space(threshold=threshold)
    return world


def look(world: World) -> Waiting:
    return next_run.look(world.process, heads.load(world.process, "demo").meta)


def test_below_the_threshold_so_many_notes_are_missing():
    world = space()
    world.note("one")
    world.clock.move(60)
    world.note("two")

    waits = look(world)

    assert (waits.notes_count, waits.exact, waits.oldest_note_at) == (2, True, "2026-02-20T14:00:00Z")
    assert waits.next_run == NextRun("threshold", notes_missing=1)


def test_an_empty_space_waits_for_notes_and_has_no_oldest_one():
    assert look(space()) == Waiting(0, True, None, NextRun("threshold", notes_missing=3))


def test_where_the_memory_is_one_persons_it_waits_for_the_end_of_a_session():
    assert look(space(session_folds=True)).next_run == NextRun("session_end")
    assert look(space(threshold=0, session_folds=True)).next_run == NextRun("by_hand")


def test_at_the_threshold_a_run_is_due():
    world = space(threshold=1)
    world.note("one")

    assert look(world).next_run == NextRun("due")


def test_a_threshold_of_zero_means_by_hand():
    assert look(space(threshold=0)).next_run == NextRun("by_hand")


def test_a_pause_says_its_reason():
    world = space()
    heads.patch(world.process, "demo", auto_paused=True)

    assert look(world).next_run == NextRun("paused", detail="somebody paused it")


@pytest.mark.parametrize(("kind", "why"), [("queued", "queued"), ("consolidation", "running")])
def test_a_run_that_holds_the_space_is_named(kind: str, why: WaitReason):
    world = space(threshold=1)
    world.note("one")
    leases.acquire(world.process, places.of_space("demo"), "01KHXAB2V9Q4W6E8R0T2Y4U6I8", kind)

    assert look(world).next_run == NextRun(why, run_id="01KHXAB2V9Q4W6E8R0T2Y4U6I8")


def test_other_work_is_named_only_where_a_run_is_due():
    world = space(threshold=1)
    leases.acquire(world.process, places.of_space("demo"), "x", "backup")
    assert look(world).next_run == NextRun("threshold", notes_missing=1)

    world.note("one")
    assert look(world).next_run == NextRun("held", detail="backup")


def test_a_lease_that_ran_out_holds_nothing():
    world = space(threshold=1)
    world.note("one")
    leases.acquire(world.process, places.of_space("demo"), "x", "queued")
    world.clock.move(leases.LIFE.total_seconds() + 1)

    assert look(world).next_run == NextRun("due")


def test_after_a_failure_the_end_of_the_wait_is_told():
    world = space(threshold=1)
    world.note("one")
    world.llm.queue.append(LlmError("llm_unreachable", "The LLM could not be reached."))
    world.consolidate()

    waits = look(world).next_run

    assert waits.why == "after_failure"
    assert waits.detail == "llm_unreachable"
    assert waits.not_before
    assert waits.not_before > (world.clock() + timedelta(seconds=30)).isoformat()[:19]


def test_a_plan_that_waits_for_a_person_is_named():
    world = space()
    heads.patch(world.process, "demo", consolidation_mode="review")
    world.note("one")
    run = world.consolidate()

    assert look(world).next_run == NextRun("review", run_id=run.job_id)


def test_more_notes_than_one_listing_holds_are_not_counted():
    world = space(threshold=0)
    for number in range(next_run.COUNTED_MOST + 5):
        world.note(f"note {number}")

    waits = look(world)

    assert (waits.notes_count, waits.exact) == (next_run.COUNTED_MOST, False)


def test_a_list_of_spaces_costs_two_requests_more_for_each_space_if_it_says_what_waits():
    world = World()
    for name in ("a", "b", "c"):
        world.create_space(name)
    world.new_process()

    def asked(*, waiting: bool) -> dict[str, int]:
        world.client.reset()
        found, _ = summary.page(world.process, EVERYTHING, limit=10, after=None, waiting=waiting)
        assert [bool(one.waiting) for one in found] == [waiting] * 3
        return dict(world.client.counts)

    plain, more = asked(waiting=False), asked(waiting=True)
    assert more["GET"] - plain["GET"] == 3
    assert more["LIST"] - plain["LIST"] == 3


def test_a_space_says_the_same_alone_as_in_the_list():
    world = space()
    world.note("one")
    alone = summary.info(world.process, "demo")

    listed, _ = summary.page(world.process, EVERYTHING, limit=10, after=None, waiting=True)

    assert alone.waiting == listed[0].waiting
