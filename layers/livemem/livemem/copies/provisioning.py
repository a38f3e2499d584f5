"""Restore, fork and import as kinds of jobs, and the steps that their workers have in common."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from livemem import clock
from livemem.access.principal import Principal
from livemem.copies import fork, importing, new_space, restore
from livemem.copies.new_space import Provisioned, ProvisioningJob, SpaceCopy
from livemem.errors import LiveMemoryError, PreconditionLost, StoreUnavailable
from livemem.jobs import job as jobs
from livemem.jobs import worker
from livemem.jobs.package import MORE_WORK
from livemem.jobs.worker import End, Kind, Work, Worked
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.store.bucket import HEAD

LASTS = timedelta(days=1)
"""The age at which an unfinished job is given up."""

WAYS: Mapping[str, Callable[[Process, Head, datetime], Provisioned]] = {
    "restore": restore.provision,
    "fork": fork.provision,
    "import": importing.provision,
}
"""The function that writes the objects of each kind of job."""


def order(process: Process, principal: Principal, copy: SpaceCopy, deadline: datetime) -> Head:
    """Claim the id of the new space for its job: the requests and errors of `restore.order`, `fork.order` or
    `importing.order`.
    """
    if copy.upload_ids:
        return importing.order(process, principal, copy, deadline)
    if copy.backup_id is not None:
        return restore.order(process, principal, copy.space_id or copy.target, copy.backup_id, copy.target)
    assert copy.space_id is not None
    return fork.order(process, principal, copy.space_id, copy.target, copy.at, deadline)


class _Provisionings(Kind[ProvisioningJob]):
    """The kind of this name among WAYS. `raised` gets the error that ends a job."""

    function = "backup"
    document = ProvisioningJob
    lasts = LASTS
    # Handing over writes nothing: an invocation that is lost is queued again by the sweep.
    keeps_place = False
    swept = True

    def __init__(self, name: str, raised: list[LiveMemoryError] | None = None) -> None:
        self.name, self._raised = name, raised

    def key(self, space_id: str, _job_id: str, _subject: str | None = None) -> str:
        return HEAD.key(space_id)

    def step(self, work: Work[ProvisioningJob]) -> End:
        """Write the missing objects. Raises OutOfTime, and the errors for which the job is given up."""
        head = new_space.head_of(work.stored)
        provisioned = WAYS[self.name](work.process, head, work.deadline)
        return End(changes={"meta": new_space.activated(work.process, head, provisioned)})

    def after(self, process: Process, space_id: str, worked: Worked[ProvisioningJob]) -> None:
        """Clean up after a job that this worker ended: remove the upload, or after a failure the objects."""
        ended = worked.stored
        # Another worker ended the job, perhaps long ago. By now another space may have the id.
        if worked.result == "ended" and ended and not ended.seen_at:
            heads.forget(process, space_id)
            if ended.value.status == "failed":
                new_space.clear(process, space_id)
            else:
                importing.end(process, ended.value.provisioning)

    def on_failure(self, _work: Work[ProvisioningJob], error: LiveMemoryError) -> Mapping[str, object]:
        if self._raised is not None:
            self._raised.append(error)
        return {}


KINDS: Mapping[str, Kind[ProvisioningJob]] = {name: _Provisionings(name) for name in WAYS}


def carry_on(process: Process, head: Head, deadline: datetime) -> Meta | None:
    """Fill the space that a request just claimed in `head`, and return the space. None: the rest is queued.

    The claim counts as a taken job: 1 PUT at the end, and the requests of the steps. Raises NotFound, BackupDamaged,
    NotFinished and the like if the job can't be done. Then it is given up, and its objects are removed. Raises
    PreconditionLost if another worker has the job by now, StoreUnavailable.
    """
    claimed = new_space.of_head(head)
    raised: list[LiveMemoryError] = []
    kind = _Provisionings(claimed.value.kind, raised)
    try:
        worked = worker.go_on(Work(process, kind, claimed, deadline), taken=True)
        kind.after(process, claimed.value.space_id, worked)
    except StoreUnavailable:
        # The last swap may have happened all the same. Only a read shows it.
        worked = Worked("ended", kind.find(process, claimed.value.space_id, claimed.value.job_id))
        if worked.outcome != "done":
            raise
    if worked.result == "unfinished":
        return None
    if worked.job and worked.job.status == "done" and worked.job.uid == head.meta.uid:
        return worked.job.meta
    if worked.outcome == "failed" and raised:
        raise raised[0]
    raise PreconditionLost("Another worker provisions this space, or has given it up.")


def maintain(process: Process, head: Head) -> Mapping[str, float]:
    """The sweep's look at a restore, fork or import: hand it to an invocation if no worker works on it any more,
    without a request of its own, and give it up after a day. Returns the counts that packages report.
    """
    result = new_space.of_head(head)
    job = result.value
    if jobs.is_held(result):
        return {MORE_WORK: 1}
    if process.clock() - clock.parse(job.created_at) > LASTS:
        # Also if no invocation comes any more: the worker sees by itself that it is too late.
        worker.work(process, KINDS[job.kind], job.space_id, job.job_id, process.clock(), current=result)
        return {"given_up": 1, MORE_WORK: 1}
    worker.queue(process, KINDS[job.kind], job.space_id, job.job_id)
    return {"handed_over": 1, MORE_WORK: 1}
