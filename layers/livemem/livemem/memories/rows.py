"""Vectors beside a snapshot, row by row as they are stored (search/vectors.py): for functions that have no NumPy.

An object is NumPy's npz: a ZIP archive of two arrays, `hashes` (n x 16 bytes) and `vectors` (n x d, 16-bit floats). The
form of an array is that of NumPy's format 1.0: a head that says what it holds, then the rows.
"""

import hashlib
import io
import re
import struct
import zipfile
from collections.abc import Mapping

NAME_BYTES = 16
HALF_BYTES = 2
_MAGIC = b"\x93NUMPY\x01\x00"
_HEAD = re.compile(
    r"\{'descr': '(?P<type>[|<>=a-z0-9]{2,4})', 'fortran_order': False, "
    r"'shape': \((?P<count>\d{1,9}), (?P<columns>\d{1,9})\), \}"
)
_ALIGNED = 64


def name_of(content: str, prefix: str) -> bytes:
    """What a vector is found by: 16 bytes of SHA-256 of the text that it was made of."""
    return hashlib.sha256((prefix + content).encode(errors="replace")).digest()[:NAME_BYTES]


def read(body: bytes) -> dict[bytes, bytes]:
    """The rows of an object, 16-bit floats, by their names. Raises ValueError for what is no such object."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as packed:
            names = _rows(packed.read("hashes.npy"), "|u1", 1)
            rows = _rows(packed.read("vectors.npy"), "<f2", HALF_BYTES)
    except (KeyError, zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise ValueError("no vectors") from error
    if len(names) != len(rows) or any(len(name) != NAME_BYTES for name in names):
        raise ValueError("no vectors")
    return dict(zip(names, rows, strict=True))


def _rows(array: bytes, kind: str, width: int) -> list[bytes]:
    start = len(_MAGIC) + 2
    if not array.startswith(_MAGIC) or len(array) < start:
        raise ValueError("no array")
    (size,) = struct.unpack("<H", array[len(_MAGIC) : start])
    head = _HEAD.fullmatch(array[start : start + size].decode("latin-1").strip())
    if not head or head["type"] != kind:
        raise ValueError("another array")
    data, step = array[start + size :], int(head["columns"]) * width
    if len(data) != int(head["count"]) * step:
        raise ValueError("an array of another length")
    return [data[at : at + step] for at in range(0, len(data), step)] if step else []


def write(rows: Mapping[bytes, bytes]) -> bytes:
    """An object of these rows, all of one length."""
    packed = io.BytesIO()
    width = len(next(iter(rows.values()), b""))
    if any(len(row) != width for row in rows.values()):
        raise ValueError("rows of different lengths")
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("hashes.npy", _array("|u1", (len(rows), NAME_BYTES), b"".join(rows)))
        archive.writestr("vectors.npy", _array("<f2", (len(rows), width // HALF_BYTES), b"".join(rows.values())))
    return packed.getvalue()


def _array(kind: str, shape: tuple[int, int], data: bytes) -> bytes:
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    filled = -(len(_MAGIC) + 2 + len(head) + 1) % _ALIGNED
    line = f"{head}{' ' * filled}\n".encode()
    return b"".join((_MAGIC, struct.pack("<H", len(line)), line, data))
