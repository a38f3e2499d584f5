"""Garbage collection as request and answer."""

from dataclasses import asdict
from typing import Annotated, Any

from livemem.upkeep import garbage
from livemem_http.views.fields import Body, SpaceId, View, described


class RemovedBackup(View):
    """A backup that is removed."""

    backup_id: Annotated[str, described("The id of the backup.", "2026-01-10T02-00-00")]
    reason: Annotated[
        str,
        described(
            "`expired`, `transient` (made for an export or a fork), `unfinished`, or `objects without a manifest`.",
            "expired",
        ),
    ]
    bytes: Annotated[int, described("Size of its objects in bytes; 0 if it is not known.", 61_203)]


class GarbageWanted(Body):
    """The garbage to remove. Without a body it is only reported."""

    max_age_days: Annotated[int, described("The age in days from which a live note is old.", 30)] = garbage.AGE_DEFAULT
    dry_run: Annotated[bool, described("True: only reports what would be done.", True)] = True
    delete_only: Annotated[
        bool,
        described(
            "Old notes are moved to a record of the history instead of being consolidated. An undo makes them "
            "live again.",
            False,
        ),
    ] = False
    keep_last: Annotated[
        int | None, described("Number of the newest backups to keep in each space. Default: BACKUP_KEEP_LAST.")
    ] = None
    backup_days: Annotated[
        int | None,
        described("Backups younger than this number of days are kept as well. Default: BACKUP_RETENTION_DAYS."),
    ] = None
    space_ids: Annotated[
        list[SpaceId], described("Only these spaces. Empty: all that the token may see.", ["demo"])
    ] = []
    after: Annotated[SpaceId | None, described("Continue after this space: `after` of the last answer.")] = None

    def wanted(self) -> garbage.GarbageRequest:
        """The request for the domain."""
        return garbage.GarbageRequest(
            self.max_age_days,
            self.dry_run,
            self.delete_only,
            self.keep_last,
            self.backup_days,
            tuple(self.space_ids),
            self.after,
        )


class SpaceGarbage(View):
    """The garbage that was found in a space. Unless it was a dry run, it was also removed or consolidated."""

    space_id: SpaceId
    old_notes: Annotated[int, described("Number of old live notes, counted up to 10,000.", 7)]
    oldest: Annotated[
        str | None, described("The time when the oldest note was written, UTC.", "2026-01-10T09:00:00Z")
    ] = None
    action: Annotated[
        str,
        described(
            "`consolidate`: a run is queued. `move`: the notes are moved to a record. `busy`: other work "
            "holds the space. `oversized_notes`: the notes are too large for a run. `none`: nothing to do.",
            "consolidate",
        ),
    ]
    run_id: Annotated[str | None, described("The run that was queued.")] = None
    moved: Annotated[int, described("Number of notes that were moved to records.", 0)]
    records: Annotated[list[int], described("The numbers of these changes in the history.", [])]
    runs_removed: Annotated[int, described("Number of removed documents of runs, older than RUN_RETENTION_DAYS.", 0)]
    orphans: Annotated[int, described("Number of orphans: objects that interrupted work left.", 0)]
    backups: Annotated[list[RemovedBackup], described("The backups that are removed, newest first.")] = []
    unreadable: Annotated[
        list[str], described("The ids of backups whose manifest can't be read. They are left for you to decide.", [])
    ] = []
    unfinished: Annotated[bool, described("True if there was not enough time for the whole space.", False)]


class GarbageReport(View):
    """The results of a garbage collection."""

    dry_run: Annotated[bool, described("True if nothing was changed.", True)]
    looked_at: Annotated[int, described("Number of spaces that were checked.", 12)]
    old_notes: Annotated[int, described("Number of old live notes in these spaces.", 7)]
    runs_started: Annotated[int, described("Number of consolidations that were queued.", 1)]
    moved: Annotated[int, described("Number of notes that were moved to records.", 0)]
    runs_removed: Annotated[int, described("Number of removed documents of runs.", 0)]
    orphans: Annotated[int, described("Number of orphans: objects that interrupted work left.", 0)]
    backups_removed: Annotated[int, described("Number of old and incomplete backups that were removed.", 0)] = 0
    exports_removed: Annotated[int, described("Number of removed archives and uploads older than a day.", 0)] = 0
    tokens_removed: Annotated[list[str], described("The hashes of removed tokens, which were revoked or expired.", [])]
    spaces: Annotated[list[SpaceGarbage], described("The spaces with results to report.")]
    failed: Annotated[
        list[dict[str, Any]], described("The spaces in which the collection failed: `space_id`, `code`, `detail`.", [])
    ]
    more: Annotated[bool, described("True if spaces are left. Send `after` to continue.", False)]
    after: Annotated[str | None, described("The last space that was checked.")] = None

    @classmethod
    def of(cls, report: garbage.CollectedGarbage) -> "GarbageReport":
        names = set(cls.model_fields)
        known = {name: getattr(report, name) for name in names if hasattr(report, name)}
        spaces = [asdict(found) for found in report.spaces]
        return cls.model_validate({**known, "spaces": spaces, "failed": [asdict(one) for one in report.failed]})
