"""What the records of changes say, without their texts: many records are compared, and each may hold a whole bank."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from livemem.changes import records
from livemem.changes.records import Before, Record
from livemem.errors import ObjectUnreadable
from livemem.process import Process
from livemem.store import keys
from livemem.store.keys import RecordName


@dataclass(frozen=True)
class RecordedFile:
    """A file of a change: digests of the text before and after it, None where there was none."""

    before: str | None
    after: str | None


@dataclass(frozen=True)
class RecordedChange:
    """A record, read or not. `lost`: it cannot be read."""

    number: int
    kind: str = "unreadable"
    undoes: int | None = None
    notes: tuple[str, ...] = ()
    files: dict[str, RecordedFile] = field(default_factory=dict)
    lost: bool = True


def digest(text: str | None) -> str | None:
    """A short digest of a text."""
    return None if text is None else sha256(text.encode(errors="surrogatepass")).hexdigest()


def read(process: Process, space_id: str, names: Sequence[RecordName]) -> list[RecordedChange]:
    """The records of these names, some at once: 1 GET for each that this process has not read."""
    result = []
    for start in range(0, len(names), records.AT_ONCE):
        batch = names[start : start + records.AT_ONCE]
        for name, record in zip(batch, records.read_each(process, space_id, batch), strict=True):
            result.append(RecordedChange(name.number) if isinstance(record, ObjectUnreadable) else _of(record))
    return result


def _of(record: Record) -> RecordedChange:
    files = {change.path: _file(change.before, change.after) for change in record.changed()}
    if record.synthesis:
        files[keys.SYNTHESIS] = _file(record.synthesis.before, record.synthesis.after)
    notes = tuple(source.note_id for source in record.notes)
    return RecordedChange(record.number, record.kind, record.undoes, notes, files, lost=False)


def _file(before: Before | None, after: str | None) -> RecordedFile:
    return RecordedFile(digest(before.content) if before else None, digest(after))
