"""Splitting a merged memory: it becomes two memories again.

The present content returns to the memory that it came from, with all later corrections.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from livemem import clock
from livemem.errors import Conflict
from livemem.memories import forgetting, log, memory_expiry, merging, operation, reading, storing_outcome
from livemem.memories.memory import Former, Memory
from livemem.memories.operation import Also, Merged, Operation
from livemem.memories.state import State
from livemem.memories.storing_outcome import StoredMemory
from livemem.process import Process
from livemem.store.capability_check import require_conditional_writes

NOTHING = "The memory has no merge that can be undone."
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

    1 LIST for each kind, 1 GET and 1 PUT. A memory that has expired since lives for an hour. Raises NotFound, Conflict
    if no merge is left, Busy, MemoriesBroken.
    """
    cause = operation.op_id(op_id or f"split/{process.new_id()}")
    kind = reading.kind_of(process, space_id, memory_id, cause)
    require_conditional_writes(process.store)

    def decide(state: State) -> Operation:
        standing = state.get(memory_id, process.clock())
        if not standing.absorbed:
            raise Conflict(NOTHING)
        merge = log.operation_at(process, space_id, kind, standing.absorbed[-1].number)
        if not merge.merged or not merge.merged.sent or not merge.merged.before:
            # Its words were erased.
            raise Conflict(NOTHING)
        rest, other = _apart(process, standing, merge, merge.merged, merge.merged.sent, merge.merged.before)
        also = [Also(op="put", memory=other)]
        return operation.after(process, state.number, "put", cause, author, rest, also=also, split=merge.number)

    done, repeated = log.write_once(process, space_id, kind, cause, decide, complete=True)
    memories = [part.memory for part in done.also if part.op == "put"]
    if done.split is None or not memories:
        # It was erased since, or another operation had the same cause.
        raise Conflict(NOTHING)
    for memory in (done.memory, memories[0]):
        memory_expiry.mark(process, space_id, memory)
    return Split(replace(storing_outcome.outcome_of(done), repeated=repeated), memories[0])


def _apart(
    process: Process, memory: Memory, merge: Operation, merged: Merged, sent: Memory, before: Memory
) -> tuple[Memory, Memory]:
    """The memory, and the one that was merged into it, after the split."""
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
