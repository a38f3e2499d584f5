"""The undo of the newest change of a bank."""

from livemem.changes import direct, provenance, records
from livemem.changes.records import Before, FileChange, Record, SynthesisChange
from livemem.changes.section_sources import Sources
from livemem.errors import Conflict, NotFound
from livemem.process import Process
from livemem.spaces.head import Head
from livemem.store.bucket import BANK_FILE, RULES, SYNTHESIS_FILE


def undo(process: Process, author: str, space_id: str, number: int) -> Record:
    """Bring bank, synthesis and rules back to their state before change `number`, and make its notes live again.

    Only the newest change that is not undone can be undone, so repeated undo walks back step by step. Automatic
    consolidation pauses, after the undo of a tidy run automatic tidying alone. Raises NotFound, Conflict (with what to
    do instead), Busy, PreconditionLost.
    """
    return direct.carry_out(
        process, space_id, "undo", lambda head, run_id: _undoing(process, author, head, run_id, number)
    )


def _undoing(process: Process, author: str, head: Head, run_id: str, number: int) -> Record:
    space_id = head.meta.space_id
    target = _newest_standing(process, space_id, number)
    if target.rules and not target.rules.before:
        raise Conflict("The space had no rules before this change. Write other rules instead.")
    states = provenance.before_each(process, space_id, target.files)
    files = [
        _reverse(process, BANK_FILE.key(space_id, change.path), change, None if state is None else Sources.of(state))
        for change, state in zip(target.files, states, strict=True)
    ]
    return records.by_hand(head, run_id, "undo", author, process.clock()).model_copy(
        update={
            "undoes": number,
            "undoes_kind": target.kind,
            "notes": target.notes,
            "files": files,
            "synthesis": _reverse_synthesis(process, space_id, target.synthesis),
            "rules": target.rules and _reverse(process, RULES.key(space_id), target.rules),
            "rules_changed_at": target.rules_changed_at,
        }
    )


def _newest_standing(process: Process, space_id: str, number: int) -> Record:
    """The record of change `number`, if no later change prevents its undo."""
    names = records.names(process, space_id)
    if number not in {name.number for name in names}:
        raise NotFound("consolidation", str(number))
    gone: set[int] = set()
    for name in reversed(names):
        record = records.read(process, space_id, name)
        if record.undoes is not None:
            gone.add(record.undoes)
            if record.number == number:
                raise Conflict(f"Change {number} is an undo. To fold its notes again, start a consolidation.")
        elif record.number in gone:
            if record.number == number:
                raise Conflict(f"Change {number} is undone already.")
        elif record.number != number:
            raise Conflict(f"Only the newest change, {record.number}, can be undone.")
        else:
            return record
    raise NotFound("consolidation", str(number))


def _reverse(process: Process, key: str, change: FileChange, sources: Sources | None = None) -> FileChange:
    current = process.store.get(key)
    text = current.body.decode(errors="replace") if current else None
    if text != change.after:
        raise Conflict(f"{change.path} was changed outside the service in the meantime. Correct it by hand first.")
    after = change.before.content if change.before else None
    action: records.Action = "deleted" if after is None else ("updated" if current else "created")
    before = Before(etag=current.etag, content=text or "", record=records.written_by(current)) if current else None
    return FileChange(path=change.path, action=action, before=before, after=after, sources=sources)


def _reverse_synthesis(process: Process, space_id: str, change: SynthesisChange | None) -> SynthesisChange | None:
    if not change:
        return None
    current = process.store.get(SYNTHESIS_FILE.key(space_id))
    before = Before(etag=current.etag, content=current.body.decode(errors="replace")) if current else None
    return SynthesisChange(before=before, after=change.before.content if change.before else None)
