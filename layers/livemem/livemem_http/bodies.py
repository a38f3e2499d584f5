"""Bodies of requests: text in UTF-8, a bounded JSON object, before any model sees it.

A megabyte of JSON can hold half a million values, and models and their errors take kilobytes for each. So a body is
measured by a scan of its text first.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any

from livemem import limits
from livemem.errors import MalformedBody, TooLarge
from livemem.store import stored_documents
from livemem.store.stored_documents import BadShape

BODY_VALUES = 20_000
"""Values in one body, nested ones included. A batch of 100 notes with 20 tags each has about 2,500."""
BODY_DEPTH = 22
"""Objects and lists within each other. No body of the API has more than 6, except inputs and results of tools."""
NUMBER_CHARACTERS = 100
ALONE, SEVERAL, OF_A_ROLE = FORMS = ("<alone>", "<items>", "<message>")
"""The forms of a body that is one thing or several `items`, and of an item. Errors do not name them as fields."""


def read_text(event: Mapping[str, Any]) -> str | None:
    """The event's body as text, or None; raises TooLarge before anything is decoded, MalformedBody."""
    body = event.get("body")
    if not body:
        return None
    size = len(body) * 3 // 4 if event.get("isBase64Encoded") else len(body.encode(errors="replace"))
    if size > limits.BODY_BYTES:
        raise TooLarge.of("body", size, limits.BODY_BYTES)
    if not event.get("isBase64Encoded"):
        return str(body)
    try:
        return base64.b64decode(body, validate=True).decode()
    except (ValueError, binascii.Error):
        raise MalformedBody("The body is not text in UTF-8.") from None


def parse(text: str) -> dict[str, Any]:
    """The JSON object in `text`; raises MalformedBody, and TooLarge for more than BODY_VALUES values."""
    _check_shape(text)
    try:
        parsed = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_int=_number(int),
            parse_float=_number(float),
        )
    except (ValueError, RecursionError):
        raise MalformedBody("The body is not JSON.") from None
    if not isinstance(parsed, dict):
        raise MalformedBody("The body must be a JSON object.")
    return parsed


def _check_shape(text: str) -> None:
    """Raise unless depth and number of values are allowed. The parser reports later if the text is no JSON."""
    try:
        stored_documents.check_shape(text, values=BODY_VALUES, depth=BODY_DEPTH)
    except BadShape as error:
        if error.what == "values":
            raise TooLarge.of("body", error.found, BODY_VALUES, "values") from None
        raise MalformedBody(f"The body is nested more than {BODY_DEPTH} deep.") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        # The usual reading, the last one wins, would drop the others silently.
        raise MalformedBody("An object of the body has the same key twice.")
    return found


def _refuse_constant(_: str) -> Any:
    raise MalformedBody("The body holds NaN or Infinity, which is not JSON.")


def _number(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(digits: str) -> Any:
        if len(digits) > NUMBER_CHARACTERS:
            raise MalformedBody(f"The body holds a number of more than {NUMBER_CHARACTERS} characters.")
        return kind(digits)

    return read
