"""The job that restores, forks or imports a space: its document is the space's own head, a tombstone until its end.

So one object shows that the id is taken, which worker has the job and that the space exists, and no further request is
needed. A worker takes the job by a swap of the head, and ends it by another. The end makes the space visible or says
why there is none.

The head does not count how often the job was taken: a large space takes many invocations, and writes no progress
between them. The job is given up after a day.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Self

from livemem import clock
from livemem.access.principal import Principal
from livemem.errors import NotFound
from livemem.jobs import describable
from livemem.jobs.describable import Describable, Description, KindName
from livemem.jobs.job import Failure, Job, Progress
from livemem.jobs.package import Package
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.spaces.head_fields import ProvisioningState
from livemem.store import keys
from livemem.store.stored import Stored


class ProvisioningJob(Job):
    """`_meta.json`, read as the job. Its subject is the backup or the upload that it comes from.

    For a head without such a job, or of a space that was deleted after it, the id is empty. So nobody finds a job
    there.
    """

    meta: Meta

    @classmethod
    def of(cls, meta: Meta) -> Self:
        """The job in a head."""
        none = cls(
            kind="",
            job_id="",
            space_id=meta.space_id,
            uid=meta.uid,
            status="done",
            created_at=meta.created_at,
            meta=meta,
        )
        provisioning = meta.provisioning
        if not provisioning or (meta.deleted_at and provisioning.ended() and not provisioning.error):
            return none
        return none.model_copy(
            update={
                "kind": provisioning.kind,
                "job_id": provisioning.provisioning_id,
                "subject": provisioning.backup_id or provisioning.upload_id,
                "status": "done" if not meta.deleted_at else "failed" if provisioning.ended() else "running",
                "held_seconds": provisioning.held_seconds,
                "progress": Progress(done=provisioning.objects or 0, total=provisioning.objects),
                "requested_by": provisioning.requested_by,
                "created_at": provisioning.started_at,
                "started_at": provisioning.started_at,
                "ended_at": provisioning.finished_at,
                "error": provisioning.error and _failure(provisioning.error),
            }
        )

    @classmethod
    def from_bytes(cls, body: bytes) -> Self:
        """The job in a stored head. Raises ValueError, SpaceTooNew."""
        meta = Meta.from_bytes(body)
        heads.refuse_newer(meta.space_id, meta.named_layout())
        return cls.of(meta)

    def to_bytes(self) -> bytes:
        """The head."""
        return self.meta.to_bytes()

    @property
    def provisioning(self) -> ProvisioningState:
        """The head's field about the job."""
        assert self.meta.provisioning
        return self.meta.provisioning

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """The job with `changes`. Of these the head keeps how long the job is held, and its end."""
        after = super().changed(changes)
        provisioning = after.provisioning.model_copy(
            update={
                "held_seconds": after.held_seconds,
                "finished_at": after.ended_at and clock.iso(clock.parse(after.ended_at)),
                "error": after.error and after.error.model_dump(),
            }
        )
        return self.of(after.meta.model_copy(update={"rev": self.meta.rev + 1, "provisioning": provisioning}))

    def stamped(self, write_id: str) -> Self:
        """The head with the id of this write."""
        return self.of(self.meta.stamped(write_id))


def _failure(error: Mapping[str, str]) -> Failure:
    # Unchanged: a text that somebody wrote into the head by hand is shown as well.
    return Failure.model_construct(code=error.get("code", ""), detail=error.get("detail", ""))


def of_head(head: Head) -> Stored[ProvisioningJob]:
    """The job in a head that was read or written."""
    return Stored(head.key, ProvisioningJob.of(head.meta), head.etag, head.age, head.seen_at)


def head_of(current: Stored[ProvisioningJob]) -> Head:
    """The head that holds the job."""
    return Head(current.key, current.value.meta, current.etag, current.age, current.seen_at)


def load(process: Process, space_id: str) -> ProvisioningJob:
    """The job that restores, forks or imports the space, or did so: 1 GET. Raises InvalidName, NotFound if there is
    none.
    """
    head = heads.find_any(process, keys.check_space_id(space_id))
    job = ProvisioningJob.of(head.meta) if head else None
    if not job or not job.job_id:
        raise NotFound("provisioning", space_id)
    return job


def _described(kind: KindName, process: Process, _: Principal, space_id: str, name: str) -> Description:
    """Find the job, also before the space is visible: 1 GET. Raises InvalidName, NotFound."""
    job = load(process, space_id)
    if (job.kind, job.job_id) != (kind, name):
        raise NotFound("provisioning", name)
    return description(job)


def description(job: ProvisioningJob) -> Description:
    """The job as all others. Its result says where the space comes from."""
    return replace(describable.of_job(job.provisioning.kind, job), result=job.provisioning)


def listing(head: Head | None) -> list[tuple[int, KindName, str]]:
    """The job that restored, forked or imported the space of this head, or is doing so: its moment, its kind and its
    name.
    """
    job = ProvisioningJob.of(head.meta) if head else None
    if not job or not job.job_id:
        return []
    return [(int(clock.parse(job.created_at).timestamp() * 1_000), job.provisioning.kind, job.job_id)]


KINDS: tuple[KindName, ...] = ("restore", "fork", "import")
PACKAGE = Package(jobs={kind: Describable(partial(_described, kind)) for kind in KINDS})
