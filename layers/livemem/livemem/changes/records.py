"""Consolidation records: the input and the output of each change of bank or rules, and of each undo.

A record is written once and never changed. History, diffs, time travel, the status of an old note, citations and undo
all read these records. The plan of a change is its record before it is committed.
"""

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from livemem import clock as clocks
from livemem.changes.bank_warnings import BankWarning
from livemem.changes.section_sources import Sources
from livemem.errors import NotFound, ObjectUnreadable, StoreUnavailable
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.spaces.head import Head
from livemem.spaces.oversized_notes import OversizedNotes
from livemem.store import keys
from livemem.store.bucket import RECORD
from livemem.store.objects import Object
from livemem.store.stored_documents import LazyModel, Line, Moment, NoteId, Number, StoredDocument

AT_ONCE = 16
"""Records read at once in a search for one that fits: each may hold a whole bank."""

RecordKind = Literal["consolidation", "tidy", "manual", "rules", "undo"]
"""`tidy`: a model shortened the bank, and no notes were folded."""
Action = Literal["created", "updated", "edited", "deleted"]


class NoteSource(LazyModel):
    """A note as it was stored, whole: consolidation does not destroy it."""

    note_id: NoteId
    raw: str
    encoding: Literal["utf-8", "base64"] = "utf-8"

    @model_validator(mode="after")
    def _can_be_given_back(self) -> Self:
        self.body()
        return self

    @classmethod
    def of(cls, note_id: str, body: bytes) -> "NoteSource":
        """The source for an object's bytes. Bytes that are not UTF-8 are kept as base64."""
        try:
            return cls(note_id=note_id, raw=body.decode())
        except UnicodeDecodeError:
            return cls(note_id=note_id, raw=base64.b64encode(body).decode(), encoding="base64")

    def body(self) -> bytes:
        """The object's bytes."""
        return base64.b64decode(self.raw) if self.encoding == "base64" else self.raw.encode()


class Before(LazyModel):
    """A file as it was, with the ETag that is the condition of its replacement.

    `record` names the record of the change that wrote it (keys.record_text), None if none did.
    """

    etag: str
    content: str
    record: Line | None = None


class FileChange(LazyModel):
    """One bank file of a change. `before` is None for a new one, `after` for a deleted one."""

    path: str
    action: Action
    before: Before | None
    after: str | None
    edits: list[dict[str, Any]] = []
    notes: list[str] = []
    """Ids of the notes that a whole-file answer says it rests on. Edits carry their own."""
    reason: str | None = None
    said: Action | None = None
    """The action that the answer named, where it differs from the one that was done."""
    sources: Sources | None = None
    """The notes on which its sections rest after the change. None where that is not known, and for a deleted file."""


class RemovedLine(LazyModel):
    """A line that went in a tidy run: its words stand together in no line of the new bank."""

    file: str
    line: str


class SynthesisChange(LazyModel):
    """`_synthesis.md` with its front matter, before and after. None where there is none."""

    before: Before | None
    after: str | None


