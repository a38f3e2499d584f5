"""The state of a log as its operations alone make it: without snapshots, which are derived, and without vectors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from livemem.memories import state as states
from livemem.memories.operation import Operation
from livemem.memories.state import Snapshot, State
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store.bucket import IN_MEMORIES, MEMORY_SNAPSHOT, OPERATION
from livemem.store.keys import MEMORY_FOLDERS, MEMORY_KINDS, MemoryKind

MOST_BYTES = Snapshot.most_bytes
"""Most bytes of contents that are replayed. A snapshot may have no more."""
MOST_OPERATIONS = 10_000
"""Operations that a check reads for one kind."""
COMPARED = 2
"""Snapshots that are compared, the newest ones: all that the daily maintenance leaves."""
AT_ONCE = 500


@dataclass
class Replay:
    """The state after the operations so far. They come in their order. What comes behind a gap is left out."""

    state: State = field(default_factory=State)
    size: int = 0

    def add(self, read: Sequence[Operation]) -> None:
        """Take some more operations."""
        fit: list[Operation] = []
        for operation in read:
            self.size += sum(len(part.memory.model_dump_json()) for part in operation.parts())
            if operation.number == self.state.number + len(fit) + 1 and self.size <= MOST_BYTES:
                fit.append(operation)
        if fit:
            self.state = replace(states.applied(self.state, fit, ""), vectors={})


@dataclass(frozen=True)
class Compared:
    """How many memories of snapshots were compared with the log, and what is wrong in them. `untold`: the kinds of
    which it can't be told.
    """

    looked_at: int
    broken: Sequence[str]
    untold: Sequence[MemoryKind]


def compare(process: Process, space_id: str) -> Compared:
    """Compare the newest snapshots of each kind with the log from its beginning: 1 LIST, and for each existing kind 1
    LIST more, and 1 GET for each snapshot and each operation up to it.
    """
    existing = set(process.store.folders(IN_MEMORIES.prefix(space_id)))
    comparisons = [_of_kind(process, space_id, kind) for kind in MEMORY_KINDS if MEMORY_FOLDERS[kind] in existing]
    return Compared(
        sum(compared.looked_at for compared in comparisons),
        [text for compared in comparisons for text in compared.broken],
        [kind for compared in comparisons for kind in compared.untold],
    )


def _of_kind(process: Process, space_id: str, kind: MemoryKind) -> Compared:
    entries = process.store.scan(MEMORY_SNAPSHOT.prefix(space_id, kind))
    items = process.store.get_many([entry.key for entry in entries if MEMORY_SNAPSHOT.parse(entry.key)][-COMPARED:])
    snapshots = [parsed for item in items if item and (parsed := unreadable.tolerated(process, Snapshot, item))]
    if any(earlier.number > MOST_OPERATIONS for earlier in snapshots):
        return Compared(0, [], [kind])
    replay, broken = Replay(), list[str]()
    for snapshot in snapshots:
        wrong = _wrong(process, space_id, kind, snapshot, replay)
        if wrong is None:
            return Compared(0, broken, [kind])
        broken += [f"snapshot {snapshot.number} of {MEMORY_FOLDERS[kind]} {text}" for text in wrong]
    return Compared(sum(len(earlier.memories) for earlier in snapshots), broken, [])


def _wrong(
    process: Process, space_id: str, kind: MemoryKind, snapshot: Snapshot, replay: Replay
) -> Sequence[str] | None:
    """What a snapshot has that the log up to it does not make, as far as readers use it (log.py). None: it can't be
    told. `replay` is continued up to it.
    """
    newest = replay.state.number
    for batch in _operations(process, space_id, kind, newest, snapshot.number):
        replay.add(batch)
        newest = batch[-1].number if batch else newest
    own = replay.state
    if newest == snapshot.number != own.number:
        return None
    return list(_differences(snapshot, own)) if own.op_id == snapshot.op_id else []


def _operations(
    process: Process, space_id: str, kind: MemoryKind, done: int, last: int
) -> Iterator[Sequence[Operation]]:
    numbers = range(done + 1, last + 1)
    for start in range(0, len(numbers), AT_ONCE):
        operation_keys = [OPERATION.key(space_id, kind, number) for number in numbers[start : start + AT_ONCE]]
        read = (
            unreadable.tolerated(process, Operation, item) for item in process.store.get_many(operation_keys) if item
        )
        yield [operation for operation in read if operation]


def _differences(snapshot: Snapshot, own: State) -> Iterator[str]:
    right = states.to_snapshot(own)
    stored, logged = ({memory.memory_id: memory for memory in side.memories} for side in (snapshot, right))
    for memory_id in stored.keys() | logged.keys():
        if memory_id not in logged:
            yield f"has the memory {memory_id}, which the log does not have"
        elif memory_id not in stored:
            yield f"lacks the memory {memory_id}"
        elif stored[memory_id] != logged[memory_id]:
            yield f"has the memory {memory_id} in another state"
    if snapshot.done != right.done:
        yield "knows other operations"
    if snapshot.deleted != right.deleted:
        yield "knows other deletions"
