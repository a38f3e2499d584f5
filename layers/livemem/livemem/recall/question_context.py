"""The context of an agent that answers a question: all kinds in one search, and an outline of the bank."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from livemem.markdown.sections import split_address
from livemem.process import Process
from livemem.recall import bank_sections, search
from livemem.recall.message_context import KINDS
from livemem.recall.relevance import RelevanceFloor, text_of
from livemem.recall.search_request import OF_ROOMS, SearchRequest, message_text
from livemem.search import words
from livemem.search.documents import BANK, MESSAGE
from livemem.search.engine import Hit
from livemem.search.view import SearchView
from livemem.spaces import head as heads

READING = timedelta(seconds=4)
"""For how long it reads objects that the process does not know yet. The tools wait longer."""
HITS, MESSAGES = 8, 10
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


def context(process: Process, space_id: str, question: str, *, room: str | None) -> QuestionContext:
    """Up to eight hits of all kinds but messages, as a search gives them, and up to ten messages of all rooms, or of
    one, that pass the floor of contexts (relevance.py). For small talk there is nothing, and no request.

    The requests of one `search.search`. Raises NotFound, SearchNotReady.
    """
    meta = heads.load_recent(process, space_id).meta
    text = message_text(question)
    floor = RelevanceFloor.of(text)
    if floor.small_talk or not words.parse(text).words:
        return QuestionContext([], {}, 0)
    asked = replace(SearchRequest.of(text, limit=HITS).of_kinds(OTHERS), present=True)
    # The reader judges the other hits. Rooms are chatter, so each message has to pass.
    in_rooms = replace(
        SearchRequest.of_part(text, scope=OF_ROOMS, room=room, limit=MESSAGES),
        floor=None,
        least=process.settings.room_min_relevance,
    )
    until = process.clock() + READING
    with search.answering(process, meta, [asked, in_rooms], until=until) as (
        view,
        (result, item),
    ):
        floor = floor.forgiving(text_of(hit.document) for hit in item.hits)
        messages = sorted(filter(floor.admits_hit, item.hits), key=lambda hit: hit.document.time)
        return QuestionContext([*result.hits, *messages], outline(view), result.unread)


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
