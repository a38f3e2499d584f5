"""Corrections by an admin: a manual edit or deletion of a bank file, and the undo of the newest consolidation.

Each is planned, committed, applied and recorded like a consolidation, under the lease, without an LLM.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from livemem import bank, commit, counter, keys, lease, limits, planning, records, spaces
from livemem import clock as clocks
from livemem.answer import ContractError
from livemem.clock import Clock
from livemem.commit import CommitLost
from livemem.errors import Conflict, InvalidRequest, NotFound, PreconditionLost
from livemem.planning import BankFile
from livemem.records import Before, FileChange, Record, SynthesisChange
from livemem.spaces import Head
from livemem.store import Store, require_conditional_writes

LEASE_LIFE = timedelta(seconds=60)
"""Longer than an HTTP function can run (29 s)."""


@dataclass(frozen=True)
class Editor:
    """Who corrects, with what."""

    store: Store
    clock: Clock
    new_id: Callable[[], str]
    author: str
    start: counter.Start


def write_file(editor: Editor, space_id: str, path: str, content: str, reason: str | None) -> tuple[Record, bool]:
    """Create or replace a bank file; returns the record and whether the file is new.

    Raises InvalidName, InvalidRequest or TooLarge (naming the field), NotFound, Busy, PreconditionLost.
    """
    bank.check_path(path)
    limits.check_text("content", content, limits.BANK_FILE_BYTES)
    _check_reason(reason)
    try:
        planning.check_content(path, content)
    except ContractError as error:
        raise InvalidRequest.of("content", str(error)) from None

    def plan() -> list[FileChange]:
        before = bank.find_file(editor.store, space_id, path)
        if before and before.content == content:
            raise Conflict(f"{path} already has this content.")
        action: records.Action = "updated" if before else "created"
        return [FileChange(path=path, action=action, before=_before(before), after=content, reason=reason)]

    record = _correct(editor, space_id, "manual", lambda head, run_id: _manual(editor, head, run_id, plan()))
    return record, record.files[0].before is None


def delete_file(editor: Editor, space_id: str, path: str, reason: str | None) -> Record:
    """Delete a bank file; raises InvalidName, InvalidRequest or TooLarge (reason), NotFound, Busy, PreconditionLost."""
    bank.check_path(path)
    _check_reason(reason)

    def plan() -> list[FileChange]:
        before = bank.find_file(editor.store, space_id, path)
        if not before:
            raise NotFound("bank file", path)
        return [FileChange(path=path, action="deleted", before=_before(before), after=None, reason=reason)]

    return _correct(editor, space_id, "manual", lambda head, run_id: _manual(editor, head, run_id, plan()))


def undo(editor: Editor, space_id: str, number: int) -> Record:
    """Bring bank and synthesis back to before change `number` and its notes back to live.

    Only the newest change that is not undone can be undone, so repeated undo walks back step by step. Automatic
    consolidation pauses. Raises NotFound, Conflict (with what to do instead), Busy, PreconditionLost.
    """
    return _correct(editor, space_id, "undo", lambda head, run_id: _undoing(editor, head, run_id, number))


def _correct(editor: Editor, space_id: str, kind: str, plan: Callable[[Head, str], Record]) -> Record:
    store = editor.store
    require_conditional_writes(store)
    spaces.load(store, space_id)
    run_id, now = editor.new_id(), editor.clock()
    held = lease.acquire(store, space_id, run_id, kind, now=now, until=now + LEASE_LIFE, by_hand=True)
    try:
        head = commit.recover(store, spaces.load(store, space_id), editor.clock)
        head = commit.clear_abandoned(store, head, held, editor.clock)
        record = commit.prepare(store, space_id, plan(head, run_id))
        head = commit.commit(store, head, held, record, editor.clock)
    except CommitLost as error:
        lease.release(store, held)
        raise PreconditionLost(str(error)) from error
    except (NotFound, Conflict):
        lease.release(store, held)
        raise
    # After a failure from here on the lease stays: it tells the sweep that there is something to finish.
    commit.apply(store, head, record)
    lease.release(store, held)
    counter.start_if_due(store, space_id, "threshold", now=editor.clock(), new_id=editor.new_id, start=editor.start)
    return record


def _check_reason(reason: str | None) -> None:
    # Before the lease is taken: what can't be recorded would leave the space busy.
    if reason is not None:
        limits.check_text("reason", reason, limits.REASON_BYTES, blank=True)


def _before(file: BankFile | None) -> Before | None:
    return Before(etag=file.etag, content=file.content) if file else None


def _manual(editor: Editor, head: Head, run_id: str, files: list[FileChange]) -> Record:
    now = editor.clock()
    return Record(
        number=head.meta.consolidation_count + 1,
        run_id=run_id,
        uid=head.meta.uid,
        kind="manual",
        trigger="api",
        started_at=clocks.iso_millis(now),
        committed_at=clocks.iso(now),
        author=editor.author,
        files=files,
    )


def _undoing(editor: Editor, head: Head, run_id: str, number: int) -> Record:
    store, space_id = editor.store, head.meta.space_id
    target = _newest_standing(store, space_id, number)
    files = [_reverse(store, space_id, change) for change in target.files]
    now = editor.clock()
    return Record(
        number=head.meta.consolidation_count + 1,
        run_id=run_id,
        uid=head.meta.uid,
        kind="undo",
        trigger="api",
        started_at=clocks.iso_millis(now),
        committed_at=clocks.iso(now),
        author=editor.author,
        undoes=number,
        notes=target.notes,
        files=files,
        synthesis=_reverse_synthesis(store, space_id, target.synthesis),
    )


def _newest_standing(store: Store, space_id: str, number: int) -> Record:
    """The record of change `number`, if no later one stands in the way of its undo."""
    names = records.names(store, space_id)
    if number not in {name.number for name in names}:
        raise NotFound("consolidation", str(number))
    gone: set[int] = set()
    for name in reversed(names):
        record = records.read(store, space_id, name)
        if record.undoes is not None:
            gone.add(record.undoes)
            if record.number == number:
                raise Conflict(f"{number} is an undo; to bring its notes in again, start a consolidation.")
        elif record.number in gone:
            if record.number == number:
                raise Conflict(f"{number} is undone already.")
        elif record.number != number:
            raise Conflict(f"Only the newest change can be undone: {record.number}.")
        else:
            return record
    raise NotFound("consolidation", str(number))


def _reverse(store: Store, space_id: str, change: FileChange) -> FileChange:
    current = store.get(keys.bank_file(space_id, change.path))
    text = current.body.decode(errors="replace") if current else None
    if text != change.after:
        raise Conflict(f"{change.path} was changed outside the service since; correct it by hand first.")
    after = change.before.content if change.before else None
    action: records.Action = "deleted" if after is None else ("updated" if current else "created")
    before = Before(etag=current.etag, content=text or "") if current else None
    return FileChange(path=change.path, action=action, before=before, after=after)


def _reverse_synthesis(store: Store, space_id: str, change: SynthesisChange | None) -> SynthesisChange | None:
    if not change:
        return None
    current = store.get(keys.synthesis(space_id))
    before = Before(etag=current.etag, content=current.body.decode(errors="replace")) if current else None
    return SynthesisChange(before=before, after=change.before.content if change.before else None)
