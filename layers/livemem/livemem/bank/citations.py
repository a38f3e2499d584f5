"""Which notes each section of a bank file rests on."""

from dataclasses import dataclass

from livemem.bank.files import File
from livemem.changes import provenance, records
from livemem.changes.records import Record
from livemem.changes.section_sources import State, Trace, own_texts
from livemem.errors import ObjectUnreadable
from livemem.process import Process

MOST_RECORDS = 256
"""Most records read to work out sources that none holds (an older version wrote them): some seconds' work."""

MOST_CHARACTERS = 5_000_000
"""Most characters of the file's versions that are parsed for it."""


@dataclass(frozen=True)
class CitedNote:
    """A note that a section rests on, and the consolidation that brought it in."""

    note_id: str
    consolidation: int


@dataclass(frozen=True)
class Cited:
    """A section of a file with its sources, oldest first, the number of older ones left out, and its manual
    corrections.
    """

    heading: str
    path: list[str]
    sources: list[CitedNote]
    corrections: list[int]
    omitted: int = 0
    verified_at: str | None = None
    """When a note or a caller last confirmed it. None where nobody knows."""


@dataclass(frozen=True)
class Citations:
    """The sources of a file's sections. `since`: the sources of earlier changes are missing. None: none is missing."""

    sections: list[Cited]
    since: int | None = None


def citations(process: Process, space_id: str, file: File) -> Citations:
    """For each section of the file, read with its content, the notes that it rests on.

    1 GET: the record of the file's last change holds them. If it does not (an older version wrote it, or the file was
    changed in the bucket itself), the records of the file's changes are replayed. The newest are read first, as many as
    are allowed.
    """
    content = file.content or ""
    writer = records.find(process, space_id, file.record) if file.record else None
    sources = writer.sources_of(file.path) if writer else None
    state, since = (sources.state(), None) if sources else _replayed(process, space_id, file.path)
    return Citations(
        [_cited(path, state.get(path)) for path, text in own_texts(content).items() if path or text.strip()], since
    )


def _cited(path: tuple[str, ...], trace: Trace | None) -> Cited:
    links = trace or Trace()
    return Cited(
        heading=path[-1] if path else "",
        path=list(path),
        sources=[CitedNote(note_id, number) for note_id, number in links.sources.items()],
        corrections=links.corrections,
        omitted=links.omitted,
        verified_at=links.verified_at(),
    )


def _replayed(process: Process, space_id: str, path: str) -> tuple[State, int | None]:
    """The sources of the file's sections, worked out from the newest records back to one that holds them, or to the
    first. With them the first change that they cover, if there are more records than are read.
    """
    newest_first, since = _changes_of(process, space_id, path)
    gone = records.undone(newest_first)
    state: State = {}
    for record in reversed(newest_first):
        sources = record.sources_of(path)
        if sources:
            state = sources.state()
            continue
        for change in record.files:
            if change.path == path and record.kind != "undo" and record.number not in gone:
                state = provenance.after(state, record, change)
    return state, since


def _changes_of(process: Process, space_id: str, path: str) -> tuple[list[Record], int | None]:
    """The needed records, newest first, and the number of the oldest one read if more would be needed."""
    names = records.names(process, space_id)[::-1]
    history: list[Record] = []
    size = 0
    for start in range(0, min(len(names), MOST_RECORDS), records.AT_ONCE):
        batch = names[start : start + records.AT_ONCE]
        for name, record in zip(batch, records.read_each(process, space_id, batch), strict=True):
            if isinstance(record, ObjectUnreadable):
                return history, name.number + 1
            change = next((change for change in record.files if change.path == path), None)
            size += len(change.after or "") if change else 0
            if size > MOST_CHARACTERS:
                return history, record.number + 1
            if change or record.undoes is not None:
                history.append(record)
            if change and change.sources:
                return history, None
    return history, names[MOST_RECORDS - 1].number if len(names) > MOST_RECORDS else None
