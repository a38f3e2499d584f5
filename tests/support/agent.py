"""A model that calls tools, by script."""

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from livemem.ask.question_work import Pace
from livemem.llm.client import LlmError
from livemem.llm.tool_calling import Call, Thread, Tool, ToolReply
from livemem.process import Process

Answerer = Callable[[Thread], ToolReply]
USED = {"prompt_tokens": 100, "completion_tokens": 20}


def asks_itself(process: Process) -> Process:
    """The process as after a quick answer: its requests ask the model themselves (ask/question_work.py, Pace)."""
    process.cache(Pace).add(0)
    return process


def calls(*wanted: tuple[str, Any], text: str = "") -> ToolReply:
    """An answer that calls these tools, each with its arguments: a JSON value, or a text as it is."""
    made = [
        Call(f"c{place}", name, given if isinstance(given, str) else json.dumps(given))
        for place, (name, given) in enumerate(wanted)
    ]
    return ToolReply(text, tuple(made), USED)


def responds(message: str = "Here it is.", expression: str = "neutral", sources: Sequence[str] = ()) -> ToolReply:
    """An answer that ends the question."""
    return calls(("respond", {"expression": expression, "message": message, "sources": list(sources)}))


def says(text: str) -> ToolReply:
    """An answer that calls nothing."""
    return ToolReply(text, (), USED)


def results(thread: Thread) -> list[Any]:
    """What the tools gave so far, in their order."""
    return [json.loads(message["content"]) for message in thread if message["role"] == "tool"]


@dataclass
class ScriptedAgent:
    """Answers from a queue, and then by `default`; an LlmError in the queue is raised. What it was asked is kept."""

    default: Answerer = lambda thread: responds()
    queue: deque[ToolReply | LlmError | Answerer] = field(default_factory=deque)
    asked: list[Thread] = field(default_factory=list)
    offered: list[list[str]] = field(default_factory=list)
    required: list[bool] = field(default_factory=list)
    limits: list[tuple[int | None, float]] = field(default_factory=list)

    def __call__(
        self, messages: Thread, tools: Sequence[Tool], max_tokens: int | None, timeout: float, *, required: bool = False
    ) -> ToolReply:
        self.asked.append([dict(message) for message in messages])
        self.offered.append([tool.name for tool in tools])
        self.required.append(required)
        self.limits.append((max_tokens, timeout))
        item = self.queue.popleft() if self.queue else self.default
        if isinstance(item, LlmError):
            raise item
        return item if isinstance(item, ToolReply) else item(messages)
