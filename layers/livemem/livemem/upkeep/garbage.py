"""Garbage collection by an operator's order: it folds notes that nobody folds, or moves them to a record, and removes
orphans of runs, backups and exports. Without an order the sweep does most of it. This reports at once what it found.
"""

import heapq
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby, islice
from typing import Any, Literal

from livemem import clock as clocks
from livemem import limits
from livemem.access import decision, management
from livemem.access.principal import Principal
from livemem.changes import archive_notes
from livemem.changes import maintenance as changes
from livemem.copies import catalog, export, retention
from livemem.copies.retention import Removal
from livemem.errors import Busy, InvalidRequest, LiveMemoryError, NotFound, TooLarge
from livemem.jobs import counter, run_retention
from livemem.jobs.package import Space, look_at_space
from livemem.jobs.queue import RunOrder
from livemem.process import Process
from livemem.spaces import contents, directory, due_index
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.store.bucket import EXPORT, TOKENS
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Entry

MOST_COUNTED = 10_000
"""Old notes of a space that are counted: ten LIST."""
MARGIN = timedelta(seconds=5)
"""Time that must be left to begin with further spaces, or with another record."""
AGE_DEFAULT = 30

GarbageAction = Literal["none", "consolidate", "move", "busy", "oversized_notes"]


@dataclass(frozen=True)
class GarbageRequest:
    """The operator's request. A note is old from `max_age_days` on. `delete_only`: old notes are moved to a record and
    not folded. `keep_last` and `backup_days` are the rule of retention, by default the settings'. `space_ids` empty:
    all spaces that the caller may see. Continues behind the space `after`.
    """

    max_age_days: int = AGE_DEFAULT
    dry_run: bool = True
    delete_only: bool = False
    keep_last: int | None = None
    backup_days: int | None = None
    space_ids: tuple[str, ...] = ()
    after: str | None = None


@dataclass
class GarbageOfSpace:
    """The garbage of a space, and what the call did there unless it is a dry run.

    `old_notes` are counted up to 10,000; `oldest` is when the first of them was written. `action`: a consolidation is
    queued (`run_id`), or the notes are moved; or somebody holds the space (`busy`), or they are too large for any run
    (`oversized_notes`). `orphans` counts the objects that interrupted work has left (changes/maintenance.py).
    """

    space_id: str
    old_notes: int = 0
    oldest: str | None = None
    action: GarbageAction = "none"
    run_id: str | None = None
    moved: int = 0
    records: list[int] = field(default_factory=list)
    """Numbers of the changes that the notes were moved to."""
    runs_removed: int = 0
    orphans: int = 0
    backups: list[Removal] = field(default_factory=list)
    """Old and unfinished backups that were removed, or would be."""
    unreadable: list[str] = field(default_factory=list)
    """Backups whose manifest cannot be read: they are left to the operator."""
    unfinished: bool = False
    """Whether there was too little time for all of it."""

    def is_empty(self) -> bool:
        """Whether there was nothing."""
        return self == GarbageOfSpace(self.space_id)


@dataclass(frozen=True)
class GarbageFailure:
    """A space in which something failed. Its `GarbageOfSpace` has the work done there before."""

    space_id: str
    code: str
    detail: str


@dataclass(frozen=True)
class CollectedGarbage:
    """The report of a call. `looked_at` counts spaces. `spaces` are those with anything to report, by id. Archives and
    uploads that are over (`exports_removed`, objects) are looked for where no spaces are named and the caller may see
    all. If there is `more`, a call with this `after` continues.
    """

    dry_run: bool
    looked_at: int
    spaces: list[GarbageOfSpace]
    failed: list[GarbageFailure]
    more: bool
    after: str | None
    exports_removed: int = 0
    tokens_removed: list[str] = field(default_factory=list)
    """Hashes of the revoked and expired tokens that were removed, or would be."""

    @property
    def old_notes(self) -> int:
        """Of all spaces."""
        return sum(space.old_notes for space in self.spaces)

    @property
    def runs_started(self) -> int:
        """Consolidations that were queued."""
        return sum(space.run_id is not None for space in self.spaces)

    @property
    def moved(self) -> int:
        """Notes that were moved to records."""
        return sum(space.moved for space in self.spaces)

    @property
    def runs_removed(self) -> int:
        """Documents of runs that were removed, or would be."""
        return sum(space.runs_removed for space in self.spaces)

    @property
    def backups_removed(self) -> int:
        """Old and unfinished backups that were removed, or would be."""
        return sum(len(space.backups) for space in self.spaces)

    @property
    def orphans(self) -> int:
        """Objects that interrupted work has left."""
        return sum(space.orphans for space in self.spaces)


