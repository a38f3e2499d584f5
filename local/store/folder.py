"""One bucket on disk: plain files that a person can read, written before a request is answered.

    <root>/s3/<bucket>/...                 the objects, named by paths.py; modification time = LastModified
    <root>/s3-metadata/<bucket>/...        only for objects that are not what their file tells (other content type, user
                                           metadata): `<file>.<time>.json`
    <root>/s3-scratch/                     unfinished files

Replacing an object's file is the moment at which a put has happened. Its metadata lies there already, under a name that
holds the modification time of exactly this file, so that a crash at any point leaves the old pair or the new one.
"""

import hashlib
import io
import json
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from local.files import patiently, prepare_file
from local.store.index import KeyIndex
from local.store.paths import Spellings, decode_key, encode_key

_log = logging.getLogger(__name__)

# An object is what its file tells (bytes, name, time), unless it differs from these conventions.
CONTENT_TYPES = {".md": "text/markdown; charset=utf-8", ".json": "application/json"}
DEFAULT_CONTENT_TYPE = "binary/octet-stream"  # what S3 stores when a client sends none
CHUNK = 1 << 20


@dataclass
class Entry:
    """An object and its file. `etag` (without quotes) and `headers` are read when somebody asks for them."""

    path: str
    size: int
    modified_ns: int
    has_metadata: bool
    etag: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


Draft = tuple[Path, Path | None, Entry]
"""A file that is on the disk and waits to become an object, its metadata if it needs some, and the object."""


def plain_headers(key: str) -> dict[str, str]:
    """The headers of an object about which nothing but its name and bytes is known."""
    suffix = key[key.rfind(".") :] if "." in key else ""
    return {"content-type": CONTENT_TYPES.get(suffix, DEFAULT_CONTENT_TYPE)}


