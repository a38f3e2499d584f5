"""The usage of the LLM, in the one shape that documents, answers and metrics have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from livemem.store.stored_documents import Whole

MOST = 10**9
"""Of a number in a document: more than one run can have used."""


@dataclass(frozen=True)
class Usage:
    """Calls and tokens, by the provider's count. `estimated_tokens`: of calls without a count, such as those that timed
    out or whose worker died. `prompts_cut`: calls of whose prompt the provider read only a part.
    """

    calls: Whole = 0
    prompt_tokens: Whole = 0
    completion_tokens: Whole = 0
    estimated_tokens: Whole = 0
    prompts_cut: Whole = 0

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
            self.prompts_cut + other.prompts_cut,
        )

    @classmethod
    def of_call(cls, counts: Mapping[str, int], estimate: int, *, cut: bool = False) -> "Usage":
        """One call: the provider's count (`prompt_tokens`, `completion_tokens`), or else an estimate."""
        prompt_tokens, completion_tokens = counts.get("prompt_tokens", 0), counts.get("completion_tokens", 0)
        estimated = 0 if prompt_tokens or completion_tokens else estimate
        return cls(1, prompt_tokens, completion_tokens, estimated, int(cut))

    @classmethod
    def of(cls, metrics: Mapping[str, Any]) -> "Usage":
        """The usage in metrics of a run. A missing value, or one that is no count, is 0."""
        return cls(*(_count(metrics.get(name)) for name in _METRICS))

    def to_metrics(self) -> dict[str, int]:
        """The same as metrics, with the sum of tokens. Estimates and cut prompts are included only if there are any."""
        values = {name: getattr(self, field) for name, field in _METRICS.items()}
        metrics = {name: value for name, value in values.items() if value or name not in _RARE}
        return metrics | {"llm_tokens_used": self.tokens}


_METRICS = {
    "llm_calls": "calls",
    "llm_prompt_tokens": "prompt_tokens",
    "llm_completion_tokens": "completion_tokens",
    "llm_tokens_estimated": "estimated_tokens",
    "llm_prompts_cut": "prompts_cut",
}
_RARE = ("llm_tokens_estimated", "llm_prompts_cut")


def _count(value: object) -> int:
    return min(max(value, 0), MOST) if isinstance(value, int) else 0
