"""Which of many statements answer a question: judged by rare words, names, and closeness well above the usual one, and
by the distance to the best statement. Pure functions.

A memory is such a statement. It stands alone, so a reader wants those that answer, and not the ten that come first.
The weight of a piece of evidence depends on the space. A word that every statement holds says nothing. Nor does a
cosine that the nearest of so many statements reaches by chance. docs/recall.md measures it.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from livemem.search import words
from livemem.search.sought import asks_fact, asks_past, questions

ENOUGH = 1.5
"""Evidence that is enough, in rare words: one rare word is chance, two are not. A rare name is enough."""
NAME = 0.5
"""The weight of a name beyond that of another word that is as rare."""
ENOUGH_SHARE, SHARE_OF_FEW = 0.5, 0.3
"""Words that weigh more than this share of the whole question are enough too, because a short question has no more.
The second one is for few statements, among which no word is rare.
"""
LIKELY = 0.35
"""The cosine from which a text is relevant although it shares no word: it may be in another language. Below it the
offline model finds many texts about other subjects (benchmarks/contexts.py).
"""
LIKELY_ACROSS = 0.24
"""The same in a search for a text in another language than the question, with which it shares few words if any. Of 512
French questions that no English text answers 79 % find nothing, 90 % without this (docs/recall.md).
"""
STRAY = 0.1
"""The cosine below which shared words are chance in a search: in a small space the one right text may be only a little
nearer than others.
"""
NEAR, NEAREST, CLOSE = 2.5, 2.0, 1.5
"""Closeness in rare words: the first for each time by which it exceeds that of chance, at most the second. The third is
enough without a shared word.
"""
FEW = 8
"""Among fewer statements than these it is not known which words are rare and which closeness is usual."""
HALF, PART = 0.5, 0.75
"""Shares of a better statement's evidence that another one needs if both hold the same word of the question. The second
one is for a statement whose words are only a part of the better one's: that one answers the same, and more.
"""
FORMER = 0.4
"""Share of its evidence that is left to a statement of what held before: less than HALF, so that one with the same
words that holds now displaces it.
"""
FACT, FACT_BY_WORDS = 0.8, 0.4
"""What a statement needs for a fact that is asked for: the share of the question's words, by their rarity, that it
holds, plus its cosine; the share alone where there is none. The subject alone is about a half of that.
"""
CLEAR_WORDS, CLEAR, CLEAR_SHARE = 1.7, 2.2, 0.6
"""What a text needs to be shown to somebody who did not ask: two words of a prompt that are this rare together, or a
word and closeness. With vectors it must always be nearer than by chance. The last one is the share of the best text's
evidence. Measured by benchmarks/day.py.
"""
LEAST_CLEAR = 3
"""Words of a prompt that say something, below which nothing is clear."""
MOST_TERMS = 64
"""Of a question that count: a pasted log is a question too."""
MOST_JUDGED, MOST_RIVALS = 400, 200
"""Of the statements that are judged, by their words and closeness, and of those with enough evidence that are compared
with each other: all others have less.
"""
LEAST_SPELLED = 5
"""Characters of a word that is recognised with another letter. A doubled letter may lack in a shorter one."""

_NAME = re.compile(r"(?<![\w'’])[A-ZÀ-ÖØ-Þ]\w+")
_DOUBLED = re.compile(r"(.)\1")
_INVERSION = re.compile(r"-(?:t-)?(?:ils?|elles?|on|je|tu|nous|vous|ce|moi|y|en)\b", re.IGNORECASE)
"""In French questions: "garde-t-on" asks for what is kept."""
_ASKING = """
know known remember remembered recall think concern concerns use using sais sait savoir savons connais connaît rappelle
souviens concerne concernant utilise utilisons utiliser combien heure instead
"""
"""Words by which a memory is asked, and which statements do not repeat."""
_WHEN = re.compile(
    r"\b(?:how (?:long|often|late|soon)|(?:what|which) (?:day|date|time|week|month|year)"
    r"|quel(?:le)?s? (?:jour|date|semaine|mois|ann[ée]e)s?|combien de temps)\b",
    re.IGNORECASE,
)
"""By which a time is asked for: an answer gives it, and does not repeat the word."""
_CALENDAR = """
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
october november december mondays tuesdays wednesdays thursdays fridays saturdays sundays
"""
"""English words with a capital letter that are no names: they say when."""
_RECORD = re.compile(
    r"\bhistorical record\b|\bfor the record only\b|\bkept for history only\b"
    r"|\bpour mémoire seulement\b|\bà titre historique\b|\bgardée? pour l['’]historique\b",
    re.IGNORECASE,
)
"""By which a statement says of itself that it is history. That something else is obsolete is a fact that holds."""
_FORMER = re.compile(
    r"\b(?:previously|formerly|used to|replaced by|superseded by|no longer (?:holds|applies|valid|true|in use|used)"
    r"|auparavant|anciennement|autrefois|remplacée?s? par|n['’]est plus (?:valable|vrai|en usage|utilisée?))\b",
    re.IGNORECASE,
)
"""By which a statement tells of what held before."""


@dataclass(frozen=True)
class QuestionTerms:
    """The terms of a question that say something, in its order, and those of them that are names."""

    terms: tuple[str, ...]
    names: frozenset[str] = frozenset()
    past: bool = False
    """Whether it asks for what held before."""
    fact: bool = False
    """Whether it asks for one fact (sought.py), or for an identifier."""

    @classmethod
    def all_of(cls, text: str) -> "list[QuestionTerms]":
        """Those of a text, and of each of the questions that it joins in which a word says something."""
        whole, *parts = map(cls.of, questions(text))
        return [whole, *(part for part in parts if not _little().issuperset(part.terms))]

    @classmethod
    def of(cls, question: str) -> "QuestionTerms":
        """The terms of a question as a person asks it. If none of its words says something, all count."""
        text = _INVERSION.sub(" ", words.plain(question))
        said = _said(_WHEN.sub(" ", text)) or _said(text)
        terms = tuple([term for term in said if term not in _little()] or said)[:MOST_TERMS]
        # The first word has a capital letter anyway.
        capitals = [match[0] for match in _NAME.finditer(text) if match.start()]
        ids = {term for name in capitals if name.lower() not in _CALENDAR.split() for term in words.terms(name)}
        mostly_digits = 2 * sum(any(map(str.isdigit, term)) for term in terms) >= max(1, len(terms))
        fact = mostly_digits or asks_fact(text)
        return cls(terms, frozenset(ids.intersection(terms)), asks_past(text), fact)


def _said(text: str) -> list[str]:
    return [term for term in words.parse(text).words if any(map(str.isalnum, term))]


@lru_cache(maxsize=1)
def _little() -> frozenset[str]:
    unsaid = words.stop_terms() | words.asking_terms() | words.small_talk_terms()
    return unsaid | frozenset(words.terms(_ASKING))


@dataclass(frozen=True)
class Statement:
    """A text, its terms with those of its subjects, these alone, and its cosine with the question, None where there is
    none.
    """

    text: str
    terms: AbstractSet[str]
    subjects: AbstractSet[str] = frozenset()
    cosine: float | None = None


@dataclass(frozen=True)
class Baseline:
    """All statements of a space, compared with a question: their number, how many hold each of its terms, and the mean
    and the standard deviation of their cosines.
    """

    count: int
    holders: Mapping[str, int]
    mean: float = 0.0
    deviation: float = 0.0
    spelled: Mapping[str, str] = field(default_factory=dict)
    """For terms that no statement holds, the one that was probably meant."""

    @classmethod
    def of(
        cls, question: QuestionTerms, texts: Sequence[AbstractSet[str]], cosines: NDArray[np.float32] | None
    ) -> "Baseline":
        """Of the terms of all statements, and of their cosines (NaN, or None for all: not known)."""
        holders = _holders(question.terms, texts)
        spelled = respelled([term for term in question.terms if not holders[term]], texts)
        meant = _holders(spelled.values(), texts)
        holders |= {term: meant[other] for term, other in spelled.items()}
        return cls.of_counts(len(texts), holders, cosines, spelled)

    @classmethod
    def of_counts(
        cls,
        count: int,
        holders: Mapping[str, int],
        cosines: NDArray[np.float32] | None,
        spelled: Mapping[str, str],
    ) -> "Baseline":
        """The same, of numbers that are known already."""
        values = np.empty(0) if cosines is None else cosines[~np.isnan(cosines)]
        mean, deviation = (float(values.mean()), float(values.std())) if len(values) else (0.0, 0.0)
        return cls(count, holders, mean, deviation, spelled)

    @property
    def few(self) -> bool:
        """Whether there are too few statements to know what is usual."""
        return self.count < FEW

    def weight(self, term: str) -> float:
        """What a term says: from 0 if all statements hold it, to 1 if at most one does."""
        return self._weights.get(term, 1.0)

    def held(self, question: QuestionTerms, terms: AbstractSet[str]) -> frozenset[str]:
        """The question's terms that are among those of a text."""
        return frozenset(term for term in question.terms if self.spelled.get(term, term) in terms)

    @cached_property
    def _weights(self) -> dict[str, float]:
        if self.few:
            return {}
        whole = math.log(self.count + 1)
        return {term: 1 - math.log(max(1, holders)) / whole for term, holders in self.holders.items()}

    @cached_property
    def _chance(self) -> float:
        """By how many standard deviations the nearest of so many exceeds the mean by chance."""
        return NormalDist().inv_cdf(1 - 1 / (self.count + 1))

    def near(self, cosines: NDArray[np.float32]) -> NDArray[np.float32]:
        """What closeness says, in rare words: nothing up to that of the nearest one of so many by chance."""
        if self.few or not self.deviation:
            return np.zeros(len(cosines), np.float32)
        over = NEAR * ((np.nan_to_num(cosines) - self.mean) / self.deviation / self._chance - 1)
        array: NDArray[np.float32] = np.clip(over, 0, NEAREST).astype(np.float32)
        return array

    def near_one(self, cosine: float | None) -> float:
        """The same of one cosine, nothing where there is none."""
        return 0.0 if cosine is None else float(self.near(np.array([cosine], np.float32))[0])


