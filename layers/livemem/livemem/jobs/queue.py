"""Queues a run: the order that it carries out, and its first document."""

import logging
from dataclasses import dataclass

from livemem import clock
from livemem.access.principal import Principal
from livemem.errors import Conflict, Forbidden, LiveMemoryError
from livemem.jobs import cooldown
from livemem.jobs import run as runs
from livemem.jobs.job import Failure
from livemem.jobs.run import Run, Trigger
from livemem.process import Process
from livemem.spaces import due_index
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.store import keys

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
    """The same by a template's name, until the order is checked (consolidation/dry_run_order.py)."""
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
    cooldown.claim(process, space_id, run_id)
    due_index.leave(process, space_id)
    return enqueue(process, head, request, run_id=run_id)


def enqueue(process: Process, head: Head, request: RunOrder, *, run_id: str) -> Run:
    """Write a queued run and start it. If it can't be started, the run records the failure and the error is raised."""
    run = Run(
        job_id=run_id,
        space_id=head.meta.space_id,
        uid=head.meta.uid,
        trigger=request.trigger,
        agent=request.agent,
        max_notes=request.max_notes,
        dry_run=request.dry_run,
        tidy=request.tidy,
        replace=request.replace,
        rules=request.rules,
        notes_of=request.notes_of,
        requested_by=request.requested_by,
        created_at=clock.iso_millis(process.clock()),
    )
    saved = runs.create(process, run)
    try:
        process.enqueue("consolidate", {"kind": run.kind, "space_id": run.space_id, "job_id": run.job_id})
    except LiveMemoryError as error:
        runs.finish(process, saved, "error", error=Failure(code="not_started", detail=error.detail))
        raise
    logger.info("run queued", extra={"space_id": run.space_id, "run_id": run.job_id, "trigger": run.trigger})
    return run
