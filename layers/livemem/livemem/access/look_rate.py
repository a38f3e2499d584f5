"""How often a process looks for what it does not know. So a flood of unknown names costs next to nothing."""

import threading
from collections import deque

from livemem.errors import TooSoon
from livemem.process import Timer

LOOKS_A_SECOND = 5


class LookRate:
    """The looks of the last second that found nothing."""

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

    def require(self) -> None:
        """Raise TooSoon where no look is allowed now. Looks count once they have found nothing (`missed`): many clients
        may come at once.
        """
        with self._lock:
            if len(self._last) == LOOKS_A_SECOND and self._timer() - self._last[0] < 1:
                raise TooSoon("Too many unknown tokens came in this second. Send the request again.", retry_after=1)

    def missed(self) -> None:
        """Count a look that found nothing."""
        with self._lock:
            self._last.append(self._timer())
