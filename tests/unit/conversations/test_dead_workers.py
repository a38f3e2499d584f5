"""A worker that dies leaves neither a job that runs for ever nor a summary that nobody makes."""

import pytest
from pydantic.errors import PydanticUserError

from livemem.conversations import orders, update
from livemem.errors import StillAtWork
from livemem.jobs import job as jobs
from livemem.jobs import lease, places
from livemem.store import due_keys, timing
from livemem.store.bucket import TURN
from tests.support.counting import Killed
from tests.support.talk import Talk, extract, look_at_due
from tests.support.world import INVOCATION


@pytest.fixture
def talk():
    talk = Talk("turns", concurrency=1)
    talk.said(100, 100, 100)
    return talk


def event(talk, delivery="event"):
    return talk.update(delivery=delivery)


def dies(talk, call, at="/summaries/l1/000002/"):
    """The worker is killed before it writes this."""

    def killed(index, verb):
        if verb == "PUT" and at in talk.world.client.requests[index][1]:
            raise Killed

    talk.world.client.before = killed
    with pytest.raises(Killed):
        call()
    talk.world.new_process()


def made(talk):
    return len(talk.names("v1/summaries/l1/"))


def sweeps(talk, minutes):
    for _ in range(minutes // 15):
        talk.world.pass_time(15 * 60)
        look_at_due(talk.world.new_process(), talk.world.clock() + INVOCATION)
        talk.world.settle()


def test_the_retry_of_an_event_whose_worker_was_killed_fails_until_it_can_go_on_and_ends_the_same_job(talk):
    dies(talk, lambda: event(talk))
    assert [job.status for job in talk.jobs()] == ["running"]
    first, second = (pause.total_seconds() for pause in timing.RETRIES)
    talk.world.pass_time(first)
    with pytest.raises(StillAtWork):
        event(talk)
    talk.world.pass_time(second)
    assert event(talk).outcome == "done"
    assert made(talk) == 3
    (job,) = talk.jobs()
    assert (job.status, job.generated["1"]) == ("done", 3)


def test_an_event_that_meets_another_one_at_work_does_not_fail_for_that_comes_again_itself_if_it_dies(talk):
    dies(talk, lambda: event(talk))
    assert event(talk, "another").outcome == "busy"


def test_an_event_that_meets_a_request_at_work_fails_and_comes_again_for_nobody_else_would(talk):
    dies(talk, lambda: orders.carry_out(talk.process, "demo", talk.id, orders.Wish(), talk.world.clock() + INVOCATION))
    key = TURN.key("demo", talk.id, 3)
    with pytest.raises(StillAtWork):
        update.hear(talk.process, [key], talk.world.clock() + INVOCATION, "event")
    talk.world.pass_time(sum(pause.total_seconds() for pause in timing.RETRIES))
    (outcome,) = update.hear(talk.process, [key], talk.world.clock() + INVOCATION, "event")
    assert outcome.outcome == "done"
    assert [job.status for job in talk.jobs()] == ["done"]


def test_the_sweep_ends_the_job_of_a_request_that_was_killed_though_no_event_comes(talk):
    dies(talk, lambda: orders.carry_out(talk.process, "demo", talk.id, orders.Wish(), talk.world.clock() + INVOCATION))
    (job,) = talk.jobs()
    sweeps(talk, 30)
    assert made(talk) == 3
    assert [(one.job_id, one.status) for one in talk.jobs()] == [(job.job_id, "done")]


def test_the_sweep_ends_the_job_of_a_worker_that_died_when_all_was_made(talk):
    last = []

    def killed(index, verb):
        verb, key = talk.world.client.requests[index]
        if verb == "PUT" and "/jobs/" in key and made(talk) == 3:
            last.append(key)
            raise Killed

    talk.world.client.before = killed
    with pytest.raises(Killed):
        event(talk)
    assert last
    talk.world.new_process()
    sweeps(talk, 75)
    assert [job.status for job in talk.jobs()] == ["done"]
    assert lease.look(talk.process, places.of_conversation("demo", talk.id)) is None
    assert not talk.world.keys(due_keys.DUE)


def test_who_fails_by_an_error_that_nobody_reckoned_with_keeps_no_retry_out(talk):
    def broken(messages):
        raise PydanticUserError("`ChatCompletion` is not fully defined", code="class-not-fully-defined")

    talk.llm.queue.append(broken)
    with pytest.raises(PydanticUserError):
        event(talk)
    (job,) = talk.jobs()
    assert event(talk).outcome == "done"
    assert made(talk) == 3
    assert [(one.job_id, one.status) for one in talk.jobs()] == [(job.job_id, "done")]


def test_a_redo_that_was_killed_is_done_by_the_next_try_of_its_invocation(talk):
    talk.update()
    job = orders.redo(talk.process, "demo", talk.id, 1, 2)
    invocation = talk.world.queued[0]
    dies(talk, lambda: talk.world.work(invocation))
    talk.world.settle()
    assert talk.job(job.job_id).status == "done"
    assert [name.split("/")[-1][40:44] for name in talk.names("v1/summaries/l1/000002/")] == ["0000", "0001"]


def test_a_job_whose_invocation_was_lost_is_told_to_have_ended(talk):
    talk.update()
    job = orders.redo(talk.process, "demo", talk.id, 1, 2)
    talk.world.queued.clear()
    talk.world.pass_time(jobs.SILENT.total_seconds())
    assert talk.job(job.job_id).status == "queued"
    talk.world.pass_time(60)
    described = talk.job(job.job_id)
    assert (described.status, described.error.code) == ("failed", "interrupted")
    assert [one.status for one in talk.jobs()] == ["failed", "done"]


def test_what_was_handed_over_is_gone_on_with_by_the_sweep_where_its_invocation_was_lost(talk):
    def slow(messages):
        talk.world.clock.move(INVOCATION.total_seconds() - 1)
        return extract(messages)

    talk.llm.queue.append(slow)
    first = event(talk)
    assert (first.outcome, made(talk)) == ("unfinished", 1)
    talk.world.queued.clear()
    sweeps(talk, 30)
    assert [(one.job_id, one.status) for one in talk.jobs()] == [(first.job.job_id, "done")]
    assert made(talk) == 3


def test_an_event_goes_on_with_the_job_that_was_handed_over(talk):
    first = orders.carry_out(talk.process, "demo", talk.id, orders.Wish(level=1), talk.world.clock())
    assert first.status == "running"
    assert event(talk).outcome == "done"
    talk.world.settle()
    assert [(one.job_id, one.status) for one in talk.jobs()] == [(first.job_id, "done")]
