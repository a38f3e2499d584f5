"""Which section of which file a note goes to: by its category, and by the words that it shares with the rules."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from local.offline_llm import topics
from local.offline_llm.affinity import CATEGORIES, CURRENT, OPEN_KINDS, affinities, open_kinds
from local.offline_llm.entries import Note
from local.offline_llm.layout import FileSpec, Leaf
from local.offline_llm.words import label_stems, stem, stems, word_stems

# How much a word counts by where the rules use it: heading, description, file name and title, description of the file.
_FOR_CATEGORY = (1.0, 0.4, 0.3, 0.25)
_FOR_SUBJECT = (1.0, 0.7, 0.5, 0.3)
_MAX_OVERLAP = 4.0
_TAG_FACTOR = 1.5
# Observations belong with their subject where the rules have a section for it, and decisions where they have none for
# decisions, so what a section that is named after them draws beyond this counts little.
_FLOATING = {"decision": 1.0, "observation": 1.0}
_BEYOND = 0.05
# A section that is named after other categories is no place for what merely shares words with it: least of all one of
# open entries, or of decisions.
NAMED = 4.0
_FOREIGN = -2.0
_FOREIGN_OPEN = -4.0
_QUANTITY = re.compile(r"\d\s?(?:µs|ms|s|min|h|[kMG]i?B|%|tokens?|requests?)(?![\w])")
_BEGUN = re.compile(
    r"\b(?:started|begun|began|working on|under way|underway|in progress|ongoing|in arbeit|en cours|en train d\w+"
    r"|commencée?s?|démarrée?s?|entamée?s?)\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:done|finished|completed|works|fixed|resolved|implemented|terminée?s?|finie?s?|livrée?s?|résolue?s?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Shelf:
    """A place for notes: a section, or a whole file without sections, with what draws notes to it.

    `named` has the categories that it is named after. `topic` is the subject that it is for (topics.py), "" for any.

    `day` is the prefix that a note's date must have ("" = any), for files that are made per day or month.
    """

    spec: FileSpec
    leaf: Leaf | None
    day: str
    affinity: Mapping[str, float]
    words: Mapping[str, float]
    kinds: frozenset[str]
    named: frozenset[str]
    topic: str


def list_shelves(files: Sequence[tuple[FileSpec, str]]) -> list[Shelf]:
    """The places that a layout offers, in its order; `files` with their date prefix, as layout.for_days gives them."""
    shelves = []
    for spec, day in files:
        leaves: list[Leaf | None] = [*spec.leaves]
        for leaf in leaves or [None]:
            # A file without sections groups by category, so its own name speaks for all of them.
            heading = f"{spec.name.removesuffix('.md')} {spec.title}" if leaf is None else leaf.text
            description = spec.description if leaf is None else leaf.description
            texts = (heading, description, f"{spec.name.removesuffix('.md')} {spec.title}", spec.description)
            kinds = open_kinds(heading, description)
            topic = topics.of_heading(heading)
            drawn = dict.fromkeys((*CATEGORIES, CURRENT), _FOREIGN) if topic else _affinity(texts, kinds)
            named = frozenset() if topic else _named(heading)
            shelves.append(Shelf(spec, leaf, day, drawn, _words(texts), frozenset() if topic else kinds, named, topic))
    return shelves


def file_as(note: Note, shelves: Sequence[Shelf]) -> str:
    """The category that a note is filed under: its own, an observation where that is unknown, or work begun."""
    begun = note.category == "progress" and _BEGUN.search(note.content) and not _DONE.search(note.content)
    if begun and any(CURRENT in shelf.kinds for shelf in shelves):
        return CURRENT
    return note.category if note.category in CATEGORIES else "observation"


def named_shelf(note: Note, shelves: Sequence[Shelf]) -> Shelf | None:
    """The place that the note itself names: by the words before its first colon, or by a tag that is a heading.

    "The purpose: ..." goes to "Purpose", "Current focus: ..." to "Current focus". What waits for somebody (a todo, a
    question, an issue) has its own place. A tag moves only what would float to its subject anyway: an observation, and
    a decision where the rules have no section for decisions.
    """
    if note.category in OPEN_KINDS:
        return None
    fitting = [shelf for shelf in shelves if shelf.leaf and note.day.startswith(shelf.day)]
    opening = label_stems(note.content)
    for shelf in fitting:
        heading = word_stems(shelf.leaf.text) if shelf.leaf else ()
        if heading and opening[: len(heading)] == heading:
            return shelf
    if note.category not in _FLOATING or any(
        "decision" in shelf.named for shelf in fitting if note.category == "decision"
    ):
        return None
    tags = {word_stems(tag) for tag in note.tags}
    return next((shelf for shelf in fitting if shelf.leaf and word_stems(shelf.leaf.text) in tags), None)


def choose_shelf(note: Note, category: str, shelves: Sequence[Shelf], rarity: Mapping[str, float]) -> Shelf:
    """The best place for a note filed as `category`; the first one in the order of the rules where several are equal.

    `rarity` weighs the shelves' words, as `word_rarity` gives it. Raises ValueError if there are no shelves.
    """
    text, tags = stems(note.content), stems(" ".join(note.tags))
    if _QUANTITY.search(note.content):
        text |= {stem("measured")}
    fitting = [shelf for shelf in shelves if note.day.startswith(shelf.day)] or list(shelves)
    about = topics.of_note(note.content) if category in _FLOATING else []
    if for_topic := [shelf for shelf in fitting if shelf.topic in about]:
        fitting = for_topic
    elif category == "decision":
        # Who asks for a section of decisions looks for them there.
        fitting = [shelf for shelf in fitting if category in shelf.named] or fitting

    def score(shelf: Shelf) -> float:
        overlap = math.fsum(
            weight * rarity[word] * (_TAG_FACTOR if word in tags else 1.0)
            for word, weight in shelf.words.items()
            if word in text or word in tags
        )
        return shelf.affinity[category] + min(overlap, _MAX_OVERLAP)

    return max(fitting, key=score)


def word_rarity(shelves: Sequence[Shelf]) -> dict[str, float]:
    """The weight (up to 1) of each word that describes shelves: the fewer shelves share it, the more it tells."""
    counts = Counter(word for shelf in shelves for word in shelf.words)
    return {word: math.log(1 + len(shelves) / count) / math.log(1 + len(shelves)) for word, count in counts.items()}


def _named(heading: str) -> frozenset[str]:
    return frozenset(category for category, value in affinities(heading).items() if value >= NAMED)


def _affinity(texts: Sequence[str], kinds: frozenset[str]) -> dict[str, float]:
    """How much a shelf draws each category, or keeps it off."""
    by_part = [affinities(text) for text in texts]
    named = {category for category, value in by_part[0].items() if value >= NAMED}
    totals = {}
    for category in (*CATEGORIES, CURRENT):
        total = sum(part[category] * weight for part, weight in zip(by_part, _FOR_CATEGORY, strict=True))
        ceiling = _FLOATING.get(category, total)
        total = min(total, ceiling) + _BEYOND * max(0.0, total - ceiling)
        if by_part[0][category] < (3 if "decision" in named else 2) and category not in kinds:
            keeps_off = kinds or "decision" in named
            total += _FOREIGN_OPEN if keeps_off else (_FOREIGN if named else 0.0)
        totals[category] = total
    if CURRENT in kinds:
        # "What is being done now": what is finished goes elsewhere.
        totals["progress"] = min(totals["progress"], 1.0)
    return totals


def _words(texts: Sequence[str]) -> dict[str, float]:
    words: dict[str, float] = {}
    for text, weight in zip(texts, _FOR_SUBJECT, strict=True):
        for word in stems(text):
            words[word] = max(words.get(word, 0.0), weight)
    return words
