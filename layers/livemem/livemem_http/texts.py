"""Texts of requests and answers: half a surrogate pair, which JSON can spell, can be neither stored nor sent."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from livemem.errors import FieldError, InvalidRequest

_HALF = re.compile("[\ud800-\udfff]")
MESSAGE = "has half a surrogate pair, which is not valid text"


def check(values: Mapping[str, Any]) -> None:
    """Raise InvalidRequest, naming the fields, if a text in these JSON values (a name or a value) is none."""
    wrong = [FieldError(field or "body", MESSAGE) for field in _broken(values, ())]
    if wrong:
        raise InvalidRequest(f"{wrong[0].field}: {MESSAGE}", fields=wrong)


def sendable(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair."""
    return _HALF.sub("\ufffd", text)


def _broken(value: Any, place: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, str):
        if _HALF.search(value):
            yield ".".join(place)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            if _HALF.search(name):
                yield sendable(".".join((*place, name)))
            else:
                yield from _broken(part, (*place, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _broken(part, (*place, str(index)))


def sendable_values(value: Any) -> Any:
    """JSON values, with `sendable` applied to all texts except names."""
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, Mapping):
        return {name: sendable_values(part) for name, part in value.items()}
    if isinstance(value, list):
        return [sendable_values(part) for part in value]
    return value
