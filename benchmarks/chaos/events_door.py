"""Stands between the store's put events and the Invoke API: loses some events, doubles some, delays some."""

import queue
import threading
import time
from collections import Counter

from benchmarks.chaos.door import Answer, Backend, Call, Door
from benchmarks.chaos.logs import Log
from benchmarks.chaos.mischief import Mischief

LOST, DOUBLED, SLOW = 0.04, 0.08, 0.04
_AGAIN_SECONDS = 8.0
_PAUSE_SECONDS = 0.2


class Sender:
    """Sends put events to an Invoke API until that takes them on, as a store does that keeps them."""

    def __init__(self, address: str) -> None:
        """Prepare; `address` is host:port."""
        self._backend = Backend(address, timeout=40.0)
        self._waiting: queue.SimpleQueue[Call] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="sender", daemon=True).start()

    def accept(self, function: str, event: bytes) -> None:
        """Send an event to a function."""
        headers = (("Content-Type", "application/json"), ("X-Amz-Invocation-Type", "Event"))
        self._waiting.put(Call("POST", f"/2015-03-31/functions/{function}/invocations", headers, event, 0))

    def waiting(self) -> int:
        """How many are still to be sent."""
        return self._waiting.qsize()

    def _run(self) -> None:
        while True:
            call = self._waiting.get()
            while not self._is_taken(call):
                time.sleep(_PAUSE_SECONDS)

    def _is_taken(self, call: Call) -> bool:
        try:
            return self._backend.ask(call).status < 300
        except OSError:
            return False


class EventsDoor:
    """The relay. Its address has the same paths as the Invoke API."""

    def __init__(self, address: str, mischief: Mischief, log: Log) -> None:
        """Prepare; `address` is host:port of the runtime."""
        self.counts: Counter[str] = Counter()
        self._backend = Backend(address, timeout=40.0)
        self._mischief = mischief
        self._log = log
        self._lock = threading.Lock()
        self._late = 0
        self.door = Door(self._answer)

    def outstanding(self) -> int:
        """How many doubles are still to be delivered."""
        with self._lock:
            return self._late

    def _answer(self, call: Call) -> Answer | None:
        if self._mischief.chance(LOST):
            self._tell("lost", call)
            return Answer(202)
        if self._mischief.chance(SLOW):
            self._tell("slow", call)
            time.sleep(self._mischief.seconds(1.0, 5.0))
        answer = self._hand_on(call)
        if answer and self._mischief.chance(DOUBLED):
            self._tell("doubled", call)
            with self._lock:
                self._late += 1
            timer = threading.Timer(self._mischief.seconds(_AGAIN_SECONDS, 60.0), self._again, (call,))
            timer.daemon = True
            timer.start()
        return answer

    def _again(self, call: Call) -> None:
        self._hand_on(call)
        with self._lock:
            self._late -= 1

    def _hand_on(self, call: Call) -> Answer | None:
        try:
            answer = self._backend.ask(call)
        except OSError:
            return None  # the store keeps the event and tries again
        with self._lock:
            self.counts["delivered"] += 1
        return answer

    def _tell(self, what: str, call: Call) -> None:
        with self._lock:
            self.counts[what] += 1
        self._log.write(t=self._log.now(), what=what, event=call.body.decode("utf-8", "replace")[:2_000])
