"""The way of a space that is brought here, from the claim to the end, whatever it comes from."""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from livemem.backups import arrivals, importing, restore
from livemem.backups.arrivals import Brought
from livemem.errors import LiveMemoryError, NotFinished, PreconditionLost
from livemem.process import Process
from livemem.spaces.head import Head, Meta

logger = logging.getLogger(__name__)

WAYS: Mapping[str, Callable[[Process, Head, datetime], Brought | None]] = {
    "restore": restore.bring,
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
            raise NotFinished("It could not be finished within a day.")
        brought = WAYS[arrival.kind](process, head, deadline)
    except LiveMemoryError as error:
        if arrivals.is_final(error):
            arrivals.give_up(process, head, error)
        raise
    if brought:
        landed = arrivals.land(process, head, brought)
        importing.end(process, arrival)
        return landed
    process.later({"do": "bring", "space_id": head.meta.space_id, "arrival_id": arrival.arrival_id})
    return None


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
        if not arrivals.is_final(error):
            raise
        logger.warning("arrival given up", extra={"space_id": space_id, "error_code": error.code})
        return {"status": "error", "error": error.code}
