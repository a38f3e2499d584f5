"""Object keys as file names: readable, reversible, and safe for every key that S3 allows.

A key's parts between slashes become folders and a file. Characters that are not plain ASCII are percent-encoded. S3
knows no folders, so `a` and `a/b` may both be keys; to keep a file and a folder from wanting the same name, plain files
always hold a dot and plain folders never do, and a name that breaks this gets a mark which percent-encoding cannot
produce: `%` behind a file (`README%`), `%%` behind a folder (`v1.2%%`, also for empty parts, `.` and `..`). A part that
is too long for a file system is cut, with `%+` behind each piece but the last.

On a file system that ignores case, keys which differ by case only would be one file.
"""

import re
from urllib.parse import quote, unquote

_SAFE = "-_.~=+@,"
# File systems take 255 bytes; the rest is room for marks, and for the times in the names of metadata files.
_LONGEST = 200
# Keys that are their own path, which is nearly all of them: worth a shortcut when a bucket is loaded.
_PLAIN = re.compile(
    rf"(?:[A-Za-z0-9_~=+@,-]{{1,{_LONGEST}}}/)*(?!\.\.?\Z)(?=[^/]*\.)[A-Za-z0-9_.~=+@,-]{{1,{_LONGEST}}}"
)


def encode_key(key: str) -> str:
    """Return the path, relative to the bucket's folder, of an object's file. The key is valid Unicode."""
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


def decode_key(path: str) -> str | None:
    """Return the key of a file's path relative to the bucket's folder; None if `encode_key` gives no such path."""
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
    return key if encode_key(key) == path else None


def _cut(text: str) -> list[str]:
    return [text[i : i + _LONGEST] for i in range(0, len(text), _LONGEST)] or [""]
