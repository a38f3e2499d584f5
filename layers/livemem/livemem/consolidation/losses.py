"""Losses from one bank to the next, told without a model: lines that go without a reason, and details of notes that
stand nowhere. Pure, and linear in the size of bank and notes.

It prefers silence: a false alarm costs a call of the model, and the trust of the reader.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

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
OWN_SHARE = 0.8
"""Share of the words without digits that makes up for details: a done todo loses its day."""
SAME_SHARE = 0.9
"""The same for a line that stood there before: only a repetition of it."""
ABOUT_SHARE = 0.2
"""Share of its words, or of the note's, that a line must have in common with the note that explains its end."""
SHORT_NOTE = 20
"""Words up to which a note can be about one thing alone."""
CAME_SHARE = 1.0
"""Weight of the details that came into the bank, to that of those which did not, below which a note counts as lost. 1
had no false alarm in nine folds with 169 notes, 2 had three."""
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
_ENDED = re.compile(
    r"\b(?:drop(?:s|ped)?|remov\w+|delet\w+|cancel\w*|abandon\w*|retire[ds]?|gone|replaced|migrated|obsolete|closed?"
    r"|fixed|solved|resolved|done|finished|answered|settled|no longer|not any more|stop(?:s|ped)?"
    r"|supprim\w+|retir\w+|remplac\w+|annul\w+|termin\w+|fini\w*|ferm[eé]\w*|r[eé]solu\w*|corrig[eé]\w*|fait\w*"
    r"|r[eé]gl[eé]\w*|chang[eé]\w*|renouvel[eé]\w*|r[eé]par[eé]\w*)\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:take (?:it|that|this) back|after all|instead|never ?mind|wrong|correction"
    r"|finalement|plut[oô]t|en fait|erreur)\b",
    re.IGNORECASE,
)
"""A note that corrects an earlier one."""
_PRESENT_STATE = frozenset(map(text_tokens.root, "focus status etat cours".split()))
"""Words of the headings below which stands what is under way: a new state takes the place of the former one."""
_DATED = re.compile(r"[-*+\s\[(]*(\d{4}-\d\d-\d\d)")
_ALL = frozenset("all every everything both none tous toutes tout".split())


