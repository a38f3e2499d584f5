"""Consolidated notes by pages: those of the newest change first, of one change the newest note first."""

from dataclasses import dataclass

from livemem import limits
from livemem.bank import history
from livemem.bank.time_travel import NUMBER_DIGITS
from livemem.changes import records
from livemem.changes.records import NoteSource, Record
from livemem.notes import pages
from livemem.notes.note import Note
from livemem.notes.pages import NotesFilter
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.store.keys import NoteName, RecordName

CHANGES_MOST = 64
"""Changes that one page looks at. Each record that it reads may hold a whole bank."""


@dataclass(frozen=True)
class FoldedAfter:
    """Where a page ended: at a note of a change, or behind all notes of the change (None)."""

    number: int
    note_id: str | None = None

    def __str__(self) -> str:
        return f"{self.number}/{self.note_id or ''}"

    @classmethod
    def parse(cls, text: str) -> "FoldedAfter":
        """The place in a cursor. Raises ValueError."""
        number, _, note_id = text.partition("/")
        if not (number.isascii() and number.isdecimal() and len(number) <= NUMBER_DIGITS):
            raise ValueError("no number of a change")
        return cls(int(number), keys.parse_note_id(note_id).note_id if note_id else None)

    def admits(self, number: int, name: NoteName) -> bool:
        """Whether a note of a change comes behind this place."""
        if number != self.number:
            return number < self.number
        return self.note_id is not None and name.order < keys.parse_note_id(self.note_id).order


@dataclass(frozen=True)
class FoldedPage:
    """One page, and the place behind which the next one begins (None at the end)."""

    items: list[Note]
    next_after: FoldedAfter | None


def page(
    process: Process, space_id: str, filters: NotesFilter, *, limit: int, after: FoldedAfter | None = None
) -> FoldedPage:
    """Consolidated notes, without those that an undo gave back. A record that can't be read is passed over.

    1 GET for the head, 1 LIST, and 1 GET for each record that can hold such a note and that this process has not read,
    of at most 64 changes. So a page may hold fewer than `limit` notes and still have a next one. Raises NotFound.
    """
    meta = heads.load(process, space_id).meta
    filters = filters.in_zone(heads.zone_of(process, meta))
    top = meta.changes if after is None else min(after.number if after.note_id else after.number - 1, meta.changes)
    first = max(top - CHANGES_MOST + 1, 1)
    names = records.names(process, space_id, since=first, limit=CHANGES_MOST)
    candidates = [name for name in reversed(names) if name.number <= top and _can_hold(name, filters)]
    notes: list[Note] = []
    size = 0
    for start in range(0, len(candidates), records.AT_ONCE):
        for record in records.read_each(process, space_id, candidates[start : start + records.AT_ONCE]):
            if not isinstance(record, Record) or record.kind != "consolidation" or history.was_undone(meta, record):
                continue
            for name, source in _newest_first(record, filters, after):
                size += len(source.raw)
                if len(notes) == limit or (notes and size > limits.PAGE_BYTES):
                    return FoldedPage(notes, FoldedAfter(notes[-1].consolidation or 0, notes[-1].note_id))
                note = pages.recorded(space_id, name, source.body(), record.number)
                if filters.has_tag(note.tags):
                    notes.append(note)
    more = first > 1 and history.any_before(process, space_id, first)
    return FoldedPage(notes, FoldedAfter(first) if more else None)


def _can_hold(name: RecordName, filters: NotesFilter) -> bool:
    """Whether the record can hold a note of the time that is asked for."""
    since = keys.compact_time(filters.since) if filters.since else ""
    return name.last >= since and (filters.until is None or name.first <= keys.compact_time(filters.until))


def _newest_first(record: Record, filters: NotesFilter, after: FoldedAfter | None) -> list[tuple[NoteName, NoteSource]]:
    pairs = [(keys.parse_note_id(source.note_id), source) for source in record.notes]
    matching = [
        (name, source)
        for name, source in pairs
        if filters.admits(name) and (after is None or after.admits(record.number, name))
    ]
    return sorted(matching, key=lambda item: item[0].order, reverse=True)
