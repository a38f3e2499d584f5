"""Exchanges in contexts: what belongs to a found message, because a question without its answer, or an answer without
its question, is only half.
"""

from collections.abc import Iterator

from livemem.conversations.turn import Turn
from livemem.recall.conversation_documents import ASSISTANT, USER, turn_of
from livemem.recall.relevance import RelevanceFloor, text_of
from livemem.search.documents import Document
from livemem.search.engine import Hit
from livemem.search.ranking import NO_ROLE
from livemem.search.shape import SESSION_SECONDS
from livemem.search.traits import traits
from livemem.search.view import SearchView

Message = tuple[str, str, str]
"""Role, speaker and text of a side of a turn."""


def passes(view: SearchView, floor: RelevanceFloor, hit: Hit) -> bool:
    """Whether a hit is relevant: by its own text or, where people talk to each other, with the words that were said
    directly before and after it, as they count in the ranking too. "Seven years" is the answer to a question.
    """
    if floor.admits_hit(hit):
        return True
    beside = _said_beside(view, hit)
    return bool(beside) and floor.admits(" ".join(map(text_of, (hit.document, *beside))), hit.relevance)


def _said_beside(view: SearchView, hit: Hit) -> list[Document]:
    """The documents directly before and after a hit, where people talk. A long text of a model holds any word."""
    whole = view.shape()
    number = view.index.number(hit.document.id)
    places = whole.documents_at([] if number is None else [number])
    if not len(places):
        return []
    corpus, place = whole.corpus, int(places[0])
    near = range(max(0, place - 1), min(len(corpus.told), place + 2))
    talk = [one for one in near if corpus.group[one] == corpus.group[place] and corpus.told[one]]
    if place not in talk or (corpus.roles[talk] != NO_ROLE).any():
        return []
    return [view.index.document(int(whole.documents[one])) for one in talk if one != place]


def exchange_of(view: SearchView, hit: Hit) -> list[Turn]:
    """The exchange of a found side of a turn; empty if the view does not know that turn.

    Of single messages to a model it is the question and its answer. Between people it is also what the found message
    answers, and what answers it. Whole turns to a model stand alone: they have both.
    """
    source = hit.document.source
    conversation, index = source["conversation_id"], int(source["turn_index"])
    found = turn_of(view, conversation, index)
    if not found:
        return []
    if found.role in (USER, ASSISTANT):
        first = index if found.role == USER else index - 1
        pair = [found if number == index else turn_of(view, conversation, number) for number in (first, first + 1)]
        whole = [one for one, role in zip(pair, (USER, ASSISTANT), strict=True) if one and one.role == role]
        if len(whole) == len(pair):
            return whole
    side = hit.document.id.rpartition("/")[2]
    before = turn_of(view, conversation, index - 1) if side == _first_side(found) else None
    after = turn_of(view, conversation, index + 1) if side == _last_side(found) else None
    return [
        *([before] if before and _answers(found, before) else []),
        found,
        *([after] if after and _answers(after, found) else []),
    ]


def _messages(turn: Turn) -> Iterator[Message]:
    for side, text in ((USER, turn.user_message), (ASSISTANT, turn.assistant_message)):
        if text.strip():
            yield turn.role_of(side), turn.speaker(side), text


def _first_side(turn: Turn) -> str:
    return USER if turn.user_message.strip() else ASSISTANT


def _last_side(turn: Turn) -> str:
    return ASSISTANT if turn.assistant_message.strip() else USER


def _answers(turn: Turn, before: Turn) -> bool:
    """Whether a turn begins with a person's answer to another person's question, with which the turn before ends."""
    asked, told = list(_messages(before))[-1:], list(_messages(turn))[:1]
    if not asked or not told or not asked[0][0] == told[0][0] == USER or asked[0][1] == told[0][1]:
        return False
    pause = (turn.said_at() - before.said_at()).total_seconds()
    return traits(asked[0][2]).asks and pause < SESSION_SECONDS
