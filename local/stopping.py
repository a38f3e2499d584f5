"""Being asked to stop, by a signal that may come at any moment.

`threading.Event` does not do: its `set` takes a lock, and a handler runs in the main thread, which may hold that very
lock already, since it is just waiting, or since a second signal interrupts the handler of the first. Then it waits for
itself, for ever. A byte in a pipe takes no lock (signal-safety(7), the self-pipe trick).
"""

import contextlib
import os
import select
import signal


class StopRequest:
    """Whether somebody has asked this process to stop; once asked, it stays so."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        # A full pipe says it as well.
        os.set_blocking(self._writer, False)

    def on_signals(self) -> None:
        """From now on SIGTERM and SIGINT ask."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.ask)

    def ask(self, *_: object) -> None:
        """Ask; from any thread and from a signal handler."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b"\0")

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until somebody asks, at most so many seconds (None: for ever), and return whether somebody did."""
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        return bool(poll.poll(None if seconds is None else seconds * 1_000))


def interrupt(*_: object) -> None:
    """A handler for while nothing waits yet: it raises KeyboardInterrupt once, and the next signal ends the process.

    One that were raised in the midst of cleaning up would leave threads behind, which keep the process alive.
    """
    leave_to_the_system()
    raise KeyboardInterrupt


def interrupt_on_signals() -> None:
    """From now on SIGTERM and SIGINT interrupt the main thread."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupt)


def leave_to_the_system() -> None:
    """From now on SIGTERM and SIGINT end the process at once."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
