"""How a conversation is cut into blocks and groups: fixed when it is created, or built anew as a whole."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from livemem.errors import FieldError, InvalidRequest

Profile = Literal["turns", "windows"]
"""`turns`: a summary of each turn; `windows`: one of about so many characters."""
SealPolicy = Literal["hybrid", "chars", "time"]

WINDOW = 6_000
LEAST_SLICED = 10
"""Windows that a turn of the profile `turns` must exceed to be cut: a model has to read it at once."""


class Parameters(BaseModel):
    """Sizes in characters, times in milliseconds; the bounds keep each call within any model's window."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    window_chars: Annotated[int, Field(ge=500, le=100_000)] = WINDOW
    """What a block of turns should have."""
    wiggle: Annotated[float, Field(ge=0, le=0.5, allow_inf_nan=False)] = 0.2
    """By what share of it a block may be shorter or longer."""
    min_flush_chars: Annotated[int, Field(ge=1, le=100_000)] = 3_000
    """What a block must have to end before it is full."""
    overlap_chars: Annotated[int, Field(ge=0, le=400)] = 0
    """What is shown of the block before, as context; it is not summarised again."""
    flush_after_ms: Annotated[int, Field(ge=60_000, le=86_400_000)] = 1_200_000
    """The pause after which a block ends."""
    seal_policy: SealPolicy = "hybrid"
    """Whether blocks end by `time`, by `chars`, or by both."""
    ensure_assistant: bool = True
    """Whether a block ends behind an assistant's side."""
    group_chars: Annotated[int, Field(ge=1_000, le=100_000)] = 10_000
    """What a group of summaries should have."""
    group_raw_chars: Annotated[int, Field(ge=500, le=1_000_000)] = 5_000
    """Profile `turns`: what the turns of a group of level 2 must have together."""
    verbatim_chars: Annotated[int, Field(ge=0, le=10_000)] = 1_500
    """Up to which a block is its own summary: no model is asked."""
    ratio: Annotated[float, Field(ge=0.01, le=0.5, allow_inf_nan=False)] = 0.1
    """What a summary should have of its source."""
    ratio_only: bool = True
    """Whether that is a target alone; else a summary must not be much longer."""
    concurrency: Annotated[int, Field(ge=1, le=10)] = 3
    """Calls of the LLM at once."""
    batch_delay_ms: Annotated[int, Field(ge=0, le=60_000)] = 1_500
    """Between two waves of them."""

    @model_validator(mode="after")
    def _a_block_can_end(self) -> Self:
        if self.min_flush_chars > self.window_chars:
            raise ValueError(f"min_flush_chars must be at most window_chars ({self.window_chars})")
        return self

    @classmethod
    def of(cls, values: dict[str, Any], field: str = "") -> "Parameters":
        """The parameters in a request; raises InvalidRequest, which names each one below `field` and its bounds."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            wrong = [
                FieldError(
                    f"{field}{'.'.join(str(part) for part in item['loc']) or 'min_flush_chars'}",
                    item["msg"].removeprefix("Value error, ").replace("Input should be", "must be"),
                )
                for item in error.errors(include_url=False, include_input=False)
            ]
        raise InvalidRequest("; ".join(f"{item.field}: {item.message}" for item in wrong[:3]), fields=wrong)

    def target(self, source_chars: int) -> int:
        """About how long the summary of so many characters should be."""
        return max(1, round(self.ratio * source_chars))
