"""Erasing a memory from its log. The log keeps that it existed, when it was stored and by whom, and no word of it.

First the log is closed for it by an operation that holds none of its words. Each later writer has read that operation.
So nobody merges into the memory or restores it any more, and the operations with its words are known. Then a new
snapshot replaces the older ones. The erasure rewrites the operations themselves.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import date

from livemem import clock
from livemem.llm import embeddings
from livemem.memories import log, operation
from livemem.memories import state as states
from livemem.memories.memory import Memory, Provenance
from livemem.memories.operation import Also, Operation
from livemem.memories.state import State
from livemem.process import Process
from livemem.store import stored, vector_file
from livemem.store.bucket import MEMORY_SNAPSHOT, MEMORY_VECTORS, snapshot_of
from livemem.store.keys import MEMORY_KINDS, MemoryKind
from livemem.store.vector_file import MEDIA_TYPE, NUMBER_BYTES

ERASED = "[erased]"
"""The text that replaces an erased content, as in all other texts (erasure/scrubbing.py)."""
_REASON = re.compile(r"Erased on [0-9]{4}-[0-9]{2}-[0-9]{2}\.")


def blank(operation: Operation, reason: str, memory_ids: Collection[str] | None = None) -> Operation:
    """The operation without the words of these memories; by default of the memory that it is of.

    For that memory it becomes a deletion, so a reader of the log up to it finds no memory. The operation keeps its
    number, its cause and what it did to other memories.
    """
    ids = {operation.memory.memory_id} if memory_ids is None else memory_ids
    also = [
        Also(op="delete", memory=_blank(part.memory)) if part.memory.memory_id in ids else part
        for part in operation.also
    ]
    if operation.memory.memory_id not in ids:
        return operation.model_copy(update={"also": also})
    return Operation(
        number=operation.number,
        op="delete",
        op_id=operation.op_id,
        at=operation.at,
        author=operation.author,
        memory=_blank(operation.memory),
        also=also,
        reason=reason,
    )


def _blank(memory: Memory) -> Memory:
    return Memory(
        memory_id=memory.memory_id,
        kind=memory.kind,
        content="",
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        source=memory.source,
        provenance=Provenance(author=memory.provenance.author),
        revision=memory.revision,
    )


def without(operation: Operation, memory_ids: Collection[str], texts: Collection[str]) -> Operation:
    """The operation without the texts of these memories in others, into which they had been merged.

    The texts that the others have since a split are in later operations.
    """
    memory, merged = cleaned(operation.memory, memory_ids, texts), operation.merged
    if merged:
        sent = merged.sent if merged.sent and merged.sent.memory_id not in memory_ids else None
        changes: dict[str, object] = {"sent": cleaned(sent, memory_ids, texts) if sent else None}
        if merged.sent and not sent and merged.former in texts:
            changes |= {"former": ERASED, "before": None}
        # An operation that brought their words holds them a second time.
        if not sent and merged.sent:
            memory = _cleaned(memory, texts)
        merged = merged.model_copy(update=changes)
    return operation.model_copy(
        update={
            "memory": memory,
            "merged": merged,
            "also": [Also(op=part.op, memory=cleaned(part.memory, memory_ids, texts)) for part in operation.also],
            "vector": operation.vector if memory.content == operation.memory.content else None,
        }
    )


def cleaned(memory: Memory, memory_ids: Collection[str], texts: Collection[str]) -> Memory:
    """Another memory without the texts of these, if they were merged into it."""
    if not any(part.memory_id in memory_ids for part in memory.absorbed):
        return memory
    return _cleaned(memory, texts)


def _cleaned(memory: Memory, texts: Collection[str]) -> Memory:
    return memory.model_copy(
        update={
            "content": ERASED if memory.content in texts else memory.content,
            "history": [former for former in memory.history if former.content not in texts],
        }
    )


def reason_of(day: date) -> str:
    """The reason in the log for a memory that was erased on this day."""
    return f"Erased on {day.isoformat()}."


def is_blank(operation: Operation, memory_id: str) -> bool:
    """Whether the operation holds no word of this memory."""
    if operation.memory.memory_id != memory_id:
        part = operation.part(memory_id)
        return part is not None and part.op == "delete" and part.memory == _blank(part.memory)
    return bool(operation.reason and _REASON.fullmatch(operation.reason)) and operation == blank(
        operation, operation.reason or ""
    )


def texts(operation: Operation, memory_id: str) -> list[str]:
    """All texts that a memory has had up to this operation."""
    part = operation.part(memory_id)
    texts = [part.memory.content, *(former.content for former in part.memory.history)] if part else []
    if operation.merged and operation.memory.memory_id == memory_id:
        texts.append(operation.merged.former)
        for memory in (operation.merged.sent, operation.merged.before):
            texts += [memory.content, *(former.content for former in memory.history)] if memory else []
    return list(dict.fromkeys(text for text in texts if text))


def joined(process: Process, space_id: str, memory_ids: Collection[str]) -> frozenset[str]:
    """The ids of the memories, of those merged into them, and of those into which they were merged.

    1 LIST for each kind, 1 GET for each memory that no longer exists. Raises MemoriesBroken.
    """
    family = set(memory_ids)
    for kind in MEMORY_KINDS if memory_ids else ():
        state = log.load(process, space_id, kind, complete=True)
        todo = sorted(memory_ids)
        while todo:
            rest = _one_with(process, space_id, kind, state, todo.pop()) - family
            family |= rest
            todo += sorted(rest)
    return frozenset(family)


def _one_with(process: Process, space_id: str, kind: MemoryKind, state: State, memory_id: str) -> set[str]:
    memory = state.memories.get(memory_id)
    number = state.deleted.get(memory_id)
    if not memory and number is not None:
        gone = log.operation_at(process, space_id, kind, number)
        if gone.memory.memory_id != memory_id:
            return {gone.memory.memory_id}
        memory = gone.memory
    return {part.memory_id for part in memory.absorbed if part.stood} if memory else set()


def known(process: Process, space_id: str, memory_ids: Collection[str]) -> set[str]:
    """Those of the memories that exist or existed: 1 LIST for each kind. Raises MemoriesBroken."""
    result: set[str] = set()
    for kind in MEMORY_KINDS if memory_ids else ():
        state = log.load(process, space_id, kind, complete=True)
        result |= {memory_id for memory_id in memory_ids if memory_id in state.memories or memory_id in state.deleted}
    return result


def close(process: Process, space_id: str, author: str, memory_ids: Collection[str], day: date) -> Iterator[str]:
    """Close the log for memories, also deleted ones, and yield each id then: 1 LIST for each kind; for each memory 1
    LIST and 1 PUT, or 1 GET if it is closed already.

    Nothing is done if the space has no such memory. Raises Busy, MemoriesBroken, StoreUnavailable.
    """
    for kind in MEMORY_KINDS if memory_ids else ():
        state = log.load(process, space_id, kind, complete=True)
        for memory_id in sorted(memory_ids):
            if not _last(process, space_id, kind, state, memory_id):
                continue

            def decide(state: State, kind: MemoryKind = kind, memory_id: str = memory_id) -> Operation | None:
                memory = _last(process, space_id, kind, state, memory_id)
                if not memory:
                    return None
                now, number = clock.iso_millis(process.clock()), state.number + 1
                cause = operation.op_id(f"erase/{memory_id}/{number}")
                last = Operation(number=number, op="delete", op_id=cause, at=now, author=author, memory=memory)
                return blank(last, reason_of(day))

            log.write(process, space_id, kind, decide, complete=True)
            yield memory_id


def _last(process: Process, space_id: str, kind: MemoryKind, state: State, memory_id: str) -> Memory | None:
    """The memory as it stands, or as it was deleted; None if there is none, or the log is closed for it."""
    memory = state.memories.get(memory_id)
    number = state.deleted.get(memory_id)
    if memory or number is None:
        return memory
    gone = log.operation_at(process, space_id, kind, number)
    part = gone.part(memory_id)
    return None if not part or is_blank(gone, memory_id) else part.memory


def renew_snapshots(process: Process, space_id: str, memory_ids: Collection[str]) -> None:
    """Replace the snapshots and vectors that are older than the last closing of the log for one of the memories.

    1 LIST for each kind; for each kind of the memories 1 LIST more and, if there are old ones, 1 GET, 2 PUTs and 1
    DeleteObjects. A second call, after the last possible late write, removes the objects of late writes.
    """
    for kind in MEMORY_KINDS if memory_ids else ():
        state = log.load(process, space_id, kind, complete=True)
        closed = max((state.deleted.get(memory_id, 0) for memory_id in memory_ids), default=0)
        if not closed:
            continue
        snapshot_keys = [entry.key for entry in process.store.scan(MEMORY_SNAPSHOT.prefix(space_id, kind))]
        snapshots = {number for key in snapshot_keys if (number := MEMORY_SNAPSHOT.last(key)) is not None}
        old = [key for key in snapshot_keys if (parsed := snapshot_of(key)) and parsed.number < closed]
        if not old:
            continue
        if snapshots and max(snapshots) < closed:
            _keep(process, space_id, kind, state, old)
        process.store.delete_many(old)


def _keep(process: Process, space_id: str, kind: MemoryKind, state: State, old: Iterable[str]) -> None:
    """Store the vectors of the present model for the memories of the state, and then the state."""
    model = embeddings.name(process.settings)
    vectors_by_text: dict[bytes, bytes] = {}
    for key in old:
        if MEMORY_VECTORS.last(key) == model:
            item = process.store.get(key)
            with suppress(ValueError):
                vectors_by_text |= vector_file.read(item.body) if item else {}
    prefix = process.settings.embeddings_text_prefix
    vectors: dict[bytes, bytes] = {}
    for memory in state.memories.values():
        name, own = vector_file.name_of(memory.content, prefix), state.vectors.get(memory.memory_id)
        with suppress(ValueError):
            if own and own.model == model:
                vectors[name] = own.halves()
            elif name in vectors_by_text:
                vectors[name] = vectors_by_text[name]
    if vectors:
        with suppress(ValueError):
            process.store.put(
                MEMORY_VECTORS.key(space_id, kind, state.number, model),
                vector_file.write(vectors, len(next(iter(vectors.values()))) // NUMBER_BYTES),
                content_type=MEDIA_TYPE,
            )
    stored.write_if(
        process.store, MEMORY_SNAPSHOT.key(space_id, kind, state.number), states.to_snapshot(state).to_bytes()
    )
