"""What a backup is and holds: its `_manifest.json`, which is written when all else is there.

A backup counts if its manifest is there and says `complete`. The manifest is there from the beginning, to claim the
backup's id, and it is the first thing that is changed when a backup is removed: so whatever dies on the way, a complete
manifest never stands over missing objects.

The objects come last, one a line. So what a list of backups shows is read with the first bytes of each.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from livemem import clock
from livemem.errors import NotFound, PreconditionLost
from livemem.process import Process
from livemem.store import keys, stored
from livemem.store.documents import Count, Finite, Moment, Position
from livemem.store.objects import Object
from livemem.store.stored import Revised

SUMMARY_BYTES = 8_192
"""More than all fields before the objects take."""

_OBJECTS = b',\n  "objects": ['


@dataclass(frozen=True)
class Item:
    """One object of a backup: its name below the space, its size in bytes and its ETag as the space had it."""

    name: str
    size: int
    etag: str
    sha256: str | None = None
    """In hex, where the store gives it."""
    copy_etag: str | None = None
    """The copy's ETag where the store gave it another one (it does so with keys of KMS)."""


class Manifest(Revised):
    """`_manifest.json` without its objects."""

    version: Count = 1
    backup_id: str
    space_id: str
    uid: str
    """Of the space, to tell it from a namesake that was deleted."""
    complete: bool = False
    removing: bool = False
    """Set while it is removed: then it never becomes complete again."""
    trigger: Literal["schedule", "api", "export", "fork"]
    transient: bool = False
    """Made for an export or a fork alone: not kept for long, and not counted among those that are kept."""
    description: str = ""
    requested_by: str | None = None
    started_at: Moment
    completed_at: Moment | None = None
    duration_seconds: Finite | None = None
    unchanged_at: Moment | None = None
    """When the space was last found to be as this backup has it."""
    changes: Position = 0
    """Number of the newest change of the bank that it holds."""
    objects_count: Count = 0
    bytes: Count = 0
    counts: dict[str, Count] = {}
    """Live notes, bank files, records and other objects."""

    def stands_for(self) -> str:
        """The newest moment that it is known to hold, for people and for retention."""
        return self.unchanged_at or self.started_at

    def is_kept(self) -> bool:
        """Whether it is a whole backup that was made to be kept."""
        return self.complete and not self.removing and not self.transient


@dataclass(frozen=True)
class Unreadable:
    """There is a manifest that can't be read, or is another backup's: only who asks for it by name removes it."""

    etag: str


@dataclass(frozen=True)
class SavedManifest:
    """A manifest as read or written, with its ETag; `items` are None where only its first bytes were read."""

    manifest: Manifest
    etag: str
    items: tuple[Item, ...] | None
    age_seconds: float = 0.0
    """Since it was written, by the store's clock."""


def to_bytes(manifest: Manifest, items: Sequence[Item]) -> bytes:
    """The document as it is stored."""
    head = manifest.model_dump_json(indent=2).encode().removesuffix(b"\n}")
    lines = [json.dumps({k: v for k, v in asdict(item).items() if v is not None}, ensure_ascii=False) for item in items]
    return b"".join((head, _OBJECTS, b"\n", ",\n".join(f"    {line}" for line in lines).encode(), b"\n  ]\n}\n"))


def from_bytes(body: bytes) -> tuple[Manifest, tuple[Item, ...]]:
    """Manifest and objects. Raises ValueError."""
    try:
        parsed = json.loads(body)
    except RecursionError:
        raise ValueError("no manifest") from None
    if not isinstance(parsed, dict) or not isinstance(parsed.get("objects"), list):
        raise ValueError("no manifest")  # noqa: TRY004 - what a caller expects of a bad document
    items = tuple(_item(entry) for entry in parsed.pop("objects"))
    # Read as `summary_from` reads it: what the one refuses the other must not take, such as half a surrogate pair.
    return Manifest.model_validate_json(json.dumps(parsed)), items


def _item(entry: Any) -> Item:
    if not isinstance(entry, dict):
        raise ValueError("no object of a manifest")  # noqa: TRY004
    size = entry.get("size")
    if type(size) is not int or size < 0:
        raise ValueError("no object of a manifest")
    return Item(
        _text(entry.get("name")),
        size,
        _text(entry.get("etag")),
        _optional(entry, "sha256"),
        _optional(entry, "copy_etag"),
    )


