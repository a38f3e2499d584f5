"""A long text in pages: whole lines where they are not too long. Pure functions."""

import hashlib
from dataclasses import dataclass

from livemem.errors import InvalidRequest
from livemem.store import cursors

NOTICE_CHARS = 120
"""Room on a page for the words that name the next one."""
LONGEST = 1_000_000
"""Characters of a text, at most, of which a cursor names a place."""
_HASH_CHARS = 16


@dataclass(frozen=True)
class TextPlace:
    """How far a text was read: so many characters of the one with this hash."""

    offset: int
    text: str

    @classmethod
    def parse(cls, cursor: str) -> "TextPlace":
        """The place that a cursor names. Raises ValueError."""
        offset, _, text = cursor.partition("/")
        digits = offset.isascii() and offset.isdecimal() and len(offset) <= len(str(LONGEST))
        if not (digits and len(text) == _HASH_CHARS):
            raise ValueError("no place in a text")
        return cls(int(offset), text)


@dataclass(frozen=True)
class TextPage:
    """A part of a text. `chars`: of the whole text; `remaining`: of what follows this page. `next_cursor`: None on the
    last page.
    """

    text: str
    chars: int
    remaining: int
    next_cursor: str | None


def page(text: str, max_chars: int, place: TextPlace | None, *, behind: int = 0) -> TextPage:
    """The page of a text that begins at a place: at most `max_chars` characters with the notice of the next page, or
    with the `behind` characters that follow the last one. Raises InvalidRequest if the text was changed since.
    """
    name = hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARS]
    if place and (place.text != name or place.offset >= len(text)):
        raise InvalidRequest.of("cursor", "is of a text that was changed since: read it again from its beginning")
    start = place.offset if place else 0
    end = _end(text, start, max_chars, behind)
    following = cursors.encode(f"{end}/{name}") if end < len(text) else None
    return TextPage(text[start:end], len(text), len(text) - end, following)


def _end(text: str, start: int, most: int, behind: int) -> int:
    """Where a page ends: behind a line if one ends in its second half. `behind` is less than NOTICE_CHARS."""
    if len(text) - start + behind <= most:
        return len(text)
    last = start + most - NOTICE_CHARS
    line = text.rfind("\n", start + most // 2, last) + 1
    return line or last
