"""The new bytes of each object of a space, or of a backup of it, when notes, memories or turns are erased. Bytes in,
bytes out.

A note that a record holds stays as a stub, so that history and undo go on; its words are taken out wherever else they
are quoted (scrubbing.py). What other people wrote, notes of other ids, is not touched.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from livemem.changes.records import NoteSource
from livemem.erasure import of_conversations, of_memories, scrubbing
from livemem.erasure.scrubbing import ErasureTask, Fate, Pieces
from livemem.errors import InvalidName
from livemem.notes import note as notes
from livemem.notes.note import CapturedFrom
from livemem.notes.stub import is_stub, stub
from livemem.store import keys, stored_documents
from livemem.store.bucket import NOTE, TURN_ID, is_plan

MOST_TURNS = 100_000
"""Of a block: its window has at most so many characters."""

_LINE_BREAK = "\ue000\n"
"""In the place of JSON's escape of a line break while a document is looked through as text: a character that no word
has, to know it again.
"""
_ESCAPES = re.compile(r"""(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))+""")
"""As many as stand together: two may be one character."""


def contents_of(item: str, body: bytes) -> list[str]:
    """The texts of a note's object, of an operation of a memory, or of a turn, by the id of either."""
    if TURN_ID.parse(item):
        return of_conversations.contents_of(item, body)
    if keys.RUN_ID.fullmatch(item):
        return of_memories.contents_of(item, body)
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
    own = of_memories.held_in(name, body)
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
    own = of_memories.fate(name, body, task) or of_conversations.fate(name, body, task)
    own = own or of_memories.fate_of_extract(name, body, task) or _of_name(name, body, task)
    if own:
        return own
    if is_plan(name) and not task.pieces.all:
        # Whether it quotes the note can't be told any more, and nobody will commit it.
        return Fate(None)
    parsed = _json(body) if name.endswith(".json") else None
    if parsed is None:
        return Fate((_debris if name.endswith((".json", ".object")) else _scrubbed)(body, task.pieces))
    quoting: set[str] = set()
    try:
        wanted = _document(parsed, task, quoting)
    except RecursionError:
        return Fate(_scrubbed(body, task.pieces))
    changed = wanted != parsed
    if changed and is_plan(name):
        # Nobody will commit it: a swap of the head has shut out the worker that could have.
        return Fate(None, frozenset(quoting))
    return Fate(_dump(wanted) if changed else body, frozenset(quoting))


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


def _debris(body: bytes, pieces: Pieces) -> bytes:
    """A JSON document that cannot be read, scrubbed as the text that it is, with its escapes undone."""
    text = _ESCAPES.sub(_plain, _text(body))
    scrubbed = scrubbing.scrub(text, pieces)
    if scrubbed == text:
        return body
    return scrubbed.replace(_LINE_BREAK, "\\n").encode(errors="surrogateescape")


def _plain(escapes: re.Match[str]) -> str:
    text: str = json.loads(f'"{escapes[0]}"').replace("\n", _LINE_BREAK)
    # Half a surrogate pair, which UTF-8 can't say.
    return escapes[0] if any("\ud800" <= letter <= "\udfff" for letter in text) else text


def _scrubbed(body: bytes, pieces: Pieces) -> bytes:
    text = _text(body)
    scrubbed = scrubbing.scrub(text, pieces)
    return body if scrubbed == text else scrubbed.encode(errors="surrogateescape")


def _text(body: bytes) -> str:
    # Bytes that are no UTF-8 come out again as they went in.
    return body.decode(errors="surrogateescape")
