"""What tools show: each result short enough for the model's window, and as the source that an answer may name."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from livemem.ask.question import AnswerSource
from livemem.memories.memory import Memory
from livemem.search.engine import Hit

CHARACTERS = 600
"""Of one result; what is cut says so."""
EXCERPT = 200
"""Characters of a source in the answer."""
TITLE = 120


@dataclass(frozen=True)
class CallResult:
    """What the model reads of a call, how many results that are, and the sources in it."""

    told: dict[str, Any] = field(default_factory=dict, hash=False)
    count: int = 0
    sources: tuple[AnswerSource, ...] = ()


def of_memories(found: Iterable[tuple[Memory, float | None]]) -> CallResult:
    """Memories with their scores, where there are any."""
    pairs = list(found)
    told = [_memory(memory, score) for memory, score in pairs]
    return _listed(told, [_source(one) for one, _ in pairs])


def of_hits(hits: Iterable[Hit]) -> CallResult:
    """What a search has found in notes, bank or conversations: the part of each text that fits best."""
    found = [(hit, _best_part(hit)) for hit in hits]
    told = [_hit(hit, part) for hit, part in found]
    sources = [
        AnswerSource(
            kind=hit.document.kind,
            id=hit.document.id,
            excerpt=_excerpt(_snippet(hit) or part),
            at=hit.document.time or None,
        )
        for hit, part in found
    ]
    return _listed(told, sources)


def of_stored(memory: Memory, *, merged: bool) -> CallResult:
    """A memory as it stands after it was stored, perhaps as part of one that was there."""
    told = _memory(memory, None) | {"merged_into_one_that_was_there": merged}
    return CallResult({"stored": told}, 1, (_source(memory),))


def _source(memory: Memory) -> AnswerSource:
    return AnswerSource(kind=memory.kind, id=memory.memory_id, excerpt=_excerpt(memory.content), at=memory.updated_at)


def _listed(told: list[dict[str, Any]], sources: list[AnswerSource]) -> CallResult:
    return CallResult({"results": told}, len(told), tuple(sources))


def _memory(memory: Memory, score: float | None) -> dict[str, Any]:
    told = {
        "id": memory.memory_id,
        "kind": memory.kind,
        **_cut(memory.content),
        "category": memory.category,
        "subjects": memory.subjects,
        "updated_at": memory.updated_at,
        "expires_at": memory.expires_at,
        "score": None if score is None else round(score, 3),
    }
    return {name: value for name, value in told.items() if value not in (None, [])}


def _hit(hit: Hit, part: str) -> dict[str, Any]:
    document = hit.document
    told = {
        "id": document.id,
        "kind": document.kind,
        "title": document.title[:TITLE],
        "text": part,
        "cut": len(part) < len(document.text) or None,
        "at": document.time,
        "by": document.author,
        "role": document.role,
        "category": document.category,
    }
    return {name: value for name, value in told.items() if value}


def _cut(text: str) -> dict[str, Any]:
    return {"text": text} if len(text) <= CHARACTERS else {"text": text[:CHARACTERS], "cut": True}


def _snippet(hit: Hit) -> str:
    return hit.document.text[slice(*hit.snippet)]


def _best_part(hit: Hit) -> str:
    """So much of the text around the snippet as has room."""
    text, (start, end) = hit.document.text, hit.snippet
    before = max(0, CHARACTERS - (end - start)) // 2
    first = max(0, min(start - before, len(text) - CHARACTERS))
    return text[first : first + CHARACTERS]


def _excerpt(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= EXCERPT else plain[: EXCERPT - 1].rstrip() + "…"
