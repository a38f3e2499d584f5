"""Reading memories: by their ids, the newest, or those most similar to a question."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from livemem import clock, limits
from livemem.errors import EmbeddingUnavailable, InvalidRequest, LiveMemoryError, MemoriesBroken, NotFound
from livemem.memories import log, memory_vectors, nearest
from livemem.memories import state as states
from livemem.memories.memory import Memory, check_subjects
from livemem.memories.memory_vectors import Floats
from livemem.memories.state import State
from livemem.process import Process, Timer
from livemem.search import evidence, words
from livemem.search.evidence import Baseline, QuestionTerms, Statement
from livemem.spaces import head as heads
from livemem.spaces import unreadable
from livemem.store import keys
from livemem.store.keys import MEMORY_KINDS, MemoryKind
from livemem.text.items import folded

QUERY_BYTES = 16_000
FOUND_DEFAULT, FOUND_MOST = 10, 50
RECENT_DEFAULT = 10
QUERY_SECONDS = 2.0
"""Seconds for the question's vector. Without it memories are compared by their letters."""
MOST_READ = 50_000
"""Texts whose terms a process caches: some 3 kB each."""

Place = tuple[str, str]
"""Of a memory in the list of the newest: when it was stored or changed, and its id."""


class _Terms:
    """The terms of recently compared texts: a new one takes some 50 microseconds, a known one less than one."""

    def __init__(self, _: Timer) -> None:
        self._terms: dict[str, frozenset[str]] = {}
        self._lock = threading.Lock()

    def of(self, texts: Sequence[str]) -> list[frozenset[str]]:
        """The terms of each text."""
        terms = self._terms
        if any(text not in terms for text in texts):
            with self._lock:
                if len(terms) + len(texts) > MOST_READ:
                    # A new dict, because other threads may read the old one now.
                    terms = self._terms = {}
                terms.update({text: frozenset(words.terms(text)) for text in texts if text not in terms})
        return [terms.get(text) or frozenset(words.terms(text)) for text in texts]


@dataclass(frozen=True)
class NearMemory:
    """A memory and its score for the question: a cosine, or the similarity of the letters."""

    memory: Memory
    score: float


@dataclass(frozen=True)
class FoundMemories:
    """The memories found, the best first. `degraded`: why the embedding model was not used although there is one."""

    found: list[NearMemory]
    by: str
    degraded: str | None = None
    below_floor: bool = False
    """Whether memories were compared, and none of them answers the question."""

    def at_least(self, score: float | None) -> "FoundMemories":
        """Those with at least this cosine; all where letters were compared, or for None."""
        if score is None or self.by != "vector":
            return self
        hits = [hit for hit in self.found if hit.score >= score]
        return replace(self, found=hits, below_floor=self.below_floor or len(hits) < len(self.found))


def search(
    process: Process,
    space_id: str,
    query: str,
    *,
    kind: MemoryKind | None = None,
    subject: str | None = None,
    limit: int = FOUND_DEFAULT,
) -> list[NearMemory]:
    """The memories most similar to a question: `ask` without its further results."""
    return ask(process, space_id, query, kind=kind, subject=subject, limit=limit).found


def ask(
    process: Process,
    space_id: str,
    query: str,
    *,
    kind: MemoryKind | None = None,
    subject: str | None = None,
    limit: int = FOUND_DEFAULT,
    missing: list[str] | None = None,
) -> FoundMemories:
    """The unexpired memories most similar to a question, also with low scores.

    1 LIST for each kind, and 1 call of the embedding model. If that fails, memories are compared by their letters.
    Unreadable operations are skipped, and their keys are added to `missing`. Raises NotFound, InvalidRequest,
    MemoriesBroken.
    """
    compared = _compared(process, space_id, query, kind, subject, missing)
    return _found(process, compared, nearest.best(compared.scores[compared.asked], limit))


