"""One search in one view. It collects the words' places and the vectors' cosines, ranks, and gives the documents that
match, the best first.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from livemem.search import passages, ranking, words
from livemem.search.documents import ARCHIVE, BANK, LISTS, TALK, WORDLESS, Document
from livemem.search.evidence import Baseline, QuestionTerms, respelled
from livemem.search.index import DocumentFilter, Index
from livemem.search.ranking import Instances
from livemem.search.shape import IndexShape, Numbers
from livemem.search.vectors import Pool, Rows
from livemem.search.words import Query

MOST_WORDS = 64
"""Of a query that rank: a pasted log is a question too, and each word costs a look into the index."""
MOST_COMPLETIONS = 200
"""Words of the index that a prefix stands for."""


EARLY = 0.25
"""What the first word of a passage counts beyond others: a statement says first what it is about."""
SEVERAL = 2
"""Terms of a question that what was said about its subject holds: one is chance."""
FEW = 0.25
"""Share of all vectors up to which picking them out costs less than comparing all."""


@dataclass(frozen=True)
class SpaceQuery:
    """A question to one space."""

    query: Query
    filter: DocumentFilter
    recency: float = 0.0
    least: float | None = None
    """The least relevance of a hit. It does not apply to a document without relevance."""
    fill: tuple[str, ...] = ()
    """Kinds whose documents come behind all others, so that they only fill what these leave."""
    moment: str | None = None
    """Documents that expired by then are not found (documents.Document.expires). None: expired ones are found too."""


@dataclass(frozen=True)
class Meaning:
    """The question's vector, and those of the passages: `rows` gives the place of each in `pool`, -1 for none."""

    vector: NDArray[np.float32]
    pool: Pool
    rows: Rows

    @cached_property
    def cosines(self) -> NDArray[np.float32]:
        """The cosine of each vector of the pool with the question, once for all questions with the same vector."""
        return self.pool.cosines(self.vector)


@dataclass(frozen=True)
class Hit:
    """A document that was found. `snippet` is a range of characters of its text; `highlights` are ranges within it.
    `Matches.excerpt` gives them, and `confirmed_at`.

    `parts` holds the amount that each part added to the score. `relevance` is the cosine of the question with the
    nearest passage, None where there is no vector to compare with. `confirmed_at`: when an object last confirmed the
    document (documents.Reading), None where none has.
    """

    document: Document
    score: float
    snippet: tuple[int, int] = (0, 0)
    highlights: Sequence[tuple[int, int]] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    relevance: float | None = None
    confirmed_at: str | None = None
    line: tuple[int, int] = (0, 0)
    """The characters of its best line, where its lines are statements of their own (`Matches.with_line`)."""
    superseded_by: str | None = None
    """The id of the document that says what holds instead, as the caller found it."""
    marks: Sequence[tuple[int, str]] = ()
    """What the caller shows behind places of the document's text, in their order."""


BEFORE = 3
"""So many documents are named behind which one stands."""
Reason = Literal["found", "unknown", "no_words", "scope", "filtered", "no_match", "copy", "below_floor", "rank"]


@dataclass(frozen=True)
class WhyNot:
    """Why a document is not among the hits.

    `unknown`: the view has no such document. `no_words`: it has no word to look for. `scope`: the question is about
    other kinds or other groups. `filtered`: a filter, a phrase, an excluded word or its expiry leaves it out.
    `no_match`: it shares nothing with the question, or less than `least`. `copy`: it says again what `copy_of` says,
    which stands before it.
    `below_floor`: the hits or it did not pass a floor. `rank`: others stand before it.
    """

    id: str
    reason: Reason
    rank: int | None = None
    """Its place among all that match, from 1."""
    behind: Sequence[str] = ()
    """The ids of those directly before it, the nearest last."""
    copy_of: str | None = None


@dataclass(frozen=True)
class _Ranked:
    """All documents of a view, ranked for a question."""

    scores: NDArray[np.float64]
    matched: NDArray[np.bool_]
    filling: NDArray[np.bool_] | None
    parts: Mapping[str, NDArray[np.float32]]
    instances: Sequence[Instances]
    cosines: NDArray[np.float32] | None


