"""What the indexer does for a space: a snapshot of its view, and vectors of what has none.

Both are derived: two at once do no harm, and one that dies leaves nothing that must be finished.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from livemem.errors import SearchNotReady
from livemem.llm.embeddings import EmbeddingError
from livemem.process import Process
from livemem.recall import search
from livemem.recall.sources import sources
from livemem.search import snapshots
from livemem.search.segments import Segments
from livemem.search.vectors import BadSegment
from livemem.search.view import View
from livemem.spaces import head as heads
from livemem.spaces.head import Meta

logger = logging.getLogger(__name__)

MARGIN = timedelta(seconds=45)
"""Time that must be left to begin with further texts, or to go on reading."""
PARTIAL = 0
"""The number of a snapshot of a view that is not whole yet."""
TEXTS = 512
"""Embedded in one go and kept in one segment: four batches of the API."""
TEXTS_SECONDS = 30.0
PROBE = "."
"""A text whose vector's length is all that is wanted of it."""


def index(process: Process, space_id: str, deadline: datetime) -> dict[str, Any]:
    """Bring snapshot and vectors of a space up to what is in it; what does not fit before `deadline` is queued anew.

    Returns what was done by name. Raises StoreUnavailable, so that Lambda tries again.
    """
    head = heads.find(process, space_id)
    if not head:
        return {"status": "gone"}

    def in_time() -> bool:
        return deadline - process.clock() > MARGIN

    done: dict[str, Any] = {"status": "done"}
    with search.viewing(process, head.meta) as view:
        known = view.index.count()
        try:
            view.follow(process.store, sources(process, space_id), in_time)
        except SearchNotReady:
            done["status"] = "unfinished"
        done["snapshot"] = _snapshot(process, head.meta, view, whole=done["status"] == "done")
        if view.segments and done["status"] == "done":
            done |= _embed(process, view, view.segments, in_time)
        progress = view.index.count() - known + done.get("embedded", 0)
    if done["status"] == "unfinished" and progress > 0:
        # Only then: what makes no headway must not go on for ever.
        process.reindex(space_id)
    logger.info("indexed", extra={"space_id": space_id, **done})
    return done


def _snapshot(process: Process, meta: Meta, view: View, *, whole: bool) -> bool:
    """Whether a snapshot was written: where there is none as new as the space's last change.

    Of a view that is not `whole` it is written as of no change at all: the next invocation, in whatever environment,
    goes on from there.
    """
    store, space_id = process.store, meta.space_id
    if view.damaged:
        store.delete_many(view.damaged)
        view.damaged = ()
    number = meta.changes if whole else PARTIAL
    listed = snapshots.listed(store, space_id)
    if whole and (not number or (listed and listed[0][0] >= number)):
        return False
    scratch = view.index.path.with_suffix(".copy")
    saved = snapshots.save(store, space_id, meta.uid, number, view.index, scratch, replace=not whole)
    if _erased_meanwhile(process, meta):
        # It may hold words that are to be nowhere by now, whoever wrote it.
        store.delete(snapshots.key_of(space_id, number))
        return False
    snapshots.prune(store, space_id)
    return saved


def _erased_meanwhile(process: Process, meta: Meta) -> bool:
    now = heads.find(process, meta.space_id)
    return not now or now.meta.uid != meta.uid or now.meta.erasing != meta.erasing


def _embed(process: Process, view: View, segments: Segments, in_time: Callable[[], bool]) -> Mapping[str, Any]:
    """Embed what has no vector, the latest first, and put small segments together."""
    whole = view.shape()
    done = {"embedded": 0}
    try:
        stored = segments.stored(_dimensions(process))
        gaps = [place for place, name in enumerate(whole.hashes) if name not in stored]
        while gaps:
            if not in_time():
                return {"status": "unfinished", **done}
            some, gaps = gaps[-TEXTS:], gaps[:-TEXTS]
            _write(process, view, segments, some)
            done["embedded"] += len(some)
    except (EmbeddingError, BadSegment) as error:
        code = error.code if isinstance(error, EmbeddingError) else "embedding_malformed"
        told = error.detail if isinstance(error, EmbeddingError) else ""
        logger.warning("texts were not embedded", extra={"error_code": code, "detail": told})
        return {**done, "error": code}
    return {**done, "merged": _merge(process, view, segments)}


def _dimensions(process: Process) -> int:
    """How long the model's vectors are now: as the settings say, or by one small call. Raises EmbeddingError."""
    assert process.embed
    configured = process.settings.embeddings_dimensions
    return configured or len(process.embed([PROBE], query=False, timeout=TEXTS_SECONDS)[0])


def _write(process: Process, view: View, segments: Segments, places: Sequence[int]) -> None:
    """Embed these passages and keep that as a segment."""
    assert process.embed
    whole = view.shape()
    texts = view.index.texts([int(whole.passages[place]) for place in places])
    fresh = process.embed(list(texts.values()), query=False, timeout=TEXTS_SECONDS)
    segments.write(process.store, {whole.hashes[place]: vector for place, vector in zip(places, fresh, strict=True)})


def _merge(process: Process, view: View, segments: Segments) -> int:
    doomed = segments.damaged()
    process.store.delete_many(doomed)
    for key in doomed:
        del segments.names[key]
    wanted = set(view.shape().hashes)
    return len(doomed) + sum(segments.merge(process.store, dimensions, wanted) for dimensions in segments.pools)
