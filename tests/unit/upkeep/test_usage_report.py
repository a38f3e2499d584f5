"""What the LLM was used for is counted once, whatever becomes of runs, workers, answers of the store, and spaces."""

import json
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from datetime import date
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livemem.access.principal import Principal
from livemem.copies import relabel
from livemem.errors import InvalidRequest, NotFound, RunError, StillAtWork
from livemem.jobs import budget
from livemem.llm.client import LlmError, Reply
from livemem.llm.usage import Usage
from livemem.spaces import lifecycle, totals
from livemem.spaces import usage_counts as usages
from livemem.spaces.totals import Sums
from livemem.store.bucket import TOTALS
from livemem.upkeep import health, usage_report
from livemem.upkeep.usage_report import UsageOfDays
from tests.support.actors import Actor
from tests.support.bucket import error
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.world import EVERYONE, INVOCATION, World
from tests.unit.jobs.test_runs import die

TODAY = date(2026, 2, 20)
DAY = 86_400


def world_with_notes(**settings: Any) -> World:
    world = World(**settings)
    world.create_space()
    add(world)
    return world


def add(world: World, space_id: str = "demo", count: int = 2) -> None:
    for number in range(count):
        world.note(f"note {number}", space_id=space_id)
        world.clock.move(1)


def of_space(world: World, days: int = 1, until: date | None = None, space_id: str = "demo") -> UsageOfDays:
    return usage_report.read(world.process, EVERYONE, space_id, days=days, until=until)


def of_all(world: World, caller: Principal = EVERYONE, days: int = 1) -> UsageOfDays:
    return usage_report.read(world.process, caller, None, days=days, until=None)


def test_runs_notes_calls_and_tokens_are_counted_by_the_day_on_which_they_were_queued():
    world = world_with_notes()
    world.consolidate()
    world.clock.move(DAY)
    add(world, count=3)
    world.consolidate()
    add(world, count=1)
    world.consolidate(dry_run=True)

    report = of_space(world, days=3)

    assert [
        (str(day), sums.runs, sums.notes, sums.usage.calls, sums.usage.tokens) for day, sums in report.days.items()
    ] == [
        ("2026-02-19", 0, 0, 0, 0),
        ("2026-02-20", 1, 2, 1, 120),
        # The dry run folds one note in its plan alone, but it is paid for.
        ("2026-02-21", 2, 3, 2, 240),
    ]
    assert (report.total.runs, report.total.usage.prompt_tokens, report.total.usage.completion_tokens) == (3, 300, 60)
    assert of_space(world, days=1, until=TODAY).total == report.days[TODAY]


@each(
    ("error", "expected"),
    [
        (LlmError("llm_cut_off", "x", usage={"prompt_tokens": 90, "completion_tokens": 10}), (90, 10, 0)),
        (LlmError("llm_timeout", "x"), (0, 0, None)),
        (LlmError("llm_malformed", "x"), (0, 0, None)),
        (LlmError("llm_unreachable", "x"), (0, 0, 0)),
        (LlmError("llm_refused_request", "x", 400), (0, 0, 0)),
    ],
)
def test_a_call_that_failed_counts_for_what_it_may_have_cost(error: LlmError, expected: tuple[Any, ...]):
    world = world_with_notes()
    world.llm.queue.append(error)
    world.consolidate()

    sums = of_space(world).total

    prompt, completion, estimated = expected
    assert (sums.failed_runs, sums.notes, sums.usage.calls) == (1, 0, 1)
    assert (sums.usage.prompt_tokens, sums.usage.completion_tokens) == (prompt, completion)
    # Rules, bank and notes of some hundred bytes, and the instructions.
    assert sums.usage.estimated_tokens > 500 if estimated is None else sums.usage.estimated_tokens == estimated


def test_a_provider_that_counts_no_tokens_is_estimated():
    world = world_with_notes()
    scripted = world.llm
    world.llm = lambda *asked: Reply(scripted(*asked).text)  # type: ignore[assignment]

    world.consolidate()

    assert of_space(world).total.usage.estimated_tokens > 500


