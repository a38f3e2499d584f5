"""Commit and application of a change of the bank: the one way in which a bank changes.

The change is planned in full as its record. One compare-and-swap of `_meta.json` commits it; from then on it will be
applied, by this process or by whoever comes next (recovery.py), from the plan and without asking anybody. Applying is
idempotent: each step looks like no change when it was done before.
"""

import logging

from livemem.changes import late_write_repair, provenance, records, reviews
from livemem.changes.records import Before, FileChange, Record
from livemem.errors import CommitUnfinished, LiveMemoryError, NotFound, PreconditionLost, StoreUnavailable
from livemem.jobs import lease
from livemem.jobs.lease import Held
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import unreadable
from livemem.spaces.head import Head, Meta
from livemem.spaces.head_fields import Decision
from livemem.spaces.oversized_notes import OversizedNotes
from livemem.store import keys, stored
from livemem.store.objects import MARKDOWN, Object

logger = logging.getLogger(__name__)

TRIES = 20
LEFT_OUT = 1_000
"""Notes left out once that a head remembers; a note that falls out of it gets another chance."""


class CommitLost(LiveMemoryError):
    """Nothing was committed: the space is gone, or somebody else changed its bank first."""


class LeaseLost(CommitLost):
    """Nothing was committed: somebody else has the space by now, and clears up or goes on."""


class ModeChanged(CommitLost):
    """Nothing was committed: since the space was looked at, it was said that a person approves, or no longer does."""


class Superseded(LiveMemoryError):
    """Somebody else has finished applying this change already."""


def prepare(process: Process, space_id: str, record: Record) -> Record:
    """Write the plan and return it; if another worker of the same run wrote one before, that one counts.

    The plan says for each file which notes its sections rest on then (provenance.py).
    """
    record = provenance.with_sources(process, space_id, record)
    key = keys.plan(space_id, record.run_id)
    written = stored.write_once(process.store, key, record.to_bytes())
    return unreadable.parsed(process, Record, written.other) if written.other else record


def planned(process: Process, space_id: str, run_id: str) -> Record | None:
    """The plan of a run, or None. Raises ObjectUnreadable."""
    found = process.store.get(keys.plan(space_id, run_id))
    return unreadable.parsed(process, Record, found) if found else None


def is_planned(process: Process, space_id: str, run_id: str) -> bool:
    """Whether the run has a plan, be it one that cannot be read: 1 GET."""
    return process.store.get(keys.plan(space_id, run_id)) is not None


def commit(process: Process, head: Head, held: Held, record: Record) -> Head:
    """Commit the prepared `record` by one swap of `_meta.json`, based on `head`.

    Raises CommitLost if it can't be committed any more, ModeChanged if a person has to approve it. After
    StoreUnavailable the plan stays: whether the swap happened will be seen by the next one who looks.
    """
    for _ in range(TRIES):
        try:
            return heads.swap(process, head, **_committed(process, head, record))
        except (PreconditionLost, StoreUnavailable) as error:
            # The answer to a swap that did happen can get lost: only a look tells.
            newest = heads.find(process, head.meta.space_id)
            if newest and newest.meta.uid == record.uid and newest.meta.last_run == record.run_id:
                return newest
            if isinstance(error, StoreUnavailable):
                raise
        if not newest or not follows(newest.meta, record):
            # Of a run with several workers another one may have committed it: the caller looks into the records.
            process.store.delete(keys.plan(head.meta.space_id, record.run_id))
            raise CommitLost("The space was deleted, or its bank was changed by somebody else.")
        if needs_approval(newest.meta, record):
            process.store.delete(keys.plan(head.meta.space_id, record.run_id))
            raise ModeChanged("A person has to approve what is folded.")
        # Only a description or a threshold changed. The lease is looked at after the head: who takes the lease over
        # changes the head before clearing our plan away, so a swap based on this head can't outlive the plan.
        if not lease.still_ours(process, held):
            raise LeaseLost("The time of this run is over.")
        head = newest
    raise CommitLost("The space changes too often.")


