"""The vectors of a kind's memories in this process, by their contents, and their cosines with another vector.

They come with the operations, or from the file beside the snapshot. Contents without a vector of the present model are
embedded.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from livemem.errors import EmbeddingUnavailable, StoreUnavailable
from livemem.llm import embeddings
from livemem.llm.embeddings import EmbeddingError
from livemem.memories import operation
from livemem.memories.memory import Memory
from livemem.memories.state import State
from livemem.process import Process, Timer
from livemem.search import vectors as segments
from livemem.search.matrix import HALF
from livemem.store.bucket import MEMORY_VECTORS
from livemem.store.keys import MemoryKind
from livemem.store.vector_file import MEDIA_TYPE, BadVectors, name_of

Floats = NDArray[np.float32]
FAILED = "The service compares memories by their vectors, and the embedding model failed: {}"
MOST_KNOWN = 100_000
"""Vectors of all spaces that a process caches. With 1,536 numbers each they take 600 MB."""
AT_ONCE = 128
"""Texts that are embedded in one call, so that finished calls are kept if time runs out."""
SECONDS = 20.0
"""Seconds for a call of the embedding model."""
WORTH_KEEPING = 32
"""From this number of newly embedded texts on, their vectors are stored beside the snapshot."""


class Rows:
    """The vectors of one kind in one space by one model, as far as this process has them."""

    def __init__(self) -> None:
        # By the texts, whose hashes Python caches: hashing thousands of names for each search takes longer than it.
        self._rows: dict[str, int] = {}
        self._matrix: Floats = np.empty((0, 0), dtype=np.float32)
        self.snapshot = 0
        """The snapshot beside which vectors were last looked for."""
        self.lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, content: str) -> bool:
        return content in self._rows

    def has(self, content: str, dimensions: int) -> bool:
        """Whether there is a vector of this content, of this length."""
        return content in self._rows and self._matrix.shape[1] == dimensions

    def add(self, vectors: Mapping[str, Floats], dimensions: int) -> None:
        """Add vectors of contents. Those of another length than `dimensions` are left out. The first of a new length
        take the place of all others.
        """
        new = {
            text: vector
            for text, vector in vectors.items()
            if len(vector) == dimensions and not self.has(text, dimensions)
        }
        if not new:
            return
        if self._matrix.shape[1] != dimensions:
            self._rows, self._matrix = {}, np.empty((0, dimensions), dtype=np.float32)
            self.snapshot = 0
        first, end = len(self._rows), len(self._rows) + len(new)
        if end > len(self._matrix):
            grown = np.empty((max(end, len(self._matrix) * 5 // 4), dimensions), dtype=np.float32)
            grown[:first] = self._matrix[:first]
            self._matrix = grown
        self._matrix[first:end] = np.array(list(new.values()), dtype=np.float32)
        self._rows.update(zip(new, range(first, end), strict=True))

    def learn(self, content: str, vector: Floats) -> None:
        """Add the vector of a content that was just stored, if it has the length of the others."""
        with self.lock:
            if not self._rows or self._matrix.shape[1] == len(vector):
                self.add({content: vector}, len(vector))

    def of(self, content: str) -> Floats:
        """The vector of this content."""
        vector: Floats = self._matrix[self._rows[content]]
        return vector

    def cosines(self, contents: Sequence[str], vector: Floats) -> Floats:
        """The cosine of each content's vector with `vector`, all of length 1. Raises EmbeddingUnavailable where another
        request has just put vectors of another length in their place.
        """
        if not contents:
            return np.empty(0, dtype=np.float32)
        with self.lock:
            if not all(self.has(content, len(vector)) for content in contents):
                raise EmbeddingUnavailable(FAILED.format("its vectors have another length since a moment ago."))
            rows = np.fromiter(map(self._rows.__getitem__, contents), dtype=np.int64, count=len(contents))
            matrix, end = self._matrix, int(rows.max()) + 1
        if end > 2 * len(rows):
            return matrix[rows] @ vector
        # Most rows are wanted: to copy them would take longer than to multiply all.
        products: Floats = (matrix[:end] @ vector)[rows]
        return products


class _KnownRows:
    """The vectors that this process has used last."""

    def __init__(self, _: Timer) -> None:
        self._rows = LRUCache[tuple[str, MemoryKind, str], Rows](MOST_KNOWN, getsizeof=lambda rows: 1 + len(rows))
        self._lock = threading.Lock()

    def get(self, space_id: str, kind: MemoryKind, model: str) -> Rows:
        with self._lock:
            # Put in again each time, because its size may have grown.
            rows = self._rows.pop((space_id, kind, model), None)
            if rows is None:
                # One that is empty still is being filled: others wait for it, and do not read the same.
                rows = Rows()
            if 1 + len(rows) <= self._rows.maxsize:
                self._rows[space_id, kind, model] = rows
            return rows


def embed(
    process: Process,
    texts: Sequence[str],
    *,
    query: bool = False,
    seconds: float = SECONDS,
    dimensions: int | None = None,
) -> list[Floats]:
    """One vector for each text: 1 call for 128 of them. Raises EmbeddingUnavailable, also if they have not the length
    `dimensions`.
    """
    assert process.embed
    try:
        vectors = process.embed(texts, query=query, timeout=seconds)
        embeddings.check_length(process.settings, vectors, len(vectors[0]) if dimensions is None else dimensions)
    except EmbeddingError as error:
        raise EmbeddingUnavailable(FAILED.format(error.detail)) from error
    return [np.frombuffer(vector, dtype=np.float32) for vector in vectors]


def of(process: Process, space_id: str, kind: MemoryKind, state: State, dimensions: int) -> Rows:
    """The vectors of all memories of a state, of the length `dimensions`. Raises EmbeddingUnavailable.

    No request if all are known. Else 1 GET for a new snapshot, and calls of the model for vectors still missing.
    """
    model = embeddings.name(process.settings)
    rows = process.cache(_KnownRows).get(space_id, kind, model)
    with rows.lock:
        missing = _missing(state, rows, dimensions)
        if not missing:
            return rows
        rows.add(_of_operations(state, model, missing), dimensions)
        if state.snapshot and rows.snapshot != state.snapshot and _missing(state, rows, dimensions):
            uncounted = _missing(state, rows, dimensions)
            rows.add(_of_snapshot(process, space_id, kind, state.snapshot, dimensions, uncounted), dimensions)
            rows.snapshot = state.snapshot
        missing = _missing(state, rows, dimensions)
        for start in range(0, len(missing), AT_ONCE):
            batch = list(missing)[start : start + AT_ONCE]
            fresh = embed(process, batch, dimensions=dimensions)
            rows.add(dict(zip(batch, fresh, strict=True)), dimensions)
    if len(missing) >= WORTH_KEEPING and state.snapshot:
        # It only saves the next process the same work.
        with suppress(StoreUnavailable):
            keep(process, space_id, kind, state.snapshot, rows, state.memories.values())
    return rows


def _names(process: Process, contents: Iterable[str]) -> dict[bytes, str]:
    """The contents by the names that their vectors have in the bucket."""
    prefix = process.settings.embeddings_text_prefix
    return {name_of(content, prefix): content for content in contents}


def encoded(process: Process, vector: Floats) -> operation.StoredVector:
    """A vector as it is stored with its operation."""
    return operation.StoredVector.of(embeddings.name(process.settings), vector.astype(HALF).tobytes())


def keep(
    process: Process, space_id: str, kind: MemoryKind, snapshot: int, rows: Rows, memories: Iterable[Memory]
) -> None:
    """Store the vectors of memories beside a snapshot, over an existing file of the same model: 1 PUT."""
    names = _names(process, (memory.content for memory in memories))
    with rows.lock:
        rows_by_name = {name: rows.of(content) for name, content in names.items() if content in rows}
    if not rows_by_name:
        return
    key = MEMORY_VECTORS.key(space_id, kind, snapshot, embeddings.name(process.settings))
    body = segments.encode(rows_by_name)
    process.store.put(key, body, content_type=MEDIA_TYPE)


def _missing(state: State, rows: Rows, dimensions: int) -> dict[str, Memory]:
    return {memory.content: memory for memory in state.memories.values() if not rows.has(memory.content, dimensions)}


def _of_operations(state: State, model: str, missing: Mapping[str, Memory]) -> dict[str, Floats]:
    """The vectors that came with operations since the snapshot."""
    vectors = {}
    for content, memory in missing.items():
        vector = state.vectors.get(memory.memory_id)
        if vector and vector.model == model:
            decoded = _decoded(vector)
            if decoded is not None:
                vectors[content] = decoded
    return vectors


def _decoded(vector: operation.StoredVector) -> Floats | None:
    try:
        floats = np.frombuffer(vector.halves(), dtype=HALF).astype(np.float32)
    except ValueError:
        return None
    length = float(np.linalg.norm(floats))
    # A vector of another length would be near to every text.
    return floats / length if abs(length - 1) < segments.LENGTH_TOLERANCE else None


def _of_snapshot(
    process: Process, space_id: str, kind: MemoryKind, snapshot: int, dimensions: int, contents: Iterable[str]
) -> dict[str, Floats]:
    item = process.store.get(MEMORY_VECTORS.key(space_id, kind, snapshot, embeddings.name(process.settings)))
    if not item:
        return {}
    try:
        names, rows = segments.decode(item.body, dimensions)
    except BadVectors:
        return {}
    by_name = _names(process, contents)
    return {by_name[name]: row for name, row in zip(names, rows, strict=True) if name in by_name}
