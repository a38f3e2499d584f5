"""Objects that come in parts: each part is a file until they are put together.

<root>/s3-uploads/<bucket>/<id>/upload.json     key, headers, and when it was begun
<root>/s3-uploads/<bucket>/<id>/<number>.<MD5>  a part
"""

import hashlib
import json
import re
import shutil
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from local.files import prepare_file, write_file
from local.store.folder import pieces_of

SMALLEST_PART = 5 << 20
_ABOUT = "upload.json"
_ID = re.compile("[0-9a-f]{32}")


_LOCK = threading.Lock()
"""Held while a part takes the place of a former one."""


class NoUpload(LookupError):
    """There is no such upload."""


class WrongParts(ValueError):
    """The parts are not those that the upload has; the text is S3's code for it."""


@dataclass(frozen=True)
class Upload:
    """An upload that is under way; `begun` in seconds of Unix time."""

    key: str
    headers: Mapping[str, str]
    begun: float


class Uploads:
    """The uploads of a bucket. Raises OSError when the disk refuses something."""

    def __init__(self, root: Path, bucket: str) -> None:
        self._folder = root / "s3-uploads" / bucket

    def begin(self, upload: Upload) -> str:
        """Keep a new upload; returns its id."""
        upload_id = uuid.uuid4().hex
        (self._folder / upload_id).mkdir(mode=0o700, parents=True)
        write_file(self._folder / upload_id / _ABOUT, json.dumps(asdict(upload)).encode())
        return upload_id

    def find(self, upload_id: str) -> Upload:
        """An upload that is under way. Raises NoUpload."""
        try:
            if not _ID.fullmatch(upload_id):
                raise NoUpload
            return Upload(**json.loads((self._folder / upload_id / _ABOUT).read_bytes()))
        except FileNotFoundError:
            raise NoUpload from None

    def put(self, upload_id: str, number: int, pieces: Iterable[bytes]) -> str:
        """Keep a part, in the place of an earlier one of its number; returns its MD5. Raises NoUpload."""
        self.find(upload_id)
        folder = self._folder / upload_id
        digest = hashlib.md5(usedforsecurity=False)

        def read() -> Iterator[bytes]:
            for piece in pieces:
                digest.update(piece)
                yield piece

        file = prepare_file(folder, read())
        part = folder / f"{number:05d}.{digest.hexdigest()}"
        # Of two that come at once one stays.
        with _LOCK:
            file.replace(part)
            for former in folder.glob(f"{number:05d}.*"):
                if former != part:
                    former.unlink(missing_ok=True)
        return digest.hexdigest()

    def parts(self, upload_id: str, named: Sequence[Mapping[str, object]]) -> tuple[Iterator[bytes], str]:
        """The content that parts make, and its ETag. Raises NoUpload, WrongParts."""
        self.find(upload_id)
        etags = [str(part["ETag"]).strip('"') for part in named]
        numbers = [int(str(part["PartNumber"])) for part in named]
        files = [self._folder / upload_id / f"{number:05d}.{etag}" for number, etag in zip(numbers, etags, strict=True)]
        if sorted(set(numbers)) != numbers:
            raise WrongParts("InvalidPartOrder")
        if not files or not all(re.fullmatch("[0-9a-f]{32}", etag) for etag in etags):
            raise WrongParts("InvalidPart")
        if not all(file.is_file() for file in files):
            raise WrongParts("InvalidPart")
        if any(file.stat().st_size < SMALLEST_PART for file in files[:-1]):
            raise WrongParts("EntityTooSmall")
        whole = hashlib.md5(b"".join(map(bytes.fromhex, etags)), usedforsecurity=False).hexdigest()
        return (piece for file in files for piece in pieces_of(file)), f"{whole}-{len(files)}"

    def end(self, upload_id: str) -> None:
        """Remove an upload and its parts."""
        about = self._folder / upload_id / _ABOUT
        with suppress(OSError):  # first, so that a kill leaves nothing that looks whole
            about.unlink()
        shutil.rmtree(about.parent, ignore_errors=True)

    def under_way(self) -> Iterator[tuple[str, Upload]]:
        """All uploads and their ids, in no order."""
        for folder in self._folder.glob("*"):
            try:
                yield folder.name, self.find(folder.name)
            except (NoUpload, ValueError, TypeError):
                # What a kill has left of one.
                continue
