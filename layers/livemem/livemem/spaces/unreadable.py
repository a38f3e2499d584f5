"""Objects of a space that cannot be read: one error for all of them, and a marker that health and the sweep look at.

`_pending/unreadable/{key}`, the key in one part (`demo%2F_runs%2F...`), says that somebody met such an object. A marker
is a hint: who meets an object that cannot be read leaves it, and the daily sweep looks for more. Each sweep lists these
markers with the others, and removes those of objects that are mended or gone. So one LIST tells health of all spaces,
and no space is read for it.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TypeVar

from cachetools import TTLCache

from livemem import clock
from livemem.errors import LiveMemoryError, ObjectUnreadable
from livemem.process import Process, Timer
from livemem.store import documents, keys
from livemem.store.documents import Document
from livemem.store.objects import Object

D = TypeVar("D", bound=Document)

KNOWN_SECONDS = 600
"""For which a process does not leave a marker again."""
KNOWN_OBJECTS = 10_000
MOST = 1_000
"""Markers that one look lists: one request."""
MEND = (
    "An admin can set it aside (`livemem repair`), so that the rest goes on, or put back an earlier version of it from "
    "the bucket's versions or from a backup."
)


class _Left:
    """The objects that this process has left a marker for just now."""

    def __init__(self, timer: Timer) -> None:
        self._keys = TTLCache[str, bool](KNOWN_OBJECTS, KNOWN_SECONDS, timer)
        self._lock = threading.Lock()

    def is_new(self, key: str) -> bool:
        with self._lock:
            return key not in self._keys

    def add(self, key: str) -> None:
        with self._lock:
            self._keys[key] = True

    def drop(self, key: str) -> None:
        with self._lock:
            self._keys.pop(key, None)


def error(key: str, kind: type[ObjectUnreadable] = ObjectUnreadable) -> ObjectUnreadable:
    """The error for the object with this key of the bucket."""
    return kind(f"The object {key!r} cannot be read: it was changed or damaged in the bucket. {MEND}", key=key)


def set_aside(key: str, kind: type[ObjectUnreadable] = ObjectUnreadable) -> ObjectUnreadable:
    """The error for an object that was under this key, and was set aside."""
    return kind(
        f"The object {key!r} could not be read and was set aside; `livemem repair` tells where it is kept, and puts it "
        "back.",
        key=key,
    )


def parsed(process: Process, kind: type[D], found: Object, raised: type[ObjectUnreadable] = ObjectUnreadable) -> D:
    """The document in an object. Raises `raised`, an ObjectUnreadable, and leaves a marker: 1 PUT, where it is none."""
    try:
        return kind.from_bytes(found.body)
    except ValueError as bad:
        leave(process, found.key)
        raise error(found.key, raised) from bad


def tolerated(process: Process, kind: type[D], found: Object, missing: list[str] | None = None) -> D | None:
    """The document, or None where it cannot be read: for who goes on without. Leaves a marker then: 1 PUT, and adds the
    key to `missing`, for a list that would be silently short.
    """
    try:
        return parsed(process, kind, found)
    except ObjectUnreadable:
        if missing is not None:
            missing.append(found.key)
        return None


def leave(process: Process, key: str) -> None:
    """Leave a marker: 1 PUT, none if this process did so in the last ten minutes. Never fails."""
    left, marker = process.cache(_Left), keys.unreadable(key)
    if keys.parse_unreadable(marker) is None or not left.is_new(key):
        return
    body = documents.dump({"met_at": clock.iso_millis(process.clock())})
    # What it belongs to is worth more than the marker.
    with suppress(LiveMemoryError):
        process.store.put(marker, body, content_type=documents.JSON)
        left.add(key)


def remove(process: Process, key: str) -> None:
    """Remove the marker of an object: 1 DELETE. Never fails: the next sweep does it."""
    process.cache(_Left).drop(key)
    with suppress(LiveMemoryError):
        process.store.delete(keys.unreadable(key))


def listed(process: Process) -> Mapping[str, list[str]]:
    """The keys of the objects that have a marker, by space: 1 LIST; the first 1,000."""
    found: dict[str, list[str]] = {}
    for key in objects(entry.key for entry in process.store.scan(keys.UNREADABLE, limit=MOST)):
        found.setdefault(key.partition("/")[0], []).append(key)
    return found


def objects(markers: Iterable[str]) -> Iterator[str]:
    """The keys of the objects of those of the keys that are markers of this kind."""
    return (key for marker in markers if (key := keys.parse_unreadable(marker)) is not None)