@dataclass(frozen=True)
class BankLine:
    """A line of a bank file, with the words of the headings above it."""

    path: str
    text: str
    headings: frozenset[str] = frozenset()

    @cached_property
    def plain(self) -> str:
        """The line as it is compared."""
        return plain(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words that say something."""
        return words_of(self.text)

    @cached_property
    def terms(self) -> set[str]:
        """All that it says: words, and details in all their forms."""
        return details.held_by([self.text]) | self.words


@dataclass(frozen=True)
class LostDetails:
    """A note whose details stand nowhere in the new bank: `words`, as the note writes them, or its beginning if it has
    none.
    """

    note: int
    words: tuple[str, ...]


def lines_of(files: Mapping[str, str]) -> list[BankLine]:
    """The lines of files that say something, without headings, rules of tables and fences."""
    result: list[BankLine] = []
    for path, text in files.items():
        heading: frozenset[str] = frozenset()
        fenced = False
        for line in split_lines(text):
            bare = line.strip()
            fenced ^= bare.startswith(("```", "~~~"))
            if _HEADING.match(line) and not fenced:
                heading = words_of(bare)
            elif any(map(str.isalnum, bare)):
                result.append(BankLine(path, bare, heading))
    return result


def plain(line: str) -> str:
    """A line as it is compared: without its list mark, emphasis, case and blanks."""
    return " ".join(_MARKS.sub("", line).replace("*", "").replace("`", "").split()).casefold().rstrip(".")


def words_of(text: str) -> frozenset[str]:
    """The words of a text that say something, without case."""
    tokens = text_tokens.read(text).telling
    return frozenset(folded(token.root) for token in tokens[:MOST_WORDS])


@dataclass
class BankChange:
    """The files of a bank by path, before and after. Several checks look at it: each line is read once."""

    before: Mapping[str, str]
    after: Mapping[str, str]

    def __post_init__(self) -> None:
        self.former = lines_of(self.before)
        read = {line: line for line in self.former}
        self.present = [read.get(line, line) for line in lines_of(self.after)]
        stood, stands = ({line.plain for line in lines} for lines in (self.former, self.present))
        self.gone = [line for line in self.former if line.plain not in stands]
        self.new = [line for line in self.present if line.plain not in stood]
        self.unchanged = [line for line in self.present if line.plain in stood]

    @cached_property
    def ended(self) -> list[BankLine]:
        """The lines that went and have no new form."""
        return [line for line in self.gone if not self._has_new_form(line)]

    @cached_property
    def rest(self) -> "_Said":
        return _Said.of(self.unchanged)

    def _has_new_form(self, line: BankLine) -> bool:
        """Whether a line says what one that went says: most of its words, and of its details."""
        # The day and the author in brackets are no part of what it says.
        words = words_of(_TRAILER.sub("", line.text) or line.text)
        own = {word for word in words if not any(map(str.isdigit, word))}
        details_of_it = words - own
        for index, share in ((self._new_index, KEPT_SHARE), (self._kept_index, SAME_SHARE)):
            match = index.best(words)
            says_details = 2 * len(match & details_of_it) >= len(details_of_it)
            if len(match) >= share * len(words) and (
                says_details or (own and len(match & own) >= OWN_SHARE * len(own))
            ):
                return True
        return False

    def is_succeeded(self, line: BankLine) -> bool:
        """Whether a line of the present state, or of a list of dated entries, made room for a newer one."""
        newer = [other for other in self.new if (other.path, other.headings) == (line.path, line.headings)]
        if line.headings & _PRESENT_STATE:
            return bool(newer)
        day = _DATED.match(line.text)
        days = [match[1] for other in newer if (match := _DATED.match(other.text))]
        return day is not None and max(days, default="") > day[1]

    @cached_property
    def _new_index(self) -> "_Index":
        # Two lines in a row: a paragraph may be wrapped otherwise now.
        pairs = (" ".join(line.text for line in self.new[at : at + 2]) for at in range(len(self.new)))
        return _Index.of(map(words_of, pairs))

    @cached_property
    def _kept_index(self) -> "_Index":
        return _Index.of(line.words for line in self.unchanged)


def lost_lines(change: BankChange, notes: Sequence[str]) -> list[BankLine]:
    """The lines of the bank before that the bank after lacks, without a reason that shows.

    A line is not lost if it stands elsewhere now, if a new line says most of it, or if a note is about it.
    `notes` are the texts of the notes that the change rests on.
    """
    if not change.gone:
        return []
    reasons = _Reasons.of(notes, change.former)
    translated = {path for path, text in change.before.items() if _is_translated(text, change.after.get(path, ""))}
    return [
        line
        for line in change.ended
        if len(line.words) > 1
        and line.path not in translated
        and not change.is_succeeded(line)
        and not reasons.explain(line)
    ]


def _is_translated(before: str, after: str) -> bool:
    """Whether a file is in another language now, and not much shorter. Then no word tells its lines."""
    return language.differ(before, after) and 3 * len(after.splitlines()) >= 2 * len(before.splitlines())


@dataclass
class _Index:
    """Texts by their words, to find the one that has most in common with another."""

    texts: list[frozenset[str]] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)

    MOST_PLACES = 200
    """Texts with one word that are looked at: a word in more of them tells nothing."""

    @classmethod
    def of(cls, texts: Iterable[frozenset[str]]) -> "_Index":
        index = cls()
        for place, words in enumerate(texts):
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


@dataclass
class _Reasons:
    """What the notes say, to explain lines that went."""

    index: "_Index"
    count: Mapping[str, int]
    ends: list[bool]
    """Whether a note says that something has ended."""
    headings: frozenset[str]
    foreign: int
    """Lines that notes in another language may still end: no word shows which."""

    @classmethod
    def of(cls, notes: Sequence[str], former: Sequence[BankLine]) -> "_Reasons":
        count: Counter[str] = Counter()
        for line in former:
            count.update(line.words)
        note_words = [words_of(note) for note in notes]
        everything = (
            words
            for note, words in zip(notes, note_words, strict=True)
            if len(words) <= SHORT_NOTE and _ALL & set(folded(note).split())
        )
        spoken = language.detect("\n".join(line.text for line in former))
        ends = [bool(_ENDED.search(note)) for note in notes]
        foreign = [
            ended and len(words) <= SHORT_NOTE and language.detect(note, least=2) not in (None, spoken)
            for note, words, ended in zip(notes, note_words, ends, strict=True)
        ]
        return cls(_Index.of(note_words), count, ends, frozenset().union(*everything), sum(foreign) if spoken else 0)

    def explain(self, line: BankLine) -> bool:
        """Whether a note is about the line, or says of its section that all has changed."""
        common: dict[int, set[str]] = {}
        for word in line.words:
            for note in self.index.places.get(word, ()):
                common.setdefault(note, set()).add(word)
        if any(self._is_about(note, line, shared) for note, shared in common.items()):
            return True
        if line.headings & self.headings:
            return True
        self.foreign -= 1
        return self.foreign >= 0

    def _is_about(self, note: int, line: BankLine, shared: set[str]) -> bool:
        rare = {word for word in shared if self.count[word] <= (RARE_FOR_AN_END if self.ends[note] else RARE)}
        if any(any(map(str.isdigit, word)) and len(word) > 2 for word in rare):
            return True
        return bool(rare) and len(shared) >= ABOUT_SHARE * min(len(line.words), len(self.index.texts[note]))


def lost_details(change: BankChange, notes: Mapping[int, str]) -> list[LostDetails]:
    """The notes of whose details fewer came into the bank than stand nowhere.

    `notes` are the texts of the cited ones by their numbers, which are in the order of time: a later one may make an
    earlier one out of date.
    """
    fresh, ended = map(_Said.of, (change.new, change.ended))
    spoken = language.detect("\n".join(line.text for line in change.present))
    losses = []
    for number, text in notes.items():
        missing = _missing(text, change, fresh, ended, spoken)
        # A note that ended a line has done its work.
        if missing and ended.most(words_of(text)) < 2:
            later = (other for at, other in notes.items() if at > number)
            losses += [] if _is_outdated(text, later) else [LostDetails(number, missing)]
    return losses


@dataclass
class _Said:
    """Lines by all that they say: words, and details in all their forms."""

    texts: list[set[str]] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Sequence[BankLine]) -> "_Said":
        statement = cls()
        for place, line in enumerate(lines):
            statement.texts.append(line.terms)
            for term in line.terms:
                statement.places.setdefault(term, []).append(place)
        return statement

    def says(self, detail: TextDetail, terms: set[str]) -> bool:
        """Whether a line has the detail, and another one of the terms of its note beside it."""
        context = terms - detail.forms
        return any(not context or self.texts[place] & context for place in self._lines_with(detail))

    def names(self, detail: TextDetail) -> bool:
        """Whether a line has the detail."""
        return any(True for _ in self._lines_with(detail))

    def _lines_with(self, detail: TextDetail) -> Iterator[int]:
        for form in detail.forms:
            for part in (form, form.rpartition("/")[2]):
                for place in self.places.get(part, ())[: _Index.MOST_PLACES]:
                    if detail.is_held(self.texts[place]):
                        yield place

    def most(self, words: frozenset[str]) -> int:
        """The most of the words that one line has."""
        common: Counter[int] = Counter()
        for word in words:
            common.update(self.places.get(word, ())[: _Index.MOST_PLACES])
        return max(common.values(), default=0)


def _missing(text: str, change: BankChange, fresh: _Said, ended: _Said, spoken: str | None) -> tuple[str, ...]:
    """The details of a note that stand nowhere; empty if as many came into the bank, or if they weigh little."""
    if _ORDERS.search(text):
        return ()
    own = words_of(text)
    by_text = {detail.text: detail for sentence in _SENTENCES.split(text) for detail in _details(sentence)}
    heavy = [detail for detail in by_text.values() if detail.weight]
    foreign = language.detect(text, least=2) not in (None, spoken)
    terms = {*own, *(form for detail in heavy for form in detail.forms)}
    came = [item for item in heavy if (fresh.names(item) if foreign else fresh.says(item, terms)) or ended.names(item)]
    lost = [
        item
        for item in heavy
        if item not in came
        and not (change.rest.says(item, terms) if item.kind == "number" else change.rest.names(item))
    ]
    weight = sum(detail.weight for detail in lost)
    if weight >= LOST_WEIGHT and sum(detail.weight for detail in came) < CAME_SHARE * weight:
        return tuple(detail.text for detail in lost)
    if came or foreign or len(own) < TELLING_WORDS or _PASSING.search(text) or fresh.most(own):
        return ()
    # Two words in one line: the bank says something about it.
    return () if change.rest.most(own) > 1 else (" ".join(text[:SHOWN].split()),)


def _details(sentence: str) -> Iterable[TextDetail]:
    """The details of a sentence, none of one that only reports a run, and none of one with a secret."""
    if _PASSING.search(sentence) or _SECRET.search(sentence):
        return ()
    return details.read(sentence)


def _is_outdated(text: str, later: Iterable[str]) -> bool:
    """Whether a later note is about the same: it shares half of the words that are no details, or takes it back."""
    own = {word for word in words_of(text) if not any(map(str.isdigit, word))}
    for other in later:
        shared = len(own & words_of(other))
        if shared and (shared >= max(len(own) / 2, 1) or _TAKEN_BACK.search(other)):
            return True
    return False
