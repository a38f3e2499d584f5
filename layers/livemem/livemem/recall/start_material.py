"""The material for the start of a session, read from the bucket: the sections of the bank with the notes that they rest
on, the live notes, the agents' knowledge of themselves, and the answers to a question.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import Literal, TypeVar

from livemem.bank import summary
from livemem.bank.summary import WholeSpace
from livemem.bank.synthesis import Synthesis
from livemem.bank.time_travel import RecordedMoment
from livemem.conversations import conversation as conversations
from livemem.conversations import summaries, summary_versions, user_signals
from livemem.conversations.summary_versions import At
from livemem.conversations.user_signals import Heard
from livemem.errors import StoreUnavailable
from livemem.memories import log
from livemem.memories import state as states
from livemem.memories.memory import Memory
from livemem.notes.note import Note
from livemem.process import Process
from livemem.recall import code_marks, fan_out
from livemem.recall.bank_sections import StartSection, rest_on, sections_of
from livemem.recall.fan_out import Tasks
from livemem.search.documents import BANK, CONVERSATION_KINDS, LIVE, MEMORY, SUMMARY, TURN
from livemem.spaces import contents
from livemem.spaces.contents import Newest
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.store.bucket import TURN as TURN_KIND
from livemem.store.keys import MemoryKind
from livemem.store.objects import Entry
from livemem.text.code_version import UNKNOWN, CodeVersion
from livemem.text.invisible import visible
from livemem.text.language import detect

T = TypeVar("T")
SPACE, MEMORIES, SEARCH, USER, SESSIONS = "space", "memories", "search", "user", "sessions"
SECONDS = {SPACE: 20.0, MEMORIES: 4.0, SEARCH: 6.0, USER: 4.0, SESSIONS: 4.0}
"""How long the start waits for each source. The space itself is required."""
URGENT = ("decision", "issue", "todo")
"""Categories of live notes that are given before the others."""
SHORT_BANK = 2
"""Sessions are told while the bank has less than this part of a start: a half. Later the start is full without them."""
NOTES_MOST = 200
MEMORIES_MOST = 50
SESSIONS_MOST, SUMMARIES_MOST = 6, 3
"""Conversations of which a summary is given, the last that began, and summaries of each that are looked at."""
HITS = 20
SCOPE = "live,bank,archive,memories,conversations"
"""The scope of the search for a start's question."""
SCOPE_OF_PAST = "live,bank,archive"
"""The same for an earlier moment: what a memory said then is not kept in one place."""
_OWN: tuple[MemoryKind, ...] = ("self", "goal")


HitKind = Literal["section", "live", "archive", "memory", "turn", "summary"]
HIT_KINDS: Mapping[str, HitKind] = {
    BANK: "section",
    LIVE: "live",
    MEMORY: "memory",
    TURN: "turn",
    SUMMARY: "summary",
}


@dataclass(frozen=True)
class StartHit:
    """An answer to a question: a section, by its file (`path`) and its headings (`address`); a note, live or folded; a
    memory; a turn or a summary of a conversation, by the ids that `read` takes.
    """

    kind: HitKind
    id: str
    text: str
    told: tuple[str, ...]
    """Its time, its author and its kind."""
    path: str = ""
    address: str = ""
    verified_at: str | None = None
    """Of a memory: when it was last confirmed."""
    excerpt: str = ""
    """Of a section, a turn or a summary: the passage of it that answers best."""


@dataclass(frozen=True)
class PastSession:
    """What a summary of a conversation found, by the id that `read` takes. `until`: when its last turn was written.
    `notes`: the ids of those that were captured from it.
    """

    summary_id: str
    until: str
    author: str
    title: str
    summary: str
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class StartMaterial:
    """All that a start may show. `live` and `memories` are in the order in which they are given. `found` has the best
    first.
    """

    meta: Meta
    sections: list[StartSection]
    synthesis: Synthesis | None
    live: list[Note]
    live_count: int
    live_exact: bool
    memories: list[Memory]
    found: list[StartHit]
    heard: Sequence[Heard] = ()
    """Hints on how to work with the user, the newest first."""
    degraded: tuple[str, ...] = ()
    unread: int = 0
    """New objects that the search left unread."""
    then: RecordedMoment | None = None
    """The earlier moment whose bank and notes these are. Then there are no memories and no hints."""
    language: str | None = None
    """The space's language: as it is set, else that of its rules."""
    sessions: Sequence[PastSession] = ()
    """The last conversations, the newest first, where the bank leaves place for them."""
    by_rules: bool = False
    """Whether fixed rules fold the notes, and no language model."""
    reader: CodeVersion = UNKNOWN


