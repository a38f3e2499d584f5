"""The indexer's work for a space: a snapshot of its view, and vectors for texts without one.

Both are derived. A space has one indexer at a time, because several would embed the same texts. Two at once do no harm,
and one that dies leaves nothing that must be finished.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from livemem.conversations import removal
from livemem.errors import SearchNotReady
from livemem.jobs import lease, places
from livemem.jobs.lease import LeaseTaken
from livemem.llm.embeddings import EmbeddingError
from livemem.process import Process
from livemem.recall import conversation_documents, document_sources, search
from livemem.recall.document_sources import sources, uncounted
from livemem.search import search_snapshots, segments
from livemem.search.segments import Segments
from livemem.search.view import SearchView
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store.bucket import SEARCH_ORDER

logger = logging.getLogger(__name__)

MARGIN = timedelta(seconds=45)
"""Time that must remain to begin with further texts, or to continue reading."""
PARTIAL = 0
"""The number of a snapshot of a view that is not whole yet."""
TEXTS = 512
"""Embedded in one go and kept in one segment: four batches of the API."""
LOOK_TEXTS = 1_024
"""Texts that are embedded between two looks at what is new. Without a snapshot of it searches read it one by one."""
TEXTS_SECONDS = 30.0
PROBE = "."
"""A text that is embedded only to learn the length of a vector."""


def index(process: Process, space_id: str, deadline: datetime, delivery: str = "") -> dict[str, Any]:
    """Bring snapshot and vectors of a space up to date, again until nothing new has come meanwhile. Work that does not
    fit before `deadline` is queued again. An indexer that finds another one of the space at work leaves it to that one.

    `delivery`: the id of the invocation, the same for each of its tries. Returns the work done, by name. Raises
    StoreUnavailable, and LeaseTaken for a former try's lease, so that Lambda tries again.
    """
    head = heads.find(process, space_id)
    if not head:
        return {"status": "gone"}
    changes = head.meta.changes
    try:
        hold = lease.acquire(process, places.of_index(space_id), process.new_id(), "indexing", delivery=delivery)
    except LeaseTaken as taken:
        if taken.fails(delivery):
            raise
        return {"status": "busy"}
    done: dict[str, Any] = {}
    progress = 0
    try:
        with lease.renewal(process, hold):
            while True:
                batch, further = _once(process, head.meta, deadline)
                progress += further
                for name, value in batch.items():
                    done[name] = done.get(name, 0) + value if type(value) is int else done.get(name) or value
                done["status"] = batch["status"]
                if batch["status"] != "done" or not (batch["snapshot"] or batch.get("embedded")):
                    break
                # There may be more to embed. It took its time, and whoever came meanwhile was sent away.
                now = heads.find(process, space_id)
                if not now:
                    break
                head, changes = now, now.meta.changes
    finally:
        lease.quietly_release(process, hold)
    # Work without progress must not be queued for ever.
    if progress > 0 if done["status"] == "unfinished" else _has_come(process, space_id, changes):
        process.enqueue("indexer", {"space_id": space_id})
    logger.info("indexed", extra={"space_id": space_id, **done})
    return done


def _has_come(process: Process, space_id: str, current: int) -> bool:
    """Whether something was ordered to be forgotten, or changed, after the last look: 1 LIST, 1 GET. The invocation of
    that order or change may have been sent away. It must not wait for the sweep or for a search: erased words may be in
    a snapshot.
    """
    if any(process.store.scan(SEARCH_ORDER.prefix(space_id))):
        return True
    now = heads.find(process, space_id)
    return now is not None and now.meta.changes > current


def _once(process: Process, meta: Meta, deadline: datetime) -> tuple[dict[str, Any], int]:
    """The work that there is now. Returns it by name, and how much was done."""

    def in_time() -> bool:
        return deadline - process.clock() > MARGIN

    space_id = meta.space_id
    done: dict[str, Any] = {"status": "done"}
    # A later order may be about an object that was read by now.
    orders = [entry.key for entry in process.store.scan(SEARCH_ORDER.prefix(space_id))]
    with search.viewing(process, meta) as view:
        known = view.index.count()
        try:
            view.follow(process.store, sources(process, space_id, whole=True), in_time)
        except SearchNotReady:
            done["status"] = "unfinished"
        if orders and done["status"] == "done":
            search_snapshots.remove(process.store, space_id)
        done["snapshot"] = _snapshot(process, meta, view, whole=done["status"] == "done")
        if orders and done["status"] == "done":
            done |= _forget(process, view, space_id, orders, in_time)
        if view.segments and done["status"] == "done":
            done |= _embed(process, view, view.segments, in_time)
        _take_back(process, view, space_id, in_time)
        return done, view.index.count() - known + done.get("embedded", 0) + done.get("forgotten", 0)


def _snapshot(process: Process, meta: Meta, view: SearchView, *, whole: bool) -> bool:
    """Write a snapshot if none is as new as the space's last change, or none knows all but some hundred objects that
    came without a change, or so many were read to know all. Returns whether one was written.

    The snapshot of a view that is not `whole` has the number PARTIAL. The next invocation, in any environment,
    continues from it.
    """
    store, space_id = process.store, meta.space_id
    if view.damaged:
        store.delete_many(view.damaged)
        view.damaged = ()
    number, said = (meta.changes, uncounted(view)) if whole else (PARTIAL, 0)
    entries = search_snapshots.listed(store, space_id)
    newest = entries[0][:2] if entries else (PARTIAL, 0)
    read = view.read > conversation_documents.GROWN
    if whole and number <= newest[0] and said <= newest[1] + conversation_documents.GROWN and not read:
        return False
    scratch = view.index.path.with_suffix(".copy")
    key = search_snapshots.key_of(space_id, number, said)
    saved = search_snapshots.save(store, key, meta.uid, view.index, scratch, replace=read or not whole)
    view.read = 0
    if _erased_meanwhile(process, meta):
        # It may hold words that were to be erased by now, by any writer.
        store.delete(key)
        return False
    search_snapshots.prune(store, space_id)
    return saved


def _forget(
    process: Process, view: SearchView, space_id: str, orders: Sequence[str], in_time: Callable[[], bool]
) -> Mapping[str, Any]:
    """Carry out orders, with the snapshots removed: remove the vectors of texts that no document has any more."""
    ids = set(view.shape().hashes)
    if not segments.purge(process.store, space_id, ids, in_time):
        return {"status": "unfinished"}
    process.store.delete_many(orders)
    if view.segments:
        view.segments.follow(process.store)
    return {"forgotten": len(orders)}


def _take_back(process: Process, view: SearchView, space_id: str, in_time: Callable[[], bool]) -> None:
    """If a conversation was removed, or a memory erased, while it was indexed, order again that it is forgotten. The
    objects written just now may hold it, though the order was carried out. 1 LIST per 1,000 objects of conversations
    and of memories, none where there are none.
    """
    known = conversation_documents.known(view, space_id)
    gone = document_sources.rewritten_memories(process, view, space_id)
    if known:
        # The next invocation reads the objects that were not read in time.
        with suppress(SearchNotReady):
            view.follow(process.store, [conversation_documents.all_of(process, space_id)], in_time)
        gone = gone or bool(known - conversation_documents.known(view, space_id))
    if gone:
        removal.forget(process, space_id, process.new_id())


def _erased_meanwhile(process: Process, meta: Meta) -> bool:
    now = heads.find(process, meta.space_id)
    return not now or now.meta.uid != meta.uid or now.meta.erasing != meta.erasing


def _embed(process: Process, view: SearchView, segments: Segments, in_time: Callable[[], bool]) -> Mapping[str, Any]:
    """Embed texts without a vector, the latest first, until it is time to look at what is new. If none is left, merge
    small segments.
    """
    whole = view.shape()
    done = {"embedded": 0}
    try:
        dimensions = _dimensions(process)
        stored = segments.stored(dimensions)
        gaps = [place for place, name in enumerate(whole.hashes) if name not in stored]
        while gaps and done["embedded"] < LOOK_TEXTS:
            if not in_time():
                return {"status": "unfinished", **done}
            batch, gaps = gaps[-TEXTS:], gaps[:-TEXTS]
            segments.write(process.store, search.embedded(process, view, batch, dimensions, TEXTS_SECONDS))
            done["embedded"] += len(batch)
    except EmbeddingError as error:
        logger.warning("texts were not embedded", extra={"error_code": error.code, "detail": error.detail})
        return {**done, "error": error.code}
    return {**done, "merged": 0 if gaps else _merge(process, view, segments)}


def _dimensions(process: Process) -> int:
    """The length of the model's vectors now, from the settings or by one small call. Raises EmbeddingError."""
    assert process.embed
    configured = process.settings.embeddings_dimensions
    return configured or len(process.embed([PROBE], query=False, timeout=TEXTS_SECONDS)[0])


def _merge(process: Process, view: SearchView, segments: Segments) -> int:
    doomed = segments.damaged()
    process.store.delete_many(doomed)
    for key in doomed:
        del segments.names[key]
    ids = set(view.shape().hashes)
    return len(doomed) + sum(segments.merge(process.store, dimensions, ids) for dimensions in segments.pools)
