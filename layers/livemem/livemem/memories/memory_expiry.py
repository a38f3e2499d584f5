"""Expiry of memories: readers leave expired ones out at once, and the sweep deletes them from the log's state."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from livemem import clock
from livemem.errors import LiveMemoryError
from livemem.memories import log, operation
from livemem.memories.memory import Memory
from livemem.memories.operation import Operation
from livemem.memories.state import State, expired
from livemem.process import Process
from livemem.spaces import due_index
from livemem.spaces import head as heads
from livemem.spaces.due_index import Done, Due
from livemem.store.bucket import EXPIRING
from livemem.store.capability_check import require_conditional_writes
from livemem.store.keys import MemoryKind

logger = logging.getLogger(__name__)

SERVICE = "live-memory"
"""The author of operations that the service does by itself."""
REASON = "It has expired."
SHARE = timedelta(seconds=30)
"""Time for the memories of one kind in one space, at most."""
LAST_ROUND = timedelta(seconds=30)
"""Time that must be left to begin with further memories."""
EXPIRED = "memories_expired"
"""The name in reports of the number of memories that were deleted after their expiry."""


def delete_due(process: Process, due: Sequence[Due], deadline: datetime) -> Done:
    """Delete the due memories that have expired, and return how many by space.

    For each space and kind 1 GET, 1 LIST and 1 PUT for each memory; for all of them 1 DeleteObjects at the end.
    """
    require_conditional_writes(process.store)
    by_log: dict[tuple[str, MemoryKind], dict[str, Due]] = {}
    for entry in due:
        parsed = EXPIRING.parse(entry.name)
        if parsed:
            by_log.setdefault((entry.space_id, parsed[0]), {})[parsed[1]] = entry
    done: dict[str, float] = {}
    # An entry that names no memory is not needed.
    looked_at = [other for other in due if not EXPIRING.parse(other.name)]
    for (space_id, kind), memories in by_log.items():
        if deadline - process.clock() < LAST_ROUND:
            break
        work = process.within(min(process.clock() + SHARE, deadline))
        try:
            count = delete_expired(work, space_id, kind, memories) if heads.find(work, space_id) else 0
        except LiveMemoryError as error:
            logger.warning("memories were not looked at", extra={"space_id": space_id, "error_code": error.code})
            continue
        except Exception as error:  # noqa: BLE001 - an error in one space must not stop the others
            # The text of the error is not logged: it may hold data.
            logger.error("memories were not looked at", extra={"space_id": space_id, "error": type(error).__name__})  # noqa: TRY400
            continue
        looked_at += memories.values()
        if count:
            done[space_id] = done.get(space_id, 0) + count
    due_index.settle(process, looked_at)
    return {EXPIRED: done} if done else {}


def delete_expired(process: Process, space_id: str, kind: MemoryKind, memory_ids: Iterable[str] | None = None) -> int:
    """Delete the expired ones of these memories, or of all: 1 LIST, and 1 LIST and 1 PUT for each.

    A memory that was refreshed meanwhile stays, because each deletion is decided on the newest state. Nothing is
    deleted while that has gaps: a damaged operation may have refreshed the memory.
    """
    state = log.load(process, space_id, kind)
    ids = list(state.memories) if memory_ids is None else dict.fromkeys(memory_ids)
    due = [memory_id for memory_id in ids if _doomed(process, state, memory_id)]
    return sum(_delete(process, space_id, kind, memory_id) for memory_id in due)


def _doomed(process: Process, state: State, memory_id: str) -> Memory | None:
    """The memory, if it has to be deleted."""
    memory = state.memories.get(memory_id)
    return memory if memory and not state.has_gaps and expired(memory, process.clock()) else None


def _delete(process: Process, space_id: str, kind: MemoryKind, memory_id: str) -> bool:
    def decide(state: State) -> Operation | None:
        memory = _doomed(process, state, memory_id)
        if not memory:
            return None
        cause = operation.op_id(f"expiry/{memory_id}/{memory.revision}")
        return operation.after(process, state.number, "delete", cause, SERVICE, memory, reason=REASON)

    return log.write(process, space_id, kind, decide)[1] is not None


def mark(process: Process, space_id: str, memory: Memory) -> None:
    """Enter the expiry of a memory in the due index, if it has one: 1 PUT. Without it daily maintenance finds it."""
    if memory.expires_at is not None:
        name = EXPIRING.key(memory.kind, memory.memory_id)
        due_index.leave_at(process, space_id, "memory", name, clock.parse(memory.expires_at))
