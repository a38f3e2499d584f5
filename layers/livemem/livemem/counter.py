"""The trigger of automatic consolidation. It keeps no number: each time it looks into the bucket again.

So an event that comes twice, late or out of order can't count twice, and a lost one is made good by the next.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from livemem import clock, keys, lease, runs, spaces
from livemem.errors import Busy, LiveMemoryError
from livemem.runs import Run, Trigger
from livemem.spaces import Head
from livemem.store import Store, require_conditional_writes

logger = logging.getLogger(__name__)

QUEUED_FOR = timedelta(seconds=60)
"""How long a queued run keeps further events from queueing another one."""

Start = Callable[[Mapping[str, Any]], None]
"""Queues one asynchronous invocation of the consolidation with this payload; raises StoreUnavailable."""

Result = Literal["started", "below_threshold", "not_automatic", "busy", "unknown_space"]


@dataclass(frozen=True)
class Outcome:
    """What a look came to, and the run that it started."""

    result: Result
    run_id: str | None = None


def start_if_due(
    store: Store, space_id: str, trigger: Trigger, *, now: datetime, new_id: Callable[[], str], start: Start
) -> Outcome:
    """Start a consolidation if the space has reached its threshold and nobody is at it.

    Below the threshold 1 GET and 1 LIST. A short lease of kind `queued` makes it one run however many events come.
    """
    head = spaces.find(store, space_id)
    if not head:
        return Outcome("unknown_space")
    if not head.meta.automatic():
        return Outcome("not_automatic")
    if not reached(store, head):
        return Outcome("below_threshold")
    require_conditional_writes(store)
    run_id = new_id()
    try:
        held = lease.acquire(store, space_id, run_id, "queued", now=now, until=now + QUEUED_FOR, by_hand=False)
    except Busy:
        return Outcome("busy")
    try:
        queue(store, head, Order(trigger=trigger), run_id=run_id, now=now, start=start)
    except LiveMemoryError:
        lease.release(store, held)
        raise
    return Outcome("started", run_id)


def notice(
    store: Store, written: Sequence[str], *, now: datetime, new_id: Callable[[], str], start: Start
) -> dict[str, Result]:
    """Look at each space that one of the `written` keys is a live note of; returns the result by space."""
    touched = sorted({parsed[0] for key in written if (parsed := keys.parse_note(key))})
    return {
        space_id: start_if_due(store, space_id, "threshold", now=now, new_id=new_id, start=start).result
        for space_id in touched
    }


def reached(store: Store, head: Head) -> bool:
    """Whether the space holds at least its threshold of live notes: 1 LIST of threshold + 1 keys (one is `.keep`)."""
    threshold = head.meta.consolidation_threshold
    return len(spaces.live_notes(store, head.meta.space_id, limit=threshold + 1)) >= threshold


@dataclass(frozen=True)
class Order:
    """What a run is asked to do."""

    trigger: Trigger
    agent: str | None = None
    max_notes: int | None = None
    dry_run: bool = False
    requested_by: str | None = None


def queue(store: Store, head: Head, order: Order, *, run_id: str, now: datetime, start: Start) -> Run:
    """Write a queued run and start it; if it can't be started the run says so and the error is raised."""
    run = Run(
        run_id=run_id,
        space_id=head.meta.space_id,
        uid=head.meta.uid,
        trigger=order.trigger,
        agent=keys.check_agent(order.agent) if order.agent is not None else None,
        max_notes=order.max_notes,
        dry_run=order.dry_run,
        requested_by=order.requested_by,
        queued_at=clock.iso_millis(now),
    )
    saved = runs.create(store, run)
    try:
        start({"space_id": run.space_id, "run_id": run.run_id, "uid": run.uid, "trigger": run.trigger})
    except LiveMemoryError as error:
        runs.finish(store, saved, "error", now, error={"code": "not_started", "detail": error.detail})
        raise
    logger.info("run queued", extra={"space_id": run.space_id, "run_id": run.run_id, "trigger": run.trigger})
    return run
