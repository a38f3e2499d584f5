"""The backups of every night: one invocation for each changed space, so that no failure stops the others. Retention
follows each backup.

The schedule's own invocation queues these. Spaces that have not changed since their last backup it settles itself, by
listings and without the lease. So a night wakes no function for spaces at rest. What it queues is spread: at least 100
spaces a minute, and as many as an hour needs for all.

If it can't queue one, it fails at the end, so that it is tried again. Spaces that were queued twice are found unchanged
the second time.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from livemem.copies import catalog, retention, taking
from livemem.copies.manifest import Peeked
from livemem.copies.taking import BackupOutcome, BackupRequest
from livemem.errors import LiveMemoryError, NotFinished, NotFound, StoreUnavailable
from livemem.process import Process
from livemem.spaces import directory
from livemem.spaces import head as heads

logger = logging.getLogger(__name__)

SPACES_AT_ONCE = 64
LAST_ROUND = timedelta(seconds=30)
"""Time that must be left to begin with further spaces."""
LONGEST = timedelta(minutes=10)
"""Time after which another invocation goes on, so that a slow night looks different from a defect."""
SPREAD = timedelta(hours=1)
LEAST_A_MINUTE = 100
"""Invocations that may be queued in each minute, however few the spaces are."""

Outcome = Literal["back_up", "retain", "unchanged", "failed", "not_queued", "nothing"]


@dataclass
class FannedOut:
    """How many spaces were queued for a backup, how many for retention alone, and how many had not changed.

    `failed` spaces can't be backed up as they are: the operator must mend them. `not_queued` ones may be queued the
    next time. `a_minute`: how many were queued in a minute at most.
    """

    backups: int = 0
    retained: int = 0
    unchanged: int = 0
    failed: list[str] = field(default_factory=list)
    not_queued: list[str] = field(default_factory=list)
    a_minute: int = LEAST_A_MINUTE
    next_after: str | None = None


def fan_out(process: Process, *, deadline: datetime, after: str = "", a_minute: int = 0) -> FannedOut:
    """Queue the backup of every changed space behind `after`, and retention for the backups of others, until shortly
    before `deadline`. `a_minute`: how many to queue in a minute; 0: as many as spread all spaces over an hour.

    2 LIST per 1,000 spaces, and 1 GET and 1 invocation for each without backups. For one with backups 1 LIST and 1 GET
    for each of them, and the requests of `taking.unchanged`. Only if it has changed, 1 GET and 1 invocation more.
    """
    backed_up = set(catalog.spaces(process, start_after=after))
    remaining = sorted({*directory.ids(process, start_after=after), *backed_up})
    done = FannedOut(
        a_minute=a_minute or max(LEAST_A_MINUTE, math.ceil(len(remaining) / (SPREAD / timedelta(minutes=1))))
    )
    while remaining and (not done.next_after or deadline - process.clock() > LAST_ROUND):
        batch, remaining = remaining[:SPACES_AT_ONCE], remaining[SPACES_AT_ONCE:]
        began, before = process.clock(), done.backups + done.retained
        outcomes = process.store.map(
            lambda space_id: _look(process, space_id, has_backups=space_id in backed_up), batch
        )
        _count(done, batch, outcomes)
        done.next_after = batch[-1] if remaining else None
        if remaining:
            _pace(process, done.backups + done.retained - before, done.a_minute, began, deadline)
    return done


def _pace(process: Process, queued: int, a_minute: int, began: datetime, deadline: datetime) -> None:
    """Wait until so many may have been queued since `began`, but leave time to hand the rest over."""
    now = process.clock()
    until = min(began + timedelta(minutes=queued / a_minute), deadline - LAST_ROUND)
    if until > now:
        process.store.sleep((until - now).total_seconds())


def _look(process: Process, space_id: str, *, has_backups: bool) -> Outcome:
    try:
        settled = _settled(process, space_id) if has_backups else None
        if settled:
            return settled
        living = heads.find(process, space_id) is not None
        if living:
            process.enqueue("backup", {"do": "back_up", "space_id": space_id})
        elif has_backups and _retention_is_due(process, space_id):
            process.enqueue("backup", {"do": "retain", "space_id": space_id})
            return "retain"
    except StoreUnavailable:
        return "not_queued"
    except LiveMemoryError as error:
        logger.error("a space can't be backed up", extra={"space_id": space_id, "error_code": error.code})  # noqa: TRY400
        return "failed"
    return "back_up" if living else "nothing"


def _settled(process: Process, space_id: str) -> Outcome | None:
    """The outcome for a space that has not changed since its newest backup. None for any other."""
    backups = _backups(process, space_id)
    complete = [look.value for look in backups.values() if look and look.value and look.value.complete]
    if not complete or not taking.unchanged(process, complete[-1]):
        return None
    if retention.is_due(process, space_id, backups):
        process.enqueue("backup", {"do": "retain", "space_id": space_id})
        return "retain"
    return "unchanged"


def _retention_is_due(process: Process, space_id: str) -> bool:
    return retention.is_due(process, space_id, _backups(process, space_id))


def _backups(process: Process, space_id: str) -> dict[str, Peeked | None]:
    """The manifests of the space's backups without their objects, oldest first: 1 LIST, and 1 GET each."""
    ids = catalog.ids(process, space_id)
    return dict(zip(ids, catalog.looks(process, space_id, ids), strict=True))


