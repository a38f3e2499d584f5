import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from local.functions.async_queue import AsyncQueue
from local.functions.expressions import Cron, Rate, read_expression
from local.functions.schedules import Plan, Scheduler, build_scheduled_event
from local.functions.template import Function, Schedule

NIGHT = datetime(2026, 11, 22, 2, tzinfo=UTC)
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)


def nightly(zone: str = "UTC") -> Cron:
    found = read_expression("cron(0 2 * * ? *)", zone)
    assert isinstance(found, Cron)
    return found


def run_times(start: datetime, *looks: datetime, when: Cron | Rate | None = None) -> list[datetime | None]:
    """What a plan says each time when somebody looks at the clock."""
    plan = Plan(when or nightly(), start)
    return [plan.take_due(now) for now in looks]


def test_a_scheduled_event_says_when_and_by_which_schedule_or_what_the_schedule_says():
    now = datetime(2026, 11, 21, 4, 5, 6, tzinfo=UTC)
    event = build_scheduled_event(Schedule("Often", Rate(900)), now)
    assert event == {"detail-type": "Scheduled Event", "time": "2026-11-21T04:05:06Z", "resources": ["Often"]}
    assert build_scheduled_event(Schedule("Often", Rate(900), '{"a": 1}'), now) == {"a": 1}


def test_a_time_of_the_day_is_due_once_each_day():
    found = run_times(NIGHT - HOUR, NIGHT - SECOND, NIGHT, NIGHT, NIGHT + 5 * SECOND, NIGHT + DAY + 3 * SECOND)
    assert found == [None, NIGHT, None, None, NIGHT + DAY]


def test_a_machine_that_slept_makes_up_for_one_run_and_not_for_all():
    woken = NIGHT + 10 * DAY + 7 * HOUR
    found = run_times(NIGHT - HOUR, woken, woken + SECOND, NIGHT + 11 * DAY)
    assert found == [NIGHT, None, NIGHT + 11 * DAY]


def test_what_came_before_the_start_is_not_made_up_for():
    assert run_times(NIGHT + SECOND, NIGHT + 2 * SECOND, NIGHT + HOUR, NIGHT + DAY) == [None, None, NIGHT + DAY]


def test_a_clock_that_is_set_back_a_little_runs_nothing_twice():
    found = run_times(NIGHT - HOUR, NIGHT + SECOND, NIGHT - 600 * SECOND, NIGHT, NIGHT + DAY)
    assert found == [NIGHT, None, None, NIGHT + DAY]


def test_a_clock_that_was_years_ahead_stops_no_schedule_when_it_is_set_right():
    found = run_times(NIGHT + 1000 * DAY, NIGHT - HOUR, NIGHT, NIGHT + DAY)
    assert found == [None, NIGHT, NIGHT + DAY]
    found = run_times(NIGHT - HOUR, NIGHT + 1000 * DAY, NIGHT + HOUR, NIGHT + DAY)
    assert found == [NIGHT, None, NIGHT + DAY]


def test_a_schedule_without_a_next_time_is_never_due():
    over = read_expression("cron(0 2 * * ? 2020)")
    assert isinstance(over, Cron)
    assert run_times(NIGHT, NIGHT + DAY, when=over) == [None]


def test_a_rate_is_due_soon_after_the_start_and_then_that_long_after_each_run():
    looks = (NIGHT + 9 * SECOND, NIGHT + 10 * SECOND, NIGHT + 909 * SECOND, NIGHT + DAY, NIGHT + DAY + 899 * SECOND)
    found = run_times(NIGHT, *looks, when=Rate(900))
    assert found == [None, NIGHT + 10 * SECOND, None, NIGHT + 910 * SECOND, None]


def test_a_clock_that_is_corrected_by_a_second_puts_no_run_off_and_one_that_was_years_ahead_stops_none():
    looks = (NIGHT + 10 * SECOND, NIGHT + 600 * SECOND, NIGHT + 599 * SECOND, NIGHT + 910 * SECOND)
    assert run_times(NIGHT, *looks, when=Rate(900)) == [NIGHT + 10 * SECOND, None, None, NIGHT + 910 * SECOND]
    years = (NIGHT + 1000 * DAY, NIGHT, NIGHT + 900 * SECOND)
    assert run_times(NIGHT, *years, when=Rate(900)) == [NIGHT + 10 * SECOND, None, NIGHT + 900 * SECOND]


class Listener(AsyncQueue):
    """Takes events in the place of the queue, and says when there are enough of them."""

    def __init__(self, enough: int) -> None:
        self.taken: list[tuple[str, dict]] = []
        self.refuses = 0
        self._enough = enough
        self.done = threading.Event()

    def accept(self, function_id: str, event: bytes) -> str:
        if self.refuses:
            self.refuses -= 1
            raise OSError("disk full")
        self.taken.append((function_id, json.loads(event)))
        if len(self.taken) >= self._enough:
            self.done.set()
        return "id"


def function(*schedules: Schedule) -> Function:
    return Function("F", "f", Path(), "app.handler", 3, 128, 2, None, {}, (), (), schedules)


@pytest.fixture
def run():
    """Runs schedules with a clock that goes half a day further at each look, until there are enough events."""
    started = []

    def start(listener: Listener, *schedules: Schedule, every_seconds: float | None = None) -> list[tuple[str, dict]]:
        looks = iter(NIGHT - HOUR + n * DAY / 2 for n in range(10**6))
        scheduler = Scheduler(
            (function(*schedules),), listener, every_seconds, now=lambda: next(looks), look_seconds=0.001
        )
        started.append(scheduler)
        scheduler.start()
        assert listener.done.wait(10)
        scheduler.stop()
        return listener.taken

    yield start
    for scheduler in started:
        scheduler.stop()


def test_a_run_at_a_time_of_the_day_invokes_the_function_for_that_time(run):
    taken = run(Listener(2), Schedule("Nightly", nightly("Europe/Paris")))[:2]
    assert [name for name, _ in taken] == ["F", "F"]
    assert [event["time"] for _, event in taken] == ["2026-11-23T01:00:00Z", "2026-11-24T01:00:00Z"]


def test_a_queue_that_refuses_a_run_does_not_end_the_schedule(run, caplog):
    listener = Listener(1)
    listener.refuses = 1
    ((_, event), *_) = run(listener, Schedule("Nightly", nightly()))
    assert event["time"] == "2026-11-23T02:00:00Z"
    assert "schedule Nightly" in caplog.text


def test_the_seconds_of_the_sweep_replace_rates_and_no_time_of_the_day(run):
    over = read_expression("cron(0 2 * * ? 2020)")
    taken = run(Listener(3), Schedule("Often", Rate(900)), Schedule("Never", over), every_seconds=0.001)
    assert {event["resources"][0] for _, event in taken} == {"Often"}
