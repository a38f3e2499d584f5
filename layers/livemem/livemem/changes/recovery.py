"""Changes whose worker is gone, or was not alone: finished if committed, else cleared away.

A run only ends without a change after a check that no change bears its id. A process that ends a run on which
another worker may still work first changes the head. So that worker can't commit a run any more that was reported as
failed.
"""

import logging
from collections.abc import Iterable

from livemem.changes import commit, late_duplicates, proposals, records, reviews
from livemem.changes.records import Record
from livemem.errors import NotFound, ObjectUnreadable, PreconditionLost
from livemem.jobs import run as runs
from livemem.jobs.job import Failure, Status
from livemem.jobs.run import Run, RunCode
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.store.bucket import PLAN
from livemem.store.stored import Stored

logger = logging.getLogger(__name__)

DIED = Failure.model_construct(
    code="interrupted", detail="The worker died before the commit. All notes are still live."
)
NEVER_STARTED = Failure.model_construct(code="not_started", detail="No worker started the run. Start another run.")
ENDED = "The agent did not answer in time, or other work took the space. All notes are live."
OVERTAKEN = Failure.model_construct(code="not_started", detail="Another run was started before this one.")


def made_by(process: Process, head: Head, run: Run) -> Record | None:
    """The record of the run's change, if one is committed and written: 1 LIST, 1 GET. No request where nothing was
    committed since the run began.
    """
    if run.base is None or head.meta.changes <= run.base:
        return None
    try:
        record = records.get(process, run.space_id, run.base + 1)
    except NotFound:
        return None
    return record if record.run() == run.job_id else None


def recover(process: Process, head: Head) -> Head:
    """Finish the change that the head has committed, if any, and return the head after it. No LLM call."""
    head = reviews.finish(process, late_duplicates.finish(process, head))
    run_id = head.meta.committed_run
    if not run_id:
        return head
    space_id = head.meta.space_id
    record = _committed(process, space_id, run_id, head)
    if not record:
        newest = heads.load(process, space_id)
        if newest.meta.committed_run != run_id:
            return newest
        record = records.get(process, space_id, head.meta.changes)
    logger.info("finishing an interrupted change", extra={"run_id": run_id, "number": record.number})
    head = commit.apply(process, head, record)
    saved = runs.find(process, space_id, run_id)
    if saved and not saved.value.ended():
        succeed(process, saved, record)
    return head


def _committed(process: Process, space_id: str, run_id: str, head: Head) -> Record | None:
    """The plan of the committed change. Its record where the plan cannot be read and the record is written already."""
    try:
        return commit.planned(process, space_id, run_id)
    except ObjectUnreadable as error:
        try:
            return records.get(process, space_id, head.meta.changes)
        except NotFound:
            raise error from None


def succeed(process: Process, saved: Stored[Run], record: Record) -> Run:
    """End the run as the one that made this change."""
    return runs.finish(process, saved, "done", consolidation=record.number, metrics=record.metrics, error=None)


def end(
    process: Process, saved: Stored[Run], status: Status, code: RunCode | None = None, *, alone: bool, **changes: object
) -> Run:
    """End the run without a change, unless it is committed. Returns the run as it is then.

    Not `alone`: another worker of the run took it before, and may still be at work. Raises NotFound if the space is
    gone.
    """
    for _ in range(commit.TRIES):
        head = heads.load(process, saved.value.space_id)
        if head.meta.uid != saved.value.uid:
            raise NotFound("space", saved.value.space_id)
        if head.meta.committed_run == saved.value.job_id:
            head = recover(process, head)
        record = made_by(process, head, saved.value)
        if record:
            return succeed(process, saved, record)
        if head.meta.review and head.meta.review.run_id == saved.value.job_id:
            return proposals.wait(process, saved)
        if not alone and not heads.try_swap(process, head):
            continue
        return runs.finish(process, saved, status, code, **changes)
    raise PreconditionLost("The space was changed too often at the same time. Try again.")


def clear_abandoned(process: Process, head: Head, run_ids: Iterable[str]) -> Head:
    """Clear away the orphans of runs that lost the lease before they committed. Returns the head to build on."""
    for run_id in dict.fromkeys(run_ids):
        head = _clear(process, head, run_id)
    return head


def _clear(process: Process, head: Head, run_id: str) -> Head:
    space_id = head.meta.space_id
    for _ in range(commit.TRIES):
        saved = runs.find(process, space_id, run_id)
        # The plan's content does not matter: it is not committed.
        plan = commit.is_planned(process, space_id, run_id)
        unended = saved if saved and not saved.value.at_rest() else None
        if plan or (unended and unended.value.status == "running"):
            # A worker that continues late can't commit now: neither this plan nor one that it has yet to write.
            swapped = heads.try_swap(process, head)
            if not swapped:
                head = recover(process, heads.load(process, space_id))
                continue
            head = swapped
        if plan:
            process.store.delete(PLAN.key(space_id, run_id))
        if not unended:
            return head
        record = made_by(process, head, unended.value)
        if record:
            ended = succeed(process, unended, record)
        elif head.meta.review and head.meta.review.run_id == run_id:
            ended = proposals.wait(process, unended)
        elif unended.value.fold:
            ended = runs.finish(process, unended, "cancelled", "superseded", message=ENDED)
        else:
            problem = DIED if unended.value.status == "running" else OVERTAKEN
            ended = runs.finish(process, unended, "failed", error=problem)
        if ended.at_rest():
            return head
    raise PreconditionLost("The run was changed too often at the same time. Try again.")
