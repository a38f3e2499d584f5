"""The archives of a space, or of one of its backups, to download: a job that makes one archive an invocation.

An export is of a backup. The backup is taken for it unless nothing has changed since the last one. A repeated request
finds the job that is under way, or its archives as long as they are there: the service keeps them, and uploads, for a
day.
"""

import logging
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from livemem import clock
from livemem.access.principal import Principal
from livemem.copies import archive, catalog, taking
from livemem.copies import manifest as manifests
from livemem.copies.manifest import Manifest
from livemem.errors import BackupDamaged, LiveMemoryError, NotFound, OutOfTime, PreconditionLost, TooLarge
from livemem.jobs import describable, worker
from livemem.jobs import job as jobs
from livemem.jobs.describable import Description
from livemem.jobs.job import Job, Progress
from livemem.jobs.worker import End, Kind, Work, Worked
from livemem.process import Process
from livemem.spaces import caps
from livemem.spaces import head as heads
from livemem.store import copying, keys, presigned
from livemem.store.bucket import EXPORT, EXPORT_STATE, UPLOAD
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Entry, Object
from livemem.store.stored import Stored
from livemem.store.stored_documents import Count, LazyModel, Line

logger = logging.getLogger(__name__)

GZIP = "application/gzip"
LIFE = timedelta(days=1)
FRESH = timedelta(hours=1)
"""Age up to which a job under way answers a further request for an export of the space."""

Asked = Literal["export", "download"]


class Archive(LazyModel):
    """An archive that is made: its size in bytes, and the number of its objects and of those that it lacks."""

    bytes: Count
    objects: Count
    left_out: Count


class ExportJob(Job):
    """`_exports/{space}/{backup}.json`. The job's id is the backup's. `progress` counts the objects in its archives."""

    kind: Line = "export"
    asked: Asked
    """The request that it was made for: for the space as it stands, or for a given backup."""
    stage: Literal["backup", "archive"] = "archive"
    """`backup`: the backup is not complete yet."""
    archives: list[Archive] = []
    """Those that are made."""


@dataclass(frozen=True)
class Download:
    """The address of an archive, and its size in bytes."""

    url: str
    bytes: int


@dataclass(frozen=True)
class ExportResult:
    """The archives of a space in their order. Their addresses work until `expires_at`. The `left_out` objects of the
    bucket are in none of them, because no import would take them.
    """

    backup_id: str
    archives: list[Download]
    expires_at: str
    objects: int
    left_out: int


class _Exports(Kind[ExportJob]):
    """Making the archives of a backup."""

    name = "export"
    function = "backup"
    document = ExportJob
    lasts = LIFE

    def key(self, space_id: str, job_id: str, _subject: str | None = None) -> str:
        return EXPORT_STATE.key(space_id, job_id)

    def is_final(self, error: LiveMemoryError) -> bool:
        return isinstance(error, BackupDamaged | NotFound | TooLarge)

    def step(self, work: Work[ExportJob]) -> End | None:
        """Continue the backup, or make the next archive. Raises BackupDamaged, NotFound, NotFinished, OutOfTime."""
        job = work.job
        if job.stage == "archive":
            return _pack(work)
        # In a request there is no time to wait.
        wait = job.attempt > 1
        taken = taking.go_on(work.process, job.space_id, job.job_id, deadline=work.deadline, wait=wait, nested=True)
        if not taken.manifest.complete:
            raise OutOfTime("Another invocation continues the backup.")
        work.save(stage="archive")
        return None


KIND = _Exports()


def _pack(work: Work[ExportJob]) -> End:
    def check() -> None:
        if not work.in_time():
            raise OutOfTime("Another invocation makes this archive.")

    process, job = work.process, work.job
    contents = archive.ArchiveContents.of(manifests.load(process, job.space_id, job.job_id).value)
    number = len(job.archives) + 1
    packed = archive.pack(process, contents, number, check)
    key = EXPORT.key(job.space_id, job.job_id, number)
    etag = process.store.put(key, packed.body, content_type=GZIP)
    # An erasure that has cleared the job away knew nothing of this one. That of a new job stays.
    work.undo = lambda: process.store.delete(key, if_match=etag)
    made = Archive(bytes=len(packed.body), objects=len(packed.objects), left_out=len(packed.left_out))
    logger.info("archive made", extra={"space_id": job.space_id, **made.model_dump()})
    archives = [*job.archives, made]
    done = sum(len(items) for items in contents.archives[:number])
    progress = Progress(done=done, total=sum(map(len, contents.archives)))
    if number == len(contents.archives):
        return End(changes={"archives": archives, "progress": progress})
    work.save(archives=archives, progress=progress)
    raise OutOfTime("Another invocation makes the next archive.")


