"""What the LLM was used for is counted from the runs themselves: whatever became of them, and of their space."""

from datetime import date
from typing import Any

import pytest

from livemem.access.principal import Principal
from livemem.consolidation.pipeline import consolidate
from livemem.errors import AnswerTooLarge, InvalidRequest, NotFound
from livemem.llm.client import LlmError, Reply
from livemem.llm.usage import Usage
from livemem.spaces import life
from livemem.spaces import usage as usages
from livemem.store import keys
from livemem.upkeep import health, usage
from livemem.upkeep.usage import Report
from tests.support.counting import Killed
from tests.support.world import EVERYONE, INVOCATION, World
from tests.unit.runs.test_runs import die

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


def of_space(world: World, days: int = 1, until: date | None = None, space_id: str = "demo") -> Report:
    return usage.of_space(world.process, space_id, days=days, until=until)


def of_all(world: World, caller: Principal = EVERYONE, days: int = 1) -> Report:
    return usage.of_all(world.process, caller, days=days, until=None)


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


@pytest.mark.parametrize(
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

    died = of_space(world).total

    assert (died.runs, died.usage.calls, died.usage.prompt_tokens) == (1, 1, 0)
    assert died.usage.estimated_tokens > 500
    world.clock.move(120)
    assert (world.work(invocation) or died).status == "ok"  # type: ignore[union-attr]
    both = of_space(world).total
    assert both.usage == died.usage + Usage(1, 100, 20)
    assert (both.runs, both.failed_runs, both.notes) == (1, 0, 2)


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
    life.delete(world.process, "demo", "demo")
    deletion = len(world.client.requests) - requests

    assert of_all(world) == before

    for point in range(deletion):
        again = world_with_notes()
        again.consolidate()
        again.client.reset()
        again.client.kill_at(point, done=True)
        try:
            life.delete(again.process, "demo", "demo")
        except Killed:
            again.new_process()
        assert of_all(again) == before, point
        again.clock.move(21 * 60)
        again.sweep()
        assert of_all(again).total == before.total, point


def test_a_late_repeat_of_an_entry_does_not_take_away_what_it_keeps():
    world = world_with_notes()
    sent: list[Any] = []
    carry = world.client.carry
    world.client.carry = lambda request: (sent.append(request), carry(request))[1]
    world.consolidate()
    entry = next(request for request in sent if request.writes and request.key.startswith(keys.RUNS))
    life.delete(world.process, "demo", "demo")
    before = of_all(world)

    with pytest.raises(Exception, match="PreconditionFailed"):
        entry.send(world.inner)

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


def test_a_report_costs_a_list_a_day_and_a_get_for_each_run_that_was_not_seen_to_have_ended():
    world = world_with_notes()
    for _ in range(3):
        add(world)
        world.consolidate()
    world.order()
    world.process.cache(usages._Final)
    of_space(world)
    world.client.reset()

    of_all(world, days=7)

    assert dict(world.client.counts) == {"LIST": 7, "GET": 1}


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


def test_more_runs_than_one_answer_can_read_are_told(monkeypatch: pytest.MonkeyPatch):
    world = world_with_notes()
    for _ in range(3):
        world.order()
    monkeypatch.setattr(usages, "MOST_RUNS", 2)

    with pytest.raises(AnswerTooLarge, match="3 runs"):
        of_all(world)


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
    assert (run.status, (run.error or {})["code"]) == ("error", "token_budget_exhausted")
    assert f"used 120 of 120 tokens of the LLM ({name.upper()})" in (run.error or {})["detail"]
    assert (len(world.live_ids()), len(world.llm.prompts)) == (2, asked)
    # By hand it is no different.
    assert (world.consolidate().error or {})["code"] == "token_budget_exhausted"
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
    for settings, expected in (
        ({"llm_daily_token_budget_per_space": 100}, "ok"),
        ({"llm_daily_token_budget": 100}, "error"),
    ):
        world = world_with_notes(**settings)
        world.consolidate()
        world.create_space("other")
        add(world, "other")

        assert world.consolidate("other").status == expected


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

    assert (world.consolidate(dry_run=True).error or {})["code"] == "token_budget_exhausted"


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


def test_without_a_budget_a_run_asks_for_nothing_of_the_day():
    world = world_with_notes()
    world.order()
    world.client.reset()

    world.work()

    assert not [key for verb, key in world.client.requests if key.startswith(keys.RUNS)]


def test_a_budget_costs_one_list_and_a_get_for_each_run_of_the_day_that_was_not_seen_to_have_ended():
    world = world_with_notes(llm_daily_token_budget=10_000)
    for _ in range(3):
        add(world)
        world.consolidate()
    add(world)
    world.order()
    world.client.reset()

    consolidate(
        world.process, "demo", world.queued[0]["run_id"], world.queued[0]["uid"], deadline=world.clock() + INVOCATION
    )

    asked = [verb for verb, key in world.client.requests if key.startswith(keys.RUNS)]
    assert asked == ["LIST"]