class Record(StoredDocument):
    """`_consolidations/{n}_{first}_{last}.json`, and the plan of a run that is about to commit."""

    most_bytes: ClassVar[int] = 64 << 20

    number: Number
    run_id: Line
    uid: Line
    plan_of: Line | None = None
    """The run whose plan it is, if the plan waited for a person. `run_id` is the approval's own then."""
    approved_by: Line | None = None
    approved_at: Moment | None = None
    kind: RecordKind
    trigger: Line
    started_at: Moment
    committed_at: Moment
    model: Line | None = None
    """The model that folded its notes. None where garbage collection moved them here, and for changes by hand."""
    prompt_version: Line | None = None
    author: Line | None = None
    """The user who made a manual correction, a change of the rules or an undo, or ordered the move of old notes."""
    agent: Line | None = None
    """Set where only one agent's notes were folded."""
    undoes: Number | None = None
    undoes_kind: RecordKind | None = None
    """The kind of the change that it undoes. None: it is no undo, or its version did not keep it."""
    notes: list[NoteSource] = []
    files: list[FileChange] = []
    synthesis: SynthesisChange | None = None
    rules: FileChange | None = None
    """Set where the space's rules changed; its path is `_rules.md`."""
    rules_changed_at: Moment | None = None
    """The head's time of changed rules before this change, which an undo brings back."""
    discarded: list[dict[str, Any]] = []
    uncited: list[str] = []
    """Ids of folded notes that the answer neither cites nor discards, for the second time."""
    left_out: list[str] = []
    """Ids of the notes that the change leaves out for the first time: they stay live."""
    oversized_notes: OversizedNotes | None = None
    """The live notes that no prompt could hold."""
    warnings: list[BankWarning] = []
    """Parts of the change that differ from the order, and what it may have lost."""
    removed: list[RemovedLine] = []
    """Of a tidy run: what went, as far as it is listed (consolidation/tidying.py)."""
    usage: Usage = Usage()
    metrics: dict[str, Any] = {}

    def run(self) -> str:
        """The id of the run, or of the change by hand, that made it."""
        return self.plan_of or self.run_id

    def changed(self) -> list[FileChange]:
        """All files that the change writes, the rules among them."""
        return [*self.files, *([self.rules] if self.rules else [])]

    def written(self) -> dict[str, str | None]:
        """The new content of each path that the change writes, `_synthesis.md` among them. None for a deleted file."""
        files = {change.path: change.after for change in self.changed()}
        return files | ({keys.SYNTHESIS: self.synthesis.after} if self.synthesis else {})

    def metadata(self) -> dict[str, str]:
        """The metadata of an object that the change writes. So a reader of a file sees its consolidation without the
        records, and finds the notes on which the file rests.
        """
        return {"consolidation": str(self.number), "record": keys.record_text(self.name())}

    def folds(self) -> bool:
        """Whether a model folded notes into the bank. False where garbage collection moved old notes here."""
        return self.kind == "consolidation" and self.model is not None

    def is_by_model(self) -> bool:
        """Whether a model drew it up, so that a person may have to approve it."""
        return self.kind in ("consolidation", "tidy") and self.model is not None

    def growth(self) -> int:
        """By how many characters it changes the length of the bank."""
        befores = (len(change.before.content) for change in self.files if change.before)
        return sum(len(change.after or "") for change in self.files) - sum(befores)

    def consolidations(self) -> int:
        """By how much the change changes the number of consolidations in force."""
        if self.kind == "undo":
            # Only an undo of a consolidation has notes to give back.
            return -1 if self.notes else 0
        return 1 if self.kind == "consolidation" else 0

    def sources_of(self, path: str) -> Sources | None:
        """The sources of the sections of a file that it changed, if the record has them."""
        return next((change.sources for change in self.files if change.path == path), None)

    def name(self) -> keys.RecordName:
        """The record's file name: its number and the times of its notes, or of its commit where it has no notes."""
        times = sorted(source.note_id[:15] for source in self.notes)
        moment = self.committed_at.replace("-", "").replace(":", "")[:15]
        return keys.RecordName(self.number, times[0] if times else moment, times[-1] if times else moment)


def by_hand(head: Head, run_id: str, kind: RecordKind, author: str, now: datetime) -> Record:
    """The record of a change that `author` orders, the next one after `head`, without its contents."""
    return Record(
        number=head.meta.changes + 1,
        run_id=run_id,
        uid=head.meta.uid,
        kind=kind,
        trigger="api",
        started_at=clocks.iso_millis(now),
        committed_at=clocks.iso(now),
        author=author,
        rules_changed_at=head.meta.rules_changed_at,
    )


def names(process: Process, space_id: str, *, since: int = 0, limit: int | None = None) -> list[keys.RecordName]:
    """The names of all records from number `since` on, oldest first: one LIST per 1,000."""
    start = f"{RECORD.prefix(space_id)}{since:06d}" if since > 0 else ""
    entries = process.store.scan(RECORD.prefix(space_id), start_after=start, limit=limit)
    return [replace(name, etag=entry.etag) for entry in entries if (name := RECORD.last(entry.key))]


def read(process: Process, space_id: str, name: keys.RecordName) -> Record:
    """One record: 1 GET, none where this process has read it and it was just listed with the same ETag.

    Raises ObjectUnreadable; StoreUnavailable if it is gone since it was listed (a lifecycle rule may have removed it).
    """
    key = RECORD.key(space_id, name)
    body = process.reads.get(bytes, key, name.etag) if name.etag else None
    if body is not None:
        return Record.from_bytes(body)
    item = process.store.get(key)
    if not item:
        raise StoreUnavailable(f"The record of consolidation {name.number} is missing.")
    record = unreadable.parsed(process, Record, item)
    process.reads.put(key, item.etag, item.body, [item.body])
    return record


