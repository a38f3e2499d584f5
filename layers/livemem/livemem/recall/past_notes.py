"""The notes that were live at an earlier moment, for a look at what an agent would have been given then."""

from itertools import islice

from livemem.bank import time_travel
from livemem.bank.time_travel import RecordedMoment
from livemem.changes import late_duplicates
from livemem.notes import note as notes
from livemem.notes import pages
from livemem.notes.note import Note
from livemem.process import Process
from livemem.recall.summary import Live
from livemem.spaces import contents
from livemem.store import keys


def live_at(process: Process, space_id: str, moment: RecordedMoment, *, most: int) -> Live:
    """The newest `most` notes that were live then: those of the notes of that time that are live still, and those that
    later changes folded. An erased note is its stub.

    1 LIST per 1,000 live notes, 1 GET for each that is shown and not known, and the records of the later changes, which
    `time_travel.bank_at` reads too. Raises Conflict if these are too many, ObjectUnreadable.
    """
    folded: dict[str, bytes] = {}
    given_back: set[str] = set()
    for record in time_travel.since(process, space_id, moment):
        if record.undoes is not None and record.undoes <= moment.number:
            # It was folded then, and is live again since.
            given_back |= {source.note_id for source in record.notes}
        for source in record.notes:
            folded.setdefault(source.note_id, source.body())
    entries = late_duplicates.without(process, space_id, contents.all_live_notes(process, space_id))
    live = {contents.note_name(entry).note_id: entry for entry in entries}
    names = {note_id: keys.parse_note_id(note_id) for note_id in live.keys() | folded.keys()}
    existing = [name for note_id, name in names.items() if note_id not in given_back and name.timestamp <= moment.time]
    newest = list(islice(sorted(existing, key=lambda name: name.order, reverse=True), most))
    unread = [live[name.note_id] for name in newest if name.note_id not in folded]
    read = {note.note_id: note for note in pages.read_all(process, space_id, unread) if note}
    shown = [_parsed(space_id, name, folded) or read.get(name.note_id) for name in reversed(newest)]
    return Live(len(existing), True, [note for note in shown if note])


def _parsed(space_id: str, name: keys.NoteName, folded: dict[str, bytes]) -> Note | None:
    body = folded.get(name.note_id)
    return None if body is None else notes.parse_note(space_id, name, body)
