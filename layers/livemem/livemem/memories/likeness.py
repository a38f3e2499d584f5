"""How like two contents of memories are, by their text alone: what vectors can't tell, or are not there for.

Vectors say that two sentences speak of the same; they hardly see a digit, a name or a "not". So a pair that is near by
its vectors is looked at here as well: whether it only seems to be the same fact (`differs`), and whether the newer one
may stand in the place of the older one (`adds`). Without vectors, letters say how near two are (`lexical`).

All of it knows French and English words, and asks no dictionary: it guesses. Both guesses are made so that a mistake
leaves a fact twice rather than none.
"""

import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from livemem.memories.particulars import Token, read

_NOT_PLAIN = re.compile("(?=[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u209c\u2150-\u215e])")
"""Before digits that NFKC would put in a line with others: 10² is not 102, and 1½ not 11/2."""
_DRESS = str.maketrans({"’": "'", "ʼ": "'", "‐": "-", "‑": "-", "–": "-", "—": "-", "…": "."})
_BULLET = re.compile(r"(?:[-*•]\s+)+")
_END = " \t.,;:!\"'`«»“”()"
"""What stands around a text and says nothing. A question mark does: what is asked is not known."""
_BEGINNING = " \t\"'`«»“”("
"""Not a dot: `.env` is a name."""
_ACCENTS = re.compile("[\u0300-\u036f]+")
_WORD = re.compile(r"[^\W_]+")
GRAM = 3


@dataclass(frozen=True, slots=True)
class Grams:
    """A text prepared to be compared with many: its runs of three letters, word by word."""

    held: frozenset[str]


def normalised(text: str) -> str:
    """The form in which the same words in another dress are the same text: case, blanks, quotes and the full stop.

    Accents stay: in French they tell words apart.
    """
    plain = unicodedata.normalize("NFKC", _NOT_PLAIN.sub(" ", text)).translate(_DRESS).casefold()
    # Case folding takes some letters apart again.
    one_line = " ".join(unicodedata.normalize("NFKC", plain).split())
    # What is taken away on one side may uncover what says nothing on the other.
    while (shorter := _BULLET.sub("", one_line, count=1) if _BULLET.match(one_line) else one_line) != one_line or (
        shorter := one_line.lstrip(_BEGINNING).rstrip(_END)
    ) != one_line:
        one_line = shorter
    return one_line


def prepare(text: str) -> Grams:
    """The text as `like` compares it: some 20 microseconds for a sentence."""
    folded = _ACCENTS.sub("", unicodedata.normalize("NFD", normalised(text)))
    padded = " ".join(["", *_WORD.findall(folded), ""])
    # Most sentences share their runs: interned, 10,000 of them take 40 MB and not 90.
    return Grams(frozenset(sys.intern(padded[at : at + GRAM]) for at in range(len(padded) - GRAM + 1)))


def like(one: Grams, other: Grams) -> float:
    """From 0 to 1: twice the runs that both have, by all that they have (Dice)."""
    both = len(one.held) + len(other.held)
    return 2 * len(one.held & other.held) / both if both else 1.0


def lexical(one: str, other: str) -> float:
    """How like two texts are by their letters, from 0 to 1."""
    return like(prepare(one), prepare(other))


def adds(new: str, old: str) -> bool:
    """Whether the new content says what the old one does not, so that it must not be dropped as a vaguer restatement.

    It does with a number, date, name, identifier or address of its own, or if one of the two negates and the other does
    not. Where the old one has none of those for itself, any word of its own will do.
    """
    said, former = read(new), read(old)
    own = (said.details - former.details) | (said.openings - former.words)
    if own or said.negates != former.negates or said.asks != former.asks:
        return True
    return not former.details - said.details and bool(said.words - former.words)


def differs(new: str, old: str) -> bool:
    """Whether two contents that are near each other are of two things: another person, service, room.

    A new value of the same thing is none of that: it replaces the old one.
    """
    said = [token for token in read(new).tokens if not token.is_common]
    former = [token for token in read(old).tokens if not token.is_common]
    return any(_another_thing(swap) for swap in _swaps(said, former))


@dataclass(frozen=True)
class _Swap:
    """Words of the new text where the old one has others, between words that both have."""

    new: Sequence[Token]
    old: Sequence[Token]
    leads: bool
    """Nothing that says something stands before them in either."""
    ends: bool
    """And nothing behind them."""


def _swaps(new: Sequence[Token], old: Sequence[Token]) -> Iterator[_Swap]:
    roots = [token.root for token in new], [token.root for token in old]
    for kind, at, to, was_at, was_to in SequenceMatcher(None, *roots, autojunk=False).get_opcodes():
        if kind == "replace":
            leads = at == 0 and was_at == 0
            ends = to == len(new) and was_to == len(old)
            yield _Swap(new[at:to], old[was_at:was_to], leads, ends)


def _another_thing(swap: _Swap) -> bool:
    if swap.ends:
        # What stands last is what is said of the thing: its new value.
        return False
    if swap.leads and len(swap.new) == len(swap.old):
        return True
    return any(token.is_name for token in swap.new) and any(token.is_name for token in swap.old)
