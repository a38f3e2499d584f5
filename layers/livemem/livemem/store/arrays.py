"""Two-dimensional arrays in an object, as NumPy packs them (npz), read without NumPy, and never larger than the object.

An npz is a ZIP archive of arrays in NumPy's format 1.0: a head that says what the array holds, then its rows
(https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). The service packs without compression. So a
compressed one is somebody else's, and a few bytes of it may stand for any number: it is refused before it is unpacked.
"""

import io
import re
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass

MOST_MEMBERS = 8
DIRECTORY_BYTES = 1_024
"""Of the list of members at the end of the archive, which zipfile reads as a whole."""
_END = struct.Struct("<4s4H2LH")
"""The end of central directory record (APPNOTE.TXT, 4.3.16)."""
_MAGIC = b"\x93NUMPY\x01\x00"
_HEAD = re.compile(
    r"\{'descr': '(?P<type>[|<>=a-z0-9]{2,4})', 'fortran_order': False, "
    r"'shape': \((?P<count>\d{1,9}), (?P<columns>\d{1,9})\), \}"
)


class BadArrays(ValueError):
    """The object does not hold what is asked for."""


@dataclass(frozen=True)
class Array:
    """`count` rows of so many columns, one behind the other in `data`."""

    count: int
    columns: int
    data: bytes


def read(body: bytes, types: Mapping[str, tuple[str, int]]) -> dict[str, Array]:
    """The arrays of these names, each of a type: NumPy's code and its size in bytes. Raises BadArrays."""
    end = body[-_END.size :]
    if len(end) < _END.size:
        raise BadArrays("no archive")
    signature, *_, count, size, _, comment = _END.unpack(end)
    if signature != b"PK\x05\x06" or count > MOST_MEMBERS or size > DIRECTORY_BYTES or comment:
        raise BadArrays("no archive of arrays")
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as packed:
            return {name: _array(_stored(packed, f"{name}.npy"), *of) for name, of in types.items()}
    except (KeyError, zipfile.BadZipFile, NotImplementedError, EOFError, OSError, RuntimeError, struct.error) as error:
        raise BadArrays("no arrays of these names") from error


def _stored(packed: zipfile.ZipFile, name: str) -> bytes:
    info = packed.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise BadArrays("compressed")
    return packed.read(info)


def _array(array: bytes, kind: str, width: int) -> Array:
    start = len(_MAGIC) + 2
    if not array.startswith(_MAGIC) or len(array) < start:
        raise BadArrays("no array")
    (size,) = struct.unpack("<H", array[len(_MAGIC) : start])
    head = _HEAD.fullmatch(array[start : start + size].decode("latin-1").strip())
    if not head or head["type"] != kind:
        raise BadArrays("another array")
    found = Array(int(head["count"]), int(head["columns"]), array[start + size :])
    if len(found.data) != found.count * found.columns * width:
        raise BadArrays("an array of another length")
    return found
