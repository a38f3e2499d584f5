"""The form of a space's archive: a `tar.gz` that a person reads with `tar` and a pager, and that an import takes.

Its members are `{space_id}/{name}` for every object of a backup, byte for byte as in the bucket, and last
`{space_id}/_manifest.json`: the backup's own fields, and each object's name, size, SHA-256 and metadata in the bucket,
one object a line. A large space has several archives, each with a manifest of its own objects and one checksum of the
contents of all: an import refuses a mixture of two exports. Tar is POSIX (pax headers for long names). The same backup
always makes the same bytes. It holds nothing but the space's own folder: no token and no key of the service.
"""

import gzip
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from livemem.bank import paths
from livemem.copies import schema
from livemem.copies.manifest import DAMAGED, BackupObject, Manifest
from livemem.errors import BackupDamaged
from livemem.process import Process
from livemem.store import bucket, keys
from livemem.store.bucket import BACKUP_OBJECT, MEMORY_VECTORS, NOTE
from livemem.store.objects import Object
from livemem.text.invisible import has_controls

FORMAT = "live-memory-archive"
VERSION = 1

NAME_BYTES = 900
"""Most bytes of a member's path. A key of S3 has 1,024, and a backup's keys are longer than the space's own."""
OBJECT_BYTES = 64 << 20
"""Most bytes of any object in an archive that has no smaller limit."""
NAMED = 100
"""Most left-out objects that the manifest names."""

_METADATA_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_METADATA_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,498}[\x21-\x7e])?")
METADATA_ENTRIES = 10

_OBJECTS = b',\n  "objects": ['
HEAD_BYTES = 1 << 20
"""Most bytes of an archive's manifest before its objects."""
LINE_BYTES = 16_384
"""Most bytes of the line of one object."""


@dataclass(frozen=True)
class ArchivedObject:
    """One object as an archive's manifest has it; `sha256` in hex."""

    name: str
    size: int
    sha256: str
    metadata: Mapping[str, str]


def path_problem(path: str) -> str | None:
    """Why no member of an archive may have this path, or None. A hostile path could be unpacked elsewhere."""
    if len(path.encode(errors="surrogatepass")) > NAME_BYTES:
        return f"has a name of more than {NAME_BYTES} bytes"
    if has_controls(path):
        return "has control characters in its name"
    if "\\" in path:
        return "has a backslash in its name"
    if path.startswith("/"):
        return "has an absolute path"
    parts = path.split("/")
    if ".." in parts:
        return "has `..` in its path"
    return "has an empty part or `.` in its path" if {"", "."} & set(parts) else None


def name_problem(name: str) -> str | None:
    """Why no object of a space in an archive may have this name, or None."""
    if name == keys.MANIFEST:
        return "has the name of the manifest"
    if bucket.is_derived(name):
        return "is a lease, unfinished work or a derived object, which an archive must not have"
    if name.startswith("live/") and name.endswith(".md") and not NOTE.parse(f"x/{name}"):
        return "does not have the name of a note"
    if name.startswith("bank/") and name.endswith(".md"):
        try:
            paths.check_bank_path(name.removeprefix("bank/"))
        except paths.BankPathError as error:
            return f"is not a bank file: {error.detail}"
    return None


def is_made_again(name: str) -> bool:
    """Whether an archive is written without the object of this name, although a backup has it. These are packed
    vectors, which a model can compute again. Archives of older versions of the service hold them.
    """
    return MEMORY_VECTORS.parse(f"x/{name}") is not None


def split(space_id: str, items: Iterable[BackupObject]) -> tuple[list[BackupObject], list[str]]:
    """The objects of a backup that its archives hold, and the names of those that no import would take. Their names
    break the rules, so no agent sees them, or they are too large.
    """
    fit: list[BackupObject] = []
    left_out: list[str] = []
    for item in items:
        if is_made_again(item.name):
            continue
        if item.size > OBJECT_BYTES or path_problem(f"{space_id}/{item.name}") or name_problem(item.name):
            left_out.append(item.name)
        else:
            fit.append(item)
    return fit, left_out


def kept(metadata: Mapping[str, str]) -> dict[str, str]:
    """The metadata that is archived with an object: the fields that every store accepts again."""
    fit = {name: value for name, value in sorted(metadata.items()) if _is_metadata(name, value)}
    return dict(list(fit.items())[:METADATA_ENTRIES])


def _is_metadata(name: object, value: object) -> bool:
    if not isinstance(name, str) or not isinstance(value, str):
        return False
    # A number that the service reads from it must be one that the service could have written.
    is_number = name != "consolidation" or (value.isascii() and value.isdecimal() and len(value) <= 9)
    return bool(_METADATA_NAME.fullmatch(name) and _METADATA_VALUE.fullmatch(value)) and is_number


