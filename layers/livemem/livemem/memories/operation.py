"""One operation of the log: what was stored or deleted, why, by whom, and the memory as it stood."""

import base64
import hashlib
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from livemem import clock, limits
from livemem.errors import InvalidRequest, MemoriesBroken
from livemem.memories.memory import Memory, Provenance
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store.memory_keys import Kind
from livemem.store.objects import Object
from livemem.store.stored_documents import Finite, Line, Moment, Number, StoredDocument

By = Literal["text", "vector", "lexical", "llm"]
"""How it was told that two say the same: by their words or by an LLM. By an embedding model or n-grams alone only with
MEMORY_MERGE=similarity.
"""
Op = Literal["put", "delete"]
Kept = Literal["new", "former"]

MEND = "Put back an earlier version of it, from the bucket's versions or from a backup."
_SET_ASIDE = "set-aside-"
"""What the id of an operation begins with that stands in the place of one that could not be read."""
OP_ID_CHARACTERS = 24
"""Of the hash of an operation's cause: no two of a space have the same."""


class Merged(StoredDocument):
    """How what was to be stored met a memory that was there."""

    score: Finite
    by: By
    former: str
    """The content before."""
    kept: Kept
    """Which content stands now."""
    sent: Memory | None = None
    """What was merged into it, as it would stand alone."""
    before: Memory | None = None
    """The memory before, without its history."""


class Also(StoredDocument):
    """What an operation does to another memory at the same time."""

    op: Op
    memory: Memory


class StoredVector(StoredDocument):
    """What an embedding model made of the content: 16-bit floats, little-endian, in base64."""

    model: Line
    values: Annotated[str, Field(max_length=32_768)]

    @classmethod
    def of(cls, model: str, halves: bytes) -> "StoredVector":
        """A vector of 16-bit floats."""
        return cls(model=model, values=base64.b64encode(halves).decode())

    def halves(self) -> bytes:
        """The 16-bit floats; raises ValueError."""
        return base64.b64decode(self.values, validate=True)


class Operation(StoredDocument):
    """`log/{number}.json`."""

    most_bytes: ClassVar[int] = 4 << 20
    most_values: ClassVar[int] = 100_000

    number: Number
    op: Op
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
    also: list[Also] = []
    """Of memories that were one and are two, or the other way round."""
    split: int | None = None
    """The operation whose merge it takes back."""
    apart: list[str] = []
    """Memories of which the LLM said that they are of something else than this one."""
    corrected: list[str] = []
    """The fields that a correction made others of."""
    vector: StoredVector | None = None

    def parts(self) -> list[Also]:
        """All that it does, to each of its memories: the one that it is of comes last."""
        return [*self.also, Also(op=self.op, memory=self.memory)]

    def part(self, memory_id: str) -> Also | None:
        """What it does to a memory."""
        return next((one for one in self.parts() if one.memory.memory_id == memory_id), None)


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


def after(process: Process, number: int, op: Op, cause: str, author: str, memory: Memory, **more: Any) -> Operation:
    """The operation that follows that of this number; `more` are further fields."""
    return Operation(
        number=number + 1,
        op=op,
        op_id=cause,
        at=clock.iso_millis(process.clock()),
        author=author,
        memory=memory,
        **more,
    )


def read(process: Process, found: Object) -> Operation:
    """The operation in an object; raises MemoriesBroken for one that cannot be read."""
    return unreadable.parsed(process, Operation, found, MemoriesBroken)


def in_place(number: int, kind: Kind, mark: str, author: str, now: str) -> Operation:
    """What stands in the place of an operation that cannot be read: its number is taken, and nothing else is known of
    it. `mark` is an id of 26 characters that no memory has.
    """
    nothing = Memory(
        memory_id=mark,
        kind=kind,
        content="",
        created_at=now,
        updated_at=now,
        source="manual",
        provenance=Provenance(author=author),
    )
    return Operation(
        number=number,
        op="delete",
        op_id=f"{_SET_ASIDE}{mark}",
        at=now,
        author=author,
        memory=nothing,
        reason="The operation could not be read.",
    )


def is_in_place(one: Operation) -> bool:
    """Whether it stands in the place of one that could not be read."""
    return one.op_id.startswith(_SET_ASIDE)