def follows(meta: Meta, record: Record) -> bool:
    """Whether the change is the next one of the space, and its plan, if a person approved it, still waits for that."""
    waits = meta.pending_plan
    approved = record.plan_of is None or (waits is not None and waits.run_id == record.plan_of)
    return meta.uid == record.uid and meta.changes == record.number - 1 and approved


def needs_approval(meta: Meta, record: Record) -> bool:
    """Whether a person has to approve the change first: what a model has made of notes, in a space that wants it so."""
    return meta.consolidation_mode == "review" and record.folds() and not record.plan_of


def _approval(record: Record) -> Decision:
    return Decision(status="ok", by=record.approved_by, at=record.approved_at, consolidation=record.number)


def _committed(process: Process, head: Head, record: Record) -> dict[str, object]:
    changes: dict[str, object] = {
        "changes": record.number,
        # Counted here and not by the close, which may be that of a commit from before `changes` was there: that one
        # counted itself already.
        "consolidation_count": head.meta.consolidation_count + record.consolidations(),
        "committed_run": record.run_id,
        "last_run": record.run_id,
        "late_write_repair": late_write_repair.watching(head, record, process.clock()),
    }
    if record.kind == "consolidation":
        changes["folded_until"] = _folded_until(process, head, record)
    if record.plan_of:
        changes |= head.meta.decided(_approval(record))
    if record.undoes is not None:
        changes["undone"] = head.meta.with_undo(record.undoes, record.number)
    return changes


def _folded_until(process: Process, head: Head, record: Record) -> str:
    known = head.meta.folded_until
    if known is None:
        # An older version did not keep it: 1 LIST, once.
        known = max((name.last for name in records.names(process, head.meta.space_id)), default="")
    return max(known, record.name().last)


