"""Virtual time: pieces of work run beside each other, and each waits for its requests without a real second passing.

A piece of work is a greenlet. It waits in `sleep`, which every request to the store and every call of the LLM goes
through. So what two workers see of each other is what they would see in the order of these moments.
"""

import heapq
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

from tests.support.world import HandClock

T = TypeVar("T")
R = TypeVar("R")


class Schedule:
    """What happens when. `now` counts seconds from the beginning; the clock of the world follows it."""

    def __init__(self, clock: HandClock) -> None:
        self.now = 0.0
        self.resumed = time.perf_counter()
        """When the present piece of work went on, in real time."""
        self._clock, self._start = clock, clock.moment
        self._heap: list[tuple[float, int, Any]] = []
        self._order = itertools.count()
        self._hub = getcurrent()

    def begin(self, moment: datetime) -> None:
        """Count from this moment."""
        self._start, self._clock.moment, self.now = moment, moment, 0.0

    def at(self, seconds: float, work: Callable[[], Any]) -> None:
        """Let a piece of work begin at this second."""
        heapq.heappush(self._heap, (max(seconds, self.now), next(self._order), work))

    def sleep(self, seconds: float) -> None:
        """Let the present piece of work wait. Outside of all pieces of work no time passes."""
        own = getcurrent()
        if own is not self._hub:
            heapq.heappush(self._heap, (self.now + max(seconds, 0.0), next(self._order), own))
            self._hub.switch()

    def run(self, until: float) -> None:
        """Do everything up to this second."""
        while self._heap and self._heap[0][0] <= until:
            self.now, _, next_one = heapq.heappop(self._heap)
            self._clock.moment = self._start + timedelta(seconds=self.now)
            self.resumed = time.perf_counter()
            if isinstance(next_one, greenlet):
                next_one.switch()
            else:
                greenlet(next_one, self._hub).switch()
        self.now = max(self.now, until)
        self._clock.moment = self._start + timedelta(seconds=self.now)

    @property
    def waiting(self) -> int:
        """Pieces of work that are to go on."""
        return len(self._heap)

    def map(self, function: Callable[[T], R], todo: Sequence[T], threads: int) -> list[R]:
        """`function` of each item, `threads` at once. The first error is raised when all have ended."""
        own = getcurrent()
        if own is self._hub or len(todo) < 2:
            return [function(item) for item in todo]
        results: dict[int, R] = {}
        errors: dict[int, BaseException] = {}
        left, items = [min(threads, len(todo))], iter(range(len(todo)))

        def work() -> None:
            for index in items:
                if errors:
                    break
                try:
                    results[index] = function(todo[index])
                except BaseException as error:  # noqa: BLE001 - it is raised below
                    errors[index] = error
            left[0] -= 1
            if not left[0]:
                heapq.heappush(self._heap, (self.now, next(self._order), own))

        for _ in range(left[0]):
            self.at(self.now, work)
        self._hub.switch()
        if errors:
            raise errors[min(errors)]
        return [results[index] for index in range(len(todo))]

    @contextmanager
    def every(self, action: Callable[[], None], seconds: float) -> Iterator[None]:
        """Call `action` every so many seconds until the end of the block."""
        ended: list[bool] = []

        def beat() -> None:
            if not ended:
                action()
                self.at(self.now + seconds, beat)

        self.at(self.now + seconds, beat)
        try:
            yield
        finally:
            ended.append(True)


@dataclass
class VirtualLock:
    """A lock that pieces of work wait for in virtual time. A lock of threads would stop all of them."""

    schedule: Schedule
    taken: bool = False

    def __enter__(self) -> None:
        while self.taken:
            self.schedule.sleep(0.01)
        self.taken = True

    def __exit__(self, *_: object) -> None:
        self.taken = False


@dataclass(frozen=True)
class Pool:
    """The threads of a process's store, in virtual time."""

    schedule: Schedule
    threads: int = 16

    def map(self, function: Callable[[T], R], todo: Sequence[T]) -> list[R]:
        """As the store's pool does it."""
        return self.schedule.map(function, todo, self.threads)
