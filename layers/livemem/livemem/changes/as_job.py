"""A run as a job: `consolidation`."""

from collections.abc import Iterator, Mapping

from livemem.access.principal import Principal
from livemem.changes import progress
from livemem.jobs import run as runs
from livemem.jobs.describable import Describable, Description
from livemem.jobs.job import Failure, Status
from livemem.jobs.run import Run
from livemem.process import Process
from livemem.spaces.usage import RunTold

STATUSES: Mapping[runs.Status, Status] = {
    "queued": "queued",
    "running": "running",
    "ok": "done",
    "nothing_to_do": "done",
    # Its work is done. What is left to be said is a person's.
    "awaiting_approval": "done",
    "busy": "failed",
    "error": "failed",
    "refused": "cancelled",
    "superseded": "cancelled",
}


def find(process: Process, _: Principal, space_id: str, name: str) -> Description:
    """Raises InvalidName, NotFound, ObjectUnreadable. What `changes.progress.view` takes."""
    run = progress.view(process, space_id, name)
    ended = run.status in runs.AT_REST
    return Description(
        space_id=space_id,
        kind="consolidation",
        name=name,
        status=STATUSES[run.status],
        created_at=run.queued_at,
        subject=run.agent,
        usage=RunTold.model_validate(run.model_dump()).used(),
        error=_error(run),
        started_at=run.started_at,
        ended_at=run.finished_at if ended else None,
    )


def _error(run: Run) -> Failure | None:
    if run.status == "busy":
        return Failure(code="busy", detail=run.message or "Another run or a correction was at it.")
    return Failure(**run.error) if run.error else None


def listed(process: Process, _: Principal, space_id: str, before: int | None) -> Iterator[tuple[int, str]]:
    """A few LIST, however many runs there were."""
    return progress.newest_first(process, space_id, before)


DESCRIBABLE = Describable("consolidation", find, listed)
