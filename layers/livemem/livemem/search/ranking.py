"""How documents are ranked: a pure function of where a query's words stand, of cosines and of who is whose neighbour.

Every part of the score is brought to mean 0 and spread 1 over the candidates (over the best ones, of many), then added
with its weight. Without that, parts of different kinds could not be added. `WEIGHTS` has them all. docs/ranking.md
gives the worth of each on three sets of questions, and the parts that were tried and left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from livemem.search.dates import Date
from livemem.search.passages import WORDS
from livemem.search.sought import CONSENT
from livemem.search.words import Query, asking_terms

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]
Flags = NDArray[np.bool_]
Instances = tuple[Integers, Integers]
"""Where a term stands: passages and offsets in them, a pair for every instance, ascending by passage, then offset."""

NO_ROLE, USER, ASSISTANT = 0, 1, 2

WEIGHTS: Mapping[str, float] = {
    "words": 1.0,
    "cover": 0.3,
    "lead": 0.8,
    "pairs": 0.2,
    "group": 0.5,
    "dates": 1.1,
    "near": 1.2,
    "author": 1.4,
    "sought": 1.5,
    "role": 1.6,
    "tells": 1.2,
    "asks": -0.6,
    "answers": 0.25,
    "cosine": 0.8,
    "around": 1.0,
    "replies": 0.35,
}
"""Standard deviations that a part adds, chosen on both sets at once (docs/ranking.md)."""

OF_WORDS = ("words", "cover", "lead", "pairs", "group", "answers")
"""Parts that rest on the words of the query alone."""
OF_MEANING = ("cosine", "around", "replies")
"""Parts that rest on vectors; they count by the share of the documents that have one."""
ENOUGH = 0.35
"""Share of the query's words, by their rarity, that one document must hold for them to count in full beside cosines.

Where no document holds so much of the question, it was asked in other words. A hit by a stray word is then chance.
"""

POOL = 500
"""So many documents, the best by words and as many by cosines, determine the spread of a part if there are more."""
HIGHEST = np.float32(7)
"""Standard deviations that a part may have at most, so that a trait of one document does not decide everything."""
TRAITS = ("role", "tells", "asks")
"""Parts that only what is said in a talk has or lacks."""
LEAST_OF_TRAITS = 0.5
"""The least spread by which they are divided, that of a trait of every second text. Divided by its own, a trait would
count the more the rarer it is.
"""
SOUGHT = np.float32(3)
"""The same for `sought`. Where a single document holds a number, "how many" still asks for the right one."""

K1, B = 0.9, 0.4
REACH, DECAY = 4, 0.4
"""Neighbours' words count as the document's own, each by a power of `DECAY` with its distance, up to `REACH` away."""
ASKING = 0.3
"""Weight of words that ask rather than tell (`which kind`, `mentioned`)."""
LEAD = 25
"""Terms at the beginning of a text that say what it is about: one or two sentences."""
PAIR = 6
"""Terms between two words of the query that still make a pair."""
SIDE = 0.5
"""Share of each direct neighbour in the cosine `around` a document."""
DATES = 6
"""Dates of a query, and years of the documents, that are used: a text with more is no question."""
AFTER, BEFORE = 10.0, 5.0
"""Days after a date in which people still speak of it, and days before in which they announce it: closeness falls to
1/e.
"""
_DAY = 86_400.0


@dataclass(frozen=True)
class Corpus:
    """All documents, independent of the question. `corpus` makes one. It is valid as long as the documents stay the
    same.

    Documents are ordered by group, and within a group by position. Passages are ordered by document.
    """

    owner: Integers
    """Of every passage its document, ascending."""
    group: Integers
    """Of every document its group, ascending."""
    roles: NDArray[np.int8]
    """Of every document NO_ROLE, USER or ASSISTANT."""
    times: NDArray[np.float64]
    """Of every document its time in seconds since 1970, NaN where it has none."""
    asks: Flags
    """Of every document whether a question is in it (traits.py)."""
    tells: Flags
    """Of every document whether someone speaks of themselves in it (traits.py)."""
    holds: NDArray[np.int8]
    """Of every document the kinds of answers that it holds (traits.py)."""
    told: Flags
    """Of every document whether it was said where more than one speaks. All others are written texts."""
    counted: Flags
    """Of every document whether it counts for the rarity of words and the mean length of texts. One that says again
    what others say does not.
    """
    lists: Flags
    """Of every document whether its passages are statements of their own, of which the nearest one counts."""
    opening: Flags
    """Of every passage whether its document begins with it."""
    ahead: Floats
    """Of every document the share of its terms that are among the first `LEAD` of its first passage."""
    passages: Floats
    """Of every document its number of passages. Of a list that of a text of its length: its words count as one text."""
    first: NDArray[np.int64]
    """Of every group its first document."""
    where: NDArray[np.int64]
    """Of every document the number of its group among the groups, from 0."""
    shares: tuple[Floats, ...]
    """For distance 1 and on: each document's share with the one so far before, 0 where that is of another group."""
    days: tuple[Integers, Integers, Integers]
    """Of every document the year, month and day of its time; 0 where it has none."""
    years: tuple[int, ...]
    """Years of documents, ascending."""
    length: Floats
    """Of every document the terms of its mean passage and, by their shares, its neighbours', over the mean of all."""
    group_length: Floats
    """Of every group the sum of its documents' mean passages, over the mean of all groups."""


