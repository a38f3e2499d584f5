"""Hits of consolidated notes behind what holds now. Pure functions.

A consolidated note may say what was true when it was written. The section or the live note that says it as it is now is
often longer, and ranks lower by its words.
"""

from collections.abc import Sequence
from dataclasses import replace

from livemem.recall.document_sources import ARCHIVE, BANK, LIVE
from livemem.recall.found_copies import holds
from livemem.search import words
from livemem.search.engine import Hit
from livemem.search.words import Query


def current_first(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """The hits, each consolidated note behind the section that holds it word for word, else behind the best section or
    live note that holds all its words of the query. That one moves up directly before the note. Its part `current` is
    what it gains.
    """
    if not any(hit.document.kind == ARCHIVE for hit in hits):
        return list(hits)
    sought = frozenset(query.words)
    by_id = {hit.document.id: sought & {*words.terms(f"{hit.document.title} {hit.document.text}")} for hit in hits}
    current = [hit for hit in hits if hit.document.kind in (BANK, LIVE)]
    placed: set[str] = set()
    ordered = []
    for hit in hits:
        own = by_id[hit.document.id]
        if hit.document.kind == ARCHIVE and own:
            holding = [item for item in current if by_id[item.document.id] >= own]
            sections = [item for item in holding if holds(item.document, hit.document)]
            best = next(iter(sections or holding), None)
            if best and best.document.id not in placed and best.score < hit.score:
                placed.add(best.document.id)
                parts = {**best.parts, "current": hit.score - best.score}
                ordered.append(replace(best, score=hit.score, parts=parts))
        if hit.document.id not in placed:
            placed.add(hit.document.id)
            ordered.append(hit)
    return ordered
