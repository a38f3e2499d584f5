"""The context of an agent that answers a question: all kinds in one search, and an outline of the bank."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from livemem.process import Process
from livemem.recall import search
from livemem.recall.document_sources import BANK
from livemem.recall.message_context import KINDS, LOOKED_AT, KnownItem, known_items
from livemem.recall.relevance import RelevanceFloor, text_of
from livemem.recall.room_documents import MESSAGE
from livemem.recall.search_request import QUERY_CHARACTERS, SearchRequest
from livemem.recall.start_material import StartMaterial, StartSection
from livemem.recall.start_outline import LeftOut
from livemem.recall.start_words import WORDS
from livemem.search import words
from livemem.search.documents import Document, storable
from livemem.search.engine import Hit
from livemem.search.view import SearchView
from livemem.spaces import head as heads
from livemem.spaces.head import Meta

READING = timedelta(seconds=4)
"""For how long it reads objects that the process does not know yet. The tools wait longer."""
MESSAGES = 10
OTHERS = tuple(kind for kind in KINDS if kind != MESSAGE)


@dataclass(frozen=True)
class QuestionContext:
    """The known items, the best first; the messages of rooms, the oldest first; the outline of the bank, empty where it
    has no file; and how many new objects were left unread.
    """

    items: Sequence[KnownItem]
    said: Sequence[Hit]
    outline: str
    unread: int


def context(
    process: Process, space_id: str, question: str, *, room: str | None, max_chars: int, outline_chars: int
) -> QuestionContext:
    """Up to ten items of all kinds but messages, as in a context for a message, and up to ten messages of all rooms, or
    of one. All pass the relevance floor (relevance.py). For small talk there is nothing, and no request.

    The requests of one `search.search`. Raises NotFound, SearchNotReady.
    """
    meta = heads.load_recent(process, space_id).meta
    text = words.plain(storable(question))[:QUERY_CHARACTERS]
    floor = RelevanceFloor.of(text)
    if floor.small_talk or not words.parse(text).words:
        return QuestionContext([], [], "", 0)
    # The floor is applied to each hit, below.
    asked = replace(SearchRequest.of(text, limit=LOOKED_AT).of_kinds(OTHERS), floor=None, present=True)
    in_rooms = replace(
        SearchRequest.of_rooms(text, room=room, limit=MESSAGES), floor=None, least=process.settings.room_min_relevance
    )
    until = process.clock() + READING
    with search.answering(process, meta, [asked, in_rooms], lambda: search.vector_of(process, text), until) as (
        view,
        (found, said),
    ):
        items = [item for item, _ in known_items(view, found.hits, floor, max_chars)]
        near = floor.forgiving(text_of(hit.document) for hit in said.hits)
        messages = sorted(filter(near.admits_hit, said.hits), key=lambda hit: hit.document.time)
        return QuestionContext(items, messages, outline(view, meta, outline_chars), found.unread)


def outline(view: SearchView, meta: Meta, most: int) -> str:
    """The sections of the bank by their ids, as a start names those that it omits, in at most so many characters. No
    request.
    """
    whole = view.shape()
    numbers = whole.documents[whole.of_kinds((BANK,))]
    sections = [_section(view.index.document(int(number))) for number in numbers]
    sections.sort(key=lambda one: one.path)
    return LeftOut(StartMaterial(meta, sections, None, [], 0, True, [], []), WORDS["en"], most).text(most).strip()


def _section(document: Document) -> StartSection:
    address = document.source.get("section", "")
    return StartSection(document.group, document.id, address, document.text, document.time, document.time)
