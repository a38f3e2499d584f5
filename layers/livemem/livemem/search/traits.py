"""What a text is like, independent of any question. The ranking uses it for each document."""

import re
from dataclasses import dataclass
from functools import lru_cache

from livemem.search import words
from livemem.search.sought import CONSENT, NAME, NUMBER, TIME

_FIRST_PERSON = frozenset("i me my mine myself je j moi mon ma mes m".split())
_TIMES = """
yesterday today tomorrow tonight week weekend month year ago last next recently since january february march april june
july august september october november december monday tuesday wednesday thursday friday saturday sunday
hier demain semaine mois année an ans prochain dernier récemment depuis janvier février mars avril juin juillet août
septembre octobre novembre décembre lundi mardi mercredi jeudi vendredi samedi dimanche
"""
_NUMBERS = """
two three four five six seven eight nine ten eleven twelve dozen hundred thousand million couple twice once half
deux trois quatre cinq six sept huit neuf dix onze douze douzaine cent mille million demi moitié
"""
_NAME = re.compile(r"(?:(?<=[^\W_] )|(?<=[^\W_][,;] )|(?<=[a-zà-ÿ]['’]))[\"“«(]?([A-ZÀ-ÖØ-Þ][^\W\d_]+)")
"""A word with a capital letter behind another word, so not at the beginning of a sentence."""
_CONSENT = re.compile(r"^\W*(?:yes|no|oui|non)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Traits:
    """The traits of a text."""

    asks: bool
    """It holds a question mark."""
    tells: bool
    """Its speaker speaks of themselves: I, my; je, mon."""
    holds: int
    """The kinds of answers that it holds, as bits (search/sought.py): a word of time, a number, a name, a yes or no
    at the beginning.
    """


def traits(text: str) -> Traits:
    """The traits of a text."""
    ids = set(words.terms(text))
    holds = TIME * (not _terms_of(_TIMES).isdisjoint(ids))
    holds |= NUMBER * (not _terms_of(_NUMBERS).isdisjoint(ids) or any(map(str.isdigit, text)))
    holds |= NAME * bool(_NAME.search(text)) | CONSENT * bool(_CONSENT.match(text))
    # Unlike the others these are terms as they stand: the stem of "mine" is that of other words.
    return Traits(any(mark in text for mark in "?？؟"), not _FIRST_PERSON.isdisjoint(ids), holds)


@lru_cache(maxsize=2)
def _terms_of(entries: str) -> frozenset[str]:
    return frozenset(words.terms(entries))
