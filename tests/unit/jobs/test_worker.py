"""The worker of every kind of job, killed, overtaken and left without an answer at each request of a toy kind."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from livemem.errors import InvalidRequest, LiveMemoryError, OutOfTime, RunError, StillAtWork, StoreUnavailable
from livemem.jobs import job as jobs
from livemem.jobs import lease, worker
from livemem.jobs.job import Job, Progress
from livemem.jobs.lease import LeasePlace
from livemem.jobs.worker import End, Kind, Wait, Work, Worked
from livemem.process import Function, Process
from livemem.store import stored
from tests.support.actors import Actor
from tests.support.cases import each
from tests.support.world import World

PARTS = 3
ID = "01HZZZZZZZ0000000000000001"
OTHER = "01HZZZZZZZ0000000000000002"
LEASE = "demo/toy/lease.json"
INVOCATION = timedelta(minutes=15)


class Toy(Job):
    """`cursor`: how many parts are written."""

    cursor: int = 0


def write_a_part(work: Work[Toy]) -> End | None:
    """One part for each step, which nobody may write twice."""
    number = work.job.cursor
    if number == PARTS:
        return End(changes={"subject": "all"})
    stored.write_once(work.process.store, f"demo/toy/part-{number}", f"part {number}".encode())
    work.save(cursor=number + 1, progress=Progress(done=number + 1, total=PARTS))
    return None


class Toys(Kind[Toy]):
    """Toys, whose step and other members are those of a test."""

    name = "toy"
    function: Function = "backup"
    document = Toy

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.__dict__.update(members)

    def key(self, space_id: str, job_id: str, _subject: str | None = None) -> str:
        return f"{space_id}/toy/{job_id}.json"

    def step(self, work: Work[Toy]) -> End | None:
        raise NotImplementedError


def kind(step: Callable[[Work[Toy]], End | None] = write_a_part, *, leased: bool = False, **more: Any) -> Kind[Toy]:
    lease_place = {"place": lambda job: LeasePlace(LEASE)} if leased else {}
    return Toys({"step": step, **lease_place, **more})


def ordered(world: World, toy: Kind[Toy]) -> None:
    job = Toy(kind="toy", job_id=ID, space_id="demo", created_at="2026-02-20T14:00:00.000Z")
    jobs.create(world.process, toy.key("demo", ID), job)


def work(process: Process, world: World, toy: Kind[Toy], **more: Any) -> Worked[Toy]:
    return worker.work(process, toy, "demo", ID, world.clock() + INVOCATION, **more)


def begun(world: World, toy: Kind[Toy]) -> Actor:
    return Actor("worker", world, lambda me: work(me.process, world, toy), world.clock() + INVOCATION)


def found(world: World, toy: Kind[Toy]) -> Toy:
    seen = toy.find(world.process, "demo", ID)
    assert seen
    return seen.value


def assert_is_whole(world: World, toy: Kind[Toy]) -> None:
    job = found(world, toy)
    assert (job.status, job.subject, job.progress.done) == ("done", "all", PARTS)
    assert sorted(world.keys("demo/toy/part-")) == [f"demo/toy/part-{number}" for number in range(PARTS)]


def requests_of(toy: Kind[Toy]) -> int:
    world = World()
    ordered(world, toy)
    world.client.reset()
    work(world.process, world, toy)
    return sum(world.client.counts.values())


def test_a_job_costs_one_get_and_two_put_besides_its_steps():
    world, toy = World(), kind()
    ordered(world, toy)
    world.client.reset()

    done = work(world.process, world, toy)

    assert done.result == "ended"
    assert world.client.counts == {"GET": 1, "PUT": 2 + 2 * PARTS}
    assert_is_whole(world, toy)


def test_under_a_lease_it_costs_one_get_one_put_and_one_delete_more():
    world, toy = World(), kind(leased=True)
    ordered(world, toy)
    world.client.reset()

    work(world.process, world, toy)

    assert world.client.counts == {"GET": 2, "PUT": 3 + 2 * PARTS, "DELETE": 1}


@pytest.mark.parametrize("leased", [False, True])
def test_killed_at_each_request_it_is_gone_on_with_and_nothing_is_done_twice(leased: bool):
    toy = kind(leased=leased)
    for at in range(requests_of(toy) + 1):
        world = World()
        ordered(world, toy)
        actor = begun(world, toy)
        actor.step(at)
        actor.kill()
        world.clock.move(120)

        work(world.process, world, toy, delivery="again")

        assert_is_whole(world, toy)


@each("loss", ["again", "for good", "hangs"])
@each("leased", [False, True])
def test_whatever_answer_is_lost_it_ends_once(leased: bool, loss: Any):
    toy = kind(leased=leased)
    for at in range(requests_of(toy) + 1):
        world = World()
        ordered(world, toy)
        actor = begun(world, toy)
        actor.step(at)
        actor.loses = loss
        actor.finish()
        for sent in world.repeatable():
            world.repeat(sent)
        world.clock.move(120)

        with suppress(StillAtWork):
            work(world.process, world, toy)

        assert_is_whole(world, toy)
        for sent in world.repeatable():
            world.repeat(sent)
        assert_is_whole(world, toy)


@pytest.mark.parametrize("leased", [False, True])
def test_of_two_workers_at_once_whichever_goes_on_ends_it(leased: bool):
    toy = kind(leased=leased)
    for at in range(requests_of(toy) + 1):
        world = World()
        ordered(world, toy)
        first, second = begun(world, toy), begun(world, toy)
        first.step(at)
        second.finish()
        first.finish()

        results = [one.result.result for one in (first, second) if one.result]

        assert "ended" in results, at
        assert_is_whole(world, toy)


def test_what_does_not_fit_into_the_time_is_queued_and_ends_later():
    def slow(task: Work[Toy]) -> End | None:
        world.clock.move(INVOCATION.total_seconds())
        return write_a_part(task)

    world, toy = World(), kind(slow)
    ordered(world, toy)

    queued: list[tuple[Function, Mapping[str, Any]]] = []
    process = world.with_parts(enqueue=lambda *told: queued.append(told))

    results = [work(process, world, toy).result for _ in range(PARTS + 1)]

    assert results == ["unfinished"] * PARTS + ["ended"]
    assert queued == [("backup", toy.payload("demo", ID))] * PARTS
    assert found(world, toy).attempt == 1, "who gets on is not given up"


def test_an_error_that_is_no_use_to_repeat_ends_the_job_once_it_is_cleared_up_after():
    def refuse(_: Work[Toy]) -> End | None:
        raise InvalidRequest.of("archive", "is no archive")

    def clear_up(_: Work[Toy], error: LiveMemoryError) -> Mapping[str, Any]:
        cleared.append(error.code)
        return {"cursor": 0}

    cleared: list[str] = []
    world, toy = World(), kind(refuse, on_failure=clear_up)
    ordered(world, toy)

    done = work(world.process, world, toy)

    assert done.job
    assert (done.job.status, done.job.error.code if done.job.error else None) == ("failed", "invalid_request")
    assert cleared == ["invalid_request"]
    assert work(world.process, world, toy).result == "ended", "an end is final"
    assert cleared == ["invalid_request"]


def test_after_a_failure_of_the_model_events_wait_and_people_do_not():
    def ask(task: Work[Toy]) -> End | None:
        if answers:
            return write_a_part(task)
        raise RunError("llm_unreachable", "The LLM does not answer.")

    answers: list[str] = []
    world, toy = World(), kind(ask, leased=True)
    ordered(world, toy)

    assert work(world.process, world, toy).result == "waiting"
    told = found(world, toy)
    assert (told.status, told.error.code if told.error else None) == ("queued", "llm_unreachable")
    answers.append("now")
    assert work(world.process, world, toy).result == "busy"
    assert work(world.process, world, toy, by_hand=True).result == "ended"
    assert_is_whole(world, toy)
    assert not found(world, toy).error


def test_a_job_whose_workers_die_again_and_again_is_given_up():
    def die(_: Work[Toy]) -> End | None:
        raise StoreUnavailable("The store failed.")

    world, toy = World(), kind(die, leased=True)
    ordered(world, toy)
    for _ in range(worker.MOST_ATTEMPTS):
        with pytest.raises(LiveMemoryError):
            work(world.process, world, toy)

    done = work(world.process, world, toy)

    assert done.job
    assert (done.job.status, done.job.error.code if done.job.error else None) == ("failed", "not_finished")


def test_a_kind_that_does_not_give_up_goes_on_however_often_its_workers_died():
    failures = [True] * (worker.MOST_ATTEMPTS + 3)

    def die_at_first(task: Work[Toy]) -> End | None:
        if failures and failures.pop():
            raise StoreUnavailable("The store failed.")
        return write_a_part(task)

    world, toy = World(), kind(die_at_first, leased=True, gives_up=False)
    ordered(world, toy)
    while failures:
        with pytest.raises(StoreUnavailable):
            work(world.process, world, toy)

    assert work(world.process, world, toy).result == "ended"

    assert_is_whole(world, toy)


def test_who_begins_goes_on_with_the_job_that_another_worker_left_under_the_lease():
    def leave(task: Work[Toy]) -> End | None:
        if left:
            raise left.pop()
        return write_a_part(task)

    failures: list[LiveMemoryError] = [
        StoreUnavailable("The store failed."),
        RunError("llm_unreachable", "The LLM does not answer."),
        OutOfTime("The rest is done later."),
    ]
    for failure in failures:
        left = [failure]
        world, toy = World(), kind(leave, leased=True)
        ordered(world, toy)
        with suppress(StoreUnavailable):
            work(world.with_parts(enqueue=lambda *told: None), world, toy)
        other = Toy(kind="toy", job_id=OTHER, space_id="demo", created_at="2026-02-20T14:00:00.000Z")
        world.clock.move(60)

        done = worker.begin(world.process, toy, other, world.clock() + INVOCATION)

        assert done.outcome == "done"
        assert_is_whole(world, toy)
        assert not toy.find(world.process, "demo", OTHER), "no second job does the same"
        assert not lease.look(world.process, LeasePlace(LEASE))


def test_the_invocation_of_what_was_handed_over_may_come_before_its_worker_has_ended():
    def hand_over(task: Work[Toy]) -> End | None:
        if task.job.attempt == 1:
            raise OutOfTime("The rest is done later.")
        return write_a_part(task)

    world, toy = World(), kind(hand_over, leased=True)
    ordered(world, toy)
    process = world.with_parts(enqueue=lambda *told: work(world.process, world, toy))

    assert work(process, world, toy).result == "unfinished"
    assert_is_whole(world, toy)


def test_who_is_queued_behind_another_job_is_delivered_again():
    world, toy = World(), kind(leased=True)
    ordered(world, toy)
    lease.acquire(world.process, LeasePlace(LEASE), OTHER, "toy", worker="w", delivery="another")

    with pytest.raises(StillAtWork):
        work(world.process, world, toy, delivery="mine")


def test_a_job_that_cannot_be_queued_says_so():
    def down(*_: Any) -> None:
        raise StoreUnavailable("The function service does not answer.")

    world, toy = World(), kind()
    job = Toy(kind="toy", job_id=ID, space_id="demo", created_at="2026-02-20T14:00:00.000Z")

    with pytest.raises(StoreUnavailable):
        worker.order(world.with_parts(enqueue=down), toy, job)
    ended = found(world, toy)
    assert (ended.status, ended.error.code if ended.error else None) == ("failed", "not_started")


def test_a_rest_that_cannot_be_queued_is_left_to_the_sweep_or_else_the_invocation_is_tried_again():
    def down(*_: Any) -> None:
        raise StoreUnavailable("The function service does not answer.")

    def slow(task: Work[Toy]) -> End | None:
        world.clock.move(INVOCATION.total_seconds())
        return write_a_part(task)

    for swept, leased in product((True, False), repeat=2):
        world, toy = World(), kind(slow, swept=swept, leased=leased)
        ordered(world, toy)
        process = world.with_parts(enqueue=down)
        if swept:
            assert work(process, world, toy).result == "unfinished"
        else:
            with pytest.raises(StoreUnavailable):
                work(process, world, toy)
            assert work(world.with_parts(enqueue=lambda *_: None), world, toy, delivery="again").result == "unfinished"


def test_what_is_left_of_a_part_of_another_job_is_not_queued_and_that_one_goes_on_with_it():
    def hand_over(task: Work[Toy]) -> End | None:
        if task.job.attempt == 1:
            raise OutOfTime("The rest is done later.")
        return write_a_part(task)

    for keeps_place in (True, False):
        world, toy = World(), kind(hand_over, leased=True, keeps_place=keeps_place)
        ordered(world, toy)

        assert work(world.process, world, toy, nested=True).result == "unfinished"
        assert not world.queued
        held = lease.look(world.process, LeasePlace(LEASE))
        assert bool(held and held.live()) == keeps_place
        assert work(world.process, world, toy, nested=True).outcome == "done"
        assert_is_whole(world, toy)


def test_a_job_that_has_not_ended_in_the_time_that_its_kind_has_is_given_up():
    world, toy = World(), kind(lasts=timedelta(days=1))
    ordered(world, toy)
    world.clock.move(86_401)

    done = work(world.process, world, toy)

    assert done.job
    assert (done.job.status, done.job.error.code if done.job.error else None) == ("failed", "not_finished")
    assert world.keys("demo/toy/part-") == []


def test_a_job_of_a_copied_folder_is_nobodys():
    world, toy = World(), kind()
    ordered(world, toy)
    world.inner.objects["other/toy/" + ID + ".json"] = world.inner.objects[f"demo/toy/{ID}.json"]

    assert toy.find(world.process, "other", ID) is None
    assert not lease.look(world.process, LeasePlace(LEASE))


@pytest.mark.parametrize("ended", [False, True])
def test_who_waits_for_the_lease_sees_what_became_of_the_job_meanwhile(ended: bool):
    world, toy = World(), kind(leased=True)
    ordered(world, toy)
    held = lease.acquire(world.process, LeasePlace(LEASE), OTHER, "toy", worker="w")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        world.clock.move(seconds)
        if len(pauses) == 3:
            lease.release(world.process, held)
            if ended:
                work(world.process, world, toy)

    wait = Wait(world.clock() + timedelta(seconds=20), pause)
    seen = toy.find(world.process, "demo", ID)
    done = work(world.process, world, toy, current=seen, wait=wait)

    assert (done.outcome, pauses) == ("done", [worker.PAUSE] * 3)
    assert found(world, toy).attempt == 1
    assert_is_whole(world, toy)


def test_nobody_waits_for_the_lease_longer_than_there_is_time():
    world, toy = World(), kind(leased=True)
    ordered(world, toy)
    lease.acquire(world.process, LeasePlace(LEASE), OTHER, "toy", worker="w")
    begun_at = world.clock()

    with pytest.raises(StillAtWork):
        work(world.process, world, toy, wait=Wait(begun_at + timedelta(seconds=5), world.clock.move))

    assert timedelta(seconds=4) <= world.clock() - begun_at <= timedelta(seconds=5)


def test_who_has_just_read_the_job_saves_the_get_and_a_stale_one_is_not_written_over():
    world, toy = World(), kind(leased=True)
    ordered(world, toy)
    seen = toy.find(world.process, "demo", ID)
    world.client.reset()

    assert work(world.process, world, toy, current=seen).outcome == "done"
    assert world.client.counts == {"GET": 1, "PUT": 3 + 2 * PARTS, "DELETE": 1}
    stale = work(world.process, world, toy, current=seen)

    assert (stale.result, stale.job and stale.job.status) == ("overtaken", "done")


def test_what_a_kind_says_when_its_job_is_taken_costs_nothing_and_its_failure_is_the_job_s():
    def refuse(_: Work[Toy]) -> Mapping[str, Any]:
        raise InvalidRequest.of("subject", "is over")

    world, toy = World(), kind(on_take=lambda task: {"cursor": 1})
    ordered(world, toy)
    world.client.reset()
    assert work(world.process, world, toy).outcome == "done"
    assert world.client.counts == {"GET": 1, "PUT": 2 + 2 * (PARTS - 1)}

    world, toy = World(), kind(on_take=refuse)
    ordered(world, toy)
    assert work(world.process, world, toy).outcome == "failed"


@pytest.mark.parametrize("fails", [False, True])
def test_a_kind_hears_of_the_end_of_its_job_once_it_is_written(fails: bool):
    def step(task: Work[Toy]) -> End | None:
        if fails:
            raise InvalidRequest.of("archive", "is no archive")
        return write_a_part(task)

    def hear(task: Work[Toy]) -> None:
        heard.append(found(world, task.kind).status)

    heard: list[str] = []
    world, toy = World(), kind(step, on_end=hear)
    ordered(world, toy)
    work(world.process, world, toy)
    work(world.process, world, toy)

    assert heard == ["failed" if fails else "done"]


def test_a_kind_that_keeps_no_place_hands_over_without_a_word_and_its_invocation_may_come_at_once():
    def hand_over(task: Work[Toy]) -> End | None:
        if task.job.attempt == 1:
            world.client.reset()
            raise OutOfTime("The rest is done later.")
        return write_a_part(task)

    def invoke(*_: Any) -> None:
        counted.append(dict(world.client.counts))
        assert not lease.look(world.process, LeasePlace(LEASE))
        work(world.process, world, toy)

    counted: list[dict[str, int]] = []
    world, toy = World(), kind(hand_over, leased=True, keeps_place=False)
    ordered(world, toy)

    assert work(world.with_parts(enqueue=invoke), world, toy).result == "unfinished"
    assert counted == [{"DELETE": 1}]
    assert_is_whole(world, toy)


@each("ends", ["done", "failed", "waiting"])
def test_what_somebody_else_adds_to_the_job_while_its_worker_is_at_it_is_kept(ends: str):
    def step(task: Work[Toy]) -> End | None:
        there = task.kind.find(world.process, "demo", ID)
        assert there
        jobs.change(world.process, there, requested_by=f"ann{task.job.cursor}")
        if task.job.cursor < PARTS:
            return write_a_part(task)
        if ends == "waiting":
            raise RunError("llm_unreachable", "The LLM does not answer.")
        return End("failed" if ends == "failed" else "done")

    world, toy = World(), kind(step, leased=True)
    ordered(world, toy)

    assert work(world.process, world, toy).outcome == ends
    job = found(world, toy)
    assert (job.requested_by, job.cursor, bool(job.error)) == (f"ann{PARTS}", PARTS, ends == "waiting")


@pytest.mark.parametrize("saves", [True, False])
def test_over_a_job_that_keeps_no_worker_nothing_is_written_that_somebody_has_changed(saves: bool):
    class Nameless(Toy):
        def changed(self, changes: Mapping[str, Any]) -> "Nameless":
            return super().changed({**changes, "worker": ""})

    def step(task: Work[Toy]) -> End | None:
        there = task.kind.find(world.process, "demo", ID)
        assert there
        jobs.change(world.process, there, requested_by="another worker")
        return write_a_part(task) if saves else End()

    world, toy = World(), kind(step, document=Nameless)
    ordered(world, toy)

    assert work(world.process, world, toy).result == "overtaken"
    assert (found(world, toy).requested_by, found(world, toy).cursor) == ("another worker", 0)


def test_a_job_in_whose_place_another_one_stands_is_gone():
    def step(_: Work[Toy]) -> End:
        key = toy.key("demo", ID)
        other = Toy(kind="toy", job_id=OTHER, space_id="demo", created_at="2026-02-20T14:00:00.000Z")
        stored.create(world.process.store, key, other, world.ids, over=toy.find(world.process, "demo", ID))
        return End()

    world, toy = World(), kind(step)
    ordered(world, toy)

    assert work(world.process, world, toy).result == "gone"
    assert b"running" not in world.inner.objects[toy.key("demo", ID)].body


def test_a_kind_has_its_own_longest_wait_after_failures():
    def fail(_: Work[Toy]) -> End | None:
        raise RunError("llm_unreachable", "The LLM does not answer.")

    world, toy = World(), kind(fail, leased=True, longest_wait=timedelta(minutes=50))
    ordered(world, toy)
    for _ in range(9):
        assert work(world.process, world, toy).result == "waiting"
        world.clock.move(3_000)
