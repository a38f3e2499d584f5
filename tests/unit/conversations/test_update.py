"""Bringing summaries up: what it costs, what becomes of failures, and that nothing that was asked for is forgotten."""

import json
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.conversations import (
    due,
    log,
    maintenance,
    making,
    orders,
    reading,
    removal,
    summaries,
    summary_versions,
    update,
)
from livemem.conversations.summary_versions import At
from livemem.conversations.turn import Draft
from livemem.errors import LiveMemoryError, StillAtWork, StoreUnavailable
from livemem.jobs import budget, lease, places, worker
from livemem.jobs.package import look_at_space
from livemem.llm.client import LlmError
from livemem.store import due_keys
from livemem.store.bucket import BOUNDARY, TURN
from tests.support.bucket import error
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.talk import Summariser, Talk, asked_for, extract, look_at_due
from tests.support.world import INVOCATION, World

SMALL: dict[str, Any] = {"window_chars": 500, "min_flush_chars": 100, "group_chars": 1_000, "ratio": 0.5}
DOWN = LlmError("llm_unavailable", "The LLM does not answer.")


def exact(messages):
    """A summary that has exactly the length that is asked for."""
    target = int(messages[1]["content"].split(" characters")[0].rsplit(" ", 1)[1])
    told = "".join(part.get("summary") or part["user"] + part["assistant"] for part in asked_for(messages))
    return json.dumps({"summary": told[:target]})


def talk_of(count=30, **parameters):
    talk = Talk("windows", **{**SMALL, **parameters})
    talk.llm.default = exact
    for number in range(count):
        talk.say(f"{number:03d} " * 30, f"{number:03d}." * 30, message_id=f"m{number}")
    return talk


def at(talk):
    return At("demo", talk.conversation, summary_versions.read(talk.process, "demo", talk.conversation).current())


def boundaries(talk):
    return {name: talk.world.text(f"demo/conversations/{talk.id}/{name}") for name in talk.names("v1/boundaries/")}


def sealed(talk):
    return summaries.read(talk.process, at(talk)).boundaries


def entries(talk):
    return [one for one in talk.world.due("conversation") if talk.id in one]


def sweep(talk):
    look_at_due(talk.world.new_process(), talk.world.clock() + INVOCATION)


def daily(talk):
    space = look_at_space(talk.world.new_process(), "demo", daily=True)
    assert space
    maintenance.maintain(talk.process, space)


def test_an_update_makes_what_is_missing_on_all_levels_and_the_next_one_does_nothing():
    talk = talk_of()
    done = talk.update()
    levels = sealed(talk)
    assert done.outcome == "done"
    assert all(levels.values())
    assert done.job.generated == {str(level): count for level, count in levels.items()}
    assert len(talk.llm.asked) == sum(levels.values()) == done.job.usage.calls
    talk.world.client.reset()
    assert talk.update().outcome == "nothing"
    assert set(talk.world.client.counts) <= {"GET", "LIST"}
    assert len(talk.llm.asked) == sum(levels.values())


def test_a_turn_that_ends_no_block_costs_no_call_and_no_write():
    talk = Talk()
    talk.say("only a question", message_id="m")
    talk.world.client.reset()
    assert talk.update().outcome == "nothing"
    assert set(talk.world.client.counts) <= {"GET", "LIST"}


def test_what_one_summary_costs_in_requests():
    talk = Talk()
    talk.say("a" * 100, "b" * 100, message_id="m")
    talk.world.new_process()
    talk.world.client.reset()
    assert talk.update().outcome == "done"
    assert talk.world.client.counts == {"GET": 15, "PUT": 6, "LIST": 5, "DELETE": 1}


def test_two_events_of_one_turn_cost_one_call():
    talk = Talk()
    talk.say("a" * 100, "b" * 100, message_id="m")
    key = next(f"demo/conversations/{talk.id}/{name}" for name in talk.names("turns/"))
    update.hear(talk.process, [key, key, "demo/notes/live/x.md"], talk.world.clock() + INVOCATION)
    update.hear(talk.process, [key], talk.world.clock() + INVOCATION)
    assert len(talk.llm.asked) == 1


