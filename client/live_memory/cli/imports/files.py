"""The files of a source, whether it is a folder, a tar, a tar.gz, a zip or one file: in order, with bounds.

Whoever made the source may be hostile. Nothing of it is ever written to the disk under a name of its own, nothing that
lies elsewhere is read, and no more of it than one piece is in memory.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from live_memory.cli.imports.unfit import BadSource, shown

MEMBERS = 50_000
"""Files and folders of a source: what the service takes of an archive."""
UNPACKED_BYTES = 4 << 30
NAME_BYTES = 900
PIECE = 1 << 18

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_DRIVE = re.compile(r"[A-Za-z]:")
_SKIPPED = ("__MACOSX", "Thumbs.db")


@dataclass(frozen=True)
class File:
    """A file of a source: its path in it, and its content in pieces, to be read before the next file."""

    path: str
    size: int
    content: Iterator[bytes]


def files(source: Path) -> Iterator[File]:
    """The files of a source. Raises BadSource as soon as something is wrong."""
    # Each of both loads a library that only it needs.
    if source.is_dir():
        yield from _of_folder(source)
    elif not source.is_file():
        raise BadSource(f"There is no file or folder {shown(str(source))}.")
    elif is_zip(source):
        from live_memory.cli.imports import zips  # noqa: PLC0415

        yield from zips.files(source)
    elif is_tar(source):
        from live_memory.cli.imports import tars  # noqa: PLC0415

        yield from tars.files(source)
    else:
        yield File(source.name, source.stat().st_size, _read(source))


def is_zip(source: Path) -> bool:
    """Whether a file says to be a zip."""
    return _start(source).startswith((b"PK\x03\x04", b"PK\x05\x06"))


def is_tar(source: Path) -> bool:
    """Whether a file says to be a tar or tar.gz."""
    start = _start(source)
    return start.startswith(b"\x1f\x8b") or start[257:262] == b"ustar"


def _start(source: Path) -> bytes:
    with source.open("rb") as opened:
        return opened.read(512)


def read(file: File, limit: int) -> bytes:
    """The whole content of a file; raises BadSource beyond `limit` bytes."""
    if file.size > limit:
        raise BadSource(f"{shown(file.path)} has {file.size} bytes, but at most {limit} can be imported.")
    return b"".join(file.content)


def is_skipped(path: str) -> bool:
    """Whether it is what a system or another tool leaves in folders: hidden files and folders, and the like."""
    return any(part.startswith(".") or part in _SKIPPED for part in path.split("/"))


def checked(path: str) -> str:
    """The path of a member of an archive, without a leading `./`; raises BadSource for one that leads elsewhere."""
    path = path.removeprefix("./")
    problem = path_problem(path)
    if problem:
        raise BadSource(f"The member {shown(path)} of the archive {problem}.")
    return path


def path_problem(path: str) -> str | None:
    """Why no file of a source may have this path, or None."""
    if len(path.encode(errors="surrogatepass")) > NAME_BYTES:
        return f"has a name of more than {NAME_BYTES} bytes"
    if _CONTROL.search(path):
        return "has control characters in its name"
    if "\\" in path:
        return "has a backslash in its name"
    if path.startswith("/") or _DRIVE.match(path):
        return "has an absolute path"
    parts = path.split("/")
    if ".." in parts:
        return "has `..` in its path"
    if {"", "."} & set(parts):
        return "has an empty part or `.` in its path"
    return "has a name that is not UTF-8" if _has_surrogates(path) else None


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _of_folder(top: Path) -> Iterator[File]:
    count = total = 0
    for folder, folders, names in os.walk(top, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if not is_skipped(name))
        for name in [*folders, *sorted(name for name in names if not is_skipped(name))]:
            count += 1
            if count > MEMBERS:
                raise BadSource(f"The folder has more than {MEMBERS} files and folders.")
            path = Path(folder, name)
            file = _of_path(path, path.relative_to(top).as_posix())
            if not file:
                continue
            total += file.size
            if total > UNPACKED_BYTES:
                raise BadSource(f"The folder has more than {UNPACKED_BYTES >> 30} GiB.")
            yield file


def _unreadable(error: OSError) -> None:
    raise BadSource(f"The folder {shown(str(error.filename))} can't be read.") from None


def _of_path(path: Path, name: str) -> File | None:
    """The file, or None for a folder."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise BadSource(
            f"{shown(name)} is a symbolic link, which could lead anywhere. Put what it leads to in its place."
        )
    if stat.S_ISDIR(found.st_mode):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise BadSource(f"{shown(name)} is no file and no folder.")
    problem = path_problem(name)
    if problem:
        raise BadSource(f"{shown(name)} {problem}.")
    return File(name, found.st_size, _read(path, found.st_size))


def _read(path: Path, size: int | None = None) -> Iterator[bytes]:
    """The content of a file, of one that grows meanwhile no more than it had."""
    left = path.stat().st_size if size is None else size
    try:
        with path.open("rb") as opened:
            while left > 0 and (piece := opened.read(min(PIECE, left))):
                left -= len(piece)
                yield piece
    except OSError:
        raise BadSource(f"{shown(str(path))} can't be read.") from None
