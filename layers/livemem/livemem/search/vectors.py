"""Vectors of texts, by content: segments as they are stored, and all of a space in memory.

Nothing points at a vector: it is found by the hash of its text (store/vector_file.py). So none is ever stale, and a
text that moves keeps its vector. Two workers that embed the same text only waste a call.

Vectors of texts about the same things point the same way, so plain cosines differ little: the common part of all texts
(names, tone, subject) outweighs the content of one. Whitened, the same vectors find more (docs/ranking.md): the mean of
the space is subtracted, and the directions in which its texts differ most are shortened.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from livemem.search.matrix import BLOCK, HALF, Matrix
from livemem.store import vector_file
from livemem.store.vector_file import HEADER_BYTES, NAME_BYTES, BadVectors

Vectors = NDArray[np.float32]
"""n x d, each of unit length."""

Rows = NDArray[np.int64]
"""Where vectors are in a pool, -1 for none."""

LENGTH_TOLERANCE = 0.01
"""By how much a stored vector's length may differ from 1: float16 has 11 bits, so 0.0005 times a factor for sums."""
REFIT = 1.1
"""The growth of the vectors that a lens is made of after which a new one is made."""
Floats = NDArray[np.float32]

SAMPLE = 1_024
"""Vectors that a lens is made from, spread evenly over all."""
DIRECTIONS = 128
"""How many directions are shortened one by one; those beyond are shortened alike."""
POWER = -0.5
"""Of the spread in a direction: -1 would make all directions alike, 0 leaves them as they are."""
CAUTION = 50
"""So many vectors are trusted half: the mean and the spread of a few texts say little about the next one."""
_ROWS = 16_384  # at once, so that the float32 copy of a float16 matrix stays small


@dataclass(frozen=True)
class Lens:
    """The transformation of a space's vectors before they are compared. Keep it while they stay about the same."""

    mean: Floats
    directions: Floats
    """DIRECTIONS x d at most, orthogonal unit vectors."""
    gains: Floats
    """Of every direction, over the gain of all others."""


def fit(vectors: NDArray[np.floating] | Matrix, fitted: NDArray[np.int64] | None = None) -> Lens:
    """The lens of unit vectors (n x d, float16 or float32), or of those in the rows `fitted` alone. For no vectors it
    changes nothing.
    """
    count, width = vectors.shape
    count = count if fitted is None else len(fitted)
    if not count:
        return Lens(np.zeros(width, np.float32), np.zeros((0, width), np.float32), np.zeros(0, np.float32))
    rows = np.unique(np.linspace(0, count - 1, min(count, SAMPLE)).astype(np.int64))
    sample = vectors[rows if fitted is None else fitted[rows]].astype(np.float32)
    trust = count / (count + CAUTION)
    mean = sample.mean(0) * np.float32(trust)
    centred = sample - sample.mean(0)
    spread, directions = _principal(centred)
    total = float((centred**2).sum()) / len(sample)
    average = total / width
    if average <= 0:
        return Lens(mean, np.zeros((0, width), np.float32), np.zeros(0, np.float32))
    rest = max(0.0, total - float(spread.sum())) / max(1, width - len(spread))
    gains = ((trust * spread + average) / (trust * rest + average)) ** POWER
    return Lens(mean, directions, (gains - 1).astype(np.float32))


def lengths(lens: Lens, vectors: NDArray[np.floating]) -> Floats:
    """The length of every vector, seen through the lens: n x d x DIRECTIONS multiplications, once per vector."""
    values = np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), _ROWS):
        moved = vectors[start : start + _ROWS].astype(np.float32, copy=False) - lens.mean
        squares = (moved**2).sum(1) + ((moved @ lens.directions.T) ** 2) @ lens.gains
        values[start : start + _ROWS] = np.sqrt(np.maximum(squares, 0))
    return values


def cosines(lens: Lens, vectors: NDArray[np.floating], lengths: Floats, query: NDArray[np.floating]) -> Floats:
    """The cosine of every vector with the query's, seen through the lens: one product of the matrix with a vector."""
    moved = query.astype(np.float32) - lens.mean
    seen = moved + ((lens.directions @ moved) * lens.gains) @ lens.directions
    length = float(np.sqrt(max(0.0, float(moved @ seen))))
    aimed = seen / length if length > 0 else seen
    products = np.concatenate(
        [
            vectors[start : start + _ROWS].astype(np.float32, copy=False) @ aimed
            for start in range(0, len(vectors), _ROWS)
        ]
        or [np.zeros(0, np.float32)]
    )
    return ((products - float(lens.mean @ aimed)) / np.maximum(lengths, 1e-6)).astype(np.float32)


def _principal(centred: Floats) -> tuple[Floats, Floats]:
    """The variances in the directions of largest variance, and these directions: from the smaller of both products."""
    count, width = centred.shape
    kept = min(DIRECTIONS, count, width)
    if count < width:
        values, small = np.linalg.eigh(centred @ centred.T)
        directions = small[:, -kept:].T @ centred
    else:
        values, small = np.linalg.eigh(centred.T @ centred)
        directions = small[:, -kept:].T
    sizes = np.linalg.norm(directions, axis=1)
    solid = (sizes > 1e-6) & (values[-kept:] > 1e-6)
    directions = directions[solid] / sizes[solid][:, None]
    return (values[-kept:][solid] / count).astype(np.float32), directions.astype(np.float32)


