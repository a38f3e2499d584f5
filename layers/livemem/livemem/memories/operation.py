"""One operation of the log: a memory that was stored or deleted, the reason, the author, and other memories."""

import base64
import hashlib
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from livemem import clock, limits
from livemem.errors import InvalidRequest, MemoriesBroken
from livemem.memories.memory import Memory
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store.objects import Object
from livemem.store.stored_documents import Finite, Line, Moment, Number, StoredDocument

By = Literal["text", "vector", "lexical", "llm"]
"""How it was decided that two say the same: by their words or by an LLM. By an embedding model or n-grams alone only
with MEMORY_MERGE=similarity.
"""
OperationKind = Literal["put", "delete"]
Kept = Literal["new", "former"]

OP_ID_CHARACTERS = 24
"""Characters of the hash of a cause: enough that no two causes of a space share them."""


class Merged(StoredDocument):
    """How a candidate was merged into an existing memory."""

    score: Finite
    by: By
    former: str
    """The content before."""
    kept: Kept
    """Which content stands now."""
    sent: Memory | None = None
    """The candidate, as it would stand alone."""
    before: Memory | None = None
    """The memory before, without its history."""


class Also(StoredDocument):
    """The effect of an operation on another memory."""

    op: OperationKind
    memory: Memory


class StoredVector(StoredDocument):
    """The vector of the content from an embedding model: 16-bit floats, little-endian, in base64."""

    model: Line
    values: Annotated[str, Field(max_length=32_768)]

    @classmethod
    def of(cls, model: str, halves: bytes) -> "StoredVector":
        """A vector of 16-bit floats."""
        return cls(model=model, values=base64.b64encode(halves).decode())

    def halves(self) -> bytes:
        """The 16-bit floats. Raises ValueError."""
        return base64.b64decode(self.values, validate=True)


class Operation(StoredDocument):
    """`log/{number}.json`: one operation."""

    most_bytes: ClassVar[int] = 4 << 20
    most_values: ClassVar[int] = 100_000

    number: Number
    op: OperationKind
    op_id: Line
    """The id of its cause. A repeat of the same cause changes nothing."""
    request: str | None = None
    """A hash of the request, so that a different request with the same cause is refused."""
    at: Moment
    author: Line
    memory: Memory
    """The memory after a `put`, or before a `delete`."""
    merged: Merged | None = None
    reason: str | None = None
    """Why the memory was deleted or restored."""
    also: list[Also] = []
    """Its effects on other memories, at a split or a merge of two memories."""
    split: int | None = None
    """The number of the operation whose merge it reverts."""
    apart: list[str] = []
    """Memories that the LLM called different from this one."""
    corrected: list[str] = []
    """The fields that a correction changed."""
    vector: StoredVector | None = None

    def parts(self) -> list[Also]:
        """Its effects on all of its memories. The one that it is of comes last."""
        return [*self.also, Also(op=self.op, memory=self.memory)]

    def part(self, memory_id: str) -> Also | None:
        """Its effect on a memory, None without one."""
        return next((candidate for candidate in self.parts() if candidate.memory.memory_id == memory_id), None)


def op_id(cause: str) -> str:
    """The id of an operation, from its cause such as an Idempotency-Key or a place in a digest."""
    return hashlib.sha256(cause.encode(errors="replace")).hexdigest()[:OP_ID_CHARACTERS]


def of_key(author: str, idempotency_key: str | None, place: int | None = None) -> str | None:
    """The cause of a request with an Idempotency-Key, in a batch with the memory's place; None without a key.

    Raises InvalidRequest.
    """
    if idempotency_key is None:
        return None
    if not 1 <= len(idempotency_key) <= limits.IDEMPOTENCY_KEY_CHARACTERS:
        raise InvalidRequest.of("Idempotency-Key", f"must have 1 to {limits.IDEMPOTENCY_KEY_CHARACTERS} characters")
    # A name has no slash, but a key may have one. So the place stands before the key.
    return f"key/{author}/{idempotency_key}" if place is None else f"keys/{author}/{place}/{idempotency_key}"


def after(
    process: Process, number: int, op: OperationKind, cause: str, author: str, memory: Memory, **more: Any
) -> Operation:
    """The operation after `number`; `more` are further fields."""
    return Operation(
        number=number + 1,
        op=op,
        op_id=cause,
        at=clock.iso_millis(process.clock()),
        author=author,
        memory=memory,
        **more,
    )


def read(process: Process, item: Object) -> Operation:
    """The operation in an object. Raises MemoriesBroken if it cannot be read."""
    return unreadable.parsed(process, Operation, item, MemoriesBroken)
