"""Which request is broken, and how."""

import random
import threading
from collections import Counter
from dataclasses import dataclass, field

from benchmarks.chaos.door import Call

WEIGHTS = {
    "reset": 20.0,  # it never reached the store
    "answer lost": 25.0,  # the store did it
    "503": 15.0,  # the store did not
    "500 though done": 8.0,
    "slow": 10.0,  # it reaches the store seconds later, and its sender waits
    "slow answer": 10.0,  # a state that is seconds old when it arrives
    "late": 12.0,  # its sender is told that it failed, and it is done later, once
    "hung": 1.0,  # no answer until its sender gives up; done after that
    "kill before": 0.5,  # the runtime dies, and nobody repeats it
    "kill after": 0.5,
}
"""Kinds of faults and how often each comes, relative to the others."""
ONLY_WRITES = ("late", "hung")
OWN_DOCUMENTS = 4.0
"""How many times more often a write is broken that decides something: of heads, leases, runs, plans; and deletions."""
REPEAT_SLOW = 0.5
"""Of the repetitions of a write whose answer was lost, how many travel for long: then the state has moved on."""
STORMS = (0.0, 0.3, 1.0, 1.0, 3.0)
"""What the rate of faults is multiplied by, for a while each."""
LATEST = 90.0
"""Seconds after which a late request is done at the latest."""


@dataclass(frozen=True)
class Fault:
    """What happens to a request, and after how many seconds the delayed part of it."""

    kind: str
    seconds: float = 0.0


@dataclass
class Mischief:
    """Chooses faults by chance. Safe for threads."""

    rate: float
    """The part of all requests that are broken, on average of fair weather."""
    random: random.Random
    on: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    _factor: float = 1.0
    _requests_left: int = 0
    _lost: dict[str, bool] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def choose(self, call: Call) -> Fault | None:
        """What happens to a request to the store; None for most."""
        with self._lock:
            if not self.on:
                return None
            fault = self._repetition(call) or self._by_chance(call)
            if fault:
                self.counts[fault.kind] += 1
                if fault.kind in {"answer lost", "500 though done"} and _writes(call):
                    self._lost[call.header("amz-sdk-invocation-id") or ""] = True
            return fault

    def chance(self, part: float) -> bool:
        """True in this part of the cases."""
        with self._lock:
            return self.on and self.random.random() < part

    def seconds(self, mean: float, most: float = LATEST) -> float:
        """A time: mostly short, sometimes long."""
        with self._lock:
            return min(self.random.expovariate(1 / mean), most)

    def _repetition(self, call: Call) -> Fault | None:
        if not self._lost.pop(call.header("amz-sdk-invocation-id") or "-", False):
            return None
        if self.random.random() >= REPEAT_SLOW:
            return None
        return Fault("slow", self.random.uniform(0.5, 20.0))

    def _by_chance(self, call: Call) -> Fault | None:
        self._requests_left -= 1
        if self._requests_left <= 0:
            self._factor, self._requests_left = self.random.choice(STORMS), self.random.randrange(200, 2_000)
        rate = self.rate * self._factor * (OWN_DOCUMENTS if _decides(call) else 1.0)
        if self.random.random() >= rate:
            return None
        kinds = [kind for kind in WEIGHTS if _writes(call) or kind not in ONLY_WRITES]
        kind = self.random.choices(kinds, [WEIGHTS[kind] for kind in kinds])[0]
        return Fault(kind, self._delay(kind))

    def _delay(self, kind: str) -> float:
        if kind == "hung":
            return self.random.uniform(31.0, 60.0)  # the SDK waits for 30 s
        if kind == "late":
            return min(self.random.expovariate(1 / 10.0), LATEST)
        return self.random.uniform(0.5, 6.0)


def _decides(call: Call) -> bool:
    path = call.target.partition("?")[0]
    return _writes(call) and (call.method in {"POST", "DELETE"} or path.endswith(".json"))


def _writes(call: Call) -> bool:
    return call.method not in {"GET", "HEAD"}
