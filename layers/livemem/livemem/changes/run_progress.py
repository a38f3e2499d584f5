"""The state of a run, for clients that wait for it.

A worker that dies can't record it. So the state of a run is derived from the bucket when it is read. A run whose time
ran out is an error, unless a change bears its id: then it is committed, and will be written out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from livemem.access.principal import Principal
from livemem.changes import recovery, reviews
from livemem.errors import NotFound
from livemem.jobs import run as runs
from livemem.jobs.describable import Description, of_job
from livemem.jobs.job import Failure
from livemem.jobs.run import Run
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import unreadable
from livemem.spaces.head import Head
from livemem.spaces.head_fields import Review
from livemem.store import keys, timeline, timing
from livemem.store.bucket import RUN
from livemem.store.stored import Stored
from livemem.store.timeline import Timeline

APPLYING = {"status": "running", "code": None, "step": "applying"}
LAST_MOMENT = 2**48 - 1
"""The last moment of an ULID, in milliseconds since 1970."""


@dataclass(frozen=True)
class RunResult:
    """What came of a run. `plan` is the one that waits (`WaitingPlan`). A list shows neither plans nor rules."""

    run: Run
    plan: Any = None
    whole: bool = False


def view(process: Process, space_id: str, run_id: str) -> Run:
    """The run in its derived state. Raises InvalidName, NotFound (also for a run of a deleted space of the same name),
    ObjectUnreadable.
    """
    keys.check_run_id(run_id)
    return _stands(process, heads.load(process, space_id), run_id)


def _stands(process: Process, head: Head, run_id: str) -> Run:
    keys.check_run_id(run_id)
    missing: list[str] = []
    saved = runs.find(process, head.meta.space_id, run_id, missing)
    if missing:
        raise unreadable.error(missing[0])
    if not saved or saved.value.uid != head.meta.uid:
        raise NotFound("run", run_id)
    return _as_it_stands(process, head, saved)


def listing(process: Process, _: Principal, space_id: str, before: int | None) -> Iterator[tuple[int, str]]:
    """The moments of runs (in milliseconds since 1970) and their ids, the newest first: those of the moment `before`
    and earlier. A few LIST for any number of runs.
    """
    end = f"{keys.run_moment(before + 1)}{'0' * 16}" if before is not None and before < LAST_MOMENT else None
    return ((keys.ulid_moment(run_id), run_id) for run_id in _newest_first(process, space_id, end))


def _newest_first(process: Process, space_id: str, before: str | None) -> Iterator[str]:
    line = Timeline(RUN.prefix(space_id), keys.run_moment, _moment)
    now = int(process.clock().timestamp() * 1_000)
    last = _moment(RUN.key(space_id, before)) if before else None
    end = last + 1 if last is not None and last < LAST_MOMENT else None
    for batch in timeline.newest_first(process.store, line, now=now, before=end):
        ids = [run_id for entry in batch if (run_id := RUN.last(entry.key))]
        yield from (run_id for run_id in sorted(ids, reverse=True) if before is None or run_id < before)


def _moment(key: str) -> int | None:
    run_id = RUN.last(key)
    return keys.ulid_moment(run_id) if run_id else None


def _as_it_stands(process: Process, head: Head, saved: Stored[Run]) -> Run:
    run = saved.value
    if run.ended():
        return run
    review = head.meta.review
    if review and review.run_id == run.job_id:
        return _as_decided(head, run, review)
    if head.meta.committed_run == run.job_id:
        return run.changed(APPLYING)
    if run.status == "queued":
        return run if saved.age < timing.DELIVERED else _ended(run, recovery.NEVER_STARTED)
    if run.status == "running" and saved.age < timing.DEAD_AFTER:
        return run
    record = recovery.made_by(process, head, run)
    if record:
        return run.changed({**runs.with_status("done"), "consolidation": record.number, "metrics": record.metrics})
    if run.at_rest():
        # The run came with the backup or space that this one was made of, but its plan did not.
        return run.changed({**runs.with_status("cancelled", "superseded"), "message": reviews.LOST})
    return _ended(run, recovery.DIED)


def _as_decided(head: Head, run: Run, review: Review) -> Run:
    """The derived state of a run whose plan waits, or was decided just now."""
    if not review.decision:
        return run.changed(runs.with_status("waiting", "awaiting_approval"))
    if head.meta.committed_run:
        return run.changed(APPLYING)
    decided = review.decision
    return run.changed(
        {
            **reviews.outcome(decided),
            "message": decided.message,
            "consolidation": decided.consolidation,
            "decided_by": decided.by,
            "decided_at": decided.at,
        }
    )


def _ended(run: Run, problem: Failure) -> Run:
    return run.changed({**runs.with_status("failed"), "error": problem})


def of_run(run: Run) -> Description:
    """The run as a job. Its result is the run, without a plan that waits (bank/plans.py)."""
    return replace(
        of_job("consolidation", run),
        subject=run.agent,
        usage=run.usage + run.asking,
        ended_at=run.ended_at if run.at_rest() else None,
        result=RunResult(run),
    )


def item(process: Process, _: Principal, space_id: str, name: str) -> Description:
    """The run as a list shows it, if the head was just read: 1 GET. Raises as `view`."""
    return of_run(_stands(process, heads.load_recent(process, space_id), name))
