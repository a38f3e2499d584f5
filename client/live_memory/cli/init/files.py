"""Reading and writing the files of a project or a home folder, and nothing outside of it.

A link that leads out of the folder is not followed: its author could make `init` write anywhere. Files are replaced as
a whole, so that no other program ever reads half of one.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from live_memory.cli import own_files
from live_memory.cli.exits import Refused

MOST_BYTES = 16 * 1_048_576
"""No configuration is this large. The limit stops the reading of any other file in its place."""


def inside(root: Path, relative: str) -> Path:
    """The real path of a file of a folder, with links followed. Raises Refused if it is outside the folder."""
    root = root.resolve()
    path = (root / relative).resolve()
    if not path.is_relative_to(root) or path == root:
        raise Refused(
            f"{root / relative} leads out of {root}, and livemem changes nothing outside. Remove the link first."
        )
    return path


def read(path: Path) -> str | None:
    """The text of a file with its line ends, None if there is none. Raises Refused: no regular file, no UTF-8."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            # Reading a named pipe could wait for ever.
            raise Refused(f"{path} is not a regular file.")
        if found.st_size > MOST_BYTES:
            raise Refused(f"{path} is larger than {MOST_BYTES:,} bytes.")
        return path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        raise Refused(f"{path} is not UTF-8 text.") from None
    except OSError as error:
        raise Refused(f"{path} can't be read: {error.strerror or error}.") from None


def write(path: Path, text: str, mode: int | None = None) -> None:
    """Replace a file, or make it; it keeps its mode unless one is given. Raises Refused."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
        own_files.write(path, text.encode(), kept if mode is None else mode, lasting=True)
    except OSError as error:
        raise Refused(f"{path} can't be written: {error.strerror or error}.") from None


def missing_folders(root: Path, path: Path) -> list[Path]:
    """The folders between a root and a file that are not there yet, the outermost first."""
    return [folder for folder in reversed(path.parents) if folder.is_relative_to(root) and not folder.exists()]


def remove(path: Path) -> None:
    """Remove a file, if it still exists. Raises Refused."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise Refused(f"{path} can't be removed: {error.strerror or error}.") from None


def remove_empty(folders: list[Path]) -> None:
    """Remove folders, the innermost last, if they are empty."""
    for folder in reversed(folders):
        with suppress(OSError):
            folder.rmdir()


def _umask() -> int:
    # There is no way to read it but to set it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
