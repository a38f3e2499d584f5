"""Taking a backup: its worker copies the space's objects within the store, under the lease. The manifest makes them a
backup.

Notes may be appended meanwhile: those are in the next backup. The space's state (bank, records, head) changes only
under the lease, or by a swap of the head. The worker checks the head again at the end.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from livemem import clock, limits
from livemem.changes import direct
from livemem.copies import catalog
from livemem.copies import manifest as manifests
from livemem.copies.manifest import BackupObject, BackupTrigger, Manifest
from livemem.errors import Busy, Conflict, NotFinished, NotFound, OutOfTime, PreconditionLost, StillAtWork
from livemem.jobs import counter, lease, places, worker
from livemem.jobs import job as jobs
from livemem.jobs.job import Progress
from livemem.jobs.worker import MARGIN, End, Kind, Wait, Work, Worked
from livemem.process import Process
from livemem.spaces import caps
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.store import bucket, copying, keys, stored
from livemem.store.bucket import (
    BACKUP_MANIFEST,
    BACKUP_OBJECT,
    BANK_FILE,
    IN_MEMORIES,
    IN_SPACE,
    NOTE,
    RECORD,
    beyond_log,
)
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Entry
from livemem.store.stored import Stored
from livemem.text.redaction import when

BATCH = 1_000
"""Objects that are copied between two looks at the time."""
MOST_LISTED = 5_000
"""Objects of a backup up to which a look at many spaces compares it with its space."""
CLAIM_TRIES = 60
COPY_TRIES = 5
WAIT = timedelta(seconds=2)
"""Time between two looks whether a busy space is free."""

ERASING = "Notes of this space are being erased. Try again in a minute."
CHANGED = "The space was changed while its backup was taken. Take another backup."


@dataclass(frozen=True)
class BackupRequest:
    """A requested backup. One with a description is always made, others only if the space has changed."""

    trigger: BackupTrigger
    description: str = ""
    requested_by: str | None = None


@dataclass(frozen=True)
class BackupOutcome:
    """The outcome: a backup that was `made`, the last one if the space is `unchanged` since, or an `unfinished` one."""

    manifest: Manifest
    unchanged: bool = False

    @property
    def result(self) -> str:
        """`made`, `unchanged` or `unfinished`."""
        return "unchanged" if self.unchanged else "made" if self.manifest.complete else "unfinished"


def order(process: Process, space_id: str, request: BackupRequest, *, deadline: datetime) -> BackupOutcome:
    """Take a backup within a request. It waits for a busy space. The request counts for the space's cap: 1 GET, 1 PUT.
    Raises the errors of `take`, and CapReached.
    """
    heads.load_recent(process, space_id)
    with caps.taking_backup(process, space_id):
        return take(process, space_id, request, deadline=deadline, wait=True)


def take(
    process: Process,
    space_id: str,
    request: BackupRequest,
    *,
    deadline: datetime,
    wait: bool = False,
    nested: bool = False,
) -> BackupOutcome:
    """Take a backup of the space. If time runs out, the rest is queued, unless it is `nested`: then the caller
    continues it.

    For A objects ceil(A/1000) LIST and one of the backups, A CopyObject in parallel, 3 PUT, some GET, and 1 LIST more
    if the space consolidates by itself. A store that gives each copy an ETag of its own costs 1 HEAD more for each. If
    nothing has changed: no copy, 2 PUT and ceil(A/1000) LIST more. Each continuation costs 2 PUT. With `wait` it waits
    for a busy space.

    Raises NotFound, Busy, Conflict (another process deleted or changed the space meanwhile), TooLarge.
    """
    limits.check_text("description", request.description, limits.DESCRIPTION_BYTES, blank=True)
    request = replace(request, description=when(process.settings.redact_secrets, request.description))
    require_conditional_writes(process.store)
    hold = _acquire(process, space_id, deadline, wait=wait)
    taken: BackupOutcome | None = None
    with lease.renewal(process, hold):
        with direct.freed_after_error(process, hold):
            head = _settled(process, space_id, hold)
        try:
            taken = _take(process, head, request, hold, deadline, nested=nested)
        finally:
            # A backup leaves nothing that the next holder of the lease must clear up. An unfinished one has released
            # it.
            if taken is None or taken.manifest.complete:
                lease.quietly_release(process, hold)
    # A put event that came meanwhile found the space busy.
    counter.start_if_possible(process, space_id)
    return taken


def go_on(
    process: Process, space_id: str, backup_id: str, *, deadline: datetime, wait: bool = False, nested: bool = False
) -> BackupOutcome:
    """Continue an unfinished backup: the requests of `take`, and ceil(A/1000) LIST of the A objects that were copied
    before. A complete one: 1 GET.

    Raises NotFound (also if another worker continues it), NotFinished, Busy, Conflict, StoreUnavailable.
    """
    patience = Wait(deadline - 2 * WAIT - MARGIN, lambda _: process.store.sleep(WAIT.total_seconds()))
    try:
        worked = worker.work(
            process,
            KIND,
            space_id,
            backup_id,
            deadline,
            by_hand=True,
            nested=nested,
            wait=patience if wait else None,
        )
    except StillAtWork as error:
        raise Busy(error.detail) from error
    return _taken(worked, backup_id)


def _taken(worked: Worked[Manifest], backup_id: str) -> BackupOutcome:
    job = worked.job
    if job and worked.outcome in ("done", "unfinished"):
        return BackupOutcome(job)
    if job and job.error and worked.outcome == "failed":
        raise NotFinished(job.error.detail)
    # Another process removed it meanwhile, or continues it.
    raise NotFound("backup", backup_id)


def _acquire(process: Process, space_id: str, deadline: datetime, *, wait: bool) -> lease.Hold:
    while True:
        try:
            if heads.load(process, space_id).meta.erasing_now():
                raise Busy(ERASING)
            return lease.acquire(process, places.of_space(space_id), process.new_id(), "backup", by_hand=True)
        except Busy:
            if not wait or deadline - process.clock() < 2 * WAIT + MARGIN:
                raise
        process.store.sleep(WAIT.total_seconds())


def _settled(process: Process, space_id: str, hold: lease.Hold) -> Head:
    """The head of the space, after all unfinished work of others is settled."""
    head = direct.settled(process, space_id, hold.lease.abandoned)
    if head.meta.erasing_now():
        raise Busy(ERASING)
    return head


def _take(
    process: Process, head: Head, request: BackupRequest, hold: lease.Hold, deadline: datetime, *, nested: bool
) -> BackupOutcome:
    # Objects that are written from now on may be missing.
    now = process.clock()
    entries = contents(process, head.meta.space_id)
    last = _last_if_unchanged(process, head.meta.space_id, entries) if _may_skip(process, request) else None
    if last:
        return BackupOutcome(_confirm(process, last, request, now), unchanged=True)
    begun = _claim(process, head, request, now)
    work = Work(process, _Backups((head, entries)), begun, deadline, hold=hold, nested=nested)
    return _taken(worker.go_on(work, taken=True), begun.value.job_id)


class _Backups(Kind[Manifest]):
    """A backup. `contents`: the head and the objects of its space, where they were just read under the lease."""

    name = "backup"
    function = "backup"
    document = Manifest
    # Others may change the space until the next invocation comes.
    keeps_place = False

    def __init__(self, contents: tuple[Head, Sequence[Entry]] | None = None) -> None:
        self._contents = contents

    def key(self, space_id: str, job_id: str, _subject: str | None = None) -> str:
        return BACKUP_MANIFEST.key(space_id, job_id)

    def place(self, job: Manifest) -> lease.LeasePlace:
        return places.of_space(job.space_id)

    def after(self, process: Process, space_id: str, _worked: Worked[Manifest]) -> None:
        # A put event that came meanwhile found the space busy. If this worker dies before, the sweep starts the run.
        counter.start_if_possible(process, space_id)

    def step(self, work: Work[Manifest]) -> End:
        """Copy all objects, or continue: copy changed objects again, and remove copies of deleted ones."""
        if self._contents:
            return _copy_all(work, *self._contents, {})
        process, job = work.process, work.job
        assert work.hold
        # Others were faster with the head: the worker must not take it for the manifest.
        with stored.race(lost=Conflict(CHANGED, retry_after=1)):
            head = _settled(process, job.space_id, work.hold)
        if head.meta.uid != job.uid:
            raise NotFound("space", job.space_id)
        return _copy_all(work, head, contents(process, job.space_id), _copied(process, job))


KIND = _Backups()


def unchanged(process: Process, last: Manifest) -> bool:
    """Whether the space is as it was at its newest backup `last`, without the lease. If so, that is noted in the
    backup.

    1 LIST of the space per 1,000 objects, and only if it holds as many as the backup 1 GET of the backup's manifest, 1
    LIST of its folder per 1,000 objects and 1 PUT. False for a large space, which an invocation of its own looks at.
    """
    now = process.clock()
    if not process.settings.backup_skip_unchanged or last.objects_count > MOST_LISTED:
        return False
    entries = contents(process, last.space_id, limit=2 * MOST_LISTED)
    whole_backup = _if_holds(process, last, entries)
    if not whole_backup:
        return False
    # The head is among the equal objects. So nobody commits, erases or deletes, and nothing is to be settled first.
    with suppress(Conflict):
        _confirm(process, whole_backup, BackupRequest("schedule"), now)
        return True
    return False


def contents(process: Process, space_id: str, *, limit: int | None = None) -> list[Entry]:
    """All objects of the space that are part of a backup: 1 LIST per 1,000. If it has rooms, 1 more per 1,000 objects
    of memories. With a `limit`, only those among its first objects.
    """
    prefix = IN_SPACE.prefix(space_id)
    entries = {entry.key.removeprefix(prefix): entry for entry in process.store.scan(prefix, limit=limit)}
    if any(name.startswith(("rooms/", "_digests/")) for name in entries):
        # A message that was gone when rooms were listed is in a memory that was stored before: listed now it is there.
        memories = process.store.scan(IN_MEMORIES.prefix(space_id))
        entries |= {entry.key.removeprefix(prefix): entry for entry in memories}
    too_new = beyond_log(entries)
    return [entry for name, entry in entries.items() if not bucket.is_derived(name) and name not in too_new]


def _may_skip(process: Process, request: BackupRequest) -> bool:
    return request.trigger in ("export", "fork") or (process.settings.backup_skip_unchanged and not request.description)


def _last_if_unchanged(process: Process, space_id: str, entries: Sequence[Entry]) -> Stored[Manifest] | None:
    """The newest complete backup if it holds exactly the listed objects, and all of them are still there."""
    newest = catalog.newest(process, space_id)
    return _if_holds(process, newest, entries) if newest else None


def _if_holds(process: Process, newest: Manifest, entries: Sequence[Entry]) -> Stored[Manifest] | None:
    """The backup with its objects, if it holds exactly the listed objects, and all of them are still there."""
    if newest.objects_count != len(entries):
        return None
    last = manifests.find(process, newest.space_id, newest.job_id)
    if not last or not last.value.complete:
        return None
    prefix = IN_SPACE.prefix(newest.space_id)
    now = {(entry.key.removeprefix(prefix), entry.size, entry.etag) for entry in entries}
    if {(item.name, item.size, item.etag) for item in last.value.items or ()} != now:
        return None
    return last if _is_whole(process, last.value) else None


def _is_whole(process: Process, manifest: Manifest) -> bool:
    """Whether all objects in the backup's folder are there and unchanged: 1 LIST per 1,000."""
    prefix = BACKUP_OBJECT.prefix(manifest.space_id, manifest.job_id)
    copies = {(entry.key, entry.size, entry.etag) for entry in process.store.scan(prefix)}
    return copies >= {(prefix + item.name, item.size, item.copy_etag or item.etag) for item in manifest.items or ()}


