"""How similar two contents of memories are, by their text alone, for cases that vectors miss or have no part in.

Vectors show that two sentences are about the same subject. They hardly see a digit, a name or a "not". So a pair that
is near by its vectors is checked here as well: whether it only seems to be the same fact (`differs`), and whether the
newer one may replace the older one (`adds`). Without vectors, letters measure how near two are (`lexical`).

The code knows French and English words and has no dictionary, so it guesses. A mistake of either guess leaves a fact
twice rather than none.
"""

import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from livemem.text.text_tokens import TextToken, is_common, read

_NOT_PLAIN = re.compile("(?=[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u209c\u2150-\u215e])")
"""Before digits that NFKC would put in a line with others: 10² is not 102, and 1½ not 11/2."""
_DRESS = str.maketrans({"’": "'", "ʼ": "'", "‐": "-", "‑": "-", "–": "-", "—": "-", "…": "."})
_BULLET = re.compile(r"(?:[-*•](?:\s+|\Z))+")
_END = " \t.,;:!\"'`«»“”()"
"""Characters around a text that mean nothing. A question mark is none of them: a question states no fact."""
_BEGINNING = " \t\"'`«»“”("
"""Not a dot: `.env` is a name."""
_ACCENTS = re.compile("[\u0300-\u036f]+")
_WORD = re.compile(r"[^\W_]+")
GRAM = 3
MOST = 0.5
"""Share of common words from which on two texts count as built alike."""
SHORT = 2
"""A text of at most so many words that say something is too short to be recognised by one of them."""
MOST_WORDS = 200
"""Of each text that are compared: a repeated word takes the square of their number in time."""
SAME = 0.5
"""Similarity by letters from which on two statements may be about the same."""
_INSTEAD = re.compile(
    r"\b(?:instead of|rather than|in place of|no longer|replac(?:es|ed|ing)|au lieu (?:de|du|des|d')|plutôt que"
    r"|à la place (?:de|du|des|d')|remplace(?:nt)?)(?=\W)",
    re.IGNORECASE,
)
"""By which a statement says what does not hold any more, right behind it."""
STATEMENT = 500
"""Characters of a statement. A longer text makes several."""
REJECTED = 3
"""Words behind it that may name that."""
_read = lru_cache(maxsize=64)(read)  # One text is compared with many.
_IS = frozenset("is are was were est sont etait etaient sera will".split())


@dataclass(frozen=True, slots=True)
class Grams:
    """A text prepared to be compared with many: the runs of three letters of the words that say something."""

    runs: frozenset[str]


def normalised(text: str) -> str:
    """The form in which texts with the same words are equal: without differences in case, blanks, quotes and the full
    stop.

    Accents stay, because in French they distinguish words.
    """
    # Case folding takes some letters apart again.
    one_line = " ".join(unicodedata.normalize("NFKC", dressed(text).casefold()).split())
    # Stripping one side may expose further characters to strip on the other.
    while (shorter := _BULLET.sub("", one_line, count=1) if _BULLET.match(one_line) else one_line) != one_line or (
        shorter := one_line.lstrip(_BEGINNING).rstrip(_END)
    ) != one_line:
        one_line = shorter
    return one_line


def dressed(text: str) -> str:
    """The text with one form for each letter, quote and dash; its case stays."""
    return unicodedata.normalize("NFKC", _NOT_PLAIN.sub(" ", text)).translate(_DRESS)


def prepare(text: str) -> Grams:
    """The text as `like` compares it: some 30 microseconds for a sentence."""
    folded = _ACCENTS.sub("", unicodedata.normalize("NFD", normalised(text)))
    words = _WORD.findall(folded)
    # "The port of the API is" and "API port:" are nearer than their articles.
    telling = [word for word in words if not is_common(word)] or words
    padded = f" {' '.join(telling)} "
    # Most sentences share their runs, which are kept once.
    return Grams(frozenset(sys.intern(padded[at : at + GRAM]) for at in range(len(padded) - GRAM + 1)))


def like(text_grams: Grams, other: Grams) -> float:
    """From 0 to 1: twice the number of common runs, divided by the number of all runs (Dice)."""
    total = len(text_grams.runs) + len(other.runs)
    return 2 * len(text_grams.runs & other.runs) / total if total else 1.0


def lexical(text: str, other: str) -> float:
    """How similar two texts are by their letters, from 0 to 1."""
    return like(prepare(text), prepare(other))


