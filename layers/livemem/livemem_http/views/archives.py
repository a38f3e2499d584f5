"""Archives of spaces as requests and answers."""

import base64
import binascii
from typing import Annotated

from livemem import limits
from livemem.copies.export import ExportResult
from livemem.copies.importing import NewImport, Upload
from livemem.errors import InvalidRequest
from livemem.jobs import describable
from livemem.jobs.job import Status
from livemem_http.views.backups import BackupId
from livemem_http.views.fields import (
    Body,
    Description,
    Moment,
    RulesText,
    SpaceId,
    Template,
    View,
    described,
    job_described,
)

UploadId = Annotated[str, described("The id of the upload, a ULID.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]


class ArchiveView(View):
    """The archive of a backup (tar.gz), or its progress."""

    status: Annotated[
        Status,
        described(
            "`queued` and `running`: send the request again after `Retry-After` seconds. `done`: the archive "
            "can be downloaded.",
            "done",
        ),
    ]
    job: Annotated[str, job_described("export", "2026-02-20T02-00-00")]
    space_id: SpaceId
    backup_id: Annotated[
        BackupId, described("The backup that the archive holds. An export takes a new backup if anything has changed.")
    ]
    url: Annotated[
        str | None,
        described(
            "The download URL. It needs no token: anyone who has the URL can read the archive.",
            "http://127.0.0.1:9000/live-memory/_exports/demo/2026-02-20T14-00-00.tar.gz?X-Amz-Signature=...",
        ),
    ] = None
    expires_at: Annotated[
        Moment | None,
        described("The time at which the URL expires, UTC: 15 minutes after this answer.", "2026-02-20T14:15:00Z"),
    ] = None
    size: Annotated[int | None, described("Size of the archive in bytes.", 18_204)] = None
    objects: Annotated[int | None, described("Number of objects in the archive.", 42)] = None
    left_out: Annotated[
        int | None,
        described(
            "Number of objects in the bucket that are not in the archive, because no import would accept their names.",
            0,
        ),
    ] = None
    done: Annotated[int | None, described("Number of objects written to the archive so far.")] = None
    total: Annotated[
        int | None, described("Number of objects that the archive will have; 0 while the backup is being taken.")
    ] = None

    @classmethod
    def of(cls, job: describable.Description) -> "ArchiveView":
        made: ExportResult | None = job.result
        return cls(
            status=job.status,
            job=job.job_id,
            space_id=job.space_id,
            backup_id=job.name,
            url=made.archives[0].url if made else None,
            expires_at=made.expires_at if made else None,
            size=made.archives[0].bytes if made else None,
            objects=made.objects if made else None,
            left_out=made.left_out if made else None,
            done=job.progress.done,
            total=job.progress.total,
        )


class NewExport(Body):
    """What is exported."""

    backup_id: Annotated[BackupId | None, described("A backup of the space. Default: the space as it stands.")] = None


class NewUpload(Body):
    """An archive that the caller will upload to the store."""

    size: Annotated[
        int,
        described(
            "Size of the archive in bytes, at most 1 GiB. The URL accepts an upload of exactly this size.", 48_200
        ),
    ]
    content: Annotated[
        str | None,
        described(
            f"The archive itself in Base64, if it has at most {limits.SENT_ARCHIVE_BYTES:,} bytes. Then nothing has "
            "to be uploaded. A larger one goes to the URL of the answer: `livemem import` does it.",
            contentEncoding="base64",
        ),
    ] = None

    def archive(self) -> bytes | None:
        """The archive that came with the request, or None. Raises InvalidRequest."""
        if self.content is None:
            return None
        try:
            return base64.b64decode(self.content, validate=True)
        except (ValueError, binascii.Error):
            raise InvalidRequest.of("content", "is not Base64") from None


class UploadView(View):
    """The URL to which to upload an archive that will be imported."""

    upload_id: UploadId
    url: Annotated[
        str,
        described(
            "The upload URL. It needs no token: `curl -T demo.tar.gz URL` sends a PUT.",
            "http://127.0.0.1:9000/live-memory/_uploads/01KHXE5Q2V8R0M4T6W9YBNCD3F?X-Amz-Signature=...",
        ),
    ]
    expires_at: Annotated[
        Moment,
        described("The time at which the URL expires, UTC: 15 minutes after this answer.", "2026-02-20T14:15:00Z"),
    ]

    @classmethod
    def of(cls, upload: Upload) -> "UploadView":
        return cls.model_validate(upload, from_attributes=True)


class Import(Body):
    """A space that an import makes of an archive: an export of this service, or a folder of Markdown files."""

    space_id: Annotated[SpaceId, described("The id of the new space. No space may have this id.", "demo-imported")]
    upload_id: UploadId
    description: Annotated[
        Description | None, described("Only for a folder of Markdown files: the purpose of the space.")
    ] = None
    rules: RulesText | None = None
    rules_template: Annotated[
        Template | None,
        described("Only for a folder of Markdown files: the template of its rules."),
    ] = None

    def wanted(self) -> NewImport:
        """The import request for the domain."""
        return NewImport(self.space_id, [self.upload_id], self.description, self.rules, self.rules_template)