@dataclass(frozen=True)
class Ranking:
    """The scores of all documents. Compare them within one ranking only."""

    scores: NDArray[np.float64]
    """Finite for candidates, -inf for all others."""
    matched: Flags
    """Whether it is a hit: it holds a word of the query, is by an author or of a date named there, or has a cosine."""
    parts: dict[str, Floats]
    """The amount that each part added to the score, per document. Only parts that distinguish documents are there."""


def corpus(
    owner: Integers,
    lengths: Integers,
    group: Integers,
    roles: NDArray[np.int8],
    times: NDArray[np.float64],
    asks: Flags,
    tells: Flags,
    holds: NDArray[np.int8],
    answers: Flags,
    derived: Flags,
    lists: Flags,
) -> Corpus:
    """A corpus with all that can be computed before a query is known.

    `lengths` are the numbers of terms of the passages. `derived`: of every document whether it says again what others
    say. The others are fields of `Corpus`. Every document has a passage.
    """
    count = len(group)
    counted = derived if derived.all() else ~derived
    passages = np.maximum(np.bincount(owner, minlength=count), 1).astype(np.float32)
    new = np.ones(count, np.bool_)
    new[1:] = group[1:] != group[:-1]
    first = np.flatnonzero(new)
    where = np.cumsum(new) - 1
    shares = tuple(_shares(group, distance) for distance in range(1, REACH + 1))
    total = np.maximum(np.bincount(owner, lengths, count), 1).astype(np.float32)
    passages = np.where(lists, np.maximum(total / np.float32(WORDS), 1), passages)
    mean = np.maximum(total / passages, 1)
    length = _spread(mean, shares)
    groups = _by_group(mean, first)
    opening = np.ones(len(owner), np.bool_)
    opening[1:] = owner[1:] != owner[:-1]
    ahead = np.minimum(np.minimum(lengths[opening], np.float32(LEAD)) / total, np.float32(1))
    days = _days(times)
    years = tuple(np.unique(days[0][days[0] > 0]).tolist())
    return Corpus(
        owner, group, roles, times, asks, tells, holds, answers, counted, lists, opening, ahead,
        passages, first, where, shares, days, years,
        length / length[counted].mean() if count else length,
        groups / groups[np.logical_or.reduceat(counted, first)].mean() if count else groups,
    )  # fmt: skip


