"""The known items about a person's message, over all kinds: the context of an agent before it answers. For an agent of
this service that answers a question they come with an outline of the bank.

One search. Hits below the relevance floor are left out (relevance.py). No item comes twice, and each gives its time and
its author.

The context of a room has messages there on the same subject, and the nearest facts.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal, get_args

from livemem import clock
from livemem.conversations.turn import Turn
from livemem.errors import InvalidRequest
from livemem.markdown.sections import split_address
from livemem.memories import reading as memories
from livemem.memories.memory import Memory
from livemem.process import Process
from livemem.recall import bank_sections, code_marks, conversation_documents, fan_out, search
from livemem.recall.document_sources import reading_id
from livemem.recall.exchanges import exchange_of, passes
from livemem.recall.relevance import RelevanceFloor, text_of
from livemem.recall.render_context import KnownItem, line, room_markdown, shown_fact, shown_message
from livemem.recall.search_request import ALL, OF_ROOMS, SearchRequest, message_text
from livemem.rooms import reading as rooms
from livemem.search.documents import ARCHIVE, BANK, LIVE, MEMORY, MESSAGE, SUMMARY, TURN
from livemem.search.engine import Hit
from livemem.search.view import SearchView
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.text.code_version import UNKNOWN, CodeVersion
from livemem.text.items import names
from livemem.text.language import LANGUAGES, Lang, language_of
from livemem.text.speakers import said_by

KnownKind = Literal["note", "archive", "bank", "turn", "summary", "memory", "message"]
KINDS: tuple[KnownKind, ...] = get_args(KnownKind)
"""As a search names them in its answers."""
CHARS_DEFAULT, CHARS_LEAST, CHARS_MOST = 8_000, 500, 100_000
ITEMS_MOST = 10
LOOKED_AT = 40
"""Documents that are searched at first: some are sides of one turn, some are not relevant enough."""
ITEM_CHARACTERS = 1_000
"""Of a text that are shown: the part that fits best."""
CLEAR_CHARACTERS = 300
"""The same where only what is clear is shown."""
HEAD_CHARACTERS = 200
"""Of the head before a text: its title and its author."""
MORE = "…"
DAY = len("2026-02-20")
MESSAGES, FACTS = "messages", "facts"
"""The sources, as `degraded` names them."""
ROOM_SECONDS = {MESSAGES: 4.0, FACTS: 4.0}
"""How long the context waits for each."""
LIMIT_DEFAULT, LIMIT_MOST = 10, 50


@dataclass(frozen=True)
class Context:
    """The known items as data, in the order of the Markdown. `failure`: why nothing was compared by meaning. `unread`:
    how many new objects were left unread (SpaceHits). `degraded`: the sources that failed or were late.
    """

    items: list[KnownItem]
    markdown: str
    failure: str | None = None
    unread: int = 0
    degraded: tuple[str, ...] = ()


def context_of_room(
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
    request = SearchRequest.of_message(query or "", room=room, limit=limit)
    floor = RelevanceFloor.of(request.text if request else "")
    if request and floor.small_talk:
        return Context([], "")
    tasks = {
        MESSAGES: lambda: _messages(process, meta, request, floor, room, limit),
        FACTS: lambda: _facts(process, space_id, request, floor, limit),
    }
    results, failures = fan_out.done(process, ROOM_SECONDS, tasks)
    if not results:
        raise fan_out.error_of(failures[MESSAGES])
    messages, unread = results.get(MESSAGES, ([], 0))
    facts: list[KnownItem] = results.get(FACTS, [])
    text = room_markdown(messages, facts, lang or language_of(meta.language), heads.zone_of(process, meta), room)
    return Context([*messages, *facts], text, None, unread, tuple(name for name in ROOM_SECONDS if name in failures))


def _messages(
    process: Process, meta: Meta, request: SearchRequest | None, floor: RelevanceFloor, room: str, limit: int
) -> tuple[list[KnownItem], int]:
    """The messages in the order of time, and how many new objects were left unread. The newest ones are a LIST."""
    if request is None:
        newest = sorted(
            rooms.newest(process, meta.space_id, room, limit),
            key=lambda item: (clock.parse(item.timestamp), item.message_id),
        )
        items = [
            _message(room, item.message_id, item.timestamp, item.author, shown_message(item.content)) for item in newest
        ]
        return items, 0
    until = process.clock() + timedelta(seconds=ROOM_SECONDS[MESSAGES])
    answer = search.search(process, meta.space_id, request, until)
    floor = floor.forgiving(text_of(hit.document) for hit in answer.hits)
    by_time = sorted(
        answer.hits, key=lambda hit: (clock.parse(hit.document.more["timestamp"]), hit.document.source["message_id"])
    )
    items = [
        _message(
            room,
            hit.document.source["message_id"],
            hit.document.more["timestamp"],
            hit.document.author,
            shown_message(hit.document.text, hit.snippet),
            hit.relevance,
        )
        for hit in by_time
        if floor.admits_hit(hit)
    ]
    return items, answer.unread


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
    route = f"memories/{memory.memory_id}"
    return KnownItem(MEMORY, route, memory.updated_at, "", "", shown_fact(memory.content), score)


def context(
    process: Process,
    space_id: str,
    message: str,
    *,
    kinds: str | None = None,
    max_chars: int = CHARS_DEFAULT,
    clear: bool = False,
    form: Callable[[KnownItem], str] | None = None,
    reader: CodeVersion = UNKNOWN,
) -> Context:
    """Up to ten items about a message, within `max_chars` characters of Markdown, none for small talk. Requests are
    those of `search.search`, for small talk only that of the space.

    `form`: an item as Markdown, where a caller has a form of its own. `reader`: items of other branches are marked for
    it (code_marks.py). `kinds`: some of KINDS with commas between them, None for all. `clear`: only the items that are
    clearly about it (evidence.clear_places), in short, and none where the space has no recall. Raises NotFound,
    InvalidRequest, SearchNotReady.
    """
    if not CHARS_LEAST <= max_chars <= CHARS_MOST:
        raise InvalidRequest.of("max_chars", f"must be from {CHARS_LEAST} to {CHARS_MOST}")
    batch = tuple(dict.fromkeys(names(kinds))) if kinds is not None else None
    if not {*(batch or ())} <= {*KINDS}:
        raise InvalidRequest.of("kinds", f"must be some of {', '.join(KINDS)}, separated by commas")
    meta = heads.load_recent(process, space_id).meta
    question = message_text(message)
    floor = RelevanceFloor.of(question)
    if floor.small_talk or (clear and not meta.recall):
        return Context([], "", None)
    # The floor of contexts is applied to each hit, below.
    request = SearchRequest.of(question, scope=ALL, limit=LOOKED_AT).of_kinds(batch)
    request = replace(request, floor=None, present=True, clear=clear, reader=reader)
    until = process.clock() + search.READING
    with search.answering(process, meta, [request], until=until) as (view, (answer,)):
        items, shown, size = [], [], 0
        floor = floor.forgiving(text_of(hit.document) for hit in answer.hits)
        for item in _items(view, answer.hits, None if clear else floor):
            text = (form or _told)(item)
            if size + len(text) <= max_chars:
                items.append(item)
                shown.append(text)
                size += len(text)
            if len(items) == ITEMS_MOST:
                break
    return Context(items, "".join(shown), answer.failure, answer.unread)


def _items(view: SearchView, hits: Sequence[Hit], floor: RelevanceFloor | None) -> Iterator[KnownItem]:
    """Each hit that passes the floor, once. None: all do, and are shown in short. The sides of a turn are one item, an
    exchange of single messages too, and neither stands beside the summary of just that. Of two notes with the same
    words the better one counts.
    """
    turns: set[tuple[str, int]] = set()
    summaries: set[tuple[str, int]] = set()
    texts: set[str] = set()
    most = ITEM_CHARACTERS if floor else CLEAR_CHARACTERS
    for hit in hits:
        if floor and not passes(view, floor, hit):
            continue
        document = hit.document
        conversation = document.source.get("conversation_id", "")
        if document.kind == TURN:
            index = int(document.source["turn_index"])
            exchange = exchange_of(view, hit) if (conversation, index) not in turns else []
            numbers = {(conversation, item.turn_index) for item in exchange}
            if numbers and not numbers <= summaries:
                yield _of_exchange(
                    hit, [item for item in exchange if (conversation, item.turn_index) not in turns], most
                )
                turns |= numbers
            continue
        if document.kind == SUMMARY:
            ends = conversation_documents.ends(document.source, "covers")
            assert ends
            if (
                ends[1] - ends[0] < len(turns)
                and {(conversation, item) for item in range(ends[0], ends[1] + 1)} <= turns
            ):
                continue
            if ends[0] == ends[1]:
                summaries.add((conversation, ends[0]))
        plain = " ".join(document.text[slice(*hit.line) if hit.line[1] and not floor else slice(None)].split())
        if plain not in texts:
            texts.add(plain)
            yield _of_document(hit, most)


def _of_document(hit: Hit, most: int) -> KnownItem:
    document = hit.document
    if most < ITEM_CHARACTERS:
        # Its mark stands behind the part that is shown.
        start, end = hit.line if hit.line[1] else (0, len(document.text))
        marks = (mark for place, mark in hit.marks if start < place <= end)
        snippet = (0, 0) if hit.line[1] else hit.snippet
        text = "".join((_part(document.text[start:end], snippet, most), *marks))
    else:
        hit = code_marks.shown(hit)
        text = _part(hit.document.text, hit.snippet, most)
    return KnownItem(
        document.kind,
        reading_id(document),
        document.time,
        document.author or document.said_by,
        document.title,
        line(text),
        hit.relevance,
        captured_from=document.source.get("conversation_id") if document.kind in (LIVE, ARCHIVE) else None,
        from_space=document.source.get("from_space"),
        written_by=document.written_by,
        room=document.source.get("room"),
        message_id=document.source.get("message_id"),
    )


def _of_exchange(hit: Hit, exchange: Sequence[Turn], most: int) -> KnownItem:
    document = hit.document
    lines = []
    for turn in exchange:
        sides = [("user", turn.user_message), ("assistant", turn.assistant_message)]
        for role, side in sides:
            if side.strip():
                result = document.id.endswith(f"/{turn.turn_index}/{role}")
                snippet = hit.snippet if result else (0, 0)
                named = turn.speaker(role) if turn.token == document.written_by else turn.said_by(role)
                who = named if turn.written_by or turn.user else (turn.role or role).capitalize()
                # The head has the day of what was found, and the token that wrote it for another speaker.
                day = clock.iso(turn.said_at())[:DAY]
                at = f" ({day})" if day != document.time[:DAY] else ""
                lines.append(f"{line(who)}{at}: {line(_part(side, snippet, most // 2))}")
    if not any(lines):
        lines = [line(_part(document.text, hit.snippet, most))]
    lines[-1] += "".join(mark for _, mark in hit.marks)
    first = exchange[0]
    return KnownItem(
        TURN,
        f"conversations/{document.source['conversation_id']}/turns/{first.turn_index}",
        document.time,
        document.author,
        "",
        "\n".join(lines),
        hit.relevance,
        written_by=document.written_by,
    )


def _part(text: str, snippet: tuple[int, int], most: int) -> str:
    """At most `most` characters of the text, around the snippet."""
    if len(text) <= most:
        return text
    start = max(0, min(snippet[0] - max(0, most - (snippet[1] - snippet[0])) // 2, len(text) - most))
    return f"{MORE if start else ''}{text[start : start + most]}{MORE if start + most < len(text) else ''}"


def _told(item: KnownItem) -> str:
    """The item as Markdown: its kind, its time and author, its id, and below its text."""
    when = f"{item.time[:16].replace('T', ' ')} UTC" if item.time else ""
    by = said_by(item.by, item.written_by or item.by)
    if item.kind == TURN:
        # The lines of an exchange name the speakers.
        by = f"written by {item.written_by}" if item.written_by else ""
    # As the start says it.
    origin = "captured" if item.captured_from else f"from {item.from_space}" if item.from_space else ""
    parts = (by, item.title, origin)
    head = ", ".join(filter(None, (f"{item.kind} {when}".strip(), *(line(part)[:HEAD_CHARACTERS] for part in parts))))
    lines = "".join(f"  {part}\n" for part in item.text.split("\n"))
    return f"- [{head}] ({line(item.id)[:HEAD_CHARACTERS]})\n{lines}"


READING_FOR_QUESTION = timedelta(seconds=4)
"""For how long it reads objects that the process does not know yet. The tools wait longer."""
HITS, ROOM_HITS = 8, 10
OTHERS = tuple(kind for kind in KINDS if kind != MESSAGE)

Outline = dict[str, list[str]]
"""The headings of each bank file, by the file's id: they name its sections (bank_sections)."""