def _confirm(process: Process, last: Stored[Manifest], request: BackupRequest, now: datetime) -> Manifest:
    """Note in the last backup that the space is unchanged as of `now`. If a backup was asked for, a last one that was
    made for an export alone is kept from now on.
    """
    keeps = last.value.transient and request.trigger not in ("export", "fork")
    fields = {"transient": False, "trigger": request.trigger} if keeps else {}
    with stored.race(lost=Conflict(CHANGED, retry_after=1)):
        return jobs.change(process, last, unchanged_at=clock.iso_millis(now), **fields).value


def _claim(process: Process, head: Head, request: BackupRequest, now: datetime) -> Stored[Manifest]:
    """Begin a backup under a free id: that of the present second, or a later one if others were faster: 1 PUT."""
    space_id, begun = head.meta.space_id, clock.iso_millis(now)
    for later in range(CLAIM_TRIES):
        backup_id = keys.backup_id(now + timedelta(seconds=later))
        fresh = Manifest(
            job_id=backup_id,
            space_id=space_id,
            uid=head.meta.uid,
            subject=backup_id,
            status="running",
            attempt=1,
            trigger=request.trigger,
            transient=request.trigger in ("export", "fork"),
            description=request.description,
            requested_by=request.requested_by,
            created_at=begun,
            started_at=begun,
            changes=head.meta.changes,
        )
        try:
            return jobs.create(process, KIND.key(space_id, backup_id), fresh)
        except PreconditionLost:
            continue
    raise Busy("Too many backups of this space are taken at the same time. Try again later.")


