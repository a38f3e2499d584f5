"""Restore, fork and import as kinds of jobs: what their worker does, whatever a space comes from."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from livemem import clock
from livemem.errors import LiveMemoryError, PreconditionLost, StoreUnavailable
from livemem.jobs import job as jobs
from livemem.jobs import worker
from livemem.jobs.maintainable import MORE_WORK
from livemem.jobs.worker import End, Kind, Work, Worked
from livemem.process import Process
from livemem.restore import fork, importing, new_space, provisioning_job, restore
from livemem.restore.new_space import Provisioned
from livemem.restore.provisioning_job import Provisioning
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.store import keys
from livemem.store.stored import Stored

LASTS = timedelta(days=1)
"""After which what could not be brought is not tried again."""

WAYS: Mapping[str, Callable[[Process, Head, datetime], Provisioned]] = {
    "restore": restore.provision,
    "fork": fork.provision,
    "import": importing.provision,
}
"""How the objects of each kind are brought."""


def _step(work: Work[Provisioning]) -> End:
    """Bring what is missing. Raises OutOfTime, and what says that it can't be brought."""
    head = provisioning_job.head_of(work.stored)
    there = WAYS[work.job.kind](work.process, head, work.deadline)
    return End(changes={"meta": new_space.activated(work.process, head, there)})


KINDS: Mapping[str, Kind[Provisioning]] = {
    name: Kind(
        name,
        "backup",
        Provisioning,
        key=lambda space_id, _: keys.meta(space_id),
        step=_step,
        lasts=LASTS,
        # Handing over writes nothing: an invocation that is lost is queued again by the sweep.
        keeps_place=False,
        swept=True,
    )
    for name in WAYS
}


def carry_on(process: Process, head: Head, deadline: datetime) -> Meta | None:
    """Bring what was just claimed in `head` for a request, and return the space; None where the rest of it is queued.

    The claim counts as taken: 1 PUT at the end, and what the steps take. Raises NotFound, BackupDamaged, NotFinished
    and the like where it can't be brought: then it is given up, and nothing is left of it. Raises PreconditionLost
    where somebody else is at it by now, StoreUnavailable.
    """
    claimed = provisioning_job.of_head(head)
    raised: list[LiveMemoryError] = []

    def note(_: Work[Provisioning], error: LiveMemoryError) -> Mapping[str, object]:
        raised.append(error)
        return {}

    kind = replace(KINDS[claimed.value.kind], on_failure=note)
    try:
        worked = _after(process, worker.go_on(Work(process, kind, claimed, deadline), taken=True))
    except StoreUnavailable:
        # The last swap may have happened all the same: only a look tells.
        worked = Worked("ended", kind.find(process, claimed.value.space_id, claimed.value.job_id))
        if worked.outcome != "done":
            raise
    if worked.result == "unfinished":
        return None
    if worked.job and worked.job.status == "done" and worked.job.uid == head.meta.uid:
        return worked.job.meta
    if worked.outcome == "failed" and raised:
        raise raised[0]
    raise PreconditionLost("Somebody else brings this space, or has given it up.")


def carry_out(
    process: Process,
    kind: Kind[Provisioning],
    space_id: str,
    job_id: str,
    deadline: datetime,
    *,
    found: Stored[Provisioning] | None = None,
) -> Worked[Provisioning]:
    """Carry the job out in an invocation: what `worker.work` takes and raises."""
    return _after(process, worker.work(process, kind, space_id, job_id, deadline, found=found))


def _after(process: Process, worked: Worked[Provisioning]) -> Worked[Provisioning]:
    """Do what follows the end of a job, if it was written here: remove the upload, or after a failure the objects."""
    ended = worked.stored
    # What was read was ended by somebody else, perhaps long ago: by now another space may have the id.
    if worked.result == "ended" and ended and not ended.seen_at:
        heads.forget(process, ended.value.space_id)
        if ended.value.status == "failed":
            new_space.clear(process, ended.value.space_id)
        else:
            importing.end(process, ended.value.arrival)
    return worked


def maintain(process: Process, head: Head) -> Mapping[str, float]:
    """The sweep's look at what is being brought: hand it to an invocation where nobody works on it any more, without a
    request of its own, and give it up after a day. What was done, as packages tell it.
    """
    found = provisioning_job.of_head(head)
    job = found.value
    if jobs.is_held(found):
        return {MORE_WORK: 1}
    if process.clock() - clock.parse(job.created_at) > LASTS:
        # Also where no invocation comes any more: the worker sees by itself that it is too late.
        carry_out(process, KINDS[job.kind], job.space_id, job.job_id, process.clock(), found=found)
        return {"given_up": 1, MORE_WORK: 1}
    worker.queue(process, KINDS[job.kind], job.space_id, job.job_id)
    return {"handed_over": 1, MORE_WORK: 1}
