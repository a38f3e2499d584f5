"""How often a process looks for what it does not know. So a flood of unknown names costs next to nothing."""

import threading
from collections import deque

from livemem.process import Timer

LOOKS_A_SECOND = 5


class LookRate:
    """The looks of the last second."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._last = deque[float](maxlen=LOOKS_A_SECOND)
        self._lock = threading.Lock()

    def allowed(self) -> bool:
        """Whether one more look is allowed now. Counts it if it is."""
        now = self._timer()
        with self._lock:
            if len(self._last) == LOOKS_A_SECOND and now - self._last[0] < 1:
                return False
            self._last.append(now)
            return True
