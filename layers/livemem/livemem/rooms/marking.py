"""Markers of the spaces whose rooms hold messages: by one listing, whoever digests finds them.

A marker is left before a message is written, and is relied on for an hour. It goes only when it is older than KEPT by
the store's clock and no room holds anything: so nobody relies on it any more, and what was written while somebody did
is seen. Who comes later leaves another one, and the removal of the first one fails; where a store ignores
If-Match on DELETE, a second look puts it back. The look of once a day mends what is left.
"""

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta

from cachetools import LRUCache

from livemem.process import Process, Timer
from livemem.store import documents, timing
from livemem.store import room_keys as keys

RELIED_ON = timedelta(hours=1)
KEPT = RELIED_ON + timing.ANSWER + timing.REPEATED + timing.APART
"""A message that relied on the marker to the last has come then, however late its request was."""
MOST_KNOWN = 10_000


class _Left:
    """When this process has marked spaces. By the wall clock: others stand still in a machine that is put to sleep."""

    def __init__(self, _: Timer) -> None:
        self._moments = LRUCache[str, datetime](MOST_KNOWN)
        self._lock = threading.Lock()

    def knows(self, space_id: str, now: datetime) -> bool:
        with self._lock:
            left = self._moments.get(space_id)
        return left is not None and timedelta() <= now - left < RELIED_ON

    def add(self, space_id: str, now: datetime) -> None:
        with self._lock:
            self._moments[space_id] = now


def leave(process: Process, space_id: str) -> None:
    """Mark that a message comes: 1 PUT, none if this process has done so within the hour."""
    left, now = process.cache(_Left), process.clock()
    if not left.knows(space_id, now):
        _put(process, space_id)
        left.add(space_id, now)


def _put(process: Process, space_id: str) -> None:
    # Its bytes never come twice: else who removes it could not tell one from the next.
    body = documents.dump({"left_by": process.new_id()})
    process.store.put(keys.marker(space_id), body, content_type=documents.JSON)


def listed(process: Process) -> Iterator[str]:
    """The spaces that are marked: 1 LIST per 1,000."""
    for entry in process.store.scan(keys.MARKERS):
        space_id = keys.parse_marker(entry.key)
        if space_id:
            yield space_id


def is_empty(process: Process, space_id: str) -> bool:
    """Whether no room of the space holds anything: 1 LIST."""
    return not next(iter(process.store.scan(keys.rooms_prefix(space_id), limit=1)), None)


def tidy(process: Process, space_id: str) -> bool:
    """Remove the marker where nothing is left, and put it back where it is missing; whether it was removed.

    1 LIST and 1 GET, and for a removal 1 DELETE and 1 LIST.
    """
    empty = is_empty(process, space_id)
    found = process.store.get(keys.marker(space_id))
    if not empty and not found:
        _put(process, space_id)
    if not empty or not found or found.age < KEPT:
        return False
    # What was written before this marker was listed is seen now, and nobody writes who relies on it.
    if not is_empty(process, space_id) or not process.store.delete(keys.marker(space_id), if_match=found.etag):
        return False
    if not is_empty(process, space_id):
        _put(process, space_id)
        return False
    return True