def answers(
    process: Process,
    space_id: str,
    query: str,
    *,
    kind: MemoryKind | None = None,
    subject: str | None = None,
    limit: int = FOUND_DEFAULT,
    missing: list[str] | None = None,
) -> FoundMemories:
    """As `ask`, but only the memories that answer the question (search/evidence.py), or one of those that it joins.
    That may be none.

    It compares with all memories of the kinds asked, also with those about other subjects.
    """
    compared = _compared(process, space_id, query, kind, subject, missing)
    terms, places_asked = process.cache(_Terms), compared.asked.tolist()
    # The similarity of letters is no cosine.
    cosines = compared.scores if compared.by == "vector" else None
    texts = terms.of([" ".join((memory.content, *memory.subjects)) for memory in compared.memories])

    def answering(question: QuestionTerms) -> list[int]:
        baseline = Baseline.of(question, texts, cosines)
        places = evidence.worth_judging(
            question, baseline, [texts[at] for at in places_asked], None if cosines is None else cosines[compared.asked]
        )
        statements = [
            Statement(
                compared.memories[at].content,
                texts[at],
                frozenset[str]().union(*terms.of(compared.memories[at].subjects)),
                None if cosines is None else float(cosines[at]),
            )
            for at in (places_asked[place] for place in places)
        ]
        return [places[answer] for answer in evidence.answers(question, baseline, statements)]

    found_by_each = [answering(question) for question in QuestionTerms.all_of(query)]
    # In turn, so that no question takes the place of the others.
    best = [place for places in zip_longest(*found_by_each) for place in places if place is not None]
    scores = compared.scores[compared.asked]
    best_places = [(place, float(scores[place])) for place in list(dict.fromkeys(best))[:limit]]
    hits = _found(process, compared, sorted(best_places, key=lambda pair: pair[1], reverse=True))
    return replace(hits, below_floor=bool(places_asked) and not best_places)


@dataclass(frozen=True)
class _Compared:
    """The unexpired memories of some kinds and their scores for a question. `asked`: the places of those about the
    subject.
    """

    some: Sequence[tuple[MemoryKind, State]]
    memories: Sequence[Memory]
    scores: Floats
    asked: NDArray[np.int64]
    by: str
    degraded: str | None = None


def _compared(
    process: Process,
    space_id: str,
    query: str,
    kind: MemoryKind | None,
    subject: str | None,
    missing: list[str] | None,
) -> _Compared:
    limits.check_text("q", query, QUERY_BYTES)
    tag = _tag(subject)
    states = _states(process, space_id, kind, missing)
    alive = [state.alive(process.clock()) for _, state in states]
    memories = [memory for among in alive for memory in among]
    about = [place for place, memory in enumerate(memories) if _is_about(memory, tag)]
    place_array = np.array(about, dtype=np.int64)
    degraded = None
    if process.embed and len(place_array):
        try:
            (vector,) = memory_vectors.embed(process, [query], query=True, seconds=QUERY_SECONDS)
            scores = _by_meaning(process, space_id, states, alive, vector)
            return _Compared(states, memories, scores, place_array, "vector")
        except EmbeddingUnavailable as error:
            degraded = error.detail
    letters = np.zeros(len(memories), dtype=np.float32)
    letters[place_array] = nearest.by_letters(process, [memories[place] for place in place_array], query)
    return _Compared(states, memories, letters, place_array, "lexical", degraded)


def _by_meaning(
    process: Process,
    space_id: str,
    states: Sequence[tuple[MemoryKind, State]],
    alive: Sequence[list[Memory]],
    vector: Floats,
) -> Floats:
    rows = [memory_vectors.of(process, space_id, kind, state, len(vector)) for kind, state in states]
    return np.concatenate(
        [nearest.by_meaning(among, vector, matrix) for among, matrix in zip(alive, rows, strict=True)]
    )


def _found(process: Process, compared: _Compared, best: Sequence[tuple[int, float]]) -> FoundMemories:
    """The best of those asked for, by their places among them."""
    hits = [NearMemory(compared.memories[compared.asked[place]], score) for place, score in best]
    return FoundMemories(_linked(process, compared.some, hits), compared.by, compared.degraded)


def _linked(
    process: Process, states: Sequence[tuple[MemoryKind, State]], hits: Sequence[NearMemory]
) -> list[NearMemory]:
    """The memories found, each with links to those that may say the same."""
    by_kind, now = dict(states), process.clock()
    return [NearMemory(by_kind[hit.memory.kind].shown(hit.memory, now), hit.score) for hit in hits]


def recent(
    process: Process,
    space_id: str,
    *,
    kind: MemoryKind | None = None,
    subject: str | None = None,
    limit: int = RECENT_DEFAULT,
    after: Place | None = None,
    missing: list[str] | None = None,
) -> list[Memory]:
    """The unexpired memories that were stored or changed last, or those behind `after`: 1 LIST for each kind.

    Unreadable operations are skipped, and their keys are added to `missing`. Raises NotFound, InvalidRequest,
    MemoriesBroken.
    """
    tag = _tag(subject)
    state_pairs, now = _states(process, space_id, kind, missing), process.clock()
    about = (memory for _, state in state_pairs for memory in _about(process, state, tag))
    newest = states.newest_first(memory for memory in about if after is None or place_of(memory) < after)[:limit]
    by_kind = dict(state_pairs)
    return [by_kind[memory.kind].shown(memory, now) for memory in newest]