def manifest_bytes(
    contents: "ArchiveContents", items: Sequence[ArchivedObject], left_out: Sequence[str], number: int
) -> bytes:
    """The `_manifest.json` of archive `number` of a backup. Of the backup's fields it holds those that never change."""
    manifest = contents.backup
    head = {
        "format": FORMAT,
        "version": VERSION,
        "space_id": manifest.space_id,
        "uid": manifest.uid,
        "backup_id": manifest.job_id,
        "archive": number,
        "archives": len(contents.archives),
        "contents_sha256": contents.checksum(),
        "description": manifest.description,
        "started_at": manifest.created_at,
        "completed_at": manifest.ended_at,
        "changes": manifest.changes,
        "objects_count": len(items),
        "bytes": sum(item.size for item in items),
        "counts": manifest.counts,
        "left_out_count": len(left_out),
        "left_out": [ascii(name) for name in left_out[:NAMED]],
    }
    text = json.dumps(head, ensure_ascii=False, indent=2).encode().removesuffix(b"\n}")
    lines = ",\n".join(map(_line, items)).encode()
    return b"".join((text, _OBJECTS, b"\n", lines, b"\n  ]\n}\n"))


def _line(item: ArchivedObject) -> str:
    fields = {name: value for name, value in vars(item).items() if value != {}}
    return "    " + json.dumps(fields, ensure_ascii=False)


@dataclass(frozen=True)
class ArchivePlace:
    """Which archive it is: of a space, of a backup, `number` (from 1) of so many, with the checksum of all of them."""

    space_id: str
    uid: str
    backup_id: str
    number: int
    archives: int
    checksum: str
    """Empty in an archive of the time when there was one for each space."""


def read_manifest(body: bytes) -> tuple[ArchivePlace, Iterator[ArchivedObject]]:
    """Which archive it is by its manifest, and its objects, read one by one. The manifest may be hostile. Raises
    ValueError, RecursionError, also while the objects are read.
    """
    start = body.find(_OBJECTS, 0, HEAD_BYTES)
    if start < 0:
        raise ValueError("no manifest")
    head = json.loads(body[:start] + b"\n}")
    if head.get("format") != FORMAT or head.get("version") != VERSION or not isinstance(head.get("space_id"), str):
        raise ValueError("no manifest of an archive")
    number, archives = head.get("archive", 1), head.get("archives", 1)
    if type(number) is not int or type(archives) is not int or not 1 <= number <= archives:
        raise ValueError("no number of an archive")
    checksum = head.get("contents_sha256", "")
    if not isinstance(checksum, str) or (archives > 1 and not checksum):
        raise ValueError("no checksum of the archives")
    uid, backup_id = str(head.get("uid")), str(head.get("backup_id"))
    place = ArchivePlace(head["space_id"], uid, backup_id, number, archives, checksum)
    return place, _listed(body, start + len(_OBJECTS))


def _listed(body: bytes, start: int) -> Iterator[ArchivedObject]:
    while start < len(body):
        end = body.find(b"\n", start, start + LINE_BYTES)
        if end < 0:
            raise ValueError("a line that is too long")
        line = body[start:end].strip().removesuffix(b",")
        start = end + 1
        if line == b"]":
            if body[start:].strip() != b"}":
                raise ValueError("something behind the objects")
            return
        if line:
            yield _object(json.loads(line))
    raise ValueError("no end of the objects")


def _object(fields: Any) -> ArchivedObject:
    if not isinstance(fields, dict):
        raise ValueError("no object")  # noqa: TRY004 - what a caller expects of a bad document
    name, size, sha256, metadata = (fields.get(key) for key in ("name", "size", "sha256", "metadata"))
    metadata = {} if metadata is None else metadata
    if not isinstance(name, str) or not isinstance(size, int) or not isinstance(sha256, str):
        raise ValueError("no object")  # noqa: TRY004
    if not isinstance(metadata, dict) or kept(metadata) != metadata:
        raise ValueError("metadata that no object may have")
    return ArchivedObject(name, size, sha256, metadata)


ARCHIVE_BYTES = 128 << 20
"""Most bytes of the objects in one archive. It is made in memory, so it takes as much at most."""
ARCHIVE_OBJECTS = 20_000
WINDOW_BYTES = 8 << 20
"""Most bytes of objects that are read in parallel. A larger object is read alone."""
WINDOW_OBJECTS = 1_000
LEVEL = 4
"""Compression level: half as much work as 6, and archives of notes are three percent larger."""


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
        items, left_out = split(backup.space_id, backup.items or ())
        return cls(backup, list(_grouped(items, ARCHIVE_BYTES, ARCHIVE_OBJECTS)) or [()], left_out)

    def checksum(self) -> str:
        """The SHA-256, in hex, of what belongs into which archive: it differs where other objects, or others together,
        are in one.
        """
        digest = sha256()
        for items in self.archives:
            fields = [(item.name, item.size, item.sha256 or item.etag) for item in items]
            digest.update(json.dumps(fields).encode())
        return digest.hexdigest()


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
                metadata = kept(result.metadata)
                packed.objects.append(ArchivedObject(item.name, item.size, digest, metadata))
        manifest = manifest_bytes(contents, packed.objects, packed.left_out, number)
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
