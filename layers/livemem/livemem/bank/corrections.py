"""Corrections by hand: an edit or deletion of a bank file."""

from livemem import limits
from livemem.bank import files, history
from livemem.bank.files import BankFile, File
from livemem.bank.history import Detail
from livemem.changes import direct, records
from livemem.changes import undo as undoing
from livemem.changes.records import Before, FileChange, Record
from livemem.errors import Conflict, InvalidRequest, NotFound
from livemem.process import Process
from livemem.spaces.head import Head


def write_file(
    process: Process, author: str, space_id: str, path: str, content: str, reason: str | None
) -> tuple[File, bool]:
    """Create or replace a bank file; returns the file as it was written, and whether it is new.

    Raises InvalidName, InvalidRequest or TooLarge (naming the field), NotFound, Busy, PreconditionLost.
    """
    files.check_path(path)
    limits.check_text("content", content, limits.BANK_FILE_BYTES)
    problem = files.content_problem(content)
    if problem:
        raise InvalidRequest.of("content", problem)

    def plan() -> list[FileChange]:
        before = files.find_file(process, space_id, path)
        if before and before.content == content:
            raise Conflict(f"{path} already has this content.")
        action: records.Action = "updated" if before else "created"
        return [FileChange(path=path, action=action, before=_before(before), after=content, reason=reason)]

    record = direct.carry_out(
        process, space_id, "manual", lambda head, run_id: _manual(process, author, head, run_id, plan())
    )
    modified = record.committed_at
    return File(path, len(content.encode()), modified, content, record.number), record.files[0].before is None


def delete_file(process: Process, author: str, space_id: str, path: str, reason: str | None) -> Record:
    """Delete a bank file; raises InvalidName, NotFound, Busy, PreconditionLost."""
    files.check_path(path)

    def plan() -> list[FileChange]:
        before = files.find_file(process, space_id, path)
        if not before:
            raise NotFound("bank file", path)
        return [FileChange(path=path, action="deleted", before=_before(before), after=None, reason=reason)]

    return direct.carry_out(
        process, space_id, "manual", lambda head, run_id: _manual(process, author, head, run_id, plan())
    )


def undo(process: Process, author: str, space_id: str, number: int) -> Detail:
    """Undo the newest change (changes/undo.py), and the undo itself as the history shows it."""
    return history.detail(space_id, undoing.undo(process, author, space_id, number), undone=False)


def _manual(process: Process, author: str, head: Head, run_id: str, files: list[FileChange]) -> Record:
    return records.by_hand(head, run_id, "manual", author, process.clock()).model_copy(update={"files": files})


def _before(file: BankFile | None) -> Before | None:
    return Before(etag=file.etag, content=file.content, record=file.record) if file else None