def test_a_worker_that_died_over_its_question_counts_and_so_does_the_next_one_of_its_run():
    world = world_with_notes()
    world.order()
    invocation = world.queued.pop()
    world.llm.queue.append(die)
    with pytest.raises(Killed):
        world.work(invocation)
    world.new_process()

    world.clock.move(120)
    assert world.work(invocation).state == "done"
    both = of_space(world).total
    assert (both.usage.calls, both.usage.prompt_tokens, both.usage.completion_tokens) == (2, 100, 20)
    assert both.usage.estimated_tokens > 500
    assert (both.runs, both.failed_runs, both.notes) == (1, 0, 2)


def test_with_a_budget_a_worker_that_died_counts_before_anybody_goes_on_with_its_run():
    world = world_with_notes(llm_daily_token_budget_per_space=10_000)
    world.order()
    world.llm.queue.append(die)
    with pytest.raises(Killed):
        world.work()
    world.new_process()

    died = of_space(world).total

    assert (died.usage.calls, died.usage.prompt_tokens) == (1, 0)
    assert died.usage.estimated_tokens > 500


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_run_that_was_given_up_counts_for_what_was_asked(dry_run: bool):
    world = world_with_notes()
    world.order(dry_run=dry_run)
    invocation = world.queued.pop()
    world.llm.queue.append(die)
    with pytest.raises(Killed):
        world.work(invocation)
    world.new_process()
    world.clock.move(2 * 3_600)

    world.sweep()

    sums = of_space(world).total
    assert (sums.failed_runs, sums.usage.calls, sums.notes) == (1, 1, 0)
    assert sums.usage.estimated_tokens > 500


def test_what_a_deleted_space_used_still_counts_once_for_the_account_however_often_the_deletion_is_begun():
    world = world_with_notes()
    world.consolidate()
    before = of_all(world)
    requests = len(world.client.requests)
    lifecycle.delete(world.process, "demo", "demo")
    deletion = len(world.client.requests) - requests

    assert of_all(world) == before

    for point in range(deletion):
        again = world_with_notes()
        again.consolidate()
        again.client.reset()
        again.client.kill_at(point, done=True)
        try:
            lifecycle.delete(again.process, "demo", "demo")
        except Killed:
            again.new_process()
        assert of_all(again) == before, point
        again.clock.move(21 * 60)
        again.sweep()
        assert of_all(again).total == before.total, point


def test_what_a_dying_worker_had_asked_counts_although_its_space_is_deleted_before_the_run_has_ended():
    world = world_with_notes()
    world.order()
    world.llm.queue.append(die)
    with pytest.raises(Killed):
        world.work()
    world.new_process()

    lifecycle.delete(world.process, "demo", "demo")

    assert of_all(world).total.usage.calls == 1


def test_late_repeats_of_all_that_was_written_count_nothing_twice():
    world = world_with_notes(llm_daily_token_budget=10_000)
    sent: list[Any] = []
    carry = world.client.carry
    world.client.carry = lambda request: (sent.append(request), carry(request))[1]
    world.consolidate()
    before = of_all(world)

    for request in [one for one in sent if one.writes and one.key.startswith(TOTALS.prefix())]:
        with pytest.raises(ClientError, match="PreconditionFailed"):
            request.send(world.inner)

    assert of_all(world) == before


def test_a_report_of_all_shows_what_the_caller_may_see_and_who_used_most_first():
    world = world_with_notes()
    world.consolidate()
    for name, count in (("busy", 2), ("idle", 0)):
        world.create_space(name)
        for _ in range(count):
            add(world, name)
            world.consolidate(name)

    report = of_all(world)
    assert [(name, sums.usage.tokens) for name, sums in report.spaces.items()] == [("busy", 240), ("demo", 120)]
    assert report.total.usage.tokens == 360

    limited = Principal("boss", frozenset({"admin"}), frozenset({"demo"}))
    assert list(of_all(world, limited).spaces) == ["demo"]
    assert of_all(world, limited).total.usage.tokens == 120


