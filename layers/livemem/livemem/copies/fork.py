"""A fork: a new space with the contents of another as it stands now, or stood right after an earlier change, with its
history up to there.

The earlier state is made by undoing the later changes. Each record holds the state that its change found, and the notes
that it took. Objects that no record covers are chosen by their time (runs, memories), or come as they are now
(conversations, rooms, receipts of erasures).

A fork is made from a backup. The backup is taken for it unless nothing has changed since the last one. So the fork
holds one state of the space, even if the space changes meanwhile.
"""

import json
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from livemem import clock
from livemem.access import decision
from livemem.access.principal import Principal
from livemem.bank import synthesis as syntheses
from livemem.bank.time_travel import MOST_CHANGES
from livemem.changes import records
from livemem.changes.records import Before, Record
from livemem.copies import manifest as manifests
from livemem.copies import new_space, restore, taking
from livemem.copies import source as sources
from livemem.copies.manifest import DAMAGED, BackupObject
from livemem.copies.new_space import Provisioned
from livemem.copies.relabel import follows, is_record, is_run, relabel
from livemem.copies.source import SourceBackup
from livemem.errors import BackupDamaged, Conflict, InvalidName, NotFound, OutOfTime
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.spaces.head_fields import ProvisioningState
from livemem.spaces.oversized_notes import OversizedNotes
from livemem.store import bucket, keys
from livemem.store.bucket import IN_SPACE, NOTE, OPERATION, RECORD, OperationKey, beyond_log
from livemem.store.keys import MemoryKind

SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class EarlierObject:
    """An object as it was then. The backup has it in another state, or no more."""

    body: bytes
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class EarlierSpace:
    """The space right after the change. `items` come as the backup has them, except those whose content shows that they
    are later (`keep`). `written` are the other objects by name.
    """

    meta: Meta
    items: list[BackupObject]
    written: dict[str, EarlierObject]
    number: int
    moment: datetime

    def keep(self, name: str, body: bytes) -> bool:
        """Whether an object of this content existed then, or has no time."""
        if is_run(name):
            number = _field(body, "consolidation")
            return not isinstance(number, int) or number <= self.number
        if name.startswith("_idempotency/"):
            written = _note_moment(str(_field(body, "note_id")))
            return written is None or written <= self.moment
        return True


@dataclass
class _Undoing:
    """The states that the later changes found, oldest first. The first change that touched an object holds its earlier
    state.
    """

    files: dict[str, Before | None] = field(default_factory=dict)
    """By the path in the records."""
    notes: dict[str, bytes | None] = field(default_factory=dict)
    """By id, all notes that the records name: the body of a live note, None for a folded one."""
    consolidations: int = 0
    processed: int = 0
    undone: set[int] = field(default_factory=set)
    consolidated: bool = False

    def add(self, record: Record, moment: datetime) -> None:
        for change in record.changed():
            self.files.setdefault(change.path, change.before)
        if record.synthesis:
            self.files.setdefault(keys.SYNTHESIS, record.synthesis.before)
        for source in record.notes:
            written = _note_moment(source.note_id)
            # What an undo gave back was folded before.
            was_live = record.kind != "undo" and written is not None and written <= moment
            if source.note_id not in self.notes:
                self.notes[source.note_id] = source.body() if was_live else None
        self.consolidations += record.consolidations()
        self.processed += record.consolidations() * len(record.notes)
        self.undone |= records.undone([record])
        self.consolidated |= record.folds()


def check(numbers: Collection[int], number: int, newest: int) -> None:
    """Raise NotFound if none of the `numbers` is this one, Conflict if too many changes follow it, or their records
    were removed.
    """
    if number not in numbers:
        raise NotFound("consolidation", str(number))
    if newest - number > MOST_CHANGES:
        raise Conflict(f"More than {MOST_CHANGES} changes were made after change {number}. Fork at a later change.")
    removed = set(range(number + 1, newest + 1)).difference(numbers)
    if removed:
        raise Conflict(
            f"The record of change {min(removed)} was removed, so the state before it is unknown. Fork "
            "at a later change."
        )


