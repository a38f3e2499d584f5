"""Conversations for tests: turns of a given length, and a model that summarises by fixed rules."""

import json
from collections import deque
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from livemem.conversations import conversation as conversations
from livemem.conversations import log, maintenance, summaries_job, update
from livemem.conversations.conversation import NewConversation
from livemem.conversations.parameters import Parameters
from livemem.conversations.summaries_job import SummariesJob
from livemem.conversations.turn import Draft
from livemem.jobs.worker import Worked
from livemem.llm.client import LlmError, Messages, Reply
from livemem.process import Process
from livemem.spaces import due_index
from tests.support.world import EVERYONE, INVOCATION, World


def asked_for(messages: Messages) -> list[dict[str, Any]]:
    """The turns or summaries that the question holds."""
    lines = messages[1]["content"].split("\n")
    found: list[dict[str, Any]] = json.loads(lines[-2] if not lines[-1] else lines[-1])
    return found


def extract(messages: Messages) -> str:
    """An honest summary: a tenth of all that is told."""
    parts = [
        part["summary"] if "summary" in part else f"{part['user']} {part['assistant']}" for part in asked_for(messages)
    ]
    told = " ".join(parts)
    return json.dumps(
        {"summary": told[: max(1, len(told) // 10)] or "nothing", "key_findings": [told[:20] or "nothing"]}
    )


def frank(messages: Messages) -> str:
    """A summary that repeats all that it was told."""
    parts = [part.get("summary") or f"{part['user']} {part['assistant']}" for part in asked_for(messages)]
    return json.dumps({"summary": " ".join(parts), "key_findings": parts[:3]})


def captures(*named: Any, of: Callable[[Messages], str] = extract) -> Callable[[Messages], str]:
    """A model that also names these notes, or whatever else, whenever it is asked for notes."""

    def answer(messages: Messages) -> str:
        whole = json.loads(of(messages))
        asked = "`notes`" in messages[0]["content"]
        return json.dumps({**whole, "notes": list(named)} if asked else whole)

    return answer


def hears(*signals: str, of: Callable[[Messages], str] = extract) -> Callable[[Messages], str]:
    """A model that hears these of the user in all that it summarises."""
    return lambda messages: json.dumps({**json.loads(of(messages)), "signals": list(signals)})


@dataclass
class Summariser:
    """Answers from a queue, and then by `default`; an LlmError in the queue is raised. Questions are kept."""

    default: Callable[[Messages], str] = extract
    queue: deque[str | LlmError | Callable[[Messages], str]] = field(default_factory=deque)
    asked: list[Messages] = field(default_factory=list)

    def fork(self) -> "Summariser":
        """One that goes on from here on its own."""
        return Summariser(self.default, deque(self.queue))

    def __call__(
        self, messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None
    ) -> Reply:
        self.asked.append(messages)
        item = self.queue.popleft() if self.queue else self.default
        if isinstance(item, LlmError):
            raise item
        return Reply(item if isinstance(item, str) else item(messages), {"prompt_tokens": 100, "completion_tokens": 20})


def look_at_due(process: Process, until: datetime) -> None:
    """What the sweep does for conversations."""
    found = due_index.due_now(process).get("conversation", [])
    maintenance.start_due(process, found, until)


class Talk:
    """A conversation in a world of its own."""

    def __init__(
        self,
        profile: Any = "turns",
        world: World | None = None,
        cwd: str | None = None,
        host: str | None = None,
        capture: Any = "off",
        **parameters: Any,
    ) -> None:
        self.world = world or World()
        self.llm = Summariser()
        self.world.llm = self.llm  # type: ignore[assignment]
        if "demo/_meta.json" not in self.world.keys("demo/_meta"):
            self.world.create_space()
        # So that what few words say is asked of the model.
        told = Parameters(**{"batch_delay_ms": 0, "verbatim_chars": 0, **parameters})
        wanted = NewConversation(cwd=cwd, host=host, profile=profile, parameters=told, capture=capture)
        self.conversation = conversations.create(self.world.process, "demo", "ann", wanted)
        self.id = self.conversation.conversation_id

    def fork(self) -> "Talk":
        """One that goes on from here on its own."""
        twin = copy(self)
        twin.world = self.world.fork()
        twin.llm = twin.world.llm  # type: ignore[assignment]
        return twin

    @property
    def process(self) -> Any:
        return self.world.process

    def append(self, draft: Draft) -> log.Appended:
        return log.append(self.process, "demo", self.id, "ann", draft)

    def say(self, user: str, assistant: str = "", /, *, after: float = 1, **more: Any) -> log.Appended:
        self.world.pass_time(after)
        return self.append(Draft(user, assistant, **more))

    def said(self, *sizes: int) -> None:
        """Turns with so many characters on each side."""
        for place, size in enumerate(sizes):
            self.say("u" * size, "a" * size, message_id=f"m{self.world.ids.count}-{place}")

    def update(self, **more: Any) -> Worked[SummariesJob]:
        return update.look(self.process, "demo", self.id, self.world.clock() + INVOCATION, **more)

    def job(self, job_id: str) -> SummariesJob:
        """The job as its users see it."""
        return summaries_job.load(self.process, "demo", self.id, job_id)

    def jobs(self) -> list[SummariesJob]:
        """All of them, the newest first."""
        names = [name for _, name in summaries_job.listing(self.process, "demo", self.id)]
        return [summaries_job.item(self.process, EVERYONE, "demo", name).result for name in names]

    def names(self, folder: str = "") -> list[str]:
        prefix = f"demo/conversations/{self.id}/"
        return [key.removeprefix(prefix) for key in self.world.keys(prefix + folder)]