def export(process: Process, principal: Principal, space_id: str, deadline: datetime) -> Stored[ExportJob]:
    """The job that makes the archives of the space as it stands now, as far as that is possible before `deadline`.

    1 LIST, the requests of a backup (taking.take), 1 GET for each object, 1 PUT for each archive and 2 for the job. If
    nothing has changed since an export: 1 LIST, 1 GET, 1 HEAD for each archive, and the check for changes. 1 GET and 1
    PUT to count the request, unless it repeats one for a job under way. Raises NotFound, Busy, Conflict, CapReached.
    """
    heads.load(process, space_id)
    require_conditional_writes(process.store)
    current = _under_way(process, space_id)
    if current:
        return _go_on(process, current, deadline)
    with caps.making_archive(process, space_id):
        request = taking.BackupRequest("export", requested_by=principal.name)
        taken = taking.take(process, space_id, request, deadline=deadline, wait=True, nested=True)
        if not taken.manifest.complete:
            return _queue(process, space_id, taken.manifest.job_id)
        return _make(process, taken.manifest, "export", deadline)


def export_backup(
    process: Process, principal: Principal, space_id: str, backup_id: str, deadline: datetime
) -> Stored[ExportJob]:
    """The same for a complete backup, also of a deleted space. Raises InvalidName, NotFound, CapReached."""
    manifest = catalog.get(process, space_id, backup_id, principal).value
    if not manifest.complete:
        raise NotFound("backup", backup_id)
    require_conditional_writes(process.store)
    return _make(process, manifest, "download", deadline)


def _under_way(process: Process, space_id: str) -> Stored[ExportJob] | None:
    """The newest job for the space as it stands that has not ended: 1 LIST, 1 GET for each fresh one."""
    entries = process.store.scan(EXPORT.prefix(space_id))
    fresh = [entry.key for entry in entries if entry.key.endswith(".json") and entry.age < FRESH]
    for key in reversed(fresh):
        current = _parse(process.store.get(key))
        if current and current.value.asked == "export" and not current.value.ended():
            return current
    return None


def _parse(item: Object | None) -> Stored[ExportJob] | None:
    """The job in an object. None if it can't be read, or is of another space."""
    try:
        job = ExportJob.from_bytes(item.body) if item else None
    except ValueError:
        return None
    if not item or not job or EXPORT_STATE.key(job.space_id, job.job_id) != item.key:
        return None
    return Stored(item.key, job, item.etag, item.age, item.seen_at)


def _new(process: Process, space_id: str, backup_id: str, asked: Asked, **fields: Any) -> ExportJob:
    now = clock.iso_millis(process.clock())
    return ExportJob(job_id=backup_id, space_id=space_id, subject=backup_id, asked=asked, created_at=now, **fields)


def _queue(process: Process, space_id: str, backup_id: str) -> Stored[ExportJob]:
    """Queue the archives of a backup that is still to be completed. The backup function does both."""
    with suppress(PreconditionLost):
        seconds = worker.PUT_ASIDE.total_seconds()
        job = _new(process, space_id, backup_id, "export", stage="backup", held_seconds=seconds)
        jobs.create(process, EXPORT_STATE.key(space_id, backup_id), job)
    worker.queue(process, KIND, space_id, backup_id)
    return _newest(process, space_id, backup_id)


def _make(process: Process, backup: Manifest, asked: Asked, deadline: datetime) -> Stored[ExportJob]:
    """The job that makes the archives of a complete backup, and goes on before `deadline`. A new one where there is
    none, it failed, or its archives are gone.
    """
    space_id, backup_id = backup.space_id, backup.job_id
    result = KIND.find(process, space_id, backup_id)
    if result and (_is_there(process, result.value) if result.value.ended() else True):
        return _go_on(process, result, deadline)
    with caps.making_archive(process, space_id) if asked == "download" else nullcontext():
        job = _new(process, space_id, backup_id, asked, progress=Progress(total=backup.objects_count))
        with suppress(PreconditionLost):
            return _stands(worker.begin(process, KIND, job, deadline, over=result))
    return _newest(process, space_id, backup_id)


