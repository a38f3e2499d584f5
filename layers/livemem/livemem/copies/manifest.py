"""The manifest of a backup: `_manifest.json`, the document of the job that takes it. The job's id is the backup's.

A backup counts if its manifest says `done`, which is written after all objects. The manifest is written at the
beginning, to claim the backup's id. A removal changes the manifest first. So a manifest that says `done` never misses
objects, even if a process dies on the way.

The objects come last, one a line. So a list of backups reads only the first bytes of each manifest.
"""

import builtins
import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from pydantic import Field

from livemem.errors import NotFound
from livemem.jobs import job as jobs
from livemem.jobs.job import Job
from livemem.process import Process
from livemem.store import keys, stored
from livemem.store.bucket import BACKUP_MANIFEST
from livemem.store.objects import Object
from livemem.store.stored import Stored
from livemem.store.stored_documents import Count, Line, Moment, Position

SUMMARY_BYTES = 8_192
"""Bytes: more than all fields before the objects take."""

DAMAGED = "The backup differs from its manifest: {} is missing or was changed. Use another backup."
_OBJECTS = b',\n  "objects": ['

BackupTrigger = Literal["schedule", "api", "export", "fork"]


@dataclass(frozen=True)
class BackupObject:
    """One object of a backup: its name below the space, its size in bytes and its ETag as the space had it."""

    name: str
    size: int
    etag: str
    sha256: str | None = None
    """In hex, where the store gives it."""
    copy_etag: str | None = None
    """The copy's ETag if the store gave it another one (it does so with keys of KMS)."""


class Manifest(Job):
    """`_manifest.json`. A backup is `cancelled` from the beginning of its removal on. Its manifest is then its
    tombstone.
    """

    kind: Line = "backup"
    version: Count = 1
    trigger: BackupTrigger
    transient: bool = False
    """Made for an export or a fork alone. It is not kept for long, and does not count among the kept backups."""
    description: str = ""
    unchanged_at: Moment | None = None
    """When the space was last found unchanged since this backup."""
    changes: Position = 0
    """Number of the newest change of the bank that it holds."""
    objects_count: Count = 0
    bytes: Count = 0
    counts: dict[str, Count] = {}
    """Numbers of live notes, bank files, records and other objects."""
    items: tuple[BackupObject, ...] | None = Field(default=(), exclude=True)
    """Its objects; None where only the first bytes were read."""

    @property
    def complete(self) -> bool:
        """Whether all of it is there."""
        return self.status == "done"

    @property
    def removed(self) -> bool:
        """Whether it is being removed, or was."""
        return self.status == "cancelled"

    def stands_for(self) -> str:
        """The newest moment whose state it is known to hold, for people and for retention."""
        return self.unchanged_at or self.created_at

    def is_kept(self) -> bool:
        """Whether it is a whole backup that was made to be kept."""
        return self.complete and not self.transient

    def to_bytes(self) -> builtins.bytes:
        """The document as it is stored."""
        assert self.items is not None, "the first bytes of a manifest would take the place of all of it"
        items = ({k: v for k, v in asdict(item).items() if v is not None} for item in self.items)
        lines = ",\n".join(f"    {json.dumps(item, ensure_ascii=False)}" for item in items)
        return b"".join((super().to_bytes().removesuffix(b"\n}\n"), _OBJECTS, b"\n", lines.encode(), b"\n  ]\n}\n"))

    @classmethod
    def from_bytes(cls, body: builtins.bytes) -> Self:
        """The manifest with its objects. Raises ValueError."""
        head, _, objects = body.partition(_OBJECTS)
        manifest = cls.of_first(head + _OBJECTS)
        try:
            parsed = json.loads(b"[" + objects.rstrip().removesuffix(b"}"))
        except RecursionError:
            raise ValueError("no manifest") from None
        return manifest.model_copy(update={"items": tuple(_item(entry) for entry in parsed)})

    @classmethod
    def of_first(cls, body: builtins.bytes) -> Self:
        """The manifest without its objects, from the first bytes of one. Raises ValueError."""
        head, marker, _ = body.partition(_OBJECTS)
        if not marker:
            raise ValueError("no manifest")
        return super().from_bytes(head + b"\n}").model_copy(update={"items": None})


Peeked = Stored[Manifest | None]
"""A manifest without its objects. None: it can't be read, or is another backup's. Only a caller that names such a
backup removes it.
"""


def _item(entry: Any) -> BackupObject:
    if not isinstance(entry, dict):
        raise ValueError("no object of a manifest")  # noqa: TRY004 - what a caller expects of a bad document
    size = entry.get("size")
    if type(size) is not int or size < 0:
        raise ValueError("no object of a manifest")
    return BackupObject(
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


def peek(process: Process, space_id: str, backup_id: str) -> Peeked | None:
    """The manifest without its objects, or None where there is none: 1 GET of 8 KiB."""
    beginning = process.store.get(BACKUP_MANIFEST.key(space_id, backup_id), first=SUMMARY_BYTES)

    def read(item: Object) -> Manifest | None:
        try:
            manifest = Manifest.of_first(item.body)
        except ValueError:
            return None
        # In a copied folder it may name another backup, which must not be mistaken for this one.
        return manifest if (manifest.space_id, manifest.job_id) == (space_id, backup_id) else None

    return stored.of(beginning, read) if beginning else None


def summary(process: Process, space_id: str, backup_id: str) -> Stored[Manifest] | None:
    """The same. An unreadable manifest counts as none."""
    look = peek(process, space_id, backup_id)
    return Stored(look.key, look.value, look.etag, look.age, look.seen_at) if look and look.value else None


def find(process: Process, space_id: str, backup_id: str) -> Stored[Manifest] | None:
    """The manifest with its objects, complete or not, or None: 1 GET. An unreadable one counts as none."""
    return jobs.find(process, BACKUP_MANIFEST.key(space_id, backup_id), stored.or_none(Manifest), space_id, backup_id)


def load(process: Process, space_id: str, backup_id: str) -> Stored[Manifest]:
    """The complete backup with its objects: 1 GET. Raises InvalidName, NotFound (also where it is not complete)."""
    manifest = find(process, keys.check_space_id(space_id), keys.check_backup_id(backup_id))
    if not manifest or not manifest.value.complete:
        raise NotFound("backup", backup_id)
    return manifest
