"""The state of a log: the memories that stand after an operation. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import ClassVar

from livemem import clock
from livemem.errors import NotFound
from livemem.memories.memory import Memory
from livemem.memories.operation import Operation, StoredVector
from livemem.store.stored_documents import Moment, Number, StoredDocument

REPEATED_WITHIN = timedelta(days=30)
"""For so long a repeat is detected. Waiting digests and clients that send again take less."""


class OperationDone(StoredDocument):
    """The number and time of an operation, by its cause."""

    number: Number
    at: Moment


class Snapshot(StoredDocument):
    """`snapshot/{number}.json`: the state after an operation."""

    most_bytes: ClassVar[int] = 64 << 20

    number: Number
    op_id: str
    """The id of that operation. A restored space may have another operation under the same number."""
    memories: list[Memory]
    done: dict[str, OperationDone]
    deleted: dict[str, Number]


@dataclass(frozen=True)
class State:
    """The state after operation `number`, 0 before the first one.

    `done`: operations of the last 30 days by the id of their cause. `deleted`: the operation that deleted a memory.
    """

    number: int = 0
    memories: Mapping[str, Memory] = field(default_factory=dict)
    done: Mapping[str, OperationDone] = field(default_factory=dict)
    deleted: Mapping[str, int] = field(default_factory=dict)
    vectors: Mapping[str, StoredVector] = field(default_factory=dict)
    """The vectors of operations since the snapshot, by memory."""
    op_id: str = ""
    """The id of the newest operation."""
    etag: str = ""
    """The ETag of its object; empty if the state came from a snapshot."""
    snapshot: int = 0
    """The operation of the newest known snapshot."""
    has_gaps: bool = False
    """Whether operations are not in it, because they are damaged or missing. Once mended they take effect in their
    place, so such a state is neither cached nor stored as a snapshot.
    """

    @cached_property
    def linked(self) -> Mapping[str, Sequence[str]]:
        """The links between memories that may say the same, in both directions. The memories may no longer exist."""
        links: dict[str, dict[str, None]] = {}
        for memory in self.memories.values():
            for other in memory.similar_to:
                links.setdefault(memory.memory_id, {})[other] = None
                links.setdefault(other, {})[memory.memory_id] = None
        return {memory_id: list(neighbours) for memory_id, neighbours in links.items()}

    def shown(self, memory: Memory, now: datetime) -> Memory:
        """The memory with links to all existing ones that may say the same."""
        neighbours = [linked_id for linked_id in self.linked.get(memory.memory_id, ()) if self.find(linked_id, now)]
        return memory if neighbours == memory.similar_to else memory.model_copy(update={"similar_to": neighbours})

    def alive(self, now: datetime) -> list[Memory]:
        """The memories that have not expired, the newest last."""
        now_text = clock.iso_millis(now)
        return [memory for memory in self.memories.values() if not _expired(memory, now, now_text)]

    def find(self, memory_id: str, now: datetime) -> Memory | None:
        """The memory, None if there is none or it has expired."""
        memory = self.memories.get(memory_id)
        return memory if memory and not expired(memory, now) else None

    def get(self, memory_id: str, now: datetime) -> Memory:
        """The memory. Raises NotFound."""
        memory = self.find(memory_id, now)
        if not memory:
            raise NotFound("memory", memory_id)
        return memory


def expired(memory: Memory, now: datetime) -> bool:
    """Whether the memory has expired."""
    return _expired(memory, now, clock.iso_millis(now))


def _expired(memory: Memory, now: datetime, now_text: str) -> bool:
    """The same; `now_text` is `now` in the stored format."""
    expires = memory.expires_at
    if expires is None:
        return False
    if len(expires) == len(now_text) and expires[10] == "T" and expires[-1] == "Z":
        # The format of this service sorts as text. Each search compares thousands.
        return expires <= now_text
    return clock.parse(expires) <= now


def applied(state: State, operations: Sequence[Operation], etag: str) -> State:
    """The state after one or more further operations. `etag` is that of the last one's object."""
    memories, done = dict(state.memories), dict(state.done)
    deleted, vectors = dict(state.deleted), dict(state.vectors)
    for operation in operations:
        for part in operation.parts():
            memory_id = part.memory.memory_id
            # The newest comes last: a memory that is put again moves to the end.
            before = memories.pop(memory_id, None)
            if not before or before.content != part.memory.content:
                vectors.pop(memory_id, None)
            if part.op == "put":
                memories[memory_id] = part.memory
                deleted.pop(memory_id, None)
            else:
                deleted[memory_id] = operation.number
        if operation.vector and operation.op == "put":
            vectors[operation.memory.memory_id] = operation.vector
        done[operation.op_id] = OperationDone(number=operation.number, at=operation.at)
    last = operations[-1]
    return State(last.number, memories, done, deleted, vectors, last.op_id, etag, state.snapshot, state.has_gaps)


def to_snapshot(state: State) -> Snapshot:
    """The state as it is stored. Every writer makes the same snapshot of a state."""
    done = dict(state.done)
    if done:
        newest = max(clock.parse(repeat.at) for repeat in done.values())
        done = {name: repeat for name, repeat in done.items() if newest - clock.parse(repeat.at) <= REPEATED_WITHIN}
    return Snapshot(
        number=state.number,
        op_id=state.op_id,
        memories=list(state.memories.values()),
        done=done,
        deleted=dict(state.deleted),
    )


def from_snapshot(snapshot: Snapshot) -> State:
    """The state that a snapshot holds. Its vectors are in the file beside it."""
    return State(
        snapshot.number,
        {memory.memory_id: memory for memory in snapshot.memories},
        snapshot.done,
        snapshot.deleted,
        op_id=snapshot.op_id,
        snapshot=snapshot.number,
    )


def newest_first(memories: Iterable[Memory]) -> list[Memory]:
    """The memories, the last stored or changed first."""
    return sorted(memories, key=lambda memory: (memory.updated_at, memory.memory_id), reverse=True)
