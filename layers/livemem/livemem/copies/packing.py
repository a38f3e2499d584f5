"""Makes an archive of objects of a backup: in one go, in memory, by the standard library.

A space that is too large for one archive becomes several. Where one ends depends on the backup alone. So two processes
that make the same archive make the same bytes.
"""

import gzip
import io
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from livemem.copies import archive, schema
from livemem.copies.archive import ArchivedObject
from livemem.copies.manifest import BackupObject, Manifest
from livemem.errors import BackupDamaged
from livemem.process import Process
from livemem.store import keys
from livemem.store.bucket import BACKUP_OBJECT
from livemem.store.objects import Object

ARCHIVE_BYTES = 128 << 20
"""Most bytes of the objects in one archive. It is made in memory, so it takes as much at most."""
ARCHIVE_OBJECTS = 20_000
WINDOW_BYTES = 8 << 20
"""Most bytes of objects that are read in parallel. A larger object is read alone."""
WINDOW_OBJECTS = 1_000
LEVEL = 4
"""Compression level: half as much work as 6, and archives of notes are three percent larger."""

DAMAGED = "The backup differs from its manifest: {} is missing or was changed. Use another backup."


@dataclass(frozen=True)
class ArchiveContents:
    """What belongs into the archives of a backup: the objects of each archive, and the names of those that no import
    would take, which are in none.
    """

    backup: Manifest
    archives: Sequence[Sequence[BackupObject]]
    left_out: Sequence[str]

    @classmethod
    def of(cls, backup: Manifest) -> "ArchiveContents":
        """The contents of a backup's archives."""
        items, left_out = archive.split(backup.space_id, backup.items or ())
        return cls(backup, list(_grouped(items, ARCHIVE_BYTES, ARCHIVE_OBJECTS)) or [()], left_out)


@dataclass
class Packed:
    """An archive: its bytes, its objects, and the names of those that are not in it."""

    body: bytes = b""
    objects: list[ArchivedObject] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def pack(process: Process, contents: ArchiveContents, number: int, check: Callable[[], None]) -> Packed:
    """Make archive `number` (from 1): 1 GET for each object. It calls `check` now and then, which may stop it by an
    error of its own. Raises BackupDamaged.
    """
    backup = contents.backup
    packed = Packed(left_out=list(contents.left_out) if number == 1 else [])
    body = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", LEVEL, body, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for window in _grouped(contents.archives[number - 1], WINDOW_BYTES, WINDOW_OBJECTS):
            check()
            results = process.store.map(
                lambda item: process.store.get(BACKUP_OBJECT.key(backup.space_id, backup.job_id, item.name)), window
            )
            for item, result in zip(window, results, strict=True):
                digest = _checked(item, result)
                if not result or not schema.fits(item.name, result.body):
                    # No import would take it.
                    packed.left_out.append(item.name)
                    continue
                _add(tar, backup, item.name, result.body)
                metadata = archive.kept(result.metadata)
                packed.objects.append(ArchivedObject(item.name, item.size, digest, metadata))
        manifest = archive.manifest_bytes(backup, packed.objects, packed.left_out, number, len(contents.archives))
        _add(tar, backup, keys.MANIFEST, manifest)
    packed.body = body.getvalue()
    return packed


def _add(tar: tarfile.TarFile, backup: Manifest, name: str, body: bytes) -> None:
    info = tarfile.TarInfo(f"{backup.space_id}/{name}")
    info.size = len(body)
    info.mtime = int(keys.backup_moment(backup.job_id).timestamp())
    tar.addfile(info, io.BytesIO(body))


def _grouped(items: Sequence[BackupObject], most_bytes: int, most: int) -> Iterator[Sequence[BackupObject]]:
    """The objects in groups of so many bytes and objects at most. A larger object is a group of its own."""
    group: list[BackupObject] = []
    size = 0
    for item in items:
        if group and (size + item.size > most_bytes or len(group) == most):
            yield group
            group, size = [], 0
        group.append(item)
        size += item.size
    if group:
        yield group


def _checked(item: BackupObject, result: Object | None) -> str:
    """The SHA-256 of an object that is what the manifest says. Raises BackupDamaged."""
    digest = sha256(result.body).hexdigest() if result else ""
    same = digest == item.sha256 if item.sha256 else result and result.etag in (item.etag, item.copy_etag)
    if not result or len(result.body) != item.size or not same:
        raise BackupDamaged(DAMAGED.format(item.name))
    return digest
