"""Objects that this process has read and that can't have changed since: one cache for all kinds, with one bound in
bytes.

An entry is identified by its key and ETag. A caller may only ask for it after the store has just returned both (by a
listing, in the same request). So an erased, replaced or deleted object is never found, even while it stays in memory.
"""

import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from math import inf
from typing import Any, Generic, TypeVar

from cachetools import LRUCache, TTLCache

K = TypeVar("K")
T = TypeVar("T")

MB = 1024 * 1024

ENTRY_BYTES = 1_500
"""Memory that an entry takes beyond its texts: names, numbers, and its place in the cache."""


class ReadCache:
    """A cache of values that were read. It drops the least recently used ones first. Safe for threads."""

    def __init__(self, most_bytes: int) -> None:
        self._entries = LRUCache[tuple[type, str, str], tuple[Any, int]](most_bytes, getsizeof=lambda item: item[1])
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """The bytes that all entries take together, approximately."""
        with self._lock:
            return int(self._entries.currsize)

    def get(self, kind: type[T], key: str, etag: str) -> T | None:
        """The value kept for the object `key` with this ETag, if it is of this kind, else None."""
        with self._lock:
            value = self._entries.get((kind, key, etag))
        return value[0] if value else None

    def put(self, key: str, etag: str, value: T, texts: Iterable[str | bytes]) -> T:
        """Keep a value, which no caller may change afterwards. `texts` are its parts whose length is not known."""
        size = ENTRY_BYTES + sum(sys.getsizeof(text) for text in texts)
        with self._lock:
            if size <= self._entries.maxsize:
                self._entries[type(value), key, etag] = (value, size)
        return value


class TimedCache(Generic[K, T]):
    """Values for some seconds each, or until there is no room. It drops the least recently used ones first. Safe for
    threads. `size` is that of a value, of which `most` fit together; None: each counts one.
    """

    def __init__(
        self,
        most: float,
        timer: Callable[[], float],
        *,
        seconds: float = inf,
        size: Callable[[T], float] | None = None,
    ) -> None:
        self._entries = TTLCache[K, T](most, seconds, timer, size)
        self._lock = threading.Lock()

    def __contains__(self, key: K) -> bool:
        with self._lock:
            return key in self._entries

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)

    def get(self, key: K) -> T | None:
        """The value of a key."""
        with self._lock:
            return self._entries.get(key)

    def put(self, key: K, value: T) -> T:
        """Keep a value, unless it alone is too large."""
        with self._lock, suppress(ValueError):
            self._entries[key] = value
        return value

    def notes(self, key: K, value: T) -> bool:
        """Whether another value is kept, or none. From now on it is this one."""
        with self._lock:
            if key in self._entries and self._entries[key] == value:
                return False
            self._entries[key] = value
        return True

    def pop(self, key: K) -> None:
        """Forget the value of a key."""
        with self._lock:
            self._entries.pop(key, None)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._entries.clear()
