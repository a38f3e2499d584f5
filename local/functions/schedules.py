"""EventBridge on one machine: invokes functions asynchronously at a fixed rate."""

import json
import logging
import threading
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from local.functions.async_queue import AsyncQueue
from local.functions.template import Function, Schedule
from local.functions.variables import ACCOUNT, REGION

_log = logging.getLogger(__name__)

# The first run comes soon after the start: it picks up what a killed runtime left unfinished.
FIRST_SECONDS = 10.0


def build_scheduled_event(schedule: Schedule, now: datetime) -> dict[str, Any]:
    """Build the event that EventBridge sends; a schedule's own Input replaces it."""
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
        "time": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [owner + schedule.name],
        "detail": {} if rule else "{}",
    }


class Scheduler:
    """Runs the schedules of all functions, each in a thread of its own, until it is stopped."""

    def __init__(self, functions: tuple[Function, ...], queue: AsyncQueue, every_seconds: float | None = None) -> None:
        """Prepare; `every_seconds` replaces every rate (tests don't wait for a quarter of an hour)."""
        self._work = [(function, schedule) for function in functions for schedule in function.schedules]
        self._queue = queue
        self._every_seconds = every_seconds
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begin."""
        for function, schedule in self._work:
            name = f"schedule-{schedule.name}"
            threading.Thread(target=self._run, args=(function, schedule), name=name, daemon=True).start()

    def stop(self) -> None:
        """End; what is already handed to the queue stays there."""
        self._stopped.set()

    def _run(self, function: Function, schedule: Schedule) -> None:
        every = self._every_seconds or float(schedule.every_seconds)
        due = time.monotonic() + min(every, FIRST_SECONDS)
        while not self._stopped.wait(max(0.0, due - time.monotonic())):
            event = build_scheduled_event(schedule, datetime.now(UTC))
            try:
                self._queue.accept(function.logical_id, json.dumps(event).encode())
            except OSError:
                _log.exception("schedule %s", schedule.name)
            # Not from the time of this run: a machine that slept makes up for one run, not for all that it missed.
            due = max(due + every, time.monotonic())
