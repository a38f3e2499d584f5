"""Vector files: vectors of texts in one object, each found by the hash of its text. Read and written without NumPy.

All numbers are little-endian (docs/bucket.md):

    magic `LMVF`, 4 bytes | version, 16 bits | dimensions, 16 bits | rows, 32 bits
    for each row: 16 bytes of the hash | dimensions numbers of IEEE 754, 16 bits each

The header says how long the object is, to the byte. So a body of another length is refused before anything is made of
it, and no object costs more memory than its own length.
"""

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass

MAGIC, VERSION = b"LMVF", 1
_HEADER = struct.Struct("<4sHHL")
HEADER_BYTES = _HEADER.size
NAME_BYTES = 16
NUMBER_BYTES = 2
MOST_DIMENSIONS = 8_192
"""More than any embedding model in use has."""
MOST_ROWS = 1_000_000
MEDIA_TYPE = "application/octet-stream"


class BadVectors(ValueError):
    """The bytes are no vector file, or no file can hold the vectors."""


@dataclass(frozen=True)
class VectorShape:
    """How many rows a file has, and how many numbers a row."""

    rows: int
    dimensions: int

    @property
    def row_bytes(self) -> int:
        """Bytes of one row, with its hash."""
        return NAME_BYTES + NUMBER_BYTES * self.dimensions


def name_of(text: str, prefix: str) -> bytes:
    """The name of a vector: 16 bytes of SHA-256 of its `prefix` (EMBEDDINGS_TEXT_PREFIX) and its text."""
    return hashlib.sha256((prefix + text).encode(errors="replace")).digest()[:NAME_BYTES]


def shape_of(body: bytes) -> VectorShape:
    """The shape of a file, from the header and the length alone. Raises BadVectors for a file that is not whole."""
    if len(body) < HEADER_BYTES:
        raise BadVectors("no vectors")
    magic, version, dimensions, rows = _HEADER.unpack_from(body)
    if (magic, version) != (MAGIC, VERSION):
        raise BadVectors("no vectors of this format")
    shape = _checked(VectorShape(rows, dimensions))
    if len(body) != HEADER_BYTES + shape.rows * shape.row_bytes:
        raise BadVectors("vectors of another length than the header says")
    return shape


def _checked(shape: VectorShape) -> VectorShape:
    if not 0 < shape.dimensions <= MOST_DIMENSIONS or shape.rows > MOST_ROWS:
        raise BadVectors("vectors out of bounds")
    return shape


def read(body: bytes) -> dict[bytes, bytes]:
    """The rows of a file by their names, as they are stored. Raises BadVectors."""
    step = shape_of(body).row_bytes
    return {
        body[at : at + NAME_BYTES]: body[at + NAME_BYTES : at + step] for at in range(HEADER_BYTES, len(body), step)
    }


def write(rows: Mapping[bytes, bytes], dimensions: int) -> bytes:
    """A file of these rows, each of so many 16-bit numbers. Raises BadVectors."""
    shape = _checked(VectorShape(len(rows), dimensions))
    if any(len(name) != NAME_BYTES or len(row) != shape.row_bytes - NAME_BYTES for name, row in rows.items()):
        raise BadVectors("rows of different lengths")
    parts = [_HEADER.pack(MAGIC, VERSION, dimensions, len(rows))]
    for name, row in rows.items():
        parts += (name, row)
    return b"".join(parts)
