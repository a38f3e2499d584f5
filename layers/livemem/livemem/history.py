"""The history of a bank as users read it, and which notes each of its sections rests on."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from livemem import bank, diffs, keys, notes, records, sections, spaces
from livemem.blocks import SectionError
from livemem.errors import InvalidRequest
from livemem.records import FileChange, Record
from livemem.store import Store

PREAMBLE = ()
"""The path of the text before a file's first heading."""

SectionPath = tuple[str, ...]


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


@dataclass(frozen=True)
class Source:
    """A note that a section rests on, and the consolidation that brought it in."""

    note_id: str
    consolidation: int


@dataclass(frozen=True)
class Cited:
    """A section of a file with its sources, oldest first, and the manual corrections of it."""

    heading: str
    path: list[str]
    sources: list[Source]
    corrections: list[int]


@dataclass
class _Trace:
    text: str
    sources: dict[str, int] = field(default_factory=dict)
    corrections: list[int] = field(default_factory=list)


def page(store: Store, space_id: str, *, limit: int, before: int | None) -> tuple[list[Summary], int | None]:
    """Changes newest first, those with a number below `before`; and the number to continue with, or None.

    1 LIST per 1,000 records and 1 GET per change shown, and what is needed to know which of them are undone.
    """
    spaces.load_recent(store, space_id)
    newest_first = list(reversed(records.names(store, space_id)))
    names = [name for name in newest_first if before is None or name.number < before]
    shown = names[:limit]
    read = records.read_many(store, space_id, shown)
    later = records.read_many(store, space_id, newest_first[: len(newest_first) - len(names)])
    gone = records.undone([*later, *read])
    more = shown[-1].number if len(names) > limit else None
    return [_summary(record, record.number in gone) for record in read], more


def read(store: Store, space_id: str, number: int) -> Detail:
    """One change with sources, diffs and metrics; raises NotFound."""
    spaces.load_recent(store, space_id)
    record = records.get(store, space_id, number)
    later = [name for name in records.names(store, space_id) if name.number > number]
    undone = number in records.undone(records.read_many(store, space_id, later))
    synthesis = record.synthesis
    return Detail(
        summary=_summary(record, undone),
        sources=[
            notes.parse_note(space_id, keys.parse_note_id(source.note_id), source.body()) for source in record.notes
        ],
        changes=diffs.changes(record),
        synthesis={
            "before": bank.parse_synthesis(synthesis.before.content).content
            if synthesis and synthesis.before
            else None,
            "after": bank.parse_synthesis(synthesis.after).content if synthesis and synthesis.after else None,
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
    store: Store, space_id: str, path: str, *, at: int | None, sources: bool
) -> tuple[bank.File, list[Cited] | None]:
    """A bank file as it is or stood after change `at`, and what its sections rest on if `sources`.

    Raises InvalidName, NotFound, InvalidRequest for both at once.
    """
    if at is not None and sources:
        raise InvalidRequest.of("sources", "is about the file as it is now; leave `at` out")
    if at is not None:
        spaces.load_recent(store, space_id)
        return bank.read_at(store, space_id, path, at), None
    file = bank.read(store, space_id, path)
    return file, citations(store, space_id, path, content=file.content or "") if sources else None


def citations(store: Store, space_id: str, path: str, *, content: str) -> list[Cited]:
    """For each section of `content`, the file's text now: the notes that it rests on.

    Replays the records of all changes that stand. Raises InvalidName.
    """
    bank.check_path(path)
    everything = records.read_many(store, space_id, records.names(store, space_id))
    gone = records.undone(everything)
    standing = [record for record in everything if record.kind != "undo" and record.number not in gone]
    own = _own_texts(content)
    traces = {section: _Trace(text) for section, text in own.items()} | trace(standing, path)
    return [
        Cited(
            heading=section[-1] if section else "",
            path=list(section),
            sources=[Source(note_id, number) for note_id, number in traces[section].sources.items()],
            corrections=traces[section].corrections,
        )
        for section, text in own.items()
        if section or text.strip()
    ]


def trace(standing: Iterable[Record], path: str) -> dict[SectionPath, _Trace]:
    """What each section of the file came from, after the given changes in their order.

    A section's own text (without its sub-sections) that a change rewrote rests on the notes of the edits that address
    the section or one above it; where an edit or a whole-file answer cites none, on all notes that the change folded
    and did not discard. What it rested on before it still does, because an edit keeps what holds.
    """
    traces: dict[SectionPath, _Trace] = {}
    for record in standing:
        change = next((change for change in record.files if change.path == path), None)
        if not change:
            continue
        own = _own_texts(change.after or "")
        earned = _credits(record, change, list(own))
        after: dict[SectionPath, _Trace] = {}
        for section, text in own.items():
            kept = traces.get(section)
            new = _Trace(text, dict(kept.sources), list(kept.corrections)) if kept else _Trace(text)
            # Blank lines at a section's end belong to the seam with the next one.
            if text.strip() and (not kept or kept.text.strip() != text.strip()):
                if record.kind == "manual":
                    new.corrections.append(record.number)
                for note_id in earned[section]:
                    new.sources.setdefault(note_id, record.number)
            after[section] = new
        traces = after
    return traces


def _credits(record: Record, change: FileChange, paths: list[SectionPath]) -> dict[SectionPath, list[str]]:
    """For each section of the changed file, the notes that a rewritten text of it rests on."""
    discarded = {item.get("note_id") for item in record.discarded}
    folded = [source.note_id for source in record.notes if source.note_id not in discarded]
    earned: dict[SectionPath, list[str]] = {path: [] for path in paths}
    if change.action in ("created", "updated"):
        whole = change.notes or ([] if change.edits else folded)
        earned = {path: list(whole) for path in paths}
    for edit in change.edits:
        for target in _addressed(change.after or "", str(edit["heading"])):
            for path in paths:
                if path[: len(target)] == target:
                    earned[path] += edit.get("notes") or folded
    return earned


def _addressed(content: str, heading: str) -> list[SectionPath]:
    try:
        return [section.path for section in sections.addressed(content, heading)]
    except SectionError:
        return []


def _own_texts(content: str) -> dict[SectionPath, str]:
    """Each section's own text; sections of the same path are taken together."""
    try:
        found: dict[SectionPath, str] = {PREAMBLE: sections.preamble(content)}
        for section in sections.list_sections(content):
            found[section.path] = found.get(section.path, "") + sections.own_text(content, section)
    except SectionError:
        # Nested beyond what the parser follows: then the file is one piece of text.
        return {PREAMBLE: content}
    return found


def check_number(text: str) -> int:
    """The number of a consolidation in a path; raises InvalidRequest."""
    if not text.isdecimal() or len(text) > 9:
        raise InvalidRequest.of("number", "must be the number of a consolidation")
    return int(text)
