"""JSON documents of the bucket: pydantic models that keep unknown fields, written for people to read.

Any process with access to the bucket, and any user who imports an archive, can write documents. So each number, list
and text of a model has bounds, which are checked here and not where it is used. A document beyond them can't be read.
"""

import json
import math
import re
import threading
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from livemem import clock
from livemem.store import keys

JSON = "application/json"
_BUILDING = threading.RLock()
"""One lock of the interpreter, as the models are shared by it. Reentrant, as one document may hold another."""

MOST_DEPTH = 40
"""Depth of nested objects and lists. The input and output of tools have 20 at most (livemem_http/bodies.py)."""
MOST_CHARACTERS = 8 << 20
"""Bound of a text without a smaller bound of its own."""
NUMBER_CHARACTERS = 100
"""Bound of a number's text. The API accepts it, so the input of tools may have it."""
SHORT_BYTES = 1 << 20
"""A document up to this size is not measured before it is read: with any content it takes at most some 50 MB of memory.
"""

# Possessive, and an unterminated string ends with the text: one pass, whatever the text is.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_NOT_PLAIN = re.compile(rf"NaN|Infinity|[-+.0-9eE]{{{NUMBER_CHARACTERS + 1}}}")
_LARGE = re.compile(r"[0-9]+(?:\.[0-9]+)?[eE][-+]?[0-9]{3,}")


def _check_moment(text: str) -> str:
    clock.parse(text)
    return text


Moment = Annotated[str, StringConstraints(max_length=64), AfterValidator(_check_moment)]
"""A time in ISO 8601. A document with a bad time can't be read. The check is here and not where the time is used."""

Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""A count, as large as every reader of JSON reads it exactly (RFC 8259, 6)."""
Number = Annotated[int, Field(ge=1, le=999_999_999)]
"""A number that keys count from 1: changes, block boundaries, summary versions, operations."""
Position = Annotated[int, Field(ge=0, le=999_999_999)]
"""A number of the same range, or 0 for the place before the first."""
Whole = Annotated[int, Field(ge=-(2**53 - 1), le=2**53 - 1)]
"""A number that another party has counted, such as a provider its tokens."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
"""Seconds of at most a day: the life of leases."""

_ONE_LINE = r"^[^\x00-\x1f\x7f\u2028\u2029]*$"
Line = Annotated[str, StringConstraints(max_length=1_000, pattern=_ONE_LINE)]
"""A name, an id or a sentence: one line of text."""


def _check_note_id(text: str) -> str:
    keys.parse_note_id(text)
    return text


Path = Annotated[str, StringConstraints(max_length=4_096, pattern=_ONE_LINE)]
"""A folder on a user's machine."""
NoteId = Annotated[str, StringConstraints(max_length=200), AfterValidator(_check_note_id)]


def dump(value: object) -> bytes:
    """A JSON value as it is stored."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


class BadShape(ValueError):
    """A text that must not be built into values, even valid JSON. `what` exceeds its bound, `actual` is the number."""

    def __init__(self, what: Literal["bytes", "depth", "values", "numbers"], actual: int = 0) -> None:
        super().__init__(what)
        self.what = what
        self.found = actual


def check_shape(text: str, *, values: int, depth: int, numbers: bool = False) -> None:
    """Raise BadShape unless depth and number of values of a JSON text are allowed. With `numbers` all its numbers must
    be finite and short too. It only scans the text and builds nothing.

    A megabyte of JSON can hold half a million values, and each takes up to a hundred bytes in memory. The parser
    reports a text that is no JSON.
    """
    bare = "".join(_STRING.sub('"', text).split())
    deep = 0
    for bracket in islice(_BRACKET.finditer(bare), 2 * values):
        deep += 1 if bracket[0] in "[{" else -1
        if deep > depth:
            raise BadShape("depth", deep)
    filled = bare.count("[") + bare.count("{") - bare.count("[]") - bare.count("{}")
    count = 1 + bare.count(",") + filled
    if count > values:
        raise BadShape("values", count)
    if numbers and (
        _NOT_PLAIN.search(bare) or not all(math.isfinite(float(number)) for number in _LARGE.findall(bare))
    ):
        raise BadShape("numbers")


class LazyModel(BaseModel, defer_build=True):
    """A model that is built when it is first needed: a cold start of most functions never builds it."""

    @classmethod
    def model_rebuild(cls, **how: Any) -> bool | None:
        """Build the model if it is not built yet, as pydantic does when it is first needed; by one thread at a time.

        Pydantic takes a half-built model apart before it builds it. Another thread that needs it then fails.
        """
        with _BUILDING:
            return super().model_rebuild(**how)


class Held(LazyModel):
    """What a worker holds without a lease."""

    held_seconds: Seconds = 0
    """How long after this write a worker is at work on it, or will be."""


class StoredDocument(LazyModel):
    """Base of stored JSON. Unknown fields survive a read and a write, so versions of the service can share a bucket."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False, str_max_length=MOST_CHARACTERS)

    most_bytes: ClassVar[int] = 1 << 30
    """Bound of a document of this kind, and so of its texts and lists. Documents that may come from outside have far
    fewer."""
    most_values: ClassVar[int] = 5_000_000
    """Bound of the values in one document, nested ones included."""

    def to_bytes(self) -> bytes:
        """The document as it is stored."""
        return self.model_dump_json(indent=2).encode() + b"\n"

    @classmethod
    def from_bytes(cls, body: bytes) -> Self:
        """The document in `body`. Raises ValueError: pydantic's ValidationError, or BadShape for one that must not be
        built.
        """
        if len(body) > min(cls.most_bytes, SHORT_BYTES):
            cls.measure(body)
        return cls.model_validate_json(body)

    @classmethod
    def measure(cls, body: bytes, *, numbers: bool = False) -> None:
        """Raise BadShape for a body that must not be built into a document of this kind. See `check_shape`."""
        if len(body) > cls.most_bytes:
            raise BadShape("bytes", len(body))
        check_shape(body.decode(), values=cls.most_values, depth=MOST_DEPTH, numbers=numbers)
