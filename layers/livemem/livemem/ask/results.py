"""Results of tools: each one short enough for the model's window, and as a source that an answer may name."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from livemem import clock
from livemem.ask.question import AnswerSource
from livemem.bank.files import File
from livemem.conversations.reading import Item, Page
from livemem.memories.memory import Memory
from livemem.notes.note import Note
from livemem.recall import by_id
from livemem.recall.by_id import ReadRequest, Thing
from livemem.search.documents import BANK, MEMORY, Document
from livemem.search.engine import Hit
from livemem.text.invisible import visible

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


def of_memories(memories: Iterable[tuple[Memory, float | None]]) -> CallResult:
    """Memories with their scores, where they have one."""
    pairs = list(memories)
    items = [_memory(memory, score) for memory, score in pairs]
    return _listed(items, [_source(memory) for memory, _ in pairs])


def of_hits(hits: Iterable[Hit], unread: int = 0) -> CallResult:
    """The hits of a search in notes, bank or conversations, each with the part of its text that fits best. `unread`:
    how many new objects it left unread.
    """
    parts = [(hit, _best_part(hit)) for hit in hits]
    sources = [
        AnswerSource(
            kind=_kind(hit.document),
            id=hit.document.id,
            excerpt=_excerpt(_snippet(hit) or part),
            at=hit.document.time or None,
        )
        for hit, part in parts
    ]
    result = _listed([_hit(hit, part) for hit, part in parts], sources)
    if unread:
        result.told["not_read_yet"] = f"{unread} new objects: search again to find what is in them."
    return result


def of_thing(request: ReadRequest, thing: Thing) -> CallResult:
    """A page of what was read by its id. Raises InvalidRequest if the text was changed since the page before."""
    content = thing.content
    if isinstance(content, Memory):
        return CallResult(_memory(content, None, most=request.max_chars), 1, (_source(content),))
    page = by_id.page(visible(_text(content)), request.max_chars, request.place)
    fields = {"kind": thing.kind, "text": page.text, "confirmed_at": thing.verified_at, "cursor": page.next_cursor}
    at = content.moment if isinstance(content, Note) else thing.verified_at
    kind = BANK if thing.kind in ("file", "section") else thing.kind
    source = AnswerSource(kind=kind, id=bare(request.id), excerpt=_excerpt(page.text), at=at)
    return CallResult({name: value for name, value in fields.items() if value}, 1, (source,))


def _text(content: str | list[File] | Note | Page | Item) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Note):
        return f"{content.speaker}, {content.moment}, {content.category}: {content.content}"
    if isinstance(content, Page):
        sides = (
            f"{turn.said_by(side)} ({turn.role_of(side)}), {clock.iso(turn.said_at())}: {text}"
            for turn in content.turns
            for side, text in (("user", turn.user_message), ("assistant", turn.assistant_message))
            if text
        )
        return "\n".join(sides)
    if isinstance(content, Item):
        return "\n".join([content.summary.summary, *content.summary.key_findings]) if content.summary else ""
    return "\n".join(file.path for file in content)


def bare(reference: str) -> str:
    """An id without the folder before it, as searches tell it."""
    return re.sub("^(bank|notes|memories|conversations)/", "", reference.strip())


def of_stored(memory: Memory, *, merged: bool) -> CallResult:
    """A memory as it is after it was stored. `merged`: it became part of a memory that was there."""
    fields = _memory(memory, None) | {"merged_into_one_that_was_there": merged}
    return CallResult({"stored": fields}, 1, (_source(memory),))


def _kind(document: Document) -> str:
    return document.source["kind"] if document.kind == MEMORY else document.kind


def _source(memory: Memory) -> AnswerSource:
    return AnswerSource(kind=memory.kind, id=memory.memory_id, excerpt=_excerpt(memory.content), at=memory.moment)


def _listed(items: list[dict[str, Any]], sources: list[AnswerSource]) -> CallResult:
    return CallResult({"results": items}, len(items), tuple(sources))


def _memory(memory: Memory, score: float | None, *, most: int = CHARACTERS) -> dict[str, Any]:
    fields = {
        "id": memory.memory_id,
        "kind": memory.kind,
        **_cut(memory.content, most),
        "category": memory.category,
        "subjects": memory.subjects,
        "updated_at": memory.updated_at,
        "said_at": memory.said_at,
        "by": memory.said_by if memory.author or memory.provenance.user else None,
        "expires_at": memory.expires_at,
        "score": None if score is None else round(score, 3),
    }
    return {name: value for name, value in fields.items() if value not in (None, [])}


def _hit(hit: Hit, part: str) -> dict[str, Any]:
    document = hit.document
    line = _snippet(hit).strip() if document.kind == BANK else ""
    fields = {
        "id": document.id,
        "kind": _kind(document),
        # The id of a section has its headings.
        "title": document.title[:TITLE] if document.kind != BANK else "",
        # Of a section, the line that fits best.
        "line": line if len(line) < len(part.strip()) else "",
        "text": part,
        "cut": len(part) < len(document.text) or None,
        "at": document.time,
        "by": document.said_by,
        "role": document.role,
        "category": document.category,
        "superseded_by": hit.superseded_by,
    }
    return {name: value for name, value in fields.items() if value}


def _cut(text: str, most: int) -> dict[str, Any]:
    return {"text": text} if len(text) <= most else {"text": text[:most], "cut": True}


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