def test_a_report_costs_the_same_however_many_runs_there_were():
    world = world_with_notes()
    for _ in range(3):
        add(world)
        world.consolidate()
    world.new_process()

    of_space(world, days=7)
    assert dict(world.client.counts) == {"GET": 1 + 7}
    world.client.reset()
    of_all(world, days=7)
    assert dict(world.client.counts) == {"LIST": 7, "GET": 1}
    world.client.reset()
    of_all(world, days=7)
    assert dict(world.client.counts) == {"LIST": 7}


def test_a_run_that_has_nothing_to_do_leaves_nothing():
    world = World(llm_daily_token_budget=10_000)
    world.create_space()

    for _ in range(3):
        assert world.consolidate().state == "nothing_to_do"

    assert world.keys("_system/usage/") == []
    assert of_space(world).total.runs == 0


@pytest.mark.parametrize("days", [0, -1, 32])
def test_more_days_than_there_may_be_are_refused(days: int):
    with pytest.raises(InvalidRequest, match="days"):
        of_space(world_with_notes(), days=days)


def test_a_day_before_the_calendar_is_refused_and_an_unknown_space_not_found():
    world = world_with_notes()
    with pytest.raises(InvalidRequest, match="until"):
        of_space(world, days=5, until=date.min)
    with pytest.raises(NotFound):
        of_space(world, space_id="nowhere")


@pytest.mark.slow
def test_ten_thousand_runs_of_a_day_stop_neither_runs_nor_reports():
    world = world_with_notes(llm_daily_token_budget=10_000, llm_daily_token_budget_per_space=10_000)
    day = world.clock().date()
    for number in range(10_001):
        # As earlier versions entered each run; and the totals of as many that used nothing.
        world.inner.put_object(Bucket="bucket", Key=f"_system/runs/{day:%Y%m%d}/demo/{number:026d}", Body=b"")
    for number in range(50):
        counted = [totals.Added(f"{number}-{part}", Sums.of(Usage(), runs=1)) for part in range(200)]
        totals.add(world.process, day, "demo", counted)
    world.new_process()

    assert world.consolidate().state == "done"
    assert len([key for _, key in world.client.requests if key.startswith("_system/")]) <= 6
    assert of_all(world).total.runs == 10_001
    assert len(world.text(world.keys(TOTALS.prefix())[0])) < 25_000


@pytest.mark.parametrize("name", ["llm_daily_token_budget", "llm_daily_token_budget_per_space"])
def test_when_the_days_tokens_are_used_up_runs_fail_their_notes_stay_and_the_next_day_goes_on(name: str):
    world = World(**{name: 120})
    world.create_space(threshold=2)
    add(world)
    world.count()
    world.settle()
    assert world.live_ids() == []
    add(world)
    asked = len(world.llm.prompts)

    world.count()
    world.settle()

    run = world.view(world.keys("demo/_runs/")[-1][-31:-5])
    assert (run.state, run.error.code) == ("failed", "token_budget_exhausted")
    assert f"used 120 of 120 tokens of the LLM ({name.upper()})" in run.error.detail
    assert (len(world.live_ids()), len(world.llm.prompts)) == (2, asked)
    # By hand it is no different.
    assert world.consolidate().error.code == "token_budget_exhausted"
    assert of_space(world).total.usage.calls == 1
    # Ten hours later the next day begins; nobody starts a run before.
    while world.clock().date() == TODAY:
        world.sweep()
        world.settle()
        assert len(world.live_ids()) == 2
        world.clock.move(900)
    world.sweep()
    world.settle()
    assert world.live_ids() == []
    assert len(world.llm.prompts) == asked + 1


def test_a_budget_of_each_space_stops_no_other_one_and_that_of_the_service_stops_all():
    for limits, expected in (
        ({"llm_daily_token_budget_per_space": 100}, "done"),
        ({"llm_daily_token_budget": 100}, "failed"),
    ):
        world = world_with_notes(**limits)
        world.consolidate()
        world.create_space("other")
        add(world, "other")

        assert world.consolidate("other").state == expected