@each("level", [1, 2, 3])
def test_a_summary_that_is_made_anew_costs_itself_and_what_stands_above_it(level):
    talk = talk_of()
    talk.update()
    before = len(talk.llm.asked)
    names = set(talk.names("v1/summaries/"))
    orders.redo(talk.process, "demo", talk.id, level, 1)
    talk.world.settle()
    fresh = sorted(name.split("/")[2] for name in set(talk.names("v1/summaries/")) - names)
    assert fresh == [f"l{one}" for one in range(level, 4)]
    assert len(talk.llm.asked) - before == 4 - level
    assert names < set(talk.names("v1/summaries/")), "what was there stays"
    assert talk.update().outcome == "nothing"


def test_an_order_that_is_delivered_twice_makes_a_summary_anew_once():
    talk = talk_of()
    talk.update()
    before = len(talk.llm.asked)
    orders.redo(talk.process, "demo", talk.id, 3, 1)
    talk.world.queued.append(talk.world.queued[0])
    talk.world.settle()
    assert len(talk.llm.asked) - before == 1


def test_two_who_want_the_same_summary_anew_at_once_get_one():
    talk = talk_of()
    talk.update()
    before = len(talk.llm.asked)
    for _ in range(2):
        orders.redo(talk.process, "demo", talk.id, 3, 1)
    talk.world.settle()
    assert len(talk.llm.asked) - before == 1


def test_a_generation_with_a_block_that_can_not_be_summarised_does_not_count_until_it_can():
    talk = talk_of()
    talk.update()
    talk.llm.default = refuse("008 008")
    job = orders.rebuild(talk.process, "demo", talk.id, None, {"window_chars": 700})
    talk.world.settle()
    waits = talk.job(job.job_id)
    assert (at(talk).version, waits.status, waits.error and waits.error.code) == (1, "queued", "llm_contract")
    talk.llm.default = exact
    talk.world.pass_time(3_600)
    sweep(talk)
    talk.world.settle()
    assert (at(talk).version, talk.job(job.job_id).status) == (2, "done")


def test_nothing_is_made_above_a_summary_that_was_lost_until_it_is_there_again():
    talk = talk_of()
    talk.update()
    folder = f"demo/conversations/{talk.id}/"
    doomed = talk.names("v1/summaries/l1/000001/") + talk.names("v1/summaries/l2/000001/")
    talk.world.store.delete_many([folder + name for name in doomed])
    talk.llm.default = refuse("000 000")
    assert talk.update().outcome == "waiting"
    assert not talk.names("v1/summaries/l2/000001/")
    talk.llm.default = exact
    talk.update(by_hand=True)
    talk.world.settle()
    assert [job.status for job in talk.jobs()] == ["done", "done"]
    assert sorted(doomed) == sorted(talk.names("v1/summaries/l1/000001/") + talk.names("v1/summaries/l2/000001/"))


def test_a_turn_that_came_while_a_worker_stood_still_is_no_pause():
    talk = Talk("windows", **SMALL)
    talk.say("a" * 150, "b" * 150, message_id="m1")
    other = talk.world.with_parts()
    talk.world.pass_time(1_190)

    def stand_still(index, verb):
        if verb == "LIST" and talk.world.client.requests[index][1].endswith("/turns/"):
            talk.world.client.after = lambda index, verb: None
            log.append(other, "demo", talk.id, "bob", Draft("c" * 20, "d" * 20, message_id="m2"))
            talk.world.pass_time(1_000)

    talk.world.client.after = stand_still
    assert talk.update().outcome == "nothing"
    assert not talk.names("v1/")


