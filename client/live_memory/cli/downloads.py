"""Downloading an archive: whole, verified and under its name, or not at all.

The bytes go to a file beside the target that only the user may read. After a broken connection, the download resumes
where it broke. A fresh URL replaces one that has expired meanwhile. At the end, size and inner checksum must be right.
"""

import os
import tempfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from live_memory.cli import own_files, texts
from live_memory.cli.exits import CONFLICT, FAILED, LATER, Refused
from live_memory.cli.program import Program

if TYPE_CHECKING:
    import httpx

TRIES = 5
"""Number of connections that may break in a row without a byte, and number of URLs that may be requested."""
PIECE = 1 << 18
GZIP = 31
"""The window of zlib that reads gzip and checks its sum."""

Archive = Mapping[str, Any]


class _Broken(Exception):
    """The connection broke, or the store had no answer. The download may resume."""


class _Stale(Exception):
    """The URL no longer works, or leads to another archive than the one that was begun."""


@dataclass
class _Part:
    """The bytes that were downloaded so far. `etag` identifies the archive that was begun."""

    file: IO[bytes]
    size: int = 0
    etag: str | None = None

    def again(self) -> None:
        """Start again from the first byte."""
        self.file.seek(0)
        self.file.truncate()
        self.size, self.etag = 0, None


def download(
    program: Program,
    ask: Callable[[], Archive | None],
    archive: Archive,
    output: Path,
    *,
    force: bool,
    show: Callable[[str], None],
) -> int:
    """Download the archive to `output` and return its size in bytes; `ask` gets a fresh URL. Raises Refused."""
    handle, name = tempfile.mkstemp(prefix=f".{output.name}-", suffix=".part", dir=output.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "w+b") as file:
            size = _fetch(program, ask, archive, _Part(file), show)
            _check_sum(file)
            file.flush()
            os.fsync(file.fileno())
        _put(part, output, force=force)
        return size
    except OSError as error:
        raise Refused(f"{output} can't be written: {error.strerror or error}.", FAILED) from None
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def _fetch(
    program: Program, ask: Callable[[], Archive | None], archive: Archive, part: _Part, show: Callable[[str], None]
) -> int:
    idle = renewed = 0
    with program.web() as web:
        while True:
            before = part.size
            try:
                _stream(web, archive, part, show)
                if archive.get("bytes") in {None, part.size}:
                    return part.size
                # It ended well, so it is another archive than the one that the service announced.
                raise _Stale
            except _Stale:
                renewed += 1
                part.again()
                fresh = ask()
                if renewed >= TRIES or fresh is None:
                    raise Refused("The archive was replaced during each download. Try again later.", LATER) from None
                archive = fresh
            except _Broken as error:
                idle = idle + 1 if part.size <= before else 0
                if idle >= TRIES:
                    raise Refused(f"The archive could not be downloaded: {error}. Try again.", LATER) from None
                program.sleep(min(2.0**idle, 10.0))


def _told(part: _Part, archive: Archive) -> str:
    return f"downloading {texts.size(part.size)} of {texts.size(archive.get('bytes') or part.size)}"


def _stream(web: "httpx.Client", archive: Archive, part: _Part, show: Callable[[str], None]) -> None:
    """Get the missing bytes, and append them. Raises _Broken, _Stale."""
    import httpx  # noqa: PLC0415 - not for who downloads nothing

    # Without If-Match the rest of another archive could follow the beginning of this one.
    more = {"Range": f"bytes={part.size}-", "If-Match": part.etag} if part.size and part.etag else {}
    # A body that the transport compresses would have another size than the service said.
    headers = {"Accept-Encoding": "identity", **more}
    try:
        with web.stream("GET", archive["url"], headers=headers) as answer:
            if answer.status_code in {403, 404, 410, 412, 416}:
                raise _Stale
            if answer.status_code not in {200, 206}:
                raise _Broken(f"the store answered {answer.status_code}")
            if answer.status_code == 200:
                part.again()
            part.etag = answer.headers.get("etag", part.etag)
            # As they come: bytes that wait for a whole piece would be lost when the connection breaks.
            for piece in answer.iter_raw():
                part.file.write(piece)
                part.size += len(piece)
                show(_told(part, archive))
    except httpx.HTTPError as error:
        # Its text may hold the URL, which works for everybody.
        raise _Broken(type(error).__name__) from None


def _check_sum(file: IO[bytes]) -> None:
    """Read the archive through to its end. Raises Refused if it is damaged or not whole."""
    file.seek(0)
    reader = zlib.decompressobj(GZIP)
    try:
        while piece := file.read(PIECE):
            if reader.eof:
                raise zlib.error("data follows its end")
            rest = piece
            while rest:
                # Bounded: highly compressed data must not fill the memory.
                reader.decompress(rest, PIECE)
                rest = reader.unconsumed_tail
            if reader.unused_data:
                raise zlib.error("data follows its end")
        if not reader.eof:
            raise zlib.error("it ends too early")
    except zlib.error:
        raise Refused("The downloaded archive is damaged and was not kept. Try again.", FAILED) from None


def _put(part: Path, output: Path, *, force: bool) -> None:
    if force:
        own_files.replace(part, output)
        return
    try:
        # Fails if the name was taken meanwhile, where a rename would overwrite.
        output.hardlink_to(part)
    except FileExistsError:
        raise Refused(
            f"{output} was written by another program in the meantime. Use another name, or --force.", CONFLICT
        ) from None
    except OSError:
        # A file system without hard links.
        if output.exists():
            raise
        own_files.replace(part, output)
