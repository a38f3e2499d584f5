"""Consolidated notes that no longer hold: a newer note says nearly the same, and the section that both went into has
the newer one's details, and none of the older one's. Pure functions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from livemem.recall.document_sources import SECTIONS
from livemem.recall.newer_first import say_nearly_the_same, words_said
from livemem.search import words
from livemem.search.documents import ARCHIVE, Document
from livemem.search.engine import Hit


def with_superseded(hits: Sequence[Hit], section: Callable[[str], Document | None]) -> list[Hit]:
    """The hits, those of consolidated notes with the id of the newest note that superseded them (`Hit.superseded_by`).
    `section` gives the bank's present section of an id, None if it is gone.
    """
    notes = {hit.document.id: words_said(hit.document.text) for hit in hits if hit.document.kind == ARCHIVE}
    if len(notes) < 2:
        return list(hits)
    now: dict[str, frozenset[str]] = {}

    def holds(name: str) -> frozenset[str]:
        if name not in now:
            document = section(name)
            now[name] = frozenset(words.terms(document.text)) if document else frozenset()
        return now[name]

    def newer(old: Document) -> Iterator[Document]:
        for hit in hits:
            new = hit.document
            if new.id in notes and new.time > old.time and say_nearly_the_same(notes[old.id], notes[new.id]):
                ids = set(old.more.get(SECTIONS, ())).intersection(new.more.get(SECTIONS, ()))
                if any(_replaced(notes[old.id], notes[new.id], holds(name)) for name in ids):
                    yield new

    def told(hit: Hit) -> Hit:
        if hit.document.id not in notes:
            return hit
        best = max(newer(hit.document), key=lambda item: (item.time, item.id), default=None)
        return replace(hit, superseded_by=best.id) if best else hit

    return [told(hit) for hit in hits]


def behind(hits: Sequence[Hit]) -> list[Hit]:
    """The hits, each superseded note behind the one that superseded it."""
    waiting: dict[str, list[Hit]] = {}
    ids = {hit.document.id for hit in hits}
    ordered: list[Hit] = []

    def put(hit: Hit) -> None:
        ordered.append(hit)
        ids.discard(hit.document.id)
        for other in waiting.pop(hit.document.id, ()):
            put(other)

    for hit in hits:
        if hit.superseded_by in ids:
            waiting.setdefault(hit.superseded_by or "", []).append(hit)
        else:
            put(hit)
    return ordered


def _replaced(old: frozenset[str], new: frozenset[str], section: frozenset[str]) -> bool:
    """Whether a section has what only the newer note says, and nothing of what only the older one says. Of the words
    those with digits count, if there are any: a value that changed is mostly a number.
    """
    lost, gained = _details(old - new), _details(new - old)
    return bool(lost) and section.isdisjoint(lost) and (not gained or not section.isdisjoint(gained))


def _details(terms: frozenset[str]) -> frozenset[str]:
    return frozenset(term for term in terms if any(map(str.isdigit, term))) or terms
