"""Taking a backup: the space's objects are copied within the store, under the lease, and the manifest makes them one.

What changes while it is taken are notes that are appended: those are in the next one. What is part of the space's state
(bank, records, head) changes under the lease alone, or by a swap of the head, which is looked at again at the end.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from livemem import clock, limits
from livemem.backups import catalog
from livemem.backups import manifest as manifests
from livemem.backups.manifest import Item, Manifest, Saved
from livemem.changes import recovery, settling
from livemem.errors import Busy, Conflict, LiveMemoryError, NotFound, PreconditionLost
from livemem.process import Process
from livemem.runs import counter
from livemem.spaces import head as heads
from livemem.spaces import lease
from livemem.spaces.head import Head
from livemem.store import copying, keys
from livemem.store.objects import Entry
from livemem.store.probe import require_conditional_writes

logger = logging.getLogger(__name__)

Trigger = Literal["schedule", "api", "export", "fork"]

BATCH = 1_000
"""Objects that are copied between two looks at the time."""
MARGIN = timedelta(seconds=5)
"""Time that must be left for the manifest and the lease."""
CLAIM_TRIES = 60
COPY_TRIES = 5
WAIT_SECONDS = 5.0
"""Between two looks whether a busy space is free."""

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
    where the space consolidates by itself; where nothing has changed no copy and 2 PUT. Busy spaces are waited for with
    `wait`. Raises NotFound, Busy, Conflict (the space was deleted or changed by somebody meanwhile), TooLarge.
    """
    limits.check_text("description", wanted.description, limits.DESCRIPTION_BYTES, blank=True)
    require_conditional_writes(process.store)
    heads.load(process, space_id)
    held = _acquire(process, space_id, deadline, wait=wait)
    try:
        with lease.kept(process, held):
            head = recovery.recover(process, heads.load(process, space_id))
            head = settling.settle(process, recovery.clear_abandoned(process, head, held.lease.abandoned))
            if head.meta.erasing_now():
                raise Busy("Notes of this space are being erased; try again in a minute.")
            taken = _take(process, head, wanted, deadline, unfinished)
    except NotFound:
        lease.quietly_release(process, held)
        raise
    except LiveMemoryError:
        lease.let_go(process, held)
        raise
    lease.quietly_release(process, held)
    # A put event that came meanwhile found the space busy.
    counter.start_if_possible(process, space_id)
    return taken


def _acquire(process: Process, space_id: str, deadline: datetime, *, wait: bool) -> lease.Held:
    while True:
        try:
            return lease.acquire(process, space_id, process.new_id(), "backup", by_hand=True)
        except Busy:
            if not wait or deadline - process.clock() < 2 * timedelta(seconds=WAIT_SECONDS) + MARGIN:
                raise
        process.store.sleep(WAIT_SECONDS)


def _take(process: Process, head: Head, wanted: Wanted, deadline: datetime, unfinished: str | None) -> Taken:
    space_id = head.meta.space_id
    listed = contents(process, space_id)
    if unfinished:
        saved = manifests.find(process, space_id, unfinished)
        if not saved or saved.manifest.removing:
            raise NotFound("backup", unfinished)
        if saved.manifest.complete:
            return Taken(saved.manifest, "made")
        return _copy_all(process, head, saved, listed, deadline, _copied(process, space_id, unfinished))
    last = _last_if_unchanged(process, space_id, listed) if _may_skip(process, wanted) else None
    if last:
        return Taken(_confirm(process, last, wanted), "unchanged")
    saved = _claim(process, head, wanted)
    return _copy_all(process, head, saved, listed, deadline, {})


def contents(process: Process, space_id: str) -> list[Entry]:
    """All objects of the space that are part of a backup: 1 LIST per 1,000."""
    prefix = keys.prefix(space_id)
    return [entry for entry in process.store.scan(prefix) if not keys.is_derived(entry.key.removeprefix(prefix))]


def _may_skip(process: Process, wanted: Wanted) -> bool:
    return wanted.trigger in ("export", "fork") or (process.settings.backup_skip_unchanged and not wanted.description)


def _last_if_unchanged(process: Process, space_id: str, listed: Sequence[Entry]) -> Saved | None:
    """The newest complete backup if it holds just what is listed."""
    newest = catalog.newest(process, space_id)
    if not newest or newest.manifest.objects_count != len(listed):
        return None
    saved = manifests.find(process, space_id, newest.manifest.backup_id)
    if not saved or not saved.manifest.complete or saved.items is None:
        return None
    prefix = keys.prefix(space_id)
    now = {(entry.key.removeprefix(prefix), entry.size, entry.etag) for entry in listed}
    return saved if {(item.name, item.size, item.etag) for item in saved.items} == now else None


def _confirm(process: Process, last: Saved, wanted: Wanted) -> Manifest:
    """Note that the space still is as its last backup has it; one that was made for an export alone is kept from now
    on, if a backup was asked for.
    """
    keeps = last.manifest.transient and wanted.trigger not in ("export", "fork")
    try:
        return manifests.replace(
            process,
            last,
            last.items or (),
            unchanged_at=clock.iso(process.clock()),
            transient=last.manifest.transient and not keeps,
            trigger=wanted.trigger if keeps else last.manifest.trigger,
        ).manifest
    except PreconditionLost:
        raise Conflict(CHANGED, retry_after=1) from None


