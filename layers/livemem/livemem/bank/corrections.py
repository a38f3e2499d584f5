"""Corrections by hand: a person writes a bank file, edits its sections or deletes it.

The checks of an LLM's answer that guard against forgetting (consolidation/planning.py) are not for people.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace

from livemem import clock, limits
from livemem.access.principal import Principal
from livemem.bank import files, history
from livemem.bank.files import BankFile, File
from livemem.bank.history import RecordSummary
from livemem.changes import direct, records
from livemem.changes import undo as undoing
from livemem.changes.records import Before, FileChange, Record
from livemem.changes.section_sources import own_texts
from livemem.errors import (
    Conflict,
    FieldError,
    InvalidRequest,
    LiveMemoryError,
    NotFound,
    PreconditionLost,
    TooLarge,
)
from livemem.markdown import sections
from livemem.markdown.blocks import SectionError
from livemem.markdown.edits import Edit, apply_edits
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.text.redaction import when

REPEAT_LOOKS = 10
"""Changes since a request came that are compared with it. One that waits for its turn meets few."""


def write_file(
    process: Process, author: str, space_id: str, path: str, content: str, reason: str | None
) -> tuple[File, bool]:
    """Create or replace a bank file. Returns the file as it was written, and whether it is new.

    Raises InvalidName, InvalidRequest or TooLarge (naming the field), NotFound, Busy, PreconditionLost.
    """
    files.check_path(path)
    reason = _checked_reason(process, reason)
    limits.check_text("content", content, limits.BANK_FILE_BYTES)
    content = when(process.settings.redact_secrets, content)
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
    return _written(record), record.files[0].before is None


def edit_sections(
    process: Process,
    principal: Principal,
    space_id: str,
    path: str,
    edits: Sequence[Edit],
    reason: str,
    *,
    written_by: int | None = None,
) -> File:
    """Edit sections of a bank file in the given order, or confirm that they still hold. Returns the file as it was
    written. Each token that may `write` may confirm. `written_by`: the number of the change that the file has to be of;
    None for any. Edits that were made already since the request came, by the same author with the same reason, are not
    made twice.

    Confirmations alone take 3 GET more. Where each of the sections was confirmed on this day (UTC) already, they take
    nothing else, and change nothing: a record holds the whole file twice, so that small requests without bounds would
    store much.

    Raises InvalidName, InvalidRequest or TooLarge (naming the field, `edits.0` the first edit: also one that confirms a
    section without a text, which nothing could confirm), NotFound, Forbidden, Conflict if the edits neither change nor
    confirm anything, Busy, PreconditionLost (also for a file that another change has written).
    """
    files.check_path(path)
    reason = when(process.settings.redact_secrets, limits.check_text("reason", reason, limits.REASON_BYTES))
    _check_edits(edits)
    edits = [_redacted(edit) for edit in edits] if process.settings.redact_secrets else edits
    meta = heads.load(process, space_id).meta
    confirms = [edit.op == "confirm_section" for edit in edits]
    if not (all(confirms) and "write" in principal.permissions):
        files.check_may_correct(principal, meta)
    if all(confirms) and (standing := _confirmed_today(process, space_id, path, edits)):
        return standing

    made = [{name: value for name, value in asdict(edit).items() if value or name == "op"} for edit in edits]

    def plan(head: Head) -> list[FileChange]:
        same = _made_since(process, principal.name, head, meta.changes, path, made, reason)
        if same:
            raise _Made(same)
        before = files.find_file(process, space_id, path)
        if not before:
            raise NotFound("bank file", path)
        if written_by is not None and before.number != written_by:
            raise PreconditionLost(f"{path} was written by change {before.number} since: read it again.")
        after = _edited(before.content, edits)
        if after == before.content and not any(confirms):
            raise Conflict(f"The edits change nothing in {path}.")
        change = FileChange(path=path, action="edited", before=_before(before), after=after, edits=made, reason=reason)
        return [change]

    try:
        record = direct.carry_out(
            process, space_id, "manual", lambda head, run_id: _manual(process, principal.name, head, run_id, plan(head))
        )
    except _Made as same:
        record = same.record
    return _written(record)


class _Made(LiveMemoryError):
    """The same edits were made while this request waited for its turn. No user sees this error."""

    def __init__(self, record: Record) -> None:
        super().__init__("The edits are made.")
        self.record = record


def _made_since(
    process: Process, author: str, head: Head, since: int, path: str, edits: list[dict[str, str]], reason: str
) -> Record | None:
    """The change after number `since` that is this request itself, sent once more while it waited for its turn: else
    text would be appended twice. 1 GET for each change, at most REPEAT_LOOKS.
    """
    for number in range(max(since, head.meta.changes - REPEAT_LOOKS) + 1, head.meta.changes + 1):
        record = records.get(process, head.meta.space_id, number)
        changed = [(file.path, file.edits, file.reason) for file in record.files]
        if (record.kind, record.author, changed) == ("manual", author, [(path, edits, reason)]):
            return record
    return None


def _confirmed_today(process: Process, space_id: str, path: str, edits: Sequence[Edit]) -> File | None:
    """The file, if each section that these edits name, and each below it, was confirmed today (UTC). Else None."""
    file, sources = history.read_file(process, space_id, path, at=None, sources=True)
    content, today = file.content or "", clock.iso(process.clock())[:10]
    # What can't be confirmed is refused before a lease is taken.
    _edited(content, edits)
    if not sources:
        return None
    texts = own_texts(content)
    days = {tuple(section.path): (section.verified_at or "")[:10] for section in sources.sections}
    addressed = [sections.addressed(content, edit.heading)[0].path for edit in edits]
    below = [
        section
        for section, text in texts.items()
        if text.strip() and any(section[: len(path)] == path for path in addressed)
    ]
    return file if all(days.get(section) == today for section in below) else None


def _check_edits(edits: Sequence[Edit]) -> None:
    if not edits:
        raise InvalidRequest.of("edits", "must have at least one edit")
    if len(edits) > limits.CORRECTION_EDITS:
        raise TooLarge.of("edits", len(edits), limits.CORRECTION_EDITS, "edits")
    for number, edit in enumerate(edits):
        texts = {"heading": edit.heading, "content": edit.content, "after": edit.after or "", "line": edit.line}
        for name, text in texts.items():
            limits.check_text(f"edits.{number}.{name}", text, limits.BANK_FILE_BYTES, blank=name != "heading")


def _redacted(edit: Edit) -> Edit:
    # Other headings are in the file already, and address the section.
    heading = when(edit.op == "add_section", edit.heading)
    return replace(edit, heading=heading, content=when(True, edit.content))


def _edited(text: str, edits: Sequence[Edit]) -> str:
    try:
        after = apply_edits(text, edits)
    except SectionError as error:
        raise InvalidRequest(error.detail, fields=error.fields or [FieldError("edits", error.detail)]) from None
    problem = files.content_problem(after) if after.strip() else "would leave an empty file: delete the file instead"
    if problem:
        raise InvalidRequest.of("edits", problem)
    return after


def delete_file(process: Process, author: str, space_id: str, path: str, reason: str | None) -> Record:
    """Delete a bank file.

    Raises InvalidName, InvalidRequest or TooLarge (naming the field), NotFound, Busy, PreconditionLost.
    """
    files.check_path(path)
    reason = _checked_reason(process, reason)

    def plan() -> list[FileChange]:
        before = files.find_file(process, space_id, path)
        if not before:
            raise NotFound("bank file", path)
        return [FileChange(path=path, action="deleted", before=_before(before), after=None, reason=reason)]

    return direct.carry_out(
        process, space_id, "manual", lambda head, run_id: _manual(process, author, head, run_id, plan())
    )


def undo(process: Process, author: str, space_id: str, number: int) -> RecordSummary:
    """Undo the newest change (changes/undo.py). Returns the undo as the history lists it."""
    return history.summary(undoing.undo(process, author, space_id, number), undone=False)


def _manual(process: Process, author: str, head: Head, run_id: str, files: list[FileChange]) -> Record:
    return records.by_hand(head, run_id, "manual", author, process.clock()).model_copy(update={"files": files})


def _checked_reason(process: Process, reason: str | None) -> str | None:
    # Before the lease is taken: a reason that can't be recorded would leave the space busy.
    if reason is not None:
        limits.check_text("reason", reason, limits.REASON_BYTES, blank=True)
    return when(process.settings.redact_secrets, reason)


def _before(file: BankFile | None) -> Before | None:
    return Before(etag=file.etag, content=file.content, record=file.record) if file else None


def _written(record: Record) -> File:
    change = record.files[0]
    text = change.after or ""
    return File(change.path, len(text.encode()), record.committed_at, text, record.number)
