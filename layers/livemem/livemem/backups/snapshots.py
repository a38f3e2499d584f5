"""Taking a backup: the space's objects are copied within the store, under the lease, and the manifest makes them one.

What changes while it is taken are notes that are appended: those are in the next one. What is part of the space's state
(bank, records, head) changes under the lease alone, or by a swap of the head, which is looked at again at the end.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from livemem import clock, limits
from livemem.backups import catalog
from livemem.backups import manifest as manifests
from livemem.backups.manifest import Item, Manifest, SavedManifest
from livemem.changes import recovery, settling
from livemem.errors import Busy, Conflict, LiveMemoryError, NotFound, PreconditionLost
from livemem.jobs import counter, lease, places
from livemem.process import Process
from livemem.spaces import caps
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.store import copying, keys, memory_keys
from livemem.store.objects import Entry
from livemem.store.probe import require_conditional_writes
from livemem.text.redaction import when

Trigger = Literal["schedule", "api", "export", "fork"]

BATCH = 1_000
"""Objects that are copied between two looks at the time."""
MARGIN = timedelta(seconds=5)
"""Time that must be left for the manifest and the lease."""
CLAIM_TRIES = 60
COPY_TRIES = 5
WAIT_SECONDS = 2.0
"""Between two looks whether a busy space is free."""

ERASING = "Notes of this space are being erased; try again in a minute."
CHANGED = "The space was changed while its backup was taken; take another one."


@dataclass(frozen=True)
class Wanted:
    """A backup as it is asked for. One with a description is always made, others only of a space that has changed."""

    trigger: Trigger
    description: str = ""
    requested_by: str | None = None


@dataclass(frozen=True)
class Taken:
    """What came of it: a backup that was `made`, the last one if the space is `unchanged` since, or one that is
    `unfinished`, which `take` goes on with when it is given its id.
    """

    manifest: Manifest
    result: Literal["made", "unchanged", "unfinished"]


def take(
    process: Process,
    space_id: str,
    wanted: Wanted,
    *,
    deadline: datetime,
    wait: bool = False,
    unfinished: str | None = None,
) -> Taken:
    """Take a backup of the space, or go on with the `unfinished` one of this id.

    For A objects ceil(A/1000) LIST and one of the backups, A CopyObject in parallel, 3 PUT, some GET, and 1 LIST more
    where the space consolidates by itself; a store that gives each copy an ETag of its own is asked 1 HEAD more for
    each. Where nothing has changed no copy, 2 PUT and ceil(A/1000) LIST more; what does not fit costs 2 PUT each time.
    Busy spaces are waited for with `wait`.

    Raises NotFound, Busy, Conflict (the space was deleted or changed by somebody meanwhile), PreconditionLost,
    TooLarge.
    """
    limits.check_text("description", wanted.description, limits.DESCRIPTION_BYTES, blank=True)
    wanted = replace(wanted, description=when(process.settings.redact_secrets, wanted.description))
    require_conditional_writes(process.store)
    held = _acquire(process, space_id, deadline, wait=wait)
    with lease.kept(process, held):
        head = _settled(process, space_id, held)
        try:
            taken = _take(process, head, wanted, deadline, unfinished)
        finally:
            # A backup leaves nothing that whoever comes next had to clear up.
            lease.quietly_release(process, held)
    # A put event that came meanwhile found the space busy.
    counter.start_if_possible(process, space_id)
    return taken


def _settled(process: Process, space_id: str, held: lease.Held) -> Head:
    """The head of the space, with nothing left of what others have begun; if that fails the lease is given back."""
    try:
        head = recovery.recover(process, heads.load(process, space_id))
        head = settling.settle(process, recovery.clear_abandoned(process, head, held.lease.abandoned))
    except NotFound:
        lease.quietly_release(process, held)
        raise
    except LiveMemoryError:
        lease.let_go(process, held)
        raise
    if head.meta.erasing_now():
        lease.quietly_release(process, held)
        raise Busy(ERASING)
    return head


def _acquire(process: Process, space_id: str, deadline: datetime, *, wait: bool) -> lease.Held:
    while True:
        try:
            if heads.load(process, space_id).meta.erasing_now():
                raise Busy(ERASING)
            return lease.acquire(process, places.of_space(space_id), process.new_id(), "backup", by_hand=True)
        except Busy:
            if not wait or deadline - process.clock() < 2 * timedelta(seconds=WAIT_SECONDS) + MARGIN:
                raise
        process.store.sleep(WAIT_SECONDS)


def _take(process: Process, head: Head, wanted: Wanted, deadline: datetime, unfinished: str | None) -> Taken:
    # What is written from now on may be missing.
    now = process.clock()
    if unfinished:
        saved = _take_over(process, head, unfinished)
        if saved.manifest.complete:
            return Taken(saved.manifest, "made")
        listed = contents(process, head.meta.space_id)
        return _copy_all(process, head, saved, listed, deadline, _copied(process, saved))
    listed = contents(process, head.meta.space_id)
    last = _last_if_unchanged(process, head.meta.space_id, listed) if _may_skip(process, wanted) else None
    if last:
        return Taken(_confirm(process, last, wanted, now), "unchanged")
    return _copy_all(process, head, _claim(process, head, wanted, now), listed, deadline, {})


def _take_over(process: Process, head: Head, backup_id: str) -> SavedManifest:
    """The unfinished backup, from now on ours: who began it can't complete it any more, nor write that it goes on."""
    space_id = head.meta.space_id
    saved = manifests.find(process, space_id, keys.check_backup_id(backup_id))
    if not saved or saved.manifest.removing or saved.manifest.uid != head.meta.uid:
        raise NotFound("backup", backup_id)
    if saved.manifest.complete:
        return saved
    # The swap alone does it: `rev` is another one.
    return manifests.replace(process, saved, saved.items or ())


