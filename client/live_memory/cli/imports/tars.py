"""The files of a tar or tar.gz, whose author may be hostile."""

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from live_memory.cli.imports.members import MEMBERS, PIECE, UNPACKED_BYTES, File, checked, is_skipped
from live_memory.cli.imports.unfit import BadSource, shown

RATIO = 200
"""How many bytes one byte may unpack to, beyond the first `FREE_BYTES`: the service's limit. A bomb has 1,000."""
FREE_BYTES = 16 << 20
HEADER_BYTES = 1 << 20
"""tarfile reads an extended header at once, at any size that it states."""
DAMAGED = "The archive is not a tar or tar.gz file, or it is damaged."


class _Unpacked(io.RawIOBase):
    """The bytes of a tar, read only forward, with bounds on a single read and on the unpacked size."""

    def __init__(self, raw: IO[bytes], packed: bool) -> None:
        self._raw = raw
        self._file: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
        self._packed = packed
        self._at = 0
        self._last = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= HEADER_BYTES:
            raise BadSource("A member of the archive has a header that is too large.")
        piece = self._file.read(size)
        self._at += len(piece)
        if self._at > UNPACKED_BYTES:
            raise BadSource(f"The archive unpacks to more than {UNPACKED_BYTES >> 30} GiB.")
        if self._packed and self._at > FREE_BYTES + RATIO * self._raw.tell():
            raise BadSource(f"The archive unpacks to more than {RATIO} times its size.")
        self._last = piece
        return piece

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or offset < self._at:
            raise BadSource(DAMAGED)
        while self._at < offset and self.read(min(PIECE, offset - self._at)):
            pass
        return self._at

    def check_end(self) -> None:
        """Raise BadSource unless the archive has its end marker: tarfile takes a broken header for the end."""
        piece = self._last
        while not piece.strip(b"\0"):
            piece = self.read(PIECE)
            if not piece:
                return
        raise BadSource(DAMAGED)


def files(source: Path) -> Iterator[File]:
    """The files of a tar or tar.gz. Raises BadSource."""
    with source.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        unpacked = _Unpacked(raw, packed)
        try:
            with tarfile.open(fileobj=unpacked, mode="r:", errors="strict") as opened:
                yield from _members(opened, unpacked)
        except (tarfile.TarError, EOFError, OSError, zlib.error, ValueError, OverflowError):
            raise BadSource(DAMAGED) from None


def _members(opened: tarfile.TarFile, unpacked: _Unpacked) -> Iterator[File]:
    seen: set[str] = set()
    count = 0
    while (info := opened.next()) is not None:
        count += 1
        if count > MEMBERS:
            raise BadSource(f"The archive has more than {MEMBERS} members.")
        # tarfile keeps all members, with headers that may be large.
        opened.members.clear()  # type: ignore[attr-defined]
        if info.issparse() or not (info.isreg() or info.isdir()):
            raise BadSource(
                f"The member {shown(info.name)} of the archive is a link, a device or another special file."
            )
        if info.isdir():
            if info.name not in (".", "./"):
                checked(info.name)
            continue
        path = checked(info.name)
        if path in seen:
            raise BadSource(f"The member {shown(path)} is in the archive twice.")
        seen.add(path)
        if is_skipped(path):
            continue
        yield File(path, info.size, _content(unpacked, info))
    unpacked.check_end()


def _content(unpacked: _Unpacked, info: tarfile.TarInfo) -> Iterator[bytes]:
    unpacked.seek(info.offset_data)
    left = info.size
    while left:
        piece = unpacked.read(min(PIECE, left))
        if not piece:
            raise BadSource(DAMAGED)
        left -= len(piece)
        yield piece