def _copied(process: Process, manifest: Manifest) -> dict[str, BackupObject]:
    """The objects that an unfinished backup holds already: by name the object that each was copied from, as far as that
    is known.
    """
    prefix = BACKUP_OBJECT.prefix(manifest.space_id, manifest.job_id)
    originals = {item.name: item for item in manifest.items or ()}
    copies: dict[str, BackupObject] = {}
    for entry in process.store.scan(prefix):
        name = entry.key.removeprefix(prefix)
        item = originals.get(name)
        is_its_copy = item and item.size == entry.size and (item.copy_etag or item.etag) == entry.etag
        copies[name] = item if item and is_its_copy else BackupObject(name, entry.size, entry.etag)
    return copies


def _copy_all(work: Work[Manifest], head: Head, entries: Sequence[Entry], copies: Mapping[str, BackupObject]) -> End:
    """Copy the listed objects, except those that are among `copies` already, unchanged. Raises OutOfTime, Conflict."""
    process, space_id, backup_id = work.process, work.job.space_id, work.job.job_id
    prefix = IN_SPACE.prefix(space_id)
    items: list[BackupObject] = []
    slowest = timedelta()
    for start in range(0, len(entries), BATCH):
        began = process.clock()
        if start and not work.in_time(MARGIN + slowest):
            # A worker that makes progress is not lost.
            work.save(items=tuple(items), progress=Progress(done=len(items), total=len(entries)), attempt=0)
            raise OutOfTime("The rest is copied by another invocation.")
        batch = entries[start : start + BATCH]
        results = process.store.map(lambda entry: _copy(work, entry, copies.get(entry.key.removeprefix(prefix))), batch)
        items += [item for item in results if item]
        slowest = max(slowest, process.clock() - began)
    stale = copies.keys() - {item.name for item in items} - {keys.MANIFEST}
    process.store.delete_many([BACKUP_OBJECT.key(space_id, backup_id, name) for name in sorted(stale)])
    _check_unchanged(process, head)
    return End(
        changes={
            "items": tuple(items),
            "changes": head.meta.changes,
            "progress": Progress(done=len(items), total=len(items)),
            "objects_count": len(items),
            "bytes": sum(item.size for item in items),
            "counts": _counts(items),
        }
    )