def contents(process: Process, space_id: str) -> list[Entry]:
    """All objects of the space that are part of a backup: 1 LIST per 1,000, and where it has rooms 1 per 1,000 of the
    objects of memories once more.
    """
    prefix = keys.prefix(space_id)
    listed = {entry.key.removeprefix(prefix): entry for entry in process.store.scan(prefix)}
    if any(name.startswith(("rooms/", "_digests/")) for name in listed):
        # A message that was gone when rooms were listed is in a memory that was stored before: listed now it is there.
        memories = process.store.scan(memory_keys.prefix(space_id))
        listed |= {entry.key.removeprefix(prefix): entry for entry in memories}
    too_new = memory_keys.beyond_log(listed)
    return [entry for name, entry in listed.items() if not keys.is_derived(name) and name not in too_new]


def _may_skip(process: Process, wanted: Wanted) -> bool:
    return wanted.trigger in ("export", "fork") or (process.settings.backup_skip_unchanged and not wanted.description)


def _last_if_unchanged(process: Process, space_id: str, listed: Sequence[Entry]) -> SavedManifest | None:
    """The newest complete backup if it holds just what is listed, and all of that is still there."""
    newest = catalog.newest(process, space_id)
    if not newest or newest.manifest.objects_count != len(listed):
        return None
    saved = manifests.find(process, space_id, newest.manifest.backup_id)
    if not saved or not saved.manifest.complete or saved.items is None:
        return None
    prefix = keys.prefix(space_id)
    now = {(entry.key.removeprefix(prefix), entry.size, entry.etag) for entry in listed}
    if {(item.name, item.size, item.etag) for item in saved.items} != now:
        return None
    return saved if _is_whole(process, saved) else None


def _is_whole(process: Process, saved: SavedManifest) -> bool:
    """Whether nobody has removed or changed anything in the backup's folder: 1 LIST per 1,000."""
    prefix = keys.backup_prefix(saved.manifest.space_id, saved.manifest.backup_id)
    there = {(entry.key, entry.size, entry.etag) for entry in process.store.scan(prefix)}
    return there >= {(prefix + item.name, item.size, item.copy_etag or item.etag) for item in saved.items or ()}


def _confirm(process: Process, last: SavedManifest, wanted: Wanted, now: datetime) -> Manifest:
    """Note that the space was `now` as its last backup has it; one that was made for an export alone is kept from now
    on, if a backup was asked for.
    """
    keeps = last.manifest.transient and wanted.trigger not in ("export", "fork")
    try:
        return manifests.replace(
            process,
            last,
            last.items or (),
            unchanged_at=clock.iso_millis(now),
            transient=last.manifest.transient and not keeps,
            trigger=wanted.trigger if keeps else last.manifest.trigger,
        ).manifest
    except PreconditionLost:
        raise Conflict(CHANGED, retry_after=1) from None


def _claim(process: Process, head: Head, wanted: Wanted, now: datetime) -> SavedManifest:
    """Claim an id: that of the present second, or of the next ones if others were faster: 1 PUT."""
    fresh = Manifest(
        backup_id=keys.backup_id(now),
        space_id=head.meta.space_id,
        uid=head.meta.uid,
        trigger=wanted.trigger,
        transient=wanted.trigger in ("export", "fork"),
        description=wanted.description,
        requested_by=wanted.requested_by,
        started_at=clock.iso_millis(now),
        changes=head.meta.changes,
    )
    for later in range(CLAIM_TRIES):
        backup_id = keys.backup_id(now + timedelta(seconds=later))
        try:
            return manifests.claim(process, fresh.model_copy(update={"backup_id": backup_id}))
        except PreconditionLost:
            continue
    raise Busy("Too many backups of this space are taken at once.")


def _copied(process: Process, saved: SavedManifest) -> dict[str, Item]:
    """What is there already of an unfinished backup: by name what it was copied from, as far as that can be told."""
    prefix = keys.backup_prefix(saved.manifest.space_id, saved.manifest.backup_id)
    known = {item.name: item for item in saved.items or ()}
    there: dict[str, Item] = {}
    for entry in process.store.scan(prefix):
        name = entry.key.removeprefix(prefix)
        item = known.get(name)
        is_its_copy = item and item.size == entry.size and (item.copy_etag or item.etag) == entry.etag
        there[name] = item if item and is_its_copy else Item(name, entry.size, entry.etag)
    return there


