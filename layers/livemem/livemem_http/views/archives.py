"""Archives of spaces as requests and answers."""

import base64
import binascii
from typing import Annotated

from livemem import limits
from livemem.copies.importing import Upload
from livemem.errors import InvalidRequest
from livemem_http.views.backups import BackupId
from livemem_http.views.fields import (
    Body,
    Moment,
    View,
    described,
)

UploadId = Annotated[str, described("The id of the upload, a ULID.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]


class NewExport(Body):
    """The backup to export, or none."""

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
