"""The model's knowledge before it calls a tool: the agent's memories of itself, facts about the user, the synthesis and
the outline of the bank, what is known about the question, and the newest messages of the room.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from livemem.ask import prompt, results
from livemem.ask.question import Question
from livemem.ask.results import CallResult
from livemem.bank import history
from livemem.conversations.turn import Turn
from livemem.conversations.user_signals import own_first
from livemem.errors import NotFound, SearchNotReady
from livemem.memories import reading
from livemem.memories.memory import Memory
from livemem.memories.state import State, newest_first
from livemem.process import Process
from livemem.recall import message_context
from livemem.recall.message_context import Outline
from livemem.rooms import reading as rooms
from livemem.rooms.message import Message
from livemem.store.keys import MemoryKind

SELVES, GOALS = 20, 10
"""How many of the agent's newest memories about itself, and of its newest goals, are in every prompt."""
OF_USER = 5
"""How many of the newest facts that name the user are in every prompt."""
ROOM_LAST = 10
"""How many of the room's newest messages are in the prompt, on any subject."""


def opening(process: Process, space_id: str, question: Question, session: Sequence[Turn]) -> Mapping[str, Any]:
    """The first message to the model, and the sources that it shows, as changes of the question. `session` holds the
    turns of the conversation so far.

    Side by side 1 GET of the synthesis, 1 LIST of each of three kinds of memories, and the requests of
    `message_context.context_of_question`. With a room 1 LIST more, and 1 GET for each of its last ten messages.
    """
    selves, goals, of_asker, synthesis, (context, outline), last = process.store.concurrently(
        lambda: reading.recent(process, space_id, kind="self", limit=SELVES),
        lambda: reading.recent(process, space_id, kind="goal", limit=GOALS),
        lambda: of_user(process, reading.state_of(process, space_id, "fact"), question.user),
        lambda: _synthesis(process, space_id),
        lambda: known(process, space_id, question),
        lambda: last_said(process, space_id, question.room),
    )
    material = prompt.Known(selves, goals, of_asker, synthesis, outline, context.told, last, session)
    return {"opening": prompt.opening(question, material, process.clock()), "known": list(context.sources)}


def known(process: Process, space_id: str, question: Question) -> tuple[CallResult, Outline]:
    """The known things about the question as the result of a search, and the outline of the bank. A search that is not
    ready in time says so instead.
    """
    try:
        context = message_context.context_of_question(process, space_id, question.message, room=question.room)
    except SearchNotReady as error:
        return CallResult({"error": error.detail}), {}
    return results.of_hits(context.hits, context.unread), context.outline


def _synthesis(process: Process, space_id: str) -> str:
    with suppress(NotFound):
        return history.synthesis(process, space_id, at=None).content
    return ""


def of_user(process: Process, state: tuple[MemoryKind, State], user: str) -> list[Memory]:
    """The newest of the known facts that name the user, as a whole word or as a subject. First come those that the
    user's own token stored (user_signals.own_first).

    Without them the model does not know who "I" is: a search for the question rarely finds facts about the user.
    """
    name = re.compile(rf"(?<!\w){re.escape(user)}(?!\w)", re.IGNORECASE)
    facts = newest_first(state[1].alive(process.clock()))
    about_user = (fact for fact in facts if any(map(name.search, (fact.content, *fact.subjects))))
    return own_first(about_user, OF_USER, lambda fact: fact.provenance.author == user)


def last_said(process: Process, space_id: str, room: str | None) -> list[Message]:
    """The room's newest messages, the oldest first: a few LISTs, 1 GET each. Empty without a room."""
    return rooms.newest(process, space_id, room, ROOM_LAST)[::-1] if room is not None else []
