"""Small caches of one process, for what many of its requests ask again."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class TimedCache(Generic[V]):
    """At most `size` values, each for `seconds` after it was put in."""

    def __init__(self, seconds: float, *, size: int = 1_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._size = size
        self._clock = clock
        self._values: dict[Hashable, tuple[float, V]] = {}

    def get(self, key: Hashable) -> V | None:
        """The value, or None where there is none that is young enough."""
        found = self._values.get(key)
        return found[1] if found and self._clock() - found[0] < self._seconds else None

    def put(self, key: Hashable, value: V) -> V:
        """Keep `value` and return it; the oldest entry goes when there are too many."""
        self._values.pop(key, None)
        if len(self._values) >= self._size:
            self._values.pop(next(iter(self._values)))
        self._values[key] = (self._clock(), value)
        return value

    def drop(self, key: Hashable) -> None:
        """Forget one entry."""
        self._values.pop(key, None)


class SizedCache(Generic[V]):
    """Values whose sizes, as given, add up to `capacity` at most; what was not asked for longest goes first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._total = 0
        self._values: OrderedDict[Hashable, tuple[int, V]] = OrderedDict()

    def get(self, key: Hashable) -> V | None:
        """The value, or None."""
        found = self._values.get(key)
        if not found:
            return None
        self._values.move_to_end(key)
        return found[1]

    def put(self, key: Hashable, value: V, size: int) -> V:
        """Keep `value`, unless it alone is too large, and return it."""
        earlier = self._values.pop(key, None)
        self._total += size - (earlier[0] if earlier else 0)
        self._values[key] = (size, value)
        while self._total > self._capacity:
            _, (gone, _) = self._values.popitem(last=False)
            self._total -= gone
        return value

    def clear(self) -> None:
        """Forget everything."""
        self._values.clear()
        self._total = 0
