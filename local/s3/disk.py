"""The objects on disk: plain files that a person can read, written before a request is answered.

    <root>/s3/<bucket>/...                 the objects, named by paths.py; modification time = LastModified
    <root>/s3-metadata/<bucket>/.bucket    region and creation time of the bucket
    <root>/s3-metadata/<bucket>/...        only for objects that are not what their file tells (other content type, user
                                           metadata, multipart ETag): `<file>.<time>.json`
    <root>/s3-scratch/                     unfinished files

Replacing an object's file is the moment at which a put has happened. Its metadata lies there already, under a name that
holds the modification time of exactly this file, so that a crash at any point leaves the old pair or the new one.
"""

import json
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.files import prepare_file, write_file
from local.s3.objects import StoredObject, plain_attributes
from local.store.paths import decode_key, encode_key

_log = logging.getLogger(__name__)

_BUCKET_FILE = ".bucket"


@dataclass(frozen=True)
class StoredBucket:
    """One bucket; `created` in seconds of Unix time."""

    name: str
    region: str
    created: float


class Disk:
    """Keeps buckets and objects under a folder. Not safe for threads: the server holds its write lock."""

    def __init__(self, root: Path) -> None:
        self._objects = root / "s3"
        self._metadata = root / "s3-metadata"
        self._scratch = root / "s3-scratch"
        shutil.rmtree(self._scratch, ignore_errors=True)
        for folder in (self._objects, self._metadata, self._scratch):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def create_bucket(self, bucket: StoredBucket) -> None:
        """Keep a bucket. The folder of its objects comes last and makes it exist."""
        metadata = self._metadata / bucket.name
        metadata.mkdir(exist_ok=True)
        content = json.dumps({"region": bucket.region, "created": bucket.created})
        write_file(metadata / _BUCKET_FILE, content.encode())
        (self._objects / bucket.name).mkdir(exist_ok=True)

    def is_empty(self, name: str) -> bool:
        """Tell whether a bucket's folder holds no file, not even one that is no object."""
        return not any(files for _, _, files in os.walk(self._objects / name))

    def delete_bucket(self, name: str) -> None:
        """Forget an empty bucket."""
        for folder, _, _ in os.walk(self._objects / name, topdown=False):
            Path(folder).rmdir()
        shutil.rmtree(self._metadata / name, ignore_errors=True)

    @contextmanager
    def prepared(self, body: bytes) -> Iterator[Path]:
        """A file that is on the disk, for `store`; what that does not take is removed. Raises OSError."""
        file = prepare_file(self._scratch, [body])
        try:
            yield file
        finally:
            file.unlink(missing_ok=True)

    def store(self, bucket: str, key: str, stored: StoredObject, file: Path | None = None) -> None:
        """Write an object; when this returns it is on the disk. Raises OSError, and then the old object is unharmed.

        `file` holds its bytes already (`prepared`): a power failure can cost it its time then, nothing else.
        """
        relative = encode_key(key)
        path = self._objects / bucket / relative
        before = _modified_ns(path)
        plain = stored.attributes == plain_attributes(key, stored.body)
        if file and plain:
            temporary = file
            os.utime(temporary, ns=(stored.modified_ns, stored.modified_ns))
        else:
            # The time leads to the attributes, so it must be on the disk with the bytes.
            temporary = prepare_file(self._scratch, [stored.body], modified_ns=stored.modified_ns)
        try:
            # Read back, since not every file system keeps nanoseconds.
            modified_ns = temporary.stat().st_mtime_ns
            if not plain:
                self._write_metadata(bucket, relative, modified_ns, stored.attributes)
            _move(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        if before is not None and before != modified_ns:
            self._metadata_path(bucket, relative, before).unlink(missing_ok=True)

    def remove(self, bucket: str, key: str) -> None:
        """Remove an object; one that is not there is no error."""
        relative = encode_key(key)
        path = self._objects / bucket / relative
        before = _modified_ns(path)
        if before is None:
            return
        path.unlink()
        metadata = self._metadata_path(bucket, relative, before)
        metadata.unlink(missing_ok=True)
        _remove_empty(path.parent, self._objects / bucket)
        _remove_empty(metadata.parent, self._metadata / bucket)

    def read(self, bucket: str, key: str) -> StoredObject | None:
        """Return the object as it is on the disk, or None."""
        relative = encode_key(key)
        try:
            body, modified_ns = _read_file(self._objects / bucket / relative)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        attributes = self._read_metadata(self._metadata_path(bucket, relative, modified_ns))
        return StoredObject(body, modified_ns, attributes or plain_attributes(key, body))

    def load_buckets(self) -> list[StoredBucket]:
        """Return all buckets."""
        buckets = []
        for folder in sorted(p for p in self._objects.iterdir() if p.is_dir()):
            try:
                known = json.loads((self._metadata / folder.name / _BUCKET_FILE).read_bytes())
            except (OSError, ValueError):
                known = {}  # a folder made by hand
            created = known.get("created", folder.stat().st_mtime)
            buckets.append(StoredBucket(folder.name, known.get("region", "us-east-1"), created))
        return buckets

    def load_objects(self, bucket: str) -> Iterator[tuple[str, StoredObject]]:
        """Yield all objects of a bucket, and afterwards remove metadata that belongs to none of them."""
        root, metadata_root = self._objects / bucket, self._metadata / bucket
        metadata_root.mkdir(exist_ok=True)
        metadata = {relative for relative, _ in _walk(str(metadata_root)) if relative != _BUCKET_FILE}
        for relative, is_file in _walk(str(root)):
            key = decode_key(relative) if is_file else None
            if key is None:
                _log.warning("%s: not an object of ours, left alone", root / relative)
                continue
            body, modified_ns = _read_file(root / relative)
            name = f"{relative}.{modified_ns}.json"
            attributes = None
            if name in metadata:
                metadata.discard(name)
                attributes = self._read_metadata(metadata_root / name)
            yield key, StoredObject(body, modified_ns, attributes or plain_attributes(key, body))
        for name in metadata:
            (metadata_root / name).unlink()
            _remove_empty((metadata_root / name).parent, metadata_root)

    def _metadata_path(self, bucket: str, relative: str, modified_ns: int) -> Path:
        return self._metadata / bucket / f"{relative}.{modified_ns}.json"

    def _write_metadata(self, bucket: str, relative: str, modified_ns: int, attributes: dict[str, Any]) -> None:
        temporary = prepare_file(self._scratch, [json.dumps(attributes, indent=1).encode()])
        _move(temporary, self._metadata_path(bucket, relative, modified_ns))

    def _read_metadata(self, path: Path) -> dict[str, Any] | None:
        try:
            return json.loads(path.read_bytes())  # type: ignore[no-any-return]
        except (OSError, ValueError):
            return None


def _walk(root: str) -> Iterator[tuple[str, bool]]:
    """Yield everything below a folder that is no folder: its path relative to the root, and whether it is a file."""
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(f"{root}/{folder}") as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{folder}{entry.name}/")
                else:
                    yield folder + entry.name, entry.is_file(follow_symlinks=False)


def _read_file(path: Path) -> tuple[bytes, int]:
    with path.open("rb", buffering=0) as file:
        return file.read(), os.fstat(file.fileno()).st_mtime_ns


def _move(temporary: Path, path: Path) -> None:
    try:
        temporary.replace(path)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.replace(path)


def _modified_ns(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return None


def _remove_empty(folder: Path, root: Path) -> None:
    """Remove folders that became empty, up to but without `root`."""
    while folder != root:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
