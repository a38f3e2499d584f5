"""Object keys as file names: readable, reversible, and safe for every key that S3 allows, on every system.

A key's parts between slashes become folders and a file. Characters that are not plain ASCII are percent-encoded. S3
knows no folders, so `a` and `a/b` may both be keys; to keep a file and a folder from wanting the same name, plain files
always hold a dot and plain folders never do, and a name that breaks this gets a mark which percent-encoding cannot
produce: `%` behind a file (`README%`), `%%` behind a folder (`v1.2%%`, also for empty parts, `.` and `..`). A part that
is too long for a file system is cut, with `%+` behind each piece but the last.

What Windows refuses, and what a folder that ignores case would take for another name, has a letter or a dot
percent-encoded too (`%63on.md`). Such a name leads back to its key as any other one.
"""

import re
from collections.abc import Iterable
from itertools import accumulate
from pathlib import PurePath, PureWindowsPath
from typing import TypeVar
from urllib.parse import quote, unquote

_SAFE = "-_.~=+@,"
# File systems take 255 bytes; the rest is room for marks, and for the times in the names of metadata files.
_LONGEST = 200
# Keys that are their own path, which is nearly all of them: worth a shortcut when a bucket is loaded.
_PLAIN = re.compile(
    rf"(?:[A-Za-z0-9_~=+@,-]{{1,{_LONGEST}}}/)*(?!\.\.?\Z)(?=[^/]*\.)[A-Za-z0-9_.~=+@,-]{{1,{_LONGEST}}}"
)
_DEVICE = re.compile(r"(?i)(^|/)(con|prn|aux|nul|com[0-9]|lpt[0-9])(?=[.%/]|$)")
_LAST_DOT = re.compile(r"\.(?=/|$)")
_NEEDLESS = re.compile(r"%(2E|[46][1-9A-F]|[57][0-9A])")
"""A letter or a dot in percent-encoding."""

_P = TypeVar("_P", bound=PurePath)


def unbounded(root: _P) -> _P:
    """The same absolute folder, with names in it that may be longer than the 260 characters that Windows takes."""
    if not isinstance(root, PureWindowsPath) or root.drive.startswith("\\\\?\\"):
        return root
    return type(root)(f"\\\\?\\UNC\\{str(root)[2:]}" if root.drive.startswith("\\\\") else f"\\\\?\\{root}")


def encode_key(key: str) -> str:
    """Return the path, relative to the bucket's folder, of a new object's file. The key is valid Unicode."""
    return _LAST_DOT.sub("%2E", _DEVICE.sub(lambda name: name[1] + _hex(name[2][0]) + name[2][1:], _plain_path(key)))


def decode_key(path: str) -> str | None:
    """Return the key of a file's path relative to the bucket's folder; None if no key leads to such a path."""
    if _PLAIN.fullmatch(path):
        return path
    parts: list[str] = []
    begun = ""
    for name in path.split("/"):
        if name.endswith("%+"):
            begun += name[:-2]
            continue
        parts.append(begun + name.rstrip("%"))
        begun = ""
    try:
        key = "/".join(unquote(part, errors="strict") for part in parts)
    except UnicodeDecodeError:
        return None
    return key if _plain_path(key) == _NEEDLESS.sub(lambda name: unquote(name[0]), path) else None


class Spellings:
    """The names that are in use in a folder that ignores case, each with its one spelling."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._known: dict[str, str] = {}
        for path in paths:
            self._note(path)

    def place(self, key: str) -> str:
        """The path of a new object's file. A name that is in use with other letters has its own percent-encoded."""
        path = ""
        for name in encode_key(key).split("/"):
            wanted = f"{path}/{name}" if path else name
            taken = self._known.get(wanted.casefold(), wanted) != wanted
            path = wanted[: -len(name)] + _spelt(name) if taken else wanted
        self._note(path)
        return path

    def _note(self, path: str) -> None:
        for part in accumulate(path.split("/"), lambda above, name: f"{above}/{name}"):
            self._known.setdefault(part.casefold(), part)


def _plain_path(key: str) -> str:
    if _PLAIN.fullmatch(key):
        return key
    *folders, file = (quote(part, safe=_SAFE) for part in key.split("/"))
    names: list[str] = []
    for folder in folders:
        *pieces, last = _cut(folder)
        names += [f"{piece}%+" for piece in pieces]
        names.append(last if last and "." not in last else f"{last}%%")
    *pieces, last = _cut(file)
    names += [f"{piece}%+" for piece in pieces]
    names.append(last if "." in last and last not in {".", ".."} else f"{last}%")
    return "/".join(names)


def _spelt(name: str) -> str:
    """The name with its capitals percent-encoded, its first letter where it has none."""
    capitals = re.compile("%[0-9A-F]{2}|[A-Z]").sub(lambda one: one[0] if one[0][0] == "%" else _hex(one[0]), name)
    return capitals if capitals != name else re.sub("[a-z]", lambda one: _hex(one[0]), name, count=1)


def _hex(sign: str) -> str:
    return f"%{ord(sign):02X}"


def _cut(text: str) -> list[str]:
    return [text[i : i + _LONGEST] for i in range(0, len(text), _LONGEST)] or [""]
