"""Splitting a merged memory: it becomes two memories again.

The present content returns to the memory that it came from, with all later corrections.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from livemem import clock
from livemem.errors import Conflict
from livemem.memories import forgetting, log, memory_expiry, merging, operation, reading, storing_outcome
from livemem.memories.memory import Former, Memory, Provenance
from livemem.memories.operation import Also, Merged, Operation
from livemem.memories.state import State
from livemem.memories.storing_outcome import StoredMemory
from livemem.process import Process
from livemem.store.bucket import OPERATION
from livemem.store.capability_check import require_conditional_writes
from livemem.store.keys import MemoryKind

NOTHING = "The memory has no merge that can be undone."
AT_ONCE = 100
"""Operations that are read in parallel."""
_SHARED = ("category", "subjects", "expires_at")
"""Fields that a merge computes from both memories."""
_OF_CONTENT = ("content", "source", "said_at", "author", "provenance")


@dataclass(frozen=True)
class Split:
    """The memory without its last merge, and the other one, which is a memory of its own again."""

    memory: StoredMemory
    other: Memory


def split(process: Process, space_id: str, author: str, memory_id: str, *, op_id: str | None = None) -> Split:
    """Revert the last merge of a memory; the next call reverts the one before.

    1 LIST for each kind, 1 GET and 1 PUT. A merge by a version that did not record its parts takes 1 GET more for each
    later operation. A memory that has expired since lives for an hour. Raises NotFound, Conflict if no merge is left,
    Busy, MemoriesBroken.
    """
    cause = operation.op_id(op_id or f"split/{process.new_id()}")
    kind = reading.kind_of(process, space_id, memory_id, cause)
    require_conditional_writes(process.store)

    def decide(state: State) -> Operation:
        standing = state.get(memory_id, process.clock())
        merge = _last_merge(process, space_id, kind, state, standing)
        if not merge or not merge.merged:
            raise Conflict(NOTHING)
        rest, other = _apart(process, standing, merge, merge.merged)
        also = [Also(op="put", memory=other)]
        return operation.after(process, state.number, "put", cause, author, rest, also=also, split=merge.number)

    done, repeated = log.write_once(process, space_id, kind, cause, decide)
    memories = [part.memory for part in done.also if part.op == "put"]
    if done.split is None or not memories:
        # It was erased since, or another operation had the same cause.
        raise Conflict(NOTHING)
    for memory in (done.memory, memories[0]):
        memory_expiry.mark(process, space_id, memory)
    return Split(replace(storing_outcome.outcome_of(done), repeated=repeated), memories[0])


def _last_merge(process: Process, space_id: str, kind: MemoryKind, state: State, memory: Memory) -> Operation | None:
    """The operation whose merge is to be reverted, None if there is none."""
    if memory.absorbed:
        return log.operation_at(process, space_id, kind, memory.absorbed[-1].number)
    if memory.revision == 1:
        return None
    taken_back = set()
    for done in _backwards(process, space_id, kind, state, memory.memory_id):
        if done.split is not None:
            taken_back.add(done.split)
        # A merge that recorded its parts and is no longer in `absorbed` has nothing to split off.
        if done.merged and done.merged.by != "text" and not done.merged.sent and done.number not in taken_back:
            return done
    return None


def _backwards(process: Process, space_id: str, kind: MemoryKind, state: State, memory_id: str) -> Iterator[Operation]:
    """The operations of a memory, the newest first."""
    for end in range(state.number, 0, -AT_ONCE):
        numbers = range(end, max(0, end - AT_ONCE), -1)
        items = process.store.get_many([OPERATION.key(space_id, kind, number) for number in numbers])
        for done in (operation.read(process, item) for item in items if item):
            if done.memory.memory_id == memory_id:
                yield done
                if done.op == "put" and done.memory.revision == 1:
                    return


def _apart(process: Process, memory: Memory, merge: Operation, merged: Merged) -> tuple[Memory, Memory]:
    """The memory, and the one that was merged into it, after the split."""
    sent, before = _as_sent(process, merge, merged), _as_before(merge, merged)
    # Later changes belong to the content that stood.
    since = {name: getattr(memory, name) for name in _SHARED if getattr(memory, name) != getattr(merge.memory, name)}
    newer, older = _history(memory, sent, before, merged)
    now = clock.iso_millis(process.clock())
    changes = {
        **{name: getattr(before, name) for name in _SHARED},
        "updated_at": now,
        "revision": memory.revision + 1,
        "history": older,
        "absorbed": _left(memory, merge, sent),
        # The caller of the split has said that they are different.
        "similar_to": [linked_id for linked_id in memory.similar_to if linked_id != sent.memory_id],
    }
    # A draft that was merged at once has its first revision.
    own: dict[str, object] = {"revision": sent.revision + 1 if merge.also else 1, "similar_to": []}
    if merged.kept == "new":
        changes |= {name: getattr(before, name) for name in _OF_CONTENT}
        own |= {name: getattr(memory, name) for name in _OF_CONTENT} | since
        own |= {"updated_at": now, "history": [*newer, *sent.history]}
    else:
        changes |= since | {"history": [*newer, *older]}
    remainder, other = memory.model_copy(update=changes), sent.model_copy(update=own)
    return forgetting.given_time(process, remainder), forgetting.given_time(process, other)


def _left(memory: Memory, merge: Operation, sent: Memory) -> list[object]:
    """The merges that stay with the memory. Those that the other one had before return to it."""
    gone = {(merge.number, sent.memory_id), *((part.number, part.memory_id) for part in sent.absorbed)}
    return [part for part in memory.absorbed if (part.number, part.memory_id) not in gone]


def _history(memory: Memory, sent: Memory, before: Memory, merged: Merged) -> tuple[Sequence[Former], Sequence[Former]]:
    """The entries of the memory's history from after the merge, and those from before it.

    Neither has the content that the merge replaced, nor the entries of the other memory.
    """
    gave_way = merging.former(before if merged.kept == "new" else sent)
    for place, former in enumerate(memory.history):
        if (former.content, former.at) == (gave_way.content, gave_way.at):
            return memory.history[:place], memory.history[place + 1 + len(sent.history) :]
    # The history has so many later entries that it no longer holds the merge.
    return memory.history, []


def _as_sent(process: Process, merge: Operation, merged: Merged) -> Memory:
    """The merged memory, as it would stand alone. If it was not recorded, as far as it is known."""
    if merged.sent:
        return merged.sent
    memory = merge.memory
    moment = merge.at
    if merged.kept == "new":
        return memory.model_copy(
            update={
                "memory_id": process.new_id(),
                "created_at": moment,
                "updated_at": moment,
                "revision": 1,
                "history": [],
                "similar_to": [],
                "absorbed": [],
            }
        )
    latest = memory.history[0] if memory.history else Former(content=merged.former, at=moment, author=merge.author)
    return Memory(
        memory_id=process.new_id(),
        kind=memory.kind,
        category=memory.category,
        content=latest.content,
        subjects=memory.subjects,
        created_at=latest.at,
        updated_at=latest.at,
        expires_at=latest.expires_at,
        provenance=Provenance(author=latest.author),
    )


def _as_before(merge: Operation, merged: Merged) -> Memory:
    """The memory before the merge, as far as it is known."""
    if merged.before:
        return merged.before
    memory = merge.memory
    if merged.kept == "former" or not memory.history:
        return memory.model_copy(update={"content": merged.former})
    latest = memory.history[0]
    return memory.model_copy(
        update={
            "content": latest.content,
            "expires_at": latest.expires_at,
            "updated_at": latest.at,
            "source": "manual",
            "said_at": None,
            "author": None,
            "provenance": Provenance(author=latest.author),
        }
    )