def _claim(process: Process, head: Head, wanted: Wanted) -> Saved:
    """Claim an id: that of the present second, or of the next ones if others were faster: 1 PUT."""
    now = process.clock()
    fresh = Manifest(
        backup_id=keys.backup_id(now),
        space_id=head.meta.space_id,
        uid=head.meta.uid,
        claim=process.new_id(),
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


def _copied(process: Process, space_id: str, backup_id: str) -> Mapping[str, Entry]:
    """What is there already of an unfinished backup, by name."""
    prefix = keys.backup_prefix(space_id, backup_id)
    return {entry.key.removeprefix(prefix): entry for entry in process.store.scan(prefix)}


def _copy_all(
    process: Process,
    head: Head,
    saved: Saved,
    listed: Sequence[Entry],
    deadline: datetime,
    there: Mapping[str, Entry],
) -> Taken:
    space_id, backup_id = head.meta.space_id, saved.manifest.backup_id
    prefix = keys.prefix(space_id)
    items: list[Item] = []
    for start in range(0, len(listed), BATCH):
        if start and deadline - process.clock() < MARGIN:
            return Taken(saved.manifest, "unfinished")
        batch = listed[start : start + BATCH]
        found = process.store.map(
            lambda entry: _copy(process, head, backup_id, entry, there.get(entry.key.removeprefix(prefix))), batch
        )
        items += [item for item in found if item]
    stale = there.keys() - {item.name for item in items} - {keys.MANIFEST}
    process.store.delete_many([keys.backup_object(space_id, backup_id, name) for name in sorted(stale)])
    _check_unchanged(process, head)
    return Taken(_complete(process, saved, items), "made")


def _copy(process: Process, head: Head, backup_id: str, entry: Entry, there: Entry | None) -> Item | None:
    """Copy one object, and say what was copied; None for one that nobody misses and that is gone."""
    space_id = head.meta.space_id
    name = entry.key.removeprefix(keys.prefix(space_id))
    target = keys.backup_object(space_id, backup_id, name)
    if there and (there.etag, there.size) == (entry.etag, entry.size):
        return Item(name, entry.size, entry.etag)
    for _ in range(COPY_TRIES):
        copied = copying.copy(process.store, entry.key, target)
        if copied and copied.etag == entry.etag:
            return Item(name, entry.size, entry.etag, copied.sha256)
        now = copying.look(process.store, entry.key)
        if not copied or not now:
            if keys.is_memory(name) or keys.is_of_space(name):
                raise Conflict(CHANGED, retry_after=1)
            process.store.delete(target)
            return None
        if now.etag == entry.etag:
            # The store gives each copy an ETag of its own.
            return Item(name, entry.size, entry.etag, copied.sha256, copied.etag)
        # Somebody has written it again since the listing.
        entry = now
    raise Conflict(CHANGED, retry_after=1)


def _check_unchanged(process: Process, head: Head) -> None:
    """Raise Conflict if anybody has committed, or deleted the space, since `head` was read: 1 GET."""
    now = heads.find(process, head.meta.space_id)
    if not now or (now.meta.uid, now.meta.changes, now.meta.committed_run, now.meta.echoes, now.meta.erasing_now()) != (
        head.meta.uid,
        head.meta.changes,
        None,
        [],
        None,
    ):
        raise Conflict(CHANGED, retry_after=1)


def _complete(process: Process, saved: Saved, items: Sequence[Item]) -> Manifest:
    now = process.clock()
    begun = clock.parse(saved.manifest.started_at)
    try:
        return manifests.replace(
            process,
            saved,
            items,
            complete=True,
            completed_at=clock.iso_millis(now),
            duration_seconds=round(max((now - begun).total_seconds(), 0.0), 3),
            objects_count=len(items),
            bytes=sum(item.size for item in items),
            counts=_counts(items),
        ).manifest
    except PreconditionLost:
        # Somebody removed it meanwhile.
        raise NotFound("backup", saved.manifest.backup_id) from None


def _counts(items: Sequence[Item]) -> dict[str, int]:
    return dict(sorted(Counter(_kind(item.name) for item in items).items()))


def _kind(name: str) -> str:
    if keys.parse_note(f"x/{name}"):
        return "notes"
    if keys.parse_bank_file(f"x/{name}"):
        return "bank_files"
    return "records" if keys.parse_record(f"x/{name}") else "other"


def work(process: Process, payload: Mapping[str, Any], deadline: datetime) -> dict[str, Any]:
    """Take a backup in an invocation of its own, or go on with one: the rest of what does not fit is queued.

    Raises Busy, Conflict, StoreUnavailable, so that it is tried again.
    """
    space_id = payload["space_id"]
    wanted = Wanted(payload["trigger"], payload.get("description", ""), payload.get("requested_by"))
    try:
        taken = take(process, space_id, wanted, deadline=deadline, wait=True, unfinished=payload.get("backup_id"))
    except NotFound:
        # The space, or the unfinished backup, was deleted meanwhile.
        return {"status": "gone"}
    if taken.result == "unfinished":
        process.later({**payload, "backup_id": taken.manifest.backup_id})
    return {"status": taken.result, "backup_id": taken.manifest.backup_id, "objects": taken.manifest.objects_count}
