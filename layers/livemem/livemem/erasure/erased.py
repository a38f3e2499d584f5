"""The new bytes of each object of a space, or of a backup of it, when notes, memories or turns are erased. Bytes in,
bytes out.

A note that a record holds stays as a stub, so that history and undo go on; its words are taken out wherever else they
are quoted (scrubbing.py). What other people wrote, notes of other ids, is not touched. Operations of an erased memory
stay without its words, so that the log has no gap.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from livemem.changes.records import NoteSource
from livemem.erasure import of_conversations, scrubbing
from livemem.erasure.scrubbing import ErasureTask, Fate, Pieces, read
from livemem.errors import InvalidName
from livemem.memories import erasing
from livemem.memories.memory import Memory
from livemem.memories.operation import Operation
from livemem.memories.state import Snapshot
from livemem.notes import note as notes
from livemem.notes.note import CapturedFrom
from livemem.notes.stub import is_stub, stub
from livemem.rooms.digest_documents import Extract, ExtractedFact
from livemem.store import keys, stored_documents, vector_file
from livemem.store.bucket import EXTRACT, MEMORY_SNAPSHOT, MEMORY_VECTORS, NOTE, OPERATION, TURN_ID, is_plan

MOST_TURNS = 100_000
"""Of a block: its window has at most so many characters."""


def contents_of(item: str, body: bytes) -> list[str]:
    """The texts of a note's object, of an operation of a memory, or of a turn, by the id of either."""
    if TURN_ID.parse(item):
        return of_conversations.contents_of(item, body)
    if keys.RUN_ID.fullmatch(item):
        return _operation_contents(item, body)
    return [notes.parse_note("", keys.parse_note_id(item), body).content]


def turns_of(note_id: str, body: bytes) -> Iterator[str]:
    """The ids of the turns that a note was captured from. None for an object that is no note or that somebody wrote."""
    try:
        source = notes.parse_note("", keys.parse_note_id(note_id), body).source
    except InvalidName:
        return
    if isinstance(source, CapturedFrom):
        first, last = source.turns
        # A block has few: somebody who writes otherwise into the bucket can't make this long.
        for index in range(first, min(last, first + MOST_TURNS) + 1):
            yield TURN_ID.key(source.conversation, index)


def held_in(name: str, body: bytes) -> Mapping[str, bytes | None]:
    """The notes that a record, a plan or a live note's object holds, or the memory that an operation, or the turn that
    an object of a conversation is of: their bytes by id, None for a stub.
    """
    own = _operation_held(name, body)
    if own is None:
        own = of_conversations.held_in(name, body)
    if own is not None:
        return own
    live = NOTE.last(f"x/{name}")
    if live:
        return {live: _unless_stub(live, body)}
    result: dict[str, bytes | None] = {}
    for source in _sources(_json(body)):
        note = _source(source)
        if note:
            result[note.note_id] = _unless_stub(note.note_id, note.body())
    return result


def _unless_stub(note_id: str, body: bytes) -> bytes | None:
    return None if is_stub(note_id, body) else body


def claimed_note(body: bytes) -> str | None:
    """The note that an Idempotency-Key's object names."""
    parsed = _json(body)
    return str(parsed.get("note_id")) if isinstance(parsed, dict) else None


def _of_name(name: str, body: bytes, task: ErasureTask) -> Fate | None:
    """The fate of an object that names a note or a memory, so that a repeated request would bring it back. None for
    every other object.
    """
    if name.startswith("_idempotency/"):
        return Fate(None if claimed_note(body) in task.ids else body)
    return None


def fate(name: str, body: bytes, task: ErasureTask) -> Fate:
    """What becomes of the object of this name below the space."""
    live = NOTE.last(f"x/{name}")
    if live:
        return _of_live(live, body, task)
    own = _fate_of_memories(name, body, task) or of_conversations.fate(name, body, task)
    own = own or _fate_of_extract(name, body, task) or _of_name(name, body, task)
    if own:
        return own
    if is_plan(name) and not task.pieces.all:
        # Whether it quotes the note can't be told any more, and nobody will commit it.
        return Fate(None)
    parsed = _json(body) if name.endswith(".json") else None
    if parsed is None:
        return Fate(_scrubbed(body, task.pieces))
    quoting: set[str] = set()
    try:
        rewritten = _document(parsed, task, quoting)
    except RecursionError:
        return Fate(_scrubbed(body, task.pieces))
    changed = rewritten != parsed
    if changed and is_plan(name):
        # Nobody will commit it: a swap of the head has shut out the worker that could have.
        return Fate(None, frozenset(quoting))
    return Fate(_dump(rewritten) if changed else body, frozenset(quoting))


def _of_live(note_id: str, body: bytes, task: ErasureTask) -> Fate:
    if note_id not in task.ids:
        quotes = scrubbing.occurs(_text(body), task.pieces)
        return Fate(body, frozenset({note_id} if quotes else ()))
    if note_id in task.kept:
        return Fate(body)
    if note_id not in task.held:
        return Fate(None)
    return Fate(body if is_stub(note_id, body) else stub(task.space_id, note_id, task.day))


