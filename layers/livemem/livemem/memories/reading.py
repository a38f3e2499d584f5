"""Reading memories: by their ids, the newest, or those most similar to a question."""

from collections.abc import Sequence
from dataclasses import dataclass

from livemem import limits
from livemem.errors import EmbeddingUnavailable, InvalidRequest, MemoriesBroken, NotFound
from livemem.memories import log, memory_vectors, nearest
from livemem.memories import state as states
from livemem.memories.memory import Memory, check_subjects
from livemem.memories.memory_vectors import Floats
from livemem.memories.state import State
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import unreadable
from livemem.store import memory_keys as keys
from livemem.store.memory_keys import KINDS, Kind

QUERY_BYTES = 16_000
FOUND_DEFAULT, FOUND_MOST = 10, 50
RECENT_DEFAULT, RECENT_MOST = 10, 20
QUERY_SECONDS = 2.0
"""Seconds for the question's vector. Without it memories are compared by their letters."""


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


def search(
    process: Process,
    space_id: str,
    query: str,
    *,
    kind: Kind | None = None,
    subject: str | None = None,
    limit: int = FOUND_DEFAULT,
    known: tuple[Kind, State] | None = None,
) -> list[NearMemory]:
    """The memories most similar to a question: `ask` without its further results."""
    return ask(process, space_id, query, kind=kind, subject=subject, limit=limit, known=known).found


def ask(
    process: Process,
    space_id: str,
    query: str,
    *,
    kind: Kind | None = None,
    subject: str | None = None,
    limit: int = FOUND_DEFAULT,
    missing: list[str] | None = None,
    known: tuple[Kind, State] | None = None,
) -> FoundMemories:
    """The unexpired memories most similar to a question, also with low scores.

    1 LIST for each kind, and 1 call of the embedding model. If that fails, memories are compared by their letters.
    `known` is a kind as `state_of` has just read it, which then alone is searched, without a LIST.
    Unreadable operations are skipped, and their keys are added to `missing`. Raises NotFound, InvalidRequest,
    MemoriesBroken.
    """
    limits.check_text("q", query, QUERY_BYTES)
    tag = _tag(subject)
    some = [known] if known else _states(process, space_id, kind, missing)
    wanted = [(one, _about(process, found, tag)) for one, found in some]
    degraded = None
    if process.embed and any(memories for _, memories in wanted):
        try:
            (vector,) = memory_vectors.embed(process, [query], query=True, seconds=QUERY_SECONDS)
            scored = _by_meaning(process, space_id, some, wanted, vector, limit)
            return FoundMemories(_linked(process, some, _best(scored, limit)), "vector")
        except EmbeddingUnavailable as error:
            degraded = error.detail
    scored = [
        one for _, memories in wanted for one in _best_of(memories, nearest.by_letters(process, memories, query), limit)
    ]
    return FoundMemories(_linked(process, some, _best(scored, limit)), "lexical", degraded)


def _linked(process: Process, some: Sequence[tuple[Kind, State]], found: Sequence[NearMemory]) -> list[NearMemory]:
    """The memories found, each with links to those that may say the same."""
    by_kind, now = dict(some), process.clock()
    return [NearMemory(by_kind[one.memory.kind].shown(one.memory, now), one.score) for one in found]


def _by_meaning(
    process: Process,
    space_id: str,
    some: Sequence[tuple[Kind, State]],
    wanted: Sequence[tuple[Kind, list[Memory]]],
    vector: Floats,
    limit: int,
) -> list[NearMemory]:
    scored: list[NearMemory] = []
    for (kind, found), (_, memories) in zip(some, wanted, strict=True):
        rows = memory_vectors.of(process, space_id, kind, found, len(vector))
        scored += _best_of(memories, nearest.by_meaning(memories, vector, rows), limit)
    return scored


def _best_of(memories: Sequence[Memory], scores: Sequence[float] | Floats, limit: int) -> list[NearMemory]:
    return [NearMemory(memories[place], score) for place, score in nearest.best(scores, limit)]


def _best(scored: list[NearMemory], limit: int) -> list[NearMemory]:
    return sorted(scored, key=lambda one: one.score, reverse=True)[:limit]


def recent(
    process: Process,
    space_id: str,
    *,
    kind: Kind | None = None,
    subject: str | None = None,
    limit: int = RECENT_DEFAULT,
    missing: list[str] | None = None,
) -> list[Memory]:
    """The unexpired memories that were stored or changed last: 1 LIST for each kind.

    Unreadable operations are skipped, and their keys are added to `missing`. Raises NotFound, InvalidRequest,
    MemoriesBroken.
    """
    tag = _tag(subject)
    some, now = _states(process, space_id, kind, missing), process.clock()
    newest = states.newest_first(memory for _, found in some for memory in _about(process, found, tag))[:limit]
    by_kind = dict(some)
    return [by_kind[one.kind].shown(one, now) for one in newest]


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
    return alive if tag is None else [memory for memory in alive if tag in memory.subjects]
