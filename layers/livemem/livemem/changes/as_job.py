"""A run as a job: `consolidation`."""

from collections.abc import Iterator
from dataclasses import replace

from livemem.access.principal import Principal
from livemem.changes import run_progress
from livemem.jobs.describable import Describable, Description, of_job
from livemem.jobs.job import Failure
from livemem.jobs.run import Run
from livemem.process import Process


def find(process: Process, _: Principal, space_id: str, name: str) -> Description:
    """Describe the run, with the requests of run_progress.view. Raises InvalidName, NotFound, ObjectUnreadable."""
    run = run_progress.view(process, space_id, name)
    return replace(
        of_job("consolidation", run),
        subject=run.agent,
        usage=run.usage + run.asking,
        error=_error(run),
        ended_at=run.ended_at if run.at_rest() else None,
    )


def _error(run: Run) -> Failure | None:
    if run.result == "busy":
        return Failure(code="busy", detail=run.message or "Another run or a correction held the space.")
    return run.error


def listed(process: Process, _: Principal, space_id: str, before: int | None) -> Iterator[tuple[int, str]]:
    """The runs by name, the newest first: a few LIST for any number of runs."""
    return run_progress.newest_first(process, space_id, before)


DESCRIBABLE = Describable("consolidation", find, listed)
