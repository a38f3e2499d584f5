"""The context of an agent before it answers in a room: messages there on the same subject, and the nearest facts."""

import re
from collections.abc import Sequence
from datetime import timedelta, tzinfo

from livemem import clock
from livemem.errors import InvalidRequest, LiveMemoryError, StoreUnavailable
from livemem.memories import reading as memories
from livemem.memories.memory import Memory
from livemem.process import Process
from livemem.recall import fan_out, search
from livemem.recall.fan_out import FanOutTask
from livemem.recall.message_context import Context, KnownItem
from livemem.recall.relevance import RelevanceFloor, text_of
from livemem.recall.render_context import line
from livemem.recall.search_request import SearchRequest, message_text
from livemem.rooms import reading as rooms
from livemem.search import words
from livemem.search.documents import MEMORY, MESSAGE
from livemem.search.engine import Hit
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.text.language import LANGUAGES, Lang, language_of

MESSAGES, FACTS = "messages", "facts"
"""The sources, as `degraded` names them."""
SECONDS = {MESSAGES: 4.0, FACTS: 4.0}
"""How long the context waits for each."""
LIMIT_DEFAULT, LIMIT_MOST = 10, 50


def context(
    process: Process,
    space_id: str,
    query: str | None = None,
    *,
    room: str,
    lang: Lang | None = None,
    limit: int = LIMIT_DEFAULT,
) -> Context:
    """Up to `limit` messages of a room, in the order of time, and as many facts, about the subject of `query`. If that
    holds no word to look for, they are the newest ones. For small talk there are none. Results below the relevance
    floor are left out (relevance.py). `lang` None is the language of the space, else English.

    As `search.search` and `memories.reading.ask`, side by side. A source that fails is left out. Raises NotFound,
    InvalidName, InvalidRequest. If both fail, raises the first one's error.
    """
    keys.check_room(room)
    if lang is not None and lang not in LANGUAGES:
        raise InvalidRequest.of("lang", f"must be one of {', '.join(LANGUAGES)}")
    if not 1 <= limit <= LIMIT_MOST:
        raise InvalidRequest.of("limit", f"must be from 1 to {LIMIT_MOST}")
    meta = heads.load_recent(process, space_id).meta
    text = message_text(query or "")
    request = SearchRequest.of(text, room=room, limit=limit) if words.parse(text).words else None
    floor = RelevanceFloor.of(text)
    if request and floor.small_talk:
        return Context([], "")
    tasks = {
        MESSAGES: FanOutTask(lambda: _messages(process, meta, request, floor, room, limit), SECONDS[MESSAGES]),
        FACTS: FanOutTask(lambda: _facts(process, space_id, request, floor, limit), SECONDS[FACTS]),
    }
    results, failures = fan_out.done(process, tasks)
    if not results:
        raise _failure(failures[MESSAGES])
    messages, unread = results.get(MESSAGES, ([], 0))
    facts: list[KnownItem] = results.get(FACTS, [])
    text = markdown(messages, facts, lang or language_of(meta.language), heads.zone_of(process, meta), room)
    return Context([*messages, *facts], text, None, unread, tuple(name for name in SECONDS if name in failures))


def _failure(error: Exception) -> LiveMemoryError:
    if isinstance(error, LiveMemoryError):
        return error
    return StoreUnavailable("The context could not be read in time. Try again.")


def _messages(
    process: Process, meta: Meta, request: SearchRequest | None, floor: RelevanceFloor, room: str, limit: int
) -> tuple[list[KnownItem], int]:
    """The messages in the order of time, and how many new objects were left unread. The newest ones are a LIST."""
    if request is None:
        newest = sorted(
            rooms.newest(process, meta.space_id, room, limit),
            key=lambda item: (clock.parse(item.timestamp), item.message_id),
        )
        items = [_message(room, item.message_id, item.timestamp, item.author, _shown(item.content)) for item in newest]
        return items, 0
    until = process.clock() + timedelta(seconds=SECONDS[MESSAGES])
    answer = search.search(process, meta.space_id, request, until)
    floor = floor.forgiving(text_of(hit.document) for hit in answer.hits)
    by_time = sorted(answer.hits, key=_order)
    items = [
        _message(
            room,
            hit.document.source["message_id"],
            hit.document.more["timestamp"],
            hit.document.author,
            _shown(hit.document.text, hit.snippet),
            hit.relevance,
        )
        for hit in by_time
        if floor.admits_hit(hit)
    ]
    return items, answer.unread


