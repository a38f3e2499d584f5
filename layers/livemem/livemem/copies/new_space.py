"""Provisioning a whole space: claim its id, fill it, and then make it visible at once, or give it up.

The claim is the space's head, a tombstone that holds the job. A worker swaps the head before it
fills the space. The swap that makes the space visible succeeds only for the last such worker. So of several workers one
wins, and a late one does no harm. It writes the same bytes again, by conditional writes if users could have changed
them. If all workers die the sweep continues the job.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from livemem import clock
from livemem.access import decision
from livemem.access import registry as registries
from livemem.access.principal import Principal
from livemem.changes import late_write_repair
from livemem.errors import Conflict, NotFound, SpaceBroken, SpaceExists
from livemem.jobs import describable
from livemem.jobs.describable import Description, KindName
from livemem.jobs.job import Failure, Job, Progress
from livemem.process import Process
from livemem.spaces import caps, due_index, lifecycle
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.spaces.head_fields import LateWriteRepair, ProvisioningState
from livemem.store import keys, stored, timing
from livemem.store.bucket import HEAD, IN_SPACE
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Stored

MOST_REMOVED = 100_000
"""Most objects that one removal takes. It lasts a few minutes, so that no delete request comes after the id is free
again."""


@dataclass(frozen=True)
class SpaceCopy:
    """A space that is to be made from something: a `backup` of `space_id`, that space itself (as it stood after change
    `at`), or uploaded archives. A description, and rules, are for archives alone.
    """

    target: str
    space_id: str | None = None
    at: int | None = None
    backup_id: str | None = None
    upload_ids: Sequence[str] = ()
    description: str | None = None
    rules: str | None = None
    rules_template: str | None = None

    def options(self) -> dict[str, str]:
        """The fields that an import keeps until its end."""
        fields = {"description": self.description, "rules": self.rules, "rules_template": self.rules_template}
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True)
class Provisioned:
    """A space whose objects are all written except its head: their number with the head, and the head to write. `meta`
    has the space's own id and uid already.
    """

    meta: Meta
    objects: int


def going_on(process: Process, space_id: str, provisioning: ProvisioningState) -> Head | None:
    """The head of the space if the same restore, fork or import is already under way there: 1 GET."""
    head = heads.find_any(process, keys.check_space_id(space_id))
    if not head or not head.meta.is_being_provisioned():
        return None
    return head if _is_same(head.meta.provisioning, provisioning) else None


def check_free(process: Process, principal: Principal, space_id: str) -> None:
    """Raise the error of `begin` if the id is not free: 1 GET, 1 LIST."""
    try:
        _find_room(process, space_id)
    except (SpaceExists, SpaceBroken, Conflict):
        decision.check_space(process, principal, space_id)
        raise


def begin(process: Process, principal: Principal, space_id: str, provisioning: ProvisioningState) -> Head:
    """Claim the id for a restore, fork or import: 3 GET, 1 LIST, 2 PUT, and the requests to add the space to the
    token's list, or to count it for the token's cap. The same request again, while the job is under way, continues it.

    Raises InvalidName, SpaceExists, CapReached, Conflict (the id is not free). Raises Forbidden instead of SpaceExists
    and Conflict where the token may not see the space.
    """
    keys.check_space_id(space_id)
    require_conditional_writes(process.store)
    try:
        with caps.making_space(process, principal):
            head = _claim(process, space_id, provisioning)
    except (SpaceExists, SpaceBroken, Conflict):
        decision.check_space(process, principal, space_id)
        raise
    registries.allow_space(process, principal, space_id)
    return head


def _claim(process: Process, space_id: str, provisioning: ProvisioningState) -> Head:
    existing = going_on(process, space_id, provisioning)
    if existing:
        return existing
    tombstone = _find_room(process, space_id)
    if tombstone:
        # The deletion may have died before it did this.
        registries.forget_space(process, space_id)
    due_index.leave(process, space_id)
    now = clock.iso(process.clock())
    meta = Meta(
        space_id=space_id,
        description="",
        owner=None,
        created_at=now,
        uid=process.new_id(),
        rev=tombstone.meta.rev + 1 if tombstone else 1,
        consolidation_threshold=0,
        deleted_at=now,
        provisioning=provisioning.model_copy(update={"held_seconds": timing.BY_HAND.total_seconds()}),
    )
    with stored.race(lost=SpaceExists(f"The space {space_id!r} exists already, or is being created.")):
        heads.create(process, meta, over=tombstone)
    head = heads.find_any(process, space_id)
    if not head or head.meta.uid != meta.uid:
        raise SpaceExists(f"The space {space_id!r} exists already, or is being created.")
    return head


def _find_room(process: Process, space_id: str) -> Head | None:
    tombstone = lifecycle.find_tombstone(process, space_id)
    if not tombstone and next(iter(process.store.scan(IN_SPACE.prefix(space_id), limit=1)), None):
        raise Conflict(
            f"The folder {space_id!r} holds orphans of another space. The sweep removes them. Try again later."
        )
    return tombstone


def _is_same(provisioning_state: ProvisioningState | None, wanted: ProvisioningState) -> bool:
    fields = {"kind", "at", "upload_id", "more_uploads", "requested_by", "options"}
    if wanted.kind != "import":
        # The archive of an import names its source space, and may not be read yet.
        fields.add("space_id")
    if wanted.kind != "fork":
        # A fork takes a backup of its own.
        fields.add("backup_id")
    current = provisioning_state and provisioning_state.model_dump(include=fields)
    return current == wanted.model_dump(include=fields)


def activated(process: Process, head: Head, provisioned: Provisioned) -> Meta:
    """The head that makes the space visible."""
    provisioning = head.meta.provisioning
    assert provisioning
    return provisioned.meta.model_copy(
        update={
            # The options are in the space by now, and its head is read often.
            "provisioning": provisioning.model_copy(update={"objects": provisioned.objects, "options": {}}),
            "deleted_at": None,
            "committed_run": None,
            "late_duplicates": [],
            "erasing": None,
            # A backup has no plans.
            "review": None,
            # As long as requests of those who brought it may come, the sweep looks for notes that they bring back. A
            # file can come back only where it was deleted since, and each deletion is watched by itself.
            "late_write_repair": LateWriteRepair(until=clock.iso(process.clock() + late_write_repair.WATCHED_FOR)),
        }
    )


def clear(process: Process, space_id: str) -> None:
    """Remove the objects written so far of a space whose tombstone says why it was given up: the registry's 1 GET (and
    1 PUT), 1 LIST and 1 DeleteObjects per 1,000 objects.

    If it dies on the way, or there are more than 100,000, the sweep removes the rest as it does after a deletion.
    """
    registries.forget_space(process, space_id)
    # The cost of copied runs counts for the space in which they ran.
    entries = process.store.scan(IN_SPACE.prefix(space_id), limit=MOST_REMOVED)
    process.store.delete_many([entry.key for entry in entries if entry.key != HEAD.key(space_id)])


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


def described(kind: KindName, process: Process, _: Principal, space_id: str, name: str) -> Description:
    """Find the job, also before the space is visible: 1 GET. Raises InvalidName, NotFound."""
    job = load(process, space_id)
    if (job.kind, job.job_id) != (kind, name):
        raise NotFound("provisioning", name)
    return description(job)


def description(job: ProvisioningJob) -> Description:
    """The job as all others. Its result says where the space comes from."""
    return replace(describable.of_job(job.provisioning.kind, job), result=job.provisioning)


def listing(meta: Meta) -> list[tuple[int, KindName, str]]:
    """The job that restored, forked or imported the space of this head, or is doing so: its moment, its kind and its
    name.
    """
    job = ProvisioningJob.of(meta)
    if not job.job_id:
        return []
    return [(int(clock.parse(job.created_at).timestamp() * 1_000), job.provisioning.kind, job.job_id)]


KINDS: tuple[KindName, ...] = ("restore", "fork", "import")
