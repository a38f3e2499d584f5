"""Bringing a space back from a backup, under its own id or another one."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256

from livemem import clock
from livemem.access.principal import Principal
from livemem.backups import arrivals
from livemem.backups import manifest as manifests
from livemem.backups.arrivals import Brought
from livemem.backups.manifest import Item, Saved
from livemem.backups.relabel import Names, follows, relabel
from livemem.errors import BackupDamaged, Busy, PreconditionLost, SpaceBroken
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.arrival import Arrival
from livemem.spaces.head import Head, Meta
from livemem.store import copying, documents, keys
from livemem.store.objects import Entry

BATCH = 1_000
"""Objects that are brought between two looks at the time."""
MARGIN = timedelta(seconds=5)
"""Time that must be left for the rest."""
WRITE_TRIES = 5

DAMAGED = "The backup is not as its manifest says: {} is missing or was changed. Restore another one."


def order(process: Process, principal: Principal, space_id: str, backup_id: str, target: str | None) -> Head:
    """Claim the target (the backup's own space if None) for what `bring` then brings.

    Raises NotFound (no complete backup), InvalidName, SpaceExists, Conflict, Forbidden.
    """
    _load(process, space_id, backup_id)
    arrival = Arrival(
        arrival_id=process.new_id(),
        kind="restore",
        space_id=space_id,
        backup_id=backup_id,
        requested_by=principal.name,
        started_at=clock.iso(process.clock()),
    )
    return arrivals.begin(process, principal, target or space_id, arrival)


def bring(process: Process, head: Head, deadline: datetime) -> Brought | None:
    """Copy all that the backup holds into the space, and verify it against the manifest; None if time runs out.

    For A objects ceil(A/1000) LIST, and 1 CopyObject each, or 1 GET and 1 PUT for what must not be overwritten or names
    the space. Raises NotFound or BackupDamaged.
    """
    saved = source_of(process, head)
    names = Names(saved.manifest.space_id, head.meta.space_id, head.meta.uid)
    items = [item for item in saved.items or () if item.name != keys.META]
    watched = bring_items(process, saved, items, names, deadline)
    return None if watched is None else Brought(_meta(process, saved, head), len(items) + 1, watched)


def source_of(process: Process, head: Head) -> Saved:
    """The backup that a space is brought from; raises NotFound where it is gone."""
    arrival = head.meta.arrival
    assert arrival
    assert arrival.space_id
    assert arrival.backup_id
    return _load(process, arrival.space_id, arrival.backup_id)


def _load(process: Process, space_id: str, backup_id: str) -> Saved:
    """The complete backup: 1 GET, and 1 of its space's head. Raises NotFound, Busy while it is being rewritten."""
    saved = manifests.load(process, space_id, backup_id)
    # A head that can't be read must not stand in the way of a restore.
    with suppress(SpaceBroken):
        head = heads.find(process, space_id)
        if head and head.meta.erasing_now():
            raise Busy("Notes of the backup's space are being erased; try again in a minute.")
    return saved


def bring_items(
    process: Process, saved: Saved, items: Sequence[Item], names: Names, deadline: datetime
) -> dict[str, int] | None:
    """Bring these objects of the backup; what is there already is not copied again. None if time runs out, else the
    files that a late request could bring back, with the number of the change that wrote each.
    """
    prefix = keys.prefix(names.target)
    there = {entry.key.removeprefix(prefix): entry for entry in process.store.scan(prefix)}
    watched: dict[str, int] = {}
    for start in range(0, len(items), BATCH):
        if start and deadline - process.clock() < MARGIN:
            return None
        batch = items[start : start + BATCH]
        written = process.store.map(lambda item: bring_item(process, saved, item, names, there.get(item.name)), batch)
        for item, number in zip(batch, written, strict=True):
            path = keys.path_in_records(item.name)
            if path and number is not None:
                watched[path] = number
    return watched


def bring_item(process: Process, saved: Saved, item: Item, names: Names, there: Entry | None) -> int | None:
    """Bring one object, verified; the number of the change that wrote it, if it says so. Raises BackupDamaged."""
    source = keys.backup_object(saved.manifest.space_id, saved.manifest.backup_id, item.name)
    target = keys.prefix(names.target) + item.name
    if follows(item.name, names) or not keys.is_immutable(item.name):
        return _rewrite(process, item, source, target, names)
    if not there or (there.etag, there.size) != (item.etag, item.size):
        copied = copying.copy(process.store, source, target)
        if not copied or not _is_whole(process, item, copied, target):
            raise BackupDamaged(DAMAGED.format(item.name))
    return None


def _is_whole(process: Process, item: Item, copied: copying.Copied, target: str) -> bool:
    """Whether a copy is what the manifest says."""
    if item.sha256 and copied.sha256:
        return item.sha256 == copied.sha256
    if copied.etag == item.etag:
        return True
    # Where the store gives each copy an ETag of its own, its size is all that it tells.
    found = copying.look(process.store, target) if item.copy_etag else None
    return bool(found and found.size == item.size)


def _rewrite(process: Process, item: Item, source: str, target: str, names: Names) -> int | None:
    """Write an object as it is to be in the other space, unless something is there: then that must be it."""
    found = process.store.get(source)
    etags = (item.etag, item.copy_etag)
    if not found or len(found.body) != item.size or (found.etag not in etags and not _same_sha(item, found.body)):
        raise BackupDamaged(DAMAGED.format(item.name))
    body = relabel(item.name, found.body, names) if follows(item.name, names) else found.body
    write(process, target, body, found.metadata)
    number = found.metadata.get("consolidation", "")
    return int(number) if number.isdecimal() else None


def _same_sha(item: Item, body: bytes) -> bool:
    return item.sha256 is not None and sha256(body).hexdigest() == item.sha256


def write(process: Process, key: str, body: bytes, metadata: Mapping[str, str] | None = None) -> None:
    """Write an object of a space that nobody sees yet: 1 PUT. A repeat that comes late changes nothing."""
    content_type = documents.JSON if key.endswith(".json") else "text/markdown; charset=utf-8"
    condition: dict[str, object] = {"if_none_match": True}
    for _ in range(WRITE_TRIES):
        try:
            process.store.put(key, body, content_type=content_type, metadata=metadata, **condition)  # type: ignore[arg-type]
            return
        except PreconditionLost:
            there = process.store.get(key)
        if there and there.body == body:
            return
        condition = {"if_match": there.etag} if there else {"if_none_match": True}
    raise PreconditionLost("Something else is written into the space while it is brought here.")


def _meta(process: Process, saved: Saved, head: Head) -> Meta:
    found = process.store.get(keys.backup_object(saved.manifest.space_id, saved.manifest.backup_id, keys.META))
    try:
        if found:
            kept = Meta.from_bytes(found.body)
            return kept.model_copy(update={"space_id": head.meta.space_id, "uid": head.meta.uid})
    except ValueError:
        pass
    raise BackupDamaged(DAMAGED.format(keys.META))