@dataclass(frozen=True)
class GarbageCall:
    """One call: its author, its request, the time up to which notes are old (`until`), and its deadline."""

    process: Process
    author: str
    request: GarbageRequest
    until: str
    deadline: datetime

    def has_time(self) -> bool:
        """Whether there is enough of it for another piece of work."""
        return self.deadline - self.process.clock() > MARGIN


def clear_up(job: GarbageCall, garbage: GarbageOfSpace) -> None:
    """Look at the space that `garbage` names, clear up in it unless it is a dry run, and write the outcome into it.

    Raises NotFound if it is deleted meanwhile, and any error of the steps.
    """
    space = look_at_space(job.process, garbage.space_id)
    if not space:
        return
    garbage.orphans = changes.left_undone(job.process, space)
    if garbage.orphans and not job.request.dry_run:
        changes.maintain(job.process, space)
        space = look_at_space(job.process, garbage.space_id)
        if not space:
            return
    _clear_notes(job, space, garbage)
    _clear_runs(job, space, garbage)


def _clear_notes(job: GarbageCall, space: Space, garbage: GarbageOfSpace) -> None:
    old = list(islice(archive_notes.old_notes(job.process, space.head, job.until), MOST_COUNTED))
    if not old:
        return
    garbage.old_notes = len(old)
    garbage.oldest = clocks.iso(contents.note_name(old[0]).timestamp)
    if job.request.delete_only:
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
    elif job.request.dry_run:
        garbage.action = "consolidate"
    else:
        due_index.leave(process, garbage.space_id)
        outcome = counter.start(process, space.head, RunOrder("gc", requested_by=job.author), by_hand=True)
        garbage.action, garbage.run_id = "busy" if outcome.result == "busy" else "consolidate", outcome.run_id


def _move(job: GarbageCall, garbage: GarbageOfSpace) -> None:
    """Move the notes to records until none is left, or the time is over."""
    garbage.action = "move"
    if job.request.dry_run:
        return
    reason = f"older than {job.request.max_age_days} days; moved here by garbage collection"
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
    if job.request.dry_run:
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
    """Remove the backups that retention does not keep, and those that nobody finished: the requests of
    retention.apply. A deleted space may have some too.
    """
    outcome = retention.apply(
        job.process,
        garbage.space_id,
        dry_run=job.request.dry_run,
        keep_last=job.request.keep_last,
        days=job.request.backup_days,
        deadline=job.deadline,
    )
    garbage.backups, garbage.unreadable = outcome.removed, outcome.unreadable
    garbage.unfinished = garbage.unfinished or outcome.more


logger = logging.getLogger(__name__)

AGE_MOST = 3_650
UNKNOWN = "The garbage of the space can't be collected. The log of the service names the error."
SPACES_AT_ONCE = 16
MOVING_AT_ONCE = 4
"""Spaces whose notes are moved at the same time. Each move that was begun must end within the margin."""


