"""Parameters by which a conversation is cut into blocks and groups. Only a rebuild of all summaries changes them."""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, model_validator

from livemem.errors import FieldError, InvalidRequest, plain_reason
from livemem.store.stored_documents import LazyModel

Profile = Literal["turns", "windows"]
"""`turns`: one summary for each turn. `windows`: one summary for about `window_chars` characters."""
SealPolicy = Literal["hybrid", "chars", "time"]

WINDOW = 6_000
LEAST_TARGET = 600
"""Characters of the summary of a source that is long enough to have findings, at least."""
LEAST_SLICED = 10
"""In the profile `turns`, a turn with more than so many windows is cut, because the model reads a block in one call."""


class Parameters(LazyModel):
    """Sizes in characters, times in milliseconds. The bounds keep each call within any model's window."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    window_chars: Annotated[int, Field(ge=500, le=100_000)] = WINDOW
    """Target size of a block of turns."""
    wiggle: Annotated[float, Field(ge=0, le=0.5, allow_inf_nan=False)] = 0.2
    """By what share of it a block may be shorter or longer."""
    min_flush_chars: Annotated[int, Field(ge=1, le=100_000)] = 3_000
    """Least size of a block that ends before it is full."""
    overlap_chars: Annotated[int, Field(ge=0, le=400)] = 0
    """How much of the block before the prompt shows as context. It is not summarised again."""
    flush_after_ms: Annotated[int, Field(ge=60_000, le=86_400_000)] = 1_200_000
    """The pause after which a block ends."""
    seal_policy: SealPolicy = "hybrid"
    """Whether blocks end by `time`, by `chars`, or by both."""
    ensure_assistant: bool = True
    """Whether a block ends behind an assistant's side."""
    group_chars: Annotated[int, Field(ge=1_000, le=100_000)] = 10_000
    """Target size of a group of summaries."""
    group_raw_chars: Annotated[int, Field(ge=500, le=1_000_000)] = 5_000
    """Profile `turns`: least size of all turns of a group of level 2 together."""
    verbatim_chars: Annotated[int, Field(ge=0, le=10_000)] = 1_500
    """A block up to this size is its own summary. No model is asked."""
    ratio: Annotated[float, Field(ge=0.01, le=0.5, allow_inf_nan=False)] = 0.1
    """Target size of a summary, as a share of its source."""
    ratio_only: bool = True
    """Whether that is a target alone; else a summary must not be much longer."""
    concurrency: Annotated[int, Field(ge=1, le=10)] = 3
    """Calls of the LLM at once."""
    batch_delay_ms: Annotated[int, Field(ge=0, le=60_000)] = 1_500
    """Pause between two waves of these calls."""

    @model_validator(mode="after")
    def _a_block_can_end(self) -> Self:
        if self.min_flush_chars > self.window_chars:
            raise ValueError(f"min_flush_chars must be at most window_chars ({self.window_chars})")
        return self

    @classmethod
    def of(cls, values: dict[str, Any], field: str = "") -> "Parameters":
        """The parameters in a request. Raises InvalidRequest, which names each wrong one below `field`, with bounds."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            wrong = [
                FieldError(f"{field}{'.'.join(map(str, item['loc'])) or 'min_flush_chars'}", plain_reason(item["msg"]))
                for item in error.errors()
            ]
        raise InvalidRequest("; ".join(f"{item.field}: {item.message}" for item in wrong[:3]), fields=wrong)

    def target(self, source_chars: int) -> int:
        """The target length of a summary of `source_chars` characters: their share, and at least 600 where the source
        is twice as long. A tenth of a short source is too little for its findings.
        """
        least = LEAST_TARGET if source_chars >= 2 * LEAST_TARGET else 1
        return max(least, round(self.ratio * source_chars))
