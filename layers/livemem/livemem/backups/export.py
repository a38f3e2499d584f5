"""The archive of a space, or of one of its backups, to download: made once, in as many invocations as it takes.

An export is the archive of a backup that is taken for it, unless nothing has changed since the last one. Who asks again
while it is made is told how far it is; and is given that archive, once, even if the space has changed since.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from livemem import clock
from livemem.access.principal import Principal
from livemem.backups import archive, export_state, packing, snapshots
from livemem.backups import manifest as manifests
from livemem.backups.export_state import Saved
from livemem.backups.manifest import Manifest
from livemem.backups.packing import Packed, Source
from livemem.errors import BackupDamaged, LiveMemoryError, NotFinished, NotFound, PreconditionLost, TooLarge
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import copying, keys, large, presigned
from livemem.store.probe import require_conditional_writes

logger = logging.getLogger(__name__)

GZIP = "application/gzip"
MARGIN = timedelta(seconds=5)
"""Time that must be left to say how far it is."""
QUEUED_SECONDS = 300.0
"""For how long nobody else begins with what is queued, or was put aside by a worker."""
FRESH = timedelta(hours=1)
"""For how long an archive waits for those who asked for it, and an error."""
GIVEN_UP_AFTER = timedelta(days=1)
ANEW = 2
"""How often it is begun anew in one run, because the store lost the parts."""

Asked = Literal["export", "download"]


@dataclass(frozen=True)
class Archive:
    """An archive that is there: `url` reads it until `expires_at`. `left_out` objects of the bucket are not in it,
    because no import would take their names.
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
    """An archive that is being made: `done` of `total` objects are in it; `total` is 0 while its backup is taken."""

    space_id: str
    backup_id: str
    done: int
    total: int


def export(process: Process, principal: Principal, space_id: str, deadline: datetime) -> Archive | Working:
    """The archive of the space as it stands now: made before `deadline`, or in later invocations; ask again for it.

    1 LIST, what a backup takes (snapshots.take), 1 GET for each object and 2 or more PUT. Where it is there: 1 LIST, 2
    GET, 1 HEAD and the look whether the space has changed. Raises NotFound, Busy, Conflict, BackupDamaged.
    """
    heads.load(process, space_id)
    require_conditional_writes(process.store)
    asked = _asked_for(process, space_id)
    if asked:
        return _answer(process, _go_on(process, asked, deadline))
    wanted = snapshots.Wanted("export", requested_by=principal.name)
    taken = snapshots.take(process, space_id, wanted, deadline=deadline, wait=True)
    backup_id = taken.manifest.backup_id
    if taken.result == "unfinished":
        _begin(process, space_id, backup_id, "export", deadline=None, status="backing_up")
        process.later(_payload(space_id, backup_id))
        return Working(space_id, backup_id, 0, 0)
    return _answer(process, _make(process, taken.manifest, "export", deadline))


def download(process: Process, space_id: str, backup_id: str, deadline: datetime) -> Archive | Working:
    """The archive of a complete backup, also of a space that is deleted, in the same way.

    Where it is there: 2 GET, 1 HEAD. Raises InvalidName, NotFound, BackupDamaged.
    """
    saved = manifests.summary(process, keys.check_space_id(space_id), keys.check_backup_id(backup_id))
    if not saved or not saved.manifest.complete:
        raise NotFound("backup", backup_id)
    require_conditional_writes(process.store)
    return _answer(process, _make(process, saved.manifest, "download", deadline))


def work(process: Process, payload: Mapping[str, Any], deadline: datetime) -> dict[str, Any]:
    """Go on with an archive in an invocation of its own. Raises Busy, Conflict, StoreUnavailable: then again."""
    saved = export_state.find(process, payload["space_id"], payload["backup_id"])
    if not saved or saved.state.status in ("complete", "failed"):
        return {"status": "ended"}
    try:
        # Of several deliveries the last one goes on, and nobody who asks begins with it.
        saved = export_state.save(process, saved, held_seconds=_held(process, deadline))
        state = _work_on(process, saved, deadline, wait=True).state
    except PreconditionLost:
        return {"status": "taken_over"}
    return {"status": state.status, "objects": state.next, "bytes": state.bytes}


def _payload(space_id: str, backup_id: str) -> dict[str, Any]:
    return {"do": "export", "space_id": space_id, "backup_id": backup_id}


def _asked_for(process: Process, space_id: str) -> Saved | None:
    """The newest export of the space that is under way, or of whose end nobody was told: 1 LIST, 1 GET each."""
    listed = process.store.scan(keys.exports_prefix(space_id))
    fresh = [entry.key for entry in listed if entry.key.endswith(".json") and entry.age < FRESH]
    for key in reversed(fresh):
        saved = export_state.parse(process.store.get(key))
        if saved and saved.state.asked == "export":
            waits = not saved.state.delivered and (saved.state.status != "complete" or _is_there(process, saved))
            return saved if waits else None
    return None