def place_of(memory: Memory) -> Place:
    """The place of a memory in the list of the newest."""
    return memory.updated_at, memory.memory_id


def place_text(memory: Memory) -> str:
    """This place as a cursor holds it."""
    return "/".join(place_of(memory))


def parse_place(text: str) -> Place:
    """The place in such a text. Raises ValueError."""
    moment, _, memory_id = text.partition("/")
    clock.parse(moment)
    return moment, keys.check_memory_id(memory_id)


def state_of(process: Process, space_id: str, kind: MemoryKind) -> tuple[MemoryKind, State]:
    """The memories of a kind, for several questions about them: 1 LIST. Raises NotFound, MemoriesBroken."""
    return _states(process, space_id, kind)[0]


def all_of(process: Process, space_id: str, kind: MemoryKind) -> list[Memory]:
    """All unexpired memories of a kind, the newest first: 1 LIST. Raises NotFound, MemoriesBroken."""
    return states.newest_first(state_of(process, space_id, kind)[1].alive(process.clock()))


def load(process: Process, space_id: str, memory_id: str) -> Memory:
    """The memory: 1 LIST for each kind. Raises NotFound, MemoriesBroken."""
    state, memory = find(process, space_id, memory_id)
    return state.shown(memory, process.clock())


def find(process: Process, space_id: str, memory_id: str) -> tuple[State, Memory]:
    """The state that holds the memory, and the memory: 1 LIST for each kind. Raises NotFound, MemoriesBroken."""
    keys.check_memory_id(memory_id)
    missing: list[str] = []
    for _, state in _states(process, space_id, None, missing):
        memory = state.find(memory_id, process.clock())
        if memory:
            return state, memory
    raise _not_found("memory", memory_id, missing)


def _not_found(what: str, memory_id: str, missing: Sequence[str]) -> LiveMemoryError:
    """The error for a memory that no state has: it may be in an unreadable operation."""
    return unreadable.error(missing[0], MemoriesBroken) if missing else NotFound(what, memory_id)


def ids_from(process: Process, space_id: str, start: str) -> list[str]:
    """The ids that begin so, of memories that have not expired: 1 LIST for each kind.

    Raises NotFound (the space). Where there is none, and an operation cannot be read, raises MemoriesBroken.
    """
    missing: list[str] = []
    now = process.clock()
    states = _states(process, space_id, None, missing)
    ids = [
        memory_id
        for _, state in states
        for memory_id in state.memories
        if memory_id.startswith(start) and state.find(memory_id, now)
    ]
    if missing and not ids:
        raise unreadable.error(missing[0], MemoriesBroken)
    return sorted(ids)


def kind_of(process: Process, space_id: str, memory_id: str, cause: str, *, deleted: bool = False) -> MemoryKind:
    """The kind whose log has the memory, or an operation of the same cause. `deleted`: also a deleted memory.

    1 LIST for each kind. Raises NotFound, MemoriesBroken.
    """
    keys.check_memory_id(memory_id)
    missing: list[str] = []
    for kind, state in _states(process, space_id, None, missing):
        if cause in state.done or memory_id in state.memories or (deleted and memory_id in state.deleted):
            return kind
    raise _not_found("deleted memory" if deleted else "memory", memory_id, missing)


def _states(
    process: Process, space_id: str, kind: MemoryKind | None, missing: list[str] | None = None
) -> list[tuple[MemoryKind, State]]:
    """The states of one kind or of all. Unreadable operations are skipped, and their keys are added to `missing`."""
    heads.load_recent(process, space_id)
    kinds: Sequence[MemoryKind] = MEMORY_KINDS if kind is None else [kind]
    gaps: list[str] = [] if missing is None else missing
    return list(
        zip(kinds, process.store.map(lambda of_kind: log.load(process, space_id, of_kind, gaps), kinds), strict=True)
    )


def _tag(subject: str | None) -> str | None:
    """A subject in the form of stored ones. Raises InvalidRequest."""
    if subject is None:
        return None
    try:
        return check_subjects([subject], "subject")[0]
    except InvalidRequest as error:
        # There is only one subject.
        raise InvalidRequest.of("subject", error.fields[0].message) from None


def _about(process: Process, state: State, tag: str | None) -> list[Memory]:
    alive = state.alive(process.clock())
    return [memory for memory in alive if _is_about(memory, tag)]


def _is_about(memory: Memory, tag: str | None) -> bool:
    return tag is None or folded(tag) in map(folded, memory.subjects)
