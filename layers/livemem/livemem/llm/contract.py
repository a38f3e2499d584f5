"""Answers of the LLM as JSON: parsed and validated before anything is used.

Three forms beyond the plain contract are accepted, because models write them and they are unambiguous: a `<think>`
block before the object, one Markdown fence around it, unknown keys.
"""

import json
import re
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from livemem.errors import LiveMemoryError

ANSWER_CHARACTERS = 4_000_000
"""A longer answer is not parsed; 100,000 tokens are about a tenth of it."""
PROBLEM_CHARACTERS = 1_500
SHOWN_ERRORS = 5
UNKNOWN_TO_PROVIDERS = ("minLength", "maxLength", "minItems", "maxItems", "default", "title")
"""Keywords of JSON Schema that some providers refuse in a schema."""

_THINKING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n```\Z", re.DOTALL)

M = TypeVar("M", bound=BaseModel)


class ContractError(LiveMemoryError):
    """An answer that breaks the contract. Its text says how; the model and the run receive that text."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail if len(detail) <= PROBLEM_CHARACTERS else f"{detail[:PROBLEM_CHARACTERS]}...")


class Part(BaseModel):
    """Base of an answer and of its parts."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


def parse(text: str, kind: type[M]) -> M:
    """The validated answer in the model's text. Raises ContractError."""
    if len(text) > ANSWER_CHARACTERS:
        raise ContractError(f"The answer has more than {ANSWER_CHARACTERS} characters.")
    data = _load(_bare(text))
    if not isinstance(data, dict):
        raise ContractError("The answer is JSON, but not one object.")
    try:
        # Half a surrogate pair, which JSON can spell, is no text that a file could hold.
        json.dumps(data, ensure_ascii=False).encode()
        return kind.model_validate(data)
    except UnicodeEncodeError:
        raise ContractError("The answer holds half a surrogate pair.") from None
    except ValidationError as error:
        raise ContractError(_describe(error)) from None
    except RecursionError:
        raise ContractError("The answer is nested too deeply.") from None


def _bare(text: str) -> str:
    stripped = without_thinking(text).removeprefix("\ufeff")
    fenced = _FENCE.match(stripped)
    return fenced[1] if fenced else stripped


def without_thinking(text: str) -> str:
    """The model's text after its reasoning, without blanks around it."""
    return _THINKING.sub("", text).strip()


def json_object(text: str) -> dict[str, Any]:
    """The object in the model's text, of any form. Empty if there is none."""
    try:
        data = _load(_bare(text[:ANSWER_CHARACTERS]))
        # Half a surrogate pair, which JSON can spell, is no text that a file could hold.
        json.dumps(data, ensure_ascii=False).encode()
    except (ContractError, UnicodeEncodeError):
        return {}
    return data if isinstance(data, dict) else {}


@cache
def schema(kind: type[BaseModel]) -> dict[str, Any]:
    """The answer as a JSON schema that providers take as strict.

    Every property is required, optional ones are nullable, and no others are allowed. Lengths and numbers of items are
    left out, because some providers do not know them.
    """
    found: dict[str, Any] = _strict(_json_schema(kind))
    return found


@cache
def _json_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """Made once for each model: it takes milliseconds, and an agent is offered a dozen tools with each question."""
    return kind.model_json_schema()


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
