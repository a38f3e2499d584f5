"""Which memories are near to a candidate, and into which of them it is merged.

Vectors and letters choose the memories about which the LLM is asked. They decide only with MEMORY_MERGE=similarity.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from livemem.llm.embeddings import is_same_model
from livemem.memories.memory import Memory
from livemem.memories.memory_vectors import Floats, Rows
from livemem.memories.merging import Candidate, Near, Verdict
from livemem.memories.operation import By
from livemem.process import Process, Timer
from livemem.store.cache import TimedCache
from livemem.store.keys import MemoryKind
from livemem.text import similarity, text_tokens, wording
from livemem.text.similarity import Grams
from livemem.text.text_tokens import TextTokens

Judge = Callable[[str, Sequence[str]], Mapping[str, Verdict]]
"""Gives the verdicts on a new content and former ones, the nearest first. Some may have no verdict."""
NEAREST = 40
"""Memories that are compared. Memories about ten people in the same words are all nearly as near as the right one. One
that says the same in other words may be less near (docs/memories.md, "Candidates").
"""
LINKS = 5
"""Links of a memory to the nearest ones that have no verdict, at most."""
MOST_PREPARED = 50_000
"""Texts whose n-grams a process caches: some 4 kB each."""


@dataclass(frozen=True)
class Thresholds:
    """From `asked_from` on an LLM is asked, if there is one. From `linked_from` on two without a verdict are linked.

    Only with MEMORY_MERGE=similarity: from `same` on a draft is merged, from `ambiguous_from` on an LLM is asked.
    """

    same: float
    ambiguous_from: float
    asked_from: float
    linked_from: float


USUAL = Thresholds(0.85, 0.70, 0.20, 0.50)
"""For text-embedding-3-small, designed and not measured, and for models that are not listed here."""
LEXICAL = Thresholds(0.50, 0.37, 0.10, 0.25)
"""For `similarity.lexical`, without an embedding model."""
_MINILM = Thresholds(0.78, 0.65, 0.20, 0.45)
# The E5 models have all cosines close together. For the larger ones this is known, and not measured here.
_E5 = Thresholds(0.93, 0.92, 0.78, 0.86)
_BY_MODEL: Mapping[str, Thresholds] = {
    "text-embedding-3-small": USUAL,
    "offline-fuse": Thresholds(0.63, 0.51, 0.20, 0.40),
    "all-minilm-l6-v2": _MINILM,
    "all-minilm:l6-v2": _MINILM,
    "all-minilm": _MINILM,
    "multilingual-e5-small": _E5,
    "multilingual-e5-base": _E5,
    "multilingual-e5-large": _E5,
}


def of(kind: MemoryKind, model: str) -> Thresholds:  # noqa: ARG001 - the kinds were measured to be alike
    """The thresholds of a model, by its name in the settings."""
    return next((threshold for name, threshold in _BY_MODEL.items() if is_same_model(name, model)), USUAL)


class _Bags:
    """The bags of words (`wording.bag`) of recently compared texts. Texts in the same words have the same bag."""

    def __init__(self, _: Timer) -> None:
        self._bags: dict[str, str] = {}
        self._lock = threading.Lock()

    def of(self, texts: Sequence[str]) -> list[str]:
        """The bag of each text. A new one takes some 20 microseconds, a known one less than one."""
        bags = self._bags
        if any(text not in bags for text in texts):
            with self._lock:
                if len(bags) + len(texts) > MOST_PREPARED:
                    # A new dict, because other threads may read the old one now.
                    bags = self._bags = {}
                bags.update({text: wording.bag(text) for text in texts if text not in bags})
        return [bags.get(text) or wording.bag(text) for text in texts]


_PREPARED = partial(TimedCache[str, Grams], MOST_PREPARED)
"""The n-grams of recently compared texts."""


def by_letters(process: Process, memories: Sequence[Memory], text: str) -> list[float]:
    """The similarity of each memory with a text by their n-grams, 0 to 1."""
    cache, grams = process.cache(_PREPARED), similarity.prepare(text)
    texts = [memory.content for memory in memories]
    return [similarity.like(grams, cache.get(text) or cache.put(text, similarity.prepare(text))) for text in texts]


def by_meaning(memories: Sequence[Memory], vector: Floats, rows: Rows) -> Floats:
    """The cosine of each memory with a vector."""
    return rows.cosines([memory.content for memory in memories], vector)


def best(scores: Sequence[float] | Floats, count: int) -> list[tuple[int, float]]:
    """The places and values of the highest scores, the highest first. Of equal scores the first place comes first."""
    values = np.asarray(scores, dtype=np.float32)
    if len(values) > count:
        least = np.partition(values, len(values) - count)[len(values) - count]
        places = np.flatnonzero(values >= least)
    else:
        places = np.arange(len(values))
    order = places[np.argsort(-values[places], kind="stable")][:count]
    return [(int(place), float(values[place])) for place in order]


def find(
    process: Process, alive: Sequence[Memory], content: str, vector: Floats | None, rows: Rows | None
) -> list[Near]:
    """The memories most similar to `content`, by meaning or else by n-grams: up to 40, the nearest first.

    Memories in the same words come before all others.
    """
    by: By = "lexical"
    scores: Sequence[float] | Floats
    if vector is not None and rows is not None:
        scores, by = by_meaning(alive, vector, rows), "vector"
    else:
        scores = by_letters(process, alive, content)
    same = _in_the_same_words(process, alive, content)
    # Of two equally near memories the older one comes first.
    words = [
        Near(alive[place], max(0.0, score), by)
        for place, score in best(scores, NEAREST + len(same))
        if place not in same
    ]
    return [*(Near(alive[place], 1.0, "text") for place in same), *words[:NEAREST]]


def _in_the_same_words(process: Process, alive: Sequence[Memory], content: str) -> list[int]:
    """The places of the memories that say `content` in the same words."""
    content_bag = wording.bag(content)
    bags = process.cache(_Bags).of([memory.content for memory in alive])
    return [
        place for place, bag in enumerate(bags) if bag == content_bag and wording.same(content, alive[place].content)
    ]


def bounds_of(process: Process, kind: MemoryKind, by: By) -> Thresholds:
    """The thresholds for a score of this origin."""
    return of(kind, process.settings.embeddings_model) if by == "vector" else LEXICAL


def to_ask(process: Process, candidate: Candidate, nears: Sequence[Near]) -> list[Near]:
    """The nearest memories about which the LLM is asked: none if one says it in the same words. One that shares only a
    date with the candidate is left out.

    If only one of that memory and the candidate expires, the LLM is asked about memories that live as the candidate.
    """
    kind, same_words = candidate.memory.kind, [near for near in nears if near.by == "text"]
    words = text_tokens.read(candidate.content)
    if any(not _lives_otherwise(candidate, near) for near in same_words):
        return []
    return [
        near
        for near in nears
        if near.by != "text"
        and near.score >= bounds_of(process, kind, near.by).asked_from
        and not _shares_a_date_alone(candidate.memory, words, near.memory)
        and not (same_words and _lives_otherwise(candidate, near))
    ]


def _shares_a_date_alone(memory: Memory, words: TextTokens, other: Memory) -> bool:
    """Whether all that both name is a date or a time. Texts without a common word may be in two languages."""
    tokens = text_tokens.read(other.content)
    is_shared = words.undated & tokens.undated or set(memory.subjects) & set(other.subjects)
    return bool(words.words & tokens.words) and not is_shared


def same(
    process: Process, candidate: Candidate, nears: Sequence[Near], judge: Judge
) -> Iterator[tuple[Near, Verdict | None]]:
    """The memories that say the same as a candidate, or contradict it, each with the LLM's verdict if it has one.

    The best one to merge into comes first.
    """
    if process.settings.memory_merge == "similarity":
        yield from _by_likeness(process, candidate, nears, judge)
        return
    same_words = [near for near in nears if near.by == "text"]
    yield from ((near, None) for near in same_words if not _lives_otherwise(candidate, near))
    candidates = to_ask(process, candidate, nears)
    verdicts = judge(candidate.content, [near.text for near in candidates]) if candidates else {}
    judged: list[tuple[Near, Verdict]] = [
        (near, verdict) for near in candidates if (verdict := verdicts.get(near.text)) in ("same", "contradicts")
    ]
    yield from sorted(judged, key=lambda pair: (pair[1] != "same", _lives_otherwise(candidate, pair[0])))
    yield from ((near, None) for near in same_words)


def unknown(process: Process, candidate: Candidate, nears: Sequence[Near], judge: Judge) -> list[str]:
    """The memories to which the candidate is linked: the nearest ones without a verdict."""
    if process.settings.memory_merge == "similarity":
        return []
    candidates = to_ask(process, candidate, nears)
    verdicts = judge(candidate.content, [near.text for near in candidates]) if candidates else {}
    contents = [
        near.memory.memory_id
        for near in candidates
        if near.text not in verdicts and near.score >= bounds_of(process, candidate.memory.kind, near.by).linked_from
    ]
    return contents[:LINKS]


def _by_likeness(
    process: Process, candidate: Candidate, nears: Sequence[Near], judge: Judge
) -> Iterator[tuple[Near, Verdict | None]]:
    """The same with MEMORY_MERGE=similarity.

    At or above the threshold two say the same, unless the texts are about different things. If the candidate is merged
    into none of those, the LLM is asked about the nearest of the others, from `ambiguous_from` on.
    """
    sure, doubtful = [], []
    for near in nears:
        bounds = bounds_of(process, candidate.memory.kind, near.by)
        if near.by == "text" or (near.score >= bounds.same and not similarity.differs(candidate.content, near.text)):
            sure.append(near)
        elif near.score >= bounds.ambiguous_from:
            doubtful.append(near)
    for near in sorted(sure, key=lambda near: _lives_otherwise(candidate, near)):
        yield near, None
    for near in doubtful[:1]:
        verdict = judge(candidate.content, [near.text]).get(near.text)
        if verdict in ("same", "contradicts"):
            yield near, verdict


def _lives_otherwise(candidate: Candidate, near: Near) -> bool:
    """Whether one of both is permanent and the other expires.

    A permanent candidate belongs to a permanent memory. Merged into an expiring one it would exist twice. But a
    candidate with `replace` that expires may replace any memory.
    """
    temporary = candidate.memory.expires_at is not None
    if temporary and candidate.replace:
        return False
    return temporary != (near.memory.expires_at is not None)
