"""The history of a bank as users read it."""

from dataclasses import dataclass
from typing import Any

from livemem.bank import citations, files, time_travel
from livemem.bank import synthesis as syntheses
from livemem.bank.citations import Citations
from livemem.changes import diffs, records
from livemem.changes.records import Record
from livemem.errors import InvalidRequest
from livemem.notes import note as notes
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import keys


@dataclass(frozen=True)
class Summary:
    """One change of the bank, without its contents."""

    number: int
    kind: str
    trigger: str
    run_id: str
    started_at: str
    committed_at: str
    model: str | None
    author: str | None
    undoes: int | None
    undone: bool
    notes_count: int
    files: list[dict[str, str]]
    metrics: dict[str, Any]


@dataclass(frozen=True)
class Detail:
    """One change of the bank with its sources and diffs."""

    summary: Summary
    sources: list[notes.Note]
    changes: list[dict[str, Any]]
    synthesis: dict[str, str | None]
    discarded: list[dict[str, Any]]
    prompt_version: str | None
    usage: dict[str, int]


def page(process: Process, space_id: str, *, limit: int, before: int | None) -> tuple[list[Summary], int | None]:
    """Changes newest first, those with a number below `before`; and the number to continue with, or None.

    1 LIST per 1,000 records and 1 GET per change shown, and what is needed to know which of them are undone.
    """
    heads.load_recent(process, space_id)
    newest_first = list(reversed(records.names(process, space_id)))
    names = [name for name in newest_first if before is None or name.number < before]
    shown = names[:limit]
    read = records.read_many(process, space_id, shown)
    later = records.read_many(process, space_id, newest_first[: len(newest_first) - len(names)])
    gone = records.undone([*later, *read])
    more = shown[-1].number if len(names) > limit else None
    return [_summary(record, record.number in gone) for record in read], more


def read(process: Process, space_id: str, number: int) -> Detail:
    """One change with sources, diffs and metrics; raises NotFound."""
    heads.load_recent(process, space_id)
    record = records.get(process, space_id, number)
    later = [name for name in records.names(process, space_id) if name.number > number]
    undone = number in records.undone(records.read_many(process, space_id, later))
    return detail(space_id, record, undone=undone)


def detail(space_id: str, record: Record, *, undone: bool) -> Detail:
    """A record as users read it."""
    synthesis = record.synthesis
    return Detail(
        summary=_summary(record, undone),
        sources=[
            notes.parse_note(space_id, keys.parse_note_id(source.note_id), source.body()) for source in record.notes
        ],
        changes=diffs.changes(record),
        synthesis={
            "before": syntheses.parse_synthesis(synthesis.before.content).content
            if synthesis and synthesis.before
            else None,
            "after": syntheses.parse_synthesis(synthesis.after).content if synthesis and synthesis.after else None,
        },
        discarded=record.discarded,
        prompt_version=record.prompt_version,
        usage=record.usage,
    )


def _summary(record: Record, undone: bool) -> Summary:
    return Summary(
        number=record.number,
        kind=record.kind,
        trigger=record.trigger,
        run_id=record.run_id,
        started_at=record.started_at,
        committed_at=record.committed_at,
        model=record.model,
        author=record.author,
        undoes=record.undoes,
        undone=undone,
        notes_count=len(record.notes),
        files=[{"path": change.path, "action": change.action} for change in record.files],
        metrics=record.metrics,
    )


def read_file(
    process: Process, space_id: str, path: str, *, at: int | None, sources: bool
) -> tuple[files.File, Citations | None]:
    """A bank file as it is or stood after change `at`, and what its sections rest on if `sources`.

    Raises InvalidName, NotFound, InvalidRequest for both at once.
    """
    if at is not None and sources:
        raise InvalidRequest.of("sources", "is about the file as it is now; leave `at` out")
    if at is not None:
        heads.load_recent(process, space_id)
        return time_travel.read_at(process, space_id, path, at), None
    file = files.read(process, space_id, path)
    return file, citations.citations(process, space_id, file) if sources else None


def check_number(text: str) -> int:
    """The number of a consolidation in a path; raises InvalidRequest."""
    if not text.isdecimal() or len(text) > 9:
        raise InvalidRequest.of("number", "must be the number of a consolidation")
    return int(text)
