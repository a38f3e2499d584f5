"""The passages of a long text, and the excerpt of a text that answers a query best.

White space separates words here: the field counts passages this way, and it works for every language.
"""

import re
from collections.abc import Sequence
from itertools import islice

from livemem.search.words import Query, found

WORDS = 100
OVERLAP = 20
LONGEST = 1_600
"""Characters of a passage. Texts without spaces are cut there. Embedding models read 256 tokens and more."""
SNIPPET = 300
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


def snippet(
    text: str, query: Query, *, within: tuple[int, int] | None = None, longest: int = SNIPPET
) -> tuple[int, int]:
    """The characters of the excerpt that holds most different words of the query, then most of their instances.

    `within` is the best passage, where one is known. An excerpt has at most `longest` characters and begins and ends
    between words.
    """
    begin, end = within or (0, len(text))
    hits = [(begin + start, begin + stop, term) for start, stop, term in found(text[begin:end], query)]
    first, last = _densest(hits, longest)
    room = max(0, longest - (last - first)) if hits else longest
    start = max(begin, first - room // 2) if hits else begin
    stop = min(end, start + longest)
    start = max(begin, min(start, stop - longest))
    return _between_words(text, start, stop, begin, end, keep=(first, last) if hits else None)


def grown(ranges: Sequence[tuple[int, int]], place: int, longest: int = SNIPPET) -> tuple[int, int]:
    """The characters of a passage and of those behind it, as many as fit."""
    start, end = ranges[place]
    return start, max(end, *(further for _, further in ranges[place:] if further - start <= longest), 0)


def _densest(hits: list[tuple[int, int, str]], longest: int) -> tuple[int, int]:
    """The range of characters of an excerpt that holds the most different words."""
    best, result = (-1, -1), (0, 0)
    counts: dict[str, int] = {}
    rest = 0
    for right, (_, stop, term) in enumerate(hits):
        counts[term] = counts.get(term, 0) + 1
        while rest < right and stop - hits[rest][0] > longest:
            gone = hits[rest][2]
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
            rest += 1
        worth = (len(counts), right - rest)
        if worth > best:
            best, result = worth, (hits[rest][0], stop)
    return result


def _between_words(
    text: str, start: int, stop: int, begin: int, end: int, keep: tuple[int, int] | None
) -> tuple[int, int]:
    """Those characters without the halves of words at both ends. The range `keep` is not cut."""
    keep_start, keep_stop = keep or (stop, start)
    if start > begin and not text[start - 1].isspace():
        space = re.search(r"\s", text[start : min(keep_start, stop)])
        start += space.end() if space else 0
    if stop < end and not text[stop].isspace():
        lowest = max(keep_stop, start)
        cut = max(text.rfind(space, lowest, stop) for space in " \n\t")
        stop = cut if cut > start else stop
    while start < stop and text[start].isspace():
        start += 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return start, stop