def draw_up(process: Process, source: SourceBackup, number: int) -> EarlierSpace:
    """The space as it stood right after change `number`: 1 GET for its record and each later one. If these hold a
    consolidation, 1 GET more for each earlier record back to the consolidation before.

    Raises NotFound, Conflict, BackupDamaged.
    """
    meta = sources.read_head(process, source)
    recorded = _records(source.items)
    check({name.number for name in recorded}, number, meta.changes)
    own = next(name for name in recorded if name.number == number)
    record = _read(process, source, recorded[own])
    moment = clock.parse(record.committed_at)
    undoing = _Undoing()
    later = [item for name, item in sorted(recorded.items(), key=lambda entry: entry[0].number) if name.number > number]
    for one in _read_all(process, source, later):
        undoing.add(one, moment)
    earlier = {name.number: item for name, item in recorded.items() if name.number <= number}
    last = _last_consolidation(process, source, earlier, record) if undoing.consolidated else None
    names = [name for name in recorded if name.number <= number]
    forgotten = _memories_of_later(process, source, moment)
    items = [item for item in source.items if item.name not in forgotten]
    return EarlierSpace(
        meta=_meta(meta, record, undoing, last, names),
        items=[item for item in items if _is_as_it_was(item.name, number, moment, undoing)],
        written=dict(_written(undoing, {name.number: name for name in names})),
        number=number,
        moment=moment,
    )


def _records(items: Sequence[BackupObject]) -> dict[keys.RecordName, BackupObject]:
    return {name: item for item in items if is_record(item.name) and (name := RECORD.last(f"x/{item.name}"))}


def _read(process: Process, source: SourceBackup, item: BackupObject) -> Record:
    body = sources.read(process, source, item).body
    try:
        return Record.from_bytes(body)
    except ValueError:
        raise BackupDamaged(DAMAGED.format(item.name)) from None


def _read_all(process: Process, source: SourceBackup, items: Sequence[BackupObject]) -> Iterator[Record]:
    for start in range(0, len(items), records.AT_ONCE):
        yield from process.store.map(lambda item: _read(process, source, item), items[start : start + records.AT_ONCE])


def _last_consolidation(
    process: Process, source: SourceBackup, earlier: Mapping[int, BackupObject], record: Record
) -> Record | None:
    """The newest consolidation up to the change of `record`, undone or not; None where its record was removed."""
    for number in range(record.number, max(record.number - MOST_CHANGES, 0), -1):
        if number not in earlier:
            return None
        result = record if number == record.number else _read(process, source, earlier[number])
        if result.folds():
            return result
    return None


def _meta(meta: Meta, record: Record, undoing: _Undoing, last: Record | None, names: Sequence[keys.RecordName]) -> Meta:
    """The head right after the change."""
    newest = max((name.last for name in names), default="")
    changes: dict[str, object] = {
        "changes": record.number,
        "consolidation_count": max(meta.consolidation_count - undoing.consolidations, 0),
        "total_notes_processed": max(meta.total_notes_processed - undoing.processed, 0),
        "last_run": record.run_id,
        "rules_changed_at": _rules_changed_at(record),
        # For changes by hand the time of the commit counts. So no note is mistaken for a folded one.
        "folded_until": min(newest, meta.folded_until or ""),
        "undone": _undone(meta.undone or (), record.number, undoing.undone),
        "left_out": [],
        # The next run counts it.
        "bank_length": None,
        "tidied": None,
        "tidy_paused": False,
        "oversized_notes": OversizedNotes(),
        "auto_paused": False,
        "pause_reason": None,
    }
    if undoing.consolidated:
        changes["last_consolidation"] = last and last.committed_at
        changes["prompt_cut"] = bool(last and last.usage.prompts_cut)
    return meta.model_copy(update=changes)


