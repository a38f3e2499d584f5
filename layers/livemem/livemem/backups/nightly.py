"""The backups of every night: one invocation for each space, so that no failure stops the others. Retention follows
each backup.

The schedule's own invocation only queues these. If it can't queue one, it fails at the end, so that it is tried again.
Spaces that were queued twice are found unchanged the second time.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from livemem.backups import catalog, retention, taking
from livemem.backups.taking import BackupOutcome, BackupRequest
from livemem.errors import LiveMemoryError, NotFinished, NotFound, StoreUnavailable
from livemem.process import Process
from livemem.spaces import directory
from livemem.spaces import head as heads

logger = logging.getLogger(__name__)

SPACES_AT_ONCE = 64
LAST_ROUND = timedelta(seconds=30)
"""Time that must be left to begin with further spaces."""

Outcome = Literal["back_up", "retain", "failed", "not_queued", "nothing"]


@dataclass
class FannedOut:
    """How many spaces were queued for a backup, and how many deleted ones for retention alone.

    `failed` spaces can't be backed up as they are: the operator must mend them. `not_queued` ones may be queued the
    next time.
    """

    backups: int = 0
    retained: int = 0
    failed: list[str] = field(default_factory=list)
    not_queued: list[str] = field(default_factory=list)
    next_after: str | None = None


def fan_out(process: Process, *, deadline: datetime, after: str = "") -> FannedOut:
    """Queue the backup of every space behind `after`, and retention for the backups of deleted ones, until shortly
    before `deadline`: 2 LIST per 1,000 spaces, and 1 GET and 1 invocation for each.
    """
    kept = set(catalog.spaces(process, start_after=after))
    left = sorted({*directory.ids(process, start_after=after), *kept})
    done = FannedOut()
    while left and (not done.next_after or deadline - process.clock() > LAST_ROUND):
        some, left = left[:SPACES_AT_ONCE], left[SPACES_AT_ONCE:]
        outcomes = process.store.map(lambda space_id: _queue(process, space_id, has_backups=space_id in kept), some)
        _count(done, some, outcomes)
        done.next_after = some[-1] if left else None
    return done


def _queue(process: Process, space_id: str, *, has_backups: bool) -> Outcome:
    try:
        living = heads.find(process, space_id) is not None
        if living:
            process.enqueue("backup", {"do": "back_up", "space_id": space_id})
        elif has_backups:
            process.enqueue("backup", {"do": "retain", "space_id": space_id})
    except StoreUnavailable:
        return "not_queued"
    except LiveMemoryError as error:
        logger.error("a space can't be backed up", extra={"space_id": space_id, "error_code": error.code})  # noqa: TRY400
        return "failed"
    return "back_up" if living else "retain" if has_backups else "nothing"


def _count(done: FannedOut, spaces: Sequence[str], outcomes: Sequence[Outcome]) -> None:
    done.backups += outcomes.count("back_up")
    done.retained += outcomes.count("retain")
    for space_id, outcome in zip(spaces, outcomes, strict=True):
        if outcome == "failed":
            done.failed.append(space_id)
        elif outcome == "not_queued":
            done.not_queued.append(space_id)


def work(process: Process, payload: Mapping[str, Any], deadline: datetime) -> dict[str, Any]:
    """Queue tonight's backups. If time runs out, the rest is queued as a further invocation.

    Raises StoreUnavailable if some could not be queued, so that it is tried again.
    """
    done = fan_out(process, deadline=deadline, after=payload.get("after", ""))
    if done.next_after:
        process.enqueue("backup", {**payload, "after": done.next_after})
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
    follows = _retained(process, space_id, deadline) if by_night and taken.result != "unfinished" else {}
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
