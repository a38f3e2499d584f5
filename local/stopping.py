"""Being asked to stop, by a signal that may come at any moment.

`threading.Event` does not do: its `set` takes a lock, and a handler runs in the main thread, which may hold that very
lock already, since it is just waiting, or since a second signal interrupts the handler of the first. Then it waits for
itself, for ever. A plain attribute takes no lock.
"""

import signal
import time
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGBREAK") if hasattr(signal, name))
"""What asks a program to end: `kill`, Ctrl-C, and on Windows Ctrl-Break."""
_PAUSE = 0.05


class StopRequest:
    """Whether somebody has asked this process to stop; once asked, it stays so."""

    def __init__(self) -> None:
        self._asked = False

    def ask(self, *_: object) -> None:
        """Ask; from any thread and from a signal handler."""
        self._asked = True

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until somebody asks, at most so many seconds (None: for ever), and return whether somebody did."""
        end = None if seconds is None else time.monotonic() + seconds
        while not self._asked and (end is None or time.monotonic() < end):
            time.sleep(_PAUSE)
        return self._asked


def on_signals(handler: Any) -> None:
    """From now on SIGNALS call it: `StopRequest.ask`, `interrupt` while nothing waits yet, or SIG_DFL, which ends the
    process at once.
    """
    for number in SIGNALS:
        signal.signal(number, handler)


def interrupt(*_: object) -> None:
    """A handler that raises KeyboardInterrupt once, and the next signal ends the process.

    One that were raised in the midst of cleaning up would leave threads behind, which keep the process alive.
    """
    on_signals(signal.SIG_DFL)
    raise KeyboardInterrupt
