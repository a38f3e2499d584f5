"""Which memories are near to what is to be stored, and of which it becomes a part."""

import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from cachetools import LRUCache

from livemem.memories import likeness, thresholds
from livemem.memories.likeness import Grams
from livemem.memories.memory import Memory
from livemem.memories.merging import Candidate, Near, Verdict
from livemem.memories.operation import By
from livemem.memories.vectors import Floats, Rows
from livemem.process import Process, Timer
from livemem.store.memory_keys import Kind

Judge = Callable[[str, str], Verdict | None]
"""Says of a new and a former content whether they say the same; None: nobody knows."""
NEAREST = 30
"""Memories that are looked at: what is said of ten people in the same words is nearly as near as what is said of one,
and beside what holds for ever may stand what holds for a time.
"""
MOST_PREPARED = 50_000
"""Texts whose n-grams a process keeps: some 4 kB each."""


class _Prepared:
    """The n-grams of texts that were compared a short time ago."""

    def __init__(self, _: Timer) -> None:
        self._grams = LRUCache[str, Grams](MOST_PREPARED)
        self._lock = threading.Lock()

    def get(self, text: str) -> Grams:
        with self._lock:
            found = self._grams.get(text)
        if found is None:
            found = likeness.prepare(text)
            with self._lock:
                self._grams[text] = found
        return found


def by_letters(process: Process, memories: Sequence[Memory], text: str) -> list[float]:
    """The likeness of each memory with a text by their n-grams, 0 to 1."""
    prepared, wanted = process.cache(_Prepared), likeness.prepare(text)
    return [likeness.like(wanted, prepared.get(memory.content)) for memory in memories]


def by_meaning(memories: Sequence[Memory], vector: Floats, rows: Rows) -> Floats:
    """The cosine of each memory with a vector."""
    return rows.cosines([memory.content for memory in memories], vector)


def best(scores: Sequence[float] | Floats, count: int) -> list[tuple[int, float]]:
    """The places of the highest scores and these, the highest first; of equal ones the first."""
    values = np.asarray(scores, dtype=np.float32)
    if len(values) > count:
        least = np.partition(values, len(values) - count)[len(values) - count]
        found = np.flatnonzero(values >= least)
    else:
        found = np.arange(len(values))
    order = found[np.argsort(-values[found], kind="stable")][:count]
    return [(int(place), float(values[place])) for place in order]


def nearest(
    process: Process, alive: Sequence[Memory], content: str, vector: Floats | None, rows: Rows | None
) -> list[Near]:
    """The memories that are most like `content`, by meaning, or else by n-grams: up to 30, the nearest first."""
    by: By = "lexical"
    scores: Sequence[float] | Floats
    if vector is not None and rows is not None:
        scores, by = by_meaning(alive, vector, rows), "vector"
    else:
        scores = by_letters(process, alive, content)
    # Of two that are as near the one first that was there longer.
    text = likeness.normalised(content)
    return [
        Near(alive[place], 1.0, "text")
        if likeness.normalised(alive[place].content) == text
        else Near(alive[place], max(0.0, score), by)
        for place, score in best(scores, NEAREST)
    ]


def same(
    process: Process, kind: Kind, candidate: Candidate, there: Sequence[Near], judge: Judge
) -> Iterator[tuple[Near, Verdict | None]]:
    """The memories that say the same as a candidate, that first of which it should become a part, each with what the
    LLM said of it where it was asked.

    At or above the threshold they do, unless the texts speak of different things. If it becomes a part of none of those
    the LLM is asked of the others, from `ambiguous_from` on. Where there is none they stand apart: what is there twice
    can be merged later, what was merged wrongly is hidden.
    """
    model = process.settings.embeddings_model
    sure, doubtful = [], []
    for near in there:
        bounds = thresholds.of(kind, model) if near.by == "vector" else thresholds.LEXICAL
        if near.by == "text" or (near.score >= bounds.same and not likeness.differs(candidate.content, near.text)):
            sure.append(near)
        elif near.score >= bounds.ambiguous_from:
            doubtful.append(near)
    for near in sorted(sure, key=lambda near: _lives_otherwise(candidate, near)):
        yield near, None
    for near in doubtful:
        verdict = judge(candidate.content, near.text)
        if verdict in ("same", "contradicts"):
            yield near, verdict


def _lives_otherwise(candidate: Candidate, near: Near) -> bool:
    """Whether one of both holds for ever and the other does not.

    What holds for ever belongs to what holds for ever: as a part of what stands beside that for a time it would be
    there twice. But what is most similar is replaced, however long it lives.
    """
    temporary = candidate.memory.expires_at is not None
    if temporary and candidate.replace:
        return False
    return temporary != (near.memory.expires_at is not None)
