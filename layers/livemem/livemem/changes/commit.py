"""Commit and application of a change of the bank: the one way in which a bank changes.

The change is planned in full as its record. One compare-and-swap of `_meta.json` commits it. From then on it is applied
from the plan, without a model or a person, by this process or the next holder of the space (recovery.py). Applying is
idempotent: a step that was done before changes nothing.
"""

import logging

from livemem.changes import late_write_repair, provenance, records, reviews
from livemem.changes.records import Before, FileChange, Record
from livemem.errors import CommitUnfinished, LiveMemoryError, NotFound, PreconditionLost, StoreUnavailable
from livemem.jobs import lease
from livemem.jobs.lease import Hold
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import unreadable
from livemem.spaces.head import Head, Meta
from livemem.spaces.head_fields import Decision, Tidied
from livemem.spaces.oversized_notes import OversizedNotes
from livemem.store import keys, stored
from livemem.store.bucket import BANK_FILE, DISPLACED, NOTE, PLAN, RECORD, RULES, SYNTHESIS_FILE
from livemem.store.objects import MARKDOWN, Object

logger = logging.getLogger(__name__)

TRIES = 20
LEFT_OUT = 1_000
"""Notes left out once that a head remembers. A note that falls out of this list gets another chance."""


class CommitLost(LiveMemoryError):
    """Nothing was committed: the space is gone, or another process changed its bank first."""


class LeaseLost(CommitLost):
    """Nothing was committed: another worker has the space by now, and clears up or continues."""


class ModeChanged(CommitLost):
    """Nothing was committed: since the head was read, approval by a person was switched on or off."""


class Superseded(LiveMemoryError):
    """Another process has finished applying this change already."""


def prepare(process: Process, space_id: str, record: Record) -> Record:
    """Write the plan and return it. If another worker of the same run wrote one before, that one counts.

    The plan says for each file on which notes its sections rest after the change (provenance.py).
    """
    record = provenance.with_sources(process, space_id, record)
    key = PLAN.key(space_id, record.run_id)
    written = stored.write_once(process.store, key, record.to_bytes())
    return unreadable.parsed(process, Record, written.other) if written.other else record


def planned(process: Process, space_id: str, run_id: str) -> Record | None:
    """The plan of a run, or None. Raises ObjectUnreadable."""
    item = process.store.get(PLAN.key(space_id, run_id))
    return unreadable.parsed(process, Record, item) if item else None


def is_planned(process: Process, space_id: str, run_id: str) -> bool:
    """Whether the run has a plan, readable or not: 1 GET."""
    return process.store.get(PLAN.key(space_id, run_id)) is not None


def commit(process: Process, head: Head, hold: Hold, record: Record) -> Head:
    """Commit the prepared `record` by one swap of `_meta.json`, based on `head`.

    Raises CommitLost if it can't be committed any more, ModeChanged if a person has to approve it. After
    StoreUnavailable the plan stays: the next process that reads the head sees whether the swap happened.
    """
    for _ in range(TRIES):
        try:
            return heads.swap(process, head, **_committed(process, head, record))
        except (PreconditionLost, StoreUnavailable) as error:
            # The answer to a swap that did happen can get lost: only the head shows it.
            newest = heads.find(process, head.meta.space_id)
            if newest and newest.meta.uid == record.uid and newest.meta.last_run == record.run_id:
                return newest
            if isinstance(error, StoreUnavailable):
                raise
        if not newest or not follows(newest.meta, record):
            # Another worker of the same run may have committed it: the caller looks into the records.
            process.store.delete(PLAN.key(head.meta.space_id, record.run_id))
            raise CommitLost("The space was deleted, or its bank was changed by another process.")
        if needs_approval(newest.meta, record):
            process.store.delete(PLAN.key(head.meta.space_id, record.run_id))
            raise ModeChanged("The space requires the approval of plans.")
        # Only a description or a threshold changed. The lease is read after the head: a worker that takes it over
        # changes the head before it removes our plan, so a swap based on this head can't outlive the plan.
        if not lease.still_ours(process, hold):
            raise LeaseLost("The time of this run is over.")
        head = newest
    raise CommitLost("The space was changed too often at the same time. Try again.")


def follows(meta: Meta, record: Record) -> bool:
    """Whether the change is the next one of the space. If a person approved it, its plan must still wait for that."""
    waits = meta.pending_plan
    approved = record.plan_of is None or (waits is not None and waits.run_id == record.plan_of)
    return meta.uid == record.uid and meta.changes == record.number - 1 and approved


