"""The log of a kind's memories in the bucket: reading its state, and writing the next operation.

An operation is written under the number after the newest one, if that is free. So its writer knew all before it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeVar

from livemem.errors import Busy, MemoriesBroken
from livemem.memories import operation as operations
from livemem.memories import state as states
from livemem.memories.operation import Operation
from livemem.memories.state import Snapshot, State
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.spaces.unreadable import MEND
from livemem.store import stored
from livemem.store.bucket import MEMORY_SNAPSHOT, OPERATION, OperationKey
from livemem.store.cache import TimedCache
from livemem.store.keys import MemoryKind

W = TypeVar("W", bound=Operation | None)

SNAPSHOT_EVERY = 100
"""Operations between two snapshots. A process without a cache replays at most so many, and a few concurrent ones."""
MOST_KNOWN = 50_000
"""Memories of all spaces that a process caches."""
TRIES = 500
"""Numbers that a writer tries. There are never as many writers at once."""


_STATES = partial(TimedCache[tuple[str, MemoryKind], State], MOST_KNOWN, size=lambda state: 1 + len(state.memories))
"""The states that this process has used last."""


def load(
    process: Process, space_id: str, kind: MemoryKind, missing: list[str] | None = None, *, complete: bool = False
) -> State:
    """The state as the bucket has it now: 1 LIST, and 1 GET for each operation that this process does not know yet.

    A cold process reads the newest snapshot first: 1 LIST, 1 GET. Damaged operations are skipped. A reader may give a
    list for `missing`: then missing ones are skipped too, and the keys of all skipped ones are added to it. `complete`:
    for a caller that must know every operation. Raises MemoriesBroken.
    """
    state = process.cache(_STATES).get((space_id, kind))
    if state:
        later = _later(process, space_id, kind, state, missing, complete=complete)
        if later is not None:
            return _keep(process, space_id, kind, later)
    for start in _starts(process, space_id, kind):
        operations = _later(process, space_id, kind, start, missing, complete=complete)
        if operations is not None:
            return _keep(process, space_id, kind, operations)
    raise MemoriesBroken(f"The log of the memories can't be read from its beginning. {MEND}")


def _keep(process: Process, space_id: str, kind: MemoryKind, state: State) -> State:
    """Cache the state, unless it has gaps: then the operations from the first gap on are read again each time."""
    return state if state.has_gaps else process.cache(_STATES).put((space_id, kind), state)


def _starts(process: Process, space_id: str, kind: MemoryKind) -> Iterator[State]:
    """The states of the snapshots, the newest first, and then the empty one: 1 LIST, 1 GET each."""
    entries = process.store.scan(MEMORY_SNAPSHOT.prefix(space_id, kind))
    for key in reversed([entry.key for entry in entries if MEMORY_SNAPSHOT.parse(entry.key)]):
        item = process.store.get(key)
        # An unreadable snapshot is skipped: the one before and more of the log give the same state.
        snapshot = unreadable.tolerated(process, Snapshot, item) if item else None
        if snapshot:
            yield states.from_snapshot(snapshot)
    yield State()


def _later(
    process: Process, space_id: str, kind: MemoryKind, state: State, missing: list[str] | None, *, complete: bool
) -> State | None:
    """The state after all later operations; None if the state came from another log.

    A backup made while memories were stored may have a snapshot without the operation after which it was made.
    """
    # Its newest operation is listed too. Another one in its place means that the space was restored.
    behind = OPERATION.key(space_id, kind, state.number - 1) if state.number else ""
    entries = [
        entry
        for entry in process.store.scan(OPERATION.prefix(space_id, kind), start_after=behind)
        if OPERATION.parse(entry.key)
    ]
    last = _number(entries[-1].key) if entries else 0
    listed_keys = {entry.key for entry in entries}
    numbers = range(max(state.number, 1), last + 1)
    holes = (number for number in numbers if OPERATION.key(space_id, kind, number) not in listed_keys)
    hole = next(holes, None) if missing is None else None
    if hole is not None:
        raise _lacks(space_id, kind, hole)
    is_known = bool(state.number and entries and entries[0].etag == state.etag)
    if state.number and (not entries or (state.etag and not is_known)):
        return None
    new = entries[1:] if is_known else entries
    if not new:
        return state
    items = process.store.get_many([entry.key for entry in new])
    if not all(items):
        # The space is being deleted.
        return None
    gaps = [OPERATION.key(space_id, kind, number) for number in holes]
    if complete:
        read = [operations.read(process, item) for item in items if item]
    else:
        tolerated = (unreadable.tolerated(process, Operation, item, gaps) for item in items if item)
        read = [operation for operation in tolerated if operation]
    if state.number and not is_known and read and read[0].number == state.number and read.pop(0).op_id != state.op_id:
        return None
    etag = entries[-1].etag
    later = states.applied(state, read, etag) if read else replace(state, etag=etag)
    if missing is not None:
        missing += gaps
    # The number of a damaged operation is never given again.
    return replace(later, number=last, has_gaps=True) if gaps else later


def _number(key: str) -> int:
    parsed = OPERATION.parse_as(OperationKey, key)
    return parsed.number if parsed else 0


def _lacks(space_id: str, kind: MemoryKind, number: int) -> MemoriesBroken:
    return MemoriesBroken(
        f"The log of the memories lacks its operation {number}. {MEND}", key=OPERATION.key(space_id, kind, number)
    )


def write(
    process: Process,
    space_id: str,
    kind: MemoryKind,
    decide: Callable[[State], Operation | None],
    *,
    complete: bool = False,
) -> tuple[State, Operation | None]:
    """Write the operation that `decide` returns for the newest state. If it returns None, nothing is written.

    1 LIST and 1 PUT; for each lost race both again and 1 GET. `complete` as in `load`. Raises Busy, MemoriesBroken,
    StoreUnavailable, and the errors of `decide`.
    """
    state = load(process, space_id, kind, complete=complete)
    for _ in range(TRIES):
        operation = decide(state)
        if operation is None:
            return state, None
        key = OPERATION.key(space_id, kind, operation.number)
        body = operation.to_bytes()
        etag = stored.write_if(process.store, key, body)
        if etag:
            return _keep(process, space_id, kind, states.applied(state, [operation], etag)), operation
        state = load(process, space_id, kind, complete=complete)
        done = state.done.get(operation.op_id)
        # Another writer may have done the same for the same cause.
        if done and done.number == operation.number and stored.stands(process.store, key, body):
            return state, operation
    raise Busy("Too many memories are stored at the same time. Try again.")


def write_once(
    process: Process,
    space_id: str,
    kind: MemoryKind,
    cause: str,
    decide: Callable[[State], W],
    *,
    complete: bool = False,
) -> tuple[Operation | W, bool]:
    """The operation of a cause, and whether an earlier try wrote it: then 1 GET more.

    Otherwise the operation that `decide` returns is written (`write`), unless that is None. `complete` as in `load`.
    """
    decided: list[W] = []

    def unless_done(current: State) -> Operation | None:
        if cause in current.done:
            return None
        decided.append(decide(current))
        return decided[-1]

    state, written = write(process, space_id, kind, unless_done, complete=complete)
    if cause in state.done:
        return written or operation_at(process, space_id, kind, state.done[cause].number), written is None
    return decided[-1], False


def operation_at(process: Process, space_id: str, kind: MemoryKind, number: int) -> Operation:
    """One operation: 1 GET. Raises MemoriesBroken."""
    item = process.store.get(OPERATION.key(space_id, kind, number))
    if not item:
        raise _lacks(space_id, kind, number)
    return operations.read(process, item)


def known_snapshot(process: Process, space_id: str, kind: MemoryKind, state: State) -> None:
    """Note in the cache that there is a snapshot of this state."""
    process.cache(_STATES).put((space_id, kind), replace(state, snapshot=state.number))
