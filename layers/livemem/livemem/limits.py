"""Sizes that every write path keeps (docs/errors.md, 413), in bytes of UTF-8 unless said otherwise."""

from livemem.errors import InvalidRequest, TooLarge

NOTE_BYTES = 100_000
RULES_BYTES = 50_000
DESCRIPTION_BYTES = 500
OWNER_BYTES = 200
REPOSITORY_BYTES = 300
BATCH_NOTES = 100
ERASED_AT_ONCE = 100
"""Notes, memories and turns together."""
BODY_BYTES = 1_048_576
SENT_ARCHIVE_BYTES = 750_000
"""Of an archive within a request. In Base64 it takes four thirds of that, which a body still holds."""
TAGS = 20
TAG_CHARACTERS = 50
BANK_FILE_BYTES = 500_000
REASON_BYTES = 500
SYNTHESIS_BYTES = 50_000
CORRECTION_EDITS = 100
IDEMPOTENCY_KEY_CHARACTERS = 200
SPEAKER_BYTES = 200
"""Of a speaker's name."""
PAGE_ITEMS = 500
PAGE_DEFAULT = 50
ANSWER_BYTES = 6_000_000
"""An answer's body inside JSON: the most that Lambda returns (its quotas). It holds outside Lambda too."""
PAGE_BYTES = 800_000
"""Objects of one page together. In JSON within JSON a byte takes up to 7."""
THRESHOLD = 1_000
LEAST_BANK_CHARS = 2_000
MOST_BANK_CHARS = 500_000
"""Bounds of the length that a bank should have, in Unicode characters."""
TOKEN_SPACES = 1_000
EMAIL_CHARACTERS = 254
"""The longest address in SMTP (RFC 5321, erratum 1690)."""
TOKEN_DAYS = 3_650
"""The longest life of a token that expires, in days. Ten years are as good as never."""
GRACE_SECONDS = 7 * 86_400
"""How long a rotated token may continue to work."""


def bank_chars_problem(chars: int) -> str | None:
    """Why `chars` can't be the length that a bank should have, or None. 0 stands for no such length."""
    if chars == 0 or LEAST_BANK_CHARS <= chars <= MOST_BANK_CHARS:
        return None
    return f"must be 0 (no length), or from {LEAST_BANK_CHARS:,} to {MOST_BANK_CHARS:,} characters"


def check_text(field: str, text: str, limit: int, *, blank: bool = False) -> str:
    """Return `text` if it is UTF-8 of at most `limit` bytes. Blank text is refused unless `blank`.

    Raises TooLarge or InvalidRequest, which name `field`.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidRequest.of(field, "has half a surrogate pair, which is not valid text") from None
    if size > limit:
        raise TooLarge.of(field, size, limit)
    if not blank and not text.strip():
        raise InvalidRequest.of(field, "must not be empty")
    return text
