"""From an answer to the changes of the bank, in memory, with the last checks before anything is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from livemem.bank import files, paths
from livemem.bank.files import BankFile
from livemem.changes.records import Before, FileChange
from livemem.consolidation.answer import ConsolidationAnswer, ContractError, FileAnswer
from livemem.markdown.blocks import SectionError
from livemem.markdown.edits import Edit, apply_edits

SHRINK_FACTOR = 2
"""A file that shrinks to less than half needs a stated reason (docs/consolidation.md)."""


@dataclass(frozen=True)
class DrawnUp:
    """The changes that an answer makes. Numbers are those of the notes in the prompt, from 1."""

    files: list[FileChange]
    unchanged: int
    edits_applied: int
    cited: frozenset[int]
    discarded: Mapping[int, str]
    uncited: frozenset[int]


def draw_up(answer: ConsolidationAnswer, bank: Sequence[BankFile], note_ids: Sequence[str]) -> DrawnUp:
    """The changes that `answer` makes to `bank`. Raises ContractError if one of them must not be written.

    `note_ids` are those of the prompt's notes in order. Changes cite ids, because numbers mean nothing later.
    """
    cited = {number for entry in answer.bank_files for number in (*entry.notes, *_edit_notes(entry))}
    discarded = {item.note: item.reason for item in answer.discarded}
    _check_numbers(cited, discarded, len(note_ids))
    existing = {file.path: file for file in bank}
    changes: list[FileChange] = []
    seen: set[str] = set()
    in_lower_case = {path.lower(): path for path in existing}
    for entry in answer.bank_files:
        path = _path(entry.filename)
        if path in seen:
            raise ContractError(f"Two entries for one file: {path}.")
        seen.add(path)
        twin = in_lower_case.setdefault(path.lower(), path)
        if path not in existing and twin != path:
            raise ContractError(f"{path} differs from {twin} in case only.")
        change = _change(entry, path, existing, note_ids)
        if change:
            changes.append(change)
    everything = set(range(1, len(note_ids) + 1))
    if not changes and everything - set(discarded):
        raise ContractError("The answer changes no file, yet it neither uses nor discards all notes.")
    return DrawnUp(
        files=changes,
        unchanged=len(existing) - sum(change.before is not None for change in changes),
        edits_applied=sum(len(change.edits) for change in changes),
        cited=frozenset(cited),
        discarded=discarded,
        uncited=frozenset(everything - cited - set(discarded)) if cited else frozenset(),
    )


def _path(filename: str) -> str:
    try:
        return paths.normalise_bank_path(filename)
    except paths.BankPathError as error:
        raise ContractError(f"filename {filename[:80]!r}: {error}") from None


def _change(
    entry: FileAnswer, path: str, existing: Mapping[str, BankFile], note_ids: Sequence[str]
) -> FileChange | None:
    before = existing.get(path)
    if entry.action == "edited" and not before:
        raise ContractError(f"{path} does not exist, so it can't be edited: create it with its whole content.")
    # An answer with a whole file is clear. Whether the file exists decides the action.
    replaced: Literal["created", "updated"] = "updated" if before else "created"
    action = "edited" if entry.action == "edited" else replaced
    start = before.content if before and action == "edited" else entry.content or ""
    after = _edited(entry, path, start)
    problem = files.content_problem(after)
    if problem:
        raise ContractError(f"{path}: {problem}.")
    reason = entry.reason or next((edit.reason for edit in entry.edits if edit.reason), None)
    if before:
        if after == before.content and not any(edit.op == "confirm_section" and edit.notes for edit in entry.edits):
            return None
        if len(after) * SHRINK_FACTOR < len(before.content) and not (reason and reason.strip()):
            raise ContractError(
                f"{path} would shrink from {len(before.content)} to {len(after)} characters. "
                "If that is right, state why in `reason`; else keep what still holds."
            )
    return FileChange(
        path=path,
        action=action,
        before=Before(etag=before.etag, content=before.content, record=before.record) if before else None,
        after=after,
        edits=[
            {**edit.model_dump(exclude_none=True), "notes": [note_ids[number - 1] for number in edit.notes]}
            for edit in entry.edits
        ],
        notes=[note_ids[number - 1] for number in sorted(set(entry.notes))],
        reason=reason,
        said=entry.action if entry.action not in ("edited", action) else None,
    )


def _edited(entry: FileAnswer, path: str, text: str) -> str:
    if not entry.edits:
        return text
    edits = [Edit(edit.op, edit.heading, edit.content, edit.after, tuple(edit.notes)) for edit in entry.edits]
    try:
        return apply_edits(text, edits)
    except SectionError as error:
        raise ContractError(f"{path}: {error}") from None


def _edit_notes(entry: FileAnswer) -> list[int]:
    return [number for edit in entry.edits for number in edit.notes]


def _check_numbers(cited: set[int], discarded: Mapping[int, str], note_count: int) -> None:
    unknown = sorted(number for number in cited | set(discarded) if not 1 <= number <= note_count)
    if unknown:
        raise ContractError(f"There is no note {unknown[0]}: notes have the numbers 1 to {note_count}.")
    both = sorted(cited & set(discarded))
    if both:
        raise ContractError(f"Note {both[0]} is both used and discarded.")
