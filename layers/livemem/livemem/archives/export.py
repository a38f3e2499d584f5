"""The archive of a space, or of one of its backups, to download: made once, in as many invocations as it takes.

An export is the archive of a backup that is taken for it, unless nothing has changed since the last one. Who asks again
while it is made is told how far it is; and is given that archive, once, even if the space has changed since.
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from livemem import clock
from livemem.access.principal import Principal
from livemem.archives import archiving, export_state
from livemem.archives.export_state import Saved
from livemem.backups import catalog, snapshots
from livemem.backups import manifest as manifests
from livemem.backups.manifest import Manifest
from livemem.errors import BackupDamaged, LiveMemoryError, NotFinished, NotFound, PreconditionLost, TooLarge
from livemem.process import Process
from livemem.spaces import caps
from livemem.spaces import head as heads
from livemem.store import copying, keys, presigned
from livemem.store.probe import require_conditional_writes

FRESH = timedelta(hours=1)
"""For how long an archive waits for those who asked for it, and an error."""
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
    GET, 1 HEAD and the look whether the space has changed. 1 GET and 1 PUT to count how many are asked for; who asks
    again for one that is being made is not counted. Raises NotFound, Busy, Conflict, BackupDamaged, CapReached.
    """
    heads.load(process, space_id)
    require_conditional_writes(process.store)
    asked = _asked_for(process, space_id)
    if asked:
        return _answer(process, _go_on(process, asked, deadline))
    with caps.making_archive(process, space_id):
        wanted = snapshots.Wanted("export", requested_by=principal.name)
        taken = snapshots.take(process, space_id, wanted, deadline=deadline, wait=True)
        backup_id = taken.manifest.backup_id
        if taken.result == "unfinished":
            _begin(process, space_id, backup_id, "export", deadline=None, status="backing_up")
            process.enqueue("backup", archiving.payload(space_id, backup_id))
            return Working(space_id, backup_id, 0, 0)
        return _answer(process, _make(process, taken.manifest, "export", deadline))


def download(
    process: Process, space_id: str, backup_id: str, deadline: datetime, caller: Principal | None = None
) -> Archive | Working:
    """The archive of a complete backup, also of a space that is deleted, in the same way.

    Where it is there: 2 GET, 1 HEAD. Raises InvalidName, NotFound, BackupDamaged, CapReached.
    """
    catalog.check(process, caller, space_id, backup_id)
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
        saved = export_state.save(process, saved, held_seconds=archiving.held(process, deadline))
        state = archiving.work_on(process, saved, deadline, wait=True).state
    except PreconditionLost:
        return {"status": "taken_over"}
    return {"status": state.status, "objects": state.next, "bytes": state.bytes}


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
    with caps.making_archive(process, space_id) if asked == "download" else nullcontext():
        begun = _begin(process, space_id, backup_id, asked, deadline=deadline, total=total, over=over)
    return _quietly(process, begun, deadline) if begun else archiving.newest(process, space_id, backup_id)


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
    held = archiving.held(process, deadline)
    try:
        return export_state.create(
            process, space_id, backup_id, asked, over=over, status=status, total=total, held_seconds=held
        )
    except PreconditionLost:
        return None


def _go_on(process: Process, saved: Saved, deadline: datetime) -> Saved:
    """The same of one that was begun: nothing is done while somebody else is at it."""
    state = saved.state
    if state.status in ("complete", "failed") or saved.is_held():
        return saved
    # Whoever was at it died, or what was queued got lost.
    try:
        saved = export_state.save(process, saved, held_seconds=archiving.held(process, deadline))
    except PreconditionLost:
        return archiving.newest(process, state.space_id, state.backup_id)
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
        return archiving.work_on(process, saved, deadline, wait=False)
    except PreconditionLost:
        return archiving.newest(process, saved.state.space_id, saved.state.backup_id)


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
