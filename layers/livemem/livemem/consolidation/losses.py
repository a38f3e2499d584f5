"""Losses from one bank to the next, told without a model: lines that go without a reason, and details of notes that
stand nowhere. Pure, and linear in the size of bank and notes.

It prefers silence: a false alarm costs a call of the model, and the trust of the reader.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from livemem.consolidation import details
from livemem.consolidation.details import TextDetail
from livemem.markdown.blocks import split_lines
from livemem.text import language, text_tokens
from livemem.text.text_tokens import folded

RARE = 3
"""Lines of the bank that may hold a word which still tells one from all others."""
RARE_FOR_AN_END = 12
"""The same where a note says that something has ended: all lines about it may go."""
KEPT_SHARE = 0.5
"""Share of its words that a new line must have in common with one that went, to be its new form."""
SAME_SHARE = 0.9
"""The same for a line that stood there before: only a repetition of it."""
FOREIGN_LINES = 2
"""Lines that a note in another language may end: no word shows which."""
LOST_WEIGHT = 2
"""Weight of details (details.py) from which on their loss is told."""
TELLING_WORDS = 4
"""A note without details must have as many words to be missed."""
SHOWN = 100
"""Characters of a note without details that stands nowhere."""
MOST_WORDS = 2_000
"""Words of a line that are compared: more are a file on one line."""

_MARKS = re.compile(r"^[\s>]*(?:[-*+•]\s+|\d+[.)]\s+)?(?:\[[ xX]\]\s*)?")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:\s|$)")
_TRAILER = re.compile(r"\s*\([^()]{1,80}\)[\s.]*$")
"""The day and the author of a line in brackets at its end."""
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
_PASSING = re.compile(
    r"\b(?:pass(?:ed|es|ent|ing)?|green|succeed(?:ed|s)?|successful|merged|committed|rebased|verts?|vertes?"
    r"|r[eé]ussi\w*|fusionn\w+)\b",
    re.IGNORECASE,
)
"""A sentence about a run that went well, or a merge. Its numbers are passing."""
_SECRET = re.compile(
    r"\b(?:password|passphrase|passwd|secret|api[ -]?key|private key|access key|token|pin"
    r"|mots? de passe|cl[eé]s?|code d'acc[eè]s|jeton)\b",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|oublie\w*|ignore[rz]?)\b.{0,40}\b(?:instructions?|rules|prompt|r[eè]gles|consignes)\b",
    re.IGNORECASE | re.DOTALL,
)
"""A note that gives orders to the model: only that it does is kept."""
_ENDS = frozenset(
    map(
        text_tokens.root,
        """
        drop dropped remove removed delete deleted cancel cancelled canceled abandon abandoned retire retired gone
        replaced migrated obsolete discontinued closed abandonne abandonnee supprime supprimee supprimes retire retiree
        remplace remplacee annule annulee termine terminee fini ferme fermee
        """.split(),
    )
)
_ALL = frozenset("all every everything each both none nobody tous toutes tout toute aucun aucune".split())


@dataclass(frozen=True)
class Line:
    """A line of a bank file, with the words of the headings above it."""

    path: str
    text: str
    headings: frozenset[str] = frozenset()


@dataclass(frozen=True)
class LostDetails:
    """A note whose details stand nowhere in the new bank: `words`, as the note writes them, or its beginning if it has
    none.
    """

    note: int
    words: tuple[str, ...]


def lines_of(files: Mapping[str, str]) -> list[Line]:
    """The lines of files that say something, without headings, rules of tables and fences."""
    found: list[Line] = []
    for path, text in files.items():
        heading: frozenset[str] = frozenset()
        fenced = False
        for line in split_lines(text):
            bare = line.strip()
            fenced ^= bare.startswith(("```", "~~~"))
            if _HEADING.match(line) and not fenced:
                heading = words_of(bare)
            elif any(map(str.isalnum, bare)):
                found.append(Line(path, bare, heading))
    return found


def plain(line: str) -> str:
    """A line as it is compared: without its list mark, emphasis, case and blanks."""
    return " ".join(_MARKS.sub("", line).replace("*", "").replace("`", "").split()).casefold().rstrip(".")


@lru_cache(maxsize=8_192)
def words_of(text: str) -> frozenset[str]:
    """The words of a text that say something, without case."""
    tokens = text_tokens.read(text).telling
    return frozenset(folded(token.root) for token in tokens[:MOST_WORDS])


def lost_lines(before: Mapping[str, str], after: Mapping[str, str], notes: Sequence[str]) -> list[Line]:
    """The lines of the bank before that the bank after lacks, without a reason that shows.

    A line is not lost if it stands elsewhere now, if a new line says most of it, or if a note shares a rare word with
    it. `notes` are the texts of the notes that the change rests on.
    """
    former, present = lines_of(before), lines_of(after)
    standing = {plain(line.text) for line in present}
    gone = [line for line in former if plain(line.text) not in standing]
    if not gone:
        return []
    stood = {plain(line.text) for line in former}
    # Two lines in a row: a paragraph may be wrapped otherwise now.
    fresh = _Index.of(_windows([line for line in present if plain(line.text) not in stood]))
    old = _Index.of([line.text for line in present if plain(line.text) in stood])
    reasons = _Reasons.of(notes, former)
    translated = {path for path, text in before.items() if language.differ(text, after.get(path, ""))}
    return [
        line
        for line in gone
        if len(words_of(line.text)) > 1
        and not _has_new_form(line, fresh, old, is_translated=line.path in translated)
        and not reasons.explain(line)
    ]


def _windows(lines: Sequence[Line]) -> list[str]:
    return [" ".join(line.text for line in lines[at : at + 2]) for at in range(len(lines))]


@dataclass
class _Index:
    """Texts by their words, to find the one that has most in common with another."""

    texts: list[frozenset[str]] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)

    MOST_PLACES = 200
    """Texts with one word that are looked at: a word in more of them tells nothing."""

    @classmethod
    def of(cls, texts: Sequence[str]) -> "_Index":
        index = cls()
        for place, text in enumerate(texts):
            words = words_of(text)
            index.texts.append(words)
            for word in words:
                index.places.setdefault(word, []).append(place)
        return index

    def best(self, words: frozenset[str]) -> frozenset[str]:
        """The words in common with the text that has most of them."""
        common: Counter[int] = Counter()
        for word in words:
            places = self.places.get(word, ())
            common.update(places if len(places) <= self.MOST_PLACES else ())
        return words & self.texts[common.most_common(1)[0][0]] if common else frozenset()


def _has_new_form(line: Line, fresh: _Index, old: _Index, *, is_translated: bool) -> bool:
    """Whether a line says what the lost one says: most of its words, and of its details."""
    # The day and the author in brackets are no part of what it says.
    text = _TRAILER.sub("", line.text) or line.text
    words = words_of(text)
    own = {word for word in words if not any(map(str.isdigit, word))}
    for index, share in ((fresh, KEPT_SHARE), (old, SAME_SHARE)):
        kept = index.best(words)
        telling = words - own
        if telling and 2 * len(kept & telling) < len(telling) and not (own and len(kept & own) >= 0.8 * len(own)):
            continue
        if len(kept) >= share * len(words):
            return True
    if is_translated:
        kept = fresh.best(words)
        return bool(kept) or not (words - own)
    return False


@dataclass
class _Reasons:
    """What the notes say, to explain lines that went."""

    words: frozenset[str]
    count: Mapping[str, int]
    rare: int
    headings: frozenset[str]
    foreign: int

    @classmethod
    def of(cls, notes: Sequence[str], former: Sequence[Line]) -> "_Reasons":
        count: Counter[str] = Counter()
        for line in former:
            count.update(words_of(line.text))
        said = [words_of(note) for note in notes]
        words: frozenset[str] = frozenset().union(*said)
        everything = (found for note, found in zip(notes, said, strict=True) if _ALL & set(folded(note).split()))
        spoken = language.told("\n".join(line.text for line in former))
        foreign = sum(language.told(note, least=2) not in (None, spoken) for note in notes) if spoken else 0
        ends = bool(words & _ENDS)
        return cls(
            words, count, RARE_FOR_AN_END if ends else RARE, frozenset().union(*everything), foreign * FOREIGN_LINES
        )

    def explain(self, line: Line) -> bool:
        """Whether a note shares a rare word with the line, or says of its section that all has changed."""
        if any(self.count[word] <= self.rare for word in words_of(line.text) & self.words):
            return True
        if line.headings & self.headings:
            return True
        self.foreign -= 1
        return self.foreign >= 0


def lost_details(before: Mapping[str, str], after: Mapping[str, str], notes: Mapping[int, str]) -> list[LostDetails]:
    """The notes of whose details none came into the bank. `notes` are the texts of the cited ones by their numbers,
    which are in the order of time: a later one may make an earlier one out of date.
    """
    stood = {plain(line.text) for line in lines_of(before)}
    present = lines_of(after)
    standing = {plain(line.text) for line in present}
    fresh = [line.text for line in present if plain(line.text) not in stood]
    gone = [line.text for line in lines_of(before) if plain(line.text) not in standing]
    held = details.held_by([*fresh, *gone])
    words = frozenset().union(*(words_of(text) for text in (*fresh, *gone)))
    known = _Known.of([line.text for line in present if plain(line.text) in stood])
    spoken = language.told("\n".join(line.text for line in present))
    found = []
    for number, text in notes.items():
        missing = _missing(text, held, known, words, spoken)
        if missing and not _is_outdated(text, (other for at, other in notes.items() if at > number)):
            found.append(LostDetails(number, missing))
    return found


@dataclass
class _Known:
    """What the lines of the bank say that did not change."""

    index: _Index
    forms: set[str]

    @classmethod
    def of(cls, lines: Sequence[str]) -> "_Known":
        return cls(_Index.of(lines), details.held_by(lines))

    def says(self, detail: TextDetail, words: frozenset[str]) -> bool:
        """Whether the detail stands there: a number beside a word of its note, all else anywhere."""
        if not detail.is_held(self.forms):
            return False
        if detail.kind != "number":
            return True
        return any(form in self.index.places and self._beside(form, words) for form in detail.forms) or not any(
            form in self.index.places for form in detail.forms
        )

    def _beside(self, form: str, words: frozenset[str]) -> bool:
        places = self.index.places[form][: _Index.MOST_PLACES]
        return any(self.index.texts[place] & (words - {form}) for place in places)


def _missing(text: str, held: set[str], known: _Known, words: frozenset[str], spoken: str | None) -> tuple[str, ...]:
    """The details of a note that stand nowhere; empty if one of them came into the bank, or if they weigh little."""
    if _ORDERS.search(text):
        return ()
    own = words_of(text)
    told = [detail for sentence in _SENTENCES.split(text) for detail in _details(sentence)]
    kept = [detail for detail in told if detail.is_held(held)]
    if any(detail.weight for detail in kept):
        return ()
    lost = [detail for detail in told if detail.weight and not known.says(detail, own)]
    if sum({detail.shown: detail.weight for detail in lost}.values()) >= LOST_WEIGHT:
        return tuple(dict.fromkeys(detail.shown for detail in lost))
    foreign = language.told(text, least=2)
    if len(own) < TELLING_WORDS or own & words or (foreign and foreign != spoken) or _PASSING.search(text):
        return ()
    # Two words in one line: the bank says something about it.
    return () if len(known.index.best(own)) > 1 else (" ".join(text[:SHOWN].split()),)


def _details(sentence: str) -> Iterable[TextDetail]:
    """The details of a sentence, none of one that only reports a run, and none of one with a secret."""
    if _PASSING.search(sentence) or _SECRET.search(sentence):
        return ()
    return details.read(sentence)


def _is_outdated(text: str, later: Iterator[str]) -> bool:
    """Whether a later note is about the same: it shares half of the words that are no details."""
    own = {word for word in words_of(text) if not any(map(str.isdigit, word))}
    return any(2 * len(own & words_of(other)) >= max(len(own), 2) for other in later) if own else False
