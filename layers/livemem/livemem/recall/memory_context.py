"""What an agent is told before it answers somebody: what was said in rooms about the same, and the facts that are near
to it.
"""

from dataclasses import dataclass
from datetime import timedelta, tzinfo
from typing import get_args

from livemem import clock
from livemem.errors import InvalidRequest, LiveMemoryError, StoreUnavailable
from livemem.memories import reading as memories
from livemem.process import Process
from livemem.recall import blocks, search, side_by_side
from livemem.recall.asked import QUERY_CHARACTERS, Asked
from livemem.recall.blocks import Fact, Lang, Said
from livemem.recall.side_by_side import Task
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
"""For which each is waited for."""
LIMIT_DEFAULT, LIMIT_MOST = 10, 50
ROOMS_MOST = 20
"""Rooms that are looked at where nothing is asked for."""


@dataclass(frozen=True)
class MemoryContext:
    """What is shown, as data and as Markdown; `degraded` are the sources that failed, or were late.

    `said` is in the order of time, `facts` have the nearest first, or the newest where nothing was asked for.
    """

    said: list[Said]
    facts: list[Fact]
    markdown: str
    degraded: tuple[str, ...]


def context(
    process: Process,
    space_id: str,
    query: str | None = None,
    *,
    room: str | None = None,
    lang: Lang | None = None,
    limit: int = LIMIT_DEFAULT,
) -> MemoryContext:
    """Up to `limit` messages of rooms, or of one, and as many facts, that are about what somebody said; the newest ones
    where that holds no word to look for. `lang` None is the language of the space, else English.

    As `search.in_rooms` and `memories.reading.search`, side by side. A source that fails is left out. Raises NotFound,
    InvalidName, InvalidRequest; and what the first source failed with if both did.
    """
    if room is not None:
        room_keys.check_room(room)
    if lang is not None and lang not in get_args(Lang):
        raise InvalidRequest.of("lang", f"must be one of {', '.join(blocks.LANGUAGES)}")
    if not 1 <= limit <= LIMIT_MOST:
        raise InvalidRequest.of("limit", f"must be from 1 to {LIMIT_MOST}")
    meta = heads.load_recent(process, space_id).meta
    asked = _asked(query, room, limit)
    tasks = {
        MESSAGES: Task(lambda: _said(process, meta, asked, room, limit), SECONDS[MESSAGES]),
        FACTS: Task(lambda: _facts(process, space_id, asked, limit), SECONDS[FACTS]),
    }
    results, failures = side_by_side.done(process, tasks)
    if not results:
        raise _failure(failures[MESSAGES])
    said: list[Said] = sorted(results.get(MESSAGES, []), key=_order)
    facts: list[Fact] = results.get(FACTS, [])
    text = blocks.markdown(said, facts, lang or blocks.language_of(meta.language), _zone(process, meta), room)
    return MemoryContext(said, facts, text, tuple(name for name in SECONDS if name in failures))


def _asked(query: str | None, room: str | None, limit: int) -> Asked | None:
    """What is looked for: what somebody said is text, never syntax. None where it holds no word."""
    text = words.plain(storable(query or ""))[:QUERY_CHARACTERS]
    return Asked.of_rooms(text, room=room, limit=limit) if words.parse(text).words else None


def _zone(process: Process, meta: Meta) -> tzinfo:
    return clock.zone(meta.timezone or process.settings.default_timezone)


def _order(one: Said) -> tuple[object, ...]:
    return clock.parse(one.timestamp), one.room, one.message_id


def _failure(error: Exception) -> LiveMemoryError:
    if isinstance(error, LiveMemoryError):
        return error
    return StoreUnavailable("What is known of this could not be read in time.")


def _said(process: Process, meta: Meta, asked: Asked | None, room: str | None, limit: int) -> list[Said]:
    if asked is None:
        return _newest(process, meta.space_id, room, limit)
    until = process.clock() + timedelta(seconds=SECONDS[MESSAGES])
    return [_of_hit(hit) for hit in search.in_rooms(process, meta.space_id, asked, until).hits]


def _of_hit(hit: Hit) -> Said:
    document = hit.document
    return Said(
        room=document.source["room"],
        message_id=document.source["message_id"],
        author=document.author,
        content=document.text,
        timestamp=document.more["timestamp"],
        part=hit.snippet,
        relevance=hit.relevance,
    )


def _newest(process: Process, space_id: str, room: str | None, limit: int) -> list[Said]:
    """The newest messages of a room, or of those in which something was said last: a few LISTs for each."""
    there = [one for one in rooms.rooms(process, space_id) if one.newest] if room is None else []
    there.sort(key=lambda one: one.newest or "", reverse=True)
    names = [one.room for one in there[:ROOMS_MOST]] if room is None else [room]
    told = process.store.map(lambda name: rooms.newest(process, space_id, name, limit), names)
    said = [_of_message(name, one) for name, some in zip(names, told, strict=True) for one in some]
    return sorted(said, key=_order)[-limit:]


def _of_message(room: str, told: messages.Message) -> Said:
    return Said(room, told.message_id, told.author, told.content, told.timestamp)


def _facts(process: Process, space_id: str, asked: Asked | None, limit: int) -> list[Fact]:
    if asked is None:
        newest = memories.recent(process, space_id, kind="fact", limit=limit)
        return [Fact(one.memory_id, one.content) for one in newest]
    found = memories.search(process, space_id, asked.text, kind="fact", limit=limit)
    return [Fact(one.memory.memory_id, one.memory.content, one.score) for one in found]
