"""The files of a zip, whose author may be hostile."""

import io
import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from live_memory.cli.imports.members import MEMBERS, PIECE, UNPACKED_BYTES, File, checked, is_skipped
from live_memory.cli.imports.unfit import BadSource, shown

RATIO = 200
"""How many bytes one byte may unpack to, beyond the first `FREE_BYTES`. Chats have less than 20."""
FREE_BYTES = 16 << 20
NAMES_BYTES = 64 << 20
"""Bytes of the list of members, which zipfile reads at once."""
DAMAGED = "The zip is damaged, or of a kind that can't be read."
_READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class _Careful(io.FileIO):
    """A file with a bound on a single read: the size that the names of a zip may have."""

    def read(self, size: int | None = -1) -> bytes:
        limit = NAMES_BYTES if size is None or size < 0 else size
        if limit > NAMES_BYTES:
            raise BadSource(f"The zip has more than {NAMES_BYTES >> 20} MiB of names.")
        return super().read(limit)


def files(source: Path) -> Iterator[File]:
    """The files of a zip. Raises BadSource."""
    try:
        with _Careful(str(source)) as raw, zipfile.ZipFile(raw) as opened:
            yield from _members(opened)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, zlib.error, ValueError, OverflowError):
        raise BadSource(DAMAGED) from None


def _members(opened: zipfile.ZipFile) -> Iterator[File]:
    infos = opened.infolist()
    if len(infos) > MEMBERS:
        raise BadSource(f"The zip has more than {MEMBERS} members.")
    seen: set[str] = set()
    total = 0
    for info in infos:
        # The name as it is in the zip: zipfile turns backslashes around on some systems, and cuts at a NUL.
        path = checked(info.orig_filename.rstrip("/"))
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise BadSource(f"The member {shown(path)} of the zip is a link, a device or another special file.")
        if path in seen:
            raise BadSource(f"The member {shown(path)} is in the zip twice.")
        seen.add(path)
        if info.is_dir() or is_skipped(path):
            continue
        total += info.file_size
        if total > UNPACKED_BYTES:
            raise BadSource(f"The zip unpacks to more than {UNPACKED_BYTES >> 30} GiB.")
        yield File(path, info.file_size, _content(opened, info))


def _content(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    name = shown(info.filename)
    if info.flag_bits & 0x1:
        raise BadSource(f"The member {name} of the zip is encrypted. Unpack it first.")
    if info.compress_type not in _READABLE:
        raise BadSource(f"The member {name} of the zip is packed in a way that can't be read. Unpack it first.")
    if info.file_size > FREE_BYTES + RATIO * info.compress_size:
        raise BadSource(f"The member {name} of the zip unpacks to more than {RATIO} times its size.")
    with opened.open(info) as member:
        yield from _pieces(member, info.file_size, name)


def _pieces(member: IO[bytes], size: int, name: str) -> Iterator[bytes]:
    left = size
    while piece := member.read(PIECE):
        left -= len(piece)
        yield piece
    if left:
        raise BadSource(f"The member {name} of the zip does not have its declared size.")
