"""An archive is written in parts. Each is whole members of gzip, so that another process can continue after any part.

The end of a part depends on the objects alone. So two processes that write the same archive write the same parts. So
does a process that repeats the work of a dead one.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from livemem.copies import archive, schema
from livemem.copies.manifest import BackupObject, Manifest
from livemem.errors import BackupDamaged
from livemem.process import Process
from livemem.store import keys, large
from livemem.store.bucket import BACKUP_OBJECT

PART_BYTES = 8 << 20
"""Bytes after which a part is full: more than S3's minimum."""
WINDOW_BYTES = 8 << 20
"""Most bytes of objects that are read in parallel. A larger object is read in pieces."""
WINDOW_OBJECTS = 1_000
LEVEL = 4
"""Compression level: half as much work as 6, and archives of notes are three percent larger."""

DAMAGED = "The backup differs from its manifest: {} is missing or was changed. Use another backup."


class Packer:
    """Compresses added data. `take` returns it as one whole member of gzip, without a time in it."""

    def __init__(self) -> None:
        self._gzip = self._new()
        self._made: list[bytes] = []
        self._size = 0

    @staticmethod
    def _new() -> "zlib._Compress":
        return zlib.compressobj(LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)

    def add(self, data: bytes) -> None:
        made = self._gzip.compress(data)
        if made:
            self._made.append(made)
            self._size += len(made)

    def is_full(self) -> bool:
        return self._size >= PART_BYTES

    def take(self) -> bytes:
        self._made.append(self._gzip.flush())
        body = b"".join(self._made)
        self._gzip, self._made, self._size = self._new(), [], 0
        return body


@dataclass(frozen=True)
class PackedBackup:
    """The backup of which an archive is made: its manifest and those of its objects that go into it."""

    manifest: Manifest
    items: Sequence[BackupObject]
    left_out: Sequence[str]

    @property
    def mtime(self) -> int:
        return int(keys.backup_moment(self.manifest.job_id).timestamp())

    def path(self, name: str) -> str:
        return f"{self.manifest.space_id}/{name}"

    def key(self, name: str) -> str:
        return BACKUP_OBJECT.key(self.manifest.space_id, self.manifest.job_id, name)


LEFT_OUT = ""
"""Stands for the SHA-256 of an object that is not in the archive."""


@dataclass
class Packed:
    """The archive so far: the SHA-256 of each object that was read, and their metadata."""

    digests: list[str]
    metadata: dict[str, dict[str, str]]
    packer: Packer = field(default_factory=Packer)

    def add(self, data: bytes) -> None:
        self.packer.add(data)


def pack(process: Process, source: PackedBackup, packed: Packed, put_part: Callable[[bytes], None]) -> Iterator[bool]:
    """Add the objects that are still missing, and put each part that is full. 1 GET for each object.

    Yields after each object that ends a part (True: all that is in `packed` is put), and after each window of objects
    (False), so that the caller looks at the time. Raises BackupDamaged.
    """
    for window in _windows(source.items[len(packed.digests) :]):
        if window[0].size > WINDOW_BYTES:
            yield _pack_large(process, source, packed, window[0], put_part)
            continue
        read = process.store.map(lambda item: process.store.get(source.key(item.name)), window)
        for item, match in zip(window, read, strict=True):
            if not match:
                raise BackupDamaged(DAMAGED.format(item.name))
            digest = sha256(match.body).hexdigest()
            _check(item, len(match.body), digest, match.etag)
            if not schema.fits(item.name, match.body):
                # No import would take it.
                packed.digests.append(LEFT_OUT)
                continue
            packed.add(archive.header(source.path(item.name), item.size, source.mtime))
            packed.add(match.body)
            packed.add(archive.padding(item.size))
            _note(packed, item, digest, match.metadata)
            if packed.packer.is_full():
                put_part(packed.packer.take())
                yield True
        del read
        yield False


def _pack_large(
    process: Process, source: PackedBackup, packed: Packed, item: BackupObject, put_part: Callable[[bytes], None]
) -> bool:
    """Add an object that is read in pieces. Parts may end within it. Returns whether a part ends with it."""
    with large.read(process.store, source.key(item.name)) as stream:
        if not stream:
            raise BackupDamaged(DAMAGED.format(item.name))
        digest, size = sha256(), 0
        packed.add(archive.header(source.path(item.name), item.size, source.mtime))
        for chunk in stream.chunks:
            digest.update(chunk)
            size += len(chunk)
            packed.add(chunk)
            if packed.packer.is_full():
                put_part(packed.packer.take())
        _check(item, size, digest.hexdigest(), stream.etag)
        packed.add(archive.padding(item.size))
        _note(packed, item, digest.hexdigest(), stream.metadata)
    if not packed.packer.is_full():
        return False
    put_part(packed.packer.take())
    return True


def finish(source: PackedBackup, packed: Packed) -> bytes:
    """The last part: the remaining data, the manifest and the end."""
    existing = [(item, digest) for item, digest in zip(source.items, packed.digests, strict=True) if digest != LEFT_OUT]
    items, digests = [item for item, _ in existing], [digest for _, digest in existing]
    body = archive.manifest_bytes(source.manifest, items, digests, packed.metadata, left_out(source, packed))
    packed.add(archive.header(source.path(keys.MANIFEST), len(body), source.mtime))
    packed.add(body)
    packed.add(archive.padding(len(body)))
    packed.add(archive.END)
    return packed.packer.take()


def left_out(source: PackedBackup, packed: Packed) -> list[str]:
    """The names of the objects that are not in the archive, although the backup has them."""
    looked_at = zip(source.items, packed.digests, strict=False)
    return [*source.left_out, *(item.name for item, digest in looked_at if digest == LEFT_OUT)]


def _windows(items: Sequence[BackupObject]) -> Iterator[Sequence[BackupObject]]:
    """The objects in groups that are read at once. A large one is a group of its own."""
    window: list[BackupObject] = []
    size = 0
    for item in items:
        if window and (size + item.size > WINDOW_BYTES or len(window) == WINDOW_OBJECTS):
            yield window
            window, size = [], 0
        window.append(item)
        size += item.size
    if window:
        yield window


def _check(item: BackupObject, size: int, digest: str, etag: str) -> None:
    same = digest == item.sha256 if item.sha256 else etag in (item.etag, item.copy_etag)
    if size != item.size or not same:
        raise BackupDamaged(DAMAGED.format(item.name))


def _note(packed: Packed, item: BackupObject, digest: str, metadata: Mapping[str, str]) -> None:
    packed.digests.append(digest)
    kept = archive.kept(metadata)
    if kept:
        packed.metadata[item.name] = kept
