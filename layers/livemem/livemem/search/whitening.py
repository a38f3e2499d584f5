"""Cosines that distinguish the texts of one space.

The vectors of texts about the same things point the same way. Plain cosines differ little: the common part of all texts
(names, tone, subject) outweighs the content of one. With the space's mean subtracted, and with the directions in which
its texts differ most shortened, the same vectors find more (docs/ranking.md).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from livemem.search.matrix import Matrix

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
