"""Questions for tests: a space with an agent that calls tools by script."""

from datetime import timedelta
from typing import Any

from livemem.ask import maintenance, question, question_work
from livemem.ask.question import AskRequest, Question
from livemem.jobs.worker import Worked
from livemem.memories import storing
from livemem.memories.memory import MemoryDraft
from tests.support.agent import ScriptedAgent
from tests.support.world import INVOCATION, World

INLINE = 20.0


def talk_of(asked: Question) -> str:
    """The conversation that the question is part of."""
    assert asked.conversation_id
    return asked.conversation_id


def left_open(world: World) -> list[str]:
    """The questions that a sweep would start again."""
    named = [one.partition("/")[2] for one in world.due("question")]
    found = [question.find(world.process, "demo", one) for one in named]
    return [one.value.job_id for one in found if one and not one.value.ended()]


def sweep_questions(world: World) -> None:
    """What a sweep does for questions; conversations are none of the scripted model's."""
    maintenance.start_due(world.process, world.due_now("question"), world.clock() + INVOCATION)


class Asking:
    """A space `demo` in a world of its own, in which questions are asked."""

    def __init__(self, world: World | None = None, **settings: Any) -> None:
        self.world = world or World(**settings)
        if "demo/_meta.json" not in self.world.keys("demo/_meta"):
            self.world.create_space()

    @property
    def agent(self) -> ScriptedAgent:
        return self.world.agent

    @property
    def process(self) -> Any:
        return self.world.process

    def script(self, *items: Any) -> None:
        """What the model answers next."""
        self.agent.queue.extend(items)

    def order(self, message: str = "Who looks after it?", *, key: str | None = None, **more: Any) -> Worked[Question]:
        """Ask, by the API."""
        author, may_write = more.pop("author", "ann"), more.pop("may_write", True)
        process = more.pop("process", self.process)
        pause = more.pop("pause", self.world.pass_time)
        until = process.clock() + timedelta(seconds=more.pop("seconds", INLINE))
        return question_work.ask(
            process,
            "demo",
            author,
            AskRequest(message, **more),
            may_write=may_write,
            until=until,
            idempotency_key=key,
            pause=pause,
        )

    def ask(self, message: str = "Who looks after it?", **more: Any) -> Question:
        asked = self.order(message, **more).job
        assert asked
        return asked

    def remember(self, content: str, kind: Any = "fact", author: str = "ann", **more: Any) -> str:
        """A memory that is there."""
        stored = storing.store(self.process, "demo", author, MemoryDraft(content, kind, **more))
        assert stored.fresh
        return stored.memory.memory_id

    def names(self, prefix: str) -> list[str]:
        return [key.removeprefix("demo/") for key in self.world.keys(f"demo/{prefix}")]