class Folder:
    """The objects of a bucket. `lock` is held for each of its methods but `prepared`, and from a condition to what
    depends on it.
    """

    def __init__(self, root: Path, bucket: str, clock: "Clock") -> None:
        self.lock = threading.RLock()
        self._objects = root / "s3" / bucket
        self._metadata = root / "s3-metadata" / bucket
        self._scratch = root / "s3-scratch"
        self._clock = clock
        for folder in (self._objects, self._metadata):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._entries = dict(self._load())
        self.index = KeyIndex(self._entries)
        paths = (entry.path for entry in self._entries.values())
        self._spellings = Spellings(paths) if _ignores_case(self._scratch) else None

    def find(self, key: str) -> Entry | None:
        """An object with its ETag and headers; None where there is none."""
        entry = self._entries.get(key)
        if entry is None or entry.etag:
            return entry
        try:
            with io.FileIO(self._objects / entry.path) as file:
                self._learn(key, entry, file)
        except FileNotFoundError:
            self._forget(key)  # removed by hand
            return None
        return entry

    def open(self, key: str) -> tuple[Entry, io.FileIO] | None:
        """An object and its file, to be read and closed."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        try:
            file = io.FileIO(self._objects / entry.path)
        except FileNotFoundError:
            self._forget(key)
            return None
        status = os.fstat(file.fileno())
        if not entry.etag or (status.st_mtime_ns, status.st_size) != (entry.modified_ns, entry.size):
            self._learn(key, entry, file)
            file.seek(0)
        return entry, file

    def _learn(self, key: str, entry: Entry, file: io.FileIO) -> None:
        status = os.fstat(file.fileno())
        entry.size, entry.modified_ns = status.st_size, status.st_mtime_ns
        with suppress(OSError, ValueError, KeyError):
            if entry.has_metadata:
                known = json.loads(self._metadata_path(entry).read_bytes())
                entry.etag, entry.headers = known["etag"], known["headers"]
                return
        entry.etag = hashlib.file_digest(file, _md5).hexdigest()
        entry.headers = plain_headers(key)

    @contextmanager
    def prepared(self, key: str, pieces: Iterable[bytes], headers: Mapping[str, str]) -> Iterator[Draft]:
        """A draft of an object for `commit`; what that does not take is removed. Raises OSError.

        Waiting for the disk is most of what a write takes: it is done here, where several writers wait side by side.
        """
        digest = _md5()
        size = 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for piece in pieces:
                digest.update(piece)
                size += len(piece)
                yield piece

        file = prepare_file(self._scratch, counted(), modified_ns=self._clock.next())
        metadata = None
        try:
            # Read back, since not every file system keeps nanoseconds.
            modified_ns = file.stat().st_mtime_ns
            entry = Entry("", size, modified_ns, has_metadata=False, etag=digest.hexdigest(), headers=headers)
            if headers != plain_headers(key):
                entry.has_metadata = True
                known = {"etag": entry.etag, "headers": dict(headers)}
                metadata = prepare_file(self._scratch, [json.dumps(known, indent=1).encode()])
            yield file, metadata, entry
        finally:
            for left in filter(None, (file, metadata)):
                with suppress(OSError):  # the next start removes it
                    left.unlink(missing_ok=True)

    def commit(self, key: str, draft: Draft) -> Entry:
        """Make the draft the object. When this returns it is on the disk. Raises OSError, and then the old object is
        unharmed.
        """
        (file, metadata, entry), before = draft, self._entries.get(key)
        entry.path = before.path if before else self._place(key)
        if metadata:
            _move(metadata, self._metadata_path(entry))
        _move(file, self._objects / entry.path)
        self._entries[key] = entry
        if not before:
            self.index.add(key)
        elif before.has_metadata and before.modified_ns != entry.modified_ns:
            with suppress(OSError):  # it belongs to no object, and the next start removes it
                self._metadata_path(before).unlink()
        return entry

    def remove(self, key: str) -> None:
        """Remove an object; one that is not there is no error. Raises OSError, and then it is unharmed."""
        entry = self._entries.get(key)
        if entry is None:
            return
        path, metadata = self._objects / entry.path, self._metadata_path(entry)
        patiently(lambda: path.unlink(missing_ok=True))
        _sync(path.parent)
        self._forget(key)
        _remove_empty(path.parent, self._objects)
        if entry.has_metadata:
            with suppress(OSError):
                metadata.unlink()
            _remove_empty(metadata.parent, self._metadata)

    def _forget(self, key: str) -> None:
        del self._entries[key]
        self.index.remove(key)

    def _place(self, key: str) -> str:
        return self._spellings.place(key) if self._spellings else encode_key(key)

    def _load(self) -> Iterator[tuple[str, Entry]]:
        """All objects; afterwards metadata that belongs to none of them is removed."""
        metadata = {relative for relative, _ in _walk(self._metadata) if relative != ".bucket"}
        for relative, status in _walk(self._objects):
            key = decode_key(relative) if status else None
            if key is None or status is None:
                _log.warning("%s: not an object of ours, left alone", self._objects / relative)
                continue
            name = f"{relative}.{status.st_mtime_ns}.json"
            yield key, Entry(relative, status.st_size, status.st_mtime_ns, has_metadata=name in metadata)
            metadata.discard(name)
        for name in metadata:
            (self._metadata / name).unlink()
            _remove_empty((self._metadata / name).parent, self._metadata)

    def _metadata_path(self, entry: Entry) -> Path:
        return self._metadata / f"{entry.path}.{entry.modified_ns}.json"


class Clock:
    """Times of this machine for files: each is later than those before, in whole microseconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> int:
        """Nanoseconds of Unix time."""
        with self._lock:
            self._last = max(time.time_ns() // 1000 * 1000, self._last + 1000)
            return self._last


def _md5(data: bytes = b"") -> "hashlib._Hash":
    return hashlib.md5(data, usedforsecurity=False)


def _ignores_case(folder: Path) -> bool:
    probe = folder / f"case-{os.getpid()}"
    probe.touch()
    try:
        return probe.with_name(probe.name.upper()).exists()
    finally:
        probe.unlink()


def _walk(root: Path) -> Iterator[tuple[str, os.stat_result | None]]:
    """Yield everything below a folder that is no folder: its path relative to the root, and its state if it is a
    file.
    """
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(root / folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{folder}{entry.name}/")
                else:
                    is_file = entry.is_file(follow_symlinks=False)
                    yield folder + entry.name, entry.stat(follow_symlinks=False) if is_file else None


def _move(temporary: Path, path: Path) -> None:
    try:
        patiently(lambda: temporary.replace(path))
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        patiently(lambda: temporary.replace(path))
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Bring the names in a folder to the disk, so that a loss of power undoes no rename and no removal.

    A disk that refuses this is not told: the rename or removal is done, and is seen.
    """
    # Windows has no such request: its file system does it by itself.
    if hasattr(os, "O_DIRECTORY"):
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _remove_empty(folder: Path, root: Path) -> None:
    """Remove folders that became empty, up to but without `root`."""
    while folder != root:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
