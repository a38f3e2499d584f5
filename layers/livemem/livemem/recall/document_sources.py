"""The sources of documents in a space: its live notes, its bank files, its records, its conversations
(conversation_documents.py), its memories (memory_documents.py), and the messages of its rooms (room_documents.py).
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from livemem import clock
from livemem.changes.records import NoteSource, Record
from livemem.errors import InvalidName
from livemem.markdown import sections
from livemem.markdown.blocks import SectionError, split_lines
from livemem.notes import note as notes
from livemem.notes.note import CopiedFrom, Note
from livemem.process import Process
from livemem.recall import conversation_documents, memory_documents, room_documents
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
from livemem.search.view import DocumentSource, SearchView, held
from livemem.spaces import contents
from livemem.store import keys
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
    of_notes = kinds is None or not {LIVE, ARCHIVE, BANK}.isdisjoint(kinds)
    of_talk = kinds is None or not {TURN, SUMMARY}.isdisjoint(kinds)
    return [
        *(_of_notes(process, space_id) if of_notes else ()),
        *([conversation_documents.all_of(process, space_id)] if of_talk else []),
        *([memory_documents.all_of(process, space_id, whole=whole)] if kinds is None or MEMORY in kinds else []),
        *([room_documents.all_of(process, space_id)] if kinds is None or MESSAGE in kinds else []),
    ]


def uncounted(view: SearchView) -> int:
    """How many objects the view knows that came without a change of the space, and stay in the bucket.

    Messages of rooms are not among them: a digest takes them away.
    """
    return conversation_documents.count(view) + memory_documents.count(view)


def _of_notes(process: Process, space_id: str) -> list[DocumentSource]:
    """The sources of notes and bank, always all of them: a note moves from its own object into a record, and back."""
    return [
        DocumentSource(
            keys.live_prefix(space_id),
            held(lambda key: keys.parse_note(key) is not None),
            lambda item: _note(space_id, item),
            lambda: contents.all_live_notes(process, space_id),
        ),
        DocumentSource(
            keys.bank_prefix(space_id),
            held(lambda key: keys.parse_bank_file(key) is not None),
            _bank_file,
            lambda: list(process.store.scan(keys.bank_prefix(space_id))),
            mark=_when_written,
        ),
        DocumentSource(
            keys.records_prefix(space_id),
            held(lambda key: keys.parse_record(key) is not None),
            lambda item: _record(space_id, item),
            lambda: list(process.store.scan(keys.records_prefix(space_id))),
            heir=True,
        ),
    ]


def _when_written(item: Entry | Object) -> str:
    """The mark includes the time, because a file that was written again with the same words is of a later time."""
    return f"{item.etag} {clock.iso(item.last_modified)}"


def _note(space_id: str, item: Object) -> Reading:
    name = keys.parse_note(item.key)
    assert name
    note = notes.parse_note(space_id, name[1], item.body)
    return Reading(item.key, item.etag, (_of_note(note, LIVE, name[1], {}),))


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
        more=({"written_by": note.agent} if note.author else {}) | ({SECTIONS: [*sections]} if sections else {}),
    )


def _origin(note: Note) -> dict[str, str]:
    if isinstance(note.source, CopiedFrom):
        return {"from_space": storable(note.source.space_id)}
    if not note.source:
        return {}
    return {"conversation_id": note.source.conversation, "covers": "{}-{}".format(*note.source.turns)}


def _record(space_id: str, item: Object) -> Reading:
    name = keys.parse_record(item.key)
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
    """When the sections of the files that a change wrote were last confirmed, by path and title. Empty for a file of
    which the record does not know it.
    """
    result: dict[str, dict[str, str]] = {}
    for change in record.files:
        file = storable(change.path)
        moments = result.setdefault(file, {})
        for path, trace in (change.sources.state() if change.sources else {}).items():
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
    parsed = keys.parse_bank_file(item.key)
    assert parsed
    path, text = parsed[1], storable(item.body.decode(errors="replace"))
    time = clock.iso(item.last_modified)
    try:
        told = _sections(text)
    except SectionError:
        # Deeply nested lists: the ends of its sections can't be determined.
        told = [((), text)]
    # A file of headings alone is kept, since the view tells by its documents what it knows.
    parts = told or [((), text)]
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
                aside="" if told else WORDLESS,
                time=time,
                source={"section": address} if titles else {},
            )
        )
    return Reading(item.key, _when_written(item), tuple(result))


def _sections(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Each section's headings from the outermost one to its own, and the text right below it. The text before the first
    section is included. Sections without own text are left out: their headings are in their children's.
    """
    headings = sections.list_sections(text)
    lines = split_lines(text)
    parts: list[tuple[tuple[str, ...], str]] = [((), sections.preamble(text))]
    parts += [(section.path, "".join(lines[section.body : section.own_end])) for section in headings]
    return [(titles, own.strip("\r\n")) for titles, own in parts if own.strip()]
