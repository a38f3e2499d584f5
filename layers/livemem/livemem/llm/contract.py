"""Answers of the LLM as JSON: parsed and validated before anything is used.

Models have habits (llm/habits.py). Their forms are accepted where they are unambiguous. Unknown keys are ignored.
"""

import json
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from livemem.errors import LiveMemoryError, plain_reason
from livemem.llm import habits
from livemem.llm.habits import Unreadable

ANSWER_CHARACTERS = 4_000_000
"""A longer answer is not parsed; 100,000 tokens are about a tenth of it."""
PROBLEM_CHARACTERS = 1_500
SHOWN_ERRORS = 5
UNKNOWN_TO_PROVIDERS = ("minLength", "maxLength", "minItems", "maxItems", "default", "title")
"""Keywords of JSON Schema that some providers refuse in a schema."""

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
    return validated(read(text, kind), kind)


def read(text: str, kind: type[BaseModel]) -> dict[str, Any]:
    """The object in the model's text, in the form of the contract but not validated. Raises ContractError."""
    if len(text) > ANSWER_CHARACTERS:
        raise ContractError(f"The answer has more than {ANSWER_CHARACTERS} characters.")
    data = _fitted(_value(text, _required(kind)), kind)
    if not isinstance(data, dict):
        raise ContractError("The answer is JSON, but not one object.")
    try:
        # Half a surrogate pair, which JSON can spell, is no text that a file could hold.
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ContractError("The answer holds half a surrogate pair.") from None
    except RecursionError:
        raise ContractError("The answer is nested too deeply.") from None
    return data


def validated(data: Any, kind: type[M], at: tuple[str | int, ...] = ()) -> M:
    """The model of a part of an answer that stands `at` this place. Raises ContractError."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise ContractError(_describe(error, at)) from None
    except RecursionError:
        raise ContractError("The answer is nested too deeply.") from None


def without_thinking(text: str) -> str:
    """The model's text after its reasoning, without blanks around it."""
    return habits.after_reasoning(text)


def json_object(text: str) -> dict[str, Any]:
    """The object in the model's text, of any form. Empty if there is none."""
    try:
        data = _value(text[:ANSWER_CHARACTERS], ())
        # Half a surrogate pair, which JSON can spell, is no text that a file could hold.
        json.dumps(data, ensure_ascii=False).encode()
    except (ContractError, UnicodeEncodeError):
        return {}
    return data if isinstance(data, dict) else {}


def _value(text: str, fields: tuple[str, ...]) -> Any:
    try:
        return habits.value(text, fields)
    except Unreadable as error:
        raise ContractError(str(error)) from None


@cache
def _required(kind: type[BaseModel]) -> tuple[str, ...]:
    return tuple(name for name, field in kind.model_fields.items() if field.is_required())


def _fitted(data: Any, kind: type[BaseModel]) -> Any:
    """The same answer with the lists that the contract has, where a model gave one value or the list alone."""
    only = _only_list(kind)
    if only and isinstance(data, list) and data and all(isinstance(item, dict) for item in data):
        data = {only: data}
    elif only and isinstance(data, dict) and only not in data and _is_one(data, _item_of(kind, only)):
        data = {only: [data]}
    return _with_lists(data, kind) if isinstance(data, dict) else data


def _with_lists(data: dict[str, Any], kind: type[BaseModel]) -> dict[str, Any]:
    fitted = dict(data)
    for name, field in kind.model_fields.items():
        if name not in data:
            continue
        value, item = data[name], _item(field.annotation)
        if value is None and not field.is_required() and not _takes_null(field.annotation):
            # It has nothing to say there, as with a member that is left out.
            del fitted[name]
        elif item is not None:
            values = _listed(value, item)
            of_models = isinstance(item, type) and issubclass(item, BaseModel) and isinstance(values, list)
            fitted[name] = [_deeper(element, item) for element in values] if of_models else values
        else:
            fitted[name] = _deeper(value, field.annotation)
    return fitted


def _deeper(value: Any, kind: Any) -> Any:
    is_model = isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(value, dict)
    return _with_lists(value, kind) if is_model else value


def _listed(value: Any, item: Any) -> Any:
    """One value as a list of it. A text that may be a list written as a text is left for the check to refuse."""
    if not isinstance(item, type) or isinstance(value, list):
        return value
    if issubclass(item, BaseModel):
        return [value] if _is_one(value, item) else value
    if item is str and isinstance(value, str):
        return value if any(sign in value for sign in ",;\n") else [value] if value.strip() else []
    return [value] if type(value) is item else value


def _only_list(kind: type[BaseModel]) -> str | None:
    """The member of a contract that has no other one that must be there, if it is a list of objects."""
    required = _required(kind)
    if len(required) != 1:
        return None
    item = _item_of(kind, required[0])
    return required[0] if isinstance(item, type) and issubclass(item, BaseModel) else None


def _is_one(data: Any, kind: type[BaseModel]) -> bool:
    return isinstance(data, dict) and all(name in data for name in _required(kind))


def _item_of(kind: type[BaseModel], name: str) -> Any:
    return _item(kind.model_fields[name].annotation)


def _item(annotation: Any) -> Any:
    """What a list of this type holds. None for any other type."""
    return get_args(annotation)[0] if get_origin(annotation) is list else None


def _takes_null(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, UnionType) and type(None) in get_args(annotation)


@cache
def schema(kind: type[BaseModel]) -> dict[str, Any]:
    """The answer as a JSON schema that providers take as strict.

    Every property is required, optional ones are nullable, and no others are allowed. Lengths and numbers of items are
    left out, because some providers do not know them.
    """
    strict: dict[str, Any] = _strict(_json_schema(kind))
    return strict


@cache
def _json_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """Made once for each model: it takes milliseconds, and an agent is offered a dozen tools with each question."""
    return kind.model_json_schema()


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    members = {name: _strict(value) for name, value in node.items() if name not in UNKNOWN_TO_PROVIDERS}
    if "properties" in members:
        members["required"] = list(members["properties"])
        members["additionalProperties"] = False
    return members


def _describe(error: ValidationError, at: tuple[str | int, ...]) -> str:
    problems = [
        f"{'.'.join(str(part) for part in (*at, *item['loc'])) or 'answer'}: {plain_reason(item['msg'])}"
        for item in error.errors(include_url=False, include_input=False)
    ]
    more = f" (and {len(problems) - SHOWN_ERRORS} more)" if len(problems) > SHOWN_ERRORS else ""
    return "The answer breaks the contract: " + "; ".join(problems[:SHOWN_ERRORS]) + more + "."
