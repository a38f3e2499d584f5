"""What the model knows before it calls a tool: what the agent remembers of itself, who asks, what was said last in the
room, and a context for the question.
"""

import re
from collections.abc import Sequence

from livemem.ask import prompt
from livemem.ask.question import Question
from livemem.conversations.turn import Turn
from livemem.memories import reading
from livemem.memories.memory import Memory
from livemem.process import Process
from livemem.recall import memory_context
from livemem.rooms import reading as rooms
from livemem.rooms.message import Message

SELVES, GOALS = 20, 10
"""The newest memories of the agent about itself and of what it wants that are in every prompt."""
FACTS = 10
OF_USER = 5
"""The newest facts that name the user who asks, in every prompt: who that is, and what holds for them."""
ROOM_LAST = 10
"""Messages of the room that come whatever they are about."""


def opening(process: Process, space_id: str, question: Question, session: Sequence[Turn]) -> str:
    """The first message to the model; `session` are the turns of the conversation so far."""
    selves = reading.recent(process, space_id, kind="self", limit=SELVES)
    goals = reading.recent(process, space_id, kind="goal", limit=GOALS)
    named = of_user(process, space_id, question.user)
    around = block(process, space_id, question.message, question.room)
    last = last_said(process, space_id, question.room)
    return prompt.opening(question, prompt.Known(selves, goals, named, around, last, session), process.clock())


def of_user(process: Process, space_id: str, user: str) -> list[Memory]:
    """The newest facts that name who asks, as a whole word or as a subject: 1 LIST.

    Without them "I" is nobody: what somebody says of themselves is rarely near to who they are.
    """
    name = re.compile(rf"(?<!\w){re.escape(user)}(?!\w)", re.IGNORECASE)
    facts = reading.all_of(process, space_id, "fact")
    return [one for one in facts if any(map(name.search, (one.content, *one.subjects)))][:OF_USER]


def last_said(process: Process, space_id: str, room: str | None) -> list[Message]:
    """The room's newest messages, the oldest first: a few LISTs, 1 GET each; none without a room."""
    return rooms.newest(process, space_id, room, ROOM_LAST)[::-1] if room is not None else []


def block(process: Process, space_id: str, message: str, room: str | None) -> str:
    """The context for the question, as text: what is known, and what was said in the room if one is named."""
    if room is not None:
        # In the language of the prompt; what is in it comes as it was said.
        return memory_context.context(process, space_id, message, room=room, lang="en", limit=FACTS).markdown
    found = reading.search(process, space_id, message, kind="fact", limit=FACTS)
    return "\n".join(f"• {' '.join(one.memory.content.split())}" for one in found)
