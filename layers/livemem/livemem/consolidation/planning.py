"""From an answer to the changes of the bank, in memory, with the last checks before anything is written."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import Literal

from livemem.bank import files, paths
from livemem.bank.files import BankFile
from livemem.changes.records import Before, FileChange
from livemem.consolidation.answer import AnswerDraft, AnswerEdit, BrokenEntry, ContractError, FileAnswer
from livemem.llm.templates import json_line
from livemem.markdown.blocks import SectionError
from livemem.markdown.edits import Edit, apply_edits

SHRINK_FACTOR = 2
"""A file that shrinks to less than half needs a stated reason (docs/consolidation.md)."""
GONE_LINE = 200
"""Characters of each line that would go which a refusal shows."""
GONE_CHARACTERS = 1_000
"""The same of all of them together: a refusal is cut at 1,500 (llm/contract.py)."""
_WORD = re.compile(r"\w{4,}")


@dataclass(frozen=True)
class DrawnUp:
    """The changes that an answer makes. Numbers are those of the notes in the prompt, from 1.

    `broken` are the entries of files that can't be used, `readings` what was read though it has another form.
    """

    files: list[FileChange]
    unchanged: int
    edits_applied: int
    cited: frozenset[int]
    discarded: Mapping[int, str]
    uncited: frozenset[int]
    broken: tuple[BrokenEntry, ...] = ()
    readings: tuple[str, ...] = ()


def draw_up(
    draft: AnswerDraft,
    bank: Sequence[BankFile],
    note_ids: Sequence[str],
    check: Callable[[FileAnswer], None] = lambda _: None,
    refused: Mapping[str, str] = MappingProxyType({}),
) -> DrawnUp:
    """The changes that an answer makes to `bank`. Raises ContractError if it does nothing, and uses not all notes.

    An entry of a file that must not be written is set apart with its fault: one that `check` raises ContractError for,
    and one of a path in `refused`, which has the fault. `note_ids` are those of the prompt's notes in order. Changes
    cite ids, because numbers mean nothing later.
    """
    planner = _Planner(bank, note_ids, check, refused)
    entries, contradictory, repeated = _joined(draft.entries)
    for entry in entries:
        planner.add(entry)
    everything = set(range(1, len(note_ids) + 1))
    cited = planner.cited
    discarded = {number: reason for number, reason in draft.discarded.items() if number in everything - cited}
    broken = (*draft.broken, *contradictory, *planner.broken)
    if not planner.changes and not broken and everything - set(discarded):
        raise ContractError("The answer changes no file, yet it neither uses nor discards all notes.")
    return DrawnUp(
        files=planner.changes,
        unchanged=len(bank) - sum(change.before is not None for change in planner.changes),
        edits_applied=sum(len(change.edits) for change in planner.changes),
        cited=frozenset(cited),
        discarded=discarded,
        uncited=frozenset(everything - cited - set(discarded)) if cited else frozenset(),
        broken=broken,
        readings=(*draft.readings, *repeated, *planner.readings, *_odd_discards(draft.discarded, cited, everything)),
    )


class _Planner:
    """Draws up the entries of an answer one after the other."""

    def __init__(
        self,
        bank: Sequence[BankFile],
        note_ids: Sequence[str],
        check: Callable[[FileAnswer], None],
        refused: Mapping[str, str],
    ) -> None:
        self._check, self._refused = check, refused
        self.changes: list[FileChange] = []
        self.broken: list[BrokenEntry] = []
        self.readings: list[str] = []
        self.cited: set[int] = set()
        self._ids = note_ids
        self._existing = {file.path: file for file in bank}
        self._spelled = {path.lower(): path for path in self._existing}
        self._seen: set[str] = set()

    def add(self, entry: FileAnswer) -> None:
        """Draw up an entry, or set it apart."""
        try:
            self._check(entry)
            path = self._path(entry.filename)
            if path in self._refused:
                raise ContractError(self._refused[path])
            _check_numbers(entry.numbers(), len(self._ids))
            change = _change(entry, path, self._existing, self._ids)
        except ContractError as error:
            self.broken.append(_broken(entry, str(error)))
            return
        self.cited |= entry.numbers()
        self.changes += [change] if change else []

    def _path(self, filename: str) -> str:
        path = self._normal(filename)
        if path in self._seen:
            raise ContractError(f"Two entries for one file: {path}.")
        twin = self._spelled.setdefault(path.lower(), path)
        if path not in self._existing and twin != path:
            raise ContractError(f"{path} differs from {twin} in case only.")
        self._seen.add(path)
        return path

    def _normal(self, filename: str) -> str:
        try:
            return paths.normalise_bank_path(filename)
        except paths.BankPathError as error:
            with suppress(paths.BankPathError):
                # Bank files are Markdown, so only the ending can have been left out.
                if "." not in filename and filename.rstrip()[-1:].isalnum():
                    path = paths.normalise_bank_path(f"{filename.rstrip()}.md")
                    self.readings.append(f"The file name {filename[:80]!r} was read as {path}.")
                    return path
            raise ContractError(f"filename {filename[:80]!r}: {error}") from None


def _joined(entries: Sequence[FileAnswer]) -> tuple[list[FileAnswer], list[BrokenEntry], list[str]]:
    """The entries, with several that edit one file as one: their edits in their order mean the same. Other entries of
    one file contradict each other, and are set apart. An edit that comes twice is done once, and named.
    """
    groups: dict[str, list[FileAnswer]] = {}
    for entry in entries:
        groups.setdefault(same_file(entry.filename), []).append(entry)
    joined: list[FileAnswer] = []
    broken: list[BrokenEntry] = []
    repeated: list[str] = []
    for path, (first, *rest) in groups.items():
        if rest and any(entry.action != "edited" for entry in (first, *rest)):
            broken += [_broken(entry, f"Two entries for one file: {path}.") for entry in (first, *rest)]
            continue
        edits = [edit for entry in (first, *rest) for edit in entry.edits]
        once = _once(edits)
        if len(once) < len(edits):
            repeated.append(f"{path}: an edit that stands twice in the answer was done once.")
        more = {
            "edits": once,
            "notes": [number for entry in (first, *rest) for number in entry.notes],
            "reason": next((entry.reason for entry in (first, *rest) if entry.reason), None),
        }
        joined.append(first.model_copy(update=more))
    return joined, broken, repeated


def _once(edits: Iterable[AnswerEdit]) -> list[AnswerEdit]:
    """The edits without those that come a second time. Which notes they name makes no difference: the first one keeps
    them all.
    """
    unique: dict[str, AnswerEdit] = {}
    for edit in edits:
        key = edit.model_dump_json(exclude={"notes", "reason"})
        first = unique.setdefault(key, edit)
        if first is not edit:
            unique[key] = first.model_copy(update={"notes": [*first.notes, *edit.notes]})
    return list(unique.values())


def _broken(entry: FileAnswer, fault: str) -> BrokenEntry:
    return BrokenEntry(entry.filename, entry.model_dump(exclude_defaults=True), fault)


def same_file(filename: str) -> str:
    """What the spellings of one file's name have in common."""
    for name in (filename, f"{filename.rstrip()}.md"):
        with suppress(paths.BankPathError):
            return paths.normalise_bank_path(name)
    return filename