def test_a_summary_is_made_anew_although_a_dead_job_still_has_the_claim():
    talk = talk_of()
    talk.update()
    job = orders.redo(talk.process, "demo", talk.id, 1, 1)
    lease.acquire(talk.process, places.of_conversation("demo", talk.id), talk.world.ids(), "summaries")
    talk.world.work()
    assert talk.job(job.job_id).status == "done"
    assert any(name.split("/")[-1][40:44] == "0001" for name in talk.names("v1/summaries/l1/000001/"))
    talk.world.pass_time(600)
    sweep(talk)
    talk.world.settle()
    assert talk.update().outcome == "nothing", "what stands above it was made because of the marker"


def test_the_job_of_a_rebuild_waits_for_another_job_and_ends():
    talk = talk_of()
    talk.update()
    lease.acquire(talk.process, places.of_conversation("demo", talk.id), talk.world.ids(), "summaries")
    job = orders.rebuild(talk.process, "demo", talk.id, None, {"window_chars": 700})
    with pytest.raises(StillAtWork):
        talk.world.work(talk.world.queued[0])
    talk.world.settle()
    assert talk.job(job.job_id).status == "done"


def test_a_caller_who_orders_an_update_while_a_rebuild_is_at_work_is_told_so():
    talk = talk_of()
    talk.update()
    job = orders.rebuild(talk.process, "demo", talk.id, None, {"window_chars": 700})
    lease.acquire(talk.process, places.of_conversation("demo", talk.id), job.job_id, "summaries", worker="other")
    until = talk.world.clock() + timedelta(seconds=20)

    told = orders.carry_out(talk.world.with_parts(), "demo", talk.id, orders.Wish(), until)

    assert (told.status, told.job_id, told.goes_on) == ("running", job.job_id, True)


@pytest.mark.parametrize("slow", ["/boundaries/", "/summaries/"])
def test_a_caller_gets_an_answer_in_time_however_many_blocks_a_slow_store_has_to_take(slow):
    talk = talk_of(60)
    now = talk.world.clock()
    until = now + timedelta(seconds=20)

    def take_long(index, verb):
        if verb == "PUT" and slow in talk.world.client.requests[index][1]:
            talk.world.clock.move(1)

    talk.world.client.before = take_long
    told = orders.carry_out(talk.world.with_parts(), "demo", talk.id, orders.Wish(), until)
    talk.world.client.before = lambda index, verb: None

    assert told.goes_on
    assert told.status == "running"
    assert talk.world.clock() <= until
    assert talk.names("v1/boundaries/")
    talk.world.settle()
    assert talk.job(told.job_id).status == "done"
    assert talk.update().outcome == "nothing"


@each("request_of", ["update", "forecast", "conversation", "summaries"])
def test_who_reads_a_conversation_while_a_part_of_it_is_removed_is_asked_to_try_again(request_of):
    talk = talk_of()
    talk.update()
    talk.said(700, 700)
    process = talk.world.with_parts()
    until = talk.world.clock() + timedelta(seconds=20)

    def remove(index, verb):
        key = talk.world.client.requests[index][1]
        if verb == "GET" and ("/boundaries/" in key or "/summaries/" in key):
            talk.world.inner.objects.pop(key, None)

    talk.world.client.before = remove
    do = {
        "update": lambda: orders.carry_out(process, "demo", talk.id, orders.Wish(), until),
        "forecast": lambda: orders.carry_out(process, "demo", talk.id, orders.Wish(dry_run=True), until),
        "conversation": lambda: reading.detail(process, "demo", talk.id),
        "summaries": lambda: reading.summary_page(process, "demo", talk.id, level=1, state=None, limit=9, after=None),
    }
    with pytest.raises(LiveMemoryError) as refused:
        do[request_of]()

    assert (refused.value.status, refused.value.retry_after) == (409, 1)