def _copy(work: Work[Manifest], entry: Entry, existing: BackupObject | None) -> BackupObject | None:
    """Copy one object, and return its entry. None: the object is gone, and a backup may lack it."""
    process, space_id = work.process, work.job.space_id
    name = entry.key.removeprefix(IN_SPACE.prefix(space_id))
    target = BACKUP_OBJECT.key(space_id, work.job.job_id, name)
    if existing and (existing.etag, existing.size) == (entry.etag, entry.size):
        return existing
    for _ in range(COPY_TRIES):
        try:
            copied = copying.copy(process.store, entry.key, target, if_match=entry.etag)
            if copied and copied.etag == entry.etag:
                return BackupObject(name, entry.size, entry.etag, copied.sha256)
        except PreconditionLost:
            copied = None
        now = copying.look(process.store, entry.key)
        if not now:
            if bucket.is_memory(name) or name in (keys.META, keys.RULES_PATH):
                raise Conflict(CHANGED, retry_after=1)
            _check_ours(work)
            process.store.delete(target)
            return None
        if copied and now.etag == entry.etag:
            # The store gives each copy an ETag of its own.
            return BackupObject(name, entry.size, entry.etag, copied.sha256, copied.etag)
        # Another process has written it again since the listing, or the answer to the copy was lost.
        entry = now
        _check_ours(work)
    raise Conflict(CHANGED, retry_after=1)


def _check_ours(work: Work[Manifest]) -> None:
    """Raise Conflict if this process stood still so long that another may have completed the backup. Then no later
    write may get into it. 1 GET.
    """
    if not (work.hold and lease.still_ours(work.process, work.hold)):
        raise Conflict(CHANGED, retry_after=1)


def _check_unchanged(process: Process, head: Head) -> None:
    """Raise Conflict if another process has committed, erased or deleted the space since `head` was read: 1 GET."""
    now = heads.find(process, head.meta.space_id)
    if not now or _state(now) != _state(head):
        raise Conflict(CHANGED, retry_after=1)


def _state(head: Head) -> tuple[object, ...]:
    meta = head.meta
    # With the erasures that have ended: one may have begun and ended while this process stood still.
    return meta.uid, meta.changes, meta.committed_run, meta.late_duplicates, meta.erasing


def _counts(items: Sequence[BackupObject]) -> dict[str, int]:
    return dict(sorted(Counter(_kind(item.name) for item in items).items()))


def _kind(name: str) -> str:
    if NOTE.parse(f"x/{name}"):
        return "notes"
    if BANK_FILE.parse(f"x/{name}"):
        return "bank_files"
    return "records" if RECORD.last(f"x/{name}") else "other"
