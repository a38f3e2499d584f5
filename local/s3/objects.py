"""What the server keeps of an object, independent of moto and of the disk."""

import base64
import hashlib
import zlib
from dataclasses import dataclass
from typing import Any

# An object is what its file tells (bytes, name, time), unless it differs from these conventions.
CONTENT_TYPES = {".md": "text/markdown; charset=utf-8", ".json": "application/json"}
DEFAULT_CONTENT_TYPE = "binary/octet-stream"  # what S3 stores when a client sends none


@dataclass(frozen=True)
class StoredObject:
    """One object.

    `attributes` holds JSON values only: `etag` (without quotes), `headers` (lower-case names) and what else
    `plain_attributes` lists.
    """

    body: bytes
    modified_ns: int
    attributes: dict[str, Any]


def compute_crc32(body: bytes) -> str:
    """Return the checksum as S3 writes it: big endian, base64."""
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


def plain_attributes(key: str, body: bytes) -> dict[str, Any]:
    """Return the attributes of an object about which nothing but its name and bytes is known."""
    suffix = key[key.rfind(".") :] if "." in key else ""
    return {
        "etag": hashlib.md5(body, usedforsecurity=False).hexdigest(),
        "headers": {"content-type": CONTENT_TYPES.get(suffix, DEFAULT_CONTENT_TYPE)},
        "checksum_algorithm": "CRC32",
        "checksum_value": compute_crc32(body),
        "checksum_type": None,
        "checksum_parts": None,
        "encryption": None,
    }