def test_a_run_that_was_queued_before_midnight_keeps_nobody_waiting_after_it():
    world = World(llm_daily_token_budget=100)
    world.create_space(threshold=2)
    add(world)
    world.count()
    world.settle()
    world.clock.moment = world.clock().replace(hour=23, minute=59)
    add(world)
    world.count()
    world.clock.move(300)
    world.settle()
    assert len(world.live_ids()) == 2

    world.clock.move(61)
    world.sweep()
    world.settle()

    assert world.live_ids() == []


def test_a_dry_run_is_not_begun_either():
    world = world_with_notes(llm_daily_token_budget=100)
    world.consolidate()
    add(world)

    assert world.consolidate(dry_run=True).error.code == "token_budget_exhausted"


def test_more_tokens_for_the_day_are_taken_up_within_the_hour():
    world = World(llm_daily_token_budget=100)
    world.create_space(threshold=2)
    for _ in range(2):
        add(world)
        world.count()
        world.settle()
    assert len(world.live_ids()) == 2

    richer = World(world.inner, llm_daily_token_budget=1_000)
    richer.clock = world.clock
    richer.ids = world.ids
    richer.new_process()
    richer.clock.move(3_600)
    richer.sweep()
    richer.settle()

    assert richer.live_ids() == []


def test_health_and_report_say_that_the_budget_is_used_up():
    world = World(llm_daily_token_budget=100, llm_daily_token_budget_per_space=0)
    world.create_space(threshold=2)
    assert health.deep(world.process, EVERYONE).checks["llm_budget"] == "ok"
    for _ in range(2):
        add(world)
        world.count()
        world.settle()

    found = health.deep(world.process, EVERYONE)

    assert (found.status, found.checks["llm_budget"]) == ("degraded", "exhausted")
    assert "token_budget_exhausted" in [problem.code for problem in found.problems]
    assert (of_all(world).budget.tokens_per_day, of_all(world).budget.used_today) == (100, 120)
    assert of_all(world).budget.exhausted
    assert not of_space(world).budget.exhausted
    # Who may see some spaces is not told what all the others use.
    limited = Principal("boss", frozenset({"admin"}), frozenset({"other"}))
    assert (of_all(world, limited).budget.tokens_per_day, of_all(world, limited).budget.used_today) == (None, 0)


def test_without_a_budget_a_run_is_counted_by_one_write():
    world = world_with_notes()
    world.order()
    world.client.reset()

    world.work()

    assert [verb for verb, key in world.client.requests if key.startswith(TOTALS.prefix())] == ["GET", "PUT"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Reserved; counted at its end.
        ("llm_daily_token_budget_per_space", ["PUT", "PUT"]),
        # Between them the service's totals, of which the other space's were changed since.
        ("llm_daily_token_budget", ["PUT", "LIST", "GET", "PUT"]),
    ],
)
def test_what_a_budget_costs_does_not_grow_with_runs(name: str, expected: list[str]):
    world = world_with_notes(**{name: 10_000})
    for _ in range(3):
        world.consolidate()
        add(world)
    others = world.with_parts()
    totals.add(others, world.clock().date(), "other", [totals.Added("x", Sums.of(Usage(1, 1, 1)))])
    assert totals.shard_of("other") != totals.shard_of("demo")
    world.order()
    world.client.reset()

    world.work()

    assert [verb for verb, key in world.client.requests if key.startswith(TOTALS.prefix())] == expected


def all_at_once(world: World, spaces: Sequence[str], prompt: int, used: Usage) -> tuple[int, int]:
    """Each space's worker begins a call, all of them before the first ends; how many were made, and were refused."""
    made, refused = 0, 0
    with ExitStack() as under_way:
        for space_id in spaces:
            process = world.with_parts()
            try:
                meter = under_way.enter_context(budget.metered(process, space_id, "Later."))
                meter.before_call(prompt, 100, 60)
            except RunError:
                refused += 1
            else:
                meter.answered(
                    Reply("", {"prompt_tokens": used.prompt_tokens, "completion_tokens": used.completion_tokens})
                )
                made += 1
    return made, refused


