"""What an asynchronous invocation of the backup function does: one piece of long work, and the rest of it later."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from livemem.copies import export, nightly, provisioning, taking
from livemem.erasure import erasure
from livemem.jobs import worker
from livemem.jobs.worker import Kind, Worked
from livemem.process import Process

KINDS: Mapping[str, Kind[Any]] = {
    export.KIND.name: export.KIND,
    taking.KIND.name: taking.KIND,
    **provisioning.KINDS,
    erasure.KIND.name: erasure.KIND,
}
"""The kinds of jobs that this function carries out."""
WORKS: Mapping[str, Callable[[Process, Mapping[str, Any], datetime], dict[str, Any]]] = {
    "nightly": nightly.work,
    "back_up": nightly.back_up,
    "retain": nightly.retain,
    # Retention may follow.
    taking.KIND.name: nightly.back_up,
}


def carry_out(process: Process, payload: Mapping[str, Any], deadline: datetime) -> dict[str, Any]:
    """Carry out a job of a `kind`, or the work that `payload` names under `do`. Work that does not fit in the time is
    queued again.

    Raises KeyError for work that it does not know, StoreUnavailable and Busy, so that Lambda tries again.
    """
    name = payload.get("kind") or payload["do"]
    if name in WORKS:
        return WORKS[name](process, payload, deadline)
    space_id, job_id = payload["space_id"], payload["job_id"]
    if name == erasure.KIND.name:
        worked: Worked[Any] = erasure.carry_out(process, space_id, job_id, deadline)
    else:
        worked = worker.work(process, KINDS[name], space_id, job_id, deadline)
    return {"status": worked.outcome}
