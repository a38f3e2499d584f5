"""A small cache whose entries live for a time, for what every request of one process asks again."""

import time
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
