"""One search for everything that one or several spaces hold."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from livemem import clock as clocks
from livemem.access import decision
from livemem.access.principal import Principal
from livemem.conversations import reading
from livemem.errors import (
    InvalidName,
    InvalidRequest,
    LiveMemoryError,
    NotFound,
    SearchNotReady,
    SpaceBroken,
    StoreUnavailable,
)
from livemem.llm import embeddings
from livemem.llm.embeddings import EmbeddingError
from livemem.process import Process
from livemem.recall import bank_sections, code_marks, conversation_documents, document_sources
from livemem.recall.conversation_documents import Looks
from livemem.recall.document_sources import sources, uncounted
from livemem.recall.hit_list import HitList
from livemem.recall.search_request import KINDS, SearchRequest
from livemem.recall.short_ids import FULL_OF_TALK
from livemem.search import view as views
from livemem.search.documents import BANK, MESSAGE, SUMMARY, TOOLS
from livemem.search.engine import Hit, Matches, Meaning, SpaceQuery, WhyNot
from livemem.search.index import Index
from livemem.search.segments import Segments
from livemem.search.shape import IndexShape
from livemem.search.vectors import Pool
from livemem.search.view import SearchView, Views
from livemem.spaces import directory
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.store.cache import TimedCache

logger = logging.getLogger(__name__)

SPACES = 20
ALL_KINDS = tuple(kind for kinds in KINDS.values() for kind in kinds)
UNSEARCHABLE = "The space can't be searched. The log of the service names the error."

READING = timedelta(seconds=18)
"""For how long a search reads objects that it does not know yet. API Gateway gives up after 29 s."""
QUERY_SECONDS = 2.0
"""For the question's own vector. Without it the answer is made from its words."""
GAPS = 32
GAPS_SECONDS = 1.0
"""How many missing texts a search embeds itself, and for how long."""
RESTS_SECONDS = 30
"""For which a process does not ask a failed embedding model again, so that not every search waits for it."""
QUESTIONS = "questions"
LATE = "embedding_timeout"
"""The failure of a model that is busy. It is asked further on, but waited for less, until it answers in time again."""
LATE_SECONDS = 0.3
"""For a question's vector then. A model that is not busy answers sooner."""
ONE_BY_ONE = 8
"""Up to so many conversations are followed one by one. For more, listing all is less work."""
REINDEX_SECONDS = 60
"""For so long a process does not ask for the indexer of a space again."""


@dataclass(frozen=True)
class SpaceHits:
    """The hits in one space. `score`s are comparable within it only.

    `unembedded`: documents that ranking by meaning has not seen yet, at least in part. `failure`: the code of the error
    for which the embedding model did not take part.
    """

    space_id: str
    hits: list[Hit]
    ranking: Literal["bm25", "hybrid"]
    unembedded: int
    documents: int
    cold: bool
    as_of: str
    failure: str | None = None
    conversations: list[str] | None = None
    """The existing ones of the conversations that the request names; None if it names none."""
    below_floor: bool = False
    """Whether documents were ranked, and none passes the request's floor."""
    why_not: WhyNot | None = None
    """About the document that the request asks for."""
    unread: int = 0
    """Objects that were left unread. The next search reads them."""
    total: int = 0
    """Documents that match. Some may be copies, or memories that don't answer: the pages leave them out."""
    after: int | None = None
    """Where the next page begins (SearchRequest.skip); None if there is none."""
    elsewhere: tuple[str, ...] = ()
    """Where nothing was found: the scopes that were not searched, and hold words of the question, as this process knows
    them.
    """


@dataclass(frozen=True)
class FailedSpace:
    """A space that could not be searched, with an error's code and its text."""

    space_id: str
    code: str
    detail: str


@dataclass(frozen=True)
class HitsOfSpaces:
    """The answers of several spaces, those that could not be searched, and the id after which further ones begin."""

    answers: list[SpaceHits]
    failed: list[FailedSpace]
    more: str | None = None


_ASKED = partial(TimedCache[str, None], 10_000, seconds=REINDEX_SECONDS)
"""The spaces that this process has asked the indexer for, a short time ago."""


@dataclass(frozen=True)
class Vector:
    """A question's vector, or the failure for which there is none: None if no model is configured."""

    values: NDArray[np.float32] | None = None
    failure: str | None = None


