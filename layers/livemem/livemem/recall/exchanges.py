"""Exchanges in contexts: what belongs to a found message, because a question without its answer, or an answer without
its question, is only half.
"""

from typing import NamedTuple

from livemem.conversations.turn import Turn
from livemem.recall.conversation_documents import ASSISTANT, USER, turn_of
from livemem.recall.relevance import RelevanceFloor, text_of
from livemem.search.documents import Document
from livemem.search.engine import Hit
from livemem.search.ranking import NO_ROLE
from livemem.search.shape import SESSION_SECONDS
from livemem.search.traits import traits
from livemem.search.view import SearchView


class ExchangeSide(NamedTuple):
    """A side of a turn on which something was said. `name` is USER or ASSISTANT, as documents of turns have it."""

    name: str
    role: str
    speaker: str
    text: str


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
    talk = [item for item in near if corpus.group[item] == corpus.group[place] and corpus.told[item]]
    if place not in talk or (corpus.roles[talk] != NO_ROLE).any():
        return []
    return [view.index.document(int(whole.documents[item])) for item in talk if item != place]


def exchange_of(view: SearchView, hit: Hit) -> list[Turn]:
    """The exchange of a found side of a turn; empty if the view does not know that turn.

    Of single messages to a model it is the question and its answer. Between people it is also what the found message
    answers, and what answers it. Whole turns to a model stand alone: they have both.
    """
    source = hit.document.source
    conversation, index = source["conversation_id"], int(source["turn_index"])
    result = turn_of(view, conversation, index)
    if not result:
        return []
    if result.role in (USER, ASSISTANT):
        first = index if result.role == USER else index - 1
        pair = [result if number == index else turn_of(view, conversation, number) for number in (first, first + 1)]
        whole = [item for item, role in zip(pair, (USER, ASSISTANT), strict=True) if item and item.role == role]
        if len(whole) == len(pair):
            return whole
    side, sides = hit.document.id.rpartition("/")[2], [item.name for item in _sides(result)]
    before = turn_of(view, conversation, index - 1) if sides[:1] == [side] else None
    after = turn_of(view, conversation, index + 1) if sides[-1:] == [side] else None
    return [
        *([before] if before and _answers(result, before) else []),
        result,
        *([after] if after and _answers(after, result) else []),
    ]


def _sides(turn: Turn) -> list[ExchangeSide]:
    pair = ((USER, turn.user_message), (ASSISTANT, turn.assistant_message))
    return [ExchangeSide(name, turn.role_of(name), turn.speaker(name), text) for name, text in pair if text.strip()]


def _answers(turn: Turn, before: Turn) -> bool:
    """Whether a turn begins with a person's answer to another person's question, with which the turn before ends."""
    pause = (turn.said_at() - before.said_at()).total_seconds()
    return pause < SESSION_SECONDS and any(
        side.role == result.role == USER and side.speaker != result.speaker and traits(side.text).asks
        for side, result in zip(_sides(before)[-1:], _sides(turn)[:1], strict=False)
    )
