"""Approval and refusal of plans that wait for a person (changes/proposals.py).

A person approves exactly the plan that was read. The approval names the plan's revision. The commit succeeds only if
nothing that the plan rests on has changed since. Else the plan is given up, and a queued run makes another.
"""

from livemem import clock, limits
from livemem.access.principal import Principal
from livemem.bank import files, history
from livemem.bank.history import RecordDetail
from livemem.changes import direct, proposals, reviews, run_progress
from livemem.changes.records import Record
from livemem.errors import Busy, Conflict, LiveMemoryError, PlanOutdated
from livemem.jobs import lease, queue
from livemem.jobs.queue import RunOrder
from livemem.jobs.run import Run
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.spaces.head_fields import Decision
from livemem.store import keys
from livemem.text.redaction import when

KIND = "review"
"""The kind of the lease under which a person's decision is applied."""


class _Changed(LiveMemoryError):
    """The basis of the plan has changed. No user sees this error."""


def approve(process: Process, principal: Principal, space_id: str, run_id: str, revision: str) -> RecordDetail:
    """Commit the plan as it was read, and return the change that it made. A repeat returns the same change.

    Raises InvalidName, NotFound, Forbidden, Conflict if no such plan waits, PlanOutdated if it can't be committed any
    more (then a queued run makes another), Busy, PreconditionLost.
    """
    run = _ask(process, principal, space_id, run_id)
    if run.status == "done" and run.decided_by is not None and run.consolidation is not None:
        return history.read(process, space_id, run.consolidation)
    if run.step == "applying":
        raise Busy("The plan was approved already, and its change is being applied. Try again in a moment.")
    _check_waits(heads.load(process, space_id).meta, run, revision)
    try:
        record = direct.carry_out(
            process, space_id, KIND, lambda head, own_id: _approved(process, principal, head, own_id, run, revision)
        )
    except _Changed:
        raise _outdated(process, principal, space_id, tidy=run.tidy) from None
    return history.detail(
        space_id, record, undone=False, consolidations={note.note_id: record.number for note in record.notes}
    )


def refuse(process: Process, principal: Principal, space_id: str, run_id: str, reason: str | None) -> Run:
    """Give the plan up: its notes stay live, and automatic consolidation pauses, as after an undo; after the refusal of
    a tidy run automatic tidying alone. A repeat returns the refused run.

    Raises InvalidName, InvalidRequest or TooLarge (naming the field), NotFound, Forbidden, Conflict if none waits,
    Busy, PreconditionLost.
    """
    if reason is not None:
        limits.check_text("reason", reason, limits.REASON_BYTES, blank=True)
        reason = when(process.settings.redact_secrets, reason)
    run = _ask(process, principal, space_id, run_id)
    if run.code == "refused":
        return run
    _check_waits(heads.load(process, space_id).meta, run, None)
    hold, head = direct.take(process, space_id, KIND)
    try:
        _check_waits(head.meta, run, None)
        now = clock.iso(process.clock())
        decision = Decision(code="refused", message=reason, by=principal.name, at=now)
        # Else the same notes, or the same bank, would start a run like the refused one.
        reason_of_pause = f"the plan of the run {run.job_id} was refused"
        pause = {"tidy_paused": True} if run.tidy else {"auto_paused": True, "pause_reason": reason_of_pause}
        reviews.decide(process, head, decision, **pause)
    finally:
        lease.quietly_release(process, hold)
    return run_progress.view(process, space_id, run_id)


def _ask(process: Process, principal: Principal, space_id: str, run_id: str) -> Run:
    """The run, if the caller may decide on its plan."""
    keys.check_run_id(run_id)
    files.check_may_correct(principal, heads.load(process, space_id).meta)
    return run_progress.view(process, space_id, run_id)


def _check_waits(meta: Meta, run: Run, revision: str | None) -> None:
    """Raise Conflict unless the run's plan waits in this revision."""
    waits = meta.pending_plan
    if not waits or waits.run_id != run.job_id:
        raise Conflict(f"No plan of the run {run.job_id} waits for approval: it is {run.state!r}.")
    if revision is not None and waits.revision != revision:
        raise Conflict(
            "The plan has another revision than the one that you sent. Read the plan again, and send "
            "its `plan_revision`."
        )


def _approved(process: Process, principal: Principal, head: Head, own_id: str, run: Run, revision: str) -> Record:
    """The change that the plan becomes. Raises _Changed after the plan was given up."""
    _check_waits(head.meta, run, revision)
    waits = head.meta.pending_plan
    record = proposals.read(process, head.meta, waits) if waits else None
    if not record or proposals.changed_since(process, head, record):
        reviews.supersede(process, head, reviews.CHANGED)
        raise _Changed("The plan can't be committed any more.")
    now = clock.iso(process.clock())
    return record.model_copy(
        update={
            "run_id": own_id,
            "plan_of": record.run_id,
            "committed_at": now,
            "approved_by": principal.name,
            "approved_at": now,
        }
    )


def _outdated(process: Process, principal: Principal, space_id: str, *, tidy: bool) -> PlanOutdated:
    """Queue the run that makes another plan. The returned error names the run."""
    head, run_id = heads.load(process, space_id), process.new_id()
    order = RunOrder(trigger="api", tidy=tidy, requested_by=principal.name)
    queue.enqueue(process, head, order, run_id=run_id)
    return PlanOutdated(
        f"Bank, rules or notes have changed since the plan was made, so nothing was committed. The run {run_id} makes "
        "another plan, which needs a new approval."
    )
