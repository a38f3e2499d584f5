"""The model's knowledge before it calls a tool: the agent's memories of itself, facts about the user, the newest
messages of the room, and a context for the question.
"""

import re
from collections.abc import Sequence

from livemem.ask import prompt
from livemem.ask.question import Question
from livemem.conversations.turn import Turn
from livemem.conversations.user_signals import own_first
from livemem.memories import reading
from livemem.memories.memory import Memory
from livemem.memories.state import State, newest_first
from livemem.process import Process
from livemem.recall import memory_context
from livemem.rooms import reading as rooms
from livemem.rooms.message import Message
from livemem.store.memory_keys import Kind

SELVES, GOALS = 20, 10
"""How many of the agent's newest memories about itself, and of its newest goals, are in every prompt."""
FACTS = 10
OF_USER = 5
"""How many of the newest facts that name the user are in every prompt."""
ROOM_LAST = 10
"""How many of the room's newest messages are in the prompt, on any subject."""


def opening(process: Process, space_id: str, question: Question, session: Sequence[Turn]) -> str:
    """The first message to the model. `session` holds the turns of the conversation so far.

    1 LIST of each of three kinds of memories. With a room 2 LISTs more, of which one is per 1,000 messages, and 1 GET
    for each message that this process does not know, and for each of the last ten.
    """
    selves = reading.recent(process, space_id, kind="self", limit=SELVES)
    goals = reading.recent(process, space_id, kind="goal", limit=GOALS)
    facts = reading.state_of(process, space_id, "fact")
    named = of_user(process, facts, question.user)
    around = block(process, space_id, question.message, question.room, facts)
    last = last_said(process, space_id, question.room)
    return prompt.opening(question, prompt.Known(selves, goals, named, around, last, session), process.clock())


def of_user(process: Process, known: tuple[Kind, State], user: str) -> list[Memory]:
    """The newest of the known facts that name the user, as a whole word or as a subject. First come those that the
    user's own token stored (user_signals.own_first).

    Without them the model does not know who "I" is: a search for the question rarely finds facts about the user.
    """
    name = re.compile(rf"(?<!\w){re.escape(user)}(?!\w)", re.IGNORECASE)
    facts = newest_first(known[1].alive(process.clock()))
    named = (one for one in facts if any(map(name.search, (one.content, *one.subjects))))
    return own_first(named, OF_USER, lambda one: one.provenance.author == user)


def last_said(process: Process, space_id: str, room: str | None) -> list[Message]:
    """The room's newest messages, the oldest first: a few LISTs, 1 GET each. Empty without a room."""
    return rooms.newest(process, space_id, room, ROOM_LAST)[::-1] if room is not None else []


def block(process: Process, space_id: str, message: str, room: str | None, known: tuple[Kind, State]) -> str:
    """The context for the question, as text: the nearest of the known facts, and messages of a room that is named."""
    if room is not None:
        # The headings are in the language of the prompt. Contents keep their own language.
        return memory_context.context(
            process, space_id, message, room=room, lang="en", limit=FACTS, known=known
        ).markdown
    found = reading.search(process, space_id, message, limit=FACTS, known=known)
    return "\n".join(f"• {' '.join(one.memory.content.split())}" for one in found)