def test_a_rebuild_is_done_by_its_own_job_whoever_comes_first():
    # By an event before its invocation
    talk = talk_of()
    talk.update()
    job = orders.rebuild(talk.process, "demo", talk.id, None, {"window_chars": 700})
    asked = len(talk.llm.asked)
    assert talk.update().job.job_id == job.job_id
    built = talk.job(job.job_id)
    assert (built.status, built.usage.calls) == ("done", len(talk.llm.asked) - asked)
    assert sum(built.generated.values()) == built.usage.calls > 0
    asked = len(talk.llm.asked)
    talk.world.settle()
    assert len(talk.llm.asked) == asked
    # and also where another job is at work when it is ordered: that one leaves it, and says so at once.
    talk.said(700, 700)
    ordered = []

    def meanwhile(messages):
        ordered.append(orders.rebuild(talk.process, "demo", talk.id, None, {"window_chars": 900}))
        return extract(messages)

    talk.llm.queue.append(meanwhile)
    talk.world.queued.clear()
    first = talk.update()
    assert first.outcome == "done"
    assert first.job.job_id != ordered[0].job_id
    assert talk.job(ordered[0].job_id).status == "queued"
    # Whichever comes first of its own invocation and of the look that the other one left behind.
    talk.world.work(talk.world.queued.pop())
    assert talk.job(ordered[0].job_id).status == "done"
    assert talk.job(ordered[0].job_id).usage.calls > 0


def test_a_conversation_that_is_closed_while_a_job_is_at_work_is_looked_at_once_more():
    talk = Talk("windows", window_chars=1_000, min_flush_chars=100)
    talk.said(600, 100)

    def meanwhile(messages):
        log.close(talk.process, "demo", talk.id)
        return extract(messages)

    talk.llm.queue.append(meanwhile)
    assert talk.update().outcome == "done"
    talk.world.queued.popleft()
    talk.world.settle()
    assert reading.detail(talk.process, "demo", talk.id).open_turns == 0
    assert len(talk.llm.asked) == 2


def test_what_no_summary_covers_yet_is_pending():
    talk = talk_of(3)
    talk.said(*[300] * 4)

    def levels():
        return [
            (one.sealed, one.summarised, one.pending) for one in reading.detail(talk.process, "demo", talk.id).levels
        ]

    last = log.last_index(talk.process, "demo", talk.id)
    assert levels() == [(0, 0, last), (0, 0, 0), (0, 0, 0)]
    talk.llm.queue.append(LlmError("llm_timeout", "late"))
    talk.update()
    (sealed, summarised, pending), *_ = levels()
    assert 0 < summarised < sealed <= last
    assert summarised + pending >= last if talk.conversation.profile == "turns" else pending > 0
    talk.world.pass_time(1_800)
    talk.update()
    levels_now = levels()
    assert levels_now[0][2] == reading.detail(talk.process, "demo", talk.id).open_turns
    for (below, _, _), (_, groups, left) in pairwise(levels_now):
        assert left <= below
        assert (left < below) is bool(groups)


def test_an_event_during_another_job_is_made_good_by_the_sweep():
    talk = talk_of(4)
    held = lease.acquire(talk.process, places.of_conversation("demo", talk.id), talk.world.ids(), "summaries")
    assert talk.update().outcome == "busy"
    assert talk.update().owner == held.lease.owner
    talk.world.pass_time(1_800)
    sweep(talk)
    talk.world.settle()
    assert talk.update().outcome == "nothing"
    assert talk.llm.asked


def test_a_rebuild_with_the_same_sources_asks_for_nothing_again():
    talk = talk_of()
    talk.update()
    before = len(talk.llm.asked)
    orders.rebuild(talk.process, "demo", talk.id, None, {"concurrency": 5})
    talk.world.settle()
    assert len(talk.llm.asked) == before
    assert at(talk).version == 2
    assert [n.removeprefix("v2/") for n in talk.names("v2/s")] == [n.removeprefix("v1/") for n in talk.names("v1/s")]


def test_a_rebuild_takes_the_latest_of_what_was_made_anew():
    talk = talk_of()
    talk.update()
    orders.redo(talk.process, "demo", talk.id, 1, 2)
    talk.world.settle()
    before = len(talk.llm.asked)
    orders.rebuild(talk.process, "demo", talk.id, None, {"concurrency": 5})
    talk.world.settle()
    assert len(talk.llm.asked) == before
    assert [name.split("/")[-1][40:44] for name in talk.names("v2/summaries/l1/000002/")] == ["0001"]