def _make(process: Process, backup: Manifest, asked: Asked, deadline: datetime) -> Saved:
    """The archive of a complete backup, as far as it comes before `deadline`."""
    space_id, backup_id, total = backup.space_id, backup.backup_id, backup.objects_count
    saved = export_state.find(process, space_id, backup_id)
    if saved and not _is_over(process, saved):
        return _go_on(process, saved, deadline)
    over = saved.etag if saved else None
    begun = _begin(process, space_id, backup_id, asked, deadline=deadline, total=total, over=over)
    return _quietly(process, begun, deadline) if begun else _newest(process, space_id, backup_id)


def _is_over(process: Process, saved: Saved) -> bool:
    """Whether it is to be made anew: the archive is gone, or it failed and somebody was told so."""
    if saved.state.status == "complete":
        return not _is_there(process, saved)
    return saved.state.status == "failed" and saved.state.delivered


def _begin(
    process: Process,
    space_id: str,
    backup_id: str,
    asked: Asked,
    *,
    deadline: datetime | None,
    total: int = 0,
    over: str | None = None,
    status: str = "working",
) -> Saved | None:
    """A new state, ours for as long as we can work; None where somebody else was faster."""
    held = _held(process, deadline)
    try:
        return export_state.create(
            process, space_id, backup_id, asked, over=over, status=status, total=total, held_seconds=held
        )
    except PreconditionLost:
        return None


def _held(process: Process, deadline: datetime | None) -> float:
    if deadline is None:
        return QUEUED_SECONDS
    return max((deadline - process.clock() + MARGIN).total_seconds(), 0.0)


def _newest(process: Process, space_id: str, backup_id: str) -> Saved:
    saved = export_state.find(process, space_id, backup_id)
    if not saved:
        raise PreconditionLost("The archive was removed meanwhile; ask again.")
    return saved


def _go_on(process: Process, saved: Saved, deadline: datetime) -> Saved:
    """The same of one that was begun: nothing is done while somebody else is at it."""
    state = saved.state
    if state.status in ("complete", "failed") or saved.is_held():
        return saved
    # Whoever was at it died, or what was queued got lost.
    try:
        saved = export_state.save(process, saved, held_seconds=_held(process, deadline))
    except PreconditionLost:
        return _newest(process, state.space_id, state.backup_id)
    return _quietly(process, saved, deadline)


def _error(saved: Saved) -> LiveMemoryError:
    error = saved.state.error or {}
    kinds: Mapping[str, Callable[[str], LiveMemoryError]] = {
        BackupDamaged.code: BackupDamaged,
        NotFinished.code: NotFinished,
        TooLarge.code: TooLarge,
    }
    kind = kinds.get(error.get("code", ""))
    return kind(error.get("detail", "")) if kind else NotFound("backup", saved.state.backup_id)


def _quietly(process: Process, saved: Saved, deadline: datetime) -> Saved:
    """Work on it; where somebody else is faster, what they made of it."""
    try:
        return _work_on(process, saved, deadline, wait=False)
    except PreconditionLost:
        return _newest(process, saved.state.space_id, saved.state.backup_id)


def _answer(process: Process, saved: Saved) -> Archive | Working:
    state = saved.state
    if state.status not in ("complete", "failed"):
        return Working(state.space_id, state.backup_id, state.next, state.total)
    if not state.delivered:
        # Else somebody else was told at the same moment.
        with suppress(PreconditionLost):
            export_state.save(process, saved, delivered=True)
    if state.status == "failed":
        raise _error(saved)
    return Archive(
        space_id=state.space_id,
        backup_id=state.backup_id,
        url=presigned.get_url(
            process.store, keys.export(state.space_id, state.backup_id), f"{state.space_id}_{state.backup_id}.tar.gz"
        ),
        expires_at=clock.iso(process.clock() + timedelta(seconds=presigned.SECONDS)),
        size=state.bytes,
        objects=state.objects,
        left_out=state.left_out,
    )


def _is_there(process: Process, saved: Saved) -> bool:
    """Whether the archive that a state tells of is still there: 1 HEAD."""
    found = copying.look(process.store, keys.export(saved.state.space_id, saved.state.backup_id))
    return bool(found and found.size == saved.state.bytes)


def _work_on(process: Process, saved: Saved, deadline: datetime, *, wait: bool) -> Saved:
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
        return _fail(process, _newest(process, space_id, backup_id), error)
    if saved.state.status != "complete":
        process.later(_payload(space_id, backup_id))
    return saved


def _back_up(process: Process, saved: Saved, deadline: datetime, *, wait: bool) -> Saved:
    """Go on with the backup."""
    state = saved.state
    wanted = snapshots.Wanted("export")
    taken = snapshots.take(process, state.space_id, wanted, deadline=deadline, wait=wait, unfinished=state.backup_id)
    if taken.result == "unfinished":
        return export_state.save(process, saved, held_seconds=QUEUED_SECONDS)
    return export_state.save(process, saved, status="working", held_seconds=_held(process, deadline))


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
                held = QUEUED_SECONDS if late else _held(process, deadline)
                saved = export_state.save(process, saved, held_seconds=held, **_so_far(packed, parts, source))
            elif late:
                # What is not in a whole part is done again.
                saved = export_state.save(process, saved, held_seconds=QUEUED_SECONDS)
            if late:
                parts.forget(saved.state.upload_id)
                return saved
        size = _close(process, parts, packing.finish(source, packed))
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
            "objects": len(source.items),
            "left_out": len(source.left_out),
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
