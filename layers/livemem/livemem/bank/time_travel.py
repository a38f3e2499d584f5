"""The bank as it stood after an earlier change: today's bank, with the later changes undone."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from livemem import clock
from livemem.bank import files
from livemem.bank import synthesis as syntheses
from livemem.bank.files import File
from livemem.bank.synthesis import Synthesis
from livemem.changes import records
from livemem.changes.records import FileChange, Record, SynthesisChange
from livemem.errors import Conflict, InvalidRequest, NotFound, ObjectUnreadable
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import rules
from livemem.store import keys
from livemem.store.bucket import SYNTHESIS_FILE

MOST_CHANGES = 1_000
"""Most records that are read to go back in time. Each may hold a whole bank."""

NUMBER_DIGITS = 9


@dataclass(frozen=True)
class RecordedMoment:
    """The moment right after a change. `asked`: the later time that was asked for, before the next change."""

    record: Record
    asked: datetime | None = None

    @property
    def number(self) -> int:
        return self.record.number

    @property
    def committed_at(self) -> str:
        return self.record.committed_at

    @property
    def time(self) -> datetime:
        """The time whose state is meant: later notes are no part of it."""
        return self.asked or clock.parse(self.committed_at)


def then(process: Process, space_id: str, at: str) -> RecordedMoment:
    """The moment that `at` names: the number of a change, or a time in ISO 8601, which means the last change committed
    at or before it.

    A number costs 1 LIST and 1 GET, a time a GET for each halving of the history. Raises InvalidRequest, NotFound.
    """
    heads.load_recent(process, space_id)
    if at.isascii() and at.isdecimal() and len(at) <= NUMBER_DIGITS:
        return RecordedMoment(records.get(process, space_id, int(at)))
    try:
        # A plus sign that a client did not escape arrives as a space.
        moment = clock.parse(at.replace(" ", "+"))
    except ValueError:
        message = "must be the number of a change, or a time in ISO 8601 such as 2026-02-20T14:00:00Z"
        raise InvalidRequest.of("at", message) from None
    return _last_before(process, space_id, moment, at)


def _last_before(process: Process, space_id: str, moment: datetime, at: str) -> RecordedMoment:
    read: dict[int, Record] = {}

    def committed(name: keys.RecordName) -> datetime:
        try:
            read[name.number] = records.read(process, space_id, name)
        except ObjectUnreadable:
            # It was committed after the last of its notes was written. No better time is known.
            return clock.parse(name.last)
        return clock.parse(read[name.number].committed_at)

    names = records.names(process, space_id)
    count = bisect_right(names, moment, key=committed)
    if count == 0:
        raise NotFound("consolidation", at)
    last = names[count - 1]
    return RecordedMoment(read.get(last.number) or records.read(process, space_id, last), moment)


def bank_at(process: Process, space_id: str, moment: RecordedMoment, *, content: bool = False) -> list[File]:
    """All files as they stood then, in the order of their paths. Their `last_modified` is that moment.

    The requests of today's listing (with `content` also 1 GET each), and 1 GET for each later change. Raises Conflict
    if these are too many.
    """
    # Today's files first: any later change of them is among the records, and is undone.
    today = {file.path: file for file in files.listing(process, space_id, content=content)}
    changed: dict[str, File | None] = {}
    for record in since(process, space_id, moment):
        for change in record.files:
            was = change.before
            former_file = _file(change.path, was.content, moment, was.record, content=content) if was else None
            changed.setdefault(change.path, former_file)
    written_by = keys.record_text(moment.record.name())
    for change in moment.record.files:
        text = change.after
        former_file = None if text is None else _file(change.path, text, moment, written_by, content=content)
        changed.setdefault(change.path, former_file)
    unchanged = {
        path: File(path, file.size, moment.committed_at, file.content, moment.number, file.record)
        for path, file in today.items()
    }
    return [file for _, file in sorted((unchanged | changed).items()) if file]


def file_at(process: Process, space_id: str, path: str, moment: RecordedMoment) -> File:
    """One file as it stood then. Its `last_modified` is that moment. Reads records until one holds the file.

    Raises InvalidName, NotFound (it did not exist then), Conflict (too many later changes).
    """
    files.check_path(path)

    def of(record: Record) -> FileChange | None:
        return next((change for change in record.files if change.path == path), None)

    changed = of(moment.record)
    if changed:
        return _existing(path, changed.after, moment)
    today = files.find_file(process, space_id, path)
    if today and today.number is not None and today.number < moment.number:
        # Nothing has changed it since.
        return _existing(path, today.content, moment)
    for record in since(process, space_id, moment):
        later = of(record)
        if later:
            return _existing(path, later.before.content if later.before else None, moment)
    return _existing(path, today.content if today else None, moment)


def synthesis_at(process: Process, space_id: str, moment: RecordedMoment) -> Synthesis:
    """The synthesis as it stood then. Raises NotFound if there was none, Conflict (too many later changes)."""

    def of(record: Record) -> SynthesisChange | None:
        return record.synthesis

    changed = of(moment.record)
    if changed:
        return _synthesis(changed.after, space_id)
    today = process.store.get(SYNTHESIS_FILE.key(space_id))
    for record in since(process, space_id, moment):
        later = of(record)
        if later:
            return _synthesis(later.before.content if later.before else None, space_id)
    return _synthesis(today.body.decode(errors="replace") if today else None, space_id)


def rules_at(process: Process, space_id: str, moment: RecordedMoment) -> str:
    """The rules as they stood then. Raises NotFound if the space had none, Conflict (too many later changes)."""
    if moment.record.rules:
        return moment.record.rules.after or ""
    today = rules.read(process, space_id)
    for record in since(process, space_id, moment):
        if record.rules:
            return record.rules.before.content if record.rules.before else ""
    return today


def since(process: Process, space_id: str, moment: RecordedMoment) -> Iterator[Record]:
    """The records of the changes after that moment, oldest first. They are read as the caller consumes them, some at
    once.

    Raises ObjectUnreadable at one that cannot be read, Conflict.
    """
    later = records.names(process, space_id, since=moment.number + 1, limit=MOST_CHANGES + 1)
    for start in range(0, min(len(later), MOST_CHANGES), records.AT_ONCE):
        for record in records.read_each(process, space_id, later[start : start + records.AT_ONCE]):
            if isinstance(record, ObjectUnreadable):
                # It may have changed the requested file.
                raise record
            yield record
    if len(later) > MOST_CHANGES:
        raise Conflict(
            f"More than {MOST_CHANGES} changes were made after change {moment.number}. Choose a later change."
        )


def _existing(path: str, text: str | None, moment: RecordedMoment) -> File:
    if text is None:
        raise NotFound("bank file", path)
    return _file(path, text, moment, None, content=True)


def _file(path: str, text: str, moment: RecordedMoment, record: str | None, *, content: bool) -> File:
    return File(path, len(text.encode()), moment.committed_at, text if content else None, moment.number, record)


def _synthesis(text: str | None, space_id: str) -> Synthesis:
    if text is None:
        raise NotFound("synthesis", space_id)
    return syntheses.parse_synthesis(text)