@pytest.mark.parametrize("name", ["llm_daily_token_budget", "llm_daily_token_budget_per_space"])
def test_forty_calls_at_once_use_no_more_than_the_budget_and_one_call(name: str):
    world = World(**{name: 3_000})
    spaces = ["demo"] * 40 if name.endswith("space") else [f"space-{number}" for number in range(40)]

    made, refused = all_at_once(world, spaces, 500, Usage(1, 480, 90))

    # The fifth crosses nothing yet: four times 600 are reserved before it.
    assert (made, refused) == (5, 35)
    used = of_all(world).total.usage
    assert used == Usage(5, 5 * 480, 5 * 90)
    # What was reserved and not used is there again.
    assert all_at_once(world, spaces, 500, Usage(1, 480, 90)) == (1, 39)
    assert all_at_once(world, spaces, 500, Usage(1, 480, 90)) == (0, 40)
    assert of_all(world).total.usage.tokens <= 3_000 + 600


@pytest.mark.slow
@given(data=st.data())
@settings(suppress_health_check=list(HealthCheck))
def test_whatever_the_order_of_their_requests_calls_of_many_spaces_use_no_more_than_the_budget_and_one_call(data):
    world = World(llm_daily_token_budget=1_000)

    def ask(actor: Actor) -> str:
        with budget.metered(actor.process, actor.name, "Later.") as meter:
            meter.before_call(300, 100, 60)
            actor.pause()
            meter.answered(Reply("", {"prompt_tokens": 300, "completion_tokens": 100}))
        return "made"

    actors = [Actor(f"space-{number}", world, ask, world.clock() + INVOCATION) for number in range(5)]
    while waiting := [actor for actor in actors if not actor.done]:
        actor = data.draw(st.sampled_from(waiting))
        if data.draw(st.integers(0, 9)) == 0:
            actor.loses = "again"
        actor.step()

    assert all(isinstance(actor.error, RunError) or actor.result == "made" for actor in actors)
    made = [actor for actor in actors if actor.result == "made"]
    assert 1 <= len(made) <= 3
    assert of_all(world).total.usage == Usage(len(made), 300 * len(made), 100 * len(made))


@each("done", [False, True])
@each("kill", [True, False])
def test_a_call_counts_once_wherever_its_worker_dies_or_the_answer_to_a_write_is_lost(done: bool, kill: bool):
    point, requests = 0, 1
    while point < requests:
        world = World(llm_daily_token_budget=100_000)
        totals.add(world.process, TODAY, "demo", [totals.Added("before", Sums.of(Usage(1, 10, 10)))])
        world.new_process()
        if kill:
            world.client.kill_at(point, done=done)
        else:
            world.client.break_at(point, "PreconditionFailed", 412, done=done)
        asked = ended = False
        try:
            with budget.metered(world.process, "demo", "Later.") as meter:
                meter.before_call(300, 100, 60)
                asked = True
                meter.answered(Reply("", {"prompt_tokens": 280, "completion_tokens": 50}))
            ended = True
        except Killed:
            requests = point + 2
        requests = max(requests, len(world.client.requests)) if not kill else requests
        is_write = point < len(world.client.requests) and world.client.requests[point][0] == "PUT"
        world.new_process()
        world.clock.move(180)

        used = of_all(world).total.usage

        # Counted as it was, or estimated where its worker died before it could say so; not asked may be unreserved.
        before, counted = Usage(1, 10, 10), [Usage(1, 280, 50)]
        if (kill and not ended) or (not kill and not is_write):
            counted.append(Usage(1, 0, 0, 300))
        assert used in [before + one for one in (counted if asked else [*counted, Usage()])], point
        assert budget_left(world) == 100_000 - used.tokens
        point += 1
    assert point > 3