def test_the_generation_that_counts_stays_until_the_next_one_is_whole_and_a_day_longer():
    talk = talk_of()
    talk.update()
    orders.rebuild(talk.process, "demo", talk.id, None, {"window_chars": 700})
    talk.llm.queue.extend([exact] * 3 + [DOWN])
    talk.world.work()
    assert at(talk).version == 1
    talk.world.pass_time(3_600)
    sweep(talk)
    talk.world.settle()
    assert at(talk).version == 2
    for hours, left in ((1, True), (25, False)):
        talk.world.pass_time(hours * 3_600)
        daily(talk)
        assert bool(talk.names("v1/")) is left


def test_turns_that_come_while_a_generation_is_built_are_in_it():
    talk = talk_of()
    talk.update()
    orders.rebuild(talk.process, "demo", talk.id, None, {"window_chars": 700})
    other = talk.world.with_parts()

    def answer(messages):
        for number in range(4):
            log.append(other, "demo", talk.id, "bob", Draft("x" * 200, "y" * 200, message_id=f"late{number}"))
        return exact(messages)

    talk.llm.queue.append(answer)
    talk.world.settle()
    assert (at(talk).version, talk.update().outcome) == (2, "nothing")


def test_a_failed_call_stores_nothing_lets_the_job_wait_and_keeps_events_away_longer_each_time():
    talk = talk_of(4)
    for wait in (60, 120, 240):
        talk.llm.queue.extend([DOWN] * 3)
        done = talk.update()
        assert (done.outcome, done.job.status, done.job.error.code) == ("waiting", "queued", "llm_unavailable")
        assert not talk.names("v1/summaries/")
        assert [one.job_id for one in talk.jobs()] == [done.job.job_id], "the job goes on"
        assert talk.update().outcome == "busy"
        talk.world.pass_time(wait - 1)
        assert talk.update().outcome == "busy"
        talk.llm.queue.clear()
        talk.world.pass_time(1)
    assert talk.update().outcome == "done"


def test_whoever_asks_by_hand_does_not_wait_for_a_failure_to_pass():
    talk = talk_of(4)
    talk.llm.queue.extend([DOWN] * 3)
    talk.update()
    talk.llm.queue.clear()
    assert talk.update(by_hand=True).outcome == "done"


def test_after_a_failure_the_sweep_tries_again_by_itself():
    talk = talk_of(4)
    talk.world.store.delete_many(talk.world.keys(due_keys.DUE))
    talk.llm.queue.extend([DOWN] * 3)
    talk.update()
    talk.llm.queue.clear()
    talk.world.pass_time(600)
    sweep(talk)
    talk.world.settle()
    assert talk.update().outcome == "nothing"
    assert talk.names("v1/summaries/")


def refuse(text):
    return lambda messages: "No." if text in messages[1]["content"] else exact(messages)


def test_a_block_that_always_fails_keeps_no_other_from_its_summary_and_nothing_is_built_over_the_hole():
    talk = talk_of()
    talk.llm.default = refuse("008 008")
    done = talk.update()
    layers = summaries.read(talk.process, at(talk))
    there = summaries.current(talk.process, layers, 1)
    (hole,) = set(range(1, layers.boundaries[1] + 1)) - set(there)
    assert (done.outcome, done.job.error.code, done.job.queue_length) == ("waiting", "llm_contract", 1)
    groups = summaries.group_boundaries(talk.process, layers, 2, range(1, layers.boundaries[2] + 1))
    assert all(group.children[1] < hole for group in groups)
    talk.llm.default = exact
    talk.world.pass_time(60)
    assert talk.update().outcome == "done"
    assert sealed(talk) == sealed(talk_updated())


def talk_updated():
    talk = talk_of()
    talk.update()
    return talk


