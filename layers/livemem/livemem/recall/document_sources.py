"""The sources of documents in a space: its live notes, its bank files, its records, its conversations
(conversation_documents.py), its memories, and the messages of its rooms.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from livemem import clock
from livemem.changes.records import NoteSource, Record
from livemem.changes.section_sources import own_parts
from livemem.errors import InvalidName, MemoriesBroken
from livemem.markdown import sections
from livemem.markdown.sections import split_address
from livemem.memories import operation as operations
from livemem.memories.memory import Memory
from livemem.notes import note as notes
from livemem.notes.note import CopiedFrom, Note
from livemem.process import Process
from livemem.recall import bank_sections, code_marks, conversation_documents
from livemem.rooms import message as messages
from livemem.search.documents import (
    ARCHIVE,
    BANK,
    LIVE,
    MEMORY,
    MESSAGE,
    PERSON,
    SUMMARY,
    TURN,
    WORDLESS,
    Document,
    Reading,
    storable,
)
from livemem.search.view import DocumentSource, SearchView, Tail, held
from livemem.spaces import contents
from livemem.store import bucket, keys
from livemem.store.bucket import BANK_FILE, IN_MEMORIES, NOTE, OPERATION, RECORD, ROOM_MESSAGE, message_name
from livemem.store.keys import MEMORY_KINDS
from livemem.store.objects import Entry, Object

logger = logging.getLogger(__name__)

MOST_NUMBER = 2**63 - 1
SECTIONS = "sections"
"""In `more` of a consolidated note: the ids of the sections that its consolidation let rest on it."""
NOTES = "notes/{}"
"""The group of the notes of a day. The notes just before and after a note are its neighbours, by any author."""


def sources(
    process: Process, space_id: str, kinds: Collection[str] | None = None, *, whole: bool = False
) -> list[DocumentSource]:
    """The sources of the documents of a space, or of some kinds. `whole`: all is listed each time."""

    def has(*batch: str) -> bool:
        return kinds is None or not set(batch).isdisjoint(kinds)

    result = _of_notes(process, space_id) if has(LIVE, ARCHIVE, BANK) else []
    if has(TURN, SUMMARY):
        result.append(conversation_documents.all_of(process, space_id))
    if has(MEMORY):
        result.append(memory_source(process, space_id, whole=whole))
    if has(MESSAGE):
        result.append(room_source(space_id))
    return result


def uncounted(view: SearchView) -> int:
    """How many objects the view knows that came without a change of the space, and stay in the bucket.

    Messages of rooms are not among them: a digest takes them away.
    """
    return sum(
        len(marks)
        for folder, marks in view.known.items()
        if bucket.searched_folder(folder) or folder.partition("/")[2].startswith("memories/")
    )


def _of_notes(process: Process, space_id: str) -> list[DocumentSource]:
    """The sources of notes and bank, always all of them: a note moves from its own object into a record, and back."""
    return [
        DocumentSource(
            NOTE.prefix(space_id),
            held(NOTE.parse),
            lambda item: _note(space_id, item),
            lambda: contents.all_live_notes(process, space_id),
        ),
        DocumentSource(
            BANK_FILE.prefix(space_id),
            held(BANK_FILE.parse),
            _bank_file,
            mark=_when_written,
        ),
        DocumentSource(
            RECORD.prefix(space_id),
            held(RECORD.last),
            lambda item: _record(space_id, item),
            heir=True,
        ),
    ]


def _when_written(item: Entry | Object) -> str:
    """The mark includes the time, because a file that was written again with the same words is of a later time."""
    return f"{item.etag} {clock.iso(item.last_modified)}"


def _note(space_id: str, item: Object) -> Reading:
    note_id = NOTE.last(item.key)
    assert note_id
    name = keys.parse_note_id(note_id)
    note = notes.parse_note(space_id, name, item.body)
    return Reading(item.key, item.etag, (_of_note(note, LIVE, name, {}),))


def _of_note(
    note: Note, kind: str, name: keys.NoteName, more: dict[str, str], sections: Sequence[str] = ()
) -> Document:
    moment = keys.compact_time(clock.parse(note.moment))
    return Document(
        id=note.note_id,
        kind=kind,
        text=storable(note.content),
        group=NOTES.format(moment[:8]),
        # In the order of saying, then of writing, independent of the author (keys.NoteName.order).
        position=f"{moment}_{keys.compact_time(name.timestamp)}_{name.suffix}_{name.agent}",
        time=clock.iso(clock.parse(note.moment)),
        author=storable(note.speaker),
        role=PERSON if note.author else "",
        category=note.category,
        tags=tuple(dict.fromkeys(storable(tag) for tag in note.tags)),
        source=more | _origin(note),
        more=({"written_by": note.agent} if note.author else {})
        | ({SECTIONS: [*sections]} if sections else {})
        | note.code.fields(),
    )


def _origin(note: Note) -> dict[str, str]:
    if isinstance(note.source, CopiedFrom):
        return {"from_space": storable(note.source.space_id)}
    if not note.source:
        return {}
    return {"conversation_id": note.source.conversation, "covers": "{}-{}".format(*note.source.turns)}


def _record(space_id: str, item: Object) -> Reading:
    name = RECORD.last(item.key)
    try:
        record = Record.from_bytes(item.body)
        # All other code uses its key, and an index takes no number of more than 63 bits.
        if not name or name.number != record.number or record.number > MOST_NUMBER:
            raise ValueError("the number of a record")
    except ValueError:
        # The routes that need the record report it. A search continues without it.
        logger.warning("record can't be read", extra={"key": item.key})
        return Reading(item.key, item.etag)
    if record.kind == "undo":
        ids = tuple(source.note_id for source in record.notes)
        return Reading(item.key, item.etag, rank=record.number, gives_back=ids, confirmed=_confirmed(record))
    rest = _resting(record)
    notes = [document for source in record.notes if (document := _consolidated(space_id, record.number, source, rest))]
    documents = tuple({document.id: document for document in notes}.values())
    return Reading(item.key, item.etag, documents, record.number, confirmed=_confirmed(record))


def _confirmed(record: Record) -> dict[str, dict[str, str]]:
    """When the sections of the files that a change wrote were last confirmed, by path and title, and the versions of
    the code of their lines. Empty for a file of which the record does not know it.
    """
    result: dict[str, dict[str, str]] = {}
    for change in record.files:
        file = storable(change.path)
        moments = result.setdefault(file, {})
        for path, trace in (change.sources.state() if change.sources else {}).items():
            moments |= {code_marks.of_line(key): code.as_header() for key, code in trace.lines.items()}
            moment = trace.verified_at()
            if moment:
                title = _title(file, [storable(item) for item in path])
                moments[title] = max(moment, moments.get(title, ""))
    return result


def _title(path: str, titles: Sequence[str]) -> str:
    return " > ".join([path, *(title.lstrip("#").strip() for title in titles)])


def _resting(record: Record) -> dict[str, list[str]]:
    """The sections that rest on each note of a change, by the note's id."""
    result: dict[str, list[str]] = {}
    for change in record.files:
        for path, trace in (change.sources.state() if change.sources else {}).items():
            for note_id, number in trace.sources.items():
                if number == record.number:
                    result.setdefault(note_id, []).append(_section_id(storable(change.path), map(storable, path)))
    return result


