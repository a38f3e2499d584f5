"""The contract with the LLM: its answer, parsed and validated before anything is used (docs/consolidation.md)."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from livemem import limits
from livemem.llm import contract
from livemem.llm.contract import ContractError, Part
from livemem.markdown.edits import Op

__all__ = ["AnswerEdit", "ConsolidationAnswer", "ContractError", "Discard", "FileAnswer", "parse"]

FILES = 100
EDITS = 1_000
NAME_CHARACTERS = 1_000
REASON_CHARACTERS = 1_000

Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)]
Reason = Annotated[str, Field(max_length=REASON_CHARACTERS)]
Numbers = Annotated[list[int], Field(max_length=10_000)]


class AnswerEdit(Part):
    """One edit of a section."""

    op: Op
    heading: Name
    content: str = ""
    after: Name | None = None
    notes: Numbers = []
    reason: Reason | None = None

    @model_validator(mode="after")
    def _has_content(self) -> Self:
        if self.op not in ("delete_section", "confirm_section") and not self.content.strip():
            raise ValueError(f"{self.op} needs content")
        return self


class FileAnswer(Part):
    """What the answer does to one file."""

    filename: Name
    action: Literal["created", "updated", "edited"]
    content: str | None = None
    edits: Annotated[list[AnswerEdit], Field(max_length=EDITS)] = []
    notes: Numbers = []
    reason: Reason | None = None

    @model_validator(mode="after")
    def _fits_its_action(self) -> Self:
        if self.action == "edited":
            # Models that must fill in every field write an empty text.
            if self.content:
                raise ValueError("an edited file has edits, not content")
            if not self.edits:
                raise ValueError("an edited file needs edits")
        elif self.content is None or not self.content.strip():
            raise ValueError(f"a {self.action} file needs its whole content")
        return self


class Discard(Part):
    """A note left out of the bank on purpose."""

    note: int
    reason: Annotated[Reason, Field(min_length=1)]


class ConsolidationAnswer(Part):
    """The whole answer."""

    bank_files: Annotated[list[FileAnswer], Field(max_length=FILES)]
    synthesis: Text
    discarded: Annotated[list[Discard], Field(max_length=10_000)] = []

    @model_validator(mode="after")
    def _synthesis_is_text(self) -> Self:
        if not self.synthesis.strip():
            raise ValueError("the synthesis is empty")
        if len(self.synthesis.encode(errors="replace")) > limits.SYNTHESIS_BYTES:
            raise ValueError(f"the synthesis has more than {limits.SYNTHESIS_BYTES} bytes")
        return self


def parse(text: str) -> ConsolidationAnswer:
    """The validated answer in the model's text; raises ContractError."""
    return contract.parse(text, ConsolidationAnswer)