def _optional(entry: dict[str, Any], name: str) -> str | None:
    return None if entry.get(name) is None else _text(entry[name])


def _text(value: Any) -> str:
    # JSON can hold half a surrogate pair, which nothing can send on: encoding it is a ValueError as well.
    if not isinstance(value, str) or not value.encode():
        raise ValueError("no object of a manifest")
    return value


def summary_from(body: bytes) -> Manifest:
    """The manifest in the first bytes of one. Raises ValueError."""
    head, found, _ = body.partition(_OBJECTS)
    if not found:
        raise ValueError("no manifest")
    return Manifest.model_validate_json(head + b"\n}")


def claim(process: Process, wanted: Manifest) -> SavedManifest:
    """Write a manifest where there is none: 1 PUT. Raises PreconditionLost where there is one already."""
    return _put(process, wanted, (), None)


def replace(process: Process, saved: SavedManifest, items: Sequence[Item], **changes: object) -> SavedManifest:
    """Write the manifest with `changes` over exactly the one that was read: 1 PUT. Raises PreconditionLost."""
    return _put(process, saved.manifest.model_copy(update=changes), items, saved.etag)


def bury(process: Process, space_id: str, backup_id: str, found: SavedManifest | Unreadable) -> SavedManifest:
    """Make exactly the manifest that was read the tombstone of a backup that is removed: 1 PUT. Raises
    PreconditionLost.
    """
    if isinstance(found, SavedManifest):
        return replace(process, found, (), complete=False, removing=True)
    now = clock.iso_millis(process.clock())
    tombstone = Manifest(
        backup_id=backup_id,
        space_id=space_id,
        uid="",
        removing=True,
        trigger="api",
        started_at=now,
    )
    return _put(process, tombstone, (), found.etag)


def _put(process: Process, wanted: Manifest, items: Sequence[Item], over: str | None) -> SavedManifest:
    wanted = wanted.stamped(process.new_id())
    key = keys.manifest(wanted.space_id, wanted.backup_id)
    written = stored.write_once(process.store, key, to_bytes(wanted, items), over=over)
    if not written.says_so:
        raise PreconditionLost("Somebody else changed the backup first.")
    return SavedManifest(wanted, written.etag, tuple(items))


def peek(process: Process, space_id: str, backup_id: str) -> SavedManifest | Unreadable | None:
    """The manifest without its objects, complete or not, or None where there is none: 1 GET of 8 KiB."""
    found = process.store.get(keys.manifest(space_id, backup_id), first=SUMMARY_BYTES)
    if not found:
        return None
    try:
        return _saved(found, summary_from(found.body), None, space_id, backup_id) or Unreadable(found.etag)
    except ValueError:
        return Unreadable(found.etag)


def summary(process: Process, space_id: str, backup_id: str) -> SavedManifest | None:
    """The manifest without its objects, complete or not, or None: 1 GET of 8 KiB. One that can't be read is none."""
    found = peek(process, space_id, backup_id)
    return found if isinstance(found, SavedManifest) else None


def find(process: Process, space_id: str, backup_id: str) -> SavedManifest | None:
    """The manifest with its objects, complete or not, or None: 1 GET. One that can't be read is none."""
    found = process.store.get(keys.manifest(space_id, backup_id))
    try:
        return _saved(found, *from_bytes(found.body), space_id, backup_id) if found else None
    except ValueError:
        return None


def load(process: Process, space_id: str, backup_id: str) -> SavedManifest:
    """The complete backup with its objects: 1 GET. Raises InvalidName, NotFound (also where it is not complete)."""
    saved = find(process, keys.check_space_id(space_id), keys.check_backup_id(backup_id))
    if not saved or not saved.manifest.complete:
        raise NotFound("backup", backup_id)
    return saved


def _saved(
    found: Object, manifest: Manifest, items: tuple[Item, ...] | None, space_id: str, backup_id: str
) -> SavedManifest | None:
    # In a copied folder it may name another backup, which must not be mistaken for this one.
    if (manifest.space_id, manifest.backup_id) != (space_id, backup_id):
        return None
    return SavedManifest(manifest, found.etag, items, found.age.total_seconds())
