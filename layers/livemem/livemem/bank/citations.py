"""Which notes each section of a bank file rests on."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from livemem.bank import files
from livemem.changes import records
from livemem.changes.records import FileChange, Record
from livemem.markdown import sections
from livemem.markdown.blocks import SectionError
from livemem.process import Process

PREAMBLE = ()
"""The path of the text before a file's first heading."""


SectionPath = tuple[str, ...]


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


def citations(process: Process, space_id: str, path: str, *, content: str) -> list[Cited]:
    """For each section of `content`, the file's text now: the notes that it rests on.

    Replays the records of all changes that stand. Raises InvalidName.
    """
    files.check_path(path)
    everything = records.read_many(process, space_id, records.names(process, space_id))
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
