"""Hits of newer statements before older ones that say nearly the same. Pure functions.

A memory holds former values on purpose, in the words of the present one. Which of them fits a question better is
chance.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from livemem.search import words
from livemem.search.documents import ARCHIVE, BANK, LIVE, MEMORY
from livemem.search.engine import Hit
from livemem.search.words import Query

STATEMENTS = {LIVE, ARCHIVE, MEMORY}
"""Kinds of documents that are statements of a time. A section is of all times, though a live note is not in it yet, and
in a talk the one who repeats something does not take back what was said.
"""
NEARLY, LEAST = 0.6, 2
"""Two statements say nearly the same if both hold this share of the words of the shorter one, and so many at least."""
LENGTHS = 3
"""So many times as long the longer one may be: a few words are not the new value of a sentence."""
CHARACTERS = 1_000
"""Of a statement at most. A longer text says much, and is no new value of another one."""


@dataclass(frozen=True)
class _Statement:
    hit: Hit
    said: frozenset[str]
    """Its words that say something."""
    answers: frozenset[str]
    """Those of the question among them."""

    def is_newer(self, other: "_Statement") -> bool:
        """Whether it says nearly the same as an older one, and as much about the question. So what is said of staging
        does not displace what is said of production, where the question is about that.
        """
        if BANK in (self.hit.document.kind, other.hit.document.kind):
            # What the line says already is no news.
            if self.hit.document.kind != LIVE or other.said >= self.said:
                return False
        elif self.hit.document.time <= other.hit.document.time:
            return False
        if not self.answers >= other.answers:
            return False
        shorter, longer = sorted((len(self.said), len(other.said)))
        return longer <= LENGTHS * shorter and say_nearly_the_same(self.said, other.said)


def words_said(text: str) -> frozenset[str]:
    """The words of a statement that say something."""
    return frozenset(words.terms(text)) - words.stop_terms()


def say_nearly_the_same(words: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two statements with these words say nearly the same."""
    return len(words & other) >= max(LEAST, NEARLY * min(len(words), len(other)))


def newer_first(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """The hits, each statement behind the newer ones that say nearly the same, and a section behind a live note that no
    statement is newer than, if its line says nearly the same: these move up directly before it. Their part `newer` is
    what they gain. Where the question asks for the past, or names a date, they stay as they are.
    """
    if query.asks_past or query.dates:
        return list(hits)
    sought = frozenset(query.words) - words.stop_terms() - words.asking_terms()
    rest: list[tuple[Hit, _Statement | None]] = [(hit, _statement(hit, sought)) for hit in hits]
    former = {hit.document.id for hit, item in rest if _newer_than(rest, item) is not None}
    ordered: list[Hit] = []
    while rest:
        place, score = 0, rest[0][0].score
        while newer := _newer_than(rest, rest[place][1], former):
            place = newer
        hit, _ = rest.pop(place)
        if place:
            hit = replace(hit, score=score, parts={**hit.parts, "newer": score - hit.score})
        ordered.append(hit)
    return ordered


def _newer_than(
    rest: Sequence[tuple[Hit, _Statement | None]], statement: _Statement | None, former: Collection[str] = ()
) -> int | None:
    """The place of the best newer statement of nearly the same; None if there is none. None that is `former` itself
    displaces a section.
    """
    if statement is None:
        return None
    refused = former if statement.hit.document.kind == BANK else ()
    newer = (
        place
        for place, (hit, other) in enumerate(rest)
        if other and other.is_newer(statement) and hit.document.id not in refused
    )
    return next(newer, None)


def _statement(hit: Hit, sought: frozenset[str]) -> _Statement | None:
    document = hit.document
    text = document.text[slice(*hit.line)] if document.kind == BANK else document.text
    if document.kind not in {*STATEMENTS, BANK} or not document.time or len(text) > CHARACTERS:
        return None
    said = words_said(text)
    return _Statement(hit, said, sought & said) if said else None
