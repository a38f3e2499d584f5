"""How long the model takes for an answer, as a process has seen it last.

A request asks the model itself only where the answer can be expected before the request's time is over. Otherwise an
invocation that has the time asks, and the request waits for it. So no call is cut off, and then paid for again.
"""

from collections import deque

from livemem.process import Timer

KNOWN = 3
"""Answers, the last ones, that count."""
HEADROOM = 1.5
"""The next answer may take so many times as long as the longest of these."""


class Pace:
    """Seconds of the last answers. Nothing fits where none is known."""

    def __init__(self, _: Timer) -> None:
        self._took = deque[float](maxlen=KNOWN)

    def add(self, seconds: float) -> None:
        """Count an answer, or how long none has come."""
        self._took.append(seconds)

    def fits(self, seconds: float) -> bool:
        """Whether an answer can be expected within so many seconds."""
        return bool(self._took) and seconds >= HEADROOM * max(self._took)
