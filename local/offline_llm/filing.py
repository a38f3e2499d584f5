"""Which section of which file a note goes to: by its category, and by the words that it shares with the rules."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from livemem.text.text_tokens import folded
from local.offline_llm.entries import Note
from local.offline_llm.rules import FileSpec, Path
from local.offline_llm.words import VOCABULARY, stem, stems, word_stems

OPEN = ("todo", "question", "issue")
"""Categories of notes that wait for somebody."""
_NAMES = 4.0
"""From this weight on a heading is named after a category."""
_NAMES_OPEN = 3.0
_MOST_SHARED = 2.0
_FOREIGN = -3.0

CATEGORIES: Mapping[str, Any] = VOCABULARY["categories"]
"""The headings of each, and the words that it draws."""


@dataclass(frozen=True)
class Shelf:
    """A place for notes: a section, or a whole file without sections. `draws`: how well each category fits.
    `words`: the weight of each word that describes it. `kinds`: the open kinds that it holds.
    """

    spec: FileSpec
    path: Path
    draws: Mapping[str, float]
    words: Mapping[str, float]
    kinds: frozenset[str]


def read_shelf(spec: FileSpec, path: Path) -> Shelf:
    """The place below the headings of a path, or of no path the whole file."""
    name = f"{spec.name.removesuffix('.md')} {spec.title}"
    heading = " ".join(part.text for part in path if not part.day) if path else name
    description = " ".join(part.description for part in path) if path else spec.description
    parts = ((heading, 1.0), (description, 0.4), (f"{name} {spec.description}", 0.25))
    kinds, named = open_kinds(heading, description), affinities(heading)
    draws = {category: sum(affinities(text)[category] * weight for text, weight in parts) for category in CATEGORIES}
    if kinds or max(named.values()) >= _NAMES:
        # It is named after other categories.
        fitting = kinds or {category for category in CATEGORIES if named[category] >= 2}
        draws |= {category: draws[category] + _FOREIGN for category in CATEGORIES if category not in fitting}
    words: dict[str, float] = {}
    for text, weight in reversed(parts):
        words |= dict.fromkeys(stems(text), weight)
    return Shelf(spec, path, draws, words, kinds)


def choose_shelf(note: Note, category: str, shelves: Sequence[Shelf]) -> Shelf:
    """The best place for a note filed as `category`, of equal ones the first in the order of the rules."""
    said = stems(note.text)

    def score(shelf: Shelf) -> float:
        # fsum, because the order of a set's words differs between processes and the result must not.
        shared = math.fsum(weight for word, weight in shelf.words.items() if word in said)
        return shelf.draws[category] + min(shared, _MOST_SHARED)

    return max(shelves, key=score)


@lru_cache(maxsize=1)
def _weights() -> Mapping[str, Mapping[str, float]]:
    """Category to stem to weight; where two words share a stem the higher weight counts."""
    table: dict[str, dict[str, float]] = {category: {} for category in CATEGORIES}
    for category, about in CATEGORIES.items():
        for word, weight in (pair.split(":") for pair in about["keywords"].split()):
            for key in (stem(folded(word), french=french) for french in (False, True)):
                table[category][key] = max(table[category].get(key, 0.0), float(weight))
    return table


@lru_cache(maxsize=4_096)
def affinities(text: str) -> Mapping[str, float]:
    """Category to weight (0 to 5) of the best keyword that the text holds. Headings come again with each fold."""
    words = word_stems(text)
    return {category: max((row.get(word, 0.0) for word in words), default=0.0) for category, row in _weights().items()}


def open_kinds(heading: str, description: str = "") -> frozenset[str]:
    """The open kinds that a section holds, by its heading, or by its description where that names nothing better."""
    named, described = affinities(heading), affinities(description)
    strongest = max(named.values())
    kinds = {kind for kind in OPEN if named[kind] == strongest >= _NAMES_OPEN}
    if strongest <= _NAMES_OPEN:
        kinds |= {kind for kind in OPEN if described[kind] > _NAMES and described[kind] == max(described.values())}
    return frozenset(kinds)
