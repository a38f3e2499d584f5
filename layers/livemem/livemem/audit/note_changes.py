"""What the records of changes show of one note."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from livemem.audit.life_event import LifeEvent, NamingEdit, TouchedFile, What
from livemem.changes import archive_notes, records
from livemem.changes.records import FileChange, Record
from livemem.errors import ObjectUnreadable
from livemem.process import Process
from livemem.spaces.head import Meta
from livemem.store.keys import NoteName, RecordName

MOST_RECORDS = 64
"""Records that are read for one note. Each may hold a whole bank. Usually one or two can hold it."""

BEFORE = 4
"""Records before the one that folded the note, or the newest ones, in which it may be left out. The next run
takes a note again that one has left out.
"""


@dataclass
class NoteInRecords:
    """The events, oldest first; the note's bytes, if a record holds it; and the number of the change that holds it now,
    None for a live note. `unread`: records that may hold it and were not read. `missing`: those that cannot be read.
    """

    events: list[LifeEvent] = field(default_factory=list)
    body: bytes | None = None
    consolidation: int | None = None
    unread: int = 0
    missing: list[ObjectUnreadable] = field(default_factory=list)


def look(process: Process, meta: Meta, name: NoteName) -> NoteInRecords:
    """1 LIST per 1,000 changes, and 1 GET for each that can hold the note, at most 64, and for up to 4 before the first
    that does.
    """
    listed = records.names(process, meta.space_id)
    covering = [one for one in listed if one.covers(name)]
    found = NoteInRecords(unread=max(len(covering) - MOST_RECORDS, 0))
    # The newest ones say where the note is now.
    read = _read(process, meta, covering[-MOST_RECORDS:], found)
    holding = [record.number for record in read if _holds(record, name)]
    if holding or name.note_id in meta.left_out:
        end = min(holding, default=meta.changes + 1)
        known = {record.number for record in read}
        near = [one for one in listed if end - BEFORE <= one.number < end and one.number not in known]
        read += _read(process, meta, near, found)
    ordered = sorted(read, key=lambda record: record.number)
    undone = records.undone(ordered)
    for record in ordered:
        _take_in(found, record, name)
    found.events = [
        replace(event, undone=True) if event.consolidation in undone and event.what != "returned" else event
        for event in found.events
    ]
    return found


def _read(process: Process, meta: Meta, wanted: list[RecordName], found: NoteInRecords) -> list[Record]:
    read: list[Record] = []
    for start in range(0, len(wanted), records.AT_ONCE):
        for name, one in records.read_each(process, meta.space_id, wanted[start : start + records.AT_ONCE]):
            record = records.contents(meta.space_id, name, one)
            if isinstance(record, ObjectUnreadable):
                found.missing.append(record)
            else:
                read.append(record)
    return read


def _holds(record: Record, name: NoteName) -> bool:
    return any(source.note_id == name.note_id for source in record.notes)


def _take_in(found: NoteInRecords, record: Record, name: NoteName) -> None:
    if name.note_id in record.left_out:
        found.events.append(_event(record, "left_out"))
    source = next((source for source in record.notes if source.note_id == name.note_id), None)
    if not source:
        return
    found.body = source.body()
    if record.kind == "undo":
        found.consolidation = None
        found.events.append(replace(_event(record, "returned"), undoes=record.undoes))
        return
    found.consolidation = record.number
    reasons = (item.get("reason") for item in record.discarded if item.get("note_id") == name.note_id)
    reason = next(reasons, None)
    what = _what(record, name, discarded=reason is not None)
    files = tuple(_files(record, name)) if what == "folded" else ()
    found.events.append(replace(_event(record, what), reason=str(reason) if reason is not None else None, files=files))


def _what(record: Record, name: NoteName, *, discarded: bool) -> What:
    if record.trigger == archive_notes.TAKEN_BACK:
        return "taken_back"
    if record.kind == "consolidation" and record.model is None:
        return "archived"
    if discarded:
        return "discarded"
    return "uncited" if name.note_id in record.uncited else "folded"


def _event(record: Record, what: What) -> LifeEvent:
    return LifeEvent(
        what,
        record.committed_at,
        by=record.author or record.approved_by,
        model=record.model,
        consolidation=record.number,
        run_id=record.run(),
    )


def _files(record: Record, name: NoteName) -> Iterator[TouchedFile]:
    """The files in which the note went into something."""
    for change in record.files:
        edits = [
            NamingEdit(str(edit.get("op")), str(edit.get("heading") or ""))
            for edit in change.edits
            if name.note_id in (edit.get("notes") or ())
        ]
        sections = _sections(record, change, name)
        if edits or sections or name.note_id in change.notes:
            yield TouchedFile(change.path, change.action, edits, sections)


def _sections(record: Record, change: FileChange, name: NoteName) -> list[list[str]]:
    state = change.sources.state() if change.sources else {}
    return [list(path) for path, trace in state.items() if trace.sources.get(name.note_id) == record.number]
