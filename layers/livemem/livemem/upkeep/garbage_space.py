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


def clear_up(job: GarbageCall, found: GarbageOfSpace) -> None:
    """Look at the space that `found` names, clear up in it unless it is a dry run, and write the outcome into it.

    Raises NotFound if it is deleted meanwhile, and any error of the steps.
    """
    space = maintainable.find(job.process, found.space_id)
    if not space:
        return
    found.orphans = changes.left_undone(job.process, space)
    if found.orphans and not job.wanted.dry_run:
        changes.maintain(job.process, space)
        space = maintainable.find(job.process, found.space_id)
        if not space:
            return
    _clear_notes(job, space, found)
    _clear_runs(job, space, found)
    _clear_backups(job, found)


def _clear_notes(job: GarbageCall, space: Space, found: GarbageOfSpace) -> None:
    old = list(islice(archive_notes.old_notes(job.process, space.head, job.until), MOST_COUNTED))
    if not old:
        return
    found.old_notes = len(old)
    found.oldest = clocks.iso(contents.note_name(old[0]).timestamp)
    if job.wanted.delete_only:
        _move(job, found)
    else:
        _consolidate(job, space, found, old)


def _consolidate(job: GarbageCall, space: Space, found: GarbageOfSpace, old: list[Entry]) -> None:
    """Queue a run; also where the space does not consolidate by itself, is paused, or waits after a failure."""
    process, meta = job.process, space.head.meta
    aside = meta.oversized_notes.standing(process.settings.llmaas_context_tokens)
    if all(contents.note_name(entry).note_id in aside for entry in old):
        found.action = "oversized_notes"
    elif space.busy and space.lease and space.lease.lease.kind != "backoff":
        found.action = "busy"
    elif job.wanted.dry_run:
        found.action = "consolidate"
    else:
        due_index.leave(process, found.space_id)
        outcome = counter.start(process, space.head, RunOrder("gc", requested_by=job.author), by_hand=True)
        found.action, found.run_id = "busy" if outcome.result == "busy" else "consolidate", outcome.run_id


def _move(job: GarbageCall, found: GarbageOfSpace) -> None:
    """Move the notes to records until none is left, or the time is over."""
    found.action = "move"
    if job.wanted.dry_run:
        return
    reason = f"older than {job.wanted.max_age_days} days; moved here by garbage collection"
    left = found.old_notes
    while left > 0 or found.old_notes == MOST_COUNTED:
        if not job.has_time():
            found.unfinished = True
            return
        try:
            record = archive_notes.move(job.process, job.author, found.space_id, until=job.until, reason=reason)
        except archive_notes.NothingToMove:
            return
        except Busy:
            found.action = "busy"
            return
        found.moved += len(record.notes)
        found.records.append(record.number)
        left -= len(record.notes)


def _clear_runs(job: GarbageCall, space: Space, found: GarbageOfSpace) -> None:
    """Remove the documents of old runs until none is left, or the time is over."""
    process = job.process
    if job.wanted.dry_run:
        found.runs_removed = len(run_retention.removable(process, space.head))
        return
    while removed := run_retention.remove(process, space.head):
        found.runs_removed += removed
        if removed < run_retention.AT_ONCE:
            return
        if not job.has_time():
            found.unfinished = True
            return


def _clear_backups(job: GarbageCall, found: GarbageOfSpace) -> None:
    """Remove backups that nobody finished: 1 LIST, and 1 GET for each backup."""
    process, space_id = job.process, found.space_id
    ids = catalog.ids(process, space_id)
    for backup_id, seen in zip(ids, catalog.looks(process, space_id, ids), strict=True):
        left = incomplete_backups.find(process, space_id, backup_id, seen)
        if not left:
            continue
        cleared = job.wanted.dry_run or incomplete_backups.clear(process, space_id, backup_id, seen)
        # The tombstone of one that was removed has its time to stay.
        found.backups_removed += cleared and left != "removed"
