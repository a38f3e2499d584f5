"""Reading an archive that anybody may have made: its files in order, with bounds on memory, work and size.

Headers are read by tarfile, one block at a time; the walk is our own, because tarfile takes a broken header for the end
and reads a name of any length into memory. Nothing is ever written to a disk.
"""

import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from livemem.copies import archive
from livemem.errors import InvalidArchive, TooLarge

ARCHIVE_BYTES = 1 << 30
"""Most bytes of an archive as it is uploaded."""
UNPACKED_BYTES = 4 << 30
RATIO = 200
"""Most bytes that one byte may unpack to, beyond the first `FREE_BYTES`. Texts unpack to under 50, a bomb to 1,000."""
FREE_BYTES = 16 << 20
MEMBER_BYTES = 32 << 10
"""Bytes that a member of gzip must unpack to on average, beyond the first `FREE_MEMBERS`. Tools that pack in blocks
(bgzip, pigz) have 64 KiB in each and more.
"""
FREE_MEMBERS = 10_000
FED_BYTES = 16 << 10
"""Bytes that are unpacked at once: for each member and each piece zlib copies the rest of them."""
MEMBERS = 50_000
HEADER_BYTES = 32_768
"""Most bytes of the extended headers of one member."""
PIECE = 1 << 18

BLOCK = tarfile.BLOCKSIZE

_EXTENDED = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_KINDS: Mapping[bytes, str] = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a named pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}
_OTHERS = (
    # A plain tar begins with a name, so these are more than two letters.
    (re.compile(rb"PK(\x03\x04|\x05\x06)"), "a zip"),
    (re.compile(rb"BZh[1-9]1AY&SY"), "a bzip2"),
    (re.compile(rb"\xfd7zXZ\x00"), "an xz"),
    (re.compile(rb"\x28\xb5\x2f\xfd"), "a zstd"),
    (re.compile(rb"7z\xbc\xaf\x27\x1c"), "a 7z"),
)

DAMAGED = "The archive is damaged: {}."


@dataclass(frozen=True)
class Member:
    """A file of an archive, its path without a leading `./`, and its content in pieces, to be read before the next."""

    path: str
    size: int
    content: Iterator[bytes]


def shown(path: str) -> str:
    """A path for people, safe to show with any characters in it."""
    return ascii(path if len(path) <= 200 else path[:200] + "...")


def refused(path: str, problem: str) -> InvalidArchive:
    """The error about one member."""
    return InvalidArchive(f"The member {shown(path)} {problem}.")


def files(chunks: Iterator[bytes], check: Callable[[], None] = lambda: None) -> Iterator[Member]:
    """The files in a tar.gz or tar. It calls `check` now and then, which may stop it by an error of its own.

    Raises InvalidArchive, TooLarge, as soon as it reads the fault.
    """
    source = _Source(_unpacked(chunks, check))
    texts: set[str] = set()
    for count in range(1, MEMBERS + 2):
        check()
        block = source.exactly(BLOCK)
        if not any(block):
            source.check_zeros()
            return
        if count > MEMBERS:
            break
        info, path = _header(source, block)
        if info.type not in _FILES and info.type != tarfile.DIRTYPE:
            raise refused(path, f"is {_KINDS.get(info.type, 'of a kind that is not allowed')}")
        path = _checked(path, info)
        if info.type == tarfile.DIRTYPE:
            continue
        if path in texts:
            raise refused(path, "is in the archive twice")
        texts.add(path)
        content = source.pieces(info.size)
        yield Member(path, info.size, content)
        for _ in content:
            pass
        source.exactly(-info.size % BLOCK)
    raise InvalidArchive(f"The archive has more than {MEMBERS} members.")


def _checked(path: str, info: tarfile.TarInfo) -> str:
    """The path without a leading `./`, by which `tar` names what is in the present folder."""
    is_folder = info.type == tarfile.DIRTYPE
    if is_folder and info.size:
        raise refused(path, "is a folder with content")
    path = path.rstrip("/") if is_folder and path.strip("/") else path
    if is_folder and path in (".", "./"):
        return path
    path = path.removeprefix("./")
    problem = archive.path_problem(path)
    if problem:
        raise refused(path, problem)
    return path


def _header(source: "_Source", block: bytes) -> tuple[tarfile.TarInfo, str]:
    """The header of the next member, and its path, which extended headers before it may give."""
    path: str | None = None
    extended = 0
    while True:
        info = _parse(block)
        if info.type not in _EXTENDED:
            return info, info.name if path is None else path
        extended += BLOCK + info.size
        if extended > HEADER_BYTES:
            raise InvalidArchive(f"A member of the archive has more than {HEADER_BYTES} bytes of extended headers.")
        data = source.exactly(info.size)
        source.exactly(-info.size % BLOCK)
        if info.type == tarfile.GNUTYPE_LONGNAME:
            path = _text(data.rstrip(b"\0"))
        elif info.type != tarfile.GNUTYPE_LONGLINK:
            records = _records(data)
            if info.type == tarfile.XGLTYPE and "path" in records:
                raise InvalidArchive("A global header of the archive names a path.")
            path = records.get("path", path)
        block = source.exactly(BLOCK)