def read_each(
    process: Process, space_id: str, record_names: Sequence[keys.RecordName]
) -> list[Record | ObjectUnreadable]:
    """Each record, or the error in its place: for callers that continue without unreadable records."""

    def read_one(name: keys.RecordName) -> Record | ObjectUnreadable:
        try:
            return read(process, space_id, name)
        except ObjectUnreadable as error:
            return error

    return process.store.map(read_one, record_names)


def get(process: Process, space_id: str, number: int) -> Record:
    """The record of consolidation `number`: 1 LIST, 1 GET. Raises NotFound."""
    for name in names(process, space_id, since=number, limit=1):
        if name.number == number:
            return read(process, space_id, name)
    raise NotFound("consolidation", str(number))


def written_by(item: Object) -> str | None:
    """The record of the change that wrote the object, as its metadata names it. None for an object that the service did
    not write.
    """
    return item.metadata.get("record")


def find(process: Process, space_id: str, text: str, missing: list[str] | None = None) -> Record | None:
    """The record that an object's metadata names (keys.record_text): 1 GET.

    None if it is gone, or cannot be read: then its key is added to `missing`. Raises StoreUnavailable if the store does
    not answer.
    """
    name = keys.parse_record_text(text)
    item = process.store.get(RECORD.key(space_id, name)) if name else None
    return unreadable.tolerated(process, Record, item, missing) if item else None


def undone(records: Iterable[Record]) -> set[int]:
    """The numbers of the consolidations that the given records undo."""
    return {record.undoes for record in records if record.undoes is not None}


@dataclass(frozen=True)
class KeptNote:
    """A note in the records: its object's bytes, and the number of the consolidation that holds it. The number is None
    where an undo gave it back: then it is live, or was and is being brought back.
    """

    body: bytes
    consolidation: int | None


def find_note(process: Process, space_id: str, name: keys.NoteName) -> KeptNote | None:
    """A note as the records hold it, None if none does: 1 LIST, and the records whose times cover it.

    Raises ObjectUnreadable where none of them holds it, and one that may hold it cannot be read.
    """
    notes, missing = _find_notes(process, space_id, [name])
    if name.note_id not in notes and missing:
        raise missing[0]
    return notes.get(name.note_id)


def find_notes(process: Process, space_id: str, note_names: Sequence[keys.NoteName]) -> dict[str, KeptNote]:
    """Several notes by their ids, as far as the records can be read: 1 LIST, and the records whose times cover one of
    them.
    """
    return _find_notes(process, space_id, note_names)[0]


def note_ids_at(process: Process, space_id: str, time: str) -> list[str]:
    """The ids of the notes of a second (keys.compact_time) in the records: 1 LIST, and the records that may hold them.

    Raises ObjectUnreadable where there is none, and a record that may hold one cannot be read.
    """
    covering = [record for record in names(process, space_id) if record.first <= time <= record.last]
    notes, missing = [], []
    for record in _read_in_turn(process, space_id, covering):
        if isinstance(record, ObjectUnreadable):
            missing.append(record)
        else:
            notes += [source.note_id for source in record.notes if source.note_id.startswith(f"{time}_")]
    if missing and not notes:
        raise missing[0]
    return notes


def _find_notes(
    process: Process, space_id: str, note_names: Sequence[keys.NoteName]
) -> tuple[dict[str, KeptNote], list[ObjectUnreadable]]:
    """The notes that are found, and an error for each record that cannot be read."""
    if not note_names:
        return {}, []
    ids = {name.note_id for name in note_names}
    covering = [record for record in names(process, space_id) if any(record.covers(name) for name in note_names)]
    notes: dict[str, KeptNote] = {}
    missing: list[ObjectUnreadable] = []
    for record in _read_in_turn(process, space_id, covering):
        if isinstance(record, ObjectUnreadable):
            missing.append(record)
            continue
        for source in record.notes:
            if source.note_id in ids:
                # Oldest first: an undo gives the note back, a later consolidation takes it again.
                number = None if record.kind == "undo" else record.number
                notes[source.note_id] = KeptNote(source.body(), number)
    return notes, missing


def _read_in_turn(
    process: Process, space_id: str, record_names: Sequence[keys.RecordName]
) -> Iterator[Record | ObjectUnreadable]:
    """As `read_each`, a few at once."""
    for start in range(0, len(record_names), AT_ONCE):
        yield from read_each(process, space_id, record_names[start : start + AT_ONCE])
