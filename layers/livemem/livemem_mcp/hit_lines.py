"""What was found as an agent reads it: one line a hit, with the short id in front by which `read` gives the whole.

The id tells the kind, and of a note the day when it was written. So no line tells either once more.
"""

from collections.abc import Sequence

from livemem.recall import conversation_documents, room_documents
from livemem.recall.document_sources import ARCHIVE, BANK
from livemem.recall.message_context import KnownItem
from livemem.recall.reading_ids import reading_id
from livemem.recall.short_ids import short_id
from livemem.search.documents import Document
from livemem.text.speakers import said_by
from livemem_http.views.search import HitView

DAY, MINUTE = len("2026-02-20"), len("2026-02-20T14:00")
SPOKEN = (conversation_documents.TURN, room_documents.MESSAGE)


def of_hits(found: Sequence[tuple[HitView, Document]]) -> list[str]:
    """The lines of hits with their documents, in their order. Both sides of a turn are on the line of the better."""
    lines: dict[tuple[str | None, str], str] = {}
    for hit, document in found:
        reference = short_id(reading_id(document), archived=hit.kind == ARCHIVE)
        is_turn = hit.kind == conversation_documents.TURN
        place = hit.space_id, reference if is_turn else hit.id
        text = " ".join(hit.snippet.split())
        if place in lines:
            lines[place] += f" | {_by(hit)}: {text}"
        else:
            lines[place] = f"- {_head(hit, reference)}: {text}"
    return list(lines.values())


def _head(hit: HitView, reference: str) -> str:
    # A section is as new as what confirmed it last; when its file was written says less.
    time = (hit.verified_at or hit.time) if hit.kind == BANK else hit.time
    confirmed = hit.verified_at if hit.verified_at and hit.verified_at[:DAY] != time[:DAY] else None
    told = [
        hit.space_id,
        f"[{reference}]",
        _when(reference, hit.kind, time),
        f"confirmed {confirmed[:DAY]}" if confirmed else None,
        _by(hit),
        hit.category,
        f"superseded by {short_id(f'notes/{hit.superseded_by}')}" if hit.superseded_by else None,
    ]
    return " ".join(filter(None, told))


def _by(hit: HitView) -> str:
    """Who said it. The sides of a turn without names have the same author."""
    name = said_by(hit.author, hit.written_by or hit.author) if hit.author else ""
    return " ".join(filter(None, (name, None if hit.written_by else hit.role)))


def _when(reference: str, kind: str, time: str) -> str:
    """The day, of what was said to somebody the minute; empty if the id tells it."""
    day = time[:DAY]
    if kind in SPOKEN:
        return time[:MINUTE].replace("T", " ")
    return "" if reference.partition("/")[2].startswith(f"{day.replace('-', '')}T") else day


def of_known(item: KnownItem) -> str:
    """The Markdown of an item of a context."""
    reference = short_id(item.id, archived=item.kind == ARCHIVE)
    exchange = item.kind == conversation_documents.TURN
    by = said_by(item.by, item.written_by or item.by)
    if exchange:
        # The lines of an exchange name the speakers.
        by = f"written by {item.written_by}" if item.written_by else ""
    # As the start says it.
    origin = "captured" if item.captured_from else f"from {item.promoted_from}" if item.promoted_from else ""
    # When the file of a section was written says little.
    when = "" if item.kind == BANK else _when(reference, item.kind, item.time)
    head = " ".join(filter(None, (f"[{reference}]", when, by, origin)))
    lines = item.text.split("\n")
    return f"- {head}:" + ("".join(f"\n  {line}" for line in lines) if exchange else f" {' '.join(lines)}") + "\n"