@dataclass(frozen=True)
class Evidence:
    """The evidence that a statement answers a question: its amount in rare words, the question's terms that it holds,
    those of them that are names or its subjects, and whether it is enough.
    """

    score: float
    held: frozenset[str]
    named: frozenset[str]
    enough: bool


def _holders(terms: Iterable[str], texts: Iterable[AbstractSet[str]]) -> dict[str, int]:
    sought = frozenset(terms)
    counts = Counter(term for text in texts if not sought.isdisjoint(text) for term in sought & text)
    return {term: counts[term] for term in sought}


def respelled(unknown: Iterable[str], texts: Iterable[AbstractSet[str]]) -> dict[str, str]:
    """For unknown terms the term of the texts that was probably meant: with one letter more, fewer, other or moved."""
    terms = [term for term in unknown if len(term) >= LEAST_SPELLED - 1 and term.isalpha()]
    there: dict[str, list[str]] = {term[0]: [] for term in terms}
    for other in frozenset[str]().union(*texts) if terms else ():
        if other[0] in there:
            there[other[0]].append(other)
    by_term = {term: [other for other in there[term[0]] if _is_misspelled(term, other)] for term in terms}
    return {term: min(neighbours) for term, neighbours in by_term.items() if neighbours}


def _is_misspelled(term: str, other: str) -> bool:
    if abs(len(term) - len(other)) > 1 or not other.isalpha():
        return False
    if _DOUBLED.sub(r"\1", term) == _DOUBLED.sub(r"\1", other):
        return True
    if min(len(term), len(other)) < LEAST_SPELLED:
        return False
    same = next((at for at, (item, two) in enumerate(zip(term, other, strict=False)) if item != two), len(other))
    rest, meant = term[same:], other[same:]
    if len(rest) == len(meant):
        return rest[1:] == meant[1:] or (rest[1::-1] == meant[:2] and rest[2:] == meant[2:])
    return rest[1:] == meant if len(rest) > len(meant) else rest == meant[1:]


