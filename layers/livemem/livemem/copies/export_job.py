"""The progress of a backup's archive: the job `_exports/{space}/{backup}.json`."""

from typing import Any, ClassVar, Literal

from livemem import clock
from livemem.jobs.job import Job
from livemem.process import Process
from livemem.store.bucket import EXPORT_STATE
from livemem.store.objects import Object
from livemem.store.stored import Stored
from livemem.store.stored_documents import Count, Line

Asked = Literal["export", "download"]


class ExportJob(Job):
    """The job's document. Its id is the backup's. While the archive is made it holds the uploaded parts, and the
    SHA-256 and metadata of the objects in them. `progress` counts those objects.
    """

    most_bytes: ClassVar[int] = 1 << 30

    kind: Line = "export"
    asked: Asked
    """The request that it was made for: an archive of the space as it stands, or of a given backup."""
    stage: Literal["backup", "archive"] = "archive"
    """`backup`: the backup is not complete yet."""
    delivered: bool = False
    """Whether a caller has received its URL, or its error."""
    upload_id: str | None = None
    etags: list[str] = []
    bytes: Count = 0
    """Bytes of the parts. Once the archive is finished: bytes of the archive."""
    digests: list[str] = []
    metadata: dict[str, dict[str, str]] = {}
    objects: Count = 0
    left_out: Count = 0


def new(process: Process, space_id: str, backup_id: str, asked: Asked, **fields: Any) -> ExportJob:
    """A job that is not written yet."""
    return ExportJob(
        job_id=backup_id,
        space_id=space_id,
        subject=backup_id,
        asked=asked,
        created_at=clock.iso_millis(process.clock()),
        **fields,
    )


def parse(item: Object | None) -> Stored[ExportJob] | None:
    """The job in an object. None if it can't be read, or is of another space."""
    try:
        job = ExportJob.from_bytes(item.body) if item else None
    except ValueError:
        return None
    if not item or not job or EXPORT_STATE.key(job.space_id, job.job_id) != item.key:
        return None
    return Stored(item.key, job, item.etag, item.age, item.seen_at)