@dataclass(frozen=True)
class QuestionContext:
    """The hits, the best first, then the messages of rooms, the oldest first; the outline of the bank; and how many new
    objects were left unread.
    """

    hits: Sequence[Hit]
    outline: Outline
    unread: int


def context_of_question(process: Process, space_id: str, question: str, *, room: str | None) -> QuestionContext:
    """Up to eight hits of all kinds but messages, as a search gives them, and up to ten messages of all rooms, or of
    one, that pass the floor of contexts (relevance.py). For small talk there is nothing, and no request.

    The requests of one `search.search`. Raises NotFound, SearchNotReady.
    """
    meta = heads.load_recent(process, space_id).meta
    whole = SearchRequest.of_message(question, limit=HITS)
    floor = RelevanceFloor.of(whole.text if whole else "")
    if not whole or floor.small_talk:
        return QuestionContext([], {}, 0)
    request = replace(whole.of_kinds(OTHERS), present=True)
    # The reader judges the other hits. Rooms are chatter, so each message has to pass.
    in_rooms = replace(
        SearchRequest.of(whole.text, scope=OF_ROOMS, room=room, limit=ROOM_HITS),
        floor=None,
        least=process.settings.room_min_relevance,
    )
    until = process.clock() + READING_FOR_QUESTION
    with search.answering(process, meta, [request, in_rooms], until=until) as (view, (answer, said)):
        floor = floor.forgiving(text_of(hit.document) for hit in said.hits)
        messages = sorted(filter(floor.admits_hit, said.hits), key=lambda hit: hit.document.time)
        return QuestionContext([*answer.hits, *messages], outline(view), answer.unread)


def outline(view: SearchView) -> Outline:
    """The outline of the bank as the view knows it. No request."""
    titles: dict[str, list[list[str]]] = defaultdict(list)
    for path, source in view.index.sources(BANK):
        address = split_address(source["section"]) if "section" in source else ()
        titles[path].append(list(map(bank_sections.title, address)))
    outline: Outline = {}
    for path, title in titles.items():
        shared = bank_sections.shared_headings(title)
        outline[bank_sections.file_id(path)] = [
            bank_sections.BETWEEN.join(item[shared:] or item) for item in title if any(item)
        ]
    return outline