def collect(process: Process, principal: Principal, request: GarbageRequest, deadline: datetime) -> CollectedGarbage:
    """Look at the spaces, and clear up in them unless it is a dry run, which writes nothing.

    For each space 2 GET, 3 where it is held, 1 for each backup, and at most 6 LIST where little is there: live notes,
    those that may be late duplicates, runs, old runs, backups, and once more live notes where it consolidates by
    itself. Without named spaces the first call removes the ended tokens (1 GET, 1 PUT). A failure in one space does
    not stop the others. Raises InvalidRequest, InvalidName, TooLarge, Forbidden and NotFound (for a space that is
    named) before anything is done.
    """
    age = _check_age(request.max_age_days)
    retention.Rule.of(process.settings, request.keep_last, request.backup_days)
    candidates = _candidates(process, principal, request)
    if not request.dry_run:
        require_conditional_writes(process.store)
    until = keys.compact_time(process.clock() - age)
    job = GarbageCall(process, principal.name, request, until, deadline)
    looks: list[_Look] = []
    is_first = not (request.space_ids or request.after)
    everywhere = is_first and not principal.space_ids
    failed: list[GarbageFailure] = []
    removed: dict[str, Any] = {}
    with _noted(EXPORT.prefix().removesuffix("/"), failed):
        if everywhere:
            over = export.expire(process, dry_run=request.dry_run)
            removed["exports_removed"] = len(over.exports) + len(over.uploads)
    with _noted(TOKENS, failed):
        if is_first:
            removed["tokens_removed"] = management.ended(process, principal, dry_run=request.dry_run)
    at_once = MOVING_AT_ONCE if request.delete_only and not request.dry_run else SPACES_AT_ONCE
    rest = next(candidates, None)
    while rest is not None and job.has_time():
        batch = [rest, *islice(candidates, at_once - 1)]
        looks += process.store.map(lambda space_id: _look_after(job, space_id), batch)
        rest = next(candidates, None)
    report = _report(request, looks, failed, more=rest is not None)
    report = replace(report, **removed)
    logger.info(
        "garbage collected",
        extra={
            "dry_run": request.dry_run,
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


def _candidates(process: Process, principal: Principal, request: GarbageRequest) -> Iterator[str]:
    """The ids of the spaces to look at, in order, also of deleted ones that have backups: 1 GET for each that is
    named, and 1 LIST where it is deleted, else 1 LIST per 1,000 and 1 per 1,000 that have backups.
    """
    if request.after is not None:
        keys.check_space_id(request.after)
    if not request.space_ids and not principal.space_ids:
        after = request.after or ""
        living, saved = (spaces(process, start_after=after) for spaces in (directory.ids, catalog.spaces))
        # Both are in the order of the store, in which `a-b/` comes before `a/`.
        return (space_id for space_id, _ in groupby(heapq.merge(living, saved, key=lambda name: f"{name}/")))
    named = sorted(set(request.space_ids or principal.space_ids))
    if request.space_ids:
        _check_named(process, principal, named)
    # What the registry lists may be of anybody's making.
    possible = (space_id for space_id in named if keys.SPACE_ID.fullmatch(space_id))
    return (space_id for space_id in possible if request.after is None or space_id > request.after)


def _check_named(process: Process, principal: Principal, texts: list[str]) -> None:
    if len(texts) > limits.TOKEN_SPACES:
        raise TooLarge.of("space_ids", len(texts), limits.TOKEN_SPACES, "spaces")
    for space_id in texts:
        decision.check_space(process, principal, keys.check_space_id(space_id))
    for space_id, existing in zip(texts, process.store.map(lambda name: _exists(process, name), texts), strict=True):
        if not existing:
            raise NotFound("space", space_id)


def _exists(process: Process, space_id: str) -> bool:
    """Whether there is the space, or a backup of a deleted one."""
    try:
        return heads.find(process, space_id) is not None or bool(catalog.ids(process, space_id))
    except LiveMemoryError:
        # One that can't be read is there, and told of with what failed.
        return True


@dataclass
class _Look:
    """What came of one space."""

    found: GarbageOfSpace
    failures: list[GarbageFailure] = field(default_factory=list)


def _look_after(job: GarbageCall, space_id: str) -> _Look:
    look = _Look(GarbageOfSpace(space_id))
    for step in (clear_up, _clear_backups):
        try:
            step(job, look.found)
        except NotFound:
            # Deleted meanwhile.
            continue
        except LiveMemoryError as error:
            look.failures.append(GarbageFailure(space_id, error.code, error.detail))
        except Exception as error:  # noqa: BLE001 - whatever lies in one space must not stop the others
            # Not with its text, which may hold data.
            kind = type(error).__name__
            logger.error("garbage of a space", extra={"space_id": space_id, "error": kind})  # noqa: TRY400
            look.failures.append(GarbageFailure(space_id, "internal_error", UNKNOWN))
    return look


@contextmanager
def _noted(place: str, failed: list[GarbageFailure]) -> Iterator[None]:
    """Report what fails within under the name of its place, and let the rest go on."""
    try:
        yield
    except LiveMemoryError as error:
        failed.append(GarbageFailure(place, error.code, error.detail))


def _report(
    request: GarbageRequest, looks: list[_Look], failed: list[GarbageFailure], *, more: bool
) -> CollectedGarbage:
    done = request.after
    for look in looks:
        if look.found.unfinished:
            more = True
            break
        done = look.found.space_id
    return CollectedGarbage(
        dry_run=request.dry_run,
        looked_at=len(looks),
        spaces=[look.found for look in looks if not look.found.is_empty()],
        failed=[*failed, *(failure for look in looks for failure in look.failures)],
        more=more,
        after=done if more else None,
    )
