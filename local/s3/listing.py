"""Keys in order, and ListObjects answered from them.

moto looks at every key of the bucket for each listing and needs 0.2 ms for each key of the answer; this needs the keys
of the answer only. moto's answers are the reference that the tests compare with.
"""

import base64
import binascii
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape

from local.s3.operations import S3Error

_MAX_KEYS = 1000
_OWNER = "<Owner><ID>local</ID><DisplayName>local</DisplayName></Owner>"


class KeyIndex:
    """The sorted keys of one bucket (by code point, which is S3's order of UTF-8 bytes)."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys = sorted(keys)

    def __len__(self) -> int:
        """Count the keys."""
        return len(self._keys)

    def add(self, key: str) -> None:
        """Add a key; one that is there already is no error."""
        at = bisect_left(self._keys, key)
        if at == len(self._keys) or self._keys[at] != key:
            self._keys.insert(at, key)

    def discard(self, key: str) -> None:
        """Remove a key if it is there."""
        at = bisect_left(self._keys, key)
        if at < len(self._keys) and self._keys[at] == key:
            del self._keys[at]

    def page(self, prefix: str, delimiter: str, after: str, limit: int) -> "Page":
        """Return the next keys and common prefixes behind `after`, together at most `limit`."""
        page = Page([], [], truncated=False, last="")
        at = max(bisect_left(self._keys, prefix), bisect_right(self._keys, after) if after else 0)
        if after and delimiter and after.startswith(prefix) and after.endswith(delimiter) and len(after) > len(prefix):
            # `after` may be a common prefix, which stands for all that it covers.
            at = max(at, bisect_left(self._keys, _successor(after)))
        while at < len(self._keys) and self._keys[at].startswith(prefix):
            if len(page.keys) + len(page.prefixes) >= limit:
                page.truncated = limit > 0
                return page
            key = self._keys[at]
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            if cut >= 0:
                page.last = key[: cut + len(delimiter)]
                page.prefixes.append(page.last)
                at = bisect_left(self._keys, _successor(page.last), at)
            else:
                page.last = key
                page.keys.append(key)
                at += 1
        return page


@dataclass
class Page:
    """One page of a listing. `last` is its last key or common prefix, in the order of the listing."""

    keys: list[str]
    prefixes: list[str]
    truncated: bool
    last: str


def _successor(text: str) -> str:
    """The first text behind all that begin with `text`."""
    last = ord(text[-1])
    return text[:-1] + chr(last + 1) if last < 0x10FFFF else text + "\U0010ffff" * 1024


@dataclass(frozen=True)
class Listed:
    """The entry of an object in a listing."""

    modified: str
    etag: str
    size: int
    checksum_algorithm: str | None


def render_listing(bucket: str, query: dict[str, str], index: KeyIndex, describe: Callable[[str], Listed]) -> bytes:
    """Answer ListObjectsV2, or ListObjects when there is no `list-type`.

    Raises:
        S3Error: a parameter is wrong.
    """
    second = "list-type" in query
    limit = read_limit(query.get("max-keys"), "max-keys")
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    encode = read_encoding(query.get("encoding-type"))
    after = _read_after(query) if second else query.get("marker", "")
    page = index.page(prefix, delimiter, after, limit)
    fields: list[tuple[str, Any]] = [("Name", bucket), ("Prefix", encode(prefix)), ("MaxKeys", limit)]
    if delimiter:
        fields.append(("Delimiter", encode(delimiter)))
    if "encoding-type" in query:
        fields.append(("EncodingType", "url"))
    if second:
        fields.append(("KeyCount", len(page.keys) + len(page.prefixes)))
        fields += [(name, value) for name, value in _echo(query, encode)]
    else:
        fields.append(("Marker", encode(after)))
    fields.append(("IsTruncated", "true" if page.truncated else "false"))
    if page.truncated and second:
        fields.append(("NextContinuationToken", _write_token(page.last)))
    elif page.truncated and delimiter:
        fields.append(("NextMarker", encode(page.last)))
    owner = _OWNER if not second or query.get("fetch-owner") == "true" else ""
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    ]
    parts += [f"<{name}>{escape(str(value))}</{name}>" for name, value in fields]
    parts += [_render_object(key, encode, describe(key), owner) for key in page.keys]
    parts += [f"<CommonPrefixes><Prefix>{escape(encode(p))}</Prefix></CommonPrefixes>" for p in page.prefixes]
    parts.append("</ListBucketResult>")
    return "".join(parts).encode("utf-8", "replace")


def _render_object(key: str, encode: Callable[[str], str], listed: Listed, owner: str) -> str:
    checksum = (
        f"<ChecksumAlgorithm>{listed.checksum_algorithm}</ChecksumAlgorithm>" if listed.checksum_algorithm else ""
    )
    return (
        f"<Contents><Key>{escape(encode(key))}</Key><LastModified>{listed.modified}</LastModified>"
        f"<ETag>{escape(listed.etag, {chr(34): '&quot;'})}</ETag>{checksum}<Size>{listed.size}</Size>{owner}"
        "<StorageClass>STANDARD</StorageClass></Contents>"
    )


def _echo(query: dict[str, str], encode: Callable[[str], str]) -> list[tuple[str, str]]:
    if "continuation-token" in query:
        return [("ContinuationToken", query["continuation-token"])]
    return [("StartAfter", encode(query["start-after"]))] if query.get("start-after") else []


def read_limit(text: str | None, name: str) -> int:
    """The length of a page that a parameter asks for, at most 1,000. Raises S3Error."""
    if text is None:
        return _MAX_KEYS
    if not text.isascii() or not text.isdigit() or int(text) >= 2**31:
        raise S3Error(400, "InvalidArgument", f"Provided {name} not an integer or within integer range")
    return min(int(text), _MAX_KEYS)


def read_encoding(name: str | None) -> Callable[[str], str]:
    """How keys are written in an answer: plainly, or percent-encoded for `url`. Raises S3Error."""
    if name is None:
        return str
    if name != "url":
        raise S3Error(400, "InvalidArgument", "Invalid Encoding Method specified in Request")
    return lambda text: quote(text, safe="/-_.~*")


def _read_after(query: dict[str, str]) -> str:
    token = query.get("continuation-token")
    if token is None:
        return query.get("start-after", "")
    try:
        return base64.urlsafe_b64decode(token.encode()).decode() or _refuse_token()
    except (binascii.Error, UnicodeError) as error:
        raise S3Error(400, "InvalidArgument", "The continuation token provided is incorrect") from error


def _refuse_token() -> str:
    raise S3Error(400, "InvalidArgument", "The continuation token provided is incorrect")


def _write_token(last: str) -> str:
    # The position itself: the token is good after a restart and whatever was deleted in between.
    return base64.urlsafe_b64encode(last.encode()).decode()
