"""What is counted: requests, bytes, rates by prefix, and what AWS takes for it (docs/deploy.md, "What it costs")."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.scale.virtual import Schedule
from tests.support.counting import NAMES, WRITES

PRICES = {"PUT": 5e-6, "LIST": 5e-6, "COPY": 5e-6, "GET": 4e-7, "HEAD": 4e-7, "DELETE": 0.0, "DeleteObjects": 0.0}
"""Dollars of a request (us-east-1, November 2026)."""
INVOCATION, GB_SECOND, HTTP_REQUEST, LOG_LINE = 2e-7, 1.33334e-5, 1e-6, 5e-7
"""Dollars of an invocation, of a GB-second (arm64), of a request to the HTTP API, and of 1 kB of logs."""
ENTRY_BYTES = 300
"""Bytes of an entry in the answer of a listing, about."""


def dollars(requests: Mapping[str, int]) -> float:
    """What S3 takes for requests by verb."""
    return sum(PRICES.get(verb, 5e-6) * count for verb, count in requests.items())


class Tally:
    """Requests by who made them, and the most in one second below one prefix."""

    def __init__(self) -> None:
        self.requests: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.bytes: Counter[str] = Counter()
        self.peaks: dict[str, dict[str, int]] = {"reads": {}, "writes": {}}
        """The most reads, and writes, in one second below each prefix."""
        self.owned: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        """The same by who made them, and by the sort of space that they are about (`owner`)."""
        self.owner: Callable[[str], str] = lambda _: ""
        self.most: dict[str, int] = {}
        """Reads and writes that one prefix takes in a second. Empty: any number."""
        self.throttled = 0
        self._second, self._now = -1, Counter[tuple[str, str]]()

    def count(self, who: str, name: str, key: str, size: int, now: float) -> None:
        """Take note of one request."""
        self.requests[who][NAMES[name]] += 1
        self.bytes[who] += size
        self.owned[who, self.owner(key)][NAMES[name]] += 1
        self._begin(now)
        self._now[_what(name), key.partition("/")[0]] += 1

    def is_full(self, name: str, key: str, now: float) -> bool:
        """Whether S3 refuses a request (503 SlowDown), since its prefix has had too many in this second."""
        self._begin(now)
        most = self.most.get(_what(name))
        return most is not None and self._now[_what(name), key.partition("/")[0]] >= most

    def _begin(self, now: float) -> None:
        if int(now) != self._second:
            self.close()
            self._second = int(now)

    def close(self) -> None:
        """End the present second."""
        for (what, prefix), count in self._now.items():
            self.peaks[what][prefix] = max(self.peaks[what].get(prefix, 0), count)
        self._now.clear()


def _what(name: str) -> str:
    return "writes" if name in WRITES else "reads"


class TimedClient:
    """An S3 client whose requests take `seconds`, and longer for many bytes. `cpu`: how much slower the function's
    machine computes than this one; 0 counts no computing. `heard` is called for each object that was put.
    """

    def __init__(
        self,
        inner: Any,
        schedule: Schedule,
        tally: Tally,
        who: str,
        seconds: float,
        *,
        cpu: float = 0,
        mb: float = 60,
        heard: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._inner, self._schedule, self._tally = inner, schedule, tally
        self._seconds, self._cpu, self._rate = seconds, cpu, mb * 1_000_000
        self._heard = heard
        self.who = who

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._inner, name)
        if name not in NAMES:
            return inner

        def call(**arguments: Any) -> Any:
            body = arguments.get("Body", b"")
            if hasattr(body, "read"):
                body = arguments["Body"] = body.read()
            spent = (time.perf_counter() - self._schedule.resumed) * self._cpu
            self._schedule.sleep(self._seconds + spent + len(body) / self._rate)
            while self._tally.is_full(name, _key(arguments), self._schedule.now):
                # As the SDK does it.
                self._tally.throttled += 1
                self._schedule.sleep(1.0)
            try:
                answer = inner(**arguments)
            except Exception:
                self._count(name, arguments, len(body))
                raise
            size = len(body) + answer.get("ContentLength", 0) * (name == "get_object")
            size += ENTRY_BYTES * (len(answer.get("Contents", ())) + len(answer.get("CommonPrefixes", ())))
            self._count(name, arguments, size)
            if name == "put_object":
                self._heard(arguments["Key"])
            if name == "get_object" and answer["ContentLength"] > 100_000:
                self._schedule.sleep(answer["ContentLength"] / self._rate)
            return answer

        setattr(self, name, call)
        return call

    def _count(self, name: str, arguments: Mapping[str, Any], size: int) -> None:
        self._tally.count(self.who, name, _key(arguments), size, self._schedule.now)


def _key(arguments: Mapping[str, Any]) -> str:
    return str(arguments.get("Key", arguments.get("Prefix", "")))