_RESTING = partial(TimedCache[str, str], 10_000, seconds=RESTS_SECONDS)
"""The codes of the failures for which this process does not wait for the embedding model at the moment: for questions
(QUESTIONS), and for the texts of a space, by its uid.
"""


def search(process: Process, space_id: str, request: SearchRequest, until: datetime | None = None) -> SpaceHits:
    """The best documents of a space: 1 LIST per 1,000 objects that can be found, side by side, 1 GET for each that this
    process has not read before, at most READ_MOST (search/view.py), and 1 call of the embedding model, if there is one,
    and 1 more for new texts. A cold process reads the newest snapshot first: 1 LIST, 1 GET.

    Of one conversation: 2 GETs, 1 LIST for new turns and 1 per 1,000 summaries, all side by side, and 1 GET for each
    that is new. Of a folder: 1 LIST per 1,000 conversations, and then the same for each, unless they are many.

    `until`: when it stops reading. Raises NotFound, InvalidRequest, SearchNotReady.
    """
    meta = heads.load_recent(process, space_id).meta
    if request.cwd is not None:
        batch = reading.of_folder(process, space_id, request.cwd, request.host)
        request = request.within(batch, all_of_space=len(batch) > ONE_BY_ONE)
    answer = _answer(process, meta, request, until=until)
    if request.cwd is None and request.conversations and not answer.conversations:
        raise NotFound("conversation", *request.conversations)
    return answer


def several(
    process: Process, principal: Principal, named: str | None, request: SearchRequest, after: str | None = None
) -> HitsOfSpaces:
    """The same in several spaces at once, with 1 call for the question. `named` are their ids with commas in between.
    Without it, the first SPACES of those that the principal may see are searched, or the first ones `after` an id. A
    space that can't be searched is named, and the others answer.

    Raises Forbidden for a space that the principal may not see, NotFound, InvalidRequest. If all fail, and there are no
    further ones, raises the first one's error.
    """
    space_ids, more = _spaces(process, principal, named, after)
    vector = vector_of(process, request.text)

    def one(space_id: str) -> SpaceHits | LiveMemoryError | None:
        try:
            return _answer(process, heads.load_recent(process, space_id).meta, request, vector)
        except NotFound:
            if named is not None:
                raise
            # It was deleted just now.
            return None
        except LiveMemoryError as error:
            return error
        except Exception as error:  # noqa: BLE001 - whatever lies in one space must not stop the others
            # Not with its text, which may hold data.
            logger.error("search of a space failed", extra={"space_id": space_id, "error": type(error).__name__})  # noqa: TRY400
            return SpaceBroken(UNSEARCHABLE)

    results = dict(zip(space_ids, process.store.map(one, space_ids), strict=True))
    errors = {space_id: error for space_id, error in results.items() if isinstance(error, LiveMemoryError)}
    if errors and len(errors) == len(results) and more is None:
        raise next(iter(errors.values()))
    failed = [FailedSpace(space_id, error.code, error.detail) for space_id, error in errors.items()]
    return HitsOfSpaces([answer for answer in results.values() if isinstance(answer, SpaceHits)], failed, more)


def merged(answers: Sequence[SpaceHits], limit: int) -> list[tuple[str, Hit]]:
    """The hits of several spaces by their ranks: all the first ones, then all the second ones. Scores of different
    spaces can't be compared.
    """
    ranked = [
        (rank, place, answer.space_id, hit)
        for place, answer in enumerate(answers)
        for rank, hit in enumerate(answer.hits)
    ]
    ranked.sort(key=lambda item: item[:2])
    return [(space_id, hit) for _, _, space_id, hit in ranked[:limit]]


def _spaces(
    process: Process, principal: Principal, named: str | None, after: str | None
) -> tuple[list[str], str | None]:
    if named is None:
        metas, more = directory.page(process, principal, limit=SPACES, after=after)
        return [meta.space_id for meta in metas], more
    if after is not None:
        raise InvalidRequest.of("cursor", "goes with no `spaces`: it continues a search in all spaces")
    space_ids = list(dict.fromkeys(named.split(",")))
    if len(space_ids) > SPACES:
        raise InvalidRequest.of("spaces", f"names more than {SPACES} spaces: name fewer")
    for space_id in space_ids:
        try:
            keys.check_space_id(space_id)
        except InvalidName as error:
            raise InvalidName("spaces", error.message) from None
        decision.check_space(process, principal, space_id)
    return space_ids, None


