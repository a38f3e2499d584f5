"""An agent as the model of a run: the questions are the run's own, and its answers come with later requests.

With each answer the run works from the beginning. It finds the former answers, in their order, in its own document. Its
first question without an answer ends the attempt. So the collected documents must be the same each time: `bind` ensures
that.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from livemem import clock
from livemem.changes.commit import CommitLost
from livemem.consolidation.collecting import Collected
from livemem.errors import LiveMemoryError
from livemem.jobs.run import AgentFold
from livemem.llm.client import LlmError, Messages, Reply
from livemem.process import Process
from livemem.store import timing

CORRECTIONS = 2
"""Questions about flaws. Then an answer that can't be used fails the run, and one that can stands with its warnings."""


class AnswerWanted(LiveMemoryError):
    """The run needs an answer of the agent `until` a moment. `messages` are those that it was not shown yet, `form` is
    the JSON schema of the answer.
    """

    def __init__(self, messages: Messages, form: dict[str, Any] | None, until: str) -> None:
        super().__init__("The run needs an answer of the agent.")
        self.messages = messages
        self.form = form or {}
        self.until = until


def answering(process: Process, fold: AgentFold) -> Process:
    """The process with the agent as its model. Its `ask` raises AnswerWanted once the answers are used up."""
    answers = iter(fold.answers)
    threads: list[Messages] = []

    def ask(
        messages: Messages,
        max_tokens: int | None,  # noqa: ARG001 - as Ask has it
        timeout: float,  # noqa: ARG001
        schema: dict[str, Any] | None = None,
    ) -> Reply:
        answer = next(answers, None)
        if answer is not None:
            threads.append(messages)
            return Reply(answer)
        if len(fold.answers) > CORRECTIONS:
            raise LlmError("llm_contract", "The agent has corrected its answer as often as it may.")
        raise AnswerWanted(_new(messages, threads), schema, fold.until or "")

    return replace(process, ask=ask)


def _new(messages: Messages, threads: Sequence[Messages]) -> Messages:
    """The messages that the agent neither was shown nor wrote."""
    former = [message for thread in threads for message in thread]
    return [message for message in messages if message not in former and message["role"] != "assistant"]


def bind(process: Process, fold: AgentFold, collected: Collected) -> AgentFold:
    """The agent's part in the run, bound to all that was collected for it. Raises CommitLost if that has changed since
    the first question.
    """
    documents = [
        collected.messages(),
        [(file.path, file.etag) for file in collected.bank],
        collected.synthesis and collected.synthesis.etag,
        [(source.note_id, source.raw) for source in collected.sources],
    ]
    digest = hashlib.sha256(json.dumps(documents).encode()).hexdigest()
    if fold.collected not in (None, digest):
        raise CommitLost("The bank, the rules or the notes have changed since the agent was asked.")
    until = fold.until or clock.iso_millis(process.clock() + timing.AGENT)
    notes = [note.note_id for note in collected.notes]
    return fold.model_copy(update={"notes": notes, "collected": digest, "until": until})