def apply(process: Process, head: Head, record: Record) -> Head:
    """Write everything that the committed `record` says, then clear `committed_run`; safe to repeat at any point.

    Nothing is done where `head` says that it was applied already. Raises CommitUnfinished if the store fails on the
    way; the next run or the sweep goes on.
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
            process.store.delete_many([keys.note(space_id, source.note_id) for source in record.notes])
        # The plan goes before the commit is closed: its record stands in for it, and nothing can leave it behind.
        process.store.delete(keys.plan(space_id, record.run_id))
        if record.plan_of:
            reviews.end(process, head.meta, record.plan_of, _approval(record), metrics=record.metrics)
        return _close(process, head, record)
    except Superseded:
        return heads.load(process, space_id)
    except (PreconditionLost, StoreUnavailable) as error:
        raise CommitUnfinished("The change is committed; what is left to write will be written shortly.") from error


def _write_record(process: Process, space_id: str, record: Record) -> None:
    """Write the record where there is none: 1 PUT. A repeat that comes late, into a space from whose records something
    was erased since (erasure/erasure.py), changes nothing.
    """
    key, body = keys.record(space_id, record.name()), record.to_bytes()
    over = None
    for _ in range(TRIES):
        written = stored.write_once(process.store, key, body, over=over)
        if written.says_so or (written.other and _run_id(written.other) == record.run_id):
            return
        over = written.etag or None
    raise StoreUnavailable("The record can't be written.")


def _run_id(found: Object) -> str | None:
    try:
        return Record.from_bytes(found.body).run_id
    except ValueError:
        return None


def _restore(process: Process, space_id: str, source: records.NoteSource) -> None:
    key = keys.note(space_id, source.note_id)
    for _ in range(TRIES):
        if not stored.write_once(process.store, key, source.body(), content_type=MARKDOWN).gone:
            return
    raise StoreUnavailable("A note can't be written back.")


def _apply_file(process: Process, head: Head, record: Record, change: FileChange) -> None:
    key = keys.bank_file(head.meta.space_id, change.path)
    _write(process, head, record, key, change.path, change.before, change.after)


def _apply_synthesis(process: Process, head: Head, record: Record) -> None:
    if record.synthesis:
        key = keys.synthesis(head.meta.space_id)
        _write(process, head, record, key, keys.SYNTHESIS, record.synthesis.before, record.synthesis.after)


def _apply_rules(process: Process, head: Head, record: Record) -> None:
    if record.rules:
        change = record.rules
        _write(process, head, record, keys.rules(head.meta.space_id), change.path, change.before, change.after)


def _write(
    process: Process, head: Head, record: Record, key: str, path: str, before: Before | None, after: str | None
) -> None:
    """Bring one object from `before` to `after`, whatever part of that happened already."""
    wanted = after.encode() if after is not None else None
    etag = before.etag if before else None
    for _ in range(TRIES):
        if _replace(process, key, wanted, etag, record):
            return
        current = process.store.get(key)
        if (current.body if current else None) == wanted:
            return
        newest = heads.find(process, head.meta.space_id)
        if not newest or newest.meta.committed_run != record.run_id:
            raise Superseded("Somebody else has applied it.")
        if current and current.etag != etag and not _is_own(process, head.meta.space_id, path, current):
            # Somebody wrote to the bank without the service. Their text is kept aside, the commit stands.
            logger.warning("bank file was changed outside the service", extra={"run_id": record.run_id})
            process.store.put(keys.displaced(head.meta.space_id, record.run_id, path), current.body)
        etag = current.etag if current else None
    raise StoreUnavailable("A bank file keeps changing.")


def _is_own(process: Process, space_id: str, path: str, current: Object) -> bool:
    """Whether it is what an earlier change wrote, come once more: then it is in that record."""
    name = records.written_by(current)
    record = records.find(process, space_id, name) if name else None
    after = record.written().get(path) if record else None
    return after is not None and after.encode() == current.body


def _replace(process: Process, key: str, wanted: bytes | None, etag: str | None, record: Record) -> bool:
    if wanted is None:
        return etag is None or process.store.delete(key, if_match=etag)
    metadata = record.metadata()
    return bool(stored.write_if(process.store, key, wanted, over=etag, content_type=MARKDOWN, metadata=metadata))


def _close(process: Process, head: Head, record: Record) -> Head:
    """Clear `committed_run` and bring the totals up to date, in one swap: so they count once."""

    def totals(meta: Meta) -> dict[str, object]:
        # Else it was closed by another process.
        return _totals(meta, record) if meta.committed_run == record.run_id else {}

    try:
        return heads.update(process, head.meta.space_id, totals, known=head)
    except NotFound:
        raise Superseded("Somebody else has applied it.") from None


def _totals(meta: Meta, record: Record) -> dict[str, object]:
    changes: dict[str, object] = {
        "committed_run": None,
        "total_notes_processed": meta.total_notes_processed + record.consolidations() * len(record.notes),
        "rules_changed_at": _rules_changed_at(meta, record),
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
        # Else the notes that came back would set off the very consolidation that was undone.
        changes |= {"auto_paused": True, "pause_reason": f"change {record.undoes} was undone"}
    return changes


def _rules_changed_at(meta: Meta, record: Record) -> str | None:
    """What the head says afterwards of rules that no consolidation was told of."""
    if record.folds():
        return None
    if record.kind == "undo":
        # Changes are undone in their order, so what one of them found is what there is again.
        return record.rules_changed_at
    return record.committed_at if record.rules else meta.rules_changed_at


def _unfolded(meta: Meta, record: Record) -> dict[str, object]:
    """What the head remembers of live notes that were not folded. Another change than a consolidation may make room in
    the model's window, so what was set aside is judged anew.
    """
    if record.kind != "consolidation":
        return {"oversized_notes": OversizedNotes(), "left_out": [] if record.kind == "undo" else meta.left_out}
    folded = {source.note_id for source in record.notes}
    left_out = [note_id for note_id in dict.fromkeys((*meta.left_out, *record.left_out)) if note_id not in folded]
    return {"oversized_notes": record.oversized_notes or meta.oversized_notes, "left_out": left_out[-LEFT_OUT:]}