def needs_approval(meta: Meta, record: Record) -> bool:
    """Whether a person has to approve the change first: a model drew it up, and the space requires approval."""
    return meta.consolidation_mode == "review" and record.is_by_model() and not record.plan_of


def _approval(record: Record) -> Decision:
    return Decision(code="approved", by=record.approved_by, at=record.approved_at, consolidation=record.number)


def _committed(process: Process, head: Head, record: Record) -> dict[str, object]:
    changes: dict[str, object] = {
        "changes": record.number,
        "consolidation_count": head.meta.consolidation_count + record.consolidations(),
        "committed_run": record.run_id,
        "last_run": record.run_id,
        "late_write_repair": late_write_repair.watching(head, record, process.clock()),
    }
    if record.kind == "consolidation":
        changes["folded_until"] = max(head.meta.folded_until or "", record.name().last)
    if record.plan_of:
        changes |= head.meta.decided(_approval(record))
    if record.undoes is not None:
        changes["undone"] = head.meta.with_undo(record.undoes, record.number)
    return changes


def apply(process: Process, head: Head, record: Record) -> Head:
    """Write everything that the committed `record` says, then clear `committed_run`. Safe to repeat at any point.

    Does nothing where `head` says that it was applied already. Raises CommitUnfinished if the store fails on the way.
    The next run or the sweep continues then.
    """
    space_id = head.meta.space_id
    if head.meta.committed_run != record.run_id:
        return head
    try:
        if record.kind == "undo":
            process.store.map(lambda source: _restore(process, space_id, source), record.notes)
        _write_record(process, space_id, record)
        process.store.map(lambda change: _apply_file(process, head, record, change), record.files)
        _apply_synthesis(process, head, record)
        _apply_rules(process, head, record)
        if record.kind == "consolidation":
            process.store.delete_many([NOTE.key(space_id, source.note_id) for source in record.notes])
        # The plan is removed before the commit is closed, so it is never orphaned. The record replaces it.
        process.store.delete(PLAN.key(space_id, record.run_id))
        if record.plan_of:
            reviews.end(process, head.meta, record.plan_of, _approval(record), metrics=record.metrics)
        return _close(process, head, record)
    except Superseded:
        return heads.load(process, space_id)
    except (PreconditionLost, StoreUnavailable) as error:
        raise CommitUnfinished("The change is committed. The next run or the sweep applies the rest of it.") from error


def _write_record(process: Process, space_id: str, record: Record) -> None:
    """Write the record where there is none: 1 PUT. So a late repeat does not bring back content that was erased from
    the record since (erasure/erasure.py).
    """
    key, body = RECORD.key(space_id, record.name()), record.to_bytes()
    over = None
    for _ in range(TRIES):
        written = stored.write_once(process.store, key, body, over=over)
        if written.says_so or (written.other and _run_id(written.other) == record.run_id):
            return
        over = written.etag or None
    raise StoreUnavailable("The record can't be written.")


def _run_id(item: Object) -> str | None:
    try:
        return Record.from_bytes(item.body).run_id
    except ValueError:
        return None


def _restore(process: Process, space_id: str, source: records.NoteSource) -> None:
    key = NOTE.key(space_id, source.note_id)
    for _ in range(TRIES):
        if not stored.write_once(process.store, key, source.body(), content_type=MARKDOWN).gone:
            return
    raise StoreUnavailable("A note can't be written back.")


def _apply_file(process: Process, head: Head, record: Record, change: FileChange) -> None:
    key = BANK_FILE.key(head.meta.space_id, change.path)
    _write(process, head, record, key, change.path, change.before, change.after)


def _apply_synthesis(process: Process, head: Head, record: Record) -> None:
    if record.synthesis:
        key = SYNTHESIS_FILE.key(head.meta.space_id)
        _write(process, head, record, key, keys.SYNTHESIS, record.synthesis.before, record.synthesis.after)


def _apply_rules(process: Process, head: Head, record: Record) -> None:
    if record.rules:
        change = record.rules
        _write(process, head, record, RULES.key(head.meta.space_id), change.path, change.before, change.after)


