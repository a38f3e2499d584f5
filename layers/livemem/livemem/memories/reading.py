"""Reading memories: by their ids, the newest, or those most similar to a question."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from livemem import clock, limits
from livemem.errors import EmbeddingUnavailable, InvalidRequest, MemoriesBroken, NotFound
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
from livemem.store import memory_keys as keys
from livemem.store.memory_keys import KINDS, Kind
from livemem.text.items import folded

QUERY_BYTES = 16_000
FOUND_DEFAULT, FOUND_MOST = 10, 50
RECENT_DEFAULT, RECENT_MOST = 10, 20
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
        known = self._terms
        if any(text not in known for text in texts):
            with self._lock:
                if len(known) + len(texts) > MOST_READ:
                    # A new dict, because other threads may read the old one now.
                    known = self._terms = {}
                known.update({text: frozenset(words.terms(text)) for text in texts if text not in known})
        return [known.get(text) or frozenset(words.terms(text)) for text in texts]


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
        found = [one for one in self.found if one.score >= score]
        return replace(self, found=found, below_floor=self.below_floor or len(found) < len(self.found))


def search(
    process: Process,
    space_id: str,
    query: str,
    *,
    kind: Kind | None = None,
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
    kind: Kind | None = None,
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
    kind: Kind | None = None,
    subject: str | None = None,
    limit: int = FOUND_DEFAULT,
    missing: list[str] | None = None,
) -> FoundMemories:
    """As `ask`, but only the memories that answer the question (search/evidence.py), or one of those that it joins.
    That may be none.

    It compares with all memories of the kinds asked, also with those about other subjects.
    """
    compared = _compared(process, space_id, query, kind, subject, missing)
    terms, asked = process.cache(_Terms), compared.asked.tolist()
    # The similarity of letters is no cosine.
    cosines = compared.scores if compared.by == "vector" else None
    texts = terms.of([" ".join((memory.content, *memory.subjects)) for memory in compared.memories])

    def answering(question: QuestionTerms) -> list[int]:
        baseline = Baseline.of(question, texts, cosines)
        places = evidence.worth_judging(
            question, baseline, [texts[at] for at in asked], None if cosines is None else cosines[compared.asked]
        )
        statements = [
            Statement(
                compared.memories[at].content,
                texts[at],
                frozenset[str]().union(*terms.of(compared.memories[at].subjects)),
                None if cosines is None else float(cosines[at]),
            )
            for at in (asked[place] for place in places)
        ]
        return [places[one] for one in evidence.answers(question, baseline, statements)]

    found_by_each = [answering(question) for question in QuestionTerms.all_of(query)]
    # In turn, so that no question takes the place of the others.
    best = [place for places in zip_longest(*found_by_each) for place in places if place is not None]
    scores = compared.scores[compared.asked]
    kept = [(place, float(scores[place])) for place in list(dict.fromkeys(best))[:limit]]
    found = _found(process, compared, sorted(kept, key=lambda one: one[1], reverse=True))
    return replace(found, below_floor=bool(asked) and not kept)


@dataclass(frozen=True)
class _Compared:
    """The unexpired memories of some kinds and their scores for a question. `asked`: the places of those about the
    subject.
    """

    some: Sequence[tuple[Kind, State]]
    memories: Sequence[Memory]
    scores: Floats
    asked: NDArray[np.int64]
    by: str
    degraded: str | None = None


def _compared(
    process: Process,
    space_id: str,
    query: str,
    kind: Kind | None,
    subject: str | None,
    missing: list[str] | None,
) -> _Compared:
    limits.check_text("q", query, QUERY_BYTES)
    tag = _tag(subject)
    some = _states(process, space_id, kind, missing)
    alive = [found.alive(process.clock()) for _, found in some]
    memories = [memory for among in alive for memory in among]
    about = [place for place, memory in enumerate(memories) if _is_about(memory, tag)]
    asked = np.array(about, dtype=np.int64)
    degraded = None
    if process.embed and len(asked):
        try:
            (vector,) = memory_vectors.embed(process, [query], query=True, seconds=QUERY_SECONDS)
            scores = _by_meaning(process, space_id, some, alive, vector)
            return _Compared(some, memories, scores, asked, "vector")
        except EmbeddingUnavailable as error:
            degraded = error.detail
    letters = np.zeros(len(memories), dtype=np.float32)
    letters[asked] = nearest.by_letters(process, [memories[place] for place in asked], query)
    return _Compared(some, memories, letters, asked, "lexical", degraded)


def _by_meaning(
    process: Process,
    space_id: str,
    some: Sequence[tuple[Kind, State]],
    alive: Sequence[list[Memory]],
    vector: Floats,
) -> Floats:
    rows = [memory_vectors.of(process, space_id, kind, found, len(vector)) for kind, found in some]
    return np.concatenate([nearest.by_meaning(among, vector, one) for among, one in zip(alive, rows, strict=True)])


def _found(process: Process, compared: _Compared, best: Sequence[tuple[int, float]]) -> FoundMemories:
    """The best of those asked for, by their places among them."""
    found = [NearMemory(compared.memories[compared.asked[place]], score) for place, score in best]
    return FoundMemories(_linked(process, compared.some, found), compared.by, compared.degraded)


def _linked(process: Process, some: Sequence[tuple[Kind, State]], found: Sequence[NearMemory]) -> list[NearMemory]:
    """The memories found, each with links to those that may say the same."""
    by_kind, now = dict(some), process.clock()
    return [NearMemory(by_kind[one.memory.kind].shown(one.memory, now), one.score) for one in found]


def recent(
    process: Process,
    space_id: str,
    *,
    kind: Kind | None = None,
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
    some, now = _states(process, space_id, kind, missing), process.clock()
    about = (memory for _, found in some for memory in _about(process, found, tag))
    newest = states.newest_first(one for one in about if after is None or place_of(one) < after)[:limit]
    by_kind = dict(some)
    return [by_kind[one.kind].shown(one, now) for one in newest]


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


def state_of(process: Process, space_id: str, kind: Kind) -> tuple[Kind, State]:
    """The memories of a kind, for several questions about them: 1 LIST. Raises NotFound, MemoriesBroken."""
    return _states(process, space_id, kind)[0]


def all_of(process: Process, space_id: str, kind: Kind) -> list[Memory]:
    """All unexpired memories of a kind, the newest first: 1 LIST. Raises NotFound, MemoriesBroken."""
    return states.newest_first(state_of(process, space_id, kind)[1].alive(process.clock()))


def load(process: Process, space_id: str, memory_id: str) -> Memory:
    """The memory: 1 LIST for each kind. Raises NotFound, MemoriesBroken."""
    found, memory = find(process, space_id, memory_id)
    return found.shown(memory, process.clock())


def find(process: Process, space_id: str, memory_id: str) -> tuple[State, Memory]:
    """The state that holds the memory, and the memory: 1 LIST for each kind. Raises NotFound, MemoriesBroken."""
    keys.check_memory_id(memory_id)
    missing: list[str] = []
    for _, found in _states(process, space_id, None, missing):
        memory = found.find(memory_id, process.clock())
        if memory:
            return found, memory
    if missing:
        # The memory may be in an unreadable operation.
        raise unreadable.error(missing[0], MemoriesBroken)
    raise NotFound("memory", memory_id)


def ids_from(process: Process, space_id: str, start: str) -> list[str]:
    """The ids that begin so, of memories that have not expired: 1 LIST for each kind.

    Raises NotFound (the space). Where there is none, and an operation cannot be read, raises MemoriesBroken.
    """
    missing: list[str] = []
    now = process.clock()
    states = _states(process, space_id, None, missing)
    found = [one for _, state in states for one in state.memories if one.startswith(start) and state.find(one, now)]
    if missing and not found:
        raise unreadable.error(missing[0], MemoriesBroken)
    return sorted(found)


def kind_of(process: Process, space_id: str, memory_id: str, cause: str, *, deleted: bool = False) -> Kind:
    """The kind whose log has the memory, or an operation of the same cause. `deleted`: also a deleted memory.

    1 LIST for each kind. Raises NotFound, MemoriesBroken.
    """
    keys.check_memory_id(memory_id)
    for kind, found in _states(process, space_id, None):
        if cause in found.done or memory_id in found.memories or (deleted and memory_id in found.deleted):
            return kind
    raise NotFound("deleted memory" if deleted else "memory", memory_id)


def _states(
    process: Process, space_id: str, kind: Kind | None, missing: list[str] | None = None
) -> list[tuple[Kind, State]]:
    """The states of one kind or of all. Unreadable operations are skipped, and their keys are added to `missing`."""
    heads.load_recent(process, space_id)
    some: Sequence[Kind] = KINDS if kind is None else [kind]
    gaps: list[str] = [] if missing is None else missing
    return list(zip(some, process.store.map(lambda one: log.load(process, space_id, one, gaps), some), strict=True))


def _tag(subject: str | None) -> str | None:
    """A subject in the form of stored ones. Raises InvalidRequest."""
    if subject is None:
        return None
    try:
        return check_subjects([subject], "subject")[0]
    except InvalidRequest as error:
        # There is only one subject.
        raise InvalidRequest.of("subject", error.fields[0].message) from None


def _about(process: Process, found: State, tag: str | None) -> list[Memory]:
    alive = found.alive(process.clock())
    return [memory for memory in alive if _is_about(memory, tag)]


def _is_about(memory: Memory, tag: str | None) -> bool:
    return tag is None or folded(tag) in map(folded, memory.subjects)