def _answer(
    process: Process,
    meta: Meta,
    request: SearchRequest,
    vector: Vector | None = None,
    until: datetime | None = None,
) -> SpaceHits:
    """The answer. Messages alone must have ROOM_MIN_RELEVANCE, unless the request has a least relevance."""
    if request.kinds == (MESSAGE,) and request.least is None:
        request = replace(request, least=process.settings.room_min_relevance)
    with answering(process, meta, [request], vector, until) as (_, (answer,)):
        return answer


@contextmanager
def answering(
    process: Process,
    meta: Meta,
    requests: Sequence[SearchRequest],
    vector: Vector | None = None,
    until: datetime | None = None,
    looks: Looks | None = None,
) -> Iterator[tuple[SearchView, list[SpaceHits]]]:
    """The answers to several requests with the same text about the same part of a space, and the view for as long as
    the context lasts. Raises SearchNotReady.

    `vector` is that of the text. Without it, it is taken before the view, for which others may wait. `until`: when it
    stops reading. `looks` are the shared requests about the conversation that is searched.
    """
    space_id, zone = meta.space_id, heads.zone_of(process, meta)
    today = process.clock().astimezone(zone).date()
    requests = [request.on(today) for request in requests]
    kinds = [request.kinds or ALL_KINDS for request in requests]
    joint = replace(
        requests[0],
        kinds=tuple({kind for batch in kinds for kind in batch}),
        levels=tuple(sorted({level for request in requests for level in request.levels})),
    )
    end = until or process.clock() + READING
    vector = vector or vector_of(process, joint.text)
    with viewing(process, meta) as view:
        try:
            view.left = 0
            conversations = _follow(process, view, space_id, joint, lambda: process.clock() < end, looks)
        except SearchNotReady:
            ask_for_indexer(process, space_id)
            raise
        view.outdated_by = uncounted(view) if view.left else None
        as_of = clocks.iso_millis(process.clock())
        pool = _pool(view, vector)
        gaps = _missing(view, pool)
        # A request that has just read much has waited for that. The indexer does the rest.
        if vector.values is not None and len(gaps) and not view.left:
            vector, pool = _close_gaps(process, view, vector, _preferred(view, gaps, joint))
        meaning = Meaning(vector.values, pool, view.rows(pool)) if pool and vector.values is not None else None
        rest = len(np.unique(view.shape().owner[_missing(view, pool)])) if view.segments else 0
        present = _PresentView(view, space_id, zone, as_of, meaning, vector, conversations, rest)
        answers = [present.answer(request) for request in requests]
        behind = (view.snapshot or 0) < meta.changes or uncounted(view) > view.said + conversation_documents.GROWN
        stale = view.cold and (view.damaged or behind)
        if stale or view.left or (view.segments and len(gaps)):
            ask_for_indexer(process, space_id)
        yield view, answers


