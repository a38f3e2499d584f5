"""Backups, and spaces that come from them, as requests and answers."""

from typing import Annotated, Literal

from livemem import limits
from livemem.backups.manifest import Manifest
from livemem.jobs.describable import job_id
from livemem.jobs.job import Status
from livemem.restore.provisioning_job import ProvisioningJob
from livemem.store import keys
from livemem_http.views.fields import Body, Moment, NextCursor, SpaceId, View, described, job_described

BackupId = Annotated[
    str,
    described(
        "The id of the backup: when it was begun (UTC).", "2026-02-20T02-00-00", pattern=f"^{keys.BACKUP_ID.pattern}$"
    ),
]


class NewBackup(Body):
    """A backup to be taken. With a description it is made even if nothing has changed since the last one."""

    description: Annotated[
        str,
        described(
            "What it is for, in at most 500 bytes.",
            "before the great clean-up",
            maxLength=limits.DESCRIPTION_BYTES,
        ),
    ] = ""


class BackupView(View):
    """A backup of a space."""

    backup_id: BackupId
    space_id: SpaceId
    job: Annotated[str, job_described("backup", "2026-02-20T02-00-00")]
    created_at: Annotated[Moment, described("When it was begun, UTC.", "2026-02-20T02:00:00.120Z")]
    completed_at: Annotated[Moment | None, described("When all of it was there, UTC.", "2026-02-20T02:00:01.480Z")] = (
        None
    )
    complete: Annotated[bool, described("Whether all of it is there. Until then it can't be restored.", True)]
    description: Annotated[str, described("What it is for, if that was said.", "")]
    trigger: Annotated[
        Literal["schedule", "api", "export", "fork"],
        described("What it was made for: the `schedule`, a request (`api`), an `export` or a `fork`.", "schedule"),
    ]
    requested_by: Annotated[str | None, described("The token that asked for it.")] = None
    transient: Annotated[
        bool, described("Made for an export or a fork alone: removed after a day, unless it is the only one.", False)
    ]
    objects: Annotated[int, described("How many objects it holds.", 42)]
    bytes: Annotated[int, described("How many bytes they have together.", 61_203)]
    counts: Annotated[
        dict[str, int],
        described("How many of them are live notes, bank files, records and others.", {"notes": 12, "bank_files": 6}),
    ]
    changes: Annotated[int, described("The number of the newest change of the bank that it holds.", 7)]
    duration_seconds: Annotated[float | None, described("How long it took.", 1.36)] = None
    unchanged_at: Annotated[
        Moment | None,
        described("When the space was last found to be still as this backup has it, UTC.", "2026-02-21T02:00:00Z"),
    ] = None

    @classmethod
    def of(cls, manifest: Manifest) -> "BackupView":
        return cls.model_validate(
            {
                **manifest.model_dump(include=set(cls.model_fields)),
                "backup_id": manifest.job_id,
                "job": job_id(manifest.space_id, "backup", manifest.job_id),
                "complete": manifest.complete,
                "completed_at": manifest.ended_at if manifest.complete else None,
                "objects": manifest.objects_count,
                "duration_seconds": manifest.duration_seconds,
            }
        )


class BackupPage(View):
    """A page of backups, newest first."""

    items: Annotated[list[BackupView], described("The backups.")]
    next_cursor: NextCursor = None


class Restoration(Body):
    """The id under which to restore. Without a body, it is the space's own id."""

    target_space_id: Annotated[
        SpaceId | None, described("The id of the space that it becomes, which must not exist.", "demo-restored")
    ] = None


class Fork(Body):
    """Another space as this one is, or was."""

    target_space_id: Annotated[SpaceId, described("The id of the other space, which must not exist.", "demo-fork")]
    at: Annotated[
        int | None,
        described("The number of a change: the space as it stood after it. Without it as it stands now."),
    ] = None


class ProvisioningView(View):
    """The provisioning of a whole space: by a restore, a fork or an import."""

    space_id: Annotated[SpaceId, described("The id of the space that it becomes.", "demo-restored")]
    status: Annotated[
        Status,
        described("Nobody sees the space until it is `done`; of one that `failed` nothing is left.", "done"),
    ]
    job: Annotated[str, job_described("restore", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]
    kind: Annotated[Literal["restore", "fork", "import"], described("What it is.", "restore")]
    source_space_id: Annotated[str | None, described("The space that it comes from.", "demo")] = None
    backup_id: Annotated[str | None, described("The backup that it comes from.", "2026-02-20T02-00-00")] = None
    at: Annotated[int | None, described("The number of the change as of which it was forked.")] = None
    upload_id: Annotated[str | None, described("The archive that it comes from.")] = None
    requested_by: Annotated[str, described("The token that asked for it.", "admin")]
    started_at: Annotated[Moment, described("When it was asked for, UTC.", "2026-02-20T14:00:00Z")]
    finished_at: Annotated[Moment | None, described("When it ended, UTC.", "2026-02-20T14:00:02Z")] = None
    objects: Annotated[int | None, described("How many objects were brought.", 42)] = None
    error: Annotated[dict[str, str] | None, described("Of one that failed: `code` (see errors.md) and `detail`.")] = (
        None
    )

    @classmethod
    def of(cls, job: ProvisioningJob) -> "ProvisioningView":
        known = {
            "kind",
            "backup_id",
            "at",
            "upload_id",
            "requested_by",
            "started_at",
            "finished_at",
            "objects",
            "error",
        }
        return cls.model_validate(
            {
                "space_id": job.space_id,
                "status": job.status,
                "job": job_id(job.space_id, job.provisioning.kind, job.job_id),
                "source_space_id": job.provisioning.space_id,
                **job.provisioning.model_dump(include=known),
            }
        )