class Matches:
    """The documents of a view that match a question, the best first, those that only fill behind all others. Each is
    read when it is first asked for.

    Without `meaning` by words alone.
    """

    def __init__(self, index: Index, index_shape: IndexShape, meaning: Meaning | None, question: SpaceQuery) -> None:
        """All documents are ranked."""
        self._index, self._whole, self._meaning, self._question = index, index_shape, meaning, question
        count = len(index_shape.documents)
        candidates = _candidates(index, index_shape, question) if count else None
        self._admitted = np.ones(count, dtype=np.bool_) if candidates is None else candidates
        self._ranked = _rank(index, index_shape, meaning, question, candidates) if self._admitted.any() else None
        self.count = int(self._ranked.matched.sum()) if self._ranked else 0
        """How many match."""
        self._left_out = np.zeros(count, dtype=np.bool_)
        self._order: list[int] = []
        self._hits: list[Hit] = []

    def first(self, number: int) -> list[Hit]:
        """The first `number` of them, fewer if there are no more."""
        batch = self._places(number)[len(self._hits) :]
        if batch:
            values = np.zeros(len(self._whole.documents), dtype=np.bool_)
            values[batch] = True
            near = _relevance(self._whole, self._meaning, values) if self._meaning else None
            self._hits += [self._hit(place, None if near is None else float(near[place])) for place in batch]
        return self._hits[:number]

    def leave_out(self, kinds: Collection[str]) -> None:
        """Leave out those of some kinds that were not read yet."""
        self._left_out |= self._whole.of_kinds(kinds)
        del self._order[len(self._hits) :]

    def baseline(
        self, question: QuestionTerms, texts: Sequence[frozenset[str]], kinds: Collection[str] | None = None
    ) -> Baseline:
        """The usual evidence for a question in documents of some kinds, None for all. A term that none of them holds
        may be meant for one of these texts.
        """
        whole = self._whole
        return self._baseline(question, texts, [whole.of_kinds(whole.kinds if kinds is None else kinds)], whole.owner)

    def baseline_of_lines(self, question: QuestionTerms, texts: Sequence[frozenset[str]], *, talk: bool) -> Baseline:
        """The same in all documents, where each line of a list counts. A note that was folded stands in the bank too,
        and must not count twice: what counts is the larger number, of the notes or of the bank. Without `talk` what
        was said about the question's subject does not count: by it the words of a decision would become common.
        """
        whole = self._whole
        numbers = np.arange(len(whole.owner))
        first = np.diff(whole.owner, prepend=-1) > 0
        lines = first | whole.of_kinds(LISTS)[whole.owner]
        owner = np.maximum.accumulate(np.where(lines, numbers, 0))
        if not talk:
            lines &= ~self._is_talk_of(question)[whole.owner]
        sides = [~whole.of_kinds([kind])[whole.owner] & lines for kind in (BANK, ARCHIVE)]
        return self._baseline(question, texts, sides, owner)

    def _is_talk_of(self, question: QuestionTerms) -> NDArray[np.bool_]:
        """Of every document whether it was said about the subject: with SEVERAL of its terms, or beside such a one."""
        whole = self._whole
        shared = np.zeros(len(whole.documents), dtype=np.int64)
        for term in question.terms:
            shared[np.unique(whole.owner[_instances(self._index, whole, [term])[0]])] += 1
        talk = whole.of_kinds(TALK)
        about = talk & (shared >= SEVERAL)
        together = whole.group[1:] == whole.group[:-1]
        beside = about.copy()
        beside[1:] |= about[:-1] & together
        beside[:-1] |= about[1:] & together
        return talk & beside

    def _baseline(
        self,
        question: QuestionTerms,
        texts: Sequence[frozenset[str]],
        sides: Sequence[NDArray[np.bool_]],
        owner: Numbers,
    ) -> Baseline:
        def held(terms: Collection[str]) -> dict[str, int]:
            counts = [_holders(self._index, self._whole, side, terms, owner) for side in sides]
            return {term: max(count[term] for count in counts) for term in terms}

        holders = held(question.terms)
        spelled = respelled([term for term, count in holders.items() if not count], texts)
        meant = held(spelled.values())
        mask = max(sides, key=np.count_nonzero)
        return Baseline.of_counts(
            int(mask.sum()),
            holders | {term: meant[other] for term, other in spelled.items()},
            _relevance(self._whole, self._meaning, mask, owner)[mask] if self._meaning else None,
            spelled,
        )

    def lines(self, hit: Hit) -> list[Hit]:
        """Each line of a hit with its own relevance, if its lines are statements of their own. Else the hit."""
        if hit.document.kind not in LISTS:
            return [hit]
        number = self._index.number(hit.document.id)
        assert number is not None
        (place,) = self._whole.documents_at([number])
        first, last = np.searchsorted(self._whole.owner, [place, place + 1])
        near: Sequence[float | None] = [None] * (last - first)
        if self._meaning:
            rows = self._meaning.rows[first:last]
            found = np.full(len(rows), np.nan, dtype=np.float32)
            found[rows >= 0] = self._meaning.pool.products(self._meaning.vector, rows[rows >= 0])
            near = [None if np.isnan(one) else max(0.0, float(one)) for one in found]
        return [replace(hit, line=line, relevance=one) for line, one in zip(hit.document.passages, near, strict=True)]

    def document(self, name: str) -> Document | None:
        """The document of an id, also one that does not match."""
        return self._index.named(name)

    def with_line(self, hit: Hit) -> Hit:
        """A hit with its `line`, if its lines are statements of their own."""
        if hit.document.kind not in LISTS:
            return hit
        ranges, within = self._passages(hit.document)
        return replace(hit, line=ranges[within])

    def _passages(self, document: Document) -> tuple[list[tuple[int, int]], int]:
        """The passages of a hit, and which of them answers best."""
        ranges = document.passages
        if len(ranges) == 1:
            return ranges, 0
        number = self._index.number(document.id)
        assert number is not None
        (place,) = self._whole.documents_at([number])
        heading = len(words.terms(document.title)) if document.kind in LISTS else 0
        return ranges, _best_passage(self._whole, int(place), heading, self._ranked)

    def excerpt(self, hit: Hit) -> Hit:
        """One of the hits, with what of it is shown."""
        document, query = hit.document, self._question.query
        ranges, within = self._passages(document)
        start, end = words.snippet(document.text, query, within=ranges[within])
        if document.kind in LISTS and (start, end) == ranges[within]:
            start, end = passages.grown(ranges, within)
        highlights = words.marks(document.text[start:end], query)
        confirmed_at = self._index.confirmed_at(document)
        return replace(hit, snippet=(start, end), highlights=highlights, confirmed_at=confirmed_at)

    def why_not(self, name: str) -> WhyNot:
        """Why a document is not among the first hits. `rank` if it matches: the caller knows what it leaves out."""
        number = self._index.number(name)
        if number is None:
            return WhyNot(name, "unknown")
        document, limits = self._index.document(number), self._question.filter
        places = self._whole.documents_at([number])
        if not len(places):
            return WhyNot(name, "no_words" if document.aside == WORDLESS else "scope")
        place = int(places[0])
        if limits.kinds is not None and document.kind not in limits.kinds:
            return WhyNot(name, "scope")
        if limits.groups is not None and document.group not in limits.groups:
            return WhyNot(name, "scope")
        if not self._admitted[place]:
            return WhyNot(name, "filtered")
        if not self._ranked or not self._ranked.matched[place]:
            return WhyNot(name, "no_match")
        order = _ordered(self._ranked, self._ranked.matched, self.count)
        rank = order.index(place) + 1
        before = order[max(0, rank - 1 - BEFORE) : rank - 1]
        behind = [self._index.document(int(self._whole.documents[item])).id for item in before]
        return WhyNot(name, "rank", rank, behind)

    def _places(self, number: int) -> list[int]:
        """The places of the first `number`, from those that were ordered before on."""
        if self._ranked and len(self._order) < number:
            wanted = self._ranked.matched & ~self._left_out
            wanted[self._order] = False
            # Twice as many as before, because each look compares all that are left.
            self._order += _ordered(self._ranked, wanted, max(number, 2 * len(self._order)) - len(self._order))
        return self._order[:number]

    def _hit(self, place: int, near: float | None) -> Hit:
        ranked = self._ranked
        assert ranked
        return Hit(
            self._index.document(int(self._whole.documents[place])),
            float(ranked.scores[place]),
            parts={name: float(values[place]) for name, values in ranked.parts.items()},
            relevance=None if near is None or np.isnan(near) else near,
        )


