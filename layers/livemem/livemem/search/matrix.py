"""Many vectors as the rows of one matrix in memory: of few each number has 32 bits, of many it has 16, as it is stored.

To compute with 16 bits takes five times as long. So they are for spaces whose vectors would not fit into the memory of
a function otherwise. Blocks of a fixed size mean that a matrix that grows is never copied as a whole.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Places = NDArray[np.int64]

FULL_BYTES = 128 << 20
"""A matrix of more bytes has 16 bits for each number: at 1,536 dimensions from 21,846 vectors on."""
BLOCK = 2_048
"""Rows of 16 bits that lie together."""
HALF = np.dtype("<f2")
"""IEEE 754, 16 bits."""


class Matrix:
    """Rows of `dimensions` numbers. They are added at the end, and stay."""

    def __init__(self, dimensions: int) -> None:
        """An empty one."""
        self.dimensions = dimensions
        self._blocks: list[NDArray[np.float16]] = []
        self._rest: Vectors = np.empty((0, dimensions), dtype=np.float32)
        """The rows behind those of the blocks, and room for further ones."""
        self._used = 0

    def __len__(self) -> int:
        return len(self._blocks) * BLOCK + self._used

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and dimensions."""
        return len(self), self.dimensions

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return sum(block.nbytes for block in self._blocks) + self._rest.nbytes

    def append(self, rows: Vectors) -> None:
        """Take in rows. Those of an empty matrix are kept as they are."""
        if self._blocks or (self._used + len(rows)) * self.dimensions * 4 > FULL_BYTES:
            self._pack(rows)
        elif not self._used:
            self._rest, self._used = rows, len(rows)
        else:
            self._make_room(self._used + len(rows))
            self._rest[self._used : self._used + len(rows)] = rows
            self._used += len(rows)

    def _make_room(self, rows: int) -> None:
        if rows <= len(self._rest):
            return
        # By a quarter more each time, so that many small additions do not copy everything each time.
        grown = np.empty((max(rows, len(self._rest) * 5 // 4), self.dimensions), dtype=np.float32)
        grown[: self._used] = self._rest[: self._used]
        self._rest = grown

    def _pack(self, rows: Vectors) -> None:
        """Take in rows as blocks. What does not fill one stays in 32 bits."""
        parts = [rows]
        if not self._blocks:
            parts.insert(0, self._rest[: self._used])
            self._rest, self._used = np.empty((BLOCK, self.dimensions), dtype=np.float32), 0
        for part in parts:
            for start in range(0, len(part), BLOCK):
                self._fill(part[start : start + BLOCK])

    def _fill(self, rows: Vectors) -> None:
        """Take in at most a block of rows."""
        fits = min(BLOCK - self._used, len(rows))
        self._rest[self._used : self._used + fits] = rows[:fits]
        self._used += fits
        if self._used == BLOCK:
            self._blocks.append(self._rest.astype(HALF))
            self._used = len(rows) - fits
            self._rest[: self._used] = rows[fits:]

    def parts(self, first: int = 0) -> Iterator[NDArray[np.floating]]:
        """The rows from `first` on, in order, some at a time."""
        for number, block in enumerate(self._blocks):
            if first < (number + 1) * BLOCK:
                yield block[max(0, first - number * BLOCK) :]
        rest = max(0, first - len(self._blocks) * BLOCK)
        if rest < self._used:
            yield self._rest[rest : self._used]

    def __getitem__(self, rows: Places) -> Vectors:
        """Copies of these rows, in 32 bits."""
        if not self._blocks:
            return self._rest[rows]
        values = np.empty((len(rows), self.dimensions), dtype=np.float32)
        numbers = rows // BLOCK
        for number in np.unique(numbers):
            mine = numbers == number
            source = self._blocks[number] if number < len(self._blocks) else self._rest
            values[mine] = source[rows[mine] % BLOCK]
        return values
