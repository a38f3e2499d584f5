"""The passages of a long text.

White space separates words here: the field counts passages this way, and it works for every language.
"""

import re
from collections.abc import Sequence
from itertools import islice

WORDS = 100
OVERLAP = 20
LONGEST = 1_600
"""Characters of a passage. Texts without spaces are cut there. Embedding models read 256 tokens and more."""
SNIPPET = 300
"""Characters of an excerpt."""
LEAST = 3
"""Words of a line that is a passage of its own, the mark of a list among them. A shorter one is joined to the next."""
_LINE = re.compile(r"^ ?(?:[-*+]|\d{1,9}[.)]|\|)[ \t]|(?<=\n\n)(?=\S)", re.MULTILINE)
"""The beginning of an item of a list, of a row of a table, of a paragraph."""
_WORD = re.compile(rf"\S{{1,{LONGEST // WORDS * 4}}}")


def split(text: str) -> list[tuple[int, int]]:
    """The character ranges of a text's passages: at least one, in order, `WORDS` long, `OVERLAP` in the one before.

    100 words with 20 of overlap are what the measured sets were embedded with (docs/recall.md). A text without a word
    is one empty passage.
    """
    words = [match.span() for match in _WORD.finditer(text)]
    if not words:
        return [(0, 0)]
    ranges: list[tuple[int, int]] = []
    first = 0
    while True:
        last = _last(words, first)
        ranges.append((words[first][0], words[last][1]))
        if last == len(words) - 1:
            return ranges
        first = max(first + 1, last + 1 - OVERLAP)


def split_lines(text: str) -> list[tuple[int, int]]:
    """The same for a text whose lines are statements of their own. An item of a list with what is indented below it, a
    row of a table and a paragraph are split each by itself. None has less than `LEAST` words, but the last one.
    """
    ranges: list[tuple[int, int]] = []
    begin = 0
    for end in (*(match.start() for match in _LINE.finditer(text)), len(text)):
        least = LEAST if end < len(text) else 1
        if next(islice(_WORD.finditer(text, begin, end), least - 1, None), None):
            ranges += [(begin + first, begin + last) for first, last in split(text[begin:end])]
            begin = end
    return ranges or [(0, 0)]


def _last(words: list[tuple[int, int]], first: int) -> int:
    """The last word of the passage that begins with the word `first`."""
    last = min(first + WORDS, len(words)) - 1
    while last > first and words[last][1] - words[first][0] > LONGEST:
        last -= 1
    return last


def grown(ranges: Sequence[tuple[int, int]], place: int, longest: int = SNIPPET) -> tuple[int, int]:
    """The characters of a passage and of those behind it, as many as fit."""
    start, end = ranges[place]
    return start, max(end, *(further for _, further in ranges[place:] if further - start <= longest), 0)