def _parse(block: bytes) -> tarfile.TarInfo:
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except UnicodeDecodeError:
        raise InvalidArchive("A member of the archive has a name that is not UTF-8.") from None
    except (tarfile.HeaderError, ValueError, OverflowError):
        raise InvalidArchive("This is not a tar.gz or tar file, or it is damaged: a header can't be read.") from None
    if info.size < 0:
        raise InvalidArchive(DAMAGED.format("a member has a negative size"))
    return info


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidArchive("A member of the archive has a name that is not UTF-8.") from None


def _records(data: bytes) -> dict[str, str]:
    """The records of a pax header (POSIX.1-2001): `{length} {key}={value}` and a line's end."""
    result: dict[str, str] = {}
    while data:
        digits = data[:6].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        record = data[len(digits) + 1 : length]
        if not length or not record.endswith(b"\n") or length > len(data):
            raise InvalidArchive(DAMAGED.format("an extended header can't be read"))
        name, _, value = record[:-1].partition(b"=")
        if name.startswith(b"GNU.sparse.") or name in (b"size", b"hdrcharset"):
            raise InvalidArchive("The archive has a sparse file, or a member of more than 8 GiB.")
        if name == b"path":
            result["path"] = _text(value)
        data = data[length:]
    return result


class _Source:
    """Bytes that come in pieces, read by number."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = memoryview(b"")

    def exactly(self, count: int) -> bytes:
        """The next `count` bytes: a header's, so they are few."""
        return b"".join(self.pieces(count))

    def pieces(self, count: int) -> Iterator[bytes]:
        """The next `count` bytes as they come."""
        while count:
            if not self._piece:
                self._piece = memoryview(next(self._pieces, b""))
                if not self._piece:
                    raise InvalidArchive(DAMAGED.format("it ends too early"))
            part, self._piece = self._piece[:count], self._piece[count:]
            count -= len(part)
            yield bytes(part)

    def check_zeros(self) -> None:
        """Raise InvalidArchive unless nothing but zeros follows: the end of a tar is filled up with them."""
        for piece in chain([bytes(self._piece)], self._pieces):
            if piece.strip(b"\0"):
                raise InvalidArchive(DAMAGED.format("something follows its end"))


def _unpacked(chunks: Iterator[bytes], check: Callable[[], None]) -> Iterator[bytes]:
    """The tar's bytes, in pieces that are never empty."""
    first = next(chunks, b"")
    for start, name in _OTHERS:
        if start.match(first):
            raise InvalidArchive(f"This is {name} file. Convert it to a tar.gz.")
    if first.startswith(b"\x1f\x8b"):
        yield from _gunzipped(chain([first], chunks), check)
        return
    for chunk in chain([first], chunks):
        check()
        if chunk:
            yield chunk


def _gunzipped(chunks: Iterator[bytes], check: Callable[[], None]) -> Iterator[bytes]:
    gzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
    read = made = 0
    members = 1
    padded = False
    for part in _in_small_parts(chunks):
        read += len(part)
        data = part
        while data:
            check()
            if gzip.eof:
                padded = _is_padding(data, padded=padded)
                if padded:
                    break
                gzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
                members += 1
            try:
                piece = gzip.decompress(data, PIECE)
            except zlib.error:
                raise InvalidArchive(DAMAGED.format("it can't be unpacked")) from None
            made += len(piece)
            _check_work(read, made, members)
            if piece:
                yield piece
            data = gzip.unused_data if gzip.eof else gzip.unconsumed_tail
    if not gzip.eof:
        raise InvalidArchive(DAMAGED.format("it ends too early"))


def _in_small_parts(chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), FED_BYTES):
            yield chunk[start : start + FED_BYTES]


def _is_padding(data: bytes, *, padded: bool) -> bool:
    """Whether zeros and nothing else follow the last member of gzip. `padded`: some came already. Raises
    InvalidArchive.
    """
    if not padded and data[0]:
        return False
    if data.strip(b"\0"):
        raise InvalidArchive(DAMAGED.format("something follows its end"))
    return True


def _check_work(read: int, made: int, members: int) -> None:
    """Raise TooLarge or InvalidArchive if so many bytes make too many bytes, or have too many members of gzip."""
    if made > UNPACKED_BYTES:
        raise TooLarge(f"The archive unpacks to more than {UNPACKED_BYTES >> 30} GiB.")
    if made > FREE_BYTES + RATIO * read or members > FREE_MEMBERS + made // MEMBER_BYTES:
        raise InvalidArchive(f"The archive unpacks to more than {RATIO} times its size, or has too many pieces.")
