"""Late duplicates: live notes that a record holds already, because the store got a write with a lost answer again,
late.

The records show whether a note is one. The listing alone does not: a note that an undo has brought back looks the same
until the record of the undo is written. So a late duplicate is removed by a commit, like any live note. A swap of the
head names it, which only succeeds if nothing was committed since the note was judged.
"""

from collections.abc import Sequence
from typing import NamedTuple

from livemem.changes import records
from livemem.errors import ObjectUnreadable
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.store import keys
from livemem.store.bucket import NOTE, RECORD
from livemem.store.keys import NoteName, RecordName
from livemem.store.objects import Entry, Object

AT_ONCE = 1_000
"""Late duplicates that one swap names."""


class _Folded(NamedTuple):
    """The part of a record that shows which notes it holds."""

    gives_back: bool | None
    """None where the record cannot be read."""
    note_ids: frozenset[str]


_UNKNOWN = _Folded(None, frozenset())


def among(process: Process, head: Head, live: Sequence[Entry | Object]) -> set[str]:
    """The ids of those of the listed live notes that are late duplicates, as of `head`.

    No request where all were written after the newest note that was ever folded; else 1 LIST of the records, and 1 GET
    for each that covers the time of such a note, once per process.
    """
    meta = head.meta
    names = [keys.parse_note_id(note_id) for entry in live if (note_id := NOTE.last(entry.key))]
    until = meta.folded_until or ""
    names = [name for name in names if keys.compact_time(name.timestamp) <= until]
    known_live = {*meta.oversized_notes.needs, *meta.left_out}
    return standing(process, head, [name for name in names if name.note_id not in known_live])


def standing(process: Process, head: Head, names: Sequence[NoteName], *, since: int = 0) -> set[str]:
    """The ids of those notes that a record from number `since` on holds and that no later undo gave back."""
    if not names:
        return set()
    ids = {name.note_id for name in names}
    covering = [
        name
        for name in records.names(process, head.meta.space_id, since=since)
        if any(name.covers(note) for note in names)
    ]
    folded_ids: set[str] = set()
    # Oldest first: an undo gives notes back, a later consolidation takes them again.
    for folded in process.store.map(lambda name: _folded(process, head.meta.space_id, name), covering):
        if folded.gives_back is None:
            # The record may be an undo: then the live note is no late duplicate, but the only copy of the note.
            folded_ids = set()
        else:
            here = folded.note_ids
            folded_ids = folded_ids - here if folded.gives_back else folded_ids | (here & ids)
    return folded_ids


def _folded(process: Process, space_id: str, name: RecordName) -> _Folded:
    """The part of a just listed record, cached apart from the record because it is read more often."""
    key = RECORD.key(space_id, name)
    folded = process.reads.get(_Folded, key, name.etag)
    if not folded:
        try:
            record = records.read(process, space_id, name)
        except ObjectUnreadable:
            return _UNKNOWN
        folded = _Folded(record.kind == "undo", frozenset(source.note_id for source in record.notes))
        process.reads.put(key, name.etag, folded, folded.note_ids)
    return folded


def hidden(process: Process, space_id: str, live: Sequence[Entry | Object]) -> set[str]:
    """The ids of the just listed live notes that are late duplicates and must not be shown.

    Judged by the head that this process knows. If a note was written since that head was read, by a fresh head (1 GET).
    An older note was live or gone when the head was read.
    """
    head = heads.load_recent(process, space_id)
    seen_at = head.seen_at
    if not seen_at or any(entry.last_modified >= seen_at for entry in live):
        head = heads.refresh(process, space_id)
    return among(process, head, live)


def without(process: Process, space_id: str, live: Sequence[Entry]) -> list[Entry]:
    """The just listed live notes without late duplicates."""
    gone = hidden(process, space_id, live)
    return [entry for entry in live if not gone or _id(entry) not in gone]


def _id(entry: Entry) -> str:
    return NOTE.last(entry.key) or ""


def remove(process: Process, head: Head, note_ids: set[str]) -> Head:
    """Remove these late duplicates, judged as of `head`. Returns the head after it. Raises PreconditionLost if the head
    changed.
    """
    return finish(process, heads.swap(process, head, late_duplicates=sorted(note_ids)[:AT_ONCE]))


def finish(process: Process, head: Head) -> Head:
    """Remove the late duplicates that the head names. Safe to repeat. Returns the head after it."""
    space_id, note_ids = head.meta.space_id, head.meta.late_duplicates
    if not note_ids:
        return head
    process.store.delete_many([NOTE.key(space_id, note_id) for note_id in note_ids])
    return heads.try_swap(process, head, late_duplicates=[]) or heads.load(process, space_id)
