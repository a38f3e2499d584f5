"""The state of a log as its operations alone make it: without snapshots, which are derived, and without vectors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from livemem.memories import operation as operations
from livemem.memories import state as states
from livemem.memories.operation import Operation
from livemem.memories.state import Snapshot, State
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store import memory_keys as keys
from livemem.store.memory_keys import Kind

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
        for one in read:
            self.size += sum(len(part.memory.model_dump_json()) for part in one.parts())
            if one.number == self.state.number + len(fit) + 1 and self.size <= MOST_BYTES:
                fit.append(one)
        if fit:
            self.state = replace(states.applied(self.state, fit, ""), vectors={})


@dataclass(frozen=True)
class Compared:
    """How many memories of snapshots were compared with the log, and what is wrong in them. `untold`: the kinds of
    which it can't be told.
    """

    looked_at: int
    broken: Sequence[str]
    untold: Sequence[Kind]


def compare(process: Process, space_id: str) -> Compared:
    """Compare the newest snapshots of each kind with the log from its beginning: 1 LIST, and for each existing kind 1
    LIST more, and 1 GET for each snapshot and each operation up to it.
    """
    existing = set(process.store.folders(keys.prefix(space_id)))
    found = [_of_kind(process, space_id, kind) for kind in keys.KINDS if keys.FOLDERS[kind] in existing]
    return Compared(
        sum(one.looked_at for one in found),
        [text for one in found for text in one.broken],
        [kind for one in found for kind in one.untold],
    )


def _of_kind(process: Process, space_id: str, kind: Kind) -> Compared:
    listed = process.store.scan(keys.snapshots_prefix(space_id, kind))
    found = process.store.get_many([entry.key for entry in listed if keys.parse_snapshot(entry.key)][-COMPARED:])
    kept = [one for item in found if item and (one := unreadable.tolerated(process, Snapshot, item))]
    if any(one.number > MOST_OPERATIONS for one in kept):
        return Compared(0, [], [kind])
    replay, broken = Replay(), list[str]()
    for snapshot in kept:
        wrong = _wrong(process, space_id, kind, snapshot, replay)
        if wrong is None:
            return Compared(0, broken, [kind])
        broken += [f"snapshot {snapshot.number} of {keys.FOLDERS[kind]} {text}" for text in wrong]
    return Compared(sum(len(one.memories) for one in kept), broken, [])


def _wrong(process: Process, space_id: str, kind: Kind, snapshot: Snapshot, replay: Replay) -> Sequence[str] | None:
    """What a snapshot has that the log up to it does not make, as far as readers use it (log.py). None: it can't be
    told. `replay` is continued up to it.
    """
    newest = replay.state.number
    for some in _operations(process, space_id, kind, newest, snapshot.number):
        replay.add(some)
        newest = some[-1].number if some else newest
        if any(operations.is_in_place(one) for one in some):
            # The snapshot may know the operation that was set aside.
            return None
    own = replay.state
    if newest == snapshot.number != own.number:
        return None
    return list(_differences(snapshot, own)) if own.op_id == snapshot.op_id else []


def _operations(process: Process, space_id: str, kind: Kind, done: int, last: int) -> Iterator[Sequence[Operation]]:
    numbers = range(done + 1, last + 1)
    for start in range(0, len(numbers), AT_ONCE):
        wanted = [keys.operation(space_id, kind, number) for number in numbers[start : start + AT_ONCE]]
        read = (unreadable.tolerated(process, Operation, item) for item in process.store.get_many(wanted) if item)
        yield [one for one in read if one]


def _differences(snapshot: Snapshot, own: State) -> Iterator[str]:
    right = states.to_snapshot(own)
    stored, logged = ({one.memory_id: one for one in some.memories} for some in (snapshot, right))
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
