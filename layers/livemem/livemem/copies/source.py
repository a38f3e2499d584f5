"""A backup as the source of a space. It is checked as a whole before anything is written, and each object is checked
again.

Names in a manifest are input like any other. A backup that is removed or changed during the restore raises another
error than a damaged backup.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256

from livemem.copies import manifest as manifests
from livemem.copies.manifest import DAMAGED, BackupObject, Manifest
from livemem.copies.relabel import Names
from livemem.errors import BackupDamaged, Busy, InvalidName, PreconditionLost, SpaceBroken
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.store import bucket, copying, keys
from livemem.store.bucket import BACKUP_OBJECT, IN_SPACE, beyond_log
from livemem.store.copying import Copied
from livemem.store.objects import Entry, Object
from livemem.store.stored import Stored

HOSTILE = "The manifest of the backup names an object that no space can have, or one object twice. Use another backup."


@dataclass(frozen=True)
class SourceBackup:
    """A backup, and the space that is made from it. `items` are the objects to write, without the head. `there` are the
    objects that the space holds already, by name.
    """

    manifest: Manifest
    names: Names
    items: tuple[BackupObject, ...]
    head: BackupObject
    there: Mapping[str, Entry]

    def key(self, item: BackupObject) -> str:
        """The key of the object in the backup."""
        return BACKUP_OBJECT.key(self.manifest.space_id, self.manifest.job_id, item.name)

    def target(self, name: str) -> str:
        """The key of the object of this name in the space."""
        return IN_SPACE.prefix(self.names.target) + name

    def has(self, item: BackupObject) -> bool:
        """Whether the space holds the object already, as the backup has it."""
        existing = self.there.get(item.name)
        if not existing or existing.size != item.size:
            return False
        # If each copy has an ETag of its own: only this job's workers write notes and records into the space.
        return existing.etag == item.etag or (item.copy_etag is not None and bucket.is_immutable(item.name))


def checked_items(manifest: Manifest) -> tuple[BackupObject, ...]:
    """All objects of a backup that belong into a space. Raises BackupDamaged for names that no space can hold."""
    items = manifest.items or ()
    try:
        for item in items:
            keys.check_object_name(item.name)
    except InvalidName:
        raise BackupDamaged(HOSTILE) from None
    if len({item.name for item in items}) < len(items):
        raise BackupDamaged(HOSTILE)
    # A lease or a plan would bind the space to work that is none of its own.
    not_brought = {keys.MANIFEST, *beyond_log(item.name for item in items)}
    return tuple(item for item in items if not bucket.is_derived(item.name) and item.name not in not_brought)


def load(process: Process, head: Head) -> Stored[Manifest]:
    """The complete backup that a space is made from: 2 GET. Raises NotFound if it is gone, Busy."""
    provisioning = head.meta.provisioning
    assert provisioning
    assert provisioning.space_id
    assert provisioning.backup_id
    return complete(process, provisioning.space_id, provisioning.backup_id)


def complete(process: Process, space_id: str, backup_id: str) -> Stored[Manifest]:
    """The complete backup: 1 GET, and 1 of its space's head. Raises InvalidName, NotFound, Busy while notes are erased
    from it.
    """
    saved = manifests.load(process, space_id, backup_id)
    # A head that can't be read must not stand in the way of a restore.
    with suppress(SpaceBroken):
        head = heads.find(process, space_id)
        if head and head.meta.erasing_now():
            raise Busy("Notes of the backup's space are being erased. Try again in a minute.")
    return saved


@contextmanager
def opened(process: Process, head: Head) -> Iterator[SourceBackup]:
    """The backup that a space is made from, for as long as it is read: 2 GET, and 1 LIST per 1,000 objects of the
    backup and of the space.

    Raises NotFound if it is gone or is removed meanwhile, BackupDamaged, PreconditionLost if it was changed, as by an
    erasure: then a new try may succeed.
    """
    saved = load(process, head)
    try:
        yield _source(process, saved.value, head)
    except BackupDamaged:
        if load(process, head).etag != saved.etag:
            raise PreconditionLost("The backup was changed in the meantime. Try again.") from None
        raise


def _source(process: Process, manifest: Manifest, head: Head) -> SourceBackup:
    space_id, items = head.meta.space_id, checked_items(manifest)
    own = next((item for item in items if item.name == keys.META), None)
    if not own:
        raise BackupDamaged(DAMAGED.format(keys.META))
    kept = _listed(process, BACKUP_OBJECT.prefix(manifest.space_id, manifest.job_id))
    for item in items:
        result = kept.get(item.name)
        # If the store gives a SHA-256, the copy is compared with that.
        if not result or result.size != item.size or not (_is_same(result.etag, item) or item.sha256):
            raise BackupDamaged(DAMAGED.format(item.name))
    names = Names(manifest.space_id, space_id, head.meta.uid)
    rest = tuple(item for item in items if item is not own)
    return SourceBackup(manifest, names, rest, own, _listed(process, IN_SPACE.prefix(space_id)))


def _listed(process: Process, prefix: str) -> dict[str, Entry]:
    return {entry.key.removeprefix(prefix): entry for entry in process.store.scan(prefix)}


def _is_same(etag: str, item: BackupObject) -> bool:
    return etag in (item.etag, item.copy_etag)


def read(process: Process, source: SourceBackup, item: BackupObject) -> Object:
    """One object of the backup: 1 GET. Raises BackupDamaged if it differs from the manifest."""
    result = process.store.get(source.key(item))
    if not result or len(result.body) != item.size:
        raise BackupDamaged(DAMAGED.format(item.name))
    if not _is_same(result.etag, item) and sha256(result.body).hexdigest() != item.sha256:
        raise BackupDamaged(DAMAGED.format(item.name))
    return result


def copy(process: Process, source: SourceBackup, item: BackupObject) -> None:
    """Copy one object unchanged: 1 CopyObject, 1 HEAD more if the store gives each copy an ETag of its own.

    Raises BackupDamaged where it is not what the manifest says.
    """
    copied = copying.copy(process.store, source.key(item), source.target(item.name))
    if not copied or not _is_whole(process, source, item, copied):
        raise BackupDamaged(DAMAGED.format(item.name))


def _is_whole(process: Process, source: SourceBackup, item: BackupObject, copied: Copied) -> bool:
    if item.sha256 and copied.sha256:
        return item.sha256 == copied.sha256
    if copied.etag == item.etag:
        return True
    result = copying.look(process.store, source.key(item)) if item.copy_etag else None
    return bool(result and (result.etag, result.size) == (item.copy_etag, item.size))


def read_head(process: Process, source: SourceBackup) -> Meta:
    """The backup's head, with the id of the new space: 1 GET. Raises BackupDamaged."""
    body = read(process, source, source.head).body
    heads.check_layout(heads.layout_of(body))
    try:
        meta = Meta.from_bytes(body)
    except ValueError:
        raise BackupDamaged(DAMAGED.format(keys.META)) from None
    if meta.space_id != source.names.source:
        raise BackupDamaged(DAMAGED.format(keys.META))
    meta = heads.without_bad_settings(meta)
    return meta.model_copy(update={"space_id": source.names.target, "uid": source.names.uid})
