"""EventBridge on one machine: invokes functions asynchronously, at a rate or at times of the wall clock."""

import json
import logging
import threading
from datetime import datetime, timedelta
from typing import Any

from livemem import clock
from local.functions.async_queue import AsyncQueue
from local.functions.expressions import Cron, Rate, next_time
from local.functions.template import Function, Schedule

_log = logging.getLogger(__name__)

# The first run comes soon after the start: it picks up what a killed runtime left unfinished.
_FIRST = timedelta(seconds=10)
# How often the wall clock is looked at: a machine that sleeps stops every other clock. EventBridge is exact to 60 s.
_LOOK_SECONDS = 5.0
# A clock that is set back by more was wrong before; by less, what has run does not run again.
_SET_BACK = timedelta(hours=1)


def build_scheduled_event(schedule: Schedule, moment: datetime) -> dict[str, Any]:
    """The event of a schedule for a moment (aware): its own Input, or in short what EventBridge sends."""
    if schedule.payload is not None:
        return json.loads(schedule.payload)  # type: ignore[no-any-return]
    return {"detail-type": "Scheduled Event", "time": clock.iso(moment), "resources": [schedule.name]}


class Plan:
    """Says when a schedule is due. Runs that are missed while nobody asks are made up for by one run."""

    def __init__(self, when: Rate | Cron, now: datetime) -> None:
        """Plan from `now` (aware) on; nothing before it is made up for."""
        self._when = when
        self._latest = now
        self._due = self._next(now)
        if isinstance(when, Rate) and self._due:
            self._due = min(self._due, now + _FIRST)

    def take_due(self, now: datetime) -> datetime | None:
        """The time for which a run is to be started now, each time once; None while nothing is due."""
        was_set_back = now < self._latest - (_SET_BACK if isinstance(self._when, Cron) else timedelta())
        self._latest = now if was_set_back else max(self._latest, now)
        due = None if was_set_back or not self._due or now < self._due else self._due
        if due or was_set_back:
            # A clock that is corrected by seconds, again and again, puts no run off.
            after = self._next(now)
            self._due = min(after, self._due) if after and self._due and not due else after
        return due

    def _next(self, now: datetime) -> datetime | None:
        one = self._when
        return next_time(one, now) if isinstance(one, Cron) else now + timedelta(seconds=one.seconds)


class Scheduler:
    """Runs the schedules of all functions, in a thread, until it is stopped."""

    def __init__(
        self,
        functions: tuple[Function, ...],
        queue: AsyncQueue,
        every_seconds: float | None = None,
        *,
        now: clock.Clock = clock.now,
        look_seconds: float = _LOOK_SECONDS,
    ) -> None:
        """`every_seconds` replaces every rate (tests don't wait for a quarter of an hour), and no cron expression.
        `now` is the wall clock, looked at every `look_seconds`.
        """
        self._work = [
            (
                function.logical_id,
                one,
                Plan(Rate(every_seconds) if every_seconds and isinstance(one.when, Rate) else one.when, now()),
            )
            for function in functions
            for one in function.schedules
        ]
        self._queue = queue
        self._now = now
        self._look_seconds = min(look_seconds, every_seconds or look_seconds)
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begin."""
        threading.Thread(target=self._run, name="schedules", daemon=True).start()

    def stop(self) -> None:
        """End. Events already handed to the queue stay there."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._look_seconds):
            now = self._now()
            for function_id, schedule, plan in self._work:
                if due := plan.take_due(now):
                    try:
                        self._queue.accept(function_id, json.dumps(build_scheduled_event(schedule, due)).encode())
                    except OSError:
                        _log.exception("schedule %s", schedule.name)
