"""The documents of memories: each in the state of the newest operation of its kind's log (memories/log.py)."""

from collections.abc import Iterable

from livemem import clock
from livemem.errors import MemoriesBroken
from livemem.memories import operation as operations
from livemem.memories.memory import Memory
from livemem.process import Process
from livemem.search.documents import MEMORY, Document, Reading, storable
from livemem.search.view import DocumentSource, SearchView, Tail, held
from livemem.store import memory_keys as keys
from livemem.store.memory_keys import KINDS
from livemem.store.objects import Object

VERIFIED_AT = "verified_at"
"""In `more` of a memory: its last confirmation, where that is not its time."""


def all_of(process: Process, space_id: str, *, whole: bool = False) -> DocumentSource:
    """The source of the documents of all memories of a space: 3 LISTs, and 1 GET for each new operation. Once a minute
    1 LIST per 1,000 operations instead.

    Each store, correction, deletion or expiry is a new operation, behind the last one. An erasure ends with such an
    operation too. The operations that it rewrites are seen within the minute, or at once if the `whole` log is listed.
    """
    prefix = keys.prefix(space_id)
    return DocumentSource(
        prefix,
        held(lambda key: keys.parse_operation(key) is not None),
        lambda item: _read(process, item),
        lambda: list(process.store.scan(prefix)),
        takes_away=True,
        tails=None if whole else lambda known: _tails(space_id, known),
    )


def _tails(space_id: str, folders: Iterable[str]) -> list[Tail]:
    batch = list(folders)
    prefixes = [keys.log_prefix(space_id, kind) for kind in KINDS]
    return [(prefix, max((key for key in batch if key.startswith(prefix)), default="")) for prefix in prefixes]


def rewritten(process: Process, view: SearchView, space_id: str) -> bool:
    """Whether an operation that the view knows was rewritten or removed: 1 LIST per 1,000, none if it knows none."""
    prefix = keys.prefix(space_id)
    known = view.known.get(prefix)
    if not known:
        return False
    entries = {entry.key: entry.etag for entry in process.store.scan(prefix)}
    return any(entries.get(key) != mark for key, mark in known.items())


def count(view: SearchView) -> int:
    """How many operations the view knows."""
    return sum(len(marks) for folder, marks in view.known.items() if keys.is_of_memories(folder.partition("/")[2]))


def verified_at(document: Document) -> str:
    """When a memory was last confirmed."""
    return str(document.more.get(VERIFIED_AT) or document.time)


def _read(process: Process, item: Object) -> Reading:
    """The documents of an operation; none of one that can't be read."""
    parsed = keys.parse_operation(item.key)
    assert parsed
    try:
        told = operations.read(process, item)
    except MemoriesBroken:
        # The routes that need the operation report it. A search continues without it.
        return Reading(item.key, item.etag)
    standing = [part.memory for part in told.parts() if part.op == "put" and part.memory.content]
    # Of an erased operation only its existence remains.
    gone = {part.memory.memory_id for part in told.parts()} - {memory.memory_id for memory in standing}
    documents = tuple(_of_memory(memory) for memory in standing)
    return Reading(item.key, item.etag, documents, parsed.number, tuple(sorted(gone)))


def _of_memory(memory: Memory) -> Document:
    expires = clock.iso_millis(clock.parse(memory.expires_at)) if memory.expires_at else ""
    return Document(
        id=memory.memory_id,
        kind=MEMORY,
        text=storable(memory.content),
        # A fact stands for itself: facts stored before or after it are no neighbours.
        group=f"memories/{memory.memory_id}",
        position="",
        time=clock.iso(clock.parse(memory.moment)),
        expires=expires,
        author=storable(memory.speaker),
        category=storable(memory.category or ""),
        tags=tuple(storable(subject) for subject in memory.subjects),
        source={"memory_id": memory.memory_id, "kind": memory.kind},
        more={
            **({"expires_at": memory.expires_at} if memory.expires_at else {}),
            **({"written_by": memory.provenance.author} if memory.said_by != memory.speaker else {}),
            # Of one that was said before it was stored, its last storing confirms it.
            **({VERIFIED_AT: clock.iso(clock.parse(memory.updated_at))} if memory.said_at else {}),
        },
    )
