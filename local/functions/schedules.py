"""EventBridge on one machine: invokes functions asynchronously, at a rate or at times of the wall clock."""

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from local.functions.async_queue import AsyncQueue
from local.functions.expressions import Cron, next_time
from local.functions.template import Function, Schedule
from local.functions.variables import ACCOUNT, REGION

_log = logging.getLogger(__name__)

# The first run comes soon after the start: it picks up what a killed runtime left unfinished.
FIRST_SECONDS = 10.0
# How often the wall clock is looked at: a machine that sleeps stops every other clock. EventBridge is exact to 60 s.
_LOOK_SECONDS = 5.0
# A clock that is set back by more was wrong before; by less, what has run does not run again.
_SET_BACK = timedelta(hours=1)


def utc_now() -> datetime:
    """The wall clock of this machine."""
    return datetime.now(UTC)


def build_scheduled_event(schedule: Schedule, moment: datetime) -> dict[str, Any]:
    """Build the event that EventBridge sends for a moment (aware); a schedule's own Input replaces it."""
    if schedule.payload is not None:
        return json.loads(schedule.payload)  # type: ignore[no-any-return]
    rule = schedule.source == "aws.events"
    owner = (
        f"arn:aws:events:{REGION}:{ACCOUNT}:rule/"
        if rule
        else f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/"
    )
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": schedule.source,
        "account": ACCOUNT,
        "time": moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [owner + schedule.name],
        "detail": {} if rule else "{}",
    }


class CronPlan:
    """Says when a cron schedule is due. Runs that are missed while nobody asks are made up for by one run."""

    def __init__(self, cron: Cron, now: datetime) -> None:
        """Plan from `now` (aware) on; nothing before it is made up for."""
        self._cron = cron
        self._latest = now
        self._due = next_time(cron, now)

    def take_due(self, now: datetime) -> datetime | None:
        """The time for which a run is to be started now, each time once; None while nothing is due."""
        if now < self._latest - _SET_BACK:
            self._due = next_time(self._cron, now)
            self._latest = now
            return None
        self._latest = max(self._latest, now)
        due = self._due
        if due is None or now < due:
            return None
        self._due = next_time(self._cron, now)
        return due


class Scheduler:
    """Runs the schedules of all functions, each in a thread of its own, until it is stopped."""

    def __init__(
        self,
        functions: tuple[Function, ...],
        queue: AsyncQueue,
        every_seconds: float | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        look_seconds: float = _LOOK_SECONDS,
    ) -> None:
        """Prepare.

        Args:
            functions: those whose schedules run.
            queue: takes the events on.
            every_seconds: replaces every rate (tests don't wait for a quarter of an hour), and no cron expression.
            clock: the wall clock, for cron expressions.
            look_seconds: how often to look at it.
        """
        self._work = [(function, schedule) for function in functions for schedule in function.schedules]
        self._queue = queue
        self._every_seconds = every_seconds
        self._clock = clock
        self._look_seconds = look_seconds
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begin."""
        for function, schedule in self._work:
            name = f"schedule-{schedule.name}"
            threading.Thread(target=self._run, args=(function, schedule), name=name, daemon=True).start()

    def stop(self) -> None:
        """End. Events already handed to the queue stay there."""
        self._stopped.set()

    def _run(self, function: Function, schedule: Schedule) -> None:
        if isinstance(schedule.when, Cron):
            self._run_at_times(function, schedule, CronPlan(schedule.when, self._clock()))
        else:
            self._run_at_rate(function, schedule, self._every_seconds or float(schedule.when.seconds))

    def _run_at_rate(self, function: Function, schedule: Schedule, every: float) -> None:
        due = time.monotonic() + min(every, FIRST_SECONDS)
        while not self._stopped.wait(max(0.0, due - time.monotonic())):
            self._invoke(function, schedule, datetime.now(UTC))
            # Not from the time of this run: a machine that slept makes up for one run, not for all that it missed.
            due = max(due + every, time.monotonic())

    def _run_at_times(self, function: Function, schedule: Schedule, plan: CronPlan) -> None:
        while not self._stopped.wait(self._look_seconds):
            due = plan.take_due(self._clock())
            if due is not None:
                self._invoke(function, schedule, due)

    def _invoke(self, function: Function, schedule: Schedule, moment: datetime) -> None:
        event = build_scheduled_event(schedule, moment)
        try:
            self._queue.accept(function.logical_id, json.dumps(event).encode())
        except OSError:
            _log.exception("schedule %s", schedule.name)
