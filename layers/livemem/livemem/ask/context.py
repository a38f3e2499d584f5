"""What the model knows before it calls a tool: what the agent remembers of itself, and a context for the question."""

from collections.abc import Sequence

from livemem.ask import prompt
from livemem.ask.question import Question
from livemem.conversations.turn import Turn
from livemem.memories import reading
from livemem.process import Process
from livemem.recall import memory_context

SELVES, GOALS = 20, 10
"""The newest memories of the agent about itself and of what it wants that are in every prompt."""
FACTS = 10


def opening(process: Process, space_id: str, question: Question, session: Sequence[Turn]) -> str:
    """The first message to the model; `session` are the turns of the conversation so far."""
    selves = reading.recent(process, space_id, kind="self", limit=SELVES)
    goals = reading.recent(process, space_id, kind="goal", limit=GOALS)
    around = block(process, space_id, question.message, question.room)
    return prompt.opening(question.message, selves, goals, around, session, process.clock())


def block(process: Process, space_id: str, message: str, room: str | None) -> str:
    """The context for the question, as text: what is known, and what was said in the room if one is named."""
    if room is not None:
        # In the language of the prompt; what is in it comes as it was said.
        return memory_context.context(process, space_id, message, room=room, lang="en", limit=FACTS).markdown
    found = reading.search(process, space_id, message, kind="fact", limit=FACTS)
    return "\n".join(f"• {' '.join(one.memory.content.split())}" for one in found)
