"""Work that runs beside other work."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

IN_BACKGROUND = "in background"


def in_background(action: Callable[[], None]) -> None:
    """Call `action`, which must not raise, in a thread of its own, and don't wait for it."""
    threading.Thread(target=action, name=IN_BACKGROUND, daemon=True).start()


@contextmanager
def every(action: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call `action`, which must not raise, every so many `seconds` in a thread of its own until the context is left."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(seconds):
            action()

    thread = threading.Thread(target=work, name="every", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
