"""Making the archive of a backup: by whoever has time, from where the last one came to.

What is known of it is in its state (export_state.py), and each worker swaps that: so of several one goes on, and the
others stop at their next part. Parts are the same whoever makes them (packing.py).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from livemem import clock
from livemem.archives import archive, export_state, packing
from livemem.archives.export_state import Saved
from livemem.archives.packing import Packed, Source
from livemem.backups import manifest as manifests
from livemem.backups import snapshots
from livemem.errors import BackupDamaged, LiveMemoryError, NotFinished, NotFound, PreconditionLost, TooLarge
from livemem.process import Process
from livemem.store import copying, keys, large

logger = logging.getLogger(__name__)

GZIP = "application/gzip"
MARGIN = timedelta(seconds=5)
"""Time that must be left to say how far it is."""
QUEUED_SECONDS = 300.0
"""For how long nobody else begins with what is queued, or was put aside by a worker."""
GIVEN_UP_AFTER = timedelta(days=1)
ANEW = 2
"""How often it is begun anew in one run, because the store lost the parts."""


def payload(space_id: str, backup_id: str) -> dict[str, Any]:
    """What an invocation gets that goes on with it."""
    return {"do": "export", "space_id": space_id, "backup_id": backup_id}


def held(process: Process, deadline: datetime | None) -> float:
    """For how long somebody is at work who has time until `deadline`; of what is queued if None."""
    if deadline is None:
        return QUEUED_SECONDS
    return max((deadline - process.clock() + MARGIN).total_seconds(), 0.0)


def newest(process: Process, space_id: str, backup_id: str) -> Saved:
    """The state as it is now; raises PreconditionLost where there is none any more."""
    saved = export_state.find(process, space_id, backup_id)
    if not saved:
        raise PreconditionLost("The archive was removed meanwhile; ask again.")
    return saved


def work_on(process: Process, saved: Saved, deadline: datetime, *, wait: bool) -> Saved:
    """Go on until the archive is complete or time runs out; the rest is queued. Raises PreconditionLost: somebody else
    is at it by now.
    """
    space_id, backup_id = saved.state.space_id, saved.state.backup_id
    try:
        if process.clock() - clock.parse(saved.state.started_at) > GIVEN_UP_AFTER:
            raise NotFinished("The archive could not be made within a day.")
        if saved.state.status == "backing_up":
            saved = _back_up(process, saved, deadline, wait=wait)
        if saved.state.status == "working":
            saved = _pack(process, saved, deadline)
    except (BackupDamaged, NotFound, NotFinished, TooLarge) as error:
        logger.warning("export failed", extra={"space_id": space_id, "error_code": error.code})
        return _fail(process, newest(process, space_id, backup_id), error)
    if saved.state.status != "complete":
        process.enqueue("backup", payload(space_id, backup_id))
    return saved


def _back_up(process: Process, saved: Saved, deadline: datetime, *, wait: bool) -> Saved:
    """Go on with the backup."""
    state = saved.state
    wanted = snapshots.Wanted("export")
    taken = snapshots.take(process, state.space_id, wanted, deadline=deadline, wait=wait, unfinished=state.backup_id)
    if taken.result == "unfinished":
        return export_state.save(process, saved, held_seconds=QUEUED_SECONDS)
    return export_state.save(process, saved, status="working", held_seconds=held(process, deadline))


def _fail(process: Process, saved: Saved, error: LiveMemoryError) -> Saved:
    if saved.state.status in ("complete", "failed"):
        return saved
    _abort(process, saved)
    return export_state.save(
        process,
        saved,
        status="failed",
        finished_at=clock.iso(process.clock()),
        error={"code": error.code, "detail": error.detail},
        **NOTHING,
    )


NOTHING: Mapping[str, Any] = {"upload_id": None, "etags": [], "digests": [], "metadata": {}, "next": 0, "bytes": 0}
"""The fields of a state of which nothing is there."""


def _abort(process: Process, saved: Saved) -> None:
    if saved.state.upload_id:
        key = keys.export(saved.state.space_id, saved.state.backup_id)
        large.abort(process.store, key, saved.state.upload_id)


class _UploadGone(LiveMemoryError):
    """The store does not have the parts any more. `saved` is the last state that knew of them."""

    def __init__(self, saved: Saved | None = None) -> None:
        super().__init__("The upload is gone.")
        self.saved = saved


@dataclass
class _Parts:
    """The parts that are uploaded; those of an earlier run may be put again, which makes no difference."""

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
            raise TooLarge("The archive has more parts than the store takes.")
        if not self.upload_id:
            self.upload_id = self.begun = large.begin(store, self.key, GZIP)
        try:
            etag = large.put_part(store, self.key, self.upload_id, len(self.etags) + 1, body)
        except NotFound:
            raise _UploadGone from None
        self.etags.append(etag)
        self.size += len(body)

    def forget(self, known: str | None) -> None:
        """Give up the upload that this run began, if it is not the one that the state knows."""
        if self.begun and self.begun != known:
            large.abort(self.process.store, self.key, self.begun)


def _pack(process: Process, saved: Saved, deadline: datetime) -> Saved:
    """Make the archive of a complete backup from where its state stands."""
    state = saved.state
    backup = manifests.load(process, state.space_id, state.backup_id)
    source = Source(backup.manifest, *archive.split(state.space_id, backup.items or ()))
    for _ in range(ANEW):
        try:
            return _pack_from(process, saved, source, deadline)
        except _UploadGone as error:
            # Where somebody else is at it by now this swap is lost.
            last = error.saved or saved
            _abort(process, last)
            saved = export_state.save(process, last, **NOTHING)
    raise NotFinished("The store loses what is uploaded in parts.")


def _pack_from(process: Process, saved: Saved, source: Source, deadline: datetime) -> Saved:
    state = saved.state
    key = keys.export(state.space_id, state.backup_id)
    packed = Packed(list(state.digests), dict(state.metadata))
    parts = _Parts(process, key, state.upload_id, list(state.etags), state.bytes)
    try:
        for is_whole in packing.pack(process, source, packed, parts.put):
            late = deadline - process.clock() < MARGIN and len(packed.digests) < len(source.items)
            if is_whole:
                seconds = held(process, None if late else deadline)
                saved = export_state.save(process, saved, held_seconds=seconds, **_so_far(packed, parts, source))
            elif late:
                # What is not in a whole part is done again.
                saved = export_state.save(process, saved, held_seconds=QUEUED_SECONDS)
            if late:
                parts.forget(saved.state.upload_id)
                return saved
        size = _close(process, parts, packing.finish(source, packed))
        left_out = len(packing.left_out(source, packed))
    except (PreconditionLost, BackupDamaged, TooLarge):
        parts.forget(saved.state.upload_id)
        raise
    except _UploadGone:
        parts.forget(saved.state.upload_id)
        raise _UploadGone(saved) from None
    logger.info("archive made", extra={"space_id": state.space_id, "objects": len(source.items), "bytes": size})
    return export_state.save(
        process,
        saved,
        **{
            **NOTHING,
            "status": "complete",
            "finished_at": clock.iso(process.clock()),
            "total": len(source.items),
            "next": len(source.items),
            "bytes": size,
            "objects": len(source.items) + len(source.left_out) - left_out,
            "left_out": left_out,
        },
    )


def _so_far(packed: Packed, parts: _Parts, source: Source) -> Mapping[str, Any]:
    return {
        "next": len(packed.digests),
        "total": len(source.items),
        "upload_id": parts.upload_id,
        "etags": list(parts.etags),
        "bytes": parts.size,
        "digests": list(packed.digests),
        "metadata": dict(packed.metadata),
    }


def _close(process: Process, parts: _Parts, last: bytes) -> int:
    """Make the archive of its parts and the last one, and return its size; one that fits into one part is put whole."""
    if not parts.etags:
        process.store.put(parts.key, last, content_type=GZIP)
        return len(last)
    parts.put(last)
    assert parts.upload_id
    try:
        large.complete(process.store, parts.key, parts.upload_id, parts.etags)
    except NotFound:
        found = copying.look(process.store, parts.key)
        if not found or found.size != parts.size:
            raise _UploadGone from None
    return parts.size
