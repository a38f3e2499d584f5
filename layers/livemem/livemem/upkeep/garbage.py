"""Garbage collection by an operator's order: notes that nobody folds are folded or moved to a record, and what is left
over of runs, backups and exports goes. Without an order the sweep does most of it; this tells at once what there is.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal

from livemem import clock as clocks
from livemem import limits
from livemem.access import decision
from livemem.access.principal import Principal
from livemem.backups import catalog, expiry, remains
from livemem.changes import moving
from livemem.changes import tending as changes
from livemem.errors import Busy, InvalidRequest, LiveMemoryError, NotFound, TooLarge
from livemem.process import Process
from livemem.runs import counter, retention
from livemem.runs.queue import Order
from livemem.spaces import contents, directory, markers, room
from livemem.spaces import head as heads
from livemem.spaces.room import Space
from livemem.store import keys
from livemem.store.objects import Entry
from livemem.store.probe import require_conditional_writes

logger = logging.getLogger(__name__)

AGE_DEFAULT = 30
AGE_MOST = 3_650
MOST_COUNTED = 10_000
"""Old notes of a space that are counted: ten LIST."""
SPACES_AT_ONCE = 16
MOVING_AT_ONCE = 4
"""Spaces whose notes are moved at once: what was begun must end within the margin."""
MARGIN = timedelta(seconds=5)
"""Time that must be left to begin with further spaces, or with another record."""

Action = Literal["none", "consolidate", "move", "busy", "set_aside"]


@dataclass(frozen=True)
class Wanted:
    """What is asked for. A note is old from `max_age_days` on. `delete_only`: old notes are moved to a record and not
    folded. `space_ids` empty: all spaces that the caller may see. Goes on behind the space `after`.
    """

    max_age_days: int = AGE_DEFAULT
    dry_run: bool = True
    delete_only: bool = False
    space_ids: tuple[str, ...] = ()
    after: str | None = None


@dataclass
class Found:
    """What was found in a space, and done there unless it is a dry run.

    `old_notes` are counted up to 10,000; `oldest` is when the first of them was written. `action`: a consolidation is
    queued (`run_id`), or the notes are moved; or somebody holds the space (`busy`), or they are too large for any run
    (`set_aside`). `leftovers` counts what interrupted work has left (changes/tending.py).
    """

    space_id: str
    old_notes: int = 0
    oldest: str | None = None
    action: Action = "none"
    run_id: str | None = None
    moved: int = 0
    records: list[int] = field(default_factory=list)
    """Numbers of the changes that the notes were moved to."""
    runs_removed: int = 0
    leftovers: int = 0
    backups_removed: int = 0
    """What was left of backups that nobody finished."""
    unfinished: bool = False
    """Whether there was too little time for all of it."""

    def is_empty(self) -> bool:
        """Whether there was nothing."""
        return self == Found(self.space_id)


@dataclass(frozen=True)
class Failure:
    """A space in which something failed; what was done there before is in its `Found`."""

    space_id: str
    code: str
    detail: str


@dataclass(frozen=True)
class Report:
    """What was found and done. `looked_at` counts spaces; `spaces` are those with anything to tell, by id. Archives and
    uploads that are over (`exports_removed`, objects) are looked for where no spaces are named, by who may see all. If
    there is `more`, a call with `after` as it is here goes on.
    """

    dry_run: bool
    looked_at: int
    spaces: list[Found]
    failed: list[Failure]
    more: bool
    after: str | None
    exports_removed: int = 0

    @property
    def old_notes(self) -> int:
        """Of all spaces."""
        return sum(found.old_notes for found in self.spaces)

    @property
    def runs_started(self) -> int:
        """Consolidations that were queued."""
        return sum(found.run_id is not None for found in self.spaces)

    @property
    def moved(self) -> int:
        """Notes that were moved to records."""
        return sum(found.moved for found in self.spaces)

    @property
    def runs_removed(self) -> int:
        """Documents of runs that were removed, or would be."""
        return sum(found.runs_removed for found in self.spaces)

    @property
    def backups_removed(self) -> int:
        """What was left of backups that nobody finished."""
        return sum(found.backups_removed for found in self.spaces)

    @property
    def leftovers(self) -> int:
        """What interrupted work has left."""
        return sum(found.leftovers for found in self.spaces)


@dataclass(frozen=True)
class _Job:
    """One call: who orders what, what is old by then, and until when there is time."""

    process: Process
    author: str
    wanted: Wanted
    until: str
    deadline: datetime

    def at_once(self) -> int:
        moves = self.wanted.delete_only and not self.wanted.dry_run
        return MOVING_AT_ONCE if moves else SPACES_AT_ONCE

    def has_time(self) -> bool:
        return self.deadline - self.process.clock() > MARGIN


def collect(process: Process, principal: Principal, wanted: Wanted, deadline: datetime) -> Report:
    """Look at the spaces, and clear up in them unless it is a dry run, which writes nothing.

    For each space 2 GET, 3 where it is held, 1 for each backup, and at most 6 LIST where little is there: live notes,
    those that may be echoes, runs, old runs, backups, and once more live notes where it consolidates by itself. A
    failure in one space does not stop the others. Raises InvalidRequest, InvalidName, TooLarge, Forbidden and NotFound
    (for a space that is named) before anything is done.
    """
    age = _check_age(wanted.max_age_days)
    candidates = _candidates(process, principal, wanted)
    if not wanted.dry_run:
        require_conditional_writes(process.store)
    until = keys.compact_time(process.clock() - age)
    job = _Job(process, principal.name, wanted, until, deadline)
    looks: list[_Look] = []
    everywhere = not (wanted.space_ids or principal.space_ids or wanted.after)
    archives = _clear_archives(job) if everywhere else _Archives()
    left = next(candidates, None)
    while left is not None and job.has_time():
        some = [left, *islice(candidates, job.at_once() - 1)]
        looks += process.store.map(lambda space_id: _look_after(job, space_id), some)
        left = next(candidates, None)
    report = _report(wanted, looks, archives, more=left is not None)
    logger.info(
        "garbage collected",
        extra={
            "dry_run": wanted.dry_run,
            "spaces": report.looked_at,
            "old_notes": report.old_notes,
            "notes_moved": report.moved,
            "runs_started": report.runs_started,
            "runs_removed": report.runs_removed,
            "failed": len(report.failed),
        },
    )
    return report


def _check_age(days: int) -> timedelta:
    # A bool is an int for Python.
    if type(days) is not int or not 1 <= days <= AGE_MOST:
        raise InvalidRequest.of("max_age_days", f"must be a whole number from 1 to {AGE_MOST}")
    return timedelta(days=days)


def _candidates(process: Process, principal: Principal, wanted: Wanted) -> Iterator[str]:
    """The ids of the spaces to look at, in order: 1 GET for each that is named, else 1 LIST per 1,000."""
    if wanted.after is not None:
        keys.check_space_id(wanted.after)
    if not wanted.space_ids and not principal.space_ids:
        return directory.ids(process, start_after=wanted.after or "")
    named = sorted(set(wanted.space_ids or principal.space_ids))
    if wanted.space_ids:
        _check_named(process, principal, named)
    # What the registry lists may be of anybody's making.
    possible = (space_id for space_id in named if keys.SPACE_ID.fullmatch(space_id))
    return (space_id for space_id in possible if wanted.after is None or space_id > wanted.after)


def _check_named(process: Process, principal: Principal, named: list[str]) -> None:
    if len(named) > limits.TOKEN_SPACES:
        raise TooLarge.of("space_ids", len(named), limits.TOKEN_SPACES, "spaces")
    for space_id in named:
        decision.check_space(principal, keys.check_space_id(space_id))
    for space_id, there in zip(named, process.store.map(lambda name: _exists(process, name), named), strict=True):
        if not there:
            raise NotFound("space", space_id)


def _exists(process: Process, space_id: str) -> bool:
    try:
        return heads.find(process, space_id) is not None
    except LiveMemoryError:
        # One that can't be read is there, and told of with what failed.
        return True


@dataclass
class _Look:
    """What came of one space."""

    found: Found
    failure: Failure | None = None


def _look_after(job: _Job, space_id: str) -> _Look:
    look = _Look(Found(space_id))
    try:
        _clear_up(job, look.found)
    except NotFound:
        # Deleted meanwhile.
        return look
    except LiveMemoryError as error:
        look.failure = Failure(space_id, error.code, error.detail)
    except Exception as error:  # noqa: BLE001 - whatever lies in one space must not stop the others
        # Not with its text, which may hold data.
        logger.error("garbage of a space", extra={"space_id": space_id, "error": type(error).__name__})  # noqa: TRY400
        look.failure = Failure(space_id, "internal_error", "The space can't be cleared up.")
    return look


def _clear_up(job: _Job, found: Found) -> None:
    space = room.find(job.process, found.space_id)
    if not space:
        return
    found.leftovers = changes.left_undone(job.process, space)
    if found.leftovers and not job.wanted.dry_run:
        changes.tend(job.process, space)
        space = room.find(job.process, found.space_id)
        if not space:
            return
    _clear_notes(job, space, found)
    _clear_runs(job, space, found)
    _clear_backups(job, found)


def _clear_notes(job: _Job, space: Space, found: Found) -> None:
    old = list(islice(moving.old_notes(job.process, space.head, job.until), MOST_COUNTED))
    if not old:
        return
    found.old_notes = len(old)
    found.oldest = clocks.iso(contents.note_name(old[0]).timestamp)
    if job.wanted.delete_only:
        _move(job, found)
    else:
        _consolidate(job, space, found, old)


def _consolidate(job: _Job, space: Space, found: Found, old: list[Entry]) -> None:
    """Queue a run; also where the space does not consolidate by itself, is paused, or waits after a failure."""
    process, meta = job.process, space.head.meta
    aside = meta.set_aside.standing(process.settings.llmaas_context_tokens)
    if all(contents.note_name(entry).note_id in aside for entry in old):
        found.action = "set_aside"
    elif space.busy and space.lease and space.lease.lease.kind != "backoff":
        found.action = "busy"
    elif job.wanted.dry_run:
        found.action = "consolidate"
    else:
        markers.leave(process, found.space_id)
        outcome = counter.start(process, space.head, Order("gc", requested_by=job.author), by_hand=True)
        found.action, found.run_id = "busy" if outcome.result == "busy" else "consolidate", outcome.run_id


def _move(job: _Job, found: Found) -> None:
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
            record = moving.move(job.process, job.author, found.space_id, until=job.until, reason=reason)
        except moving.NothingToMove:
            return
        except Busy:
            found.action = "busy"
            return
        found.moved += len(record.notes)
        found.records.append(record.number)
        left -= len(record.notes)


def _clear_runs(job: _Job, space: Space, found: Found) -> None:
    """Remove the documents of old runs until none is left, or the time is over."""
    process = job.process
    if job.wanted.dry_run:
        found.runs_removed = len(retention.removable(process, space.head))
        return
    while removed := retention.remove(process, space.head):
        found.runs_removed += removed
        if removed < retention.AT_ONCE:
            return
        if not job.has_time():
            found.unfinished = True
            return


def _clear_backups(job: _Job, found: Found) -> None:
    """Clear away what is left of backups that nobody finished: 1 LIST, and 1 GET for each backup."""
    process, space_id = job.process, found.space_id
    ids = catalog.ids(process, space_id)
    for backup_id, seen in zip(ids, catalog.looks(process, space_id, ids), strict=True):
        left = remains.find(process, space_id, backup_id, seen)
        if not left:
            continue
        cleared = job.wanted.dry_run or remains.clear(process, space_id, backup_id, seen)
        # The tombstone of one that was removed has its time to stay.
        found.backups_removed += cleared and left != "removed"


@dataclass(frozen=True)
class _Archives:
    """What came of the archives and uploads that are over."""

    removed: int = 0
    failures: tuple[Failure, ...] = ()


def _clear_archives(job: _Job) -> _Archives:
    """Remove them: what expiry.expire takes."""
    try:
        over = expiry.expire(job.process, dry_run=job.wanted.dry_run)
    except LiveMemoryError as error:
        return _Archives(failures=(Failure(keys.EXPORTS.removesuffix("/"), error.code, error.detail),))
    return _Archives(len(over.exports) + len(over.uploads))


def _report(wanted: Wanted, looks: list[_Look], archives: _Archives, *, more: bool) -> Report:
    done = wanted.after
    for look in looks:
        if look.found.unfinished:
            more = True
            break
        done = look.found.space_id
    return Report(
        dry_run=wanted.dry_run,
        looked_at=len(looks),
        spaces=[look.found for look in looks if not look.found.is_empty()],
        failed=[*archives.failures, *(look.failure for look in looks if look.failure)],
        more=more,
        after=done if more else None,
        exports_removed=archives.removed,
    )