def _rules_changed_at(record: Record) -> str | None:
    """The head's `rules_changed_at` right after the change (changes/commit.py)."""
    if record.folds():
        return None
    return record.committed_at if record.rules and record.kind != "undo" else record.rules_changed_at


def _undone(ranges: Sequence[tuple[int, int]], number: int, undone_later: set[int]) -> list[tuple[int, int]]:
    """The ranges of changes that did not stand right after change `number`: today's without what was undone later."""
    pairs: list[tuple[int, int]] = []
    for first, last in ranges:
        start, end = first, min(last, number)
        for item in sorted(one for one in undone_later if start <= one <= end):
            pairs.append((start, item - 1))
            start = item + 1
        pairs.append((start, end))
    return [(first, last) for first, last in pairs if first <= last]


def _is_as_it_was(name: str, number: int, moment: datetime, undoing: _Undoing) -> bool:
    """Whether the backup's object of this name existed then, as far as the name shows."""
    path = bucket.path_in_records(name)
    if path is not None:
        return path not in undoing.files
    note_id = NOTE.last(f"x/{name}")
    if note_id:
        return note_id not in undoing.notes and keys.parse_note_id(note_id).timestamp <= moment
    if is_record(name):
        record = RECORD.last(f"x/{name}")
        return record is not None and record.number <= number
    if name.startswith("_runs/"):
        run_id = name.removeprefix("_runs/").partition(".")[0]
        return not keys.RUN_ID.fullmatch(run_id) or clock.id_time(run_id) < moment + SECOND
    return True


def _memories_of_later(process: Process, source: SourceBackup, moment: datetime) -> set[str]:
    """The operations on memories after a moment, and the snapshots that rest on them: a few GETs a kind."""
    logs: dict[MemoryKind, dict[int, BackupObject]] = {}
    for item in source.items:
        if parsed := OPERATION.parse_as(OperationKey, f"x/{item.name}"):
            logs.setdefault(parsed.kind, {})[parsed.number] = item

    def is_later(item: BackupObject) -> bool:
        written = _field(sources.read(process, source, item).body, "at")
        try:
            return isinstance(written, str) and clock.parse(written) > moment
        except ValueError:
            return False

    gone: set[str] = set()
    for log in logs.values():
        ordered = [log[number] for number in sorted(log)]
        gone |= {item.name for item in ordered[bisect_left(ordered, True, key=is_later) :]}
    names = (item.name for item in source.items if item.name not in gone)
    return gone | beyond_log(names)


def _written(undoing: _Undoing, recorded: Mapping[int, keys.RecordName]) -> Iterator[tuple[str, EarlierObject]]:
    try:
        for path, before in undoing.files.items():
            if before:
                name = path if path in (keys.RULES_PATH, keys.SYNTHESIS) else f"bank/{path}"
                yield (
                    keys.check_object_name(name),
                    EarlierObject(before.content.encode(), _metadata(path, before, recorded)),
                )
        for note_id, body in undoing.notes.items():
            if body is not None:
                yield f"live/{note_id}.md", EarlierObject(body)
    except (InvalidName, UnicodeEncodeError):
        raise BackupDamaged(sources.HOSTILE) from None


def _metadata(path: str, before: Before, recorded: Mapping[int, keys.RecordName]) -> dict[str, str]:
    """The object's metadata about the change that wrote it, if the record of that change exists."""
    if path == keys.SYNTHESIS:
        name = recorded.get(syntheses.parse_synthesis(before.content).consolidation_number or 0)
    else:
        name = keys.parse_record_text(before.record or "")
    if not name or recorded.get(name.number) != name:
        return {}
    return {"consolidation": str(name.number), "record": keys.record_text(name)}


def _note_moment(note_id: str) -> datetime | None:
    """When the note was written. None: it is not the id of a note."""
    try:
        return keys.parse_note_id(note_id).timestamp
    except InvalidName:
        return None


def _field(body: bytes, name: str) -> Any:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document.get(name) if isinstance(document, dict) else None