def _order(hit: Hit) -> tuple[object, ...]:
    return clock.parse(hit.document.more["timestamp"]), hit.document.source["message_id"]


def _message(
    room: str, message_id: str, time: str, author: str, text: str, relevance: float | None = None
) -> KnownItem:
    route = f"rooms/{room}/messages"
    return KnownItem(MESSAGE, route, time, author, "", text, relevance, room=room, message_id=message_id)


def _facts(
    process: Process, space_id: str, request: SearchRequest | None, floor: RelevanceFloor, limit: int
) -> list[KnownItem]:
    """The nearest facts, or the newest without a request."""
    if request is None:
        return [_fact(item) for item in memories.recent(process, space_id, kind="fact", limit=limit)]
    answer = memories.ask(process, space_id, request.text, kind="fact", limit=limit)
    result = []
    floor = floor.forgiving(f"{item.memory.content} {' '.join(item.memory.subjects)}" for item in answer.found)
    for hit in answer.found:
        # The similarity of letters is no cosine.
        relevance = hit.score if answer.by == "vector" else None
        if floor.admits(f"{hit.memory.content} {' '.join(hit.memory.subjects)}", relevance):
            result.append(_fact(hit.memory, hit.score))
    return result


def _fact(memory: Memory, score: float | None = None) -> KnownItem:
    text = _cut(one_line(memory.content), FACT_CHARACTERS)
    return KnownItem(MEMORY, f"memories/{memory.memory_id}", memory.updated_at, "", "", text, score)


TEXT_CHARACTERS = 500
"""Of a message that are shown. Of a longer one the part that fits the question is shown, or its beginning."""
FACT_CHARACTERS = 1_000
MORE = "…"
_LIVE = {
    "fr": "[Contexte live - extraits pertinents {}, pas une conversation complète]",
    "en": "[Live context - relevant excerpts from {}, not a complete conversation]",
}
_FACTS = {"fr": "[Mémoire - faits que tu connais]", "en": "[Memory - facts that you know]"}
# French puts a blank before a colon.
_COLON = {"fr": " :", "en": ":"}
_JOINERS = "\u200c\u200d"
_HEADING = re.compile(
    rf"\[(?=[\s{_JOINERS}]*(?:contexte\s+live|live\s+context|m(?:é|e\u0301?)moire\s*-|memory\s*-))", re.IGNORECASE
)
_OF_AUTHORS = re.compile(r"[()\[\]:]")


def markdown(messages: Sequence[KnownItem], facts: Sequence[KnownItem], lang: Lang, zone: tzinfo, room: str) -> str:
    """The blocks that have entries; empty if none has."""
    blocks = []
    if messages:
        name = f"{'du ' if lang == 'fr' else ''}{room[:1].upper()}{room[1:]}"
        lines = (
            f"• {_author(item.by)} ({clock.parse(item.time).astimezone(zone):%d/%m %H:%M}){_COLON[lang]} "
            f"{one_line(item.text)}"
            for item in messages
        )
        blocks.append("\n".join([_LIVE[lang].format(name), *lines]))
    if facts:
        blocks.append("\n".join([_FACTS[lang], *(f"• {one_line(item.text)}" for item in facts)]))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def one_line(text: str) -> str:
    """The text on one line, in which nothing looks like a line or a heading of the blocks."""
    return _HEADING.sub("(", line(text).replace("•", "·")).strip()


def _author(name: str) -> str:
    return " ".join(_OF_AUTHORS.sub(" ", one_line(name)).split()) or "?"


def _shown(content: str, part: tuple[int, int] | None = None) -> str:
    """A message on one line. `part`: the characters of a long one that fit the question best."""
    whole = one_line(content)
    if len(whole) <= TEXT_CHARACTERS or part is None:
        return _cut(whole, TEXT_CHARACTERS)
    start, end = part
    before = f"{MORE} " if content[:start].strip() else ""
    after = f" {MORE}" if content[end:].strip() else ""
    return f"{before}{_cut(one_line(content[start:end]), TEXT_CHARACTERS)}{after}"


def _cut(text: str, most: int) -> str:
    """The beginning of the text, up to a blank if there is one nearby."""
    if len(text) <= most:
        return text
    end = text.rfind(" ", most // 2, most)
    return f"{text[: end if end > 0 else most].rstrip()} {MORE}"
