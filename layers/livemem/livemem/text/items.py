"""Markdown put together of parts, and lists whose items hold any text."""

import re
import unicodedata
from collections.abc import Iterable


def within_item(text: str) -> str:
    """The text with all lines after the first indented, so that they stay in the item with any content.

    Markdown ends a line at a carriage return alone as well (CommonMark, 2.1).
    """
    return re.sub(r"(\r\n|\r|\n)(?=[^\r\n])", r"\1  ", text.strip())


def joined(*parts: str) -> str:
    """The parts with a blank line between them, without those that are empty."""
    return "\n\n".join(_stripped(parts)) + "\n"


def names(text: str) -> list[str]:
    """The names that a text has between commas. Callers write them with blanks and capitals, too."""
    return [name.strip().lower() for name in text.split(",")]


def folded(name: str) -> str:
    """A tag, an author, a topic or an entity as all filters compare it: in one case and one form of each letter, with
    single blanks. Accents stay, because they tell names apart.
    """
    if not name.isascii():
        # Case folding takes some letters apart again.
        name = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(name.lower().split()).encode(errors="replace").decode()


def _stripped(parts: Iterable[str]) -> Iterable[str]:
    return (part.strip("\n") for part in parts if part.strip())
