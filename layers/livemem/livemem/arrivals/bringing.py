"""The way of a space that is brought here, from the claim to the end, whatever it comes from."""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from livemem.arrivals import arrivals, fork, importing, restore
from livemem.arrivals.arrivals import Brought
from livemem.errors import LiveMemoryError, NotFinished, PreconditionLost
from livemem.jobs import worker
from livemem.jobs.maintainable import MORE_WORK
from livemem.process import Process
from livemem.spaces.head import Head, Meta
from livemem.store import timing

logger = logging.getLogger(__name__)

OVERDUE = "It could not be finished within a day."

WAYS: Mapping[str, Callable[[Process, Head, datetime], Brought | None]] = {
    "restore": restore.bring,
    "fork": fork.bring,
    "import": importing.bring,
}
"""How the objects of each kind of arrival are brought: `None` means that time ran out."""


def carry_on(process: Process, head: Head, deadline: datetime) -> Meta | None:
    """Bring what is claimed in `head`, and return the space; None where the rest of it is queued.

    Raises NotFound, BackupDamaged, NotFinished and the like where it can't be brought: then it is given up, and nothing
    is left of it. Raises PreconditionLost where somebody else is at it by now, StoreUnavailable.
    """
    arrival = head.meta.arrival
    assert arrival
    try:
        if arrivals.is_overdue(head, process.clock()):
            raise NotFinished(OVERDUE)
        brought = WAYS[arrival.kind](process, head, deadline)
    except LiveMemoryError as error:
        if worker.is_final(error):
            arrivals.give_up(process, head, error)
        raise
    if brought:
        landed = arrivals.land(process, head, brought)
        importing.end(process, arrival)
        return landed
    _queue(process, head)
    return None


def _queue(process: Process, head: Head) -> None:
    assert head.meta.arrival
    process.enqueue(
        "backup", {"do": "bring", "space_id": head.meta.space_id, "arrival_id": head.meta.arrival.arrival_id}
    )


def maintain(process: Process, head: Head) -> Mapping[str, float]:
    """The sweep's look at what is being brought: hand it to an invocation where nobody works on it any more, and give
    it up after a day. No request of its own; what was done, as rooms tell it.
    """
    if head.age <= timing.DEAD_AFTER:
        return {MORE_WORK: 1}
    if arrivals.is_overdue(head, process.clock()):
        with suppress(PreconditionLost):
            arrivals.give_up(process, head, NotFinished(OVERDUE))
        return {"given_up": 1, MORE_WORK: 1}
    _queue(process, head)
    return {"handed_over": 1, MORE_WORK: 1}


def work(process: Process, payload: Mapping[str, Any], deadline: datetime) -> dict[str, Any]:
    """Go on with an arrival in an invocation of its own; nothing is done where it has ended."""
    space_id = payload["space_id"]
    try:
        head = arrivals.take_over(process, space_id, payload["arrival_id"])
        if not head:
            return {"status": "ended"}
        return {"status": "ok" if carry_on(process, head, deadline) else "unfinished"}
    except PreconditionLost:
        return {"status": "taken_over"}
    except LiveMemoryError as error:
        if not worker.is_final(error):
            raise
        logger.warning("arrival given up", extra={"space_id": space_id, "error_code": error.code})
        return {"status": "error", "error": error.code}