def _odd_discards(discarded: Mapping[int, str], cited: set[int], everything: set[int]) -> list[str]:
    """Sentences about discarded notes that are used, or are none."""
    overlap, none = sorted(set(discarded) & cited), sorted(set(discarded) - everything)
    return [
        *([f"Note {overlap[0]} is both used and discarded: it counts as used."] if overlap else []),
        *([f"There is no note {none[0]} to discard."] if none else []),
    ]


def _change(
    entry: FileAnswer, path: str, existing: Mapping[str, BankFile], note_ids: Sequence[str]
) -> FileChange | None:
    before = existing.get(path)
    entry = _addressed(entry, path)
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
        if len(after) * SHRINK_FACTOR < len(before.content) and not _says_why(reason):
            raise ContractError(
                f"{path} would shrink from {len(before.content)} to {len(after)} characters. These lines would go: "
                f"{_gone(before.content, after)} Keep those that still hold; `reason` says what ended the others."
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


def _says_why(reason: str | None) -> bool:
    return bool(_WORD.search(reason or ""))


def _gone(before: str, after: str) -> str:
    """The lines that a new text lacks, as a JSON array, up to GONE_CHARACTERS."""
    standing = {line.strip() for line in after.splitlines()}
    lines = [line.strip() for line in before.splitlines()]
    gone = list(dict.fromkeys(line[:GONE_LINE] for line in lines if line and line not in standing))
    ends = accumulate(len(line) for line in gone)
    quoted = [line for line, end in zip(gone, ends, strict=True) if end <= GONE_CHARACTERS]
    more = f" and {len(gone) - len(quoted)} more." if len(gone) > len(quoted) else ""
    return json_line(quoted) + more


def _edited(entry: FileAnswer, path: str, text: str) -> str:
    if not entry.edits:
        return text
    edits = [
        Edit(edit.op, edit.heading, edit.content, edit.after, tuple(edit.notes), edit.line or "")
        for edit in entry.edits
    ]
    try:
        return apply_edits(text, edits)
    except SectionError as error:
        raise ContractError(f"{path}: {error}") from None


def _addressed(entry: FileAnswer, path: str) -> FileAnswer:
    """The entry with addresses of sections without the file's name in front, as search names a section."""

    def bare(heading: str) -> str:
        text = heading.strip().removeprefix("bank/")
        return next(
            (text.removeprefix(begin) for begin in (f"{path} > ", f"{path}#") if text.startswith(begin)), heading
        )

    edits = [
        edit.model_copy(update={"heading": bare(edit.heading), "after": edit.after and bare(edit.after)})
        for edit in entry.edits
    ]
    return entry.model_copy(update={"edits": edits})


def _check_numbers(cited: set[int], note_count: int) -> None:
    unknown = sorted(number for number in cited if not 1 <= number <= note_count)
    if unknown:
        raise ContractError(f"There is no note {unknown[0]}: notes have the numbers 1 to {note_count}.")
