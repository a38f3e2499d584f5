"""Results of tools: each one short enough for the model's window, and as a source that an answer may name."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from livemem.ask.question import AnswerSource
from livemem.memories.memory import Memory
from livemem.search.engine import Hit

CHARACTERS = 600
"""Of one result. A longer text is cut, and marked as cut."""
EXCERPT = 200
"""Characters of a source in the answer."""
TITLE = 120


@dataclass(frozen=True)
class CallResult:
    """The result of a call as the model reads it, the number of results, and their sources."""

    told: dict[str, Any] = field(default_factory=dict, hash=False)
    count: int = 0
    sources: tuple[AnswerSource, ...] = ()


def of_memories(found: Iterable[tuple[Memory, float | None]]) -> CallResult:
    """Memories with their scores, where they have one."""
    pairs = list(found)
    told = [_memory(memory, score) for memory, score in pairs]
    return _listed(told, [_source(one) for one, _ in pairs])


def of_hits(hits: Iterable[Hit], unread: int = 0) -> CallResult:
    """The hits of a search in notes, bank or conversations, each with the part of its text that fits best. `unread`:
    how many new objects it left unread.
    """
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
    result = _listed(told, sources)
    if unread:
        result.told["not_read_yet"] = f"{unread} new objects: search again to find what is in them."
    return result


def of_stored(memory: Memory, *, merged: bool) -> CallResult:
    """A memory as it is after it was stored. `merged`: it became part of a memory that was there."""
    told = _memory(memory, None) | {"merged_into_one_that_was_there": merged}
    return CallResult({"stored": told}, 1, (_source(memory),))


def _source(memory: Memory) -> AnswerSource:
    return AnswerSource(kind=memory.kind, id=memory.memory_id, excerpt=_excerpt(memory.content), at=memory.moment)


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
        "said_at": memory.said_at,
        "by": memory.said_by if memory.author or memory.provenance.user else None,
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
        "by": document.said_by,
        "role": document.role,
        "category": document.category,
        "superseded_by": hit.superseded_by,
    }
    return {name: value for name, value in told.items() if value}


def _cut(text: str) -> dict[str, Any]:
    return {"text": text} if len(text) <= CHARACTERS else {"text": text[:CHARACTERS], "cut": True}


def _snippet(hit: Hit) -> str:
    return hit.document.text[slice(*hit.snippet)]


def _best_part(hit: Hit) -> str:
    """The snippet with as much text around it as a result may have."""
    text, (start, end) = hit.document.text, hit.snippet
    before = max(0, CHARACTERS - (end - start)) // 2
    first = max(0, min(start - before, len(text) - CHARACTERS))
    return text[first : first + CHARACTERS]


def _excerpt(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= EXCERPT else plain[: EXCERPT - 1].rstrip() + "…"
