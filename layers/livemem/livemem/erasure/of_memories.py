"""What becomes of the objects of memories, and of the facts that a digest took from rooms, when notes or memories are
erased. Bytes in, bytes out.

Operations of an erased memory stay without its words, so that the log has no gap. The words of other memories stay.
"""

from collections.abc import Iterable, Mapping

from livemem.erasure import scrubbing
from livemem.erasure.scrubbing import ErasureTask, Fate, read
from livemem.memories import erasing
from livemem.memories.memory import Memory
from livemem.memories.operation import Operation
from livemem.memories.state import Snapshot
from livemem.rooms.digest_documents import Extract, ExtractedFact
from livemem.store import vector_file
from livemem.store.bucket import EXTRACT, MEMORY_SNAPSHOT, MEMORY_VECTORS, OPERATION


def held_in(name: str, body: bytes) -> Mapping[str, bytes | None] | None:
    """The memories that an operation is of: its bytes by their ids, None where they have no words of one; None for
    every other object.
    """
    parsed = read(Operation, body) if OPERATION.parse(f"x/{name}") else None
    if not parsed:
        return None
    ids = [part.memory.memory_id for part in parsed.parts()]
    return {memory_id: None if erasing.is_blank(parsed, memory_id) else body for memory_id in ids}


def contents_of(memory_id: str, body: bytes) -> list[str]:
    """All that a memory has said up to an operation."""
    return erasing.texts(Operation.from_bytes(body), memory_id)


def fate(name: str, body: bytes, task: ErasureTask) -> Fate | None:
    """The object's fate. None for one that is not of memories, or can't be read."""
    if MEMORY_VECTORS.parse(f"x/{name}"):
        return Fate(_vectors_without(body, task))
    parsed = read(Operation, body) if OPERATION.parse(f"x/{name}") else None
    if parsed:
        return _of_operation(parsed, body, task)
    known = read(Snapshot, body) if MEMORY_SNAPSHOT.parse(f"x/{name}") else None
    return _of_snapshot(known, body, task) if known else None


def _of_operation(operation: Operation, body: bytes, task: ErasureTask) -> Fate:
    ids = {part.memory.memory_id for part in operation.parts()}
    doomed = {one_id for one_id in ids & task.ids - task.kept if not erasing.is_blank(operation, one_id)}
    wanted = erasing.blank(operation, erasing.reason_of(task.day), doomed) if doomed else operation
    if task.texts and operation.memory.memory_id not in task.ids:
        wanted = erasing.without(wanted, task.ids, task.texts)
    quoting = {one_id for one_id in ids - task.ids if _quote(erasing.texts(wanted, one_id), task)}
    return Fate(body if wanted == operation else wanted.to_bytes(), frozenset(quoting))


def _of_snapshot(snapshot: Snapshot, body: bytes, task: ErasureTask) -> Fate:
    rest = [
        erasing.cleaned(memory, task.ids, task.texts)
        for memory in snapshot.memories
        if memory.memory_id not in task.ids
    ]
    quoting = frozenset(memory.memory_id for memory in rest if _quote(_texts(memory), task))
    if rest == snapshot.memories:
        return Fate(body, quoting)
    return Fate(snapshot.model_copy(update={"memories": rest}).to_bytes(), quoting)


def _vectors_without(body: bytes, task: ErasureTask) -> bytes:
    if not task.vectors:
        return body
    try:
        shape, existing = vector_file.shape_of(body), vector_file.read(body)
        by_name = {name: row for name, row in existing.items() if name not in task.vectors}
        return body if len(by_name) == len(existing) else vector_file.write(by_name, shape.dimensions)
    except ValueError:
        return body


def _texts(memory: Memory) -> list[str]:
    return [memory.content, *(former.content for former in memory.history)]


def _quote(texts: Iterable[str], task: ErasureTask) -> bool:
    return any(scrubbing.occurs(text, task.pieces) for text in texts)


def fate_of_extract(name: str, body: bytes, task: ErasureTask) -> Fate | None:
    """The fate of an extract. None for every other object, and for an extract without any erased text.

    The subjects of a fact go with its text: a name alone is too short to be looked for.
    """
    extract = read(Extract, body) if EXTRACT.parse(f"x/{name}") else None
    if not extract:
        return None
    facts = [_scrubbed(fact, task) for fact in extract.facts]
    return Fate(extract.model_copy(update={"facts": facts}).to_bytes()) if facts != extract.facts else None


def _scrubbed(fact: ExtractedFact, task: ErasureTask) -> ExtractedFact:
    whole = fact.content.strip() in task.texts
    content = scrubbing.ERASED if whole else scrubbing.scrub(fact.content, task.pieces)
    if content == fact.content:
        return fact
    return fact.model_copy(update={"content": content, "subjects": [], "category": None})
