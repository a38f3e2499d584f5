"""Markers that tell the sweep when a conversation may be due: an object without content, in steps of five minutes."""

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta

from cachetools import LRUCache

from livemem.conversations.parameters import Parameters
from livemem.process import Process, Timer
from livemem.store import conversation_keys as keys
from livemem.store import documents, timing

MOST_KNOWN = 10_000
LOST_AFTER = timedelta(minutes=5)
"""After which a turn whose event never came is looked at by the sweep."""
KEPT = timing.REPEATED + timing.APART + timing.MARGIN
"""For which a marker stays when its time has come: until then the turn that it tells of may still be written (by a
request that hangs), and its time is of another clock.
"""


class _Written:
    """Markers that this process has written, a short time ago."""

    def __init__(self, _: Timer) -> None:
        self._keys = LRUCache[str, bool](MOST_KNOWN)
        self._lock = threading.Lock()

    def has(self, key: str) -> bool:
        with self._lock:
            return key in self._keys

    def add(self, key: str) -> None:
        with self._lock:
            self._keys[key] = True


def mark(process: Process, space_id: str, conversation_id: str, parameters: Parameters) -> None:
    """Mark that a turn comes: the conversation may be due when its pause is over. 1 PUT, none if this process has
    marked it in the same five minutes.
    """
    pause = timedelta(milliseconds=parameters.flush_after_ms)
    mark_at(process, space_id, conversation_id, process.clock() + max(pause, LOST_AFTER))


def mark_at(process: Process, space_id: str, conversation_id: str, moment: datetime) -> None:
    """Mark that the conversation is to be looked at from `moment` on."""
    key, written = keys.due(space_id, conversation_id, moment), process.cache(_Written)
    if not written.has(key):
        process.store.put(key, b"", content_type=documents.JSON)
        written.add(key)


def listed(process: Process) -> Iterator[tuple[str, str, str]]:
    """Key, space and conversation of each marker whose time has come, the oldest first: 1 LIST per 1,000."""
    for entry in process.store.scan(keys.DUE, stop=keys.due_after(process.clock())):
        parsed = keys.parse_due(entry.key)
        if parsed:
            yield entry.key, *parsed


def clear(process: Process, markers: list[str]) -> None:
    """Remove markers of a conversation in which nothing is to be done, those whose time has come for long: 1
    DeleteObjects, none where there are none.
    """
    old = [one for one in markers if one < keys.due_after(process.clock() - KEPT)]
    if old:
        process.store.delete_many(old)