def _copy_all(
    process: Process,
    head: Head,
    saved: SavedManifest,
    listed: Sequence[Entry],
    deadline: datetime,
    there: Mapping[str, Item],
) -> Taken:
    space_id, backup_id = head.meta.space_id, saved.manifest.backup_id
    prefix = keys.prefix(space_id)
    items: list[Item] = []
    slowest = timedelta()
    for start in range(0, len(listed), BATCH):
        began = process.clock()
        if start and deadline - began < MARGIN + slowest:
            return Taken(_write(process, saved, items), "unfinished")
        batch = listed[start : start + BATCH]
        found = process.store.map(
            lambda entry: _copy(process, head, backup_id, entry, there.get(entry.key.removeprefix(prefix))), batch
        )
        items += [item for item in found if item]
        slowest = max(slowest, process.clock() - began)
    stale = there.keys() - {item.name for item in items} - {keys.MANIFEST}
    process.store.delete_many([keys.backup_object(space_id, backup_id, name) for name in sorted(stale)])
    _check_unchanged(process, head)
    return Taken(_complete(process, head, saved, items), "made")


def _copy(process: Process, head: Head, backup_id: str, entry: Entry, there: Item | None) -> Item | None:
    """Copy one object, and say what was copied; None for one that nobody misses and that is gone."""
    space_id = head.meta.space_id
    name = entry.key.removeprefix(keys.prefix(space_id))
    target = keys.backup_object(space_id, backup_id, name)
    if there and (there.etag, there.size) == (entry.etag, entry.size):
        return there
    for _ in range(COPY_TRIES):
        try:
            copied = copying.copy(process.store, entry.key, target, if_match=entry.etag)
            if copied and copied.etag == entry.etag:
                return Item(name, entry.size, entry.etag, copied.sha256)
        except PreconditionLost:
            copied = None
        now = copying.look(process.store, entry.key)
        if not now:
            if keys.is_memory(name) or keys.is_of_space(name):
                raise Conflict(CHANGED, retry_after=1)
            process.store.delete(target)
            return None
        if copied and now.etag == entry.etag:
            # The store gives each copy an ETag of its own.
            return Item(name, entry.size, entry.etag, copied.sha256, copied.etag)
        # Somebody has written it again since the listing; or the answer to the copy was lost.
        entry = now
    raise Conflict(CHANGED, retry_after=1)


def _check_unchanged(process: Process, head: Head) -> None:
    """Raise Conflict if anybody has committed or erased, or deleted the space, since `head` was read: 1 GET."""
    now = heads.find(process, head.meta.space_id)
    if not now or _state(now) != _state(head):
        raise Conflict(CHANGED, retry_after=1)


def _state(head: Head) -> tuple[object, ...]:
    meta = head.meta
    # With the erasures that have ended: one may have come and gone while this process stood still.
    return meta.uid, meta.changes, meta.committed_run, meta.echoes, meta.erasing


def _complete(process: Process, head: Head, saved: SavedManifest, items: Sequence[Item]) -> Manifest:
    now = process.clock()
    begun = clock.parse(saved.manifest.started_at)
    return _write(
        process,
        saved,
        items,
        complete=True,
        completed_at=clock.iso_millis(now),
        duration_seconds=round(max((now - begun).total_seconds(), 0.0), 3),
        changes=head.meta.changes,
        objects_count=len(items),
        bytes=sum(item.size for item in items),
        counts=_counts(items),
    )


def _write(process: Process, saved: SavedManifest, items: Sequence[Item], **changes: object) -> Manifest:
    try:
        return manifests.replace(process, saved, items, **changes).manifest
    except PreconditionLost:
        # Somebody removed it meanwhile, or goes on with it.
        raise NotFound("backup", saved.manifest.backup_id) from None


def _counts(items: Sequence[Item]) -> dict[str, int]:
    return dict(sorted(Counter(_kind(item.name) for item in items).items()))


def _kind(name: str) -> str:
    if keys.parse_note(f"x/{name}"):
        return "notes"
    if keys.parse_bank_file(f"x/{name}"):
        return "bank_files"
    return "records" if keys.parse_record(f"x/{name}") else "other"


def take_or_queue(process: Process, space_id: str, wanted: Wanted, *, deadline: datetime) -> Taken:
    """Take a backup within a request; the rest of what does not fit is queued. It is counted how many are asked for in
    a space: 1 GET, 1 PUT. Raises what `take` raises, and CapReached.
    """
    heads.load_recent(process, space_id)
    with caps.taking_backup(process, space_id):
        taken = take(process, space_id, wanted, deadline=deadline, wait=True)
    if taken.result == "unfinished":
        queue_rest(process, taken.manifest)
    return taken


def queue_rest(process: Process, manifest: Manifest) -> None:
    """Let an invocation of the backup function go on with an unfinished backup."""
    process.enqueue(
        "backup",
        {
            "do": "back_up",
            "space_id": manifest.space_id,
            "backup_id": manifest.backup_id,
            "trigger": manifest.trigger,
        },
    )
