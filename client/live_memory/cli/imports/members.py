"""The files of a source: their bounds, and the paths that they may have."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from live_memory.cli.imports.unfit import BadSource, shown

MEMBERS = 50_000
"""Files and folders of a source: the service's limit for an archive."""
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


def is_skipped(path: str) -> bool:
    """Whether a system or another tool left the file in the folder: hidden files and folders, and the like."""
    return any(part.startswith(".") or part in _SKIPPED for part in path.split("/"))


def checked(path: str) -> str:
    """The path of a member of an archive, without a leading `./`; raises BadSource for one that leads outside."""
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
