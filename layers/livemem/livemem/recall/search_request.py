"""A search request: its texts, checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from livemem.conversations import answer
from livemem.errors import InvalidRequest
from livemem.notes import pages
from livemem.recall import conversation_documents, document_sources
from livemem.recall.relevance import RelevanceFloor
from livemem.search import words
from livemem.search.dates import relative_dates
from livemem.search.documents import (
    ARCHIVE,
    BANK,
    LIVE,
    MEMORY,
    MESSAGE,
    QUESTIONS,
    SUMMARY,
    TOOLS,
    TURN,
    storable,
)
from livemem.search.index import DocumentFilter
from livemem.search.words import Query
from livemem.store import keys
from livemem.text import items
from livemem.text.code_version import UNKNOWN, CodeVersion
from livemem.text.items import folded
from livemem.text.speakers import check_speaker

KINDS = {
    "live": (LIVE,),
    "bank": (BANK,),
    "archive": (ARCHIVE,),
    "conversations": (TURN, SUMMARY),
    "memories": (MEMORY,),
    "rooms": (MESSAGE,),
}
"""The names of scopes in a request, and their kinds of documents."""
ASIDE = (TOOLS, QUESTIONS)
"""Scopes that are searched apart from all others: calls of tools, and what `ask` has recorded. Both lie in
conversations, and are no evidence.
"""
OF_CONVERSATION, OF_ROOMS, OF_MEMORIES = "conversations", "rooms", "memories"
"""The scope of a request about a conversation, of one about rooms, and of one about memories."""
ALL = "all"
QUERY_CHARACTERS = 4_000
ID_CHARACTERS = 4_000
"""Of a document: a section's id has its file's path and its headings."""
LIMIT_DEFAULT, LIMIT_MOST = 10, 100
SKIP_MOST = 2_000
"""So many of those that match are looked through for an answer, and its pages end here. A page looks again through all
that is better, for copies.
"""
RESULTS_DEFAULT, RESULTS_MOST = 5, 50
"""Of a search in conversations."""


def message_text(message: str) -> str:
    """A message as it is searched: as text, never as syntax."""
    return words.plain(storable(message))[:QUERY_CHARACTERS]


@dataclass(frozen=True)
class SearchRequest:
    """A checked search request."""

    text: str
    query: Query
    filter: DocumentFilter
    limit: int
    recency: float
    kinds: tuple[str, ...] | None = None
    """Kinds of the documents to search; None for all."""
    conversations: tuple[str, ...] | None = None
    """The only conversations to search; None for no such limit."""
    cwd: str | None = None
    host: str | None = None
    """The only folder whose conversations are searched, and its host; None for no such limit (`within`)."""
    room: str | None = None
    """The only room to search; None for no such limit."""
    since: datetime | None = None
    until: datetime | None = None
    """The first and the last moment of documents, without a time zone where they name a day (clock.parse_bound)."""
    levels: tuple[int, ...] = conversation_documents.LEVELS
    least: float | None = None
    """The least relevance, a cosine. It does not apply to documents without one."""
    excerpts: bool = True
    """Whether hits come with the part of their text that fits best."""
    aside: str = ""
    """The name of the only documents to search, which are aside. Empty: all that are not."""
    floor: RelevanceFloor | None = None
    """The floor that one of the first documents has to pass; None for no floor."""
    skip: int = 0
    """So many of the documents that match are left out, the best ones: those of earlier pages."""
    present: bool = False
    """Whether consolidated notes that no longer hold are left out, unless the text asks for the past."""
    clear: bool = False
    """Whether only hits come that are clearly about the text, of the first ones (evidence.clear_places)."""
    why_not: str = ""
    """The id of a document for which the answer says why it was not found; empty for none."""
    reader: CodeVersion = UNKNOWN
    """The version of the code that the agent works on: hits of other branches are marked (code_marks.py)."""

    @classmethod
    def of(
        cls,
        text: str,
        *,
        scope: str | None = None,
        limit: int = LIMIT_DEFAULT,
        author: str | None = None,
        category: str | None = None,
        tag: str | None = None,
        since: str | None = None,
        until: str | None = None,
        recency: float = 0.0,
        conversation_id: str | None = None,
        cwd: str | None = None,
        host: str | None = None,
        levels: str | None = None,
        room: str | None = None,
        kind: str | None = None,
        topic: str | None = None,
        entity: str | None = None,
        min_score: float | None = None,
        everything: bool = False,
    ) -> "SearchRequest":
        """The request's texts. Some filters are of one part of a space, which then is the scope: conversations
        (`conversation_id`, `cwd` with `host`, `levels`), a `room`, or memories of a `kind`. Summaries alone have a
        `topic` or an `entity`. With `everything`, or 0 as `min_score`, there is no floor. Raises InvalidRequest or
        InvalidName, naming the field.
        """
        _check_conversations(conversation_id, cwd, host)
        if not 1 <= limit <= LIMIT_MOST:
            raise InvalidRequest.of("limit", f"must be from 1 to {LIMIT_MOST}")
        if len(text) > QUERY_CHARACTERS:
            raise InvalidRequest.of("q", f"must have at most {QUERY_CHARACTERS} characters")
        query = words.parse(text)
        if not query.words and not query.prefixes:
            raise InvalidRequest.of("q", "has no word to search for")
        if min_score is not None and not 0 <= min_score <= 1:
            raise InvalidRequest.of("min_score", "must be from 0 to 1")
        # The same rules, and the same words when they are broken, as for pages of notes.
        checked = pages.NotesFilter.of(category=category, agent=None, tag=tag, since=since, until=until)
        if author is not None:
            check_speaker("author", author)
        fields: dict[str, Any] = {"topic": _named("topic", topic), "entity": _named("entity", entity)}
        in_conversations = conversation_id is not None or cwd is not None or levels is not None
        part = _part(
            scope, {OF_CONVERSATION: in_conversations, OF_ROOMS: room is not None, OF_MEMORIES: kind is not None}
        )
        if not part and scope is None and any(fields.values()):
            part = OF_CONVERSATION
        aside = scope if scope in ASIDE else ""
        kinds = _kinds(part or (OF_CONVERSATION if aside else scope or ALL))
        numbers = _levels(levels)
        if aside or (kinds is not None and SUMMARY not in kinds) or not any(numbers):
            for field in (name for name, value in fields.items() if value is not None):
                raise InvalidRequest.of(field, "is of summaries alone, which the other arguments leave out")
        request = cls(
            text,
            query,
            DocumentFilter(kinds, author, category, tag, memory_kind=kind, **fields),
            limit,
            recency,
            kinds,
            cwd=cwd,
            host=host,
            room=room,
            since=checked.since,
            until=checked.until,
            levels=numbers,
            least=0.0 if everything else min_score,
            aside=aside,
            floor=None
            if everything or min_score == 0
            else RelevanceFloor.of_search(
                text,
                query,
                filtered=any(item is not None for item in (author, category, tag, since, until, topic, entity)),
            ),
        )
        if room is not None:
            groups = (document_sources.room_group(keys.check_room(room)),)
            # Of a room there is nothing else.
            return replace(request, filter=replace(request.filter, kinds=None, groups=groups))
        return request.within(None if conversation_id is None else (conversation_id,)) if in_conversations else request

    @classmethod
    def of_message(cls, message: str, **filters: Any) -> "SearchRequest | None":
        """The request for a message, which is searched as text, never as syntax. None if no word of it can be looked
        for.
        """
        text = message_text(message)
        return cls.of(text, **filters) if words.parse(text).words else None

    def from_rank(self, skip: int | None) -> "SearchRequest":
        """The same for a later page of the answer; None for the first one. Raises InvalidRequest."""
        if skip is None:
            return self
        if not 0 < skip <= SKIP_MOST:
            raise InvalidRequest.of("cursor", "is not the `next_cursor` of an answer to this query")
        return replace(self, skip=skip)

    def asking_why_not(self, document_id: str | None) -> "SearchRequest":
        """The same, whose answer tells why a document was not found; None for none. Raises InvalidRequest."""
        if document_id is None:
            return self
        if not 0 < len(document_id) <= ID_CHARACTERS:
            raise InvalidRequest.of("why_not", f"must have 1 to {ID_CHARACTERS} characters")
        return replace(self, why_not=storable(document_id))

    @property
    def has_turns(self) -> bool:
        """Whether turns may be found."""
        of_kind = self.kinds is None or TURN in self.kinds
        return of_kind and 0 in self.levels and not self.aside

    @property
    def is_narrow(self) -> bool:
        """Whether more than the scope leaves documents out."""
        return self.filter != DocumentFilter(self.filter.kinds) or bool(self.since or self.until)

    def on(self, today: date) -> "SearchRequest":
        """The same asked on a day, from which its text may count ("last week")."""
        dates = relative_dates(self.text, today)
        return replace(self, query=replace(self.query, dates=(*self.query.dates, *dates))) if dates else self

    def of_kinds(self, kinds: tuple[str, ...] | None) -> "SearchRequest":
        """The same among documents of some kinds alone; None for all."""
        return replace(self, filter=replace(self.filter, kinds=kinds), kinds=kinds)

    def within(self, conversation_ids: Sequence[str] | None, *, all_of_space: bool = False) -> "SearchRequest":
        """The same in some conversations alone, or in all of the space where it is None.

        `all_of_space` follows all of them, where that is less work.
        """
        batch = (TURN,) * (0 in self.levels) + (SUMMARY,) * any(self.levels)
        if conversation_ids is None:
            return replace(self, filter=replace(self.filter, kinds=batch), kinds=batch, conversations=None)
        filtered = replace(self.filter, kinds=None, groups=conversation_documents.groups(conversation_ids, self.levels))
        alone = None if all_of_space else tuple(conversation_ids)
        return replace(self, filter=filtered, kinds=batch, conversations=alone)


def _check_conversations(conversation_id: str | None, cwd: str | None, host: str | None) -> None:
    """Raise InvalidRequest or InvalidName for filters of conversations that do not go together, or a bad id."""
    if conversation_id is not None:
        keys.check_conversation_id(conversation_id)
        if cwd is not None or host is not None:
            raise InvalidRequest.of("conversation_id", "goes with no `cwd` and no `host`")
    if host is not None and cwd is None:
        raise InvalidRequest.of("host", "is the host of a folder: send `cwd` as well")


def _part(scope: str | None, parts: Mapping[str, bool]) -> str:
    """The one part of a space that filters name, empty for none. Raises InvalidRequest if the scope is another one."""
    named = [part for part, target in parts.items() if target]
    # Calls of tools and questions lie in conversations.
    apart = ASIDE if named == [OF_CONVERSATION] else ()
    if len(named) > 1 or (named and scope not in (None, ALL, *named, *apart)):
        raise InvalidRequest.of("scope", f"other arguments are about {' and '.join(named)} alone")
    return named[0] if named else ""


def _named(field: str, name: str | None) -> str | None:
    """A topic or an entity as it is compared; None for no such filter. Raises InvalidRequest."""
    if name is None:
        return None
    compared = folded(name)
    if not compared or len(name) > answer.ITEM_CHARACTERS:
        raise InvalidRequest.of(field, f"must have 1 to {answer.ITEM_CHARACTERS} characters")
    return compared


def _levels(levels: str | None) -> tuple[int, ...]:
    """The levels that a request names. All if it names none."""
    levels_by_name = {str(level): level for level in conversation_documents.LEVELS}
    batch = list(levels_by_name) if levels is None else items.names(levels)
    if not set(batch) <= levels_by_name.keys():
        raise InvalidRequest.of("levels", f"must be some of {', '.join(levels_by_name)}, separated by commas")
    return tuple(sorted({levels_by_name[item] for item in batch}))


def _kinds(scope: str) -> tuple[str, ...] | None:
    """The kinds of documents that a scope names; None for all."""
    names = items.names(scope)
    if ALL in names and len(names) == 1:
        return None
    if not set(names).isdisjoint(ASIDE):
        raise InvalidRequest.of("scope", f"{' and '.join(ASIDE)} are searched alone")
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise InvalidRequest.of("scope", f"must be {ALL}, or some of {', '.join(KINDS)}, separated by commas")
    return tuple(dict.fromkeys(kind for name in names for kind in KINDS[name]))
