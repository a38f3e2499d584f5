"""Builds requests from an operation and its arguments."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from urllib.parse import quote, urlencode

from live_memory import _repeating
from live_memory.errors import BadArgument
from live_memory.operations import OPERATIONS, UNSET, Operation

JSON = "application/json"
MARKDOWN = "text/markdown"
_TARGET_BYTES = 60_000
"""httpx makes no address longer than 65,536 bytes, and the service refuses far shorter ones."""
_PLACE = re.compile(r"\{(\w+)(\+?)\}")
_OF_METHODS = {"self", "idempotency_key"}


@dataclass(frozen=True)
class Request:
    """A request that is ready to be sent. `repeatable` says whether it may be sent again."""

    operation: Operation
    target: str
    """Path and query below /v1, percent-encoded."""
    content: bytes | None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    answer: str | None = None
    """The name of the model of its answer."""


def find(name: str) -> Operation:
    """The operation of this name; raises BadArgument."""
    if name not in OPERATIONS:
        raise BadArgument(f"There is no operation {name!r}.")
    return OPERATIONS[name]


def build_given(name: str, given: Mapping[str, Any]) -> Request:
    """The request of a method, made of its local variables; raises BadArgument."""
    # A name that is a word of Python has an underscore behind it.
    arguments = {one.removesuffix("_"): value for one, value in given.items() if one not in _OF_METHODS}
    return build(name, arguments, key=given.get("idempotency_key"))


def build(
    name: str,
    arguments: Mapping[str, Any],
    *,
    key: str | None = None,
    accept: str = JSON,
) -> Request:
    """The request for an operation; raises BadArgument if the arguments make none.

    Args:
        name: the name of the operation.
        arguments: those of path, query and body by name; None is left out where it says nothing.
        key: the Idempotency-Key; without one one is made, where the operation takes one.
        accept: the form of the answer.
    """
    operation = find(name)
    _check(operation, arguments, key, accept)
    given = {one: _plain(value) for one, value in arguments.items() if not _absent(operation, one, value)}
    body = _repeating.named(operation, {one: given[one] for one in operation.body if one in given})
    headers = {"Accept": accept} | ({"Idempotency-Key": key or os.urandom(16).hex()} if operation.takes_key else {})
    content = _json(body) if operation.body else None
    if content is not None:
        headers["Content-Type"] = JSON
    repeatable = _repeating.is_repeatable(operation, body)
    target = _target(operation, given)
    if len(target) > _TARGET_BYTES:
        raise BadArgument(f"{name}: the request is too long for a URL.")
    answer = operation.many if {"items", "from"} & body.keys() and operation.many else operation.answer
    return Request(operation, target, content, headers, repeatable, answer)


def _check(operation: Operation, arguments: Mapping[str, Any], key: str | None, accept: str) -> None:
    name, known = operation.name, operation.fields
    if unknown := sorted(set(arguments) - set(known)):
        raise BadArgument(f"{name} takes no {', '.join(unknown)}.")
    given = [one for one, value in arguments.items() if not _absent(operation, one, value)]
    instead = set(operation.body) if operation.many and "items" in given else set()
    missing = [one.name for one in known.values() if one.required and one.name not in {*given, *instead}]
    if missing:
        raise BadArgument(f"{name} needs {', '.join(missing)}.")
    if key is not None and not operation.takes_key:
        raise BadArgument(f"{name} takes no idempotency_key.")
    # Only the transport would refuse others.
    if key is not None and not (1 <= len(key) <= 200 and key.isascii() and key.isprintable()):
        raise BadArgument("idempotency_key: must be 1 to 200 printable characters of ASCII.")
    if accept == MARKDOWN and not operation.markdown:
        raise BadArgument(f"{name} has no answer in Markdown.")


def _absent(operation: Operation, name: str, value: Any) -> bool:
    return value is UNSET or (value is None and not operation.fields[name].nullable)


def _target(operation: Operation, given: Mapping[str, Any]) -> str:
    path = _PLACE.sub(lambda place: _segments(place, _text(given[place[1]])), operation.path)
    query = [(name, _text(given[name])) for name in operation.query if name in given]
    return f"{path}?{urlencode(query)}" if query else path


def _segments(place: re.Match[str], value: str) -> str:
    """A value for a path, which it can't escape: an empty segment or dots would make another path."""
    segments = value.split("/") if place[2] else [value]
    if any(segment in ("", ".", "..") for segment in segments):
        raise BadArgument(f"{place[1]}: must not be empty or have a segment that is empty or dots.")
    return "/".join(quote(segment, safe="") for segment in segments)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)) or value is None:
        raise BadArgument("A parameter of a path or query must be a single value.")
    text = str(value)
    if not _encodable(text):
        raise BadArgument("A text has half of a surrogate pair, which UTF-8 can't encode.")
    return text


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    # A pydantic model. A program without models does not load pydantic.
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, datetime) and value.tzinfo is None:
        raise BadArgument("A time needs its zone: datetime.now(UTC), not datetime.now().")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items() if part is not UNSET}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(part) for part in value]
    return value


def _json(body: Any) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        # The text of a UnicodeEncodeError would hold the body.
        reason = "half of a surrogate pair" if isinstance(error, UnicodeError) else str(error)
        raise BadArgument(f"The body can't be written as JSON: {reason}.") from None


def _encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
