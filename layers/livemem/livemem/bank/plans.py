"""Plans that wait for a person, as users read them (bank/review.py decides on them)."""

from dataclasses import dataclass, replace

from livemem.access.principal import Principal
from livemem.bank import history
from livemem.bank.history import RecordDetail
from livemem.changes import proposals, run_progress
from livemem.changes.run_progress import RunResult
from livemem.jobs.describable import Describable, Description
from livemem.jobs.package import Package
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head_fields import Review
from livemem.store import keys


@dataclass(frozen=True)
class WaitingPlan:
    """A waiting plan, shown as a change that is not made yet. `outdated`: it can't be committed as it stands."""

    review: Review
    agent: str | None
    detail: RecordDetail
    outdated: bool


def find(process: Process, space_id: str, run_id: str) -> WaitingPlan | None:
    """The plan of a run that waits for approval: 2 GET. None if it was decided. Raises InvalidName."""
    keys.check_run_id(run_id)
    meta = heads.load(process, space_id).meta
    review = meta.pending_plan
    record = proposals.read(process, meta, review) if review and review.run_id == run_id else None
    if not review or not record:
        return None
    detail = history.detail(space_id, record, undone=False, consolidations={})
    return WaitingPlan(review, record.agent, detail, outdated=review.number != meta.changes + 1)


def described(process: Process, _: Principal, space_id: str, name: str) -> Description:
    """The run as a job, with its plan while that waits: 2 GET, and 2 more for the plan. Raises InvalidName, NotFound,
    ObjectUnreadable.
    """
    run = run_progress.view(process, space_id, name)
    plan = find(process, space_id, name) if run.status == "waiting" else None
    return replace(run_progress.of_run(run), result=RunResult(run, plan, whole=True))


PACKAGE = Package(jobs={"consolidation": Describable(described, run_progress.listing, run_progress.item)})
