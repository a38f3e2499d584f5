"""What others wrote, made fit for a terminal: notes and banks may hold anything."""

import json
import re
from typing import Any

_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # escape sequences begin with one of these; newline and tab stay
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of the text around, so that it reads otherwise
    "\u2028\u2029\ufeff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without what a terminal would obey instead of show; newlines and tabs stay."""
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def one_line(text: str, width: int | None = None) -> str:
    """The text on one line, at most `width` characters of it."""
    line = " ".join(clean(text).split())
    return line if width is None or len(line) <= width else line[: max(width - 1, 0)] + "…"


def as_json(value: Any, *, indent: int | None = None) -> str:
    """The value as JSON. Whatever a terminal would obey is escaped, so the JSON may go anywhere and says the same."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    escape = re.compile(f"{_CONTROLS.pattern}|{_SURROGATES.pattern}")
    # Newlines and what indents stand outside of strings; json.dumps has escaped those inside.
    return escape.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def size(count: int) -> str:
    """A number of bytes as people read it."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def moment(iso: str | None) -> str:
    """A time of the service (UTC) to the second, as in `2026-02-20 14:00:00`."""
    return "" if not iso else iso[:19].replace("T", " ")


def count(number: int, noun: str) -> str:
    """`1 note`, `3 notes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