def _section_id(path: str, titles: Iterable[str]) -> str:
    address = sections.joined(titles)
    return f"{path} > {address}" if address else path


def _consolidated(space_id: str, number: int, source: NoteSource, rest: Mapping[str, list[str]]) -> Document | None:
    try:
        name = keys.parse_note_id(source.note_id)
        body = source.body()
    except (InvalidName, ValueError):
        return None
    return _of_note(
        notes.parse_note(space_id, name, body),
        ARCHIVE,
        name,
        {"consolidation": str(number)},
        rest.get(source.note_id, ()),
    )


def _bank_file(item: Object) -> Reading:
    parsed = BANK_FILE.parse(item.key)
    assert parsed
    path, text = parsed[1], storable(item.body.decode(errors="replace"))
    time = clock.iso(item.last_modified)
    # Sections without own text are left out: their headings are in their children's.
    own_texts = [(titles, own.strip("\r\n")) for titles, own in own_parts(text) if own.strip()]
    # A file of headings alone is kept, since the view tells by its documents what it knows.
    parts = own_texts or [((), text)]
    counter: Counter[tuple[str, ...]] = Counter()
    result = []
    for index, (titles, own) in enumerate(parts):
        counter[titles] += 1
        address = sections.joined(titles)
        again = f" ({counter[titles]})" if counter[titles] > 1 else ""
        result.append(
            Document(
                id=f"{_section_id(path, titles)}{again}",
                kind=BANK,
                text=own,
                group=path,
                position=f"{index:06d}",
                title=_title(path, titles),
                aside="" if own_texts else WORDLESS,
                time=time,
                source={"section": address} if titles else {},
            )
        )
    return Reading(item.key, _when_written(item), tuple(result))


