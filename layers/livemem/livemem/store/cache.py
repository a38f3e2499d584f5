"""What this process has read and what can't have changed since: one cache for all kinds, bounded in bytes over all.

An entry is known by its key and ETag. Only who has just been shown both by the store (a listing, in the same request)
may ask for it: so what was erased, replaced or deleted is never found, however long it stays in memory.
"""

import sys
import threading
from collections.abc import Iterable
from typing import Any, TypeVar

from cachetools import LRUCache

T = TypeVar("T")

MB = 1024 * 1024

ENTRY_BYTES = 1_500
"""What an entry takes in memory beyond its texts: names, numbers, and its place in the cache."""


class ReadCache:
    """Things that were read, the least recently used of which go first. Safe for threads."""

    def __init__(self, most_bytes: int) -> None:
        self._entries = LRUCache[tuple[type, str, str], tuple[Any, int]](most_bytes, getsizeof=lambda item: item[1])
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Bytes that all its entries take together, about."""
        with self._lock:
            return int(self._entries.currsize)

    def get(self, kind: type[T], key: str, etag: str) -> T | None:
        """What was kept of the object `key` while it had this ETag, if it is of this kind."""
        with self._lock:
            found = self._entries.get((kind, key, etag))
        return found[0] if found else None

    def put(self, key: str, etag: str, value: T, texts: Iterable[str | bytes]) -> T:
        """Keep a value, which nobody may change; `texts` are those of its parts whose length is not known."""
        size = ENTRY_BYTES + sum(sys.getsizeof(text) for text in texts)
        with self._lock:
            if size <= self._entries.maxsize:
                self._entries[type(value), key, etag] = (value, size)
        return value
