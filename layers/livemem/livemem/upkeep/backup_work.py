"""What an asynchronous invocation of the backup function does: one piece of long work, and the rest of it later."""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from livemem.archives import archiving
from livemem.backups import nightly, taking
from livemem.erasure import erasure
from livemem.jobs import worker
from livemem.jobs.worker import Kind, Worked
from livemem.process import Process
from livemem.restore import provisioning

logger = logging.getLogger(__name__)

KINDS: Mapping[str, Kind[Any]] = {
    archiving.KIND.name: archiving.KIND,
    taking.KIND.name: taking.KIND,
    **provisioning.KINDS,
    erasure.KIND.name: erasure.KIND,
}
"""The kinds of jobs that this function carries out."""
CARRY_OUT: Mapping[str, Callable[..., Worked[Any]]] = {
    **dict.fromkeys(provisioning.KINDS, provisioning.carry_out),
    erasure.KIND.name: erasure.carry_out,
}
"""Functions for the kinds of jobs that need more than the worker does. They take the worker's arguments."""


def carry_out(process: Process, payload: Mapping[str, Any], deadline: datetime) -> dict[str, Any]:
    """Carry out a job of a `kind`, or the work that `payload` names under `do`. Work that does not fit in the time is
    queued again.

    Raises KeyError for work that it does not know, StoreUnavailable and Busy, so that Lambda tries again.
    """
    works: dict[str, Callable[[Process, Mapping[str, Any], datetime], dict[str, Any]]] = {
        "nightly": nightly.work,
        "back_up": nightly.back_up,
        "retain": nightly.retain,
        # Jobs behind which something follows.
        taking.KIND.name: nightly.back_up,
    }
    name = payload.get("kind") or payload["do"]
    if name in works:
        return works[name](process, payload, deadline)
    carry = CARRY_OUT.get(name, worker.work)
    worked = carry(process, KINDS[name], payload["space_id"], payload["job_id"], deadline)
    return {"status": worked.outcome}