def _write(
    process: Process, head: Head, record: Record, key: str, path: str, before: Before | None, after: str | None
) -> None:
    """Bring one object from `before` to `after`. A part of it may be done already."""
    body = after.encode() if after is not None else None
    etag = before.etag if before else None
    for _ in range(TRIES):
        if _replace(process, key, body, etag, record):
            return
        current = process.store.get(key)
        if (current.body if current else None) == body:
            return
        newest = heads.find(process, head.meta.space_id)
        if not newest or newest.meta.committed_run != record.run_id:
            raise Superseded("Another worker has applied it.")
        if current and current.etag != etag and not _is_own(process, head.meta.space_id, path, current):
            # The bank file was changed without the service. Its text is kept aside, and the commit holds.
            logger.warning("bank file was changed outside the service", extra={"run_id": record.run_id})
            process.store.put(DISPLACED.key(head.meta.space_id, record.run_id, path), current.body)
        etag = current.etag if current else None
    raise StoreUnavailable("Another process keeps changing a bank file. Try again.")


def _is_own(process: Process, space_id: str, path: str, current: Object) -> bool:
    """Whether a late repeat of an earlier change wrote the object: then its content is in that change's record."""
    name = records.written_by(current)
    record = records.find(process, space_id, name) if name else None
    after = record.written().get(path) if record else None
    return after is not None and after.encode() == current.body


def _replace(process: Process, key: str, body: bytes | None, etag: str | None, record: Record) -> bool:
    if body is None:
        return etag is None or process.store.delete(key, if_match=etag)
    metadata = record.metadata()
    return bool(stored.write_if(process.store, key, body, over=etag, content_type=MARKDOWN, metadata=metadata))


def _close(process: Process, head: Head, record: Record) -> Head:
    """Clear `committed_run` and update the totals in one swap, so that the change counts once."""

    def totals(meta: Meta) -> dict[str, object]:
        # If the runs differ, another process has closed it.
        return _totals(meta, record) if meta.committed_run == record.run_id else {}

    try:
        return heads.update(process, head.meta.space_id, totals, head=head)
    except NotFound:
        raise Superseded("Another worker has applied it.") from None


def _totals(meta: Meta, record: Record) -> dict[str, object]:
    changes: dict[str, object] = {
        "committed_run": None,
        "total_notes_processed": meta.total_notes_processed + record.consolidations() * len(record.notes),
        "rules_changed_at": _rules_changed_at(meta, record),
        "bank_length": _bank_length(meta, record),
        **_unfolded(meta, record),
    }
    if record.folds():
        changes["last_consolidation"] = record.committed_at
        changes["prompt_cut"] = record.usage.prompts_cut > 0
        if record.trigger == "api":
            changes |= {"auto_paused": False, "pause_reason": None}
    if record.plan_of and meta.review and meta.review.run_id == record.plan_of:
        changes["review"] = None
    if record.kind == "undo" and record.notes:
        # Without the pause the notes that came back would start the consolidation again that was undone.
        changes |= {"auto_paused": True, "pause_reason": f"change {record.undoes} was undone"}
    if record.kind == "tidy":
        changes |= _tidied(record)
    if record.undoes_kind == "tidy":
        changes["tidy_paused"] = True
    return changes


def _bank_length(meta: Meta, record: Record) -> int | None:
    """The characters of the bank after the change. A run has counted all files, every other change knows its own."""
    counted = record.metrics.get("bank_length")
    if isinstance(counted, int):
        return counted
    return None if meta.bank_length is None else max(meta.bank_length + record.growth(), 0)


def _tidied(record: Record) -> dict[str, object]:
    tidied = Tidied(
        run_id=record.run(),
        at=record.committed_at,
        chars=record.metrics["bank_length"],
        record=keys.record_text(record.name()),
    )
    return {"tidied": tidied, **({"tidy_paused": False} if record.trigger == "api" else {})}


def _rules_changed_at(meta: Meta, record: Record) -> str | None:
    """The head's time of changed rules that no consolidation has seen, after the change."""
    if record.folds():
        return None
    if record.kind == "undo":
        # Changes are undone newest first, so the value that the undone change found holds again.
        return record.rules_changed_at
    return record.committed_at if record.rules else meta.rules_changed_at


def _unfolded(meta: Meta, record: Record) -> dict[str, object]:
    """The head's fields about live notes that were not folded. A change other than a consolidation may make room in the
    model's window, so oversized notes are judged again.
    """
    if record.kind != "consolidation":
        return {"oversized_notes": OversizedNotes(), "left_out": [] if record.kind == "undo" else meta.left_out}
    folded = {source.note_id for source in record.notes}
    left_out = [note_id for note_id in dict.fromkeys((*meta.left_out, *record.left_out)) if note_id not in folded]
    return {"oversized_notes": record.oversized_notes or meta.oversized_notes, "left_out": left_out[-LEFT_OUT:]}
