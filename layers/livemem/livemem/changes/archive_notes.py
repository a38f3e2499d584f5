"""Moves live notes to a record without a model: nothing is folded into the bank, and nothing is lost. They are old
notes.

The record is one of a consolidation that discards all its notes. So each note can still be read, and undo brings them
back. The fields about real consolidations (`last_consolidation`, a pause, changed rules that no consolidation has seen)
stay as they were.
"""

from collections.abc import Callable, Iterator
from itertools import islice

from livemem import limits
from livemem.changes import commit, direct, late_duplicates, records
from livemem.changes.records import NoteSource, Record
from livemem.errors import Busy, LiveMemoryError
from livemem.process import Process
from livemem.spaces import contents
from livemem.spaces.head import Head
from livemem.spaces.oversized_notes import OversizedNotes
from livemem.store.bucket import NOTE
from livemem.store.objects import Entry

TRIGGER = "gc"
RECORD_BYTES = 8_000_000
"""Bytes of the notes of one record together. A larger note, which came into the bucket without the service, stays in
place."""
AT_ONCE = 1_000
"""Listed notes that are judged together: a page of a listing."""


class NothingToMove(LiveMemoryError):
    """No such note is live. No user meets it."""


def old_notes(process: Process, head: Head, until: str) -> Iterator[Entry]:
    """The live notes up to a compact time, oldest first, listed as the caller takes them. Late duplicates are left out,
    and so are notes that an unfinished commit folds.

    1 LIST per 1,000. Where newer notes were folded also 1 LIST of the records, and 1 GET for each record that covers a
    note's time.
    """
    folded = _being_folded(process, head)
    entries = contents.notes_until(process, head.meta.space_id, until)
    while batch := list(islice(entries, AT_ONCE)):
        stray = late_duplicates.among(process, head, batch) | folded
        yield from (entry for entry in batch if contents.note_name(entry).note_id not in stray)


def _being_folded(process: Process, head: Head) -> set[str]:
    if not head.meta.committed_run:
        return set()
    plan = commit.planned(process, head.meta.space_id, head.meta.committed_run)
    # Without a plan the commit's notes are gone already. The notes of an undo come back.
    return {source.note_id for source in plan.notes} if plan and plan.kind == "consolidation" else set()


def move(process: Process, author: str, space_id: str, *, until: str, reason: str) -> Record:
    """Move the oldest live notes up to a compact time to a new record, as many as one consolidation takes, and at most
    8 MB. Each gets the `reason`.

    1 GET for each note, and the requests of a change by hand (direct.py). Raises NothingToMove, NotFound, Busy,
    PreconditionLost.
    """
    limits.check_text("reason", reason, limits.REASON_BYTES)
    return _move(process, author, space_id, TRIGGER, reason, lambda head: _sources(process, head, until))


def _move(
    process: Process, author: str, space_id: str, trigger: str, reason: str, find: Callable[[Head], list[NoteSource]]
) -> Record:
    def plan(head: Head, run_id: str) -> Record:
        if head.meta.erasing_now():
            raise Busy("Notes of this space are being erased. Try again in a minute.")
        sources = find(head)
        if not sources:
            raise NothingToMove("No such note is live.")
        record = records.by_hand(head, run_id, "consolidation", author, process.clock())
        discarded = [{"note_id": source.note_id, "reason": reason} for source in sources]
        return _moving(record, head, sources).model_copy(update={"trigger": trigger, "discarded": discarded})

    return direct.carry_out(process, space_id, trigger, plan)


def _moving(record: Record, head: Head, sources: list[NoteSource]) -> Record:
    """The record with the notes that it moves."""
    moved = {source.note_id for source in sources}
    aside = head.meta.oversized_notes
    return record.model_copy(
        update={
            "notes": sources,
            "oversized_notes": OversizedNotes(
                beside=aside.beside,
                needs={note_id: need for note_id, need in aside.needs.items() if note_id not in moved},
            ),
            "metrics": {"notes_processed": len(sources), "notes_discarded": len(sources)},
        }
    )


def _sources(process: Process, head: Head, until: str) -> list[NoteSource]:
    chosen: list[str] = []
    size = 0
    fitting = (entry for entry in old_notes(process, head, until) if entry.size <= RECORD_BYTES)
    for entry in fitting:
        if len(chosen) == process.settings.consolidation_max_notes or size + entry.size > RECORD_BYTES:
            break
        size += entry.size
        chosen.append(entry.key)
    # A note that is gone by now was no longer live when this change began.
    return [
        NoteSource.of(note_id, item.body)
        for item in process.store.get_many(chosen)
        if item and (note_id := NOTE.last(item.key))
    ]