def encode(vectors: Mapping[bytes, Sequence[float] | Vectors]) -> bytes:
    """A segment (store/vector_file.py). Raises BadVectors."""
    names, rows = stack(vectors)
    halves = rows.astype(HALF)
    _check(halves)
    return vector_file.write({name: half.tobytes() for name, half in zip(names, halves, strict=True)}, rows.shape[1])


def stack(vectors: Mapping[bytes, Sequence[float] | Vectors]) -> tuple[list[bytes], Vectors]:
    """The names and the vectors as one array. Raises BadVectors where they are not all of one length."""
    try:
        rows = np.array([np.asarray(vector, dtype=np.float32) for vector in vectors.values()], dtype=np.float32)
    except ValueError as error:
        raise BadVectors("of different lengths") from error
    if rows.ndim != 2:
        raise BadVectors("no vectors")
    return list(vectors), rows


def decode(body: bytes, dimensions: int) -> tuple[list[bytes], Vectors]:
    """The hashes of a segment and their vectors. Raises BadVectors unless all is whole, finite and of unit length."""
    shape = vector_file.shape_of(body)
    if shape.dimensions != dimensions:
        raise BadVectors("other dimensions")
    row = np.dtype([("name", f"V{NAME_BYTES}"), ("vector", HALF, (dimensions,))])
    table: NDArray[np.void] = np.ndarray(shape.rows, row, body, HEADER_BYTES)
    names = table["name"].tobytes()
    return [names[at : at + NAME_BYTES] for at in range(0, len(names), NAME_BYTES)], _check(table["vector"])


def _check(halves: NDArray[np.float16]) -> Vectors:
    """The vectors in the form that is computed with. Raises BadVectors."""
    rows = halves.astype(np.float32)
    lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows))
    if not np.all(np.abs(lengths - 1) < LENGTH_TOLERANCE):
        # NaN and infinity are not within it either.
        raise BadVectors("not of unit length")
    return rows


class Pool:
    """The vectors of a space in memory, all of one model and of `dimensions`; grows, and is filled from segments."""

    def __init__(self, dimensions: int) -> None:
        """An empty one."""
        self.dimensions = dimensions
        self._rows: dict[bytes, int] = {}
        self._vectors = Matrix(dimensions)
        self._shown: Rows | None = None
        self._lens = fit(self._vectors)
        self._fitted = 0
        self._lengths = np.empty(0, dtype=np.float32)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors in memory."""
        return self._vectors.nbytes

    def add(self, hashes: Sequence[bytes], vectors: Vectors) -> None:
        """Take in vectors. Known ones are left out."""
        # Of one that is there twice the last one counts.
        new = {name: index for index, name in enumerate(hashes) if name not in self._rows}
        first = len(self._rows)
        # All of them mostly: picking each out would take as long as reading them did.
        self._vectors.append(vectors if len(new) == len(vectors) else vectors[list(new.values())])
        self._rows.update(zip(new, range(first, first + len(new)), strict=True))

    def show(self, rows: Rows) -> None:
        """Make the next lens of the vectors at these places alone. Without this it is made of all of them."""
        self._shown = rows

    def rows_of(self, hashes: Sequence[bytes]) -> Rows:
        """The places of the vectors of these names, -1 for a name without a vector."""
        find = self._rows.get
        return np.fromiter((find(name, -1) for name in hashes), dtype=np.int64, count=len(hashes))

    def products(self, vector: NDArray[np.float32], rows: Rows) -> NDArray[np.float32]:
        """The plain cosine of each of the vectors at these places with a vector."""
        return _joined([self._vectors[batch] @ vector for batch in _some(rows)])

    def cosines(self, vector: NDArray[np.float32], rows: Rows | None = None) -> NDArray[np.float32]:
        """The cosine of each of them, or of those in `rows` alone, with a vector, seen through the space's lens
        (whitened).
        """
        self._look_through()
        lens, lengths = self._lens, self._lengths
        if rows is not None:
            return _joined([cosines(lens, self._vectors[batch], lengths[batch], vector) for batch in _some(rows)])
        result, first = [], 0
        for part in self._vectors.parts():
            result.append(cosines(lens, part, lengths[first : first + len(part)], vector))
            first += len(part)
        return _joined(result)

    def _look_through(self) -> None:
        """Make the lens, and the lengths seen through it, where vectors have come."""
        count = len(self._vectors) if self._shown is None else len(self._shown)
        if count > self._fitted * REFIT:
            self._lens, self._fitted = fit(self._vectors, self._shown), count
            self._lengths = np.empty(0, dtype=np.float32)
        if len(self._vectors) > len(self._lengths):
            more = [lengths(self._lens, part) for part in self._vectors.parts(len(self._lengths))]
            self._lengths = _joined([self._lengths, *more])


def _some(rows: Rows) -> list[Rows]:
    """The rows, as many at a time as may be copied."""
    return [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]


def _joined(parts: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.float32)
