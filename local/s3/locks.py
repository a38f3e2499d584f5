"""A lock that many readers or one writer hold."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ReadWriteLock:
    """Readers share; a writer is alone. A waiting writer goes before readers that come later."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._readers = 0
        self._writing = False
        self._writers_waiting = 0

    @contextmanager
    def read(self) -> Iterator[None]:
        """Hold the lock together with other readers. Not reentrant."""
        with self._change:
            while self._writing or self._writers_waiting:
                self._change.wait()
            self._readers += 1
        try:
            yield
        finally:
            with self._change:
                self._readers -= 1
                if not self._readers:
                    self._change.notify_all()

    @contextmanager
    def write(self) -> Iterator[None]:
        """Hold the lock alone. Not reentrant."""
        with self._change:
            self._writers_waiting += 1
            try:
                while self._writing or self._readers:
                    self._change.wait()
            finally:
                self._writers_waiting -= 1
            self._writing = True
        try:
            yield
        finally:
            with self._change:
                self._writing = False
                self._change.notify_all()
