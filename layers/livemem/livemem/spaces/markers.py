"""Markers of the spaces in which something may wait, so that a sweep need not look at those at rest.

`_pending/{space}` says "look at this space". Whoever begins what another may have to finish leaves it first: the
counter for a put event, a run ordered by hand, a change by hand, a deletion, the sweep itself; not the worker, whose
run was marked when it was queued. `_pending/{space}@{time}` says of a space at rest of when its oldest note is that
waits for others to come: so a listing alone tells how long notes wait.

A marker is a hint. One that is lost costs time, until the daily look at all spaces; one too many costs a look.

None is lost while all goes well. The sweep removes a marker if the space, looked at after the listing, is at rest; only
if it was listed KEPT_FOR after it was written, by the store's clock; and only that very one (its bytes never come
twice). Who left it relies on it for KNOWN_SECONDS at most, and has begun and ended its work within a function's half
minute after that: so when the marker is listed for the last time all that it stands for is in the bucket, also what
came late, and nobody relies on it any more. Who comes later leaves another one, and the removal of the first one fails.
Where a store ignores If-Match on DELETE (docs/stores.md), the new one may be removed with it.
"""

import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cachetools import TTLCache

from livemem import clock
from livemem.errors import StoreUnavailable
from livemem.process import Process, Timer
from livemem.store import documents, keys, timing
from livemem.store.objects import Entry

KNOWN_SECONDS = 600
"""For which a process does not leave a marker again."""
KNOWN_SPACES = 10_000

KEPT_FOR = timedelta(seconds=KNOWN_SECONDS) + timing.MARGIN + timing.REPEATED
"""Age at which a marker may go: it is relied on, then there is the work itself, then a request that comes late."""


class _Left:
    """The spaces that this process has marked just now."""

    def __init__(self, timer: Timer) -> None:
        self._spaces = TTLCache[str, bool](KNOWN_SPACES, KNOWN_SECONDS, timer)
        self._lock = threading.Lock()

    def knows(self, space_id: str) -> bool:
        with self._lock:
            return space_id in self._spaces

    def add(self, space_id: str) -> None:
        with self._lock:
            self._spaces[space_id] = True


@dataclass(frozen=True)
class Marks:
    """The markers of one space, as they were listed: the one that asks for a look, and those that tell a time."""

    plain: Entry | None = None
    waiting: dict[datetime, Entry] = field(default_factory=dict)


def leave(process: Process, space_id: str) -> None:
    """Mark the space for the sweep: 1 PUT, none if this process did so in the last ten minutes. Never fails."""
    left = process.cache(_Left)
    if left.knows(space_id):
        return
    # What it belongs to is worth more than the marker.
    with suppress(StoreUnavailable):
        _write(process, keys.marker(space_id))
        left.add(space_id)


def listed(process: Process, others: list[str] | None = None) -> Mapping[str, Marks]:
    """All markers by space: 1 LIST per 1,000. What is none is left out, and its key is added to `others`."""
    found: dict[str, Marks] = {}
    for entry in process.store.scan(keys.MARKERS):
        parsed = keys.parse_marker(entry.key)
        if not parsed:
            if others is not None:
                others.append(entry.key)
            continue
        space_id, oldest = parsed
        before = found.get(space_id, Marks())
        found[space_id] = (
            Marks(before.plain, {**before.waiting, oldest: entry}) if oldest else Marks(entry, before.waiting)
        )
    return found


def rest(process: Process, space_id: str, marks: Marks, oldest: datetime | None) -> None:
    """Put the markers right of a space in which nothing is to be done; `oldest` is the time of its oldest note that
    waits. No request where they are right, or too young to go. Never fails.
    """
    if marks.plain and marks.plain.age < KEPT_FOR:
        return
    with suppress(StoreUnavailable):
        if oldest and oldest not in marks.waiting:
            _write(process, keys.waiting_marker(space_id, oldest))
        stale = [entry for moment, entry in marks.waiting.items() if moment != oldest]
        # Last: who dies before has to look again.
        for entry in [*stale, *([marks.plain] if marks.plain else [])]:
            process.store.delete(entry.key, if_match=entry.etag)


def _write(process: Process, key: str) -> None:
    told = {"id": process.new_id(), "left_at": clock.iso_millis(process.clock())}
    process.store.put(key, json.dumps(told).encode(), content_type=documents.JSON)
