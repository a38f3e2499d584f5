"""Keys of the codes by which a browser gets a token, `_system/page_codes/`. Objects are named by the code's SHA-256."""

import re

from livemem.errors import InvalidName

PAGE_CODES = "_system/page_codes/"

_DIGEST = re.compile(r"[0-9a-f]{64}")


def page_code(digest: str) -> str:
    """The key of a code, by its digest of 64 hex digits. Raises InvalidName."""
    if not _DIGEST.fullmatch(digest):
        raise InvalidName("digest", "must be 64 hex digits")
    return f"{PAGE_CODES}{digest}.json"
