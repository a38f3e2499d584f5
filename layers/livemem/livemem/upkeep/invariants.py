"""Whether the invariants of a space hold, looked at in the bucket when somebody asks. Nothing is stored or repaired.
The rules are pure: they say what is wrong with what was read. Why they hold: docs/reliability.md.

Records are compared without their texts: there are many, and each may hold a whole bank.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from livemem.bank import files
from livemem.changes import orphans, records
from livemem.changes.records import Before, Record
from livemem.errors import ObjectUnreadable
from livemem.memories import replay
from livemem.process import Process
from livemem.spaces import contents, unreadable
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.store import bucket, keys
from livemem.store.bucket import BANK_FILE, IN_SPACE
from livemem.store.keys import RecordName

MOST_LIVE = 20_000
"""Live notes that are compared with the records, the oldest ones: 20 LIST."""
MOST_FILES = 200
"""Bank files that are read, with the records that wrote them."""

BUSY = "A change of this space is being applied, or something is being erased. Ask again."
CHANGED = "The space changed during the check. Ask again."
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


def recorded(process: Process, space_id: str, names: Sequence[RecordName]) -> list[RecordedChange]:
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


@dataclass(frozen=True)
class InvariantsPage:
    """The invariants, as far as the changes `first` to `last` show them. `before`: the number before which the next
    page of changes begins, None where there is none. `holds`: whether all do; None if none is broken, and some can't be
    told.
    """

    holds: bool | None
    first: int
    last: int
    invariants: list[Invariant]
    before: int | None


@dataclass(frozen=True)
class _Seen:
    """The head, all records by name, and the records of the page, oldest first."""

    head: Head
    names: list[RecordName]
    page: list[RecordedChange]
    newest: bool
    whole: bool
    """Whether the page is all of the history."""

    @property
    def meta(self) -> Meta:
        return self.head.meta


@dataclass(frozen=True)
class _Bank:
    """Digests of the files, the synthesis and the rules as they are; the sources of each file; the files not read."""

    texts: Mapping[str, str | None]
    sources: Mapping[str, Mapping[str, int]]
    unread: Collection[str]


def page(process: Process, space_id: str, *, limit: int, before: int | None = None) -> InvariantsPage:
    """The invariants, over `limit` changes with a number below `before`, the newest ones first.

    2 GET of the head. 1 LIST per 1,000 changes, and 1 GET for each of the page. 1 LIST per 1,000 live notes, at most
    20. On the page of the newest changes also 1 LIST of the bank, 1 GET for each file, at most 200, and for each
    record that wrote one, 2 for rules and synthesis, 1 LIST of the due index, and the requests of orphans.find and
    replay.compare. Raises NotFound.
    """
    seen = _look(process, space_id, limit, before)
    result = _judge(process, seen)
    after = heads.load(process, space_id).meta
    moved = (after.changes, after.last_run) != (seen.meta.changes, seen.meta.last_run) or _busy(after)
    if moved:
        result = [untold(item.name, BUSY if _busy(after) else CHANGED) if not item.holds else item for item in result]
    first = min((change.number for change in seen.page), default=0)
    older = any(name.number < first for name in seen.names)
    verdicts = {item.holds for item in result}
    return InvariantsPage(
        holds=False if False in verdicts else None if None in verdicts else True,
        first=first,
        last=max((change.number for change in seen.page), default=0),
        invariants=result,
        before=first if older else None,
    )


def _busy(meta: Meta) -> bool:
    return bool(meta.committed_run or meta.erasing_now())


def _look(process: Process, space_id: str, limit: int, before: int | None) -> _Seen:
    head = heads.load(process, space_id)
    names = records.names(process, space_id)
    within = [name for name in names if before is None or name.number < before][-limit:]
    newest = before is None
    read = recorded(process, space_id, within)
    whole = newest and len(within) == len(names) and not any(change.lost for change in read)
    # The oldest records may be gone (a lifecycle rule).
    whole = whole and (not names or names[0].number == 1)
    return _Seen(head, names, sorted(read, key=lambda change: change.number), newest, whole)


def _judge(process: Process, current: _Seen) -> list[Invariant]:
    space_id = current.meta.space_id
    live = [contents.note_name(entry).note_id for entry in contents.live_notes(process, space_id, limit=MOST_LIVE)]
    result = [
        records_numbered(current.names),
        notes_once(current.page, current.meta, live),
        records_joined(current.page),
    ]
    if not current.newest:
        return result
    bank = _bank(process, space_id)
    return [
        *result,
        head_agrees(current.meta, current.names, current.page, whole=current.whole),
        # A space that was imported came with its files.
        bank_recorded(current.page, bank.texts, bank.unread, whole=current.whole and not current.meta.provisioning),
        sources_exist(bank.sources, current.names),
        _snapshots(process, space_id),
        _orphans(process, current.head),
        judged(
            "all_readable",
            len(current.page),
            [
                *unreadable.names(process).get(space_id, []),
                *(f"the record of change {change.number}" for change in current.page if change.lost),
            ],
            f"Objects cannot be read. {unreadable.MEND}",
        ),
    ]


def _bank(process: Process, space_id: str) -> _Bank:
    bank_files = contents.bank_files(process, space_id)
    result = files.with_content(process, bank_files[:MOST_FILES])
    texts = {file.path: digest(file.content or "") for file in result}
    for path in (keys.SYNTHESIS, keys.RULES_PATH):
        item = process.store.get(bucket.recorded(space_id, path))
        if item:
            texts[path] = digest(item.body.decode(errors="replace"))
    by_record: dict[str, list[str]] = {}
    for file in result:
        if file.record:
            by_record.setdefault(file.record, []).append(file.path)
    parts = process.store.map(lambda entry: _sources(process, space_id, *entry), by_record.items())
    unread = {entry.key.removeprefix(BANK_FILE.prefix(space_id)) for entry in bank_files[MOST_FILES:]}
    return _Bank(texts, {path: notes for part in parts for path, notes in part.items()}, unread)


def _sources(process: Process, space_id: str, record: str, paths: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
    """The sources of these files, of the record that wrote them last: 1 GET."""
    writer = records.find(process, space_id, record, [])
    kept = ((path, writer.sources_of(path)) for path in paths) if writer else ()
    return {path: sources.notes for path, sources in kept if sources}


def _snapshots(process: Process, space_id: str) -> Invariant:
    """A snapshot of memories has what their log makes, and nothing else."""
    result = replay.compare(process, space_id)
    if result.untold and not result.broken:
        return untold("snapshots_agree", f"The log of {', '.join(result.untold)} is too long, or has gaps.")
    detail = f"Remove the snapshots below {IN_SPACE.prefix(space_id)}memories/: they are made again from the log."
    return judged("snapshots_agree", result.looked_at, result.broken, detail)


def _orphans(process: Process, head: Head) -> Invariant:
    """No run, and no plan, is older than its time without an end."""
    rest = orphans.find(process, head, ends=False)
    broken = [*(f"run {run_id}" for run_id in rest.run_ids), *(f"the plan of run {run_id}" for run_id in rest.reviews)]
    detail = "A worker died, or an invocation never came. The sweep clears up."
    return judged("nothing_orphaned", rest.looked_at, broken, detail)