def _rank(
    index: Index,
    index_shape: IndexShape,
    meaning: Meaning | None,
    question: SpaceQuery,
    candidates: NDArray[np.bool_] | None,
) -> _Ranked:
    query = question.query
    query = replace(query, words=query.words[:MOST_WORDS], prefixes=query.prefixes[:MOST_WORDS])
    filling = _filling(index_shape, question, candidates)
    compared = candidates if filling is None else ~filling if candidates is None else candidates & ~filling
    instances = [_instances(index, index_shape, [word]) for word in query.words]
    instances += [
        _instances(index, index_shape, index.completions(prefix, MOST_COMPLETIONS)) for prefix in query.prefixes
    ]
    cosines = _cosines(index_shape, meaning, candidates) if meaning else None
    named = [place for place, author in enumerate(index_shape.authors) if words.names(query, author)]
    ranked = ranking.rank(
        index_shape.corpus,
        query,
        instances,
        cosines,
        candidates=candidates,
        compared=compared,
        by_author=np.isin(index_shape.author, named) if named else None,
        recency=question.recency,
    )
    matched = ranked.matched
    if question.least is not None and meaning:
        matched = matched & ~(_relevance(index_shape, meaning, matched) < question.least)
    return _Ranked(ranked.scores, matched, filling, ranked.parts, instances, cosines)


