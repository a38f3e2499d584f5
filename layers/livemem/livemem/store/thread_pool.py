"""Several requests at once."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from livemem.background import in_context

T = TypeVar("T")


R = TypeVar("R")


class ThreadPool:
    """Up to `threads` threads that work at once, one of them the caller's own. They are started when first needed."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="store")

    def map(self, function: Callable[[T], R], todo: Sequence[T]) -> list[R]:
        """`function` of each item, in order of the items. The first error is raised."""
        if self._threads == 1 or len(todo) < 2:
            return [function(item) for item in todo]
        work = _Work(function, todo)
        helpers = [self._pool.submit(in_context(work.do)) for _ in range(min(self._threads, len(todo)) - 1)]
        work.do()
        for helper in helpers:
            # A helper that has not begun would find no items.
            if not helper.cancel():
                helper.result()
        return work.results()


class _Work(Generic[T, R]):
    """A list that several threads work off, each taking the next item."""

    def __init__(self, function: Callable[[T], R], todo: Sequence[T]) -> None:
        self._function = function
        self._todo = todo
        self._next = iter(range(len(todo)))
        self._lock = threading.Lock()
        self._done: dict[int, R] = {}
        self._failed: dict[int, BaseException] = {}

    def do(self) -> None:
        """Take items until none is left, or one has failed."""
        while True:
            with self._lock:
                index = None if self._failed else next(self._next, None)
            if index is None:
                return
            try:
                self._done[index] = self._function(self._todo[index])
            except BaseException as error:  # noqa: BLE001 - it is raised by `results`
                self._failed[index] = error

    def results(self) -> list[R]:
        """The results in the order of the items. Raises the error of the first that failed."""
        if self._failed:
            raise self._failed[min(self._failed)]
        return [self._done[index] for index in range(len(self._todo))]