def _document(parsed: Any, task: ErasureTask, quoting: set[str]) -> Any:
    """A JSON document with all its texts scrubbed; in a record, or a plan, the notes are stubbed."""
    if not isinstance(parsed, dict) or not _sources(parsed):
        return _walk(parsed, task)
    sources = [_of_source(source, task, quoting) for source in parsed["notes"]]
    walked = {name: sources if name == "notes" else _walk(value, task) for name, value in parsed.items()}
    return {scrubbing.scrub(name, task.pieces): value for name, value in walked.items()}


def _of_source(source: Any, task: ErasureTask, quoting: set[str]) -> Any:
    note = _source(source)
    if not note:
        return _walk(source, task)
    if note.note_id not in task.ids:
        if scrubbing.occurs(_text(note.body()), task.pieces):
            quoting.add(note.note_id)
        return source
    if note.note_id in task.kept or is_stub(note.note_id, note.body()):
        return source
    return {**source, **NoteSource.of(note.note_id, stub(task.space_id, note.note_id, task.day)).model_dump()}


def _sources(parsed: Any) -> list[Any]:
    result = parsed.get("notes") if isinstance(parsed, dict) else None
    return result if isinstance(result, list) and any(_source(item) for item in result) else []


def _source(item: Any) -> NoteSource | None:
    if not isinstance(item, dict) or "raw" not in item:
        return None
    try:
        source = NoteSource.model_validate(item)
        keys.parse_note_id(source.note_id)
        source.body()
    except (ValueError, InvalidName):
        return None
    return source


def _walk(value: Any, task: ErasureTask) -> Any:
    """A JSON value with each text in it scrubbed, names of fields too."""
    if isinstance(value, str):
        return scrubbing.scrub(value, task.pieces)
    if isinstance(value, list):
        return [_walk(item, task) for item in value]
    if isinstance(value, dict):
        walked = {scrubbing.scrub(name, task.pieces): _walk(item, task) for name, item in value.items()}
        return {**walked, **_blanked(value, task)}
    return value


def _blanked(value: Mapping[str, Any], task: ErasureTask) -> dict[str, str]:
    """The fields of a warning that name words of an erased note: single words, which no piece has."""
    note = value.get("note")
    if not isinstance(note, str) or note not in task.ids or "kind" not in value:
        return {}
    return {name: scrubbing.ERASED for name in ("text", "word") if value.get(name)}


def _json(body: bytes) -> Any:
    """The JSON value, or None."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _dump(value: Any) -> bytes:
    try:
        return stored_documents.dump(value)
    except UnicodeEncodeError:
        # Half a surrogate pair, which JSON can say and UTF-8 can't.
        return (json.dumps(value, indent=2) + "\n").encode()


def _scrubbed(body: bytes, pieces: Pieces) -> bytes:
    text = _text(body)
    scrubbed = scrubbing.scrub(text, pieces)
    return body if scrubbed == text else scrubbed.encode(errors="surrogateescape")


def _text(body: bytes) -> str:
    # Bytes that are no UTF-8 come out again as they went in.
    return body.decode(errors="surrogateescape")


def _operation_held(name: str, body: bytes) -> Mapping[str, bytes | None] | None:
    """The memories that an operation is of: its bytes by their ids, None where they have no words of one; None for
    every other object.
    """
    parsed = read(Operation, body) if OPERATION.parse(f"x/{name}") else None
    if not parsed:
        return None
    ids = [part.memory.memory_id for part in parsed.parts()]
    return {memory_id: None if erasing.is_blank(parsed, memory_id) else body for memory_id in ids}


def _operation_contents(memory_id: str, body: bytes) -> list[str]:
    """All that a memory has said up to an operation."""
    return erasing.texts(Operation.from_bytes(body), memory_id)


def _fate_of_memories(name: str, body: bytes, task: ErasureTask) -> Fate | None:
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
    rewritten = erasing.blank(operation, erasing.reason_of(task.day), doomed) if doomed else operation
    if task.texts and operation.memory.memory_id not in task.ids:
        rewritten = erasing.without(rewritten, task.ids, task.texts)
    quoting = {one_id for one_id in ids - task.ids if _quote(erasing.texts(rewritten, one_id), task)}
    return Fate(body if rewritten == operation else rewritten.to_bytes(), frozenset(quoting))


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


def _fate_of_extract(name: str, body: bytes, task: ErasureTask) -> Fate | None:
    """The fate of an extract. None for every other object, and for an extract without any erased text.

    The subjects of a fact go with its text: a name alone is too short to be looked for.
    """
    extract = read(Extract, body) if EXTRACT.parse(f"x/{name}") else None
    if not extract:
        return None
    facts = [_scrubbed_fact(fact, task) for fact in extract.facts]
    return Fate(extract.model_copy(update={"facts": facts}).to_bytes()) if facts != extract.facts else None


def _scrubbed_fact(fact: ExtractedFact, task: ErasureTask) -> ExtractedFact:
    whole = fact.content.strip() in task.texts
    content = scrubbing.ERASED if whole else scrubbing.scrub(fact.content, task.pieces)
    if content == fact.content:
        return fact
    return fact.model_copy(update={"content": content, "subjects": [], "category": None})
