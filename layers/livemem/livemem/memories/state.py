"""What a log has come to: the memories that stand after an operation. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar

from livemem import clock
from livemem.memories.memory import Memory
from livemem.memories.operation import Operation, Vector
from livemem.store.documents import Document, Moment, Number

REPEATED_WITHIN = timedelta(days=30)
"""For how long a repeat is known: digests that wait for their model, and clients that send again, take less."""


class Done(Document):
    """An operation by its cause."""

    number: Number
    at: Moment


class Snapshot(Document):
    """`snapshot/{number}.json`: the state after an operation."""

    most_bytes: ClassVar[int] = 64 << 20

    number: Number
    op_id: str
    """Of that operation: a space that was restored may have got another one under its number since."""
    memories: list[Memory]
    done: dict[str, Done]
    deleted: dict[str, Number]


@dataclass(frozen=True)
class State:
    """The state after operation `number`, 0 before the first one.

    `done`: operations of the last 30 days by the id of their cause. `deleted`: the operation that deleted a memory.
    """

    number: int = 0
    memories: Mapping[str, Memory] = field(default_factory=dict)
    done: Mapping[str, Done] = field(default_factory=dict)
    deleted: Mapping[str, int] = field(default_factory=dict)
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    """Those of the contents of operations since the snapshot, by memory."""
    op_id: str = ""
    """Of the newest operation."""
    etag: str = ""
    """Of its object, as a listing told it; empty where a snapshot told the state."""
    snapshot: int = 0
    """The operation of the newest snapshot that is known of."""

    def alive(self, now: datetime) -> list[Memory]:
        """The memories that have not expired, the newest last."""
        told = clock.iso_millis(now)
        return [memory for memory in self.memories.values() if not _expired(memory, now, told)]

    def find(self, memory_id: str, now: datetime) -> Memory | None:
        """The memory, None where there is none or it has expired."""
        found = self.memories.get(memory_id)
        return found if found and not expired(found, now) else None


def expired(memory: Memory, now: datetime) -> bool:
    """Whether its time has come."""
    return _expired(memory, now, clock.iso_millis(now))


def _expired(memory: Memory, now: datetime, told: str) -> bool:
    """The same; `told`: the moment as it is stored."""
    expires = memory.expires_at
    if expires is None:
        return False
    if len(expires) == len(told) and expires[10] == "T" and expires[-1] == "Z":
        # As this service writes it, which sorts as text: thousands are looked at for each search.
        return expires <= told
    return clock.parse(expires) <= now


def applied(state: State, operations: Sequence[Operation], etag: str) -> State:
    """The state after one or more further operations; `etag` is that of the last one's object."""
    memories, done = dict(state.memories), dict(state.done)
    deleted, vectors = dict(state.deleted), dict(state.vectors)
    for one in operations:
        memory_id = one.memory.memory_id
        # The newest one last: what is put again comes to the end.
        before = memories.pop(memory_id, None)
        if one.vector or not before or before.content != one.memory.content:
            vectors.pop(memory_id, None)
        if one.op == "put":
            memories[memory_id] = one.memory
            deleted.pop(memory_id, None)
            if one.vector:
                vectors[memory_id] = one.vector
        else:
            deleted[memory_id] = one.number
        done[one.op_id] = Done(number=one.number, at=one.at)
    last = operations[-1]
    return State(last.number, memories, done, deleted, vectors, last.op_id, etag, state.snapshot)


def to_snapshot(state: State) -> Snapshot:
    """The state as it is stored; the same for whoever writes it."""
    done = dict(state.done)
    if done:
        newest = max(clock.parse(one.at) for one in done.values())
        done = {name: one for name, one in done.items() if newest - clock.parse(one.at) <= REPEATED_WITHIN}
    return Snapshot(
        number=state.number,
        op_id=state.op_id,
        memories=list(state.memories.values()),
        done=done,
        deleted=dict(state.deleted),
    )


def from_snapshot(snapshot: Snapshot) -> State:
    """The state that a snapshot holds; its vectors are beside it."""
    return State(
        snapshot.number,
        {memory.memory_id: memory for memory in snapshot.memories},
        snapshot.done,
        snapshot.deleted,
        op_id=snapshot.op_id,
        snapshot=snapshot.number,
    )


def newest_first(memories: Iterable[Memory]) -> list[Memory]:
    """Those last stored or changed first."""
    return sorted(memories, key=lambda memory: (memory.updated_at, memory.memory_id), reverse=True)
