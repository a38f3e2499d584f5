"""Backups, and spaces that come from them, as requests and answers."""

from typing import Annotated, Literal

from livemem import limits
from livemem.copies.manifest import Manifest
from livemem.jobs.describable import job_id
from livemem.store import keys
from livemem_http.views.fields import Body, Moment, Page, SpaceId, View, described, job_described

BackupId = Annotated[
    str,
    described(
        "The id of the backup: the time of its start, UTC.",
        "2026-02-20T02-00-00",
        pattern=f"^{keys.BACKUP_ID.pattern}$",
    ),
]


class NewBackup(Body):
    """A backup to be taken. With a description it is made even if nothing has changed since the last one."""

    description: Annotated[
        str,
        described(
            "A description, in at most 500 bytes.",
            "before the great clean-up",
            maxLength=limits.DESCRIPTION_BYTES,
        ),
    ] = ""


class BackupView(View):
    """A backup of a space."""

    backup_id: BackupId
    space_id: SpaceId
    job: Annotated[str, job_described("backup", "2026-02-20T02-00-00")]
    created_at: Annotated[Moment, described("The time of the start, UTC.", "2026-02-20T02:00:00.120Z")]
    completed_at: Annotated[
        Moment | None, described("The time when the backup was complete, UTC.", "2026-02-20T02:00:01.480Z")
    ] = None
    complete: Annotated[
        bool, described("Whether the backup is complete. An incomplete backup can't be restored.", True)
    ]
    description: Annotated[str, described("The description, if one was given.", "")]
    trigger: Annotated[
        Literal["schedule", "api", "export", "fork"],
        described("The reason for the backup: the `schedule`, a request (`api`), an `export` or a `fork`.", "schedule"),
    ]
    requested_by: Annotated[str | None, described("The name of the token that requested it.")] = None
    transient: Annotated[
        bool,
        described(
            "True if the backup was made only for an export or a fork. It is removed after a day, unless it "
            "is the only one.",
            False,
        ),
    ]
    objects: Annotated[int, described("Number of objects in the backup.", 42)]
    bytes: Annotated[int, described("Total size of the objects in bytes.", 61_203)]
    counts: Annotated[
        dict[str, int],
        described(
            "Number of objects by kind: live notes, bank files, records and others.", {"notes": 12, "bank_files": 6}
        ),
    ]
    changes: Annotated[int, described("The number of the newest change of the bank in the backup.", 7)]
    unchanged_at: Annotated[
        Moment | None,
        described(
            "The time, UTC, at which the service last found that the space is the same as in this backup.",
            "2026-02-21T02:00:00Z",
        ),
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
            }
        )


class BackupPage(Page):
    """A page of backups, newest first."""

    items: Annotated[list[BackupView], described("The backups.")]