def evidence(question: QuestionTerms, baseline: Baseline, statement: Statement) -> Evidence:
    """The evidence that a statement answers a question."""
    holding = baseline.held(question, statement.terms)
    near = baseline.near_one(statement.cosine)
    named = holding & (question.names | statement.subjects)
    score = near + sum(map(baseline.weight, holding)) + NAME * len(named)
    cosine = statement.cosine
    likely = cosine is not None and cosine >= LIKELY
    close = likely and (baseline.few or near >= CLOSE)
    enough = close or (bool(holding) and not baseline.few and score >= ENOUGH)
    if holding and (cosine is None or cosine >= STRAY or holding.issuperset(question.terms)):
        enough |= _share(question, baseline, holding, named) > (SHARE_OF_FEW if baseline.few else ENOUGH_SHARE)
    if question.names and not holding & question.names and not any(map(baseline.holders.get, question.names)):
        # The question names what no statement names: all of them are about others.
        enough = close
    enough &= may_state(question, baseline, holding, cosine)
    if enough and not question.past:
        enough = not _RECORD.search(statement.text)
        # What held before is an answer where nothing tells what holds now.
        score *= FORMER if _FORMER.search(statement.text) else 1
    return Evidence(score, holding, named, enough)


def may_state(question: QuestionTerms, baseline: Baseline, terms: AbstractSet[str], cosine: float | None) -> bool:
    """Whether a statement that holds these terms of a question may state the fact that it asks for. One that shares its
    subject alone states something else. Where no term is shared, as in another language, only closeness tells.
    """
    if not question.fact or baseline.few:
        return True
    if not terms:
        return cosine is not None and cosine >= LIKELY
    if question.names and question.names.isdisjoint(terms):
        return False
    share = sum(map(baseline.weight, terms)) / (sum(map(baseline.weight, question.terms)) or 1.0)
    return share >= FACT_BY_WORDS if cosine is None else share + cosine >= FACT


