"""Of which version of the code the lines of a bank file are: that of the notes that a line was written from.

A line keeps it as long as it stands, in any section. A line that a person wrote has none, nor one from notes of
several branches.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property

from livemem.changes.records import FileChange, NoteSource, Record
from livemem.changes.section_sources import State
from livemem.markdown import front_matter
from livemem.text import text_tokens
from livemem.text.code_version import UNKNOWN, CodeVersion, line_key

MOST_COMPARED = 250_000
"""Pairs of texts that are compared for a file, in about a second. Lines beyond them have no version."""


def after(state: State, record: Record, change: FileChange) -> dict[str, CodeVersion]:
    """The versions of the lines of the file after the change, by their keys. Before it they were those of `state`."""
    former = {key: code for trace in state.values() for key, code in trace.lines.items()}
    notes = {source.note_id: _Note(source) for source in record.notes}
    if not former and not any(note.code.branch for note in notes.values()):
        return {}
    stood = _by_key(change.before.content if change.before else "")
    now = _by_key(change.after or "")
    lines = {key: former[key] for key in former.keys() & now.keys() & stood.keys()}
    new = {key: line for key, line in now.items() if key not in stood}
    # A new line may say in other words what stood, unless a person wrote it.
    gone = {
        key: text_tokens.read(line).words for key, line in stood.items() if key not in now and record.kind != "manual"
    }
    cited = _cited(record, change)
    if len(new) * max(len(gone), len(notes)) > MOST_COMPARED:
        return lines
    for key, line in new.items():
        of_line = [notes[note_id] for note_id in cited.get(key, cited[""]) if note_id in notes]
        code = _of_notes(line, of_line) if of_line else former.get(_nearest(line, gone), UNKNOWN)
        if code.branch:
            lines[key] = code
    return lines


class _Note:
    """A folded note: the version of its code, and its words, which few lines need."""

    def __init__(self, source: NoteSource) -> None:
        self.code, self._text = UNKNOWN, source.raw
        if "\nbranch: " in source.raw:
            with suppress(ValueError):
                fields, self._text = front_matter.read(source.raw)
                self.code = CodeVersion.read(fields)

    @cached_property
    def words(self) -> frozenset[str]:
        return text_tokens.read(self._text).words


def _of_notes(line: str, notes: list[_Note]) -> CodeVersion:
    """The version of the last one, if all are of the same branch; else that of the one whose words the line has."""
    if len({(note.code.repository, note.code.branch) for note in notes}) == 1:
        return notes[-1].code
    best = _nearest(line, {str(place): note.words for place, note in enumerate(notes)})
    return notes[int(best)].code if best else UNKNOWN


def _nearest(line: str, words: Mapping[str, frozenset[str]]) -> str:
    """The text that has most words of a line, if these are more than half of them. Else empty."""
    own = text_tokens.read(line).words
    best = max(words, key=lambda other: len(own & words[other]), default="")
    return best if best and 2 * len(own & words[best]) > len(own) else ""


def _by_key(text: str) -> dict[str, str]:
    return {line_key(line): line for line in text.splitlines() if text_tokens.read(line).words}


def _cited(record: Record, change: FileChange) -> dict[str, Iterable[str]]:
    """The notes that new lines are from, in their order, by the keys of the lines. Under the empty key those of all
    others: of an answer with the whole file the notes that it cites, else all that the change folded.
    """
    cited: dict[str, set[str]] = {}
    for edit in change.edits:
        for line in str(edit.get("content") or "").splitlines():
            cited.setdefault(line_key(line), set()).update(edit.get("notes") or ())
    cited[""] = set() if change.edits else set(change.notes) or {source.note_id for source in record.notes}
    return {key: sorted(note_ids) for key, note_ids in cited.items()}
