"""Retention: which backups are kept, and the removal of the others. It runs after each scheduled backup, and by the
API.

The newest backups that were made to be kept stay, and all young ones. Backups that an export or a fork made go after a
day. No rule removes the only complete backup of a space, or one whose manifest was changed since it was read.
Incomplete backups are cleared away as well.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from livemem import clock
from livemem.copies import catalog
from livemem.copies.manifest import Manifest, Peeked
from livemem.errors import InvalidRequest, PreconditionLost
from livemem.process import Process
from livemem.settings import Settings
from livemem.store import keys
from livemem.store.capability_check import require_conditional_writes

logger = logging.getLogger(__name__)

TRANSIENT_LIFE = timedelta(days=1)
LAST_ROUND = timedelta(seconds=5)
"""Time that must be left to begin with further backups."""

MOST_KEPT = 365
MOST_DAYS = 3_650

RemovalReason = Literal["expired", "transient"]


@dataclass(frozen=True)
class Rule:
    """The `keep_last` newest backups of a space are kept, and all that are younger than `days`."""

    keep_last: int
    days: int

    @classmethod
    def of(cls, settings: Settings, keep_last: int | None = None, days: int | None = None) -> "Rule":
        """The given rule, with the settings' values for None. Raises InvalidRequest."""
        rule = cls(
            settings.backup_keep_last if keep_last is None else keep_last,
            settings.backup_retention_days if days is None else days,
        )
        if not 1 <= rule.keep_last <= MOST_KEPT:
            raise InvalidRequest.of("keep_last", f"must be 1 to {MOST_KEPT}")
        if not 1 <= rule.days <= MOST_DAYS:
            raise InvalidRequest.of("backup_days", f"must be 1 to {MOST_DAYS}")
        return rule


@dataclass(frozen=True)
class Removal:
    """A backup that is removed, and why. `bytes` of its objects, 0 if unknown."""

    backup_id: str
    reason: str
    bytes: int = 0


@dataclass(frozen=True)
class RetentionOutcome:
    """The backups of one space that are removed, or would be, and the ids of the kept ones, newest first. `unreadable`
    ones are left to the operator. `more`: there was no time for the rest.
    """

    space_id: str
    removed: list[Removal] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    more: bool = False

    def bytes(self) -> int:
        """Bytes of all removed backups."""
        return sum(removal.bytes for removal in self.removed)


def plan(manifests: Sequence[Manifest], now: datetime, rule: Rule) -> dict[str, RemovalReason]:
    """The ids of one space's backups that are to be removed, and why. Incomplete ones, and those under removal, do not
    count.
    """
    complete = sorted((manifest for manifest in manifests if manifest.complete), key=_order, reverse=True)
    lasting = [manifest for manifest in complete if not manifest.transient]
    doomed: dict[str, RemovalReason] = {
        manifest.job_id: "expired"
        for manifest in lasting[rule.keep_last :]
        if _age(manifest, now) >= timedelta(days=rule.days)
    }
    # If there is no other backup, the newest of them is the only one.
    transient = [manifest for manifest in complete if manifest.transient][0 if lasting else 1 :]
    return doomed | {manifest.job_id: "transient" for manifest in transient if _age(manifest, now) >= TRANSIENT_LIFE}


def _order(manifest: Manifest) -> tuple[datetime, str]:
    return clock.parse(manifest.stands_for()), manifest.job_id


def _age(manifest: Manifest, now: datetime) -> timedelta:
    return now - clock.parse(manifest.stands_for())


def apply(
    process: Process,
    space_id: str,
    *,
    dry_run: bool,
    keep_last: int | None = None,
    days: int | None = None,
    deadline: datetime | None = None,
) -> RetentionOutcome:
    """Remove the space's backups that the rule does not keep, and incomplete ones: 1 LIST and 1 GET each. Each removal
    costs 1 PUT, and 1 LIST and 1 DeleteObjects per 1,000 objects. A `dry_run` only reports.

    If it dies on the way, the next call continues. Raises InvalidName, InvalidRequest.
    """
    rule = Rule.of(process.settings, keep_last, days)
    ids = catalog.ids(process, keys.check_space_id(space_id))
    if not dry_run:
        require_conditional_writes(process.store)
    looks = dict(zip(ids, catalog.looks(process, space_id, ids), strict=True))
    manifests = [look.value for look in looks.values() if look and look.value]
    doomed = plan(manifests, process.clock(), rule)
    complete = {manifest.job_id for manifest in manifests if manifest.complete}
    unreadable = [backup_id for backup_id, look in looks.items() if look and not look.value]
    report = RetentionOutcome(space_id, kept=[], unreadable=unreadable)
    more = False
    for backup_id in reversed(ids):
        more = more or bool(deadline and deadline - process.clock() < LAST_ROUND)
        if backup_id in complete - doomed.keys():
            report.kept.append(backup_id)
        elif not more:
            removal = _remove(process, space_id, backup_id, looks[backup_id], doomed.get(backup_id), dry_run=dry_run)
            report.removed.extend([removal] if removal else [])
    return RetentionOutcome(space_id, report.removed, report.kept, unreadable, more)


def is_due(process: Process, space_id: str, looks: Mapping[str, Peeked | None]) -> bool:
    """Whether `apply` would remove a backup, given the manifests of all: no request, and 1 LIST for each folder
    without a manifest.
    """
    manifests = [look.value for look in looks.values() if look and look.value]
    doomed = plan(manifests, process.clock(), Rule.of(process.settings))
    return bool(doomed) or any(catalog.find_incomplete(process, space_id, *pair) for pair in looks.items())


def _remove(
    process: Process,
    space_id: str,
    backup_id: str,
    look: Peeked | None,
    reason: RemovalReason | None,
    *,
    dry_run: bool,
) -> Removal | None:
    """The removal of this backup, done or as a dry run. None: nothing is removed, or it was reported before."""
    if reason and look and look.value:
        try:
            if not dry_run:
                catalog.discard(process, space_id, backup_id, look)
        except PreconditionLost:
            # Another process just found the space unchanged since this backup, or removes the backup.
            return None
        logger.info("backup removed", extra={"space_id": space_id, "backup_id": backup_id, "reason": reason})
        return Removal(backup_id, reason, look.value.bytes)
    orphan = catalog.find_incomplete(process, space_id, backup_id, look)
    if not orphan or (not dry_run and not catalog.clear_incomplete(process, space_id, backup_id, look)):
        return None
    return None if orphan == "removed" else Removal(backup_id, orphan)
