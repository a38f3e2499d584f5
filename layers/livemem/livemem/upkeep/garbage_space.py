"""Garbage collection in one space (garbage.py)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from livemem import clock as clocks
from livemem.backups import catalog, incomplete_backups
from livemem.changes import archive_notes
from livemem.changes import maintenance as changes
from livemem.errors import Busy
from livemem.jobs import counter, maintainable, run_retention
from livemem.jobs.maintainable import Space
from livemem.jobs.queue import RunOrder
from livemem.process import Process
from livemem.spaces import contents, due_index
from livemem.store.objects import Entry
from livemem.upkeep.garbage_report import GarbageOfSpace, GarbageRequest

MOST_COUNTED = 10_000
"""Old notes of a space that are counted: ten LIST."""
MARGIN = timedelta(seconds=5)
"""Time that must be left to begin with further spaces, or with another record."""


@dataclass(frozen=True)
class GarbageCall:
    """One call: its author, its request, the time up to which notes are old (`until`), and its deadline."""

    process: Process
    author: str
    wanted: GarbageRequest
    until: str
    deadline: datetime

    def has_time(self) -> bool:
        """Whether there is enough of it for another piece of work."""
        return self.deadline - self.process.clock() > MARGIN


def clear_up(job: GarbageCall, garbage: GarbageOfSpace) -> None:
    """Look at the space that `garbage` names, clear up in it unless it is a dry run, and write the outcome into it.

    Raises NotFound if it is deleted meanwhile, and any error of the steps.
    """
    space = maintainable.find(job.process, garbage.space_id)
    if not space:
        return
    garbage.orphans = changes.left_undone(job.process, space)
    if garbage.orphans and not job.wanted.dry_run:
        changes.maintain(job.process, space)
        space = maintainable.find(job.process, garbage.space_id)
        if not space:
            return
    _clear_notes(job, space, garbage)
    _clear_runs(job, space, garbage)
    _clear_backups(job, garbage)


def _clear_notes(job: GarbageCall, space: Space, garbage: GarbageOfSpace) -> None:
    old = list(islice(archive_notes.old_notes(job.process, space.head, job.until), MOST_COUNTED))
    if not old:
        return
    garbage.old_notes = len(old)
    garbage.oldest = clocks.iso(contents.note_name(old[0]).timestamp)
    if job.wanted.delete_only:
        _move(job, garbage)
    else:
        _consolidate(job, space, garbage, old)


def _consolidate(job: GarbageCall, space: Space, garbage: GarbageOfSpace, old: list[Entry]) -> None:
    """Queue a run; also where the space does not consolidate by itself, is paused, or waits after a failure."""
    process, meta = job.process, space.head.meta
    aside = meta.oversized_notes.standing(process.settings.llmaas_context_tokens)
    if all(contents.note_name(entry).note_id in aside for entry in old):
        garbage.action = "oversized_notes"
    elif space.busy and space.lease and space.lease.lease.kind != "backoff":
        garbage.action = "busy"
    elif job.wanted.dry_run:
        garbage.action = "consolidate"
    else:
        due_index.leave(process, garbage.space_id)
        outcome = counter.start(process, space.head, RunOrder("gc", requested_by=job.author), by_hand=True)
        garbage.action, garbage.run_id = "busy" if outcome.result == "busy" else "consolidate", outcome.run_id


def _move(job: GarbageCall, garbage: GarbageOfSpace) -> None:
    """Move the notes to records until none is left, or the time is over."""
    garbage.action = "move"
    if job.wanted.dry_run:
        return
    reason = f"older than {job.wanted.max_age_days} days; moved here by garbage collection"
    old_notes = garbage.old_notes
    while old_notes > 0 or garbage.old_notes == MOST_COUNTED:
        if not job.has_time():
            garbage.unfinished = True
            return
        try:
            record = archive_notes.move(job.process, job.author, garbage.space_id, until=job.until, reason=reason)
        except archive_notes.NothingToMove:
            return
        except Busy:
            garbage.action = "busy"
            return
        garbage.moved += len(record.notes)
        garbage.records.append(record.number)
        old_notes -= len(record.notes)


def _clear_runs(job: GarbageCall, space: Space, garbage: GarbageOfSpace) -> None:
    """Remove the documents of old runs until none is left, or the time is over."""
    process = job.process
    if job.wanted.dry_run:
        garbage.runs_removed = len(run_retention.removable(process, space.head))
        return
    while removed := run_retention.remove(process, space.head):
        garbage.runs_removed += removed
        if removed < run_retention.AT_ONCE:
            return
        if not job.has_time():
            garbage.unfinished = True
            return


def _clear_backups(job: GarbageCall, garbage: GarbageOfSpace) -> None:
    """Remove backups that nobody finished: 1 LIST, and 1 GET for each backup."""
    process, space_id = job.process, garbage.space_id
    ids = catalog.ids(process, space_id)
    for backup_id, look in zip(ids, catalog.looks(process, space_id, ids), strict=True):
        rest = incomplete_backups.find(process, space_id, backup_id, look)
        if not rest:
            continue
        cleared = job.wanted.dry_run or incomplete_backups.clear(process, space_id, backup_id, look)
        # The tombstone of one that was removed has its time to stay.
        garbage.backups_removed += cleared and rest != "removed"