def test_a_rebuild_switches_although_a_block_of_the_former_generation_can_not_be_summarised():
    talk = talk_of()
    talk.llm.default = lambda messages: "No." if len(asked_for(messages)) < 3 else exact(messages)
    talk.update()
    job = orders.rebuild(talk.process, "demo", talk.id, None, {"window_chars": 1_000, "group_chars": 5_000})
    talk.world.settle()
    assert at(talk).version == 2
    assert talk.job(job.job_id).status == "done"


def test_when_the_budget_of_the_day_is_used_up_nothing_is_asked_until_there_is_more():
    talk = Talk("windows", World(llm_daily_token_budget=150), **SMALL)
    talk.say("u" * 600, "a" * 600, message_id="m")
    assert talk.update().outcome == "done"
    asked = len(talk.llm.asked)
    talk.say("u" * 300, "a" * 300, message_id="last")
    done = talk.update()
    assert (done.outcome, done.job.error.code) == ("waiting", budget.EXHAUSTED)
    assert len(talk.llm.asked) == asked
    talk.world.pass_time(24 * 3_600)
    sweep(talk)
    talk.world.settle()
    assert len(talk.llm.asked) > asked
    assert talk.update().outcome == "nothing"


def test_what_there_is_no_time_for_is_handed_on_until_all_is_done():
    talk = talk_of()

    def slow(messages):
        talk.world.clock.move(120)
        return exact(messages)

    talk.llm.default = slow
    first = talk.update()
    assert (first.outcome, first.job.status) == ("unfinished", "running")
    assert len(talk.world.queued) == 1
    rounds = 0
    while talk.world.queued:
        talk.world.work()
        rounds += 1
    assert talk.job(first.job.job_id).status == "done"
    assert talk.update().outcome == "nothing"
    assert len(talk.llm.asked) == sum(sealed(talk).values()) == talk.job(first.job.job_id).usage.calls
    assert rounds < 10


def test_who_has_no_time_at_all_does_not_hand_on_for_ever():
    talk = talk_of(4)
    talk.update(level=1)
    before = len(talk.names("v1/boundaries/l1/"))
    talk.say("u" * 600, "a" * 600)
    done = [update.look(talk.process, "demo", talk.id, talk.world.clock() + timedelta(seconds=5))]
    while talk.world.queued:
        at_once = talk.world.clock() + timedelta(seconds=5)
        done += update.carry_out(talk.process, talk.world.queued.popleft(), at_once)
    # Each one may fix the end of a block, which is progress.
    fixed = len(talk.names("v1/boundaries/l1/")) - before
    assert [one.outcome for one in done[:-1]] == ["unfinished"] * (fixed + worker.MOST_ATTEMPTS)
    assert (done[-1].outcome, done[-1].job.error.code) == ("failed", "not_finished")


def test_who_answers_a_request_leaves_the_rest_to_another_invocation():
    talk = talk_of()
    first = talk.update(by_hand=True)
    assert (first.outcome, sealed(talk)[2]) == ("unfinished", 0)
    assert len(talk.names("v1/summaries/l1/")) == sealed(talk)[1]
    talk.world.settle()
    assert talk.job(first.job.job_id).status == "done"
    assert talk.update().outcome == "nothing"


def test_a_store_that_fails_in_the_middle_frees_the_claim_and_keeps_what_was_paid_in_the_job():
    talk = talk_of(8, concurrency=1)

    def fail(index, verb):
        if verb == "PUT" and "/summaries/l1/000002/" in talk.world.client.requests[index][1]:
            raise error("InternalError", 500, "PutObject")

    talk.world.client.before = fail
    with pytest.raises(StoreUnavailable):
        talk.update()
    talk.world.client.before = lambda index, verb: None
    (job,) = talk.jobs()
    assert (job.status, job.usage.calls) == ("running", 1)
    assert talk.update().outcome == "done"
    assert [(one.job_id, one.status) for one in talk.jobs()] == [(job.job_id, "done")]


