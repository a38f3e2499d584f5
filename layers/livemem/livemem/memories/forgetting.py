"""Deleting and restoring a memory: operations of the log like all others."""

from dataclasses import replace
from datetime import timedelta

from livemem import clock, limits
from livemem.errors import Conflict, Forbidden, NotFound
from livemem.memories import log, memory_expiry, operation, reading, storing_outcome
from livemem.memories.memory import Memory
from livemem.memories.operation import Operation
from livemem.memories.state import State, expired
from livemem.memories.storing_outcome import StoredMemory
from livemem.process import Process
from livemem.store.capability_check import require_conditional_writes
from livemem.store.keys import MemoryKind
from livemem.text.redaction import when

BROUGHT_BACK_FOR = timedelta(hours=1)
"""The least life of a restored memory, so that people can look at it."""
NOT_YOURS = "Only its author or an admin can delete a memory. You can correct it instead."


def delete(
    process: Process,
    space_id: str,
    author: str,
    memory_id: str,
    reason: str,
    *,
    op_id: str | None = None,
    anyone: bool = False,
) -> Memory:
    """Delete a memory, and return it: 1 LIST for each kind and 1 PUT. The log keeps it, so it can be restored.

    `anyone`: also a memory of another author. Raises NotFound, Forbidden, InvalidRequest, MemoriesBroken.
    """
    reason = limits.check_text("reason", reason, limits.REASON_BYTES).strip()
    reason = when(process.settings.redact_secrets, reason)
    cause = operation.op_id(op_id or f"delete/{process.new_id()}")
    kind = _kind_of(process, space_id, memory_id, cause)

    def decide(state: State) -> Operation:
        memory = state.get(memory_id, process.clock())
        if memory.provenance.author != author and not anyone:
            raise Forbidden(NOT_YOURS)
        return operation.after(process, state.number, "delete", cause, author, memory, reason=reason)

    return log.write_once(process, space_id, kind, cause, decide)[0].memory


def restore(
    process: Process, space_id: str, author: str, memory_id: str, *, op_id: str | None = None, anyone: bool = False
) -> StoredMemory:
    """Restore a deleted memory: 1 LIST for each kind, 1 GET and 1 PUT. One that has expired since lives for an hour.

    An existing memory is returned as it is, because the answer to the first request may have been lost. Raises NotFound
    for a memory that never existed, Forbidden, Conflict for an erased or merged one, MemoriesBroken.
    """
    cause = operation.op_id(op_id or f"restore/{process.new_id()}")
    kind = _kind_of(process, space_id, memory_id, cause, deleted=True)
    standing: StoredMemory | None = None

    def decide(state: State) -> Operation | None:
        nonlocal standing
        memory = state.find(memory_id, process.clock())
        standing = StoredMemory(memory, state.number, fresh=False, repeated=True) if memory else None
        if standing:
            return None
        number = state.deleted.get(memory_id)
        if number is None:
            raise NotFound("deleted memory", memory_id)
        gone = log.operation_at(process, space_id, kind, number)
        if gone.memory.memory_id != memory_id:
            raise Conflict(f"The memory was merged into {gone.memory.memory_id}. Split that memory.")
        if gone.memory.provenance.author != author and not anyone and gone.author != author:
            raise Forbidden(NOT_YOURS)
        if not gone.memory.content:
            raise Conflict("The memory was erased, so it can't be restored.")
        back = _brought_back(process, gone.memory)
        reason = f"Brought back: {gone.reason or ''}".strip()
        return operation.after(process, state.number, "put", cause, author, back, reason=reason)

    done, repeated = log.write_once(process, space_id, kind, cause, decide)
    if not done:
        assert standing, "the memory stands, or an operation was written"
        return standing
    memory_expiry.mark(process, space_id, done.memory)
    return replace(storing_outcome.outcome_of(done), repeated=repeated)


def _kind_of(process: Process, space_id: str, memory_id: str, cause: str, *, deleted: bool = False) -> MemoryKind:
    """The kind whose log has the memory, or an operation of the same cause. `deleted`: also a deleted memory.

    Raises NotFound.
    """
    kind = reading.kind_of(process, space_id, memory_id, cause, deleted=deleted)
    require_conditional_writes(process.store)
    return kind


def _brought_back(process: Process, gone: Memory) -> Memory:
    changes: dict[str, object] = {"revision": gone.revision + 1, "updated_at": clock.iso_millis(process.clock())}
    return given_time(process, gone.model_copy(update=changes))


def given_time(process: Process, memory: Memory) -> Memory:
    """The memory with at least an hour to live."""
    until = process.clock() + BROUGHT_BACK_FOR
    return memory.model_copy(update={"expires_at": clock.iso_millis(until)}) if expired(memory, until) else memory