def rank(
    documents: Corpus,
    query: Query,
    instances: Sequence[Instances],
    cosines: Floats | None = None,
    *,
    candidates: Flags | None = None,
    compared: Flags | None = None,
    by_author: Flags | None = None,
    recency: float = 0.0,
    weights: Mapping[str, float] = WEIGHTS,
) -> Ranking:
    """The scores of all documents for a query.

    `instances` are those of `query.words` and then of `query.prefixes`, in their order. `cosines`: one per passage, NaN
    where it has no vector (`vectors.cosines`); None ranks by words alone. `candidates`: the documents that may be
    found, None for all. Neighbours are taken from all. `compared`: the candidates over which parts are scaled, None for
    all of them. `by_author`: the documents whose author the query names (`words.names`).
    `recency`: the weight of a document's time, 0 for none.
    """
    count = len(documents.group)
    allowed = np.ones(count, np.bool_) if candidates is None else candidates
    compared = candidates if compared is None else compared
    result, asked = _lexical(documents, query, instances)
    holding = result["cover"] > 0
    trust = meaning = 1.0
    result |= _priors(documents, query, by_author, allowed)
    matched = holding | (result["near"] >= 1) if query.dates else holding
    if by_author is not None:
        matched = matched | by_author
    if cosines is not None and np.isfinite(cosines).any():
        meant, known = _means(documents, cosines, allowed)
        result |= {"cosine": meant, "around": _around(documents, meant)}
        result["replies"] = _replies(documents, np.maximum(_standard(meant, compared), 0))
        matched = matched | known
        # Where few have a vector yet, the best of those few need not fit the question: words decide.
        meaning = float(np.count_nonzero(known & allowed)) / max(1, int(np.count_nonzero(allowed)))
        trust = min(1.0, float(result["cover"].max(initial=0)) / (ENOUGH * asked)) if asked else 0.0
        trust = 1.0 - meaning * (1.0 - trust)
    if recency:
        times = documents.times
        middle = np.nanmean(times) if np.isfinite(times).any() else 0.0
        result["recency"] = np.nan_to_num(times - middle).astype(np.float32)
    parts: dict[str, Floats] = {}
    pool = _pool(result, compared)
    for name, values in result.items():
        share = trust if name in OF_WORDS else meaning if name in OF_MEANING else 1.0
        weight = recency if name == "recency" else weights.get(name, 0.0) * share
        highest = SOUGHT if name == "sought" else HIGHEST
        # What is left of short texts is little, and stays little.
        least = _deviation(result["cover"], pool) if name == "lead" else LEAST_OF_TRAITS if name in TRAITS else 0.0
        if weight and (part := _standard(values, pool, highest, least)).any():
            parts[name] = np.float32(weight) * part
    scores = np.sum(list(parts.values()), axis=0, dtype=np.float64) if parts else np.zeros(count)
    return Ranking(np.where(allowed, scores, -np.inf), matched & allowed, parts)


def _lexical(documents: Corpus, query: Query, instances: Sequence[Instances]) -> tuple[dict[str, Floats], float]:
    """The parts that come from the words of the query, and the `cover` of a document that held them all."""
    count = len(documents.group)
    words, cover, lead, own, group = (np.zeros(count, np.float32) for _ in range(5))
    asking = asking_terms().union(query.asking)
    held_together = np.zeros(len(documents.first), np.float32)
    terms = [*query.words, *query.prefixes]
    asked = 0.0
    for term, (passages, offsets) in zip(terms, instances, strict=True):
        if not len(passages):
            asked += float(_rarity(documents, np.zeros(count, np.bool_))) * (ASKING if term in asking else 1)
            continue
        # Instances per passage: a long text says much about little, and its length is no merit.
        density = (np.bincount(documents.owner[passages], minlength=count) / documents.passages).astype(np.float32)
        holding = density > 0
        rarity = _rarity(documents, holding)
        weight = rarity * np.float32(ASKING if term in asking else 1)
        asked += float(weight)
        near = _spread(density, documents.shares)
        words += weight * _saturated(near, documents.length)
        own += weight * _saturated(density, documents.length)
        cover += weight * holding
        early = passages[offsets < LEAD]
        # Each document once, however often the word stands there.
        lead[documents.owner[early[documents.opening[early]]]] += weight
        held_together += rarity * _saturated(_by_group(density, documents.first), documents.group_length)
    if count:
        group = held_together[documents.where]
    values = {
        "words": words,
        "cover": cover,
        # More than by chance, so that a text of one sentence has no merit of it.
        "lead": np.where(documents.told, np.float32(0), lead - cover * documents.ahead),
        "pairs": _pairs(documents, instances[: len(query.words)]),
        "group": group,
        "answers": _replies(documents, own),
    }
    return values, asked


def _priors(documents: Corpus, query: Query, by_author: Flags | None, allowed: Flags) -> dict[str, Floats]:
    """The parts that come from the document itself: its author, its time and its form."""
    with_role = documents.roles != NO_ROLE
    fields = {
        "role": _trait(documents.roles == (ASSISTANT if query.asks_model else USER), with_role, allowed),
        "tells": _trait(documents.tells, documents.told, allowed),
        # A person's questions to a model tell of that person; among others a question is no answer.
        "asks": _trait(documents.asks & ~with_role, documents.told & ~with_role, allowed),
    }
    if by_author is not None:
        fields["author"] = by_author.astype(np.float32)
    if query.sought:
        # In a talk a yes answers what was said just before.
        values = documents.holds & np.where(documents.told, ~np.int8(CONSENT), np.int8(-1))
        fields["sought"] = (values & query.sought != 0).astype(np.float32)
    if query.dates:
        fields |= _dated(documents, query.dates[:DATES])
    return fields


