"""Watches changes that a late request may still disturb, and repairs them from the records."""

from datetime import datetime

from livemem import clock
from livemem.changes import late_duplicates, records
from livemem.changes.records import Record
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.spaces.head_fields import LateWriteRepair, Watched
from livemem.store import bucket, keys, stored, timing
from livemem.store.bucket import NOTE
from livemem.store.objects import MARKDOWN, Object

WATCHED_FOR = timing.LAST_WRITE + timing.APART
"""Longer than any request can come late, also one of a worker that stood still and continues after the change. One
process's clock sets the end, and another's reads it."""


def watching(head: Head, record: Record, now: datetime) -> LateWriteRepair | None:
    """The head's field from the commit of `record` on."""
    before = head.meta.late_write_repair
    touched = {path: Watched(number=record.number, gone=after is None) for path, after in record.written().items()}
    if record.kind == "consolidation":
        # The repair only goes forwards: it brings back no earlier state. A tidy run may: without the line that the
        # change before it added, a file is as it was.
        files = before.files if before else {}
        going_on = {path: touched.get(path, etag) for path, etag in files.items()}
        return before and before.model_copy(update={"files": going_on})
    return LateWriteRepair(
        until=clock.iso(now + WATCHED_FOR),
        files={**(before.files if before else {}), **touched},
        returned=[
            *(before.returned if before else []),
            *([record.number] if record.kind == "undo" and record.notes else []),
        ],
    )


def settle(process: Process, head: Head) -> Head:
    """Repair damage by a late request. Called under the lease, without an unfinished commit.

    1 GET for each watched file. For each watched undo 1 LIST and the requests that find its notes. Returns the head
    after it.
    """
    watched = head.meta.late_write_repair
    if not watched:
        return head
    process.store.map(lambda item: _mend_file(process, head, *item), list(watched.files.items()))
    for number in watched.returned:
        _bring_back(process, head, number)
    if process.clock() > clock.parse(watched.until):
        return heads.try_swap(process, head, late_write_repair=None) or head
    return head


def _mend_file(process: Process, head: Head, path: str, watched: Watched) -> None:
    key = bucket.recorded(head.meta.space_id, path)
    item = process.store.get(key)
    if item and not _is_stale(item, watched):
        return
    if not item and watched.gone:
        return
    record = records.get(process, head.meta.space_id, watched.number)
    if path not in record.written():
        # A file that came with a space names the change that wrote it in its metadata.
        return
    after = record.written()[path]
    if after is not None:
        over, metadata = item.etag if item else None, record.metadata()
        stored.write_if(process.store, key, after.encode(), over=over, content_type=MARKDOWN, metadata=metadata)
    elif item:
        process.store.delete(key, if_match=item.etag)


def _is_stale(item: Object, watched: Watched) -> bool:
    """Whether an earlier change than the newest wrote it. A file written without the service stays."""
    number = item.metadata.get("consolidation", "")
    return number.isdecimal() and int(number) < watched.number


def _bring_back(process: Process, head: Head, number: int) -> None:
    """Write the notes that undo `number` gave back and that are neither live nor folded again since."""
    space_id = head.meta.space_id
    undo = records.get(process, space_id, number)
    first, last = (NOTE.prefix(space_id) + moment for moment in (undo.name().first, undo.name().last))
    # `~` sorts behind every character of a note's name.
    live = {entry.key for entry in process.store.scan(NOTE.prefix(space_id), start_after=first, stop=f"{last}~")}
    missing = {source.note_id: source for source in undo.notes if NOTE.key(space_id, source.note_id) not in live}
    folded = late_duplicates.standing(
        process, head, [keys.parse_note_id(note_id) for note_id in missing], since=number + 1
    )
    for note_id in missing.keys() - folded:
        key = NOTE.key(space_id, note_id)
        stored.write_if(process.store, key, missing[note_id].body(), content_type=MARKDOWN)
