"""The context of an agent before it answers a person: messages of rooms on the same subject, and the nearest facts."""

from dataclasses import dataclass
from datetime import timedelta
from typing import get_args

from livemem import clock
from livemem.errors import InvalidRequest, LiveMemoryError, StoreUnavailable
from livemem.memories import reading as memories
from livemem.process import Process
from livemem.recall import fan_out, render_memory, search
from livemem.recall.fan_out import FanOutTask
from livemem.recall.relevance import RelevanceFloor, text_of
from livemem.recall.render_memory import Lang, ShownFact, ShownMessage
from livemem.recall.search_request import QUERY_CHARACTERS, SearchRequest
from livemem.rooms import message as messages
from livemem.rooms import reading as rooms
from livemem.search import words
from livemem.search.documents import storable
from livemem.search.engine import Hit
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import room_keys

MESSAGES, FACTS = "messages", "facts"
"""The sources, as `degraded` names them."""
SECONDS = {MESSAGES: 4.0, FACTS: 4.0}
"""How long the context waits for each."""
LIMIT_DEFAULT, LIMIT_MOST = 10, 50
ROOMS_MOST = 20
"""Rooms that are read where there is no question."""


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
        room_keys.check_room(room)
    if lang is not None and lang not in get_args(Lang):
        raise InvalidRequest.of("lang", f"must be one of {', '.join(render_memory.LANGUAGES)}")
    if not 1 <= limit <= LIMIT_MOST:
        raise InvalidRequest.of("limit", f"must be from 1 to {LIMIT_MOST}")
    meta = heads.load_recent(process, space_id).meta
    asked = _asked(query, room, limit)
    floor = RelevanceFloor.of(asked.text) if asked else None
    if floor and floor.small_talk:
        return MemoryContext([], [], "", ())
    tasks = {
        MESSAGES: FanOutTask(lambda: _said(process, meta, asked, floor, room, limit), SECONDS[MESSAGES]),
        FACTS: FanOutTask(lambda: _facts(process, space_id, asked, floor, limit), SECONDS[FACTS]),
    }
    results, failures = fan_out.done(process, tasks)
    if not results:
        raise _failure(failures[MESSAGES])
    result, unread = results.get(MESSAGES, ([], 0))
    shown_messages: list[ShownMessage] = sorted(result, key=_order)
    facts: list[ShownFact] = results.get(FACTS, [])
    text = render_memory.markdown(
        shown_messages, facts, lang or render_memory.language_of(meta.language), heads.zone_of(process, meta), room
    )
    return MemoryContext(shown_messages, facts, text, tuple(name for name in SECONDS if name in failures), unread)


def _asked(query: str | None, room: str | None, limit: int) -> SearchRequest | None:
    """The search for `query`, which is text, never syntax. None if it holds no word."""
    text = words.plain(storable(query or ""))[:QUERY_CHARACTERS]
    return SearchRequest.of_rooms(text, room=room, limit=limit) if words.parse(text).words else None


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
    answer = search.in_rooms(process, meta.space_id, request, until)
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
    said = [_of_message(name, item) for name, batch in zip(names, results, strict=True) for item in batch]
    return sorted(said, key=_order)[-limit:]


def _of_message(room: str, message: messages.Message) -> ShownMessage:
    return ShownMessage(room, message.message_id, message.author, message.content, message.timestamp)


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
    for one in answer.found:
        # The similarity of letters is no cosine.
        relevance = one.score if answer.by == "vector" else None
        if floor.admits(f"{one.memory.content} {' '.join(one.memory.subjects)}", relevance):
            result.append(ShownFact(one.memory.memory_id, one.memory.content, one.score, one.memory.updated_at))
    return result
