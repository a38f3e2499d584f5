"""Queues a run: the order that it carries out, and its first document."""

import logging
import math
from dataclasses import dataclass

from livemem import clock
from livemem.access.principal import Principal
from livemem.errors import Conflict, Forbidden, LiveMemoryError, TooSoon
from livemem.jobs import job as jobs
from livemem.jobs import run as runs
from livemem.jobs.job import Failure
from livemem.jobs.run import Run, Trigger
from livemem.process import Process
from livemem.spaces import due_index
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.store import keys, stored
from livemem.store.bucket import RUN, STARTED_BY_HAND
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Revised

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunOrder:
    """The order that a run carries out."""

    trigger: Trigger
    agent: str | None = None
    max_notes: int | None = None
    dry_run: bool = False
    tidy: bool = False
    requested_by: str | None = None
    replace: bool = False
    rules: str | None = None
    """Only for a dry run: these rules in the place of the space's."""
    rules_template: str | None = None
    """The same by a template's name, until the order is checked (consolidation/dry_run.py)."""
    notes_of: int | None = None
    """Only for a dry run: the notes of this change in the place of the live ones."""


def order(process: Process, principal: Principal, space_id: str, request: RunOrder) -> Run:
    """Queue a run by hand.

    Raises NotFound, Forbidden for another agent's notes without admin, TooSoon, and Conflict where a plan waits for
    approval, unless it is a dry run or may `replace` that plan.
    """
    if request.agent is not None and request.agent != principal.name and "admin" not in principal.permissions:
        raise Forbidden("To consolidate another agent's notes alone, the token needs the permission 'admin'.")
    if request.agent is not None:
        keys.check_agent(request.agent)
    head, run_id = heads.load(process, space_id), process.new_id()
    waits = head.meta.pending_plan
    if waits and not request.dry_run and not request.replace:
        raise Conflict(f"{waits.waiting()} No other plan is made before that. All notes are live.")
    claim(process, space_id, run_id)
    due_index.leave(process, space_id)
    return enqueue(process, head, request, run_id=run_id)


def enqueue(process: Process, head: Head, request: RunOrder, *, run_id: str) -> Run:
    """Write a queued run and start it. If it can't be started, the run records the failure and the error is raised."""
    run = Run(
        job_id=run_id,
        space_id=head.meta.space_id,
        uid=head.meta.uid,
        created_at=clock.iso_millis(process.clock()),
        **{name: value for name, value in vars(request).items() if name in Run.model_fields},
    )
    saved = jobs.create(process, RUN.key(run.space_id, run_id), run)
    try:
        process.enqueue("consolidate", {"kind": run.kind, "space_id": run.space_id, "job_id": run.job_id})
    except LiveMemoryError as error:
        runs.finish(process, saved, "failed", error=Failure(code="not_started", detail=error.detail))
        raise
    logger.info("run queued", extra={"space_id": run.space_id, "run_id": run.job_id, "trigger": run.trigger})
    return run


class Started(Revised):
    """`_runs/by_hand.json`: the run that was started by hand last."""

    run_id: str


def claim(process: Process, space_id: str, run_id: str) -> None:
    """Take the space's turn for a run by hand: 1 GET, 1 PUT; none where there is no pause. Raises TooSoon."""
    seconds = process.settings.consolidation_cooldown_seconds
    if not seconds:
        return
    require_conditional_writes(process.store)
    key = STARTED_BY_HAND.key(space_id)
    # The content of the document is for people.
    last = stored.find(process.store, key, stored.or_none(Started))
    if last and last.age.total_seconds() < seconds:
        raise _too_soon(seconds, seconds - last.age.total_seconds())
    with stored.race(lost=_too_soon(seconds, seconds)):
        stored.create(process.store, key, Started(run_id=run_id), process.new_id, over=last)


def _too_soon(seconds: int, seconds_ago: float) -> TooSoon:
    return TooSoon(
        f"A run of this space was started by hand less than {seconds} s ago. Wait, or read that run.",
        retry_after=max(math.ceil(seconds_ago), 1),
    )