def load(
    process: Process,
    space_id: str,
    *,
    characters: int,
    question: str | None,
    user: str | None = None,
    at: str | None = None,
    reader: CodeVersion = UNKNOWN,
) -> StartMaterial:
    """The material that a start of so many characters may show to a `user`, marked for the `reader` (code_marks.py).

    `at`: an earlier moment (time_travel.then). It has the rules, the bank and the live notes of that moment, no
    memories and no hints. Of the documents that today's search finds, later notes are left out.

    As `summary.summary`, and side by side with it 1 LIST for each of two kinds of memories and their new operations.
    Then 1 GET for each record that wrote a file that this process has not seen before. With a question a search beside
    it (`search.search`). In a space that has conversations `user_signals.heard` with a user, and `_sessions` where the
    bank is short. A source that fails is left out. At an earlier moment as `summary.summary` and `summary.live_at`.
    Raises NotFound, StoreUnavailable, InvalidRequest, Conflict.
    """
    tasks: Tasks = {SPACE: lambda: _space(process, space_id, characters, at)}
    if at is None:
        tasks[MEMORIES] = lambda: _memories(process, space_id)
    if question is not None:
        scope = SCOPE if at is None else SCOPE_OF_PAST
        tasks[SEARCH] = lambda: _found(process, space_id, question, scope, reader)
    results, failures = fan_out.done(process, SECONDS, tasks)
    if SPACE in failures:
        raise fan_out.error_of(failures[SPACE])
    whole_space: WholeSpace = results[SPACE]
    assert whole_space.live
    # After the head, which shows that there is something to look for. On a machine of one's own a look costs nothing.
    told = whole_space.meta.has_conversations or process.settings.session_folds
    later: Tasks = {}
    if told and at is None and user is not None:
        later[USER] = lambda: user_signals.heard(process, space_id, user)
    if told and at is None and sum(file.size for file in whole_space.bank) < characters // SHORT_BANK:
        later[SESSIONS] = lambda: _sessions(process, space_id)
    if later:
        more, more_failures = fan_out.done(process, SECONDS, later)
        results, failures = results | more, failures | more_failures
    ids = {note.note_id for note in whole_space.live.notes}
    newest_first = whole_space.live.notes[::-1]
    result, unread = results.get(SEARCH, ([], 0))
    if whole_space.then:
        result = _of_then(result, whole_space.then, ids)
    urgent_first = sorted(newest_first, key=lambda note: note.category not in URGENT)
    return StartMaterial(
        whole_space.meta,
        sections_of(whole_space.rules or "", whole_space.bank, rest_on(process, space_id, whole_space.bank), reader),
        whole_space.synthesis,
        urgent_first,
        max(whole_space.live.count, len(ids)),
        whole_space.live.exact,
        results.get(MEMORIES, []),
        result,
        results.get(USER, []),
        tuple(name for name in SECONDS if name in failures),
        unread,
        whole_space.then,
        whole_space.meta.language or detect(whole_space.rules or ""),
        results.get(SESSIONS, ()),
        process.settings.has_offline_llm(),
        reader,
    )


def _space(process: Process, space_id: str, characters: int, at: str | None) -> WholeSpace:
    if at is None:
        return summary.summary(process, space_id, choose=lambda newest: _chosen(newest, characters))
    whole = summary.summary(process, space_id, at=at)
    assert whole.then
    return replace(whole, live=summary.live_at(process, space_id, whole.then, most=NOTES_MOST))


def _of_then(start_hits: Sequence[StartHit], then: RecordedMoment, live: Collection[str]) -> list[StartHit]:
    """The answers that were there then. A note that was live then counts as live. Sections are matched with the bank of
    then by the renderer.
    """
    batch = []
    for hit in start_hits:
        if hit.kind == "section":
            batch.append(hit)
        elif keys.parse_note_id(hit.id).timestamp <= then.time:
            batch.append(replace(hit, kind="live" if hit.id in live else "archive"))
    return batch


