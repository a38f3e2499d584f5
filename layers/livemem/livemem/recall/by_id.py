"""One thing of a space by its id: what start, search, context and the list of stale things name.

An id is `bank/{path}`, `bank/{path}#{headings joined by " > "}`, `notes/{note_id}`, `memories/{memory_id}`,
`conversations/{id}/turns/{n}`, `conversations/{id}/summaries/{level}/{n}`, `rules`, `synthesis`, or `bank` (the list of
its files). Notes, memories, turns and sections are also found by the ids that the JSON of a search has, and by their
routes. A short id (short_ids.py) means what the bucket has, so that it holds in each process, and for what is new.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from livemem.bank import history
from livemem.bank.files import File
from livemem.changes import records
from livemem.conversations import reading as conversations
from livemem.conversations.reading import Item, Page
from livemem.errors import InvalidName, InvalidRequest, NotFound
from livemem.memories import reading as memories
from livemem.memories.memory import Memory
from livemem.notes import pages
from livemem.notes.note import Note
from livemem.process import Process
from livemem.recall import bank_sections, code_marks, short_ids
from livemem.spaces import rules, unreadable
from livemem.store import cursors, keys
from livemem.store.bucket import NOTE, TURN
from livemem.text.code_version import UNKNOWN, CodeVersion

NOTICE_CHARS = 120
"""Room on a page for the words that name the next one."""
LONGEST = 1_000_000
"""Characters of a text, at most, of which a cursor names a place."""
_HASH_CHARS = 16


@dataclass(frozen=True)
class TextPlace:
    """How far a text was read: so many characters of the one with this hash."""

    offset: int
    text: str

    @classmethod
    def parse(cls, cursor: str) -> "TextPlace":
        """The place that a cursor names. Raises ValueError."""
        offset, _, text = cursor.partition("/")
        digits = offset.isascii() and offset.isdecimal() and len(offset) <= len(str(LONGEST))
        if not (digits and len(text) == _HASH_CHARS):
            raise ValueError("no place in a text")
        return cls(int(offset), text)


@dataclass(frozen=True)
class TextPage:
    """A part of a text. `chars`: of the whole text; `remaining`: of what follows this page. `next_cursor`: None on the
    last page.
    """

    text: str
    chars: int
    remaining: int
    next_cursor: str | None


def page(text: str, max_chars: int, place: TextPlace | None, *, behind: int = 0) -> TextPage:
    """The page of a text that begins at a place: at most `max_chars` characters with the notice of the next page, or
    with the `behind` characters that follow the last one. Raises InvalidRequest if the text was changed since.
    """
    name = hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARS]
    if place and (place.text != name or place.offset >= len(text)):
        raise InvalidRequest.of("cursor", "is of a text that was changed since: read it again from its beginning")
    start = place.offset if place else 0
    end = _end(text, start, max_chars, behind)
    following = cursors.encode(f"{end}/{name}") if end < len(text) else None
    return TextPage(text[start:end], len(text), len(text) - end, following)


def _end(text: str, start: int, most: int, behind: int) -> int:
    """Where a page ends: behind a line if one ends in its second half. `behind` is less than NOTICE_CHARS."""
    if len(text) - start + behind <= most:
        return len(text)
    last = start + most - NOTICE_CHARS
    line = text.rfind("\n", start + most // 2, last) + 1
    return line or last


ThingKind = Literal["rules", "synthesis", "bank", "file", "section", "note", "memory", "turn", "summary"]
CHARS_DEFAULT, CHARS_LEAST, CHARS_MOST = 8_000, 500, 100_000
NOT_AN_ID = "must be an id from start, search or context"
_AGAIN = re.compile(r" \(\d+\)$")


@dataclass(frozen=True)
class ReadRequest:
    """The checked values of a request: the id, how many characters a page may have, and where the page begins.
    `reader`: the version of the code that the agent works on.
    """

    id: str
    max_chars: int
    place: TextPlace | None
    reader: CodeVersion = UNKNOWN

    @classmethod
    def of(
        cls,
        reference: str,
        *,
        max_chars: int = CHARS_DEFAULT,
        cursor: str | None = None,
        reader: CodeVersion = UNKNOWN,
    ) -> "ReadRequest":
        """The request's values. Raises InvalidRequest."""
        if not CHARS_LEAST <= max_chars <= CHARS_MOST:
            raise InvalidRequest.of("max_chars", f"must be from {CHARS_LEAST} to {CHARS_MOST}")
        return cls(reference.strip(), max_chars, cursors.decode_with(TextPlace.parse, cursor), reader)


