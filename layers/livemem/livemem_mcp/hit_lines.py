"""Hits as an agent reads them: one line each, with the short id in front by which `read` gives the whole.

The id tells the kind, and of a note the day when it was written. So no line tells either once more. `Ann via bot`: the
words of Ann, as the token `bot` wrote them.
"""

from collections.abc import Sequence

from livemem import clock
from livemem.recall import render_context
from livemem.recall.document_sources import reading_id
from livemem.recall.message_context import DAY
from livemem.recall.render_context import KnownItem, ShownSummary, ShownTurn, TalkForm
from livemem.recall.short_ids import short_id, tells_day
from livemem.search.documents import ARCHIVE, BANK, MESSAGE, TURN, Document
from livemem_http.views.search import HitView

MINUTE = len("2026-02-20T14:00")


def of_hits(found: Sequence[tuple[HitView, Document]]) -> list[str]:
    """The lines of hits with their documents, in their order. Both sides of a turn are on the line of the better."""
    lines: dict[tuple[str | None, str], str] = {}
    for hit, document in found:
        kind = document.kind
        reference = short_id(reading_id(document), archived=kind == ARCHIVE)
        place = hit.space_id, reference if kind == TURN else hit.id
        text = " ".join(hit.snippet.split())
        if place in lines:
            lines[place] += f" | {_by(document)}: {text}"
        else:
            lines[place] = f"- {f'{hit.space_id} ' if hit.space_id else ''}[{_head(hit, document, reference)}] {text}"
    return list(lines.values())


def _head(hit: HitView, document: Document, reference: str) -> str:
    fields = hit.model_dump()
    verified = fields.get("verified_at", hit.time)[:DAY]
    newer = fields.get("superseded_by")
    told = [
        _when(reference, document.kind, hit.time),
        f"confirmed {verified}" if verified != hit.time[:DAY] else None,
        _by(document),
        document.category,
        f"superseded by {short_id(f'notes/{newer}')}" if newer else None,
    ]
    return _joined(reference, told)


def _joined(reference: str, told: Sequence[str | None]) -> str:
    rest = " ".join(filter(None, told))
    # The id of a section may end with any words.
    return f"{reference}{', ' if ' ' in reference else ' '}{rest}" if rest else reference


def _by(document: Document) -> str:
    """The speaker or writer. The sides of a turn without names have the same author."""
    via = f"via {document.written_by}" if document.written_by else document.role
    return " ".join(filter(None, (document.author, via)))


def _when(reference: str, kind: str, time: str) -> str:
    """The day, of a message the minute, since no number tells what came first. Empty if the id tells it, and of a
    section, since all of its file was written then.
    """
    day = time[:DAY]
    if kind == MESSAGE:
        return time[:MINUTE].replace("T", " ")
    return "" if kind == BANK or tells_day(reference, day) else day


def of_known(item: KnownItem) -> str:
    """The Markdown of an item of a context. The lines of an exchange name the speakers."""
    reference = short_id(item.id, archived=item.kind == ARCHIVE)
    exchange = item.kind == TURN
    told = [
        _when(reference, item.kind, item.time),
        None if exchange else item.by,
        f"via {item.written_by}" if item.written_by else None,
        # As the start says it.
        "captured" if item.captured_from else f"from {item.from_space}" if item.from_space else None,
    ]
    lines = item.text.split("\n")
    text = "".join(f"\n  {line}" for line in lines) if exchange else f" {' '.join(lines)}"
    return f"- [{_joined(reference, told)}]{text}\n"


def _head_of_turn(shown: ShownTurn) -> str:
    turn, who = shown.turn, render_context.speakers(shown.turn)
    token = render_context.line(turn.token)
    told = [clock.iso(turn.said_at())[:DAY], who, f"via {token}" if who not in ("", token) else ""]
    return f"[Turn {turn.turn_index} {' '.join(filter(None, told))}]"


def _head_of_summary(shown: ShownSummary) -> str:
    summary = shown.summary
    days = dict.fromkeys((summary.range_start[:DAY], summary.range_end[:DAY]))
    told = ["..".join(days), render_context.line(summary.said_by)]
    return f"[Level {summary.level} Summary {summary.number} {' '.join(filter(None, told))}]"


OF_TALK = TalkForm(
    ("## Newest turns", "## Earlier turns on this", "## Summaries on this", "## Newest summaries"),
    _head_of_turn,
    _head_of_summary,
)
"""The form of a conversation's context. Turns and summaries have their numbers: the caller names the conversation. No
author can forge such a line (text/labels.py).
"""
