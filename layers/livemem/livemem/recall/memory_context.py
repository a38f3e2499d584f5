"""The context of an agent before it answers a person: messages of rooms on the same subject, and the nearest facts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta, tzinfo

from livemem import clock
from livemem.errors import InvalidRequest, LiveMemoryError, StoreUnavailable
from livemem.memories import reading as memories
from livemem.process import Process
from livemem.recall import fan_out, search
from livemem.recall.fan_out import FanOutTask
from livemem.recall.relevance import RelevanceFloor, text_of
from livemem.recall.search_request import OF_ROOMS, SearchRequest, message_text
from livemem.rooms import reading as rooms
from livemem.search import words
from livemem.search.engine import Hit
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.text.invisible import visible
from livemem.text.language import LANGUAGES, Lang, language_of

MESSAGES, FACTS = "messages", "facts"
"""The sources, as `degraded` names them."""
SECONDS = {MESSAGES: 4.0, FACTS: 4.0}
"""How long the context waits for each."""
LIMIT_DEFAULT, LIMIT_MOST = 10, 50
ROOMS_MOST = 20
"""Rooms that are read where there is no question."""


@dataclass(frozen=True)
class ShownMessage:
    """A message that is shown, as it was written.

    `part`: the characters of its content that are shown if it is long. `relevance`: the cosine with the question, None
    if nothing was compared.
    """

    room: str
    message_id: str
    author: str
    content: str
    timestamp: str
    part: tuple[int, int] | None = None
    relevance: float | None = None


@dataclass(frozen=True)
class ShownFact:
    """A fact that is shown, as it was stored. `score` is None if nothing was compared (memories/reading.py).

    `updated_at`: the time of its last storing or correction, empty if unknown.
    """

    memory_id: str
    content: str
    score: float | None = None
    updated_at: str = ""


@dataclass(frozen=True)
class MemoryContext:
    """The content as data and as Markdown. `degraded` are the sources that failed or were late.

    `said` is in the order of time. `facts` have the nearest first, or the newest if there was no question.
    """

    said: list[ShownMessage]
    facts: list[ShownFact]
    markdown: str
    degraded: tuple[str, ...]
    unread: int = 0
    """New objects that the search left unread (SpaceHits)."""


def context(
    process: Process,
    space_id: str,
    query: str | None = None,
    *,
    room: str | None = None,
    lang: Lang | None = None,
    limit: int = LIMIT_DEFAULT,
) -> MemoryContext:
    """Up to `limit` messages of rooms, or of one, and as many facts, about the subject of `query`. If that holds no
    word to look for, they are the newest ones. For small talk there are none. Results below the relevance floor are
    left out (relevance.py). `lang` None is the language of the space, else English.

    As `search.in_rooms` and `memories.reading.search`, side by side. A source that fails is left out. Raises NotFound,
    InvalidName, InvalidRequest. If both fail, raises the first one's error.
    """
    if room is not None:
        keys.check_room(room)
    if lang is not None and lang not in LANGUAGES:
        raise InvalidRequest.of("lang", f"must be one of {', '.join(LANGUAGES)}")
    if not 1 <= limit <= LIMIT_MOST:
        raise InvalidRequest.of("limit", f"must be from 1 to {LIMIT_MOST}")
    meta = heads.load_recent(process, space_id).meta
    request = _request(query, room, limit)
    floor = RelevanceFloor.of(request.text) if request else None
    if floor and floor.small_talk:
        return MemoryContext([], [], "", ())
    tasks = {
        MESSAGES: FanOutTask(lambda: _said(process, meta, request, floor, room, limit), SECONDS[MESSAGES]),
        FACTS: FanOutTask(lambda: _facts(process, space_id, request, floor, limit), SECONDS[FACTS]),
    }
    results, failures = fan_out.done(process, tasks)
    if not results:
        raise _failure(failures[MESSAGES])
    result, unread = results.get(MESSAGES, ([], 0))
    shown_messages: list[ShownMessage] = sorted(result, key=_order)
    facts: list[ShownFact] = results.get(FACTS, [])
    text = markdown(shown_messages, facts, lang or language_of(meta.language), heads.zone_of(process, meta), room)
    return MemoryContext(shown_messages, facts, text, tuple(name for name in SECONDS if name in failures), unread)


def _request(query: str | None, room: str | None, limit: int) -> SearchRequest | None:
    """The search for `query`. None if it holds no word."""
    text = message_text(query or "")
    if not words.parse(text).words:
        return None
    return SearchRequest.of(text, scope=OF_ROOMS, room=room, limit=limit)


def _order(shown_message: ShownMessage) -> tuple[object, ...]:
    return clock.parse(shown_message.timestamp), shown_message.room, shown_message.message_id


def _failure(error: Exception) -> LiveMemoryError:
    if isinstance(error, LiveMemoryError):
        return error
    return StoreUnavailable("The context could not be read in time. Try again.")


def _said(
    process: Process,
    meta: Meta,
    request: SearchRequest | None,
    floor: RelevanceFloor | None,
    room: str | None,
    limit: int,
) -> tuple[list[ShownMessage], int]:
    """The messages, and how many new objects were left unread."""
    if request is None or floor is None:
        return _newest(process, meta.space_id, room, limit), 0
    until = process.clock() + timedelta(seconds=SECONDS[MESSAGES])
    answer = search.search(process, meta.space_id, request, until)
    floor = floor.forgiving(text_of(hit.document) for hit in answer.hits)
    return [_of_hit(hit) for hit in answer.hits if floor.admits_hit(hit)], answer.unread


def _of_hit(hit: Hit) -> ShownMessage:
    document = hit.document
    return ShownMessage(
        room=document.source["room"],
        message_id=document.source["message_id"],
        author=document.author,
        content=document.text,
        timestamp=document.more["timestamp"],
        part=hit.snippet,
        relevance=hit.relevance,
    )


def _newest(process: Process, space_id: str, room: str | None, limit: int) -> list[ShownMessage]:
    """The newest messages of a room, or of those in which something was said last: a few LISTs for each."""
    existing = [item for item in rooms.rooms(process, space_id) if item.newest] if room is None else []
    existing.sort(key=lambda item: item.newest or "", reverse=True)
    names = [item.room for item in existing[:ROOMS_MOST]] if room is None else [room]
    results = process.store.map(lambda name: rooms.newest(process, space_id, name, limit), names)
    said = [
        ShownMessage(name, item.message_id, item.author, item.content, item.timestamp)
        for name, batch in zip(names, results, strict=True)
        for item in batch
    ]
    return sorted(said, key=_order)[-limit:]


def _facts(
    process: Process,
    space_id: str,
    request: SearchRequest | None,
    floor: RelevanceFloor | None,
    limit: int,
) -> list[ShownFact]:
    if request is None or floor is None:
        newest = memories.recent(process, space_id, kind="fact", limit=limit)
        return [ShownFact(item.memory_id, item.content, None, item.updated_at) for item in newest]
    answer = memories.ask(process, space_id, request.text, kind="fact", limit=limit)
    result = []
    floor = floor.forgiving(f"{item.memory.content} {' '.join(item.memory.subjects)}" for item in answer.found)
    for hit in answer.found:
        # The similarity of letters is no cosine.
        relevance = hit.score if answer.by == "vector" else None
        if floor.admits(f"{hit.memory.content} {' '.join(hit.memory.subjects)}", relevance):
            result.append(ShownFact(hit.memory.memory_id, hit.memory.content, hit.score, hit.memory.updated_at))
    return result


TEXT_CHARACTERS = 500
"""Of a message that are shown. Of a longer one the part that fits the question is shown, or its beginning."""
FACT_CHARACTERS = 1_000
ROOMS_NAMED = 3
"""Rooms up to which a heading names all of them."""
MORE = "…"
_LIVE = {
    "fr": "[Contexte live - extraits pertinents {}, pas une conversation complète]",
    "en": "[Live context - relevant excerpts from {}, not a complete conversation]",
}
_FACTS = {"fr": "[Mémoire - faits que tu connais]", "en": "[Memory - facts that you know]"}
_SEVERAL = {"fr": "de plusieurs salons", "en": "several rooms"}
# French puts a blank before a colon.
_COLON = {"fr": " :", "en": ":"}
_JOINERS = "\u200c\u200d"
_HEADING = re.compile(
    rf"\[(?=[\s{_JOINERS}]*(?:contexte\s+live|live\s+context|m(?:é|e\u0301?)moire\s*-|memory\s*-))", re.IGNORECASE
)
_OF_AUTHORS = re.compile(r"[()\[\]:]")


def markdown(
    shown_messages: Sequence[ShownMessage],
    facts: Sequence[ShownFact],
    lang: Lang,
    zone: tzinfo,
    room: str | None = None,
) -> str:
    """The blocks that have entries; empty if none has. `room`: the one that was asked about."""
    blocks = []
    if shown_messages:
        rooms = [room] if room is not None else sorted({item.room for item in shown_messages})
        lines = (
            f"• {_author(item.author)} ({clock.parse(item.timestamp).astimezone(zone):%d/%m %H:%M})"
            f"{_COLON[lang]} {_text(item)}"
            for item in shown_messages
        )
        blocks.append("\n".join([_LIVE[lang].format(_rooms(rooms, lang)), *lines]))
    if facts:
        lines = (f"• {_cut(one_line(fact.content), FACT_CHARACTERS)}" for fact in facts)
        blocks.append("\n".join([_FACTS[lang], *lines]))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def one_line(text: str) -> str:
    """The text on one line, in which nothing looks like a line or a heading of the blocks."""
    flat = visible(" ".join(text.split()))
    return _HEADING.sub("(", flat.replace("•", "·")).strip()


def _author(name: str) -> str:
    return " ".join(_OF_AUTHORS.sub(" ", one_line(name)).split()) or "?"


def _text(shown_message: ShownMessage) -> str:
    whole = one_line(shown_message.content)
    if len(whole) <= TEXT_CHARACTERS or shown_message.part is None:
        return _cut(whole, TEXT_CHARACTERS)
    start, end = shown_message.part
    before = f"{MORE} " if shown_message.content[:start].strip() else ""
    after = f" {MORE}" if shown_message.content[end:].strip() else ""
    return f"{before}{_cut(one_line(shown_message.content[start:end]), TEXT_CHARACTERS)}{after}"


def _cut(text: str, most: int) -> str:
    """The beginning of the text, up to a blank if there is one nearby."""
    if len(text) <= most:
        return text
    end = text.rfind(" ", most // 2, most)
    return f"{text[: end if end > 0 else most].rstrip()} {MORE}"


def _rooms(rooms: Sequence[str], lang: Lang) -> str:
    """The rooms as the heading has them, with what French puts before each."""
    if len(rooms) > ROOMS_NAMED:
        return _SEVERAL[lang]
    names = [f"{'du ' if lang == 'fr' else ''}{room[:1].upper()}{room[1:]}" for room in rooms]
    joint = " et " if lang == "fr" else " and "
    return joint.join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
