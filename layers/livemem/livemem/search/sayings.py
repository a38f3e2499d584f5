"""What a document says, to compare it with what another one says. Pure functions.

Different words for the same are not recognised, and in doubt a statement says something of its own: a value, a negation
or the order of two names may be all that is new.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache

from livemem.search import words
from livemem.search.documents import Document

IN_ORDER = 0.8
"""The share of a statement's words that stand in the same order where all of them stand there."""
SPAN = 1.5
"""So many times as many words may be between the first and the last of them: a line may tell of two things."""
LONGEST_STATEMENT, LONGEST_TEXT = 1_000, 20_000
"""Characters of a statement, and of a text that may hold it. Longer ones are not compared."""
_DECISIVE = "not no nor never without isn't don't cannot can't won't ne pas non sans jamais aucun only seulement one"
"""Small words that decide what is said: both must have the same."""


class Saying:
    """A document as one statement, or as many of them: its lines, if they are `lists`."""

    def __init__(self, document: Document, *, lists: bool) -> None:
        """Its words are looked at when they are needed."""
        self.document, self._lists = document, lists

    @cached_property
    def said(self) -> list[str]:
        """Its words as a statement; none where it is too long for one, or asks."""
        text = self.document.text
        return [] if len(text) > LONGEST_STATEMENT or "?" in text else _said(text)

    @cached_property
    def words(self) -> frozenset[str]:
        """All its words, with those of its tags."""
        return frozenset(self.said).union(words.terms(" ".join(self.document.tags)))

    @cached_property
    def _context(self) -> frozenset[str]:
        return frozenset(words.terms(" ".join((self.document.title, *self.document.tags))))

    @cached_property
    def _lines(self) -> list[tuple[list[str], frozenset[str]]]:
        """The words of each line, and these with those of its context."""
        text = self.document.text
        if len(text) > LONGEST_TEXT:
            return []
        batch = text.splitlines() if self._lists else [text]
        # Who asks whether something is so does not say it.
        lines = [_said(line) for line in batch if "?" not in line]
        return [(line, self._context.union(line)) for line in lines]

    def holds(self, statement: "Saying") -> bool:
        """Whether one of its lines says all that a statement says, about the same. Tags and authors tell apart what is
        said of two environments in the same words.
        """
        own, other = self.document, statement.document
        if not self._lists and (own.author, set(own.tags)) != (other.author, set(other.tags)):
            return False
        return len(statement.said) > 1 and any(
            here.issuperset(statement.words) and self._says(line, statement.said) for line, here in self._lines
        )

    def _says(self, line: Sequence[str], other: Sequence[str]) -> bool:
        if deciding(other) != deciding(line):
            return False
        sought = [word for word in other if word not in self._context or word in line]
        return any(
            self._context.union(part).issuperset(other) and _in_order(sought, part) >= IN_ORDER * len(sought)
            for part in _parts(line, int(SPAN * len(sought)))
        )


def _parts(line: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (line[begin : begin + size] for begin in range(max(1, len(line) - size + 1)))


def deciding(terms: Iterable[str]) -> frozenset[str]:
    """The small words among some that decide what is said. A text that denies something does not say it again."""
    return _decisive().intersection(terms)


def _said(text: str) -> list[str]:
    """The words that say something, and the small ones that decide it."""
    return [term for term in words.terms(text) if term not in words.stop_terms() or term in _decisive()]


@lru_cache(maxsize=1)
def _decisive() -> frozenset[str]:
    return frozenset(words.terms(_DECISIVE))


def _in_order(words: Sequence[str], rest: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    longest = [0] * (len(rest) + 1)
    for text in words:
        before = list(longest)
        for place, other in enumerate(rest, 1):
            longest[place] = before[place - 1] + 1 if text == other else max(before[place], longest[place - 1])
    return longest[-1]