def _count(done: FannedOut, spaces: Sequence[str], outcomes: Sequence[Outcome]) -> None:
    done.backups += outcomes.count("back_up")
    done.retained += outcomes.count("retain")
    done.unchanged += outcomes.count("unchanged")
    for space_id, outcome in zip(spaces, outcomes, strict=True):
        if outcome == "failed":
            done.failed.append(space_id)
        elif outcome == "not_queued":
            done.not_queued.append(space_id)


def work(process: Process, payload: Mapping[str, Any], deadline: datetime) -> dict[str, Any]:
    """Queue tonight's backups. If time runs out, the rest is queued as a further invocation.

    Raises StoreUnavailable if some could not be queued, so that it is tried again.
    """
    until = min(deadline, process.clock() + LONGEST)
    done = fan_out(process, deadline=until, after=payload.get("after", ""), a_minute=payload.get("a_minute", 0))
    if done.next_after:
        process.enqueue("backup", {**payload, "after": done.next_after, "a_minute": done.a_minute})
    if done.not_queued:
        logger.error("backups could not be queued", extra={"count": len(done.not_queued)})
        raise StoreUnavailable(f"The backups of {len(done.not_queued)} spaces could not be queued.")
    return {"status": "ok", **asdict(done)}


def back_up(process: Process, payload: Mapping[str, Any], deadline: datetime) -> dict[str, Any]:
    """Take the night's backup of a space, or continue the backup of a job. Retention follows a nightly backup.

    The returned `status`: made, unchanged, unfinished, failed, or gone if the space or the backup was removed
    meanwhile. Raises Busy, Conflict, StoreUnavailable, so that it is tried again.
    """
    space_id, job_id, began = payload["space_id"], payload.get("job_id"), process.clock()
    try:
        if job_id:
            taken = taking.go_on(process, space_id, job_id, deadline=deadline, wait=True)
        else:
            taken = taking.take(process, space_id, BackupRequest("schedule"), deadline=deadline, wait=True)
    except NotFound:
        return {"status": "gone"}
    except NotFinished:
        return {"status": "failed"}
    by_night = not job_id or taken.manifest.trigger == "schedule"
    follows = _retained(process, space_id, deadline) if by_night and taken.manifest.complete else {}
    return _told(process, taken, began) | follows


def _told(process: Process, taken: BackupOutcome, began: datetime) -> dict[str, Any]:
    manifest = taken.manifest
    return {
        "status": taken.result,
        "backup_id": manifest.job_id,
        "objects": manifest.objects_count,
        "bytes": manifest.bytes,
        "seconds": round((process.clock() - began).total_seconds(), 3),
    }


def retain(process: Process, payload: Mapping[str, Any], deadline: datetime) -> dict[str, Any]:
    """Retention of the backups of a space that is deleted."""
    report = retention.apply(process, payload["space_id"], dry_run=False, deadline=deadline)
    return {"status": "ok", "removed": len(report.removed), "removed_bytes": report.bytes()}


def _retained(process: Process, space_id: str, deadline: datetime) -> dict[str, Any]:
    """The same after a backup, which stands even if retention fails. The next night continues."""
    try:
        report = retention.apply(process, space_id, dry_run=False, deadline=deadline)
    except LiveMemoryError as error:
        logger.warning("retention failed", extra={"space_id": space_id, "error_code": error.code})
        return {"retention_failed": True}
    return {"removed": len(report.removed), "removed_bytes": report.bytes()}