def _trait(trait: Flags, possible: Flags, allowed: Flags) -> Floats:
    """Whether a document has a trait; where it can neither have it nor lack it, the mean of those that can.

    So a note is no worse than what was said, beside which it may be found.
    """
    among = trait[possible & allowed]
    neutral = among.mean(dtype=np.float64) if len(among) else 0.0
    return np.where(possible, trait, np.float32(neutral)).astype(np.float32)


def _pairs(documents: Corpus, instances: Sequence[Instances]) -> Floats:
    """Two words that follow each other in the query and stand near each other in a passage, rare pairs more."""
    count = len(documents.group)
    values = np.zeros(count, np.float32)
    keys = [passages.astype(np.int64) * (1 << 32) + offsets for passages, offsets in instances]
    for rest, right in pairwise(keys):
        if not len(rest) or not len(right):
            continue
        after = np.minimum(np.searchsorted(right, rest - PAIR), len(right) - 1)
        near = np.abs(right[after] - rest) <= PAIR
        owners = documents.owner[np.unique(rest[near] >> 32)]
        share = np.bincount(owners, minlength=count) / documents.passages
        values += _rarity(documents, share > 0) * share.astype(np.float32)
    return values


def _replies(documents: Corpus, values: Floats) -> Floats:
    """The value of the document before, where that asks and this one may answer, among documents without roles."""
    found = np.zeros(len(values), np.float32)
    follows = (documents.shares[0][1:] > 0) & documents.asks[:-1] & (documents.roles[1:] == NO_ROLE)
    found[1:] = np.where(follows, values[:-1], 0)
    return found


def _dated(documents: Corpus, dates: Sequence[Date]) -> dict[str, Floats]:
    """Whether a document is of a date that is named, by the rarity of its year, month and day; and how close it is."""
    times = documents.times
    year, month, day = documents.days
    of, near = np.zeros(len(times), np.float32), np.zeros(len(times), np.float32)
    for values, question in (
        (year, {date.year for date in dates}),
        (month, {date.month for date in dates}),
        (day, {date.day for date in dates if date.days == 1}),
    ):
        same = np.zeros(len(times), np.bool_)
        for item in question:
            if item is not None:
                same |= values == item
        of += _rarity(documents, same) * same
    for date in dates:
        for item in (date.year,) if date.year else documents.years[-DATES:]:
            near = np.maximum(near, _closeness(times, _range(item, date)))
    return {"dates": of, "near": near}


def _days(times: NDArray[np.float64]) -> tuple[Integers, Integers, Integers]:
    values = np.isfinite(times)
    days = np.where(values, times, 0).astype("datetime64[s]").astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    year = days.astype("datetime64[Y]").astype(np.int64) + 1970
    month = months.astype(np.int64) % 12 + 1
    day = (days - months).astype(np.int64) + 1
    result = [np.where(values, part, 0).astype(np.int32) for part in (year, month, day)]
    return result[0], result[1], result[2]


def _range(year: int, date: Date) -> tuple[float, float]:
    """The seconds since 1970 in which a date begins and ends; the 31st of a shorter month is in the next one."""
    month, day = date.month, date.day
    if month is None:
        begin, end = np.datetime64(f"{year:04d}"), np.datetime64(f"{year:04d}") + 1
    elif day is None:
        begin = np.datetime64(f"{year:04d}-{month:02d}")
        end = begin + 1
    else:
        begin = np.datetime64(f"{year:04d}-{month:02d}").astype("datetime64[D]") + (day - 1)
        end = begin + date.days
    return float(begin.astype("datetime64[s]").astype(np.int64)), float(end.astype("datetime64[s]").astype(np.int64))


def _closeness(times: NDArray[np.float64], span: tuple[float, float]) -> Floats:
    after = np.maximum(times - span[1], 0) / (AFTER * _DAY)
    before = np.maximum(span[0] - times, 0) / (BEFORE * _DAY)
    return np.nan_to_num(np.exp(-after - before)).astype(np.float32)