@dataclass(frozen=True)
class _PresentView:
    """A view in the present state of the bucket, and what all answers from it have in common."""

    view: SearchView
    space_id: str
    zone: tzinfo
    as_of: str
    meaning: Meaning | None
    vector: Vector
    conversations: list[str] | None
    unembedded: int

    def answer(self, request: SearchRequest) -> SpaceHits:
        """The answer to a request. No request to the store."""
        view = self.view
        index_shape = view.apart(request.aside) if request.aside else view.shape()
        meaning = None if request.aside else self.meaning
        matches = Matches(view.index, index_shape, meaning, self._query(request))
        hit_list = HitList(matches, request)
        hits, after = hit_list.page(request.skip, request.limit)
        excerpts = [matches.excerpt(hit) for hit in hits] if request.excerpts else hits
        return SpaceHits(
            self.space_id,
            [code_marks.with_marks(view.index, hit, request.reader) for hit in excerpts],
            "bm25" if self.vector.values is None or request.aside else "hybrid",
            unembedded=self.unembedded,
            documents=len(view.shape().documents),
            cold=view.cold,
            as_of=self.as_of,
            failure=self.vector.failure,
            conversations=self.conversations,
            below_floor=hit_list.below_floor,
            why_not=_why_not(view.index, index_shape, matches, hit_list, request, hits) if request.why_not else None,
            unread=view.left,
            total=len(hits) if after is None and not request.skip else matches.count,
            after=after,
            elsewhere=() if hits or request.skip else self._elsewhere(request),
        )

    def _query(self, request: SearchRequest) -> SpaceQuery:
        limits = replace(
            request.filter,
            since=_iso_in_zone(request.since, self.zone),
            until=_iso_in_zone(request.until, self.zone),
        )
        if limits.groups is None and set(request.levels) != set(conversation_documents.LEVELS):
            known = conversation_documents.known(self.view, self.space_id)
            limits = replace(limits, groups=conversation_documents.groups(known, request.levels))
        # A summary says again what its turns say.
        fill = (SUMMARY,) if request.has_turns else ()
        return SpaceQuery(request.query, limits, request.recency, request.least, fill=fill, moment=self.as_of)

    def _elsewhere(self, request: SearchRequest) -> tuple[str, ...]:
        """The scopes that a search of a whole space did not look into, and of which a document holds enough words of
        the question. No request.
        """
        if request.floor is None or request.conversations is not None or request.is_narrow:
            return ()
        searched = (request.aside,) if request.aside else request.kinds or ALL_KINDS
        holding = self.view.index.holding(request.floor.wanted, request.floor.least_words, self.as_of)
        existing = {aside or kind for kind, aside in holding}.difference(searched)
        return tuple(name for name, kinds in {**KINDS, TOOLS: (TOOLS,)}.items() if not existing.isdisjoint(kinds))


def _why_not(
    index: Index,
    index_shape: IndexShape,
    matches: Matches,
    hit_list: HitList,
    request: SearchRequest,
    hits: Sequence[Hit],
) -> WhyNot:
    """Why the document that the request asks for is not among the hits. No request."""
    ids = _document_ids(index, index_shape, request.why_not) or [request.why_not]
    for place, hit in enumerate(hits):
        if hit.document.id in ids:
            return WhyNot(hit.document.id, "found", rank=place + 1)
    reason = matches.why_not(ids[0])
    if reason.reason != "rank":
        return reason
    hit_list.read_on()
    if reason.id in hit_list.copies:
        return replace(reason, reason="copy", copy_of=hit_list.copies[reason.id], behind=())
    return replace(reason, reason="below_floor") if hit_list.below_floor or reason.id in hit_list.unfit else reason


def _document_ids(index: Index, index_shape: IndexShape, name: str) -> list[str]:
    """The ids of the documents that an id names, be it theirs or the one by which they are read; mostly one. The sides
    of a turn are documents of their own.
    """
    if index.number(name) is not None:
        return [name]
    if name.startswith(bank_sections.BANK):
        numbers = index_shape.documents[index_shape.of_kinds((BANK,))]
        sections = (index.document(int(number)) for number in numbers)
        return [section.id for section in sections if document_sources.reading_id(section) == name]
    talk = FULL_OF_TALK.fullmatch(name)
    if not talk:
        batch = [name.removeprefix("notes/").removeprefix("memories/")]
    elif talk["turn"]:
        batch = [f"{talk['conversation']}/{talk['turn']}/{side}" for side in conversation_documents.SIDES]
    else:
        batch = [f"{talk['conversation']}/l{talk['summary']}"]
    return [item for item in batch if index.number(item) is not None]


def _follow(
    process: Process,
    view: SearchView,
    space_id: str,
    request: SearchRequest,
    in_time: Callable[[], bool],
    looks: Looks | None,
) -> list[str] | None:
    """Bring the view up to date for the documents of the request. Returns the existing conversations, if the request
    names some.
    """
    if request.conversations is None:
        some = sources(process, space_id, request.kinds)
        if request.room is not None:
            some = [document_sources.room_source(space_id, request.room)]
        view.follow(process.store, some, in_time, most=views.READ_MOST)
        return None
    return conversation_documents.follow(process, view, space_id, request.conversations, request.levels, in_time, looks)


def _iso_in_zone(moment: datetime | None, zone: tzinfo) -> str | None:
    return clocks.iso(clocks.in_zone(moment, zone)) if moment else None


