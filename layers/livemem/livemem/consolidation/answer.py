"""The contract with the LLM: its answer, parsed and validated before anything is used (docs/consolidation.md).

Accepted beyond the plain contract, because models do it and nothing can be mistaken: a `<think>` block before the
object, one Markdown fence around it, unknown keys.
"""

import json
import re
from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from livemem import limits
from livemem.errors import LiveMemoryError

ANSWER_CHARACTERS = 4_000_000
"""A longer answer is not parsed; 100,000 tokens are about a tenth of it."""
FILES = 100
EDITS = 1_000
NAME_CHARACTERS = 1_000
REASON_CHARACTERS = 1_000
PROBLEM_CHARACTERS = 1_500
SHOWN_ERRORS = 5
UNKNOWN_TO_PROVIDERS = ("minLength", "maxLength", "minItems", "maxItems", "default", "title")
"""Keywords of JSON Schema that not every provider takes where it takes a schema."""

_THINKING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n```\Z", re.DOTALL)

Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)]
Reason = Annotated[str, Field(max_length=REASON_CHARACTERS)]
Numbers = Annotated[list[int], Field(max_length=10_000)]


class ContractError(LiveMemoryError):
    """An answer that breaks the contract; its text says how, in words that go back to the model and to the run."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail if len(detail) <= PROBLEM_CHARACTERS else f"{detail[:PROBLEM_CHARACTERS]}...")


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class SectionEdit(_Part):
    """One edit of a section."""

    op: Literal["replace_section", "append_to_section", "prepend_to_section", "add_section", "delete_section"]
    heading: Name
    content: str = ""
    after: Name | None = None
    notes: Numbers = []
    reason: Reason | None = None

    @model_validator(mode="after")
    def _has_content(self) -> Self:
        if self.op != "delete_section" and not self.content.strip():
            raise ValueError(f"{self.op} needs content")
        return self


class FileAnswer(_Part):
    """What the answer does to one file."""

    filename: Name
    action: Literal["created", "updated", "edited"]
    content: str | None = None
    edits: Annotated[list[SectionEdit], Field(max_length=EDITS)] = []
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


class Discard(_Part):
    """A note left out of the bank on purpose."""

    note: int
    reason: Annotated[Reason, Field(min_length=1)]


class Answer(_Part):
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


def parse(text: str) -> Answer:
    """The validated answer in the model's text; raises ContractError."""
    if len(text) > ANSWER_CHARACTERS:
        raise ContractError(f"The answer has more than {ANSWER_CHARACTERS} characters.")
    stripped = _THINKING.sub("", text).strip().removeprefix("\ufeff")
    fenced = _FENCE.match(stripped)
    data = _load(fenced[1] if fenced else stripped)
    if not isinstance(data, dict):
        raise ContractError("The answer is JSON, but not one object.")
    try:
        # Half a surrogate pair, which JSON can spell, is no text that a file could hold.
        json.dumps(data, ensure_ascii=False).encode()
        return Answer.model_validate(data)
    except UnicodeEncodeError:
        raise ContractError("The answer holds half a surrogate pair.") from None
    except ValidationError as error:
        raise ContractError(_describe(error)) from None
    except RecursionError:
        raise ContractError("The answer is nested too deeply.") from None


@cache
def schema() -> dict[str, Any]:
    """The answer as a JSON schema that providers take as strict.

    Every property is required, what may be absent is nullable, and nothing else is allowed. Lengths and numbers of
    items are left out, which not all of them know.
    """
    found: dict[str, Any] = _strict(Answer.model_json_schema())
    return found


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {name: _strict(value) for name, value in node.items() if name not in UNKNOWN_TO_PROVIDERS}
    if "properties" in kept:
        kept["required"] = list(kept["properties"])
        kept["additionalProperties"] = False
    return kept


def _load(text: str) -> Any:
    if not text:
        raise ContractError("The answer is empty.")
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except RecursionError:
        raise ContractError("The answer is nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise ContractError(
            f"The answer is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except ValueError as error:
        raise ContractError("The answer holds a number that JSON readers refuse.") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        # The usual reading, the last one wins, would drop the others without a word.
        raise ContractError("An object of the answer has the same key twice.")
    return found


def _refuse_constant(name: str) -> Any:
    raise ContractError(f"The answer holds {name}, which is not JSON.")


def _describe(error: ValidationError) -> str:
    problems = [
        f"{'.'.join(str(part) for part in item['loc']) or 'answer'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False)
    ]
    more = f" (and {len(problems) - SHOWN_ERRORS} more)" if len(problems) > SHOWN_ERRORS else ""
    return "The answer breaks the contract: " + "; ".join(problems[:SHOWN_ERRORS]) + more + "."
