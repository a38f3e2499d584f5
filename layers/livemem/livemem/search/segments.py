"""The segments of a space's vectors in the bucket: reading new ones, writing them, and merging many.

    {space}/_vectors/{model}-{dimensions}/{number:08d}.vec

A segment is written once (If-None-Match) and removed after a merge. A reader that misses a listed one lists again. A
damaged one is ignored, and the writer of the next one removes it.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence

from livemem.errors import PreconditionLost
from livemem.search import vectors
from livemem.search.vectors import Pool
from livemem.store import stored
from livemem.store.bucket import SEGMENT
from livemem.store.objects import Entry, Object, Store
from livemem.store.vector_file import MEDIA_TYPE, MOST_DIMENSIONS, BadVectors

logger = logging.getLogger(__name__)

MOST = 16
"""Segments that are read one by one; of more the small ones are merged."""
ROWS = 4_000
"""A segment of so many vectors is no longer small: at 1,536 dimensions 12 MB."""
AT_ONCE = 2
"""Segments that are in memory as they are stored while they are read."""
TRIES = 5
"""Tries to read all listed segments."""


class Segments:
    """The vectors of one space that one model made, as far as this process has read them."""

    def __init__(self, space_id: str, model: str) -> None:
        """None yet. `model` as the keys have it (llm/embeddings.py, name)."""
        self.space_id = space_id
        self.model = model
        self.pools: dict[int, Pool] = {}
        self.names: dict[str, Sequence[bytes]] = {}
        """The names of each segment's vectors, by its key; none for a damaged one."""
        self._etags: dict[str, str] = {}
        """The ETags of the known segments. A number is free again once its segment is gone."""

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors in memory."""
        return sum(pool.nbytes for pool in self.pools.values())

    def follow(self, store: Store) -> None:
        """Read the segments that are new: 1 LIST, 1 GET each."""
        for _ in range(TRIES):
            entries = self._listed(store)
            by_key = {entry.key: dimensions for entry, dimensions in entries}
            etags = {entry.key: entry.etag for entry, _ in entries}
            # Of one that this process wrote the ETag is known from the first listing on.
            new = [key for key in by_key if key not in self.names or self._etags.get(key, etags[key]) != etags[key]]
            self._etags = etags
            for key in new:
                # What is not read below must not count as known.
                self.names.pop(key, None)
            whole = all(self._read(store, by_key, new[at : at + AT_ONCE]) for at in range(0, len(new), AT_ONCE))
            self.names = {key: names for key, names in self.names.items() if key in by_key}
            if whole:
                return

    def _read(self, store: Store, dimensions: Mapping[str, int], segment_keys: Sequence[str]) -> bool:
        """Read some segments. False if one of them is gone."""
        items = store.get_many(segment_keys)
        for key, item in zip(segment_keys, items, strict=True):
            if not item:
                continue
            try:
                self.names[key], rows = vectors.decode(item.body, dimensions[key])
            except BadVectors:
                logger.warning("segment left aside", extra={"key": key})
                self.names[key] = ()
            else:
                self.pools.setdefault(dimensions[key], Pool(dimensions[key])).add(self.names[key], rows)
        return all(items)

    def _listed(self, store: Store) -> list[tuple[Entry, int]]:
        """The segments, each with its dimensions."""
        result = []
        for entry in store.scan(SEGMENT.prefix(self.space_id, self.model)):
            parsed = SEGMENT.parse(entry.key)
            if parsed and parsed[1] == self.model and 0 < parsed[2] <= MOST_DIMENSIONS:
                result.append((entry, parsed[2]))
        return result

    def write(self, store: Store, fresh: Mapping[bytes, Sequence[float]]) -> None:
        """Keep new vectors, in memory and as a segment: 1 PUT, and 1 LIST and 1 PUT more for each number that another
        writer took.

        Raises BadVectors for invalid ones, StoreUnavailable. In either case they are not in memory.
        """
        body = vectors.encode(fresh)
        dimensions = len(next(iter(fresh.values())))
        self.put(store, dimensions, body, list(fresh))
        self.keep(fresh)

    def stored(self, dimensions: int) -> set[bytes]:
        """The names of the vectors of this length that are in a segment. In memory there may be others."""
        return {name for key in self._of(dimensions) for name in self.names[key]}

    def _of(self, dimensions: int) -> list[str]:
        return [key for key in self.names if (parsed := SEGMENT.parse(key)) and parsed[2] == dimensions]

    def keep(self, fresh: Mapping[bytes, Sequence[float]]) -> None:
        """Keep new vectors in memory alone."""
        names, rows = vectors.stack(fresh)
        self.pools.setdefault(rows.shape[1], Pool(rows.shape[1])).add(names, rows)

    def put(self, store: Store, dimensions: int, body: bytes, names: Sequence[bytes]) -> None:
        """Write a segment under a number behind all that are known. Of any number of writers at once one succeeds with
        each round.
        """
        used = self._of(dimensions)
        for _ in range(stored.UPDATE_TRIES):
            last = max((number for key in used if (number := SEGMENT.last(key))), default=0)
            key = SEGMENT.key(self.space_id, self.model, dimensions, last + 1)
            if stored.write_if(store, key, body, content_type=MEDIA_TYPE):
                self.names[key] = names
                return
            # Another writer's, or our own whose answer was lost: then the vectors are there twice.
            used = [entry.key for entry, length in self._listed(store) if length == dimensions]
        raise PreconditionLost("Too many processes write vectors of this space at the same time.")

    def small(self, dimensions: int) -> list[str]:
        """The segments that a merge would join: none unless they are many. Damaged ones are among them."""
        mine = self._of(dimensions)
        small = sorted(key for key in mine if len(self.names[key]) < ROWS)
        return small if len(mine) > MOST and len(small) > 1 else []

    def damaged(self) -> list[str]:
        """The segments that can't be read."""
        return [key for key, names in self.names.items() if not names]

    def merge(self, store: Store, dimensions: int, used: Collection[bytes]) -> int:
        """If the small segments are many, make one of their vectors that are `used`, and remove them afterwards.

        Returns how many were removed. 1 GET each, 1 PUT, 1 DeleteObjects. A worker that dies in between leaves vectors
        twice.
        """
        doomed = self.small(dimensions)
        if not doomed:
            return 0
        fresh: dict[bytes, Sequence[float]] = {}
        for item in store.get_many(doomed):
            fresh |= _used_of(item, dimensions, used)[0]
        if fresh:
            self.put(store, dimensions, vectors.encode(fresh), list(fresh))
        store.delete_many(doomed)
        for key in doomed:
            self.names.pop(key, None)
        return len(doomed)


def purge(store: Store, space_id: str, used: Collection[bytes], in_time: Callable[[], bool]) -> bool:
    """Remove the vectors that are not `used` from all segments of every model. A segment that has some is replaced by
    a new one, and then removed. 1 LIST, 1 GET each, 1 PUT and 1 DELETE for each that is touched.

    False if the time ran out before the end.
    """
    for entry in list(store.scan(SEGMENT.prefix(space_id))):
        parsed = SEGMENT.parse(entry.key)
        if not parsed:
            continue
        _, model, dimensions, _ = parsed
        if not in_time():
            return False
        result, count = _used_of(store.get(entry.key), dimensions, used)
        if len(result) == count:
            continue
        if result:
            Segments(space_id, model).put(store, dimensions, vectors.encode(result), list(result))
        store.delete(entry.key)
    return True


def _used_of(
    item: Object | None, dimensions: int, used: Collection[bytes]
) -> tuple[dict[bytes, Sequence[float]], int | None]:
    """The vectors of a segment that are used, and how many it has. None: no reader can use its content."""
    try:
        names, rows = vectors.decode(item.body if item else b"", dimensions)
    except BadVectors:
        return {}, None
    return {name: row for name, row in zip(names, rows, strict=True) if name in used}, len(names)