def test_a_conversation_that_is_deleted_during_an_update_leaves_nothing_behind():
    talk = talk_of()
    other = talk.world.with_parts()

    def answer(messages):
        removal.delete(other, "demo", talk.id)
        return exact(messages)

    talk.llm.queue.append(answer)
    assert talk.update().outcome == "gone"
    talk.world.pass_time(25 * 3_600)
    sweep(talk)
    daily(talk)
    assert not [key for key in talk.world.inner.objects if talk.id in key]


@each("index", [1, 3, 5])
def test_over_a_turn_that_vanishes_in_a_deletion_no_block_is_sealed(index):
    talk = talk_of(5)
    talk.world.store.delete(TURN.key("demo", talk.id, index))
    assert talk.update().outcome == ("gone" if index < 5 else "done")
    assert bool(talk.names("v1/boundaries/")) is (index == 5)


def test_a_seal_that_is_missing_in_the_chain_is_written_again_where_it_was():
    talk = talk_of()
    talk.update()
    before = boundaries(talk)
    talk.world.store.delete(BOUNDARY.key("demo", talk.id, 1, 1, 2))
    assert talk.update().outcome == "done"
    assert {
        name: talk.world.text(f"demo/conversations/{talk.id}/{name}") for name in talk.names("v1/boundaries/")
    } == before


def test_a_marker_stays_while_the_turn_that_it_tells_of_may_still_be_written():
    talk = Talk("windows", flush_after_ms=60_000, **SMALL)
    hung = []

    def hang(request):
        if "/turns/" in request.key and request.writes:
            hung.append(request)
            raise Killed
        return request.send(talk.world.inner)

    talk.world.client.carry = hang
    with pytest.raises(Killed):
        talk.append(Draft("c" * 300, "d" * 300, message_id="m2"))
    talk.world.client.carry = lambda request: request.send(talk.world.inner)
    talk.world.pass_time(330)
    sweep(talk)
    # Now the turn is written after all, and its event is lost.
    hung[0].send(talk.world.inner)
    talk.world.pass_time(900)
    sweep(talk)
    talk.world.settle()
    assert len(talk.names("v1/summaries/l1/")) == 1


def test_entries_of_a_conversation_cost_one_look_and_go_when_they_are_old():
    talk = Talk("windows", **SMALL)
    for number in range(8):
        talk.say("a", message_id=f"m{number}", after=301)
    assert len(entries(talk)) == 8
    talk.world.pass_time(3_600)
    talk.world.client.reset()
    sweep(talk)
    gets = [key for verb, key in talk.world.client.requests if key.endswith("/conversation.json")]
    assert (len(gets), entries(talk), len(talk.world.queued)) == (1, [], 0)


def test_an_entry_of_nothing_goes():
    talk = Talk()
    due.mark_at(talk.process, "demo", talk.world.ids(), talk.world.clock())
    due.mark_at(talk.process, "gone", talk.world.ids(), talk.world.clock())
    talk.world.pass_time(3_600)
    sweep(talk)
    assert not talk.world.keys(due_keys.DUE)


def test_the_time_rule_ends_an_open_end_by_the_sweep_alone():
    talk = Talk("windows", **SMALL)
    talk.say("a" * 60, "b" * 60, message_id="m")
    assert talk.update().outcome == "nothing"
    talk.world.pass_time(1_499)
    sweep(talk)
    talk.world.settle()
    assert len(talk.names("v1/summaries/l1/")) == 1


