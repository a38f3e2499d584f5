"""Erasure, retention and garbage collection as requests and answers."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from livemem.backups import retention
from livemem.jobs.describable import job_id
from livemem.jobs.receipt import Receipt
from livemem.upkeep import garbage_report
from livemem_http.views.fields import Body, Gapped, Moment, NextCursor, SpaceId, View, described, job_described

ErasureId = Annotated[str, described("The id of the erasure, an ULID.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]


class SectionToCorrect(View):
    """A section of a bank file that rests on an erased note. It may still say the same as the note in other words."""

    path: Annotated[str, described("The path of the file.", "progress.md")]
    heading: Annotated[
        str, described("The heading of the section; empty for the text before the first one.", "## Done")
    ]
    section: Annotated[list[str], described("The headings from the outermost on.", ["# Progress", "## Done"])]


class ErasureView(View):
    """The receipt of an erasure. It holds nothing of what was erased."""

    erasure_id: ErasureId
    space_id: SpaceId
    status: Annotated[
        Literal["running", "done"], described("`done`: all of it is gone. What was begun is always finished.", "done")
    ]
    job: Annotated[str, job_described("erasure", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]
    agent: Annotated[str | None, described("Where all notes of an agent are erased: the agent.")] = None
    note_ids: Annotated[list[str], described("The notes.", ["20260220T140000_cline-dev_decision_1a2b3c4d"])]
    memory_ids: Annotated[list[str], described("Or the memory, an ULID.", [])] = []
    turns: Annotated[
        list[str],
        described("Or the turn: the conversation's id and the turn's number, with a slash between.", []),
    ] = []
    requested_by: Annotated[str, described("The token that asked for it.", "admin")]
    started_at: Annotated[Moment, described("When it was begun, UTC.", "2026-02-20T14:00:00Z")]
    finished_at: Annotated[Moment | None, described("When it was done, UTC.", "2026-02-20T14:00:03Z")] = None
    counts: Annotated[
        dict[str, int],
        described(
            "Objects, and former versions of objects, from which something was erased.", {"records": 1, "backups": 3}
        ),
    ]
    files: Annotated[
        list[str], described("Bank files that quoted a note word for word, and now say `[erased]` there.", [])
    ]
    sections: Annotated[
        list[SectionToCorrect], described("Sections of the bank to be looked at, and corrected by hand.")
    ]
    quoted_in: Annotated[
        list[str], described("Notes and memories of other ids that quote it; they are others' words.", [])
    ]
    versions: Annotated[
        Literal["removed", "not_kept", "not_reachable"] | None,
        described("What became of former versions of objects, where the bucket keeps them.", "removed"),
    ] = None
    not_reached: Annotated[
        list[str], described("What the service can't reach, in sentences.", ["Archives that were downloaded."])
    ]

    @classmethod
    def of(cls, receipt: Receipt) -> "ErasureView":
        told = {
            "erasure_id": receipt.job_id,
            "job": job_id(receipt.space_id, "erasure", receipt.job_id),
            "finished_at": receipt.ended_at,
        }
        return cls.model_validate({**receipt.model_dump(), **told})


class ErasurePage(Gapped):
    """A page of receipts, newest first."""

    items: Annotated[list[ErasureView], described("The receipts.")]
    next_cursor: NextCursor = None


class RetentionWanted(Body):
    """The backups to keep. Without a body, the settings apply and nothing is removed."""

    dry_run: Annotated[bool, described("Only tells what would be removed.", True)] = True
    keep_last: Annotated[
        int | None, described("So many of the newest backups of each space are kept; BACKUP_KEEP_LAST if not given.")
    ] = None
    days: Annotated[
        int | None, described("Younger ones are kept as well, in days; BACKUP_RETENTION_DAYS if not given.")
    ] = None
    after: Annotated[SpaceId | None, described("Go on behind this space: `next_after` of the last answer.")] = None


class RemovedBackup(View):
    """A backup that retention removes."""

    backup_id: Annotated[str, described("Its id.", "2026-01-10T02-00-00")]
    reason: Annotated[
        str,
        described(
            "`expired`, `transient` (made for an export or a fork), or what is left of one never finished.", "expired"
        ),
    ]
    bytes: Annotated[int, described("Bytes of its objects; 0 where that is not known.", 61_203)]


class SpaceRetention(View):
    """The backups of one space that retention removes."""

    space_id: SpaceId
    removed: Annotated[list[RemovedBackup], described("What goes, newest first.")]
    kept: Annotated[list[str], described("What is kept, newest first.", ["2026-02-20T02-00-00"])]
    unreadable: Annotated[list[str], described("Whose manifest can't be read: left to you.", [])]
    more: Annotated[bool, described("There was no time for the rest: ask again.", False)]


class RetentionReport(View):
    """The backups that retention removed, or would remove."""

    dry_run: Annotated[bool, described("Whether nothing was removed.", True)]
    spaces: Annotated[int, described("How many spaces were looked at.", 12)]
    reports: Annotated[list[SpaceRetention], described("Those of which something goes.")]
    failed: Annotated[list[str], described("Spaces where it failed.", [])]
    next_after: Annotated[str | None, described("Send it as `after` to go on; left out: that was all.")] = None

    @classmethod
    def of(cls, overview: retention.Overview, *, dry_run: bool) -> "RetentionReport":
        return cls.model_validate({"dry_run": dry_run, **asdict(overview)})


class GarbageWanted(Body):
    """The garbage to remove. Without a body it is only reported."""

    max_age_days: Annotated[int, described("A live note is old from so many days on.", 30)] = garbage_report.AGE_DEFAULT
    dry_run: Annotated[bool, described("Only tells what would be done.", True)] = True
    delete_only: Annotated[
        bool,
        described(
            "Old notes are moved to a record of the history, from which an undo brings them back, instead of being "
            "consolidated.",
            False,
        ),
    ] = False
    space_ids: Annotated[
        list[SpaceId], described("Only these spaces; empty: all that the token may see.", ["demo"])
    ] = []
    after: Annotated[SpaceId | None, described("Go on behind this space: `after` of the last answer.")] = None

    def wanted(self) -> garbage_report.GarbageRequest:
        """The request for the domain."""
        return garbage_report.GarbageRequest(
            self.max_age_days, self.dry_run, self.delete_only, tuple(self.space_ids), self.after
        )


class SpaceGarbage(View):
    """The garbage that was found in a space. Unless it was a dry run, it was also removed or consolidated."""

    space_id: SpaceId
    old_notes: Annotated[int, described("Its old live notes, counted up to 10,000.", 7)]
    oldest: Annotated[str | None, described("When the oldest was written.", "2026-01-10T09:00:00Z")] = None
    action: Annotated[
        str,
        described(
            "`consolidate`: a run is queued; `move`: to a record; `busy`, `oversized_notes`, `none`.", "consolidate"
        ),
    ]
    run_id: Annotated[str | None, described("The run that was queued.")] = None
    moved: Annotated[int, described("Notes that were moved to records.", 0)]
    records: Annotated[list[int], described("The numbers of these changes in the history.", [])]
    runs_removed: Annotated[int, described("Documents of runs older than RUN_RETENTION_DAYS.", 0)]
    orphans: Annotated[int, described("What interrupted work has left.", 0)]
    backups_removed: Annotated[int, described("What was left of backups that nobody finished.", 0)] = 0
    unfinished: Annotated[bool, described("Whether there was too little time for all of it.", False)]


class GarbageReport(View):
    """The results of a garbage collection."""

    dry_run: Annotated[bool, described("Whether nothing was done.", True)]
    looked_at: Annotated[int, described("How many spaces were looked at.", 12)]
    old_notes: Annotated[int, described("Of all these spaces.", 7)]
    runs_started: Annotated[int, described("Consolidations that were queued.", 1)]
    moved: Annotated[int, described("Notes that were moved to records.", 0)]
    runs_removed: Annotated[int, described("Documents of runs.", 0)]
    orphans: Annotated[int, described("What interrupted work has left.", 0)]
    backups_removed: Annotated[int, described("What was left of backups that nobody finished.", 0)] = 0
    exports_removed: Annotated[int, described("Archives and uploads older than a day.", 0)] = 0
    spaces: Annotated[list[SpaceGarbage], described("The spaces with anything to tell.")]
    failed: Annotated[list[dict[str, Any]], described("Spaces where it failed: `space_id`, `code`, `detail`.", [])]
    more: Annotated[bool, described("There are more spaces: send `after`.", False)]
    after: Annotated[str | None, described("The last space that was looked at.")] = None

    @classmethod
    def of(cls, report: garbage_report.CollectedGarbage) -> "GarbageReport":
        names = set(cls.model_fields)
        known = {name: getattr(report, name) for name in names if hasattr(report, name)}
        spaces = [asdict(found) for found in report.spaces]
        return cls.model_validate({**known, "spaces": spaces, "failed": [asdict(one) for one in report.failed]})
