"""A model that answers by a rule or fails as often as it is told to, for scenes in which its calls take turns too."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

from livemem.llm.client import LlmError, Messages, Reply
from tests.support.actors import take_turn

Answer = Callable[[Messages], str]


@dataclass
class Model:
    """Each call takes a turn of who asks. `fails`: so many calls are not answered."""

    answer: Answer
    fails: int = 0
    prompts: list[Messages] = field(default_factory=list)

    def fork(self) -> Self:
        """One that goes on from here on its own."""
        return replace(self, prompts=list(self.prompts))

    def __call__(
        self, messages: Messages, max_tokens: int | None, timeout: float, schema: dict[str, Any] | None = None
    ) -> Reply:
        self.prompts.append(messages)
        take_turn()
        if self.fails:
            self.fails -= 1
            raise LlmError("llm_unavailable", "The LLM does not answer.")
        return self.reply(messages)

    def reply(self, messages: Messages) -> Reply:
        return Reply(self.answer(messages), {"prompt_tokens": 100, "completion_tokens": 20})
