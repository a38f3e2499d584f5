"""What was asked of the LLM: calls and tokens, by the provider's count, and an estimate of what it did not count."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from livemem.store.documents import Whole

MOST = 10**9
"""Of a number that a document tells: more than one run can have used."""


@dataclass(frozen=True)
class Usage:
    """`estimated_tokens`: of calls whose tokens nobody told, such as those that timed out or whose worker died."""

    calls: Whole = 0
    prompt_tokens: Whole = 0
    completion_tokens: Whole = 0
    estimated_tokens: Whole = 0

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.prompt_tokens + self.completion_tokens + self.estimated_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.estimated_tokens + other.estimated_tokens,
        )

    @classmethod
    def of_call(cls, told: Mapping[str, int], estimate: int) -> "Usage":
        """One call: what the provider counted (`prompt_tokens`, `completion_tokens`), or else an estimate of it."""
        prompt_tokens, completion_tokens = told.get("prompt_tokens", 0), told.get("completion_tokens", 0)
        return cls(1, prompt_tokens, completion_tokens, 0 if prompt_tokens or completion_tokens else estimate)

    @classmethod
    def of(cls, metrics: Mapping[str, Any]) -> "Usage":
        """The usage in metrics of a run; what is missing, or no count, is 0."""
        names = ("llm_calls", "llm_prompt_tokens", "llm_completion_tokens", "llm_tokens_estimated")
        return cls(*(_count(metrics.get(name)) for name in names))

    def to_metrics(self) -> dict[str, int]:
        """The same as metrics of a run; the estimate only where there is one."""
        counted = {
            "llm_calls": self.calls,
            "llm_prompt_tokens": self.prompt_tokens,
            "llm_completion_tokens": self.completion_tokens,
        }
        return counted | ({"llm_tokens_estimated": self.estimated_tokens} if self.estimated_tokens else {})


def _count(value: object) -> int:
    return min(max(value, 0), MOST) if isinstance(value, int) else 0
