"""Expired memories leave the log's state: readers leave them out at once, and the sweep deletes them."""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from livemem import clock
from livemem.errors import LiveMemoryError
from livemem.memories import log, operation
from livemem.memories.memory import Memory
from livemem.memories.operation import Operation
from livemem.memories.state import State, expired
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import documents, timing
from livemem.store import memory_keys as keys
from livemem.store.memory_keys import Expiring, Kind
from livemem.store.probe import require_conditional_writes

logger = logging.getLogger(__name__)

SERVICE = "live-memory"
"""The author of what nobody asked for."""
REASON = "It has expired."
SHARE = timedelta(seconds=30)
"""Of the memories of one kind in one space."""
LAST_ROUND = timedelta(seconds=30)
"""Time that must be left to look at further memories."""
LATE = timing.REPEATED + timing.APART + timing.MARGIN
"""For which a marker stays behind its hour: clocks may be apart, and its memory may still be under way."""


def sweep(process: Process, deadline: datetime) -> dict[str, float]:
    """Delete what has expired in the hours that are over: how many by space.

    1 LIST per 1,000 markers, then for each space and kind 1 LIST, 1 PUT for each memory, and 1 DeleteObjects.
    """
    marked: dict[tuple[str, Kind], list[Expiring]] = {}
    for entry in process.store.scan(keys.EXPIRY, stop=keys.expiry_after(process.clock() - timedelta(hours=1))):
        found = keys.parse_expiry(entry.key)
        if found:
            marked.setdefault((found.space_id, found.kind), []).append(found)
    if marked:
        require_conditional_writes(process.store)
    done: dict[str, float] = {}
    for (space_id, kind), markers in marked.items():
        if deadline - process.clock() < LAST_ROUND:
            break
        work = process.within(min(process.clock() + SHARE, deadline))
        try:
            there = heads.find(work, space_id)
            ids = [one.memory_id for one in markers]
            count = delete_expired(work, space_id, kind, ids) if there else 0
            _clear(work, markers)
        except LiveMemoryError as error:
            logger.warning("memories were not looked at", extra={"space_id": space_id, "error_code": error.code})
            continue
        except Exception as error:  # noqa: BLE001 - whatever lies in one space must not stop the others
            # Not with its text, which may hold data.
            logger.error("memories were not looked at", extra={"space_id": space_id, "error": type(error).__name__})  # noqa: TRY400
            continue
        if count:
            done[space_id] = done.get(space_id, 0) + count
    return done


def _clear(process: Process, markers: Iterable[Expiring]) -> None:
    old = [one.key for one in markers if one.key < keys.expiry_after(process.clock() - LATE - timedelta(hours=1))]
    if old:
        process.store.delete_many(old)


def delete_expired(process: Process, space_id: str, kind: Kind, memory_ids: Iterable[str] | None = None) -> int:
    """Delete those of these memories that have expired, or all that have: 1 LIST, and 1 LIST and 1 PUT for each.

    One that somebody has refreshed meanwhile stays: the decision is made on the state that it extends.
    """
    state = log.load(process, space_id, kind)
    some = list(state.memories) if memory_ids is None else dict.fromkeys(memory_ids)
    due = [one for one in some if (there := state.memories.get(one)) and expired(there, process.clock())]
    return sum(_delete(process, space_id, kind, memory_id) for memory_id in due)


def _delete(process: Process, space_id: str, kind: Kind, memory_id: str) -> bool:
    def decide(found: State) -> Operation | None:
        there = found.memories.get(memory_id)
        if not there or not expired(there, process.clock()):
            return None
        cause = operation.op_id(f"expiry/{memory_id}/{there.revision}")
        return operation.after(process, found.number, "delete", cause, SERVICE, there, reason=REASON)

    return log.write(process, space_id, kind, decide)[1] is not None


def mark(process: Process, space_id: str, kept: Memory) -> None:
    """Mark the hour in which a memory expires, if it does: 1 PUT. Without it the look of once a day finds it."""
    if kept.expires_at is not None:
        key = keys.expiry(space_id, kept.kind, kept.memory_id, clock.parse(kept.expires_at))
        process.store.put(key, b"", content_type=documents.JSON)
