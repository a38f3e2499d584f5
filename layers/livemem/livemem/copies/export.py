"""The archive of a space, or of one of its backups, to download. It is made once, in as many invocations as needed.

An export is the archive of a backup. The backup is taken for it unless nothing has changed since the last one. A caller
that asks again while the archive is made gets its progress. It then gets that archive, once, even if the space has
changed since.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from livemem import clock
from livemem.access.principal import Principal
from livemem.copies import catalog, export_job, taking
from livemem.copies import manifest as manifests
from livemem.copies.archiving import KIND
from livemem.copies.export_job import Asked, ExportJob
from livemem.copies.manifest import Manifest
from livemem.errors import BackupDamaged, LiveMemoryError, NotFinished, NotFound, PreconditionLost, TooLarge
from livemem.jobs import describable, worker
from livemem.jobs import job as jobs
from livemem.jobs.describable import Describable, Description
from livemem.jobs.job import Progress, Status
from livemem.jobs.package import Package
from livemem.jobs.worker import Work, Worked
from livemem.process import Process
from livemem.spaces import caps
from livemem.spaces import head as heads
from livemem.store import copying, keys, presigned
from livemem.store.bucket import EXPORT, EXPORT_STATE
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Stored

FRESH = timedelta(hours=1)
"""For how long an archive, or an error, waits for its callers."""


@dataclass(frozen=True)
class Archive:
    """A finished archive: `url` reads it until `expires_at`. It lacks the `left_out` objects of the bucket, because no
    import would take their names.
    """

    space_id: str
    backup_id: str
    url: str
    expires_at: str
    size: int
    objects: int
    left_out: int


@dataclass(frozen=True)
class Working:
    """An archive under way: it holds `done` of `total` objects. `total` is 0 while its backup is taken."""

    space_id: str
    backup_id: str
    status: Status
    done: int
    total: int


def export(process: Process, principal: Principal, space_id: str, deadline: datetime) -> Archive | Working:
    """The archive of the space as it stands now. It is made before `deadline`, or in later invocations: then the caller
    asks again.

    1 LIST, the requests of a backup (taking.take), 1 GET for each object and 2 or more PUT. A finished archive: 1 LIST,
    2 GET, 1 HEAD and the check whether the space has changed. 1 GET and 1 PUT to count the request. A repeated request
    for an archive under way is not counted. Raises NotFound, Busy, Conflict, BackupDamaged, CapReached.
    """
    heads.load(process, space_id)
    require_conditional_writes(process.store)
    asked = _asked_for(process, space_id)
    if asked:
        return _answer(process, _go_on(process, asked, deadline))
    with caps.making_archive(process, space_id):
        request = taking.BackupRequest("export", requested_by=principal.name)
        taken = taking.take(process, space_id, request, deadline=deadline, wait=True, nested=True)
        if not taken.manifest.complete:
            return _answer(process, _queue(process, space_id, taken.manifest.job_id))
        return _answer(process, _make(process, taken.manifest, "export", deadline))


def download(
    process: Process, space_id: str, backup_id: str, deadline: datetime, caller: Principal | None = None
) -> Archive | Working:
    """The archive of a complete backup, also of a deleted space, in the same way.

    A finished archive: 2 GET, 1 HEAD. Raises InvalidName, NotFound, BackupDamaged, CapReached.
    """
    catalog.check(process, caller, space_id, backup_id)
    result = manifests.summary(process, keys.check_space_id(space_id), keys.check_backup_id(backup_id))
    if not result or not result.value.complete:
        raise NotFound("backup", backup_id)
    require_conditional_writes(process.store)
    return _answer(process, _make(process, result.value, "download", deadline))


def _asked_for(process: Process, space_id: str) -> Stored[ExportJob] | None:
    """The newest export of the space that is under way, or whose end no caller knows yet: 1 LIST, 1 GET each."""
    entries = process.store.scan(EXPORT.prefix(space_id))
    fresh = [entry.key for entry in entries if entry.key.endswith(".json") and entry.age < FRESH]
    for key in reversed(fresh):
        item = export_job.parse(process.store.get(key))
        if item and item.value.asked == "export":
            waits = not item.value.delivered and (item.value.status != "done" or _is_there(process, item.value))
            return item if waits else None
    return None


def _queue(process: Process, space_id: str, backup_id: str) -> Stored[ExportJob]:
    """Queue an archive whose backup is still to be completed. The backup function does both."""
    with suppress(PreconditionLost):
        seconds = worker.PUT_ASIDE.total_seconds()
        job = export_job.new(process, space_id, backup_id, "export", stage="backup", held_seconds=seconds)
        jobs.create(process, EXPORT_STATE.key(space_id, backup_id), job)
    worker.queue(process, KIND, space_id, backup_id)
    return _newest(process, space_id, backup_id)


def _make(process: Process, backup: Manifest, asked: Asked, deadline: datetime) -> Stored[ExportJob]:
    """Make the archive of a complete backup, as far as possible before `deadline`."""
    space_id, backup_id = backup.space_id, backup.job_id
    result = KIND.find(process, space_id, backup_id)
    if result and not _is_over(process, result.value):
        return _go_on(process, result, deadline)
    with caps.making_archive(process, space_id) if asked == "download" else nullcontext():
        job = export_job.new(process, space_id, backup_id, asked, progress=Progress(total=backup.objects_count))
        with suppress(PreconditionLost):
            return _stands(worker.begin(process, KIND, job, deadline, over=result))
    return _newest(process, space_id, backup_id)


def _is_over(process: Process, job: ExportJob) -> bool:
    """Whether the archive must be made again: it is gone, or its job failed and a caller knows that."""
    if job.status == "done":
        return not _is_there(process, job)
    return job.status == "failed" and job.delivered


def _go_on(process: Process, current: Stored[ExportJob], deadline: datetime) -> Stored[ExportJob]:
    """Continue an archive that was begun. It does nothing while another worker has the job."""
    if current.value.ended() or jobs.is_held(current):
        return current
    # Its worker died, or the queued invocation was lost.
    return _stands(worker.go_on(Work(process, KIND, current, deadline)))


def _newest(process: Process, space_id: str, backup_id: str) -> Stored[ExportJob]:
    """The job as it is now: 1 GET."""
    return _stands(Worked("overtaken", KIND.find(process, space_id, backup_id)))


def _stands(worked: Worked[ExportJob]) -> Stored[ExportJob]:
    """The job as it stands. Raises PreconditionLost if it no longer exists."""
    if not worked.stored:
        raise PreconditionLost("The archive was removed in the meantime. Send the request again.")
    return worked.stored


def _error(job: ExportJob) -> LiveMemoryError:
    kinds: Mapping[str, Callable[[str], LiveMemoryError]] = {
        BackupDamaged.code: BackupDamaged,
        NotFinished.code: NotFinished,
        TooLarge.code: TooLarge,
    }
    kind = kinds.get(job.error.code) if job.error else None
    return kind(job.error.detail) if kind and job.error else NotFound("backup", job.job_id)


def _answer(process: Process, current: Stored[ExportJob]) -> Archive | Working:
    job = current.value
    space_id, backup_id = job.space_id, job.job_id
    if not job.ended():
        return Working(space_id, backup_id, job.status, job.progress.done, job.progress.total or 0)
    if not job.delivered:
        # Else another caller got the answer at the same moment.
        with suppress(PreconditionLost):
            jobs.change(process, current, delivered=True)
    if job.status == "failed":
        raise _error(job)
    return Archive(
        space_id=space_id,
        backup_id=backup_id,
        url=presigned.get_url(process.store, EXPORT.key(space_id, backup_id), f"{space_id}_{backup_id}.tar.gz"),
        expires_at=clock.iso(process.clock() + timedelta(seconds=presigned.SECONDS)),
        size=job.bytes,
        objects=job.objects,
        left_out=job.left_out,
    )


def _is_there(process: Process, job: ExportJob) -> bool:
    """Whether the archive of a job still exists: 1 HEAD."""
    result = copying.look(process.store, EXPORT.key(job.space_id, job.job_id))
    return bool(result and result.size == job.bytes)


def described(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """The export as a job, also of a deleted space. Its name is its backup's id. 1 GET, and those of `catalog.check`.
    Raises InvalidName, NotFound.
    """
    catalog.check(process, caller, space_id, keys.check_backup_id(name))
    result = KIND.find(process, space_id, name)
    if not result:
        raise NotFound("job", name)
    return describable.of_job("export", jobs.described(result))


def listing(process: Process, _: Principal, space_id: str, __: int | None) -> Iterable[tuple[int, str]]:
    """The jobs with their moments, the newest first: 1 LIST per 1,000. Jobs of the last day are kept."""
    prefix = EXPORT.prefix(space_id)
    names = (entry.key.removeprefix(prefix) for entry in process.store.scan(prefix))
    states = (name.removesuffix(".json") for name in names if name.endswith(".json"))
    return sorted(((catalog.moment(state), state) for state in states if catalog.is_id(state)), reverse=True)


PACKAGE = Package(jobs={"export": Describable(described, listing)})