@dataclass(frozen=True)
class Thing:
    """The document of an id: a text, the files of the bank, a note, a memory, a turn with its neighbours, or a summary.

    `verified_at`: when the section or memory was last confirmed, None for other kinds.
    """

    kind: ThingKind
    content: str | list[File] | Note | Memory | Page | Item
    verified_at: str | None = None


Look = Callable[[Process, str], Thing]


def read(process: Process, space_id: str, request: ReadRequest) -> Thing:
    """The thing with the wanted id, whole. Notes and lines of the bank are marked for the reader (code_marks.py).

    In a process without caches: rules, synthesis and a file 2 GET, and of a file 1 more for a reader that works on a
    branch; the list of files 1 GET and 1 LIST; a section 3 GET, and 1 in a process that has just read this version of
    its file; a live note 1 GET, and up to 2 GET and 1 LIST to know that it is no late duplicate; another note the
    requests of pages.get; a memory 1 GET, 2 LIST for each kind, and 1 GET for each operation; a turn 2 GET, 1 LIST, and
    1 GET for it and each neighbour; a summary 5 GET and 1 LIST.

    Raises InvalidRequest, InvalidName, NotFound, ObjectUnreadable.
    """
    thing = _look(request.id.removeprefix(f"/v1/spaces/{space_id}/"), request.reader)(process, space_id)
    if isinstance(thing.content, Note) and (mark := code_marks.mark(thing.content.code, request.reader)):
        return replace(thing, content=replace(thing.content, content=f"{thing.content.content.rstrip()}{mark}"))
    return thing


def _look(name: str, reader: CodeVersion) -> Look:
    if name in _FIXED:
        return _FIXED[name]
    if name.startswith(bank_sections.BANK) or ".md" in name:
        return lambda process, space_id: _of_bank(process, space_id, name, reader)
    for look in (_note, _memory, _of_talk):
        try:
            return look(name)
        except InvalidName:
            continue
    raise InvalidRequest.of("id", NOT_AN_ID)


def _of_bank(process: Process, space_id: str, name: str, reader: CodeVersion) -> Thing:
    # As searches tell it, the path and the headings stand side by side.
    path, headings = bank_sections.split_id(name if ".md#" in name else name.replace(".md > ", ".md#", 1))
    file = history.read_file(process, space_id, path, at=None, sources=False)[0]
    content = file.content or ""
    lines = bank_sections.lines_of(process, space_id, file) if reader.repository else {}
    if headings is None:
        return Thing("file", code_marks.marked(content, lines, reader))
    for target in (headings, _AGAIN.sub("", headings)):
        result = bank_sections.section_text(content, target)
        if result is not None:
            result = code_marks.marked(result, lines, reader)
            return Thing("section", result, bank_sections.verified_at(process, space_id, file, target))
    raise NotFound("section", headings[:200])


def _note(name: str) -> Look:
    note_id = keys.parse_note_id(name.removeprefix("notes/")).note_id
    return lambda process, space_id: Thing("note", pages.get(process, space_id, note_id))


def _memory(name: str) -> Look:
    memory_id = keys.check_memory_id(name.removeprefix("memories/"))

    def look(process: Process, space_id: str) -> Thing:
        memory = memories.load(process, space_id, memory_id)
        return Thing("memory", memory, memory.updated_at)

    return look


def _of_talk(name: str) -> Look:
    match = short_ids.FULL_OF_TALK.fullmatch(name)
    if not match:
        raise InvalidName("id", "is not the id of a turn or a summary")
    conversation_id, turn, summary = match.groups()
    if turn:
        index = keys.check_index(turn)
        return lambda process, space_id: _turn(process, space_id, conversation_id, index)
    level, number = summary.split("/")
    place = keys.check_level(level), keys.check_number(number)
    return lambda process, space_id: _summary(process, space_id, conversation_id, *place)


