"""How agents and their clients write the arguments of a tool: the one reader of them, for all tools.

Each habit of `HABITS` changes the form of an argument and not its meaning, as those of models' answers do
(llm/habits.py). So it can be undone without a guess. An argument with two readings is refused, with the form that is
wanted. Recorded calls with each habit are in tests/unit/mcp/test_arguments.py.

Nothing here knows a tool, except for the JSON Schema of its arguments. What fits the schema is never changed.
"""

import math
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, relevance

from livemem.errors import FieldError, InvalidRequest
from livemem.llm import habits
from livemem.llm.habits import Unreadable
from livemem.store import stored_documents
from livemem.store.stored_documents import BadShape
from livemem_http import bodies

HABITS = {
    "added": "an argument that the tool does not have: ignored, and named at the end of the answer",
    "null": "null for an argument that is left out, where the argument has no null of its own",
    "as_text": "a list, an object, a number, true or false as JSON text, where the argument takes no text",
    "capital_words": "True and FALSE",
    "spelling": "one of a few words in capitals, with blanks around it, or with hyphens for underscores",
    "one_for_list": "one value where a list of such values is wanted",
    "whole_number": "8.0 for 8",
}
"""Each habit, and what it is. Tests prove that each is read, and that its ambiguous neighbours are refused."""

SHOWN_ERRORS = 5
SHOWN_CHARACTERS = 300
ABOUT_CHARACTERS = 100
"""Characters of an argument's description up to which an error repeats it."""
_SEVERAL = re.compile(r"""[,;\n]|\A\s*(?:[\[{"']|(?:null|none|undefined|)\s*\Z)""", re.IGNORECASE)
"""A text in the place of a list that has two readings: several items, a list that is no JSON, or none at all."""
_ALL = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_FORMS = {
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "string": "a text",
}


@dataclass(frozen=True)
class Arguments:
    """The arguments that a call means. `unknown`: those that the tool does not have, each with those that it has."""

    values: dict[str, Any]
    unknown: tuple[FieldError, ...] = ()


def read(schema: Mapping[str, Any], sent: Mapping[str, Any]) -> Arguments:
    """The arguments that are meant by those that were sent. They may still break the schema (`check`)."""
    unknown: list[FieldError] = []
    values = _members(sent, schema, (), unknown)
    return Arguments(values, tuple(unknown))


def check(schema: Mapping[str, Any], given: Arguments, *, exact: bool) -> None:
    """Raise InvalidRequest for arguments that break the schema, with the form that is wanted. `exact`: for one that the
    tool does not have, too.
    """
    errors = sorted(Draft202012Validator(schema).iter_errors(given.values), key=relevance, reverse=True)
    # Each missing argument is an error of its own, and each of these errors names all of them.
    problems = list(dict.fromkeys(item for error in errors for item in _told(error)))
    if problems or (exact and given.unknown):
        found = [*given.unknown, *problems] if exact else [*problems, *given.unknown]
        found = [FieldError(_short(one.field), _short(one.message)) for one in found[:SHOWN_ERRORS]]
        raise InvalidRequest("; ".join(f"{item.field}: {item.message}" for item in found) + ".", fields=found)


def _members(
    sent: Mapping[str, Any], schema: Mapping[str, Any], place: tuple[str, ...], unknown: list[FieldError]
) -> dict[str, Any]:
    properties = schema.get("properties", {})
    meant: dict[str, Any] = {}
    for name, value in sent.items():
        part = properties.get(name)
        if part is None:
            if schema.get("additionalProperties") is False:
                takes = ", ".join(f"`{known}`" for known in properties)
                unknown.append(FieldError(".".join((*place, name)), f"there is no such argument, but {takes}"))
            else:
                meant[name] = value
        elif value is not None or "null" in _types(part):
            meant[name] = _meant(value, part, (*place, name), unknown)
    return meant


def _meant(value: Any, schema: Mapping[str, Any], place: tuple[str, ...], unknown: list[FieldError]) -> Any:
    types, items = _types(schema), schema.get("items", {})
    if types is _ALL:
        return value
    if isinstance(value, str) and "string" in types:
        value = _spelled(value, schema.get("enum", ()))
    elif isinstance(value, str):
        # One item of a list, too, unless an item is a text itself.
        value = _from_text(value, types if "string" in _types(items) else {*types, *_types(items)})
    if isinstance(value, float) and "number" not in types and "integer" in types and value.is_integer():
        return int(value)
    if "array" in types:
        value = _listed(value, items)
        if isinstance(value, list):
            return [_meant(one, items, (*place, str(index)), unknown) for index, one in enumerate(value)]
    if isinstance(value, dict) and "object" in types:
        return _members(value, schema, place, unknown)
    return value


