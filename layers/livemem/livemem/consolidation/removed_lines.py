"""The lines that went when a bank was shortened. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence

from livemem.changes.records import RemovedLine
from livemem.text import text_tokens

LISTED = 500
"""Lines that a record lists. Any others are only counted."""
LISTED_CHARACTERS = 100_000
"""Of all of them together. Each is whole, or not listed: an erasure finds no part of a line."""
_WORD = re.compile(r"\w+")


def removed(before: Mapping[str, str], after: Iterable[str]) -> list[RemovedLine]:
    """The lines of files, by their paths, whose words stand together in no line of the texts `after`.

    So a line that moved, or that was joined with another, has not gone. Words that say little don't count.
    """
    lines = list(dict.fromkeys(line.strip() for text in after for line in text.splitlines()))
    places: dict[str, set[int]] = {}
    for number, line in enumerate(lines):
        for word in _words(line):
            places.setdefault(word, set()).add(number)
    stand = set(lines)
    return [
        RemovedLine(file=path, line=line)
        for path, text in before.items()
        for line in map(str.strip, text.splitlines())
        if line not in stand and _is_gone(_words(line), places)
    ]


def bounded(lines: Sequence[RemovedLine]) -> list[RemovedLine]:
    """Those that a record lists."""
    result: list[RemovedLine] = []
    rest = LISTED_CHARACTERS
    for line in lines:
        if len(result) < LISTED and len(line.line) <= rest:
            result.append(line)
            rest -= len(line.line)
    return result


def _is_gone(words: set[str], places: Mapping[str, set[int]]) -> bool:
    if not words:
        return False
    telling = {word for word in words if not text_tokens.is_common(word)} or words
    rarest_first = sorted((places.get(word, set()) for word in telling), key=len)
    return not set.intersection(*rarest_first)


def _words(line: str) -> set[str]:
    return {text_tokens.folded(word) for word in _WORD.findall(line)}
