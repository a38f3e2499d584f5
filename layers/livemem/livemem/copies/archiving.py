"""Making the archive of a backup: the steps of the job (export_job.py).

Each worker swaps the job. So of several workers one continues, and the others stop at their next part. All workers make
the same parts (packing.py).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from livemem.copies import archive, packing, taking
from livemem.copies import manifest as manifests
from livemem.copies.export_job import ExportJob
from livemem.copies.packing import Packed, PackedBackup
from livemem.errors import BackupDamaged, LiveMemoryError, NotFinished, NotFound, OutOfTime, PreconditionLost, TooLarge
from livemem.jobs.job import Progress
from livemem.jobs.worker import End, Kind, Work
from livemem.process import Process
from livemem.store import copying, large
from livemem.store.bucket import EXPORT, EXPORT_STATE

logger = logging.getLogger(__name__)

GZIP = "application/gzip"
ANEW = 2
"""How often one worker begins an archive again because the store lost the parts."""
NOTHING: Mapping[str, Any] = {"upload_id": None, "etags": [], "digests": [], "metadata": {}, "bytes": 0}
"""The fields of a job that has no parts yet."""


def _abort(process: Process, job: ExportJob) -> None:
    if job.upload_id:
        large.abort(process.store, EXPORT.key(job.space_id, job.job_id), job.upload_id)


class _UploadGone(LiveMemoryError):
    """The store does not have the parts any more."""

    def __init__(self) -> None:
        super().__init__("The upload is gone.")


@dataclass
class _Parts:
    """The parts that are uploaded. A part of an earlier run may be put again: the bytes are the same."""

    process: Process
    key: str
    upload_id: str | None
    etags: list[str]
    size: int
    begun: str | None = None
    """The upload that this run began."""

    def put(self, body: bytes) -> None:
        store = self.process.store
        if len(self.etags) == large.MOST_PARTS:
            raise TooLarge("The archive is too large: it has more parts than the object store accepts.")
        if not self.upload_id:
            self.upload_id = self.begun = large.begin(store, self.key, GZIP)
        try:
            etag = large.put_part(store, self.key, self.upload_id, len(self.etags) + 1, body)
        except NotFound:
            raise _UploadGone from None
        self.etags.append(etag)
        self.size += len(body)

    def forget(self, known: str | None) -> None:
        """Abort the upload that this run began, unless the job knows it."""
        if self.begun and self.begun != known:
            large.abort(self.process.store, self.key, self.begun)


def _pack(work: Work[ExportJob]) -> End | None:
    """Make the archive of a complete backup, starting where its job stands. None if time runs out."""
    backup = manifests.load(work.process, work.job.space_id, work.job.job_id).value
    source = PackedBackup(backup, *archive.split(work.job.space_id, backup.items or ()))
    for _ in range(ANEW):
        try:
            return _pack_from(work, source)
        except _UploadGone:
            # If another worker has the job by now, this swap fails.
            _abort(work.process, work.job)
            work.save(**NOTHING, progress=Progress(total=len(source.items)))
    raise NotFinished("The object store lost the uploaded parts of the archive several times. Start the export again.")


def _pack_from(work: Work[ExportJob], source: PackedBackup) -> End | None:
    process, job = work.process, work.job
    packed = Packed(list(job.digests), dict(job.metadata))
    parts = _Parts(process, EXPORT.key(job.space_id, job.job_id), job.upload_id, list(job.etags), job.bytes)
    try:
        for is_whole in packing.pack(process, source, packed, parts.put):
            if is_whole:
                work.save(**_so_far(packed, parts, source))
            if not work.in_time() and len(packed.digests) < len(source.items):
                # Objects that are not in a whole part are packed again.
                parts.forget(work.job.upload_id)
                return None
        size = _close(process, parts, packing.finish(source, packed))
        left_out = len(packing.left_out(source, packed))
    except (PreconditionLost, BackupDamaged, TooLarge, _UploadGone):
        parts.forget(work.job.upload_id)
        raise
    count = len(source.items)
    logger.info("archive made", extra={"space_id": job.space_id, "objects": count, "bytes": size})
    made = {"bytes": size, "objects": count + len(source.left_out) - left_out, "left_out": left_out}
    return End(changes={**NOTHING, **made, "progress": Progress(done=count, total=count)})


def _so_far(packed: Packed, parts: _Parts, source: PackedBackup) -> Mapping[str, Any]:
    return {
        "progress": Progress(done=len(packed.digests), total=len(source.items)),
        "upload_id": parts.upload_id,
        "etags": list(parts.etags),
        "bytes": parts.size,
        "digests": list(packed.digests),
        "metadata": dict(packed.metadata),
    }


def _close(process: Process, parts: _Parts, last: bytes) -> int:
    """Make the archive of its parts and the last one, and return its size. An archive that fits into one part is put
    whole.
    """
    if not parts.etags:
        process.store.put(parts.key, last, content_type=GZIP)
        return len(last)
    parts.put(last)
    assert parts.upload_id
    try:
        large.complete(process.store, parts.key, parts.upload_id, parts.etags)
    except NotFound:
        result = copying.look(process.store, parts.key)
        if not result or result.size != parts.size:
            raise _UploadGone from None
    return parts.size


class _Exports(Kind[ExportJob]):
    """Making the archive of a backup."""

    name = "export"
    function = "backup"
    document = ExportJob
    lasts = timedelta(days=1)

    def key(self, space_id: str, job_id: str, _subject: str | None = None) -> str:
        return EXPORT_STATE.key(space_id, job_id)

    def is_final(self, error: LiveMemoryError) -> bool:
        return isinstance(error, BackupDamaged | NotFound | TooLarge)

    def on_failure(self, work: Work[ExportJob], _error: LiveMemoryError) -> Mapping[str, Any]:
        _abort(work.process, work.job)
        return NOTHING

    def step(self, work: Work[ExportJob]) -> End | None:
        """Continue the backup, and then the archive. Raises BackupDamaged, NotFound, NotFinished, TooLarge."""
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