def _share(question: QuestionTerms, baseline: Baseline, holding: frozenset[str], named: frozenset[str]) -> float:
    """The share of the question's weight that its held terms have. Names count more only among words alone."""

    def weigh(terms: Iterable[str]) -> float:
        return sum(baseline.weight(term) + (0.0 if baseline.deviation else NAME * (term in named)) for term in terms)

    return weigh(holding) / (weigh(question.terms) or 1.0)


def clear_places(question: QuestionTerms, baseline: Baseline, statements: Sequence[Sequence[Statement]]) -> list[int]:
    """The places of the texts that are clearly about a prompt, which need not be a question. Each text is given as the
    statements that it is made of.
    """
    if len(question.terms) < LEAST_CLEAR:
        return []
    scores = [max((_clear(question, baseline, one) for one in parts), default=0.0) for parts in statements]
    # Who asked the same before said all of its words, and may have learned nothing.
    answering = [score for score, parts in zip(scores, statements, strict=True) if not _repeats(question, parts)]
    least = CLEAR_SHARE * max(answering, default=0.0)
    return [place for place, score in enumerate(scores) if score and score >= least]


def _repeats(question: QuestionTerms, parts: Iterable[Statement]) -> bool:
    return any(part.terms >= set(question.terms) for part in parts)


def _clear(question: QuestionTerms, baseline: Baseline, statement: Statement) -> float:
    """The evidence that a statement is about a prompt; 0 where it may be chance."""
    holding = baseline.held(question, statement.terms)
    rare = sum(map(baseline.weight, holding))
    if baseline.few:
        # Which words are rare is not known: so many must be shared that it is no chance.
        return rare if len(holding) >= max(2, len(question.terms) / 2) else 0.0
    near = baseline.near_one(statement.cosine)
    if statement.cosine is not None and baseline.deviation and not near:
        # The same words are used for many things.
        return 0.0
    score = rare + near / 2
    return score if (len(holding) > 1 and rare >= CLEAR_WORDS) or (holding and score >= CLEAR) else 0.0


def worth_judging(
    question: QuestionTerms, baseline: Baseline, texts: Sequence[AbstractSet[str]], cosines: NDArray[np.float32] | None
) -> list[int]:
    """The places of the texts with any evidence. Of thousands these are a few, and of too many the best ones."""
    weights = {baseline.spelled.get(term, term): baseline.weight(term) for term in question.terms}
    sought = frozenset(weights)
    near, likely = np.zeros(len(texts), np.float32), np.zeros(len(texts), np.bool_)
    if cosines is not None:
        near, likely = baseline.near(cosines), cosines >= LIKELY
    places = [place for place, text in enumerate(texts) if not sought.isdisjoint(text)]
    shared = np.zeros(len(texts))
    shared[places] = [sum(map(weights.__getitem__, sought & texts[place])) for place in places]
    likely[places] = True
    possible = np.flatnonzero(likely)
    best: list[int] = possible[np.argsort(-(shared + near)[possible], kind="stable")][:MOST_JUDGED].tolist()
    return best


def answers(question: QuestionTerms, baseline: Baseline, statements: Sequence[Statement]) -> list[int]:
    """The places of the statements that answer the question, those with the most evidence first."""
    by_place = {place: evidence(question, baseline, statement) for place, statement in enumerate(statements)}
    order = sorted((place for place, item in by_place.items() if item.enough), key=lambda place: -by_place[place].score)
    batch = order[:MOST_RIVALS]
    return [place for place in batch if _stays(by_place[place], [by_place[other] for other in batch])]


def _stays(evidence: Evidence, rivals: Iterable[Evidence]) -> bool:
    """Whether no better statement makes it needless. One that answers another part of the question is no rival."""
    for other in rivals:
        if other.score <= evidence.score or (evidence.held and not other.held & evidence.held):
            continue
        if other.named and not evidence.named:
            # The question names what this one is not about.
            return False
        if evidence.score < (PART if other.held > evidence.held else HALF) * other.score:
            return False
    return True
