"""JSON documents of the bucket: pydantic models that keep what they don't know, written for people to read.

Whoever can write into the bucket, or have an archive imported, writes documents. So each number, list and text of a
model has bounds, which are found here and not where it is used: a document beyond them can't be read.
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
"""Of the interpreter, as the models are. One document may hold another one."""

MOST_DEPTH = 40
"""Objects and lists within each other: what tools are given and give has 20 at most (livemem_http/bodies.py)."""
MOST_CHARACTERS = 8 << 20
"""Of a text without a smaller bound of its own."""
NUMBER_CHARACTERS = 100
"""Of a number as it is written: what the API takes, so what tools are given may have it."""
SHORT_BYTES = 1 << 20
"""Up to which a document is not measured before it is read: it takes some 50 MB of memory whatever is in it."""

# Possessive, and an unterminated string ends with the text: one pass, whatever the text is.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_NOT_PLAIN = re.compile(rf"NaN|Infinity|[-+.0-9eE]{{{NUMBER_CHARACTERS + 1}}}")
_LARGE = re.compile(r"[0-9]+(?:\.[0-9]+)?[eE][-+]?[0-9]{3,}")


def _check_moment(text: str) -> str:
    clock.parse(text)
    return text


Moment = Annotated[str, StringConstraints(max_length=64), AfterValidator(_check_moment)]
"""A time in ISO 8601. A document with a bad one can't be read, which is found here and not where it is used."""

Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""Of anything; as large as every reader of JSON takes it exactly (RFC 8259, 6)."""
Number = Annotated[int, Field(ge=1, le=999_999_999)]
"""Of what is counted in keys, from 1: changes, block boundaries, summary versions, operations."""
Position = Annotated[int, Field(ge=0, le=999_999_999)]
"""The same where 0 is before the first."""
Whole = Annotated[int, Field(ge=-(2**53 - 1), le=2**53 - 1)]
"""What somebody else has counted, such as a provider its tokens."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
"""Of a day: the life of leases and claims."""

_ONE_LINE = r"^[^\x00-\x1f\x7f\u2028\u2029]*$"
Line = Annotated[str, StringConstraints(max_length=1_000, pattern=_ONE_LINE)]
"""A name, an id or a sentence: one line of text."""


def _check_note_id(text: str) -> str:
    keys.parse_note_id(text)
    return text


Path = Annotated[str, StringConstraints(max_length=4_096, pattern=_ONE_LINE)]
"""A folder of somebody's machine."""
NoteId = Annotated[str, StringConstraints(max_length=200), AfterValidator(_check_note_id)]


def dump(value: object) -> bytes:
    """A JSON value as it is stored."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


class BadShape(ValueError):
    """A text that is not built into values, whatever it means: `what` is wrong, and how many there are of it."""

    def __init__(self, what: Literal["bytes", "depth", "values", "numbers"], found: int = 0) -> None:
        super().__init__(what)
        self.what = what
        self.found = found


def check_shape(text: str, *, values: int, depth: int, numbers: bool = False) -> None:
    """Raise BadShape unless depth and number of values of a JSON text are allowed, and with `numbers` all its numbers
    are finite and short: a scan, nothing is built.

    A megabyte of JSON can hold half a million values, and each takes up to a hundred bytes in memory. Of what is no
    JSON the parser will say so.
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
    if numbers and (_NOT_PLAIN.search(bare) or not all(math.isfinite(float(one)) for one in _LARGE.findall(bare))):
        raise BadShape("numbers")


class StoredDocument(BaseModel):
    """Base of stored JSON. Unknown fields survive a read and a write, so versions of the service can share a bucket."""

    # Built when one is first read or written: that is what a cold start of most functions never does.
    model_config = ConfigDict(extra="allow", defer_build=True, allow_inf_nan=False, str_max_length=MOST_CHARACTERS)

    most_bytes: ClassVar[int] = 1 << 30
    """Of a document of this kind, which bounds its texts and lists too. What may come from outside has far fewer."""
    most_values: ClassVar[int] = 5_000_000
    """Values in one, nested ones included."""

    @classmethod
    def model_rebuild(cls, **how: Any) -> bool | None:
        """Build the model if it is not built yet, as pydantic does when it is first needed; by one thread at a time.

        Pydantic takes a half-built model apart before it builds it. Another thread that needs it then fails.
        """
        with _BUILDING:
            return super().model_rebuild(**how)

    def to_bytes(self) -> bytes:
        """The document as it is stored."""
        return self.model_dump_json(indent=2).encode() + b"\n"

    @classmethod
    def from_bytes(cls, body: bytes) -> Self:
        """The document in `body`; raises ValueError: pydantic's ValidationError, or BadShape for one that must not be
        built.
        """
        if len(body) > min(cls.most_bytes, SHORT_BYTES):
            cls.measure(body)
        return cls.model_validate_json(body)

    @classmethod
    def measure(cls, body: bytes, *, numbers: bool = False) -> None:
        """Raise BadShape for what must not be built into a document of this kind; see `check_shape`."""
        if len(body) > cls.most_bytes:
            raise BadShape("bytes", len(body))
        check_shape(body.decode(), values=cls.most_values, depth=MOST_DEPTH, numbers=numbers)
