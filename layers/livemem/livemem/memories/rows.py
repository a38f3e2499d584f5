"""Vectors beside a snapshot, row by row as they are stored (search/vectors.py): for functions that have no NumPy.

An object is NumPy's npz (store/arrays.py) of two arrays, `hashes` (n x 16 bytes) and `vectors` (n x d, 16-bit floats).
"""

import hashlib
import io
import struct
import zipfile
from collections.abc import Mapping

from livemem.store import arrays
from livemem.store.arrays import Array

NAME_BYTES = 16
HALF_BYTES = 2
_MAGIC = b"\x93NUMPY\x01\x00"
_ALIGNED = 64


def name_of(content: str, prefix: str) -> bytes:
    """What a vector is found by: 16 bytes of SHA-256 of the text that it was made of."""
    return hashlib.sha256((prefix + content).encode(errors="replace")).digest()[:NAME_BYTES]


def read(body: bytes) -> dict[bytes, bytes]:
    """The rows of an object, 16-bit floats, by their names. Raises ValueError for what is no such object."""
    found = arrays.read(body, {"hashes": ("|u1", 1), "vectors": ("<f2", HALF_BYTES)})
    names, rows = _rows(found["hashes"], 1), _rows(found["vectors"], HALF_BYTES)
    if len(names) != len(rows) or any(len(name) != NAME_BYTES for name in names):
        raise ValueError("no vectors")
    return dict(zip(names, rows, strict=True))


def _rows(array: Array, width: int) -> list[bytes]:
    step = array.columns * width
    return [array.data[at : at + step] for at in range(0, len(array.data), step)] if step else []


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
