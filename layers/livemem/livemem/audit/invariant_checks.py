"""The invariants of a space as rules over what was read of it. Pure: no request is made here.

Why they hold: docs/reliability.md.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from livemem.audit.recorded import RecordedChange
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.store.keys import RecordName

SHOWN = 20
"""Pieces of evidence that are shown for one invariant."""

UNRECORDED = {keys.RULES_PATH}
"""Files that a space has from its creation on, without a record."""

Name = Literal[
    "records_numbered",
    "head_agrees",
    "notes_once",
    "records_joined",
    "bank_recorded",
    "sources_exist",
    "snapshots_agree",
    "nothing_orphaned",
    "all_readable",
]


@dataclass(frozen=True)
class Invariant:
    """Whether an invariant holds. `holds` None: it can't be told now, and `detail` says why. `looked_at`: how many
    things were compared. `evidence`: what breaks it, at most 20.
    """

    name: Name
    holds: bool | None
    looked_at: int
    detail: str | None = None
    evidence: tuple[str, ...] = ()


def judged(name: Name, looked_at: int, broken: Sequence[str], detail: str) -> Invariant:
    """The invariant holds unless something is `broken`. `detail`: what that means, as a sentence."""
    if not broken:
        return Invariant(name, holds=True, looked_at=looked_at)
    more = f" {len(broken) - SHOWN} more are not shown." if len(broken) > SHOWN else ""
    return Invariant(name, holds=False, looked_at=looked_at, detail=detail + more, evidence=tuple(broken[:SHOWN]))


def untold(name: Name, detail: str) -> Invariant:
    """The invariant could not be looked at."""
    return Invariant(name, holds=None, looked_at=0, detail=detail)


def records_numbered(names: Sequence[RecordName]) -> Invariant:
    """From the oldest record that there is, each number has one. A lifecycle rule may have removed older ones."""
    numbers = Counter(name.number for name in names)
    missing = set(range(min(numbers, default=1), max(numbers, default=0) + 1)) - numbers.keys()
    broken = [
        *(f"no record {number}" for number in sorted(missing)),
        *(f"{count} records {number}" for number, count in sorted(numbers.items()) if count > 1),
    ]
    return judged("records_numbered", len(names), broken, "A number of the history has no record, or several.")


def head_agrees(
    meta: Meta, names: Sequence[RecordName], changes: Sequence[RecordedChange], *, whole: bool
) -> Invariant:
    """The head names the newest change, and counts what stands. `whole`: `changes` are all of the history, so that the
    counts can be compared too.
    """
    if not names and meta.changes:
        return untold("head_agrees", "No record is left to compare the head with.")
    expected = {"changes": max((name.number for name in names), default=0)}
    if whole:
        stand = list(standing(changes))
        expected["consolidation_count"] = len(stand)
        expected["total_notes_processed"] = sum(len(change.notes) for change in stand)
    broken = [
        f"{name}: {getattr(meta, name)} in the head, {value} in the records"
        for name, value in expected.items()
        if getattr(meta, name) != value
    ]
    if whole:
        wrong = _undone(changes) ^ _undone(changes, meta.undone or ())
        broken += [f"undone: change {number} in one of head and records alone" for number in sorted(wrong)]
    return judged("head_agrees", len(expected), broken, "The head counts other changes than the history has.")


def _undone(changes: Sequence[RecordedChange], ranges: Sequence[tuple[int, int]] | None = None) -> set[int]:
    """The changes that were undone, by the head's ranges, else by the records. An undo is none of them."""
    if ranges is None:
        return {change.undoes for change in changes if change.undoes is not None}
    numbers = (change.number for change in changes if change.undoes is None)
    return {number for number in numbers if any(first <= number <= last for first, last in ranges)}


def standing(changes: Sequence[RecordedChange], undone: Sequence[tuple[int, int]] = ()) -> Iterator[RecordedChange]:
    """The consolidations that no undo took back, by the records and by the head's ranges of undone changes."""
    gone = {change.undoes for change in changes}
    for change in changes:
        stands = change.kind == "consolidation" and change.number not in gone
        if stands and not any(first <= change.number <= last for first, last in undone):
            yield change


def notes_once(changes: Sequence[RecordedChange], meta: Meta, live: Collection[str]) -> Invariant:
    """Each note is live, or in exactly one standing consolidation. Known late duplicates are neither."""
    folded = Counter(note for change in standing(changes, meta.undone or ()) for note in change.notes)
    twice = [f"{note} is folded {count} times" for note, count in folded.items() if count > 1]
    pair = [f"{note} is live and folded" for note in folded.keys() & set(live) - set(meta.late_duplicates)]
    return judged("notes_once", len(folded) + len(live), sorted([*twice, *pair]), "A note is in more than one place.")


def records_joined(changes: Sequence[RecordedChange]) -> Invariant:
    """Each change of a file begins with the text that the one before it left. `changes`: oldest first."""
    result: dict[str, tuple[int, str | None]] = {}
    broken, compared = [], 0
    for change in changes:
        if change.lost:
            # Nobody knows which files it changed.
            result.clear()
        for path, file in change.files.items():
            if path in result:
                compared += 1
                number, text = result[path]
                if text != file.before:
                    broken.append(f"{path}: change {change.number} does not begin with what change {number} left")
            result[path] = change.number, file.after
    detail = "A file was changed in the bucket itself between two changes."
    return judged("records_joined", compared, broken, detail)


def bank_recorded(
    changes: Sequence[RecordedChange], now: Mapping[str, str | None], unread: Collection[str], *, whole: bool
) -> Invariant:
    """Each file is as the last record of it left it. `now`: digests of the files that there are, without the `unread`
    ones. `whole`: the changes are all of the history, so that a file without a record came from elsewhere.
    """
    result: dict[str, str | None] = {}
    for change in changes:
        if change.lost:
            # Nobody knows which files it changed.
            result.clear()
        result |= {path: file.after for path, file in change.files.items()}
    compared = {path: text for path, text in result.items() if path not in unread}
    broken = [f"{path} is not as the last change left it" for path, text in compared.items() if now.get(path) != text]
    if whole:
        broken += [f"{path} has no record" for path in now.keys() - result.keys() - UNRECORDED]
    looked_at = len(compared.keys() | now.keys())
    return judged("bank_recorded", looked_at, sorted(broken), "A file was changed in the bucket itself.")


def sources_exist(sources: Mapping[str, Mapping[str, int]], names: Sequence[RecordName]) -> Invariant:
    """Each source of a section is a note that its record can hold. `sources`: by path, the notes with the number of
    the change that brought them in.
    """
    by_number = {name.number: name for name in names}
    oldest = min(by_number, default=0)
    broken, looked = [], 0
    for path, notes in sources.items():
        for note_id, number in notes.items():
            looked += 1
            # A lifecycle rule may have removed the oldest records.
            if number >= oldest and not _can_hold(by_number.get(number), note_id):
                broken.append(f"{path} rests on {note_id} of change {number}")
    return judged("sources_exist", looked, broken, "A section rests on a note that its change does not have.")


def _can_hold(name: RecordName | None, note_id: str) -> bool:
    return name is not None and name.first <= note_id[:15] <= name.last
