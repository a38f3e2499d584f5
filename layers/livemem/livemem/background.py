"""Work that runs beside other work."""

import contextvars
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

T = TypeVar("T")

IN_BACKGROUND = "in background"


def in_context(action: Callable[[], T]) -> Callable[[], T]:
    """`action`, to be called once in another thread as a part of the present work: its trace, its deadline."""
    return partial(contextvars.copy_context().run, action)


def in_background(action: Callable[[], None]) -> None:
    """Call `action`, which must not raise, in a thread of its own, and don't wait for it."""
    threading.Thread(target=in_context(action), name=IN_BACKGROUND, daemon=True).start()


@contextmanager
def every(action: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call `action`, which must not raise, every so many `seconds` in a thread of its own until the context is left."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(seconds):
            action()

    thread = threading.Thread(target=in_context(work), name="every", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def within(seconds: float, request: Callable[[], T]) -> T:
    """The result of the request. Raises TimeoutError if it takes longer in all.

    For requests without such a limit: an HTTP client's own is for each read, and a name is resolved without one.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(request())
        except Exception as error:  # noqa: BLE001 - it is raised below
            outcome.set_exception(error)

    # The caller does not wait for a late thread. An HTTP client is closed then, and its next read fails.
    threading.Thread(target=in_context(run), daemon=True).start()
    return outcome.result(seconds)