def _turn(process: Process, space_id: str, conversation_id: str, index: int) -> Thing:
    """The turn, with the one before and the one behind it."""
    page = conversations.turns(
        process, space_id, conversation_id, limit=3, order="oldest", within=(max(1, index - 1), index + 1)
    )
    if index not in {turn.turn_index for turn in page.turns}:
        key = TURN.key(space_id, conversation_id, index)
        raise unreadable.error(key) if key in page.missing else NotFound("turn", str(index))
    return Thing("turn", page)


def _summary(process: Process, space_id: str, conversation_id: str, level: int, number: int) -> Thing:
    missing: list[str] = []
    result, _ = conversations.summary_page(
        process,
        space_id,
        conversation_id,
        level=level,
        state="sealed",
        limit=1,
        after=None,
        within=(number, number),
        missing=missing,
    )
    if missing:
        raise unreadable.error(missing[0])
    if not result:
        raise NotFound("summary", f"{level}/{number}")
    return Thing("summary", result[0])


_FIXED: dict[str, Look] = {
    "rules": lambda process, space_id: Thing("rules", rules.read(process, space_id)),
    "synthesis": lambda *at: Thing("synthesis", history.synthesis(*at, at=None).content),
    "bank": lambda *at: Thing("bank", list(history.bank(*at, at=None, content=False))),
}


LISTED = 3
"""Ids that an error lists: an error has 500 characters, and an id of a note up to 107."""


def full_id(process: Process, space_id: str, name: str) -> str:
    """The id that a short one means, or the beginning of an id from its time on. Each other text stays as it is.

    A note: 1 LIST of the live ones of its second, 1 LIST per 1,000 records, and 1 GET for each record that covers the
    second and was not read before. A memory: as memories.reading.load. A turn or summary: 1 LIST. Other texts: none.

    Raises NotFound, ObjectUnreadable, MemoriesBroken. Where several fit, raises InvalidRequest, which lists them.
    """
    talk = short_ids.OF_TALK.fullmatch(name)
    if talk:
        return f"conversations/{conversation_id(process, space_id, talk['conversation'])}/{talk['kind']}/{talk['rest']}"
    memory = short_ids.MEMORY_START.fullmatch(name)
    if memory:
        result = memories.ids_from(process, space_id, memory["name"])
        return _only("memory", memory["name"], [short_ids.MEMORIES + text for text in result])
    note = short_ids.NOTE_START.fullmatch(name)
    if note and not keys.NOTE_ID.fullmatch(note["name"]):
        result = _notes(process, space_id, note["name"], note["time"])
        return _only("note", note["name"], [short_ids.NOTES + text for text in result])
    return short_ids.NOTES + note["name"] if note and name.startswith(short_ids.ARCHIVE) else name


def conversation_id(process: Process, space_id: str, name: str) -> str:
    """The id of the conversation that begins so: 1 LIST. Each text that is no beginning stays as it is.

    Raises NotFound, InvalidRequest as `full_id`.
    """
    if not short_ids.ULID_START.fullmatch(name):
        return name
    rest = process.store.folders(f"{TURN.prefix(space_id)}{name}")
    return _only("conversation", name, [name + end for end in islice(rest, LISTED + 1)])


def _notes(process: Process, space_id: str, name: str, time: str) -> list[str]:
    """The ids of the notes that it fits, each once: after an undo a note is live and in a record."""
    entries, archived = process.store.concurrently(
        lambda: list(process.store.scan(f"{NOTE.prefix(space_id)}{time}_")),
        lambda: records.note_ids_at(process, space_id, time),
    )
    live = filter(None, (NOTE.last(entry.key) for entry in entries))
    return sorted(
        result for result in {*live, *archived} if result.startswith(name) or short_ids.of_note(result) == name
    )


def _only(what: str, name: str, ids: Sequence[str]) -> str:
    if not ids:
        raise NotFound(what, name)
    if len(ids) > 1:
        more = " and more" if len(ids) > LISTED else ""
        raise InvalidRequest.of("id", f"{name} fits {', '.join(ids[:LISTED])}{more}: send the one that is meant")
    return ids[0]