def _chosen(newest: Newest, characters: int) -> list[Entry]:
    """The listed notes that may be shown, the newest first: as many as fit, of each author first those that are urgent.

    An object has at least as many bytes as its note has characters.
    """
    listed = newest.listing if newest.exact else newest.entries
    batch = sorted(listed, key=lambda entry: contents.note_name(entry).order, reverse=True)
    texts: set[str] = set()
    rest = characters

    def take(entry: Entry) -> bool:
        nonlocal rest
        fits = len(texts) < NOTES_MOST and entry.size <= max(rest, 0)
        if fits:
            texts.add(entry.key)
            rest -= entry.size
        return fits

    share_out(
        sorted(batch, key=lambda entry: contents.note_name(entry).category not in URGENT),
        characters,
        author=lambda entry: contents.note_name(entry).agent,
        # Many small notes are not read either.
        size=lambda entry: max(entry.size, characters // NOTES_MOST),
        take=take,
    )
    return [entry for entry in batch if entry.key in texts]


def share_out(
    items: Iterable[T], room: int, *, author: Callable[[T], str], size: Callable[[T], int], take: Callable[[T], bool]
) -> None:
    """Offer each to `take`, which says whether there is room for it. First comes of each author what fits an equal
    share of `room` characters, in their order. The authors share the rest by turns: the next one is of the
    author that has least.

    So no author takes the place of the others, and one alone may have all.
    """
    waiting: dict[str, deque[T]] = defaultdict(deque)
    for item in items:
        waiting[author(item)].append(item)
    turns: list[tuple[int, int, deque[T]]] = []
    for place, own in enumerate(waiting.values()):
        used = 0
        for _ in range(len(own)):
            item = own.popleft()
            if used + size(item) <= room // len(waiting) and take(item):
                used += size(item)
            else:
                own.append(item)
        turns.append((used, place, own))
    heapify(turns)
    while turns:
        used, place, own = heappop(turns)
        if own:
            item = own.popleft()
            heappush(turns, (used + size(item) if take(item) else used, place, own))


def _memories(process: Process, space_id: str) -> list[Memory]:
    """The agents' knowledge of themselves and their goals: those last stored or changed first."""
    missing: list[str] = []
    results = process.store.map(lambda kind: log.load(process, space_id, kind, missing), _OWN)
    now = process.clock()
    return states.newest_first(memory for item in results for memory in item.alive(now))[:MEMORIES_MOST]


def _sessions(process: Process, space_id: str) -> list[PastSession]:
    """What the last conversations were about: 1 LIST per 1,000 of them. For each of SESSIONS_MOST 2 GETs, 1 LIST, and
    1 GET for each of up to SUMMARIES_MOST summaries that this process has not read.
    """
    ids = sorted(process.store.folders(TURN_KIND.prefix(space_id)), reverse=True)[:SESSIONS_MOST]
    batch = [item for item in process.store.map(lambda one: _session(process, space_id, one), ids) if item]
    # One that was imported began later than it ended.
    return sorted(batch, key=lambda item: item.until, reverse=True)


def _session(process: Process, space_id: str, conversation_id: str) -> PastSession | None:
    """None for one that is deleted, has no summary, can't be read, or only asks the memory. Of one that notes are
    captured from, the newest of its last summaries that named some: the others may be small talk.
    """
    try:
        conversation = conversations.find(process, space_id, keys.check_conversation_id(conversation_id))
        if not conversation:
            return None
        at = At(space_id, conversation, summary_versions.read(process, space_id, conversation).current())
        layers = summaries.read(process, at)
        names = summaries.current(process, layers, 1)
        if not names:
            return None
        newest = dict(sorted(names.items())[-SUMMARIES_MOST:])
        told = summaries.load(process, layers, 1, newest)
    except (*fan_out.FAILURES, StoreUnavailable):
        return None
    fit = [summary for summary in told if summary.notes or conversation.capture == "off"]
    if not fit or fit[-1].asked or any(map(fit[-1].says_of, conversation.erased_turns)):
        return None
    summary = fit[-1]
    summary_id = f"conversations/{conversation_id}/summaries/1/{summary.number}"
    author = summary.said_by or conversation.author
    text = " ".join(summary.key_findings) or summary.summary
    return PastSession(summary_id, summary.range_end, author, conversation.title or "", text, summary.notes)


def _found(
    process: Process, space_id: str, question: str, scope: str, reader: CodeVersion
) -> tuple[list[StartHit], int]:
    """The answers to the question, and how many new objects were left unread."""
    # They weigh: a start without a question needs none of them.
    from livemem.recall import document_sources, search  # noqa: PLC0415
    from livemem.recall.search_request import SearchRequest  # noqa: PLC0415

    request = SearchRequest.of_message(question, scope=scope, limit=HITS)
    if not request:
        return [], 0
    answer = search.search(process, space_id, replace(request, present=scope == SCOPE, reader=reader))
    hits = []
    for hit in map(code_marks.shown, answer.hits):
        document = hit.document
        role = document.role if document.kind == TURN else ""
        tags = (f"#{tag}" for tag in document.tags)
        hits.append(
            StartHit(
                HIT_KINDS.get(document.kind, "archive"),
                document_sources.reading_id(document) if document.kind in CONVERSATION_KINDS else document.id,
                document.text,
                (document.time[:16], document.said_by, role, document.category, *tags),
                document.group,
                document.source.get("section", ""),
                document_sources.verified_at(document) if document.kind == MEMORY else None,
                visible(document.text[slice(*hit.snippet)]),
            )
        )
    return hits, answer.unread
