"""ListMultipartUploads, with the times at which uploads began: moto knows none, and knows no pages either."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from xml.sax.saxutils import escape

from local.s3.listing import read_encoding, read_limit
from local.s3.operations import S3Error

_PART_NUMBER = re.compile(rb"<PartNumber>\s*(\d+)\s*</PartNumber>")


@dataclass(frozen=True, order=True)
class Upload:
    """A multipart upload that is under way; `begun` is aware."""

    key: str
    upload_id: str
    begun: datetime


def render_uploads(bucket: str, query: dict[str, str], uploads: Iterable[Upload]) -> bytes:
    """Answer ListMultipartUploads, by key and then by id.

    Raises:
        S3Error: a parameter is wrong.
    """
    limit = read_limit(query.get("max-uploads"), "max-uploads")
    encode = read_encoding(query.get("encoding-type"))
    prefix, key_marker, id_marker = (query.get(name, "") for name in ("prefix", "key-marker", "upload-id-marker"))
    # Without the marker of an id, all uploads of the marked key are passed over.
    behind = [
        upload
        for upload in sorted(uploads)
        if upload.key.startswith(prefix)
        and (upload.key > key_marker or (upload.key == key_marker and "" < id_marker < upload.upload_id))
    ]
    page, truncated = behind[:limit], 0 < limit < len(behind)
    fields = [
        ("Bucket", bucket),
        ("KeyMarker", encode(key_marker)),
        ("UploadIdMarker", id_marker),
        ("Prefix", encode(prefix)),
        ("MaxUploads", str(limit)),
        ("IsTruncated", "true" if truncated else "false"),
    ]
    if "encoding-type" in query:
        fields.append(("EncodingType", "url"))
    if truncated:
        fields += [("NextKeyMarker", encode(page[-1].key)), ("NextUploadIdMarker", page[-1].upload_id)]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    parts = [head]
    parts += [f"<{name}>{escape(value)}</{name}>" for name, value in fields]
    parts += [
        f"<Upload><Key>{escape(encode(upload.key))}</Key><UploadId>{escape(upload.upload_id)}</UploadId>"
        f"<StorageClass>STANDARD</StorageClass><Initiated>{_render_time(upload.begun)}</Initiated></Upload>"
        for upload in page
    ]
    parts.append("</ListMultipartUploadsResult>")
    return "".join(parts).encode("utf-8", "replace")


def check_part_order(body: bytes) -> None:
    """Refuse to complete an upload whose parts are not in order, which moto would put together as they come.

    Raises:
        S3Error: as S3 answers.
    """
    numbers = [int(number[:9]) for number in _PART_NUMBER.findall(body)]
    if any(first >= second for first, second in itertools.pairwise(numbers)):
        text = "The list of parts was not in ascending order. Parts must be ordered by part number."
        raise S3Error(400, "InvalidPartOrder", text)


def _render_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
