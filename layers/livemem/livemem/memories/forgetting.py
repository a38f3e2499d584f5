"""Deleting a memory, and taking a deletion back: operations of the log like all others."""

from dataclasses import replace
from datetime import timedelta
from typing import Literal

from livemem import clock, limits
from livemem.errors import Conflict, Forbidden, NotFound
from livemem.memories import expiry, log, operation, outcome, reading
from livemem.memories.memory import Memory
from livemem.memories.operation import Operation
from livemem.memories.outcome import Stored
from livemem.memories.state import State, expired
from livemem.process import Process
from livemem.store.memory_keys import Kind
from livemem.store.probe import require_conditional_writes
from livemem.text.redaction import when

BROUGHT_BACK_FOR = timedelta(hours=1)
"""How long a memory lives at least that was brought back: somebody wants to look at it."""
NOT_YOURS = "Only its author, or an admin, deletes a memory: correct it instead."


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
    """Delete a memory: 1 LIST for each kind and 1 PUT. The log keeps it, so it can be brought back; returns it so.

    `anyone`: also one that another author stored. Raises NotFound, Forbidden, InvalidRequest, MemoriesBroken.
    """
    reason = limits.check_text("reason", reason, limits.REASON_BYTES).strip()
    reason = when(process.settings.redact_secrets, reason)
    cause = operation.op_id(op_id or f"delete/{process.new_id()}")
    kind = _kind_of(process, space_id, memory_id, cause)

    def decide(found: State) -> Operation | None:
        if cause in found.done:
            return None
        there = found.find(memory_id, process.clock())
        if not there:
            raise NotFound("memory", memory_id)
        if there.provenance.author != author and not anyone:
            raise Forbidden(NOT_YOURS)
        return _operation(process, found, "delete", cause, author, there, reason)

    after, written = log.write(process, space_id, kind, decide)
    if written is None:
        return log.operation_at(process, space_id, kind, after.done[cause].number).memory
    return written.memory


def restore(
    process: Process, space_id: str, author: str, memory_id: str, *, op_id: str | None = None, anyone: bool = False
) -> Stored:
    """Take a deletion back: 1 LIST for each kind, 1 GET and 1 PUT. What has expired since stays for an hour. One that
    is there is given as it is: the answer to who restored it may have been lost.

    Raises NotFound for one that there never was, Forbidden, Conflict for one that was erased or merged into another
    one, MemoriesBroken.
    """
    cause = operation.op_id(op_id or f"restore/{process.new_id()}")
    kind = _kind_of(process, space_id, memory_id, cause, deleted=True)
    standing: Memory | None = None

    def decide(found: State) -> Operation | None:
        nonlocal standing
        if cause in found.done:
            return None
        standing = found.find(memory_id, process.clock())
        if standing:
            return None
        number = found.deleted.get(memory_id)
        if number is None:
            raise NotFound("deleted memory", memory_id)
        gone = log.operation_at(process, space_id, kind, number)
        if gone.memory.memory_id != memory_id:
            raise Conflict(f"The memory was merged into {gone.memory.memory_id}: split that one.")
        if gone.memory.provenance.author != author and not anyone and gone.author != author:
            raise Forbidden(NOT_YOURS)
        if not gone.memory.content:
            raise Conflict("The memory was erased: nothing is left of it to bring back.")
        back = _brought_back(process, gone.memory)
        return _operation(process, found, "put", cause, author, back, f"Brought back: {gone.reason or ''}".strip())

    after, written = log.write(process, space_id, kind, decide)
    if standing:
        return Stored(standing, after.number, fresh=False, repeated=True)
    done = written or log.operation_at(process, space_id, kind, after.done[cause].number)
    expiry.mark(process, space_id, done.memory)
    return replace(outcome.told(done), repeated=written is None)


def _kind_of(process: Process, space_id: str, memory_id: str, cause: str, *, deleted: bool = False) -> Kind:
    """The kind in whose log the memory is, or an operation of the same cause; `deleted`: also one that was. Raises
    NotFound.
    """
    kind = reading.kind_of(process, space_id, memory_id, cause, deleted=deleted)
    require_conditional_writes(process.store)
    return kind


def _operation(
    process: Process, found: State, op: Literal["put", "delete"], cause: str, author: str, memory: Memory, reason: str
) -> Operation:
    return Operation(
        number=found.number + 1,
        op=op,
        op_id=cause,
        at=clock.iso_millis(process.clock()),
        author=author,
        memory=memory,
        reason=reason,
    )


def _brought_back(process: Process, gone: Memory) -> Memory:
    changes: dict[str, object] = {"revision": gone.revision + 1, "updated_at": clock.iso_millis(process.clock())}
    return given_time(process, gone.model_copy(update=changes))


def given_time(process: Process, memory: Memory) -> Memory:
    """The memory with an hour to live at least."""
    until = process.clock() + BROUGHT_BACK_FOR
    return memory.model_copy(update={"expires_at": clock.iso_millis(until)}) if expired(memory, until) else memory
