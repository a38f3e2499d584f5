"""The documents that answer a search, of all that match: in which order, and without what repeats another one.

Each decision about a document depends on those before it, and on the first `WINDOW`, which are always looked at
together. So the answer is one list however many of it are asked for: more results never change the first ones.

A consolidated note may say what was true when it was written. The section or the live note that says it as it is now
is often longer, and ranks lower by its words: such notes come behind.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple

from livemem.recall.found_copies import Above, holds
from livemem.recall.newer_first import newer_first
from livemem.recall.relevance import LOOKED_AT, statements_of
from livemem.recall.search_request import SKIP_MOST, SearchRequest
from livemem.recall.superseded import behind, with_superseded
from livemem.search import evidence, words
from livemem.search.documents import ARCHIVE, BANK, LIVE, MEMORY
from livemem.search.engine import Hit, Matches
from livemem.search.evidence import QuestionTerms, Statement
from livemem.search.words import Query

WINDOW = 25
"""The best documents, which may change places. All others keep their rank."""


class Chosen(NamedTuple):
    """A hit, and its place in the order of all that match, from 0."""

    place: int
    hit: Hit


class HitList:
    """The hits that answer a request, read as far as they are asked for. Without a floor all do."""

    def __init__(self, matches: Matches, request: SearchRequest) -> None:
        """The first are read."""
        self.copies: dict[str, str] = {}
        """The ids of those that were left out as copies so far, each with that of what it repeats."""
        self.unfit: set[str] = set()
        """The ids of those that were left out so far because they don't answer."""
        self._matches, self._request, self._query, self._floor = matches, request, request.query, request.floor
        no_copies = self._no_copies()
        looked_at = list(islice(no_copies, LOOKED_AT))
        self.below_floor = not self._passes([item.hit for item in looked_at])
        """Whether documents match, and none of the first passes the floor. Then there is no hit."""
        self._rest = iter(()) if self.below_floor else chain(looked_at, no_copies)

    def page(self, skip: int, limit: int) -> tuple[list[Hit], int | None]:
        """The next `limit` hits whose place is at least `skip`, and the place of the one behind them, None if there is
        none.
        """
        batch = (item for item in self._fit() if item.place >= skip)
        hits = [item.hit for item in islice(batch, limit)]
        behind = next(batch, None)
        return hits, behind.place if behind else None

    def read_on(self) -> None:
        """Read all hits, so that `copies` and `unfit` are complete."""
        for _ in self._fit():
            pass

    def _passes(self, first: Sequence[Hit]) -> bool:
        if self._floor is None or not first:
            return True
        hits = [hit for hit in first if hit.document.kind != MEMORY]
        fit = {hit.document.id for hit in first if hit.document.kind == MEMORY} - self.unfit
        return self._floor.is_passed(first, fit.union(self._answering(hits)))

    def _fit(self) -> Iterator[Chosen]:
        return (item for item in self._rest if not self._is_unfit(item.hit))

    def _is_unfit(self, hit: Hit) -> bool:
        if self._floor and hit.document.kind != MEMORY and self._floor.is_no_answer(hit):
            self.unfit.add(hit.document.id)
        return hit.document.id in self.unfit

    def _arranged(self, hits: Sequence[Hit]) -> list[Hit]:
        lined = [self._matches.with_line(hit) for hit in hits]
        arranged = current_first(newer_first(lined, self._query), self._query)
        arranged = with_superseded(arranged, self._matches.document)
        if self._query.asks_past or self._query.dates:
            return arranged
        if self._request.present:
            return [hit for hit in arranged if hit.superseded_by is None]
        return behind(arranged)

    def _no_copies(self) -> Iterator[Chosen]:
        above = Above(self._query)
        best: Sequence[Hit] = ()
        for begin in range(0, SKIP_MOST, WINDOW):
            hits = self._matches.first(begin + WINDOW)[begin:]
            is_last = len(hits) < WINDOW
            if begin == 0:
                best = hits = self._arranged(hits)
            self._judge(best, hits)
            for place, hit in enumerate(hits, begin):
                original = above.original(hit.document)
                if original:
                    self.copies[hit.document.id] = original
                else:
                    above.add(hit)
                    yield Chosen(place, hit)
            if is_last:
                return

    def _judge(self, best: Sequence[Hit], hits: Sequence[Hit]) -> None:
        """Tell which memories among the hits don't answer, beside the best ones. Where none does, none behind them is
        looked at.
        """
        memories = [hit for hit in hits if hit.document.kind == MEMORY]
        if self._floor is None or not memories:
            return
        beside = [] if hits is best else [hit for hit in best if hit.document.kind == MEMORY]
        fit = self._answering([*beside, *memories])
        ids = {hit.document.id for hit in memories}
        self.unfit |= ids.difference(fit)
        if ids.isdisjoint(fit):
            self._matches.leave_out((MEMORY,))

    def _answering(self, hits: Sequence[Hit]) -> frozenset[str]:
        """The ids of those hits that may answer one of the questions in the text, beside all others: memories that do,
        and all else that does not state something else.
        """
        memories = [hit for hit in hits if hit.document.kind == MEMORY]
        stating = {hit.document.id: statements_of(hit.document) for hit in hits if hit.document.kind != MEMORY}
        ids = {name for name, parts in stating.items() if not parts}
        written = [hit for hit in hits if stating.get(hit.document.id)]
        for question in QuestionTerms.all_of(self._request.text):
            if memories:
                texts = [_terms(hit) for hit in memories]
                baseline = self._matches.baseline(question, texts, (MEMORY,))
                statements = [
                    Statement(
                        hit.document.text, text, frozenset(words.terms(" ".join(hit.document.tags))), hit.relevance
                    )
                    for hit, text in zip(memories, texts, strict=True)
                ]
                ids.update(memories[place].document.id for place in evidence.answers(question, baseline, statements))
            if written:
                baseline = self._matches.baseline(question, list(map(_terms, written)))
                for hit in written:
                    parts = (baseline.held(question, frozenset(words.terms(part))) for part in stating[hit.document.id])
                    if any(evidence.may_state(question, baseline, part, hit.relevance) for part in parts):
                        ids.add(hit.document.id)
        return frozenset(ids)


def _terms(hit: Hit) -> frozenset[str]:
    return frozenset(words.terms(" ".join((hit.document.text, *hit.document.tags))))


def current_first(hits: Sequence[Hit], query: Query) -> list[Hit]:
    """The hits, each consolidated note behind the section that holds it word for word, else behind the best section or
    live note that holds all its words of the query. That one moves up directly before the note. Its part `current` is
    what it gains.
    """
    if not any(hit.document.kind == ARCHIVE for hit in hits):
        return list(hits)
    sought = frozenset(query.words)
    by_id = {hit.document.id: sought & {*words.terms(f"{hit.document.title} {hit.document.text}")} for hit in hits}
    current = [hit for hit in hits if hit.document.kind in (BANK, LIVE)]
    placed: set[str] = set()
    ordered = []
    for hit in hits:
        own = by_id[hit.document.id]
        if hit.document.kind == ARCHIVE and own:
            holding = [item for item in current if by_id[item.document.id] >= own]
            sections = [item for item in holding if holds(item.document, hit.document)]
            best = next(iter(sections or holding), None)
            if best and best.document.id not in placed and best.score < hit.score:
                placed.add(best.document.id)
                parts = {**best.parts, "current": hit.score - best.score}
                ordered.append(replace(best, score=hit.score, parts=parts))
        if hit.document.id not in placed:
            placed.add(hit.document.id)
            ordered.append(hit)
    return ordered