def _relevance(
    index_shape: IndexShape, meaning: Meaning, mask: NDArray[np.bool_], owner: Numbers | None = None
) -> NDArray[np.float32]:
    """The relevance (Hit) of the documents of the `mask`, from 0 to 1; NaN for all others. `owner`: of each passage
    what it is a part of, None for its document.

    It is the plain cosine, which does not depend on other documents. Ranking uses cosines that distinguish a space's
    texts.
    """
    owner = index_shape.owner if owner is None else owner
    values = np.full(len(mask), -np.inf, dtype=np.float32)
    batch = np.flatnonzero(mask[owner] & (meaning.rows >= 0))
    np.maximum.at(values, owner[batch], meaning.pool.products(meaning.vector, meaning.rows[batch]))
    return np.where(np.isfinite(values), np.clip(values, 0, 1), np.float32(np.nan))


def _holders(
    index: Index,
    index_shape: IndexShape,
    among: NDArray[np.bool_],
    terms: Iterable[str],
    owner: Numbers,
) -> dict[str, int]:
    """How many of some documents hold each term. `owner` as for `_relevance`."""
    ids = {}
    for term in terms:
        values = np.zeros(len(among), dtype=np.bool_)
        values[owner[_instances(index, index_shape, [term])[0]]] = True
        ids[term] = int((values & among).sum())
    return ids


def _best(scores: NDArray[np.float64], numbers: Numbers, most: int) -> Numbers:
    """Those with the highest scores. Of the same score the later one comes first."""
    if len(numbers) > most:
        # Sorting all of them would take longer than all else.
        least = np.partition(scores[numbers], len(numbers) - most)[len(numbers) - most]
        numbers = numbers[scores[numbers] >= least]
    return numbers[np.lexsort((-numbers, -scores[numbers]))][:most]


def _instances(index: Index, index_shape: IndexShape, terms: Sequence[str]) -> Instances:
    """Where these words stand, by place in the order of ranking; kept as long as the documents stay the same."""
    name = " ".join(terms)
    if name not in index_shape.kept:
        values = np.concatenate([np.empty((0, 2), dtype=np.int64), *(index.instances(term) for term in terms)])
        at = index_shape.passages_at(values[:, 0])
        at, values = at[at >= 0], values[at >= 0]
        if len(terms) > 1 or (at[1:] < at[:-1]).any():
            order = np.lexsort((values[:, 1], at))
            at, values = at[order], values[order]
        instances = (at.astype(np.int32), values[:, 1].astype(np.int32))
        with suppress(ValueError):
            # One that is larger than all that may be kept is not.
            index_shape.kept[name] = instances
        return instances
    return index_shape.kept[name]