@each("limits", [{}, {"llm_daily_token_budget": 10_000}])
def test_a_run_counts_once_with_its_notes_and_all_it_asked_wherever_its_worker_dies(limits: dict[str, int]):
    point, died = 0, True
    while died:
        world = world_with_notes(**limits)
        run_id = world.order().job_id
        invocation, died = world.queued.pop(), False
        world.client.reset()
        world.client.kill_at(point, done=False)
        try:
            world.work(invocation)
        except Killed:
            died = True
        world.new_process()
        # As the function service delivers it again; and once too often, after all has ended.
        for seconds in (60, 3_600, 60):
            world.clock.move(seconds)
            with suppress(StillAtWork):
                world.work(invocation)
            world.sweep()
            world.settle()
            world.new_process()

        total, run = of_space(world).total, world.view(run_id)
        told = usages.RunTold.model_validate(run.model_dump())
        assert (run.state, total.runs, total.failed_runs, total.notes) == ("done", 1, 0, 2), point
        assert total.usage == told.used(), point
        # One that died between its word and its question counts as if it had asked.
        assert len(world.llm.prompts) <= total.usage.calls <= len(world.llm.prompts) + died, point
        # The second limit adds requests of its own: each third is enough to meet them.
        point += 3 if limits else 1
    assert point > 20


def budget_left(world: World) -> int:
    found = totals.service_budget(world.process)
    return (found.tokens_per_day or 0) - found.used_today


def test_what_a_dead_worker_has_reserved_is_there_again_when_its_time_is_over():
    world = World(llm_daily_token_budget_per_space=1_000)
    budget.Meter(world.with_parts(), "demo", TODAY, world.ids(), "Later.").before_call(100, 900, 60)
    assert all_at_once(world, ["demo"], 100, Usage(1, 100, 10)) == (0, 1)

    world.clock.move(121)

    assert all_at_once(world, ["demo"], 100, Usage(1, 100, 10)) == (1, 0)
    assert of_all(world).total.usage == Usage(2, 100, 10, 100)


def test_the_brake_lets_a_call_pass_where_the_store_does_not_tell_what_was_used():
    world = World(llm_daily_token_budget=1_000, llm_daily_token_budget_per_space=1_000)
    world.client.before = lambda index, verb: (_ for _ in ()).throw(error("InternalError", 500, verb))

    assert all_at_once(world, ["demo"], 100, Usage(1, 100, 10)) == (1, 0)


def test_totals_that_somebody_wrote_by_hand_begin_anew_and_stop_nobody():
    world = world_with_notes(llm_daily_token_budget=10_000)
    key = TOTALS.key(TODAY, totals.shard_of("demo"))
    world.store.put(key, b'{"spaces": {"demo": {"calls": -5, "prompt_tokens": 1e400}}}')

    assert world.consolidate().state == "done"
    assert of_space(world).total.usage == Usage(1, 100, 20)


@each(
    "more",
    [{}, {"estimated_tokens": 10**30}, {"x": 1e400}, {"x": json.loads("[" * 60 + "]" * 60)}],
    ids=["as others", "beyond its bounds", "no number", "deep"],
)
def test_a_run_that_came_with_an_import_counts_nothing_where_it_came_to(more):
    told = {"job_id": world_with_notes().ids(), "created_at": "2026-02-20T14:00:00Z", "status": "running"}
    spent = {"asking": {"calls": 1, **more}}
    names = relabel.Names("a", "demo", "uid")
    body = json.dumps(
        {**told, **spent, "space_id": "a", "uid": "x", "trigger": "api", "kind": "consolidation"}
    ).encode()
    world = world_with_notes(llm_daily_token_budget=1_000)
    name = f"_runs/{told['job_id']}.json"
    world.store.put(f"demo/{name}", relabel.relabel(name, body, names))

    lifecycle.delete(world.process, "demo", "demo")

    assert of_all(world).total.usage == Usage()
