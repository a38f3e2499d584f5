"""One operation of the log: what was stored or deleted, why, by whom, and the memory as it stood."""

import base64
import hashlib
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from livemem import limits
from livemem.errors import InvalidRequest, MemoriesBroken
from livemem.memories.memory import Memory
from livemem.store.documents import Document, Finite, Line, Moment, Number
from livemem.store.objects import Object

By = Literal["text", "vector", "lexical", "llm"]
"""How it was told that two say the same: by their words, by an embedding model, by n-grams, or by an LLM."""
Kept = Literal["new", "former"]

MEND = "Put back an earlier version of it, from the bucket's versions or from a backup."
OP_ID_CHARACTERS = 24
"""Of the hash of an operation's cause: no two of a space have the same."""


class Merged(Document):
    """How what was to be stored met a memory that was there."""

    score: Finite
    by: By
    former: str
    """The content before."""
    kept: Kept
    """Which content stands now."""


class Vector(Document):
    """What an embedding model made of the content: 16-bit floats, little-endian, in base64."""

    model: Line
    values: Annotated[str, Field(max_length=32_768)]

    @classmethod
    def of(cls, model: str, halves: bytes) -> "Vector":
        """A vector of 16-bit floats."""
        return cls(model=model, values=base64.b64encode(halves).decode())

    def halves(self) -> bytes:
        """The 16-bit floats; raises ValueError."""
        return base64.b64decode(self.values, validate=True)


class Operation(Document):
    """`log/{number}.json`."""

    most_bytes: ClassVar[int] = 4 << 20
    most_values: ClassVar[int] = 100_000

    number: Number
    op: Literal["put", "delete"]
    op_id: Line
    """Of its cause: a repeat of the same changes nothing."""
    request: str | None = None
    """A hash of what was asked for, so that another request under the same cause is refused."""
    at: Moment
    author: Line
    memory: Memory
    """As it stands after a `put`; as it was before a `delete`."""
    merged: Merged | None = None
    reason: str | None = None
    """Why it was deleted, or brought back."""
    corrected: list[str] = []
    """The fields that a correction made others of."""
    vector: Vector | None = None


def op_id(cause: str) -> str:
    """The id of the operation that a cause has, such as an Idempotency-Key or a place in a digest."""
    return hashlib.sha256(cause.encode(errors="replace")).hexdigest()[:OP_ID_CHARACTERS]


def of_key(author: str, idempotency_key: str | None, place: int | None = None) -> str | None:
    """The cause of what was asked for under a client's Idempotency-Key, of a batch with its place; None without one.

    Raises InvalidRequest.
    """
    if idempotency_key is None:
        return None
    if not 1 <= len(idempotency_key) <= limits.IDEMPOTENCY_KEY_CHARACTERS:
        raise InvalidRequest.of("Idempotency-Key", f"1 to {limits.IDEMPOTENCY_KEY_CHARACTERS} characters")
    # A name has no slash, but a key may: the place stands before it.
    return f"key/{author}/{idempotency_key}" if place is None else f"keys/{author}/{place}/{idempotency_key}"


def read(found: Object) -> Operation:
    """The operation in an object; raises MemoriesBroken for one that somebody has changed."""
    try:
        return Operation.from_bytes(found.body)
    except ValueError as error:
        name = found.key.partition("/memories/")[2]
        raise MemoriesBroken(f"The object {name!r} of the memories can't be read. {MEND}") from error