VERIFIED_AT = "verified_at"
"""In `more` of a memory: its last confirmation, where that is not its time."""


def memory_source(process: Process, space_id: str, *, whole: bool = False) -> DocumentSource:
    """The source of the documents of all memories of a space: 3 LISTs, and 1 GET for each new operation. Once a minute
    1 LIST per 1,000 operations instead.

    Each store, correction, deletion or expiry is a new operation, behind the last one. An erasure ends with such an
    operation too. The operations that it rewrites are seen within the minute, or at once if the `whole` log is listed.
    """
    prefix = IN_MEMORIES.prefix(space_id)
    return DocumentSource(
        prefix,
        held(OPERATION.parse),
        lambda item: _operation(process, item),
        takes_away=True,
        tails=None if whole else lambda known: _memory_tails(space_id, known),
    )


def _memory_tails(space_id: str, folders: Iterable[str]) -> list[Tail]:
    batch = list(folders)
    prefixes = [OPERATION.prefix(space_id, kind) for kind in MEMORY_KINDS]
    return [(prefix, max((key for key in batch if key.startswith(prefix)), default="")) for prefix in prefixes]


def rewritten_memories(process: Process, view: SearchView, space_id: str) -> bool:
    """Whether an operation that the view knows was rewritten or removed: 1 LIST per 1,000, none if it knows none."""
    prefix = IN_MEMORIES.prefix(space_id)
    known = view.known.get(prefix)
    if not known:
        return False
    entries = {entry.key: entry.etag for entry in process.store.scan(prefix)}
    return any(entries.get(key) != mark for key, mark in known.items())


def verified_at(document: Document) -> str:
    """When a memory was last confirmed."""
    return str(document.more.get(VERIFIED_AT) or document.time)


def _operation(process: Process, item: Object) -> Reading:
    """The documents of an operation; none of one that can't be read."""
    number = OPERATION.last(item.key)
    assert number is not None
    try:
        operation = operations.read(process, item)
    except MemoriesBroken:
        # The routes that need the operation report it. A search continues without it.
        return Reading(item.key, item.etag)
    standing = [part.memory for part in operation.parts() if part.op == "put" and part.memory.content]
    # Of an erased operation only its existence remains.
    gone = {part.memory.memory_id for part in operation.parts()} - {memory.memory_id for memory in standing}
    documents = tuple(_of_memory(memory) for memory in standing)
    return Reading(item.key, item.etag, documents, number, tuple(sorted(gone)))


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


def room_group(room: str) -> str:
    """The group of a room's messages."""
    return f"rooms/{room}"


def room_source(space_id: str, room: str | None = None) -> DocumentSource:
    """The source of the messages of one room, or of all of a space: 1 LIST per 1,000, and 1 GET for each new one.

    They are listed whole each time, so that messages that a digest removed are not found any more.
    """
    prefix = ROOM_MESSAGE.prefix(space_id) if room is None else ROOM_MESSAGE.prefix(space_id, room)
    return DocumentSource(
        prefix,
        held(message_name),
        _message,
    )


def _message(item: Object) -> Reading:
    name = message_name(item.key)
    assert name
    message = messages.read(name, item)
    document = Document(
        id=name.name.removeprefix("rooms/").removesuffix(".json"),
        kind=MESSAGE,
        text=storable(message.content),
        group=room_group(name.room),
        position=name.name,
        time=clock.iso(clock.parse(message.timestamp)),
        author=storable(message.author),
        source={"room": name.room, "message_id": storable(message.message_id)},
        more={"timestamp": message.timestamp},
    )
    return Reading(item.key, item.etag, (document,))


def reading_id(document: Document) -> str:
    """The id of a found document, as the tool `read` takes it; for a message of a room its room's route."""
    source = document.source
    if document.kind == BANK:
        titles = map(bank_sections.title, split_address(source["section"])) if "section" in source else ()
        batch = list(titles)
        return bank_sections.section_id(document.group, batch) if batch else bank_sections.file_id(document.group)
    if document.kind == SUMMARY:
        return f"conversations/{source['conversation_id']}/summaries/{source['level']}/{source['number']}"
    if document.kind == TURN:
        return f"conversations/{source['conversation_id']}/turns/{source['turn_index']}"
    if document.kind == MEMORY:
        return f"memories/{document.id}"
    return f"rooms/{source['room']}/messages" if document.kind == MESSAGE else f"notes/{document.id}"
