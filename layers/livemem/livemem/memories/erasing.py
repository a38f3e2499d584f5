"""What erasing a memory leaves of it in its log: that there was one, when it was stored and by whom, and no word of it.

First the log is closed for it by an operation that holds none of its words. Whoever writes after that has seen it, so
from then on nobody merges anything into the memory, and nobody brings it back: which operations hold its words is
settled. Then snapshots of before are replaced by one of after. The operations themselves are rewritten by the erasure.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import date

from livemem import clock
from livemem.errors import PreconditionLost
from livemem.llm import embeddings
from livemem.memories import log, operation, rows
from livemem.memories import state as states
from livemem.memories.memory import Memory, Provenance
from livemem.memories.operation import Operation
from livemem.memories.state import State
from livemem.process import Process
from livemem.store import documents
from livemem.store import memory_keys as keys
from livemem.store.memory_keys import KINDS, Kind

_REASON = re.compile(r"Erased on [0-9]{4}-[0-9]{2}-[0-9]{2}\.")


def blank(one: Operation, reason: str) -> Operation:
    """The operation without anything that its memory said: a deletion, so that who reads the log up to it finds none.

    What is known of it by its number and its cause stays.
    """
    memory = one.memory
    return Operation(
        number=one.number,
        op="delete",
        op_id=one.op_id,
        at=one.at,
        author=one.author,
        memory=Memory(
            memory_id=memory.memory_id,
            kind=memory.kind,
            content="",
            created_at=memory.created_at,
            updated_at=memory.updated_at,
            source=memory.source,
            provenance=Provenance(author=memory.provenance.author),
            revision=memory.revision,
        ),
        reason=reason,
    )


def reason_of(day: date) -> str:
    """Why a memory is gone that was erased on this day."""
    return f"Erased on {day.isoformat()}."


def is_blank(one: Operation) -> bool:
    """Whether nothing is left in it of what its memory said."""
    return bool(one.reason and _REASON.fullmatch(one.reason)) and one == blank(one, one.reason or "")


def texts(one: Operation) -> list[str]:
    """All that the memory has said up to this operation."""
    found = [one.memory.content, *(former.content for former in one.memory.history)]
    if one.merged:
        found.append(one.merged.former)
    return list(dict.fromkeys(text for text in found if text))


def is_known(process: Process, space_id: str, memory_id: str) -> bool:
    """Whether there is such a memory, or was: 1 LIST for each kind. Raises MemoriesBroken."""
    found = [log.load(process, space_id, kind) for kind in KINDS]
    return any(memory_id in state.memories or memory_id in state.deleted for state in found)


def close(process: Process, space_id: str, author: str, memory_id: str, day: date) -> None:
    """Close the log for a memory, also for one that was deleted: 1 LIST for each kind, 1 PUT; 1 GET where it is closed.

    Nothing is done where the space has no such memory. Raises Busy, MemoriesBroken, StoreUnavailable.
    """
    for kind in KINDS:

        def decide(found: State, kind: Kind = kind) -> Operation | None:
            there = _last(process, space_id, kind, found, memory_id)
            if not there:
                return None
            now, number = clock.iso_millis(process.clock()), found.number + 1
            cause = operation.op_id(f"erase/{memory_id}/{number}")
            last = Operation(number=number, op="delete", op_id=cause, at=now, author=author, memory=there)
            return blank(last, reason_of(day))

        log.write(process, space_id, kind, decide)


def _last(process: Process, space_id: str, kind: Kind, found: State, memory_id: str) -> Memory | None:
    """The memory as it stands or was deleted; None where there is none, or the log is closed for it."""
    there = found.memories.get(memory_id)
    number = found.deleted.get(memory_id)
    if there or number is None:
        return there
    gone = log.operation_at(process, space_id, kind, number)
    return None if is_blank(gone) else gone.memory


def renew_snapshots(process: Process, space_id: str, memory_id: str) -> None:
    """Replace the snapshots, and the vectors beside them, that are older than the end of a memory for which the log is
    closed: 1 LIST for each kind; of its own 1 LIST more and, where there are some, 1 GET, 2 PUTs and 1 DeleteObjects.

    Again when no request of before can come late any more, it removes what one has brought back.
    """
    for kind in KINDS:
        found = log.load(process, space_id, kind)
        closed = found.deleted.get(memory_id)
        if closed is None:
            continue
        listed = [entry.key for entry in process.store.scan(keys.snapshots_prefix(space_id, kind))]
        snapshots = {one.number for key in listed if (one := keys.parse_snapshot(key))}
        old = [key for key in listed if (one := _named(key)) and one.number < closed]
        if not old:
            continue
        if snapshots and max(snapshots) < closed:
            _keep(process, space_id, kind, found, old)
        process.store.delete_many(old)


def _named(key: str) -> keys.OperationKey | None:
    return keys.parse_snapshot(key) or keys.parse_vectors(key)


def _keep(process: Process, space_id: str, kind: Kind, state: State, old: Iterable[str]) -> None:
    """Store the state, and before it the vectors of its memories, as far as there are any of the present model."""
    model = embeddings.name(process.settings)
    there: dict[bytes, bytes] = {}
    for key in old:
        if (one := keys.parse_vectors(key)) and key == keys.vectors(space_id, kind, one.number, model):
            item = process.store.get(key)
            with suppress(ValueError):
                there |= rows.read(item.body) if item else {}
    prefix = process.settings.embeddings_text_prefix
    vectors: dict[bytes, bytes] = {}
    for memory in state.memories.values():
        name, own = rows.name_of(memory.content, prefix), state.vectors.get(memory.memory_id)
        with suppress(ValueError):
            if own and own.model == model:
                vectors[name] = own.halves()
            elif name in there:
                vectors[name] = there[name]
    if vectors:
        with suppress(ValueError):
            process.store.put(
                keys.vectors(space_id, kind, state.number, model),
                rows.write(vectors),
                content_type="application/octet-stream",
            )
    with suppress(PreconditionLost):
        process.store.put(
            keys.snapshot(space_id, kind, state.number),
            states.to_snapshot(state).to_bytes(),
            if_none_match=True,
            content_type=documents.JSON,
        )