@pytest.mark.slow
@given(
    st.sampled_from(["windows", "turns"]),
    st.lists(st.sampled_from([10, 60, 200, 400, 700, 5_500]), min_size=1, max_size=25),
    st.integers(0, 24),
    st.sampled_from([0, 2_000]),
)
def test_a_forecast_is_what_is_then_done_where_summaries_have_the_length_that_is_asked_for(
    profile, sizes, split, pause
):
    talk = Talk(profile, window_chars=500, min_flush_chars=100, group_chars=1_000, group_raw_chars=900, ratio=0.5)
    talk.llm = Summariser(default=exact)
    talk.world.llm = talk.llm  # type: ignore[assignment]
    for number, size in enumerate(sizes):
        talk.say("u" * size, "a" * size, message_id=f"m{number}")
        if number == split:
            talk.update()
    talk.world.pass_time(pause)
    asked = len(talk.llm.asked)
    talk.world.client.reset()
    told = orders.forecast(talk.process, at(talk))
    assert set(talk.world.client.counts) <= {"GET", "LIST"}
    before = sealed(talk)
    talk.update()
    assert told.calls == len(talk.llm.asked) - asked
    after = sealed(talk)
    assert {plan.level: plan.boundaries for plan in told.levels} == {n: after[n] - before[n] for n in after}


def test_a_forecast_of_prompt_tokens_is_right_for_many_short_turns_too():
    talk = Talk("windows")
    talk.world.llm = talk.llm = Summariser(default=exact)  # type: ignore[assignment]
    for number in range(120):
        talk.say(f"Ann: Who fed the cat on day {number}, and with what? ", "Bob: I did. " * 8, message_id=f"m{number}")
    talk.world.pass_time(3_600)
    told = orders.forecast(talk.process, at(talk))
    talk.update()
    sent = sum(len(message["content"]) for messages in talk.llm.asked for message in messages) // 4
    assert told.calls == len(talk.llm.asked) > 2
    assert 0.97 < told.prompt_tokens / sent < 1.03


def test_a_summary_says_what_it_covers_and_is_never_asked_for_with_what_it_does_not():
    talk = talk_of()
    talk.update()
    layers = summaries.read(talk.process, at(talk))
    for level in (2, 3):
        for number in range(1, layers.boundaries[level] + 1):
            boundary = summaries.group_boundaries(talk.process, layers, level, [number])[0]
            below = summaries.current(talk.process, layers, level - 1)
            first, last = boundary.children
            children = summaries.load(
                talk.process,
                layers,
                level - 1,
                {n: below[n] for n in range(first, last + 1)},
            )
            assert boundary.covers == (children[0].covers.turns[0], children[-1].covers.turns[1])


def test_another_model_makes_what_is_new_and_remakes_nothing():
    talk = talk_of(10)
    talk.update()
    maker = making.maker(talk.process, at(talk))
    other = World(talk.world.inner, llmaas_model="another")
    other.clock = talk.world.clock
    other.llm = talk.llm
    other.new_process()
    assert update.look(other.process, "demo", talk.id, INVOCATION + other.clock()).outcome == ("nothing")
    assert making.maker(other.process, at(talk)) != maker


@pytest.mark.parametrize("profile", ["turns", "windows"])
def test_a_small_block_is_its_own_summary_and_asks_no_model(profile):
    talk = Talk(profile, verbatim_chars=1_500, min_flush_chars=100)
    talk.say("Why does it fail?", "Kiel answers 503.", message_id="m1")
    talk.say("Try thrice.", "", message_id="m2")
    log.close(talk.process, "demo", talk.id)
    planned = orders.plan(talk.process, "demo", talk.id, orders.Wish())
    assert (planned.levels[0].boundaries > 0, planned.calls) == (True, 0)
    assert talk.update().outcome == "done"
    assert talk.llm.asked == []
    layers = summaries.read(talk.process, at(talk))
    told = summaries.load(talk.process, layers, 1, summaries.current(talk.process, layers, 1))
    words = "User: Why does it fail?\n\nAssistant: Kiel answers 503.\n\nUser: Try thrice."
    assert "\n\n".join(one.summary for one in told) == words
    assert {(one.model, one.usage.calls, one.chars == len(one.summary)) for one in told} == {("none", 0, True)}
    # One character more is asked for.
    talk.say("x" * 800, "y" * 701)
    log.close(talk.process, "demo", talk.id)
    assert orders.plan(talk.process, "demo", talk.id, orders.Wish()).calls == 1
    talk.update()
    assert len(talk.llm.asked) == 1
