"""The trigger of automatic consolidation. It keeps no number: it looks into the bucket each time.

So an event that comes twice, late or out of order can't count twice, and the next event makes up for a lost one.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from livemem import clock
from livemem.errors import Busy, LiveMemoryError
from livemem.jobs import lease, places, tidy_due
from livemem.jobs import queue as queues
from livemem.jobs.queue import RunOrder
from livemem.jobs.run import ENOUGH, Trigger, enough
from livemem.process import Process
from livemem.spaces import contents, due_index
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.store import timing
from livemem.store.bucket import NOTE
from livemem.store.capability_check import require_conditional_writes

logger = logging.getLogger(__name__)


CountResult = Literal["started", "below_threshold", "resting", "not_automatic", "busy", "unknown_space"]

FOLD_PAUSE = timedelta(hours=1)
"""Between two automatic runs of a space whose model spends somebody's subscription."""
LONGEST = timedelta(days=1)
"""For which a note waits where the memory is one person's."""


@dataclass(frozen=True)
class Counted:
    """The result of a look at a space, and the run that it started."""

    result: CountResult
    run_id: str | None = None


def start_if_due(process: Process, space_id: str, trigger: Trigger) -> Counted:
    """Start a consolidation if the space has reached its threshold and no worker holds it. Else start a tidy run if the
    bank has grown too long.

    Below the threshold 1 GET and 1 LIST. A lease of kind `queued` makes many events start one run, and keeps the run's
    place for as long as its invocation can come.

    At the end of a session, and after a day, fewer notes are enough (ENOUGH), and no pause is kept.
    """
    head = heads.find(process, space_id)
    if not head:
        return Counted("unknown_space")
    if not head.meta.automatic(process.settings):
        return Counted("not_automatic")
    if trigger not in ENOUGH and _rests(process, head):
        return Counted("resting")
    tidy = not reached(process, head, trigger)
    if tidy and not tidy_due.is_due(process, head):
        return Counted("below_threshold")
    return start(process, head, RunOrder(trigger=trigger, tidy=tidy))


def start(process: Process, head: Head, order: RunOrder, *, by_hand: bool = False) -> Counted:
    """Queue a run unless a worker holds the space. Of many callers at once, one queues a run.

    `by_hand` also queues it while automatic runs wait after a failure. Raises StoreUnavailable.
    """
    require_conditional_writes(process.store)
    space_id, run_id = head.meta.space_id, process.new_id()
    try:
        place = places.of_space(space_id)
        hold = lease.acquire(process, place, run_id, "queued", life=timing.BY_HAND, by_hand=by_hand)
    except Busy:
        return Counted("busy")
    try:
        queues.enqueue(process, head, order, run_id=run_id)
    except LiveMemoryError:
        lease.quietly_release(process, hold)
        raise
    lease.extend(process, hold, timing.DELIVERED)
    return Counted("started", run_id)


def start_if_possible(process: Process, space_id: str, trigger: Trigger = "threshold") -> str | None:
    """After a change that is made: start a run if one is due, and return its id.

    A failure is only logged: the change is made, and the sweep starts the run.
    """
    try:
        return start_if_due(process, space_id, trigger).run_id
    except LiveMemoryError as error:
        logger.warning("no run started", extra={"space_id": space_id, "error_code": error.code})
        return None


def notice(process: Process, written: Sequence[str]) -> dict[str, CountResult]:
    """Look at each space that has a live note among the `written` keys. Returns the result by space."""
    touched = sorted({parsed[0] for key in written if (parsed := NOTE.parse(key))})
    return {space_id: hear(process, space_id).result for space_id in touched}


def hear(process: Process, space_id: str) -> Counted:
    """Look at a space in which a note was written. It is entered in the due index first, so the sweep looks too."""
    due_index.leave(process, space_id)
    return start_if_due(process, space_id, "threshold")


def pause(process: Process) -> timedelta | None:
    """For how long no run starts by itself after another one. None: it may start at once."""
    return FOLD_PAUSE if process.settings.spends_a_subscription() else None


def _rests(process: Process, head: Head) -> bool:
    wait, last = pause(process), head.meta.last_consolidation
    return bool(wait and last and (head.seen_at or process.clock()) - clock.parse(last) < wait)


def reached(process: Process, head: Head, trigger: Trigger = "threshold") -> bool:
    """Whether enough live notes wait for a run that is so triggered, without those that are set aside: 1 LIST."""
    threshold = enough(trigger, head.meta.consolidation_threshold)
    return len(contents.waiting_notes(process, head.meta, most=threshold)) >= threshold