def _means(documents: Corpus, cosines: Floats, allowed: Flags) -> tuple[Floats, Flags]:
    """Of every document the mean of its passages' cosines, of a list the highest, that of all where it has none; and
    whether it has any.
    """
    count = len(documents.group)
    values = np.isfinite(cosines)
    owners = documents.owner[values]
    number = np.bincount(owners, minlength=count)
    total = np.bincount(owners, cosines[values].astype(np.float64), count)
    has = number > 0
    meant = total / np.maximum(number, 1)
    lines = values & documents.lists[documents.owner]
    best = np.full(count, -np.inf)
    np.maximum.at(best, documents.owner[lines], cosines[lines])
    meant = np.where(np.isfinite(best), best, meant)
    neutral = float(meant[has & allowed].mean()) if (has & allowed).any() else float(meant[has].mean())
    return np.where(has, meant, neutral).astype(np.float32), has


def _around(documents: Corpus, values: Floats) -> Floats:
    """The mean of a document's value and half of each direct neighbour's."""
    near = documents.shares[:1]
    side = (near[0] > 0).astype(np.float32) * np.float32(SIDE)
    return _spread(values, (side,)) / _spread(np.ones(len(values), np.float32), (side,))


def _shares(group: Integers, distance: int) -> Floats:
    same = np.zeros(len(group), np.float32)
    same[distance:] = group[distance:] == group[:-distance]
    return same * np.float32(DECAY**distance)


def _spread(values: Floats, shares: Sequence[Floats]) -> Floats:
    """Every document's value and its neighbours' by their shares."""
    result = values.copy()
    for distance, share in enumerate(shares, 1):
        result[distance:] += share[distance:] * values[:-distance]
        result[:-distance] += share[distance:] * values[distance:]
    return result


def _by_group(values: Floats, first: NDArray[np.int64]) -> Floats:
    return np.add.reduceat(values, first) if len(first) else values[:0]


def _saturated(frequency: Floats, length: Floats) -> Floats:
    """BM25 without the rarity of the word."""
    against = frequency + np.float32(K1 * (1 - B)) + np.float32(K1 * B) * length
    return (np.float32(K1 + 1) * frequency / against).astype(np.float32, copy=False)


def _rarity(documents: Corpus, mask: Flags) -> np.float32:
    """How rare it is among the documents that count to be one of those that hold it: the IDF of BM25."""
    count, holding = int(np.count_nonzero(documents.counted)), int(np.count_nonzero(mask & documents.counted))
    return np.float32(np.log(1 + (count - holding + 0.5) / (holding + 0.5)))


def _pool(item: Mapping[str, Floats], candidates: Flags | None) -> Flags | None:
    """The candidates over which parts are compared; None for all documents.

    Of many documents, most hold no word of the query. Compared over all of them, a part that few documents have would
    outweigh the rest, more in larger spaces. So the best by words and the best by cosines stand for all.
    """
    count = len(item["words"]) if candidates is None else int(np.count_nonzero(candidates))
    if count <= POOL:
        return candidates
    pool = np.zeros(len(item["words"]), np.bool_)
    for name in ("words", "around"):
        if name in item:
            values = item[name] if candidates is None else np.where(candidates, item[name], -np.inf)
            pool[np.argpartition(values, -POOL)[-POOL:]] = True
    return pool


def _deviation(values: Floats, pool: Flags | None) -> float:
    among = values if pool is None else values[pool]
    return float(among.std(dtype=np.float64)) if len(among) else 0.0


def _standard(values: Floats, pool: Flags | None, highest: np.float32 = HIGHEST, least: float = 0.0) -> Floats:
    """With mean 0 and spread 1 over the pool, less where the spread is below `least`; 0 where all are alike there."""
    among = values if pool is None else values[pool]
    if not len(among):
        return np.zeros(len(values), np.float32)
    mean = np.float32(among.mean(dtype=np.float64))
    apart = among - mean
    spread = float(np.sqrt(apart @ apart / len(apart)))
    if spread <= 1e-5 * max(1.0, abs(float(mean))):
        return np.zeros(len(values), np.float32)
    result = (apart if pool is None else values - mean) / np.float32(max(spread, least))
    return np.clip(result, -highest, highest, out=result)
