"""Correcting a memory by its id. Its former content goes to its history."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import EllipsisType

from livemem import clock
from livemem.errors import InvalidRequest, PreconditionLost
from livemem.memories import (
    log,
    memory,
    memory_expiry,
    memory_vectors,
    merging,
    operation,
    reading,
    storing_outcome,
    ttl,
)
from livemem.memories.memory import Memory
from livemem.memories.operation import Operation
from livemem.memories.state import State
from livemem.memories.storing_outcome import StoredMemory
from livemem.process import Process
from livemem.store.capability_check import require_conditional_writes
from livemem.text.redaction import Redaction
from livemem.text.speakers import check_speaker


@dataclass(frozen=True)
class Correction:
    """The wanted changes; `...` leaves a field alone. `revision`: correct only while the memory has this one."""

    content: str | EllipsisType = ...
    category: str | EllipsisType | None = ...
    subjects: Sequence[str] | EllipsisType = ...
    ttl: str | EllipsisType | None = ...
    """The time to live from now on; None: it never expires."""
    said_at: str | EllipsisType | None = ...
    """When it was said; None: when it was last stored."""
    author: str | EllipsisType | None = ...
    """The speaker; None: the token."""
    revision: int | None = None


def correct(
    process: Process, space_id: str, author: str, memory_id: str, correction: Correction, *, op_id: str | None = None
) -> StoredMemory:
    """Correct a memory: 1 LIST for each kind and 1 PUT, and 1 call of the embedding model for a new content.

    Raises NotFound, InvalidRequest, PreconditionLost for another revision, EmbeddingUnavailable, MemoriesBroken.
    """
    require_conditional_writes(process.store)
    _, memory = reading.find(process, space_id, memory_id)
    changes, redacted = _changes(process, memory, correction)
    if not changes:
        raise InvalidRequest.of("body", "has no field to correct")
    cause = operation.op_id(op_id or f"correct/{process.new_id()}")
    vector = None
    if process.embed and "content" in changes:
        (vector,) = memory_vectors.embed(process, [str(changes["content"])])

    def decide(state: State) -> Operation:
        old = state.get(memory_id, process.clock())
        if correction.revision is not None and old.revision != correction.revision:
            raise PreconditionLost(f"The memory has revision {old.revision} by now: read it again.")
        fresh = merging.corrected(old, process.clock(), author, changes)
        return operation.after(
            process,
            state.number,
            "put",
            cause,
            author,
            fresh,
            corrected=[name for name in changes if getattr(fresh, name) != getattr(old, name)],
            vector=memory_vectors.encoded(process, vector) if vector is not None else None,
        )

    # A damaged operation may hold another correction, or the deletion, which this one would undo.
    done, repeated = log.write_once(process, space_id, memory.kind, cause, decide, complete=True)
    memory_expiry.mark(process, space_id, done.memory)
    return replace(storing_outcome.outcome_of(done), repeated=repeated, redacted=redacted)


def _changes(process: Process, current: Memory, correction: Correction) -> tuple[dict[str, object], dict[str, int]]:
    """The changed fields, checked, and the number of redactions in them, by kind."""
    changes: dict[str, object] = {}
    done, on = Redaction(), process.settings.redact_secrets
    if not isinstance(correction.content, EllipsisType):
        content = memory.check_content(correction.content)
        changes["content"] = done.text(content) if on else content
    if not isinstance(correction.category, EllipsisType):
        category = memory.check_category(current.kind, correction.category)
        changes["category"] = done.text(category) if on and category else category
    if not isinstance(correction.subjects, EllipsisType):
        subjects = memory.check_subjects(correction.subjects)
        changes["subjects"] = memory.without_secrets(correction.subjects, done) if on else subjects
    if not isinstance(correction.ttl, EllipsisType):
        expires = ttl.until(correction.ttl, process.clock())
        changes["expires_at"] = clock.iso_millis(expires) if expires else None
    if not isinstance(correction.said_at, EllipsisType):
        said_at = correction.said_at
        changes["said_at"] = memory.check_said_at(said_at, process.clock()) if said_at is not None else None
    if not isinstance(correction.author, EllipsisType):
        name = check_speaker("author", correction.author) if correction.author is not None else None
        changes["author"] = done.identifier(name) if on and name else name
    return changes, done.counted()