def _types(schema: Mapping[str, Any]) -> Collection[str]:
    """The types of JSON Schema that it takes."""
    if "type" in schema:
        named = schema["type"]
        return {named} if isinstance(named, str) else set(named)
    return {"string"} if "enum" in schema else _ALL


def _spelled(text: str, words: Collection[Any]) -> str:
    """The only one of these words that differs from the text by nothing but its spelling, else the text."""
    alike = [word for word in words if isinstance(word, str) and _spelling(word) == _spelling(text)]
    return alike[0] if len(alike) == 1 and text not in words else text


def _spelling(word: str) -> str:
    return word.strip().casefold().replace("-", "_").replace(" ", "_")


def _from_text(text: str, types: Collection[str]) -> Any:
    """The value of one of these types that the text is as JSON, else the text."""
    bare = text.strip()
    if "boolean" in types and bare.lower() in ("true", "false"):
        return bare.lower() == "true"
    with suppress(Unreadable, BadShape):
        stored_documents.check_shape(bare, values=bodies.BODY_VALUES, depth=bodies.BODY_DEPTH)
        value = habits.loaded(bare)
        # Null as a text is no null: it may be what a program writes where it has no value.
        if value is not None and _type_of(value) & {*types}:
            return value
    return text


def _type_of(value: Any) -> set[str]:
    match value:
        case bool():
            return {"boolean"}
        case int():
            return {"integer", "number"}
        case float():
            whole = {"integer"} if value.is_integer() else set()
            return {"number", *whole} if math.isfinite(value) else set()
        case str():
            return {"string"}
        case list():
            return {"array"}
        case dict():
            return {"object"}
    return set()


def _listed(value: Any, items: Mapping[str, Any]) -> Any:
    """A list of the value, where it is one item and nothing else."""
    if isinstance(value, str):
        return [value] if "string" in _types(items) and not _SEVERAL.search(value) else value
    if isinstance(value, dict):
        is_one = "object" in _types(items) and all(name in value for name in items.get("required", ()))
        return [value] if is_one else value
    return [value] if _type_of(value) & {*_types(items)} - {"array"} else value


def _told(error: ValidationError) -> list[FieldError]:
    """The places of the error, and the form that is wanted. The value that was sent is not repeated: it may be long."""
    place = [str(part) for part in error.absolute_path]
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        return [FieldError(".".join([*place, name]), _wanted(error.schema["properties"][name])) for name in missing]
    about = _about(error.schema)
    message = f"must be {_form(error.schema)}{about}" if error.validator in ("type", "enum") else _bound(error)
    return [FieldError(".".join(place) or "arguments", message)]


def _wanted(schema: Mapping[str, Any]) -> str:
    return f"is required, {_form(schema)}{_about(schema)}"


def _about(schema: Mapping[str, Any]) -> str:
    """Its description, if it is short."""
    about = schema.get("description", "").rstrip(".")
    return f" ({about})" if 0 < len(about) <= ABOUT_CHARACTERS else ""


def _bound(error: ValidationError) -> str:
    bound = error.validator_value
    match error.validator:
        case "minimum":
            return f"must be at least {bound}"
        case "maximum":
            return f"must be at most {bound}"
        case "minLength":
            return "must not be empty" if bound == 1 else f"must have at least {bound} characters"
        case "maxLength":
            return f"must have at most {bound} characters"
        case "minItems":
            return "must not be empty" if bound == 1 else f"must have at least {bound} items"
        case "maxItems":
            return f"must have at most {bound} items"
    return str(error.message)


def _form(schema: Mapping[str, Any]) -> str:
    """A schema in words."""
    if "enum" in schema:
        return f"one of {', '.join('null' if word is None else str(word) for word in schema['enum'])}"
    forms = []
    for kind in sorted(_types(schema), key="string integer number boolean array object null".split().index):
        match kind:
            case "array":
                items = schema.get("items")
                of_texts = items and _types(items) == {"string"}
                forms.append(
                    "a list" + (', such as ["a", "b"]' if of_texts else f", each {_form(items)}" if items else "")
                )
            case "object":
                required = " and ".join(f"`{name}`" for name in schema.get("required", ()))
                forms.append(f"an object with {required}" if required else "an object")
            case _:
                forms.append(_FORMS[kind])
    return " or ".join(forms)


def _short(message: str) -> str:
    return message if len(message) <= SHOWN_CHARACTERS else f"{message[:SHOWN_CHARACTERS]}..."