def _is_there(process: Process, job: ExportJob) -> bool:
    """Whether all archives of a job that has ended are there: 1 HEAD each."""

    def exists(number: int, made: Archive) -> bool:
        result = copying.look(process.store, EXPORT.key(job.space_id, job.job_id, number))
        return bool(result and result.size == made.bytes)

    return bool(job.archives) and job.status == "done" and all(exists(*one) for one in enumerate(job.archives, start=1))


def _go_on(process: Process, current: Stored[ExportJob], deadline: datetime) -> Stored[ExportJob]:
    """Continue a job that was begun. It does nothing while another worker has it."""
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


def description(process: Process, current: Stored[ExportJob]) -> Description:
    """The export as a job, with its result once it is done: no request."""
    job = current.value
    described = describable.of_job("export", jobs.described(current))
    return described if job.status != "done" or not job.archives else _with_result(process, job, described)


def _with_result(process: Process, job: ExportJob, described: Description) -> Description:
    def address(number: int) -> str:
        key = EXPORT.key(job.space_id, job.job_id, number)
        return presigned.get_url(process.store, key, f"{job.space_id}_{key.rpartition('/')[2]}")

    result = ExportResult(
        backup_id=job.job_id,
        archives=[Download(address(number), made.bytes) for number, made in enumerate(job.archives, start=1)],
        expires_at=clock.iso(process.clock() + timedelta(seconds=presigned.SECONDS)),
        objects=sum(made.objects for made in job.archives),
        left_out=sum(made.left_out for made in job.archives),
    )
    return replace(described, result=result)


def described(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """The export as a job, also of a deleted space. Its name is its backup's id. 1 GET, and those of `catalog.check`.
    Raises InvalidName, NotFound.
    """
    return description(process, _found(process, caller, space_id, name))


def in_list(process: Process, caller: Principal, space_id: str, name: str) -> Description:
    """The same without the result: a list signs no addresses, which would work for everybody who reads it."""
    return describable.of_job("export", jobs.described(_found(process, caller, space_id, name)))


def _found(process: Process, caller: Principal, space_id: str, name: str) -> Stored[ExportJob]:
    catalog.check(process, caller, space_id, keys.check_backup_id(name))
    result = KIND.find(process, space_id, name)
    if not result:
        raise NotFound("job", name)
    return result


def listing(process: Process, _: Principal, space_id: str, __: int | None) -> Iterable[tuple[int, str]]:
    """The jobs with their moments, the newest first: 1 LIST per 1,000. Jobs of the last day are kept."""
    prefix = EXPORT.prefix(space_id)
    names = (entry.key.removeprefix(prefix) for entry in process.store.scan(prefix))
    states = (name.removesuffix(".json") for name in names if name.endswith(".json"))
    return sorted(((catalog.moment(state), state) for state in states if catalog.is_id(state)), reverse=True)


@dataclass(frozen=True)
class Expired:
    """The expired objects: keys of archives and of their jobs, and keys of uploads to import. `bytes` of all."""

    exports: list[str]
    uploads: list[str]
    bytes: int


def expire(process: Process, now: datetime | None = None, *, dry_run: bool = False) -> Expired:
    """Remove archives and uploads that are older than a day. With `dry_run` only report them.

    2 LIST per 1,000 objects, 2 DeleteObjects per 1,000. With `now` an object's age counts until then, else by the
    store's clock.
    """

    def is_over(entry: Entry) -> bool:
        return (entry.age if now is None else now - entry.last_modified) > LIFE

    exports = [entry for entry in process.store.scan(EXPORT.prefix()) if is_over(entry)]
    uploads = [entry for entry in process.store.scan(UPLOAD.prefix()) if is_over(entry)]
    expired = Expired(
        [entry.key for entry in exports],
        [entry.key for entry in uploads],
        sum(entry.size for entry in (*exports, *uploads)),
    )
    if not dry_run:
        # The jobs first: a job whose archive is gone would cost a caller a needless look.
        process.store.delete_many([key for key in expired.exports if key.endswith(".json")])
        process.store.delete_many([key for key in (*expired.exports, *expired.uploads) if not key.endswith(".json")])
    return expired
