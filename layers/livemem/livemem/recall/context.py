"""The context of an agent before it answers: all that is known of a message; of a conversation, its newest turns,
earlier turns and summaries about the same subject, and its latest summaries; of a room, its messages and facts.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any

from livemem import clock
from livemem.conversations import reading, summary_versions
from livemem.conversations.summaries import Layers, Summary, last_grouped
from livemem.conversations.summary_versions import FIRST, At, Standing
from livemem.conversations.turn import Turn
from livemem.errors import InvalidRequest, NotFound
from livemem.process import Process
from livemem.recall import conversation_documents, fan_out, message_context, render_context, search
from livemem.recall.conversation_documents import Looks
from livemem.recall.exchanges import exchange_of, passes
from livemem.recall.fan_out import Tasks
from livemem.recall.message_context import Context
from livemem.recall.relevance import RelevanceFloor, text_of
from livemem.recall.render_context import (
    FoundExchange,
    KnownItem,
    Sections,
    ShownSummary,
    ShownTurn,
    TalkForm,
)
from livemem.recall.search_request import OF_CONVERSATION, RESULTS_DEFAULT, RESULTS_MOST, SearchRequest
from livemem.search.engine import Hit
from livemem.spaces import head as heads
from livemem.spaces import unreadable
from livemem.spaces.head import Meta
from livemem.store import keys, stored
from livemem.store.bucket import BOUNDARY, SUMMARY, TURN, BoundaryKey, SummaryKey
from livemem.store.cache import TimedCache
from livemem.store.objects import Entry
from livemem.text.code_version import UNKNOWN, CodeVersion
from livemem.text.language import Lang

RECENT, SEARCH, SUMMARIES = "turns", "search", "summaries"
"""The sources, as `degraded` names them."""
SECONDS: Mapping[str, float] = {RECENT: 8.0, SEARCH: 4.0, SUMMARIES: 4.0}
"""How long the context waits for each."""
TURNS_DEFAULT, TURNS_MOST = 3, 50
RAW_DEFAULT, RAW_LEAST, RAW_MOST = 5_000, 200, 200_000
CHARS_DEFAULT, CHARS_LEAST, CHARS_MOST = 16_000, 500, 200_000
WAITING = 10
"""Summaries that are in no group yet, at most."""
SIDES = 3
"""Documents of a turn: each side, and its tools."""


@dataclass(frozen=True)
class ContextRequest:
    """The texts of a request: a message, or nothing where a conversation or a room is named. None: the default of what
    is named.
    """

    q: str | None = None
    conversation_id: str | None = None
    room: str | None = None
    kinds: str | None = None
    lang: Lang | None = None
    limit: int | None = None
    max_chars: int | None = None
    max_turns: int | None = None
    raw_chars: int | None = None
    clear: bool | None = None

    def values(self, *fields: str) -> dict[str, Any]:
        """The values of these fields, but for the question. Raises InvalidRequest if another one has a value."""
        values = {name: value for name, value in vars(self).items() if name != "q" and value is not None}
        for name in values:
            if name not in fields:
                others = " or ".join(sorted({*values} - {name})) or "`q` alone"
                raise InvalidRequest.of(name, f"does not go with {others}")
        return values


def context(
    process: Process,
    space_id: str,
    request: ContextRequest,
    *,
    lang: Lang | None = None,
    item_form: Callable[[KnownItem], str] | None = None,
    talk_form: TalkForm | None = None,
    reader: CodeVersion = UNKNOWN,
) -> Context:
    """The context of the conversation or the room that the request names, else of its message. `lang`: of a room's
    headings, unless the request has one. The forms are those of the Markdown, where they are others. Items about a
    message are marked for the `reader` (code_marks.py). Requests are those of `of_conversation`,
    `memory_context.context` and `message_context.context`.

    Raises NotFound, InvalidName, InvalidRequest, SearchNotReady.
    """
    if request.conversation_id is not None:
        values = request.values("conversation_id", "limit", "max_chars", "max_turns", "raw_chars")
        conversation_id = values.pop("conversation_id")
        of_talk = of_conversation(
            process, space_id, conversation_id, TalkContextRequest(request.q, **values), talk_form
        )
        items = _items_of_conversation(conversation_id, of_talk.sections)
        return Context(items, of_talk.markdown, None, of_talk.unread, of_talk.degraded)
    if request.room is not None:
        values = {"lang": lang} | request.values("room", "lang", "limit")
        return message_context.context_of_room(process, space_id, request.q, **values)
    values = request.values("kinds", "max_chars", "clear")
    if request.q is None:
        raise InvalidRequest.of("q", "is needed where neither a conversation nor a room is named")
    return message_context.context(process, space_id, request.q, form=item_form, reader=reader, **values)


def _items_of_conversation(conversation_id: str, sections: Sections) -> list[KnownItem]:
    below = f"conversations/{conversation_id}"

    def of_turn(shown: ShownTurn) -> KnownItem:
        turn = shown.turn
        return KnownItem(
            "turn",
            f"{below}/turns/{turn.turn_index}",
            clock.iso(turn.said_at()),
            turn.author,
            "",
            render_context.turn_text(shown),
            _share(shown.relevance),
            written_by=turn.written_by,
        )

    def of_summary(shown: ShownSummary) -> KnownItem:
        summary = shown.summary
        name = f"{below}/summaries/{summary.level}/{summary.number}"
        text = render_context.summary_text(summary)
        return KnownItem("summary", name, summary.range_end, summary.said_by, "", text, _share(shown.relevance))

    turns = [item for turn in (*sections.raw, *sections.turns) for item in (turn, *turn.others)]
    return [*map(of_turn, turns), *map(of_summary, (*sections.summaries, *sections.waiting))]


def _share(percent: int | None) -> float | None:
    return None if percent is None else percent / 100


@dataclass(frozen=True)
class TalkContextRequest:
    """The values of a request about a conversation, checked. `q` is text, never syntax. Without a word to look for,
    nothing is searched.
    """

    q: str | None = None
    max_chars: int = CHARS_DEFAULT
    max_turns: int = TURNS_DEFAULT
    raw_chars: int = RAW_DEFAULT
    limit: int = RESULTS_DEFAULT

    def __post_init__(self) -> None:
        """Raise InvalidRequest, naming the field and its bounds."""
        for name, least, most in (
            ("max_chars", CHARS_LEAST, CHARS_MOST),
            ("max_turns", 1, TURNS_MOST),
            ("raw_chars", RAW_LEAST, RAW_MOST),
            ("limit", 1, RESULTS_MOST),
        ):
            if not least <= getattr(self, name) <= most:
                raise InvalidRequest.of(name, f"must be from {least} to {most}")


@dataclass(frozen=True)
class TalkContext:
    """The content as data and as Markdown. `degraded` are the sources that failed or were late."""

    sections: Sections
    markdown: str
    degraded: tuple[str, ...]
    unread: int = 0
    """New objects that the search left unread (SpaceHits)."""


@dataclass(frozen=True)
class _Found:
    """The hits of a search with their content, the best first."""

    exchanges: list[FoundExchange] = field(default_factory=list)
    summaries: list[ShownSummary] = field(default_factory=list)
    unread: int = 0


def of_conversation(
    process: Process, space_id: str, conversation_id: str, request: TalkContextRequest, form: TalkForm | None = None
) -> TalkContext:
    """The context of a conversation: 3 round trips where this process knows it, mostly 2. `form` is that of the
    Markdown, where it is another one.

    Each source has a time of its own. One that fails is left out. Raises NotFound. If all sources fail, raises the
    first one's error.
    """
    keys.check_conversation_id(conversation_id)
    meta = heads.load_recent(process, space_id).meta
    looks = Looks(process, space_id, conversation_id)
    missing: list[str] = []
    # Some of those that wait may be of turns that are shown raw.
    most = WAITING + request.max_turns
    tasks: Tasks = {
        RECENT: lambda: _recent(process, looks, request, missing),
        SUMMARIES: lambda: _waiting(process, space_id, conversation_id, looks, most),
    }
    question = SearchRequest.of_message(request.q or "", scope=OF_CONVERSATION)
    if question:
        tasks[SEARCH] = lambda: _found(process, meta, conversation_id, question, request, looks)
    results, failures = fan_out.done(process, SECONDS, tasks)
    if not results:
        raise fan_out.error_of(failures[RECENT])
    raw: list[ShownTurn] = results.get(RECENT, [])
    indexes = {item.turn.turn_index for item in raw if not item.left_out}
    ids = {item.turn.turn_index for item in raw}
    hits: _Found = results.get(SEARCH, _Found())
    exchanges, summaries = render_context.chosen(hits.exchanges, hits.summaries, ids, indexes, request.limit)
    covered = indexes.union(*(item.covered for item in exchanges))
    waiting = render_context.waiting(results.get(SUMMARIES, []), covered, summaries)[:WAITING]
    sections = Sections(raw, [item.shown() for item in exchanges], summaries, waiting)
    fitting, text = render_context.fitting(sections, request.max_chars, form)
    failed = {*failures, *([RECENT] if missing else [])}
    return TalkContext(fitting, text, tuple(name for name in SECONDS if name in failed), hits.unread)


def _recent(process: Process, looks: Looks, request: TalkContextRequest, missing: list[str]) -> list[ShownTurn]:
    """The newest turns as they are shown: 1 LIST, and 1 GET for each turn that this process has not read before.

    One that cannot be read is left out, and its key is added to `missing`.
    """
    entries = [entry for entry in looks.newest() if TURN.parse(entry.key)]

    def turn(entry: Entry) -> Turn | None:
        cached = process.reads.get(Turn, entry.key, entry.etag)
        if cached:
            return cached
        item = process.store.get(entry.key)
        turn = unreadable.tolerated(process, Turn, item, missing) if item else None
        return process.reads.put(item.key, item.etag, turn, [item.body]) if item and turn else None

    results = process.store.map(turn, entries[: request.max_turns])
    return render_context.newest([result for result in results if result], request.max_turns, request.raw_chars)


def _found(
    process: Process, meta: Meta, conversation_id: str, request: SearchRequest, limits: TalkContextRequest, looks: Looks
) -> _Found:
    """Earlier turns and summaries about the question. Both are searched apart, else turns would crowd summaries out.
    More are found than shown, because some are shown already.
    """
    most = limits.limit + limits.max_turns
    floor = RelevanceFloor.of(request.text)
    if floor.small_talk:
        return _Found()
    counts = {(0,): SIDES * most, keys.LEVELS: 4 * limits.limit}
    questions = [
        replace(request, levels=levels, limit=limit, excerpts=False).within([conversation_id])
        for levels, limit in counts.items()
    ]
    until = process.clock() + timedelta(seconds=SECONDS[SEARCH])
    with search.answering(process, meta, questions, until=until, looks=looks) as (view, answers):
        if not answers[0].conversations:
            raise NotFound("conversation", conversation_id)
        turns, summaries = (answer.hits for answer in answers)
        floor = floor.forgiving(text_of(hit.document) for hit in (*turns, *summaries))
        exchanges: list[FoundExchange] = []
        said: set[int] = set()
        for hit in turns:
            if int(hit.document.source["turn_index"]) not in said and passes(view, floor, hit):
                exchange = [turn for turn in exchange_of(view, hit) if turn.turn_index not in said]
                if exchange:
                    exchanges.append(FoundExchange(exchange, percent(hit)))
                    said |= exchanges[-1].covered
            # So many are enough for any number of raw turns.
            if len(exchanges) == most:
                break
        shown = [
            ShownSummary(conversation_documents.summary_of(hit.document), percent(hit))
            for hit in summaries
            if floor.admits_hit(hit)
        ]
    return _Found(exchanges, shown, answers[0].unread)


def percent(hit: Hit) -> int:
    """The relevance of a hit, from 0 to 100: its cosine if there is one. Else its score, the standard deviations by
    which it fits better than the average document: 50 for that one, 73 for a score of 2, 88 for 4.
    """
    share = hit.relevance if hit.relevance is not None else 1 / (1 + math.exp(-max(-50.0, min(50.0, hit.score)) / 2))
    return round(100 * share)


@dataclass(frozen=True)
class _Place:
    """The state of the groups of level 2 when a process last read them: the number of the newest, and of its last
    child.
    """

    version: int = FIRST
    group: int = 0
    behind: int = 0


_PLACES = partial(TimedCache[tuple[str, str], _Place], 1_000)
"""Where to begin to list the summaries that are in no group yet."""


def _waiting(process: Process, space_id: str, conversation_id: str, looks: Looks, most: int) -> list[Summary]:
    """The newest summaries of level 1 that are in no group. 2 GETs and 2 LISTs from the last known group, all side by
    side; 1 GET for each summary that this process has not read before, and for a new group. Raises NotFound.
    """
    places, name = process.cache(_PLACES), (space_id, conversation_id)
    place = places.get(name) or _Place()
    conversation, versions, groups, blocks = process.store.concurrently(
        looks.conversation,
        looks.version,
        lambda: _groups(process, space_id, conversation_id, place),
        lambda: _blocks(process, space_id, conversation_id, place),
    )
    if not conversation:
        raise NotFound("conversation", conversation_id)
    document = stored.of(versions, summary_versions.reading(process)) if versions else None
    built = Standing(space_id, conversation, document).current()
    if built.version != place.version or (place.group and place.group not in groups):
        # The conversation was built again, or restored to an earlier state.
        place = _Place(built.version)
        groups = _groups(process, space_id, conversation_id, place)
        blocks = None
    at = At(space_id, conversation, built)
    newest = max(groups, default=0)
    if newest != place.group:
        etags = {groups[newest].key: groups[newest].etag}
        place = replace(place, group=newest, behind=last_grouped(process, Layers(at, {2: newest}, {}, etags), 2))
    if blocks is None or not place.group:
        blocks = _blocks(process, space_id, conversation_id, place)
    places.put(name, place)
    names: dict[int, list[str]] = {}
    for entry in blocks:
        if (parsed := SUMMARY.parse_as(SummaryKey, entry.key)) and parsed.number > place.behind:
            names.setdefault(parsed.number, []).append(parsed.name)
    etags = {entry.key: entry.etag for entry in (*blocks, *groups.values())}
    counted = {1: max(names, default=0), 2: newest, 3: 0}
    return reading.waiting_summaries(process, Layers(at, counted, {1: names, 2: {}, 3: {}}, etags), most)


def _groups(process: Process, space_id: str, conversation_id: str, place: _Place) -> dict[int, Entry]:
    """The groups of level 2 by their numbers, from the one that was the newest."""
    first = BOUNDARY.key(space_id, conversation_id, place.version, 2, max(place.group, 1))
    entries = process.store.scan(first.rpartition("/")[0] + "/", start_after=first.removesuffix(".json"))
    return {parsed.number: entry for entry in entries if (parsed := BOUNDARY.parse_as(BoundaryKey, entry.key))}


def _blocks(process: Process, space_id: str, conversation_id: str, place: _Place) -> list[Entry]:
    """The summaries of level 1 behind those that were in groups."""
    prefix = SUMMARY.prefix(space_id, conversation_id, place.version, 1)
    return list(process.store.scan(prefix, start_after=f"{prefix}{place.behind:06d}~"))
