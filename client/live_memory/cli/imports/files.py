"""The files of a source, whether it is a folder, a tar, a tar.gz, a zip or one file: in order, with bounds.

The author of the source may be hostile. No file is written to the disk under a name from the source. No file outside of
the source is read. At most one piece of it is in memory.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from live_memory.cli.imports import tars, zips
from live_memory.cli.imports.members import MEMBERS, PIECE, UNPACKED_BYTES, File, is_skipped, path_problem
from live_memory.cli.imports.unfit import BadSource, shown


def files(source: Path, unfit: list[str] | None = None) -> Iterator[File]:
    """The files of a source. Raises BadSource as soon as something is wrong.

    `unfit` gets the problems of single files and folders instead, and the others come.
    """
    if source.is_dir():
        yield from _of_folder(source, unfit)
    elif not source.is_file():
        raise BadSource(f"There is no file or folder {shown(str(source))}.")
    elif is_zip(source):
        yield from zips.files(source)
    elif is_tar(source):
        yield from tars.files(source)
    else:
        yield File(source.name, source.stat().st_size, _read(source))


def is_zip(source: Path) -> bool:
    """Whether a file has the signature of a zip."""
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


def _of_folder(top: Path, unfit: list[str] | None) -> Iterator[File]:
    count = total = 0

    def leave_out(problem: str) -> None:
        if unfit is None:
            raise BadSource(problem)
        unfit.append(problem)

    def unreadable(error: OSError) -> None:
        leave_out(f"The folder {shown(str(error.filename))} can't be read.")

    for folder, folders, names in os.walk(top, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not is_skipped(name))
        for name in [*folders, *sorted(name for name in names if not is_skipped(name))]:
            count += 1
            if count > MEMBERS:
                raise BadSource(f"The folder has more than {MEMBERS} files and folders.")
            path = Path(folder, name)
            try:
                file = _of_path(path, path.relative_to(top).as_posix())
            except BadSource as problem:
                leave_out(str(problem))
                continue
            if not file:
                continue
            total += file.size
            if total > UNPACKED_BYTES:
                raise BadSource(f"The folder has more than {UNPACKED_BYTES >> 30} GiB.")
            yield file


def _of_path(path: Path, name: str) -> File | None:
    """The file, or None for a folder."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise BadSource(f"{shown(name)} is a symbolic link, which is not followed. Replace it by its target.")
    if stat.S_ISDIR(found.st_mode):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise BadSource(f"{shown(name)} is neither a file nor a folder.")
    problem = path_problem(name)
    if problem:
        raise BadSource(f"{shown(name)} {problem}.")
    return File(name, found.st_size, _read(path, found.st_size))


def _read(path: Path, size: int | None = None) -> Iterator[bytes]:
    """The content of a file. If the file grows meanwhile, no more than its former size."""
    left = path.stat().st_size if size is None else size
    try:
        with path.open("rb") as opened:
            while left > 0 and (piece := opened.read(min(PIECE, left))):
                left -= len(piece)
                yield piece
    except OSError:
        raise BadSource(f"{shown(str(path))} can't be read.") from None