def _preferred(view: SearchView, gaps: NDArray[np.int64], request: SearchRequest) -> NDArray[np.int64]:
    """The `gaps`, with the passages that the request may find at the end, where `_close_gaps` takes them."""
    if request.filter.groups is None:
        return gaps
    whole = view.shape()
    near = whole.of_groups(request.filter.groups)
    return gaps[np.argsort(near[whole.owner[gaps]], kind="stable")]


def viewing(process: Process, meta: Meta) -> AbstractContextManager[SearchView]:
    """The view of a space in this process, for one use."""
    prefix = process.settings.embeddings_text_prefix

    def segments() -> Segments | None:
        return Segments(meta.space_id, embeddings.name(process.settings)) if process.embed else None

    return process.cache(Views).using(process.store, meta.space_id, meta.uid, prefix=prefix, segments=segments)


def ask_for_indexer(process: Process, space_id: str) -> None:
    """Ask for the indexer, once a minute at the most, without waiting for it. Never fails."""
    if not process.cache(_ASKED).notes(space_id, None):
        return

    def ask() -> None:
        # The next search that misses the indexer's work asks again.
        with suppress(StoreUnavailable):
            process.enqueue("indexer", {"space_id": space_id})

    process.in_background(ask)


def vector_of(process: Process, text: str) -> Vector:
    """The vector of a question. Never fails."""
    if process.embed is None:
        return Vector()
    resting = process.cache(_RESTING)
    failure = resting.get(QUESTIONS)
    if failure and failure != LATE:
        return Vector(failure=failure)
    try:
        vectors = process.embed([text], query=True, timeout=LATE_SECONDS if failure else QUERY_SECONDS)
    except EmbeddingError as error:
        logger.warning("question was not embedded", extra={"error_code": error.code, "detail": error.detail})
        if error.code != failure:
            resting.put(QUESTIONS, error.code)
        return Vector(failure=error.code)
    if failure:
        resting.pop(QUESTIONS)
    return Vector(np.asarray(vectors[0], dtype=np.float32))


def _pool(view: SearchView, vector: Vector) -> Pool | None:
    """The vectors of the question's length, which can be compared with it. Without it, the largest pool."""
    if not view.segments:
        return None
    if vector.values is None:
        return max(view.segments.pools.values(), key=len, default=None)
    dimensions = len(vector.values)
    return view.segments.pools.setdefault(dimensions, Pool(dimensions))


def _missing(view: SearchView, pool: Pool | None) -> NDArray[np.int64]:
    """The places of the passages that have no vector to compare with."""
    if pool is None:
        return np.arange(len(view.shape().hashes))
    return np.flatnonzero(view.rows(pool) < 0)


def embedded(
    process: Process, view: SearchView, places: Sequence[int] | NDArray[np.int64], dimensions: int, timeout: float
) -> dict[bytes, embeddings.Vector]:
    """The vectors of passages by their names, made by one call. Raises EmbeddingError."""
    assert process.embed
    whole = view.shape()
    texts = view.index.texts([int(whole.passages[place]) for place in places])
    vectors = process.embed(list(texts.values()), query=False, timeout=timeout)
    # Vectors of another length would be missing again at the next look.
    embeddings.check_length(process.settings, vectors, dimensions)
    return {whole.hashes[place]: vector for place, vector in zip(places, vectors, strict=True)}


def _close_gaps(
    process: Process, view: SearchView, vector: Vector, gaps: NDArray[np.int64]
) -> tuple[Vector, Pool | None]:
    """Embed a few of the texts without a vector, the latest ones, and keep the vectors in memory. The indexer stores
    them.
    """
    assert view.segments
    assert vector.values is not None
    resting = process.cache(_RESTING)
    failure = resting.get(view.uid)
    if failure:
        return Vector(vector.values, failure), _pool(view, vector)
    try:
        view.segments.keep(embedded(process, view, gaps[-GAPS:], len(vector.values), GAPS_SECONDS))
    except EmbeddingError as error:
        logger.warning("texts were not embedded", extra={"error_code": error.code, "detail": error.detail})
        # Its indexer is likely to be at it.
        resting.put(view.uid, error.code)
        # The question has its vector, which still finds texts that were embedded before.
        vector = Vector(vector.values, error.code)
    return vector, _pool(view, vector)
