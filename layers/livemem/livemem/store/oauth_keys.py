"""Keys of sign-in by OAuth, `_system/oauth/`. Secrets are in no key: objects are named by their SHA-256."""

import re

from livemem.errors import InvalidName

OAUTH = "_system/oauth/"
ATTEMPTS = f"{OAUTH}attempts/"
CODES = f"{OAUTH}codes/"
REDEEMED = f"{OAUTH}redeemed/"
GRANTS = f"{OAUTH}grants/"
WRONG_TOKENS = f"{OAUTH}wrong/"
USED = f"{OAUTH}used/"
DOCUMENTS = f"{OAUTH}documents/"
PLACE_DIGITS = 3
"""So there are 4,096 places for documents of clients, 24 MB at most, however many URLs are named."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
GRANT_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


def attempt(digest: str) -> str:
    """The key of a sign-in that waits for consent. `digest`: of its ticket, 64 hex digits. Raises InvalidName."""
    return f"{ATTEMPTS}{_checked(digest)}.json"


def code(digest: str) -> str:
    """The key of an authorization code, by its digest. Raises InvalidName."""
    return f"{CODES}{_checked(digest)}.json"


def redeemed(digest: str) -> str:
    """The key of the mark that the code of this digest was redeemed. Raises InvalidName."""
    return f"{REDEEMED}{_checked(digest)}.json"


def grant(grant_id: str) -> str:
    """The key of a grant. Raises InvalidName."""
    if not GRANT_ID.fullmatch(grant_id):
        raise InvalidName("grant_id", "must be a ULID")
    return f"{GRANTS}{grant_id}.json"


def parse_grant(key: str) -> str | None:
    """The id of the grant in such a key. None for every other key."""
    grant_id = key.removeprefix(GRANTS).removesuffix(".json")
    return grant_id if GRANT_ID.fullmatch(grant_id) and key == grant(grant_id) else None


def check_grant_id(grant_id: str) -> str:
    """Return the id of a connection, or raise InvalidName."""
    if not GRANT_ID.fullmatch(grant_id):
        raise InvalidName("connection_id", "must be a ULID")
    return grant_id


def used(grant_id: str) -> str:
    """The key of the last use of a grant. Raises InvalidName."""
    return USED + check_grant_id(grant_id)


def wrong_tokens(digest: str) -> str:
    """The key of how often a token was tried, by one digest of who tries it. Raises InvalidName."""
    return f"{WRONG_TOKENS}{_checked(digest)}.json"


def document(digest: str) -> str:
    """The place of a client's document, by the digest of its URL. Others have the same place. Raises InvalidName."""
    return f"{DOCUMENTS}{_checked(digest)[:PLACE_DIGITS]}.json"


def _checked(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise InvalidName("digest", "must be 64 hex digits")
    return digest