def adds(new: str, old: str) -> bool:
    """Whether the new content says more than the old one, so that it must not be dropped as a vaguer restatement.

    It does with a number, date, name, identifier or address of its own, or if one of the two negates and the other does
    not. If the old one has none of those for itself, any word of its own suffices.
    """
    current, former = _read(new), _read(old)
    own = (current.details - former.details) | (current.openings - former.words)
    if own or current.negates != former.negates or current.asks != former.asks:
        return True
    return not former.details - current.details and bool(current.words - former.words)


def differs(new: str, old: str) -> bool:
    """Whether two contents that are near each other are about two things: another person, service, room.

    A new value of the same thing is no such difference: it replaces the old one. A difference in quite different words,
    or in two languages, is not detected here.
    """
    current, former = _read(new), _read(old)
    # Which of them is looked at first must not decide.
    first, other = sorted((current.telling, former.telling), key=lambda tokens: [token.root for token in tokens])
    is_stated = any(token.root in _IS for token in [*current.tokens, *former.tokens])
    if not is_stated and _are_too_short(first, other):
        return True
    swaps = _swaps(first[:MOST_WORDS], other[:MOST_WORDS])
    # A thing that one of them denies is no second thing, unless another one is named.
    alike = current.negates == former.negates
    return any(swap.names_another() or (alike and swap.is_of_another_thing(is_stated=is_stated)) for swap in swaps)


def contradicts(new: str, old: str) -> bool:
    """Whether a newer statement may be against an older one: it names what it takes the place of, or gives another
    value of the same thing. Words alone tell it, so the answer is a guess.
    """
    if max(len(new), len(old)) > STATEMENT or normalised(new) == normalised(old):
        return False
    former, plain = _read(old).words, dressed(new)
    for told in _INSTEAD.finditer(plain):
        rejected = {token.root for token in _read(plain[told.end() :]).telling[:REJECTED]}
        if rejected & former and len(_read(new).words & former) >= SHORT:
            return True
    return lexical(new, old) >= SAME and adds(new, old) and adds(old, new) and not differs(new, old)


def _are_too_short(first: Sequence[TextToken], other: Sequence[TextToken]) -> bool:
    """Whether they are too short to compare: of two words ("ship 3", "ship 4") one alone is in both."""
    is_short = min(len(first), len(other)) <= SHORT and _letters(first) != _letters(other)
    return is_short and len({token.root for token in first} & {token.root for token in other}) < SHORT


@dataclass(frozen=True)
class _Swap:
    """Words of one text in whose place the other text has different words."""

    one: Sequence[TextToken]
    other: Sequence[TextToken]
    leads: bool
    """No word that says something stands before them in either text."""
    ends: bool
    """No word that says something stands behind them in either text."""
    is_all: bool
    """The texts say the same but for that, and have most words in common."""

    def names_another(self) -> bool:
        """Whether another thing is named, and not as the value at the end."""
        if self.ends:
            return False
        if self._both(lambda token: token.is_name or token.is_label):
            return True
        return self.leads and self.is_all and self._both(lambda token: token.opens)

    def is_of_another_thing(self, *, is_stated: bool) -> bool:
        """Whether the words name the subject of the text, and not a statement about it.

        `is_stated`: the text says what something *is*. Then the words at its end are the value, and not one of several.
        """
        if self.ends:
            return self.is_all and not is_stated and not self._any(lambda token: token.is_detail)
        if self.leads and len(self.one) == len(self.other):
            return True
        return self.is_all and not self._any(lambda token: token.is_number)

    def _any(self, holds: Callable[[TextToken], bool]) -> bool:
        return any(holds(token) for token in [*self.one, *self.other])

    def _both(self, holds: Callable[[TextToken], bool]) -> bool:
        return any(map(holds, self.one)) and any(map(holds, self.other))


def _swaps(first: Sequence[TextToken], other: Sequence[TextToken]) -> list[_Swap]:
    matcher = SequenceMatcher(None, [token.root for token in first], [token.root for token in other], autojunk=False)
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    is_all = len(changes) == 1 and matcher.ratio() >= MOST
    return [
        _Swap(
            one=first[at:to],
            other=other[its:end],
            leads=at == its == 0,
            ends=to == len(first) and end == len(other),
            is_all=is_all,
        )
        for kind, at, to, its, end in changes
        # `front end` is `frontend`.
        if kind == "replace" and _letters(first[at:to]) != _letters(other[its:end])
    ]


def _letters(tokens: Sequence[TextToken]) -> str:
    return "".join(token.root for token in tokens)
