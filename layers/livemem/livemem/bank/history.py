"""The history of a bank as users read it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from livemem.bank import citations, files, time_travel
from livemem.bank import synthesis as syntheses
from livemem.bank.citations import Citations
from livemem.bank.synthesis import Synthesis
from livemem.changes import diffs, records
from livemem.changes.bank_warnings import BankWarning
from livemem.changes.records import Record, RemovedLine
from livemem.errors import InvalidRequest
from livemem.llm.usage import Usage
from livemem.notes import note as notes
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.store.bucket import RECORD


@dataclass(frozen=True)
class RecordSummary:
    """One change of the bank, without its contents."""

    number: int
    kind: str
    trigger: str
    run_id: str
    started_at: str
    committed_at: str
    model: str | None
    author: str | None
    approved_by: str | None
    approved_at: str | None
    undoes: int | None
    undone: bool
    notes_count: int
    files: list[dict[str, str]]
    metrics: dict[str, Any]


@dataclass(frozen=True)
class RecordDetail:
    """One change of the bank with its sources, as they stand now, and its diffs."""

    summary: RecordSummary
    sources: list[notes.Note]
    changes: list[dict[str, Any]]
    synthesis: dict[str, str | None]
    discarded: list[dict[str, Any]]
    uncited: list[str]
    left_out: list[str]
    warnings: list[BankWarning]
    removed: list[RemovedLine]
    prompt_version: str | None
    usage: Usage


def page(
    process: Process, space_id: str, *, limit: int, before: int | None, missing: list[str] | None = None
) -> tuple[list[RecordSummary], int | None]:
    """Changes with a number below `before`, newest first, and the number to continue with, or None.

    A record that cannot be read is left out, and its key is added to `missing`.

    1 LIST, and 1 GET for the head and for each change shown, however long the history is.
    """
    meta = heads.load(process, space_id).meta
    top = meta.changes + 1
    top = top if before is None else min(before, top)
    first = max(top - limit, 1)
    names = records.names(process, space_id, since=first, limit=limit)
    older = [name for name in reversed(names) if name.number < top]
    read = records.read_each(process, space_id, older)
    # A lifecycle rule may have removed the oldest records.
    more = first > 1 and (len(older) == top - first or any_before(process, space_id, first))
    if missing is not None:
        missing += [
            RECORD.key(space_id, name)
            for name, record in zip(older, read, strict=True)
            if not isinstance(record, Record)
        ]
    items = [summary(record, undone=was_undone(meta, record)) for record in read if isinstance(record, Record)]
    return items, first if more else None


def any_before(process: Process, space_id: str, number: int) -> bool:
    """Whether there is a record of an earlier change: 1 LIST."""
    return any(name.number < number for name in records.names(process, space_id, limit=1))


def was_undone(meta: Meta, record: Record) -> bool:
    """Whether a change was undone, as the head shows it."""
    return record.kind != "undo" and any(low <= record.number <= high for low, high in meta.undone or ())


def read(process: Process, space_id: str, number: int) -> RecordDetail:
    """One change with sources, diffs and metrics. Raises NotFound."""
    meta = heads.load(process, space_id).meta
    record = records.get(process, space_id, number)
    undone = was_undone(meta, record)
    return detail(space_id, record, undone=undone, consolidations=_holders(process, space_id, record, undone))


def _holders(process: Process, space_id: str, record: Record, undone: bool) -> dict[str, int]:
    """The number of the consolidation that holds each source of the record, for sources that are consolidated now."""
    if record.kind == "consolidation" and not undone:
        return {source.note_id: record.number for source in record.notes}
    # Its notes came back to life, and may have been folded again since.
    names = [keys.parse_note_id(source.note_id) for source in record.notes]
    notes = records.find_notes(process, space_id, names)
    return {note_id: note.consolidation for note_id, note in notes.items() if note.consolidation is not None}


def detail(space_id: str, record: Record, *, undone: bool, consolidations: Mapping[str, int]) -> RecordDetail:
    """A record as users read it. `consolidations` has that of each source that is not live."""
    synthesis = record.synthesis
    return RecordDetail(
        summary=summary(record, undone=undone),
        sources=[_source(space_id, source, consolidations.get(source.note_id)) for source in record.notes],
        changes=diffs.changes(record),
        synthesis={
            "before": syntheses.parse_synthesis(synthesis.before.content).content
            if synthesis and synthesis.before
            else None,
            "after": syntheses.parse_synthesis(synthesis.after).content if synthesis and synthesis.after else None,
        },
        discarded=record.discarded,
        uncited=record.uncited,
        left_out=record.left_out,
        warnings=record.warnings,
        removed=record.removed,
        prompt_version=record.prompt_version,
        usage=record.usage,
    )


def _source(space_id: str, source: records.NoteSource, number: int | None) -> notes.Note:
    note = notes.parse_note(space_id, keys.parse_note_id(source.note_id), source.body())
    return note if number is None else replace(note, status="consolidated", consolidation=number)


def summary(record: Record, *, undone: bool) -> RecordSummary:
    """A record as the history lists it."""
    return RecordSummary(
        number=record.number,
        kind=record.kind,
        trigger=record.trigger,
        run_id=record.run(),
        started_at=record.started_at,
        committed_at=record.committed_at,
        model=record.model,
        author=record.author,
        approved_by=record.approved_by,
        approved_at=record.approved_at,
        undoes=record.undoes,
        undone=undone,
        notes_count=len(record.notes),
        files=[{"path": change.path, "action": change.action} for change in record.changed()],
        metrics=record.metrics,
    )


def read_file(
    process: Process, space_id: str, path: str, *, at: str | None, sources: bool
) -> tuple[files.File, Citations | None]:
    """A bank file as it is, or stood at the time `at` (time_travel.then). With `sources` also the sources of its
    sections.

    Raises InvalidName, NotFound, InvalidRequest if both are given.
    """
    files.check_path(path)
    if at is not None and sources:
        raise InvalidRequest.of("sources", "works only for the current file: leave `at` out")
    if at is not None:
        return time_travel.file_at(process, space_id, path, time_travel.then(process, space_id, at)), None
    file = files.read(process, space_id, path)
    return file, citations.citations(process, space_id, file) if sources else None


def bank(process: Process, space_id: str, *, at: str | None, content: bool) -> list[files.File]:
    """All bank files as they are, or stood at the time `at`. Raises NotFound, InvalidRequest, Conflict."""
    if at is None:
        return files.listing(process, space_id, content=content)
    return time_travel.bank_at(process, space_id, time_travel.then(process, space_id, at), content=content)


def synthesis(process: Process, space_id: str, *, at: str | None) -> Synthesis:
    """The synthesis as it is, or stood at the time `at`. Raises NotFound, InvalidRequest, Conflict."""
    if at is None:
        return syntheses.read_synthesis(process, space_id)
    return time_travel.synthesis_at(process, space_id, time_travel.then(process, space_id, at))


def check_number(text: str) -> int:
    """The number of a consolidation in a path. Raises InvalidRequest."""
    # Python reads the digits of other scripts as numbers too.
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise InvalidRequest.of("number", "must be the number of a consolidation")
    return int(text)