def _cosines(index_shape: IndexShape, meaning: Meaning, candidates: NDArray[np.bool_] | None) -> NDArray[np.float32]:
    """The cosine of each passage with the question. NaN for passages without a vector, and for those of documents that
    may not be found and are no neighbours of any that may.
    """
    rows = meaning.rows
    if candidates is not None:
        near = candidates.copy()
        near[1:] |= candidates[:-1]
        near[:-1] |= candidates[1:]
        rows = np.where(near[index_shape.owner], rows, -1)
    values = np.flatnonzero(rows >= 0)
    result = np.full(len(rows), np.nan, dtype=np.float32)
    if len(values) < len(meaning.pool) * FEW:
        result[values] = meaning.pool.cosines(meaning.vector, rows[values])
    else:
        result[values] = meaning.cosines[rows[values]]
    return result


def _candidates(index: Index, index_shape: IndexShape, question: SpaceQuery) -> NDArray[np.bool_] | None:
    query, count = question.query, len(index_shape.documents)
    groups = question.filter.groups
    kinds = question.filter.kinds
    allowed = None if groups is None else index_shape.of_groups(groups)
    if kinds is not None:
        allowed = index_shape.of_kinds(kinds) if allowed is None else allowed & index_shape.of_kinds(kinds)
    lists = [index.admitted(question.filter), *(index.with_phrase(phrase) for phrase in query.phrases)]
    for numbers in lists:
        if numbers is not None:
            mask = np.zeros(count, dtype=np.bool_)
            mask[index_shape.documents_at(numbers)] = True
            allowed = mask if allowed is None else allowed & mask
    refused = [index.with_phrase(phrase) for phrase in query.excluded]
    if question.moment is not None:
        refused.append(index.expired(question.moment))
    for numbers in filter(None, refused):
        allowed = np.ones(count, dtype=np.bool_) if allowed is None else allowed
        allowed[index_shape.documents_at(numbers)] = False
    return allowed


def _ordered(ranked: _Ranked, mask: NDArray[np.bool_], most: int) -> list[int]:
    """The places of the best of those that are wanted; those that only fill behind all others."""
    fills = ranked.filling if ranked.filling is not None else np.zeros(len(mask), dtype=np.bool_)
    best = _best(ranked.scores, np.flatnonzero(mask & ~fills), most)
    rest = most - len(best)
    more = _best(ranked.scores, np.flatnonzero(mask & fills), rest) if rest else best[:0]
    return [*map(int, best), *map(int, more)]


def _filling(
    index_shape: IndexShape, question: SpaceQuery, candidates: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    """The documents that only fill. None where there is none, or nothing else: then they are found like others."""
    filling = index_shape.of_kinds(question.fill)
    if not filling.any():
        return None
    rest = ~filling if candidates is None else candidates & ~filling
    return filling if rest.any() else None


def _best_passage(index_shape: IndexShape, place: int, heading: int, ranked: _Ranked | None) -> int:
    """Which passage of a document answers best, counted from 0: by the different words of the query in it, then by how
    early they stand there and by its cosine. Before the first one stand `heading` terms that are of all.
    """
    first, last = np.searchsorted(index_shape.owner, [place, place + 1])
    values = np.zeros(last - first)
    for places, offsets in ranked.instances if ranked else ():
        begin, end = np.searchsorted(places, [first, last])
        where = places[begin:end] - first
        offset = offsets[begin:end] - np.where(where == 0, heading, 0)
        early = np.zeros(last - first)
        np.maximum.at(early, where[offset >= 0], 1 + EARLY / (1 + offset[offset >= 0]))
        values += early
    if ranked and ranked.cosines is not None:
        values += np.nan_to_num(ranked.cosines[first:last], nan=-1.0) / 4
    return int(np.argmax(values)) if len(values) else 0