def order(
    process: Process, principal: Principal, space_id: str, target: str, at: int | None, deadline: datetime
) -> Head:
    """Take a backup of the space and claim the target for what `provision` then writes: the space as it stands now, or
    right after change `at`. The same request again, while the fork is under way, continues it.

    Some GET and LIST, and the requests of the backup and of the claim. Raises InvalidName, NotFound (the space, the
    change), SpaceExists, Conflict, Busy, Forbidden.
    """
    principal = decision.check_space(process, principal, keys.check_space_id(space_id))
    keys.check_space_id(target)
    meta = heads.load(process, space_id).meta
    if at is not None:
        ids = {name.number for name in records.names(process, space_id, since=at)}
        # The backup writes out changes that are committed and not written out yet.
        check(ids | ({meta.changes} if meta.committed_run else set()), at, meta.changes)
    provisioning = ProvisioningState(
        provisioning_id=process.new_id(),
        kind="fork",
        space_id=space_id,
        at=at,
        requested_by=principal.name,
        started_at=clock.iso(process.clock()),
    )
    existing = new_space.going_on(process, target, provisioning)
    if existing:
        return existing
    # Before a backup is taken for it.
    new_space.check_free(process, principal, target)
    request = taking.BackupRequest("fork", requested_by=principal.name)
    taken = taking.take(process, space_id, request, deadline=deadline, wait=True, nested=True)
    provisioning = provisioning.model_copy(update={"backup_id": taken.manifest.job_id})
    return new_space.begin(process, principal, target, provisioning)


def provision(process: Process, head: Head, deadline: datetime) -> Provisioned:
    """Finish the backup if it is incomplete, and write the backup's objects, or those of the space at the earlier
    change.

    The requests of a restore. For an earlier change also 1 GET for each later one and 1 LIST per 1,000 objects. Raises
    NotFound, BackupDamaged, Conflict, Busy, OutOfTime, PreconditionLost.
    """
    provisioning = head.meta.provisioning
    assert provisioning
    if not _backup(process, provisioning, deadline):
        raise OutOfTime("Another invocation continues the backup.")
    if provisioning.at is None:
        return restore.provision(process, head, deadline)
    with sources.opened(process, head) as source:
        return _provision_then(process, source, draw_up(process, source, provisioning.at), deadline)


def _backup(process: Process, provisioning: ProvisioningState, deadline: datetime) -> bool:
    """Continue the backup if it is not complete: 1 GET if it is complete. False if time runs out."""
    assert provisioning.space_id
    assert provisioning.backup_id
    result = manifests.summary(process, provisioning.space_id, provisioning.backup_id)
    if not result or result.value.ended():
        # A missing backup raises its error when it is opened.
        return True
    if deadline - process.clock() < 2 * restore.MARGIN:
        return False
    taken = taking.go_on(
        process, provisioning.space_id, provisioning.backup_id, deadline=deadline, wait=True, nested=True
    )
    return taken.manifest.complete and deadline - process.clock() >= restore.MARGIN


def _provision_then(process: Process, source: SourceBackup, then: EarlierSpace, deadline: datetime) -> Provisioned:
    restore.provision_items(process, source, then.items, deadline, then.keep)
    restore.in_batches(process, list(then.written.items()), lambda item: _write(process, source, *item), deadline)
    wanted = {item.name for item in then.items} | then.written.keys()
    restore.clear_strays(process, source, wanted)
    # Some of the wanted objects did not exist then.
    return Provisioned(then.meta, sum(1 for _ in process.store.scan(IN_SPACE.prefix(source.names.target))))


def _write(process: Process, source: SourceBackup, name: str, written: EarlierObject) -> None:
    body = relabel(name, written.body, source.names) if follows(name, source.names) else written.body
    existing = source.there.get(name)
    if existing and existing.size == len(body) and follows(name, source.names):
        # A note, which an earlier worker has written.
        return
    restore.write(process, source.target(name), body, written.metadata)
