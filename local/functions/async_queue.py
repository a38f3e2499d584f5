"""Asynchronous invocations: taken on durably, tried again after a failure, given up into a folder of dead letters.

The counterpart of Lambda's event queue. Events that wait or run when the runtime ends, in any way, are delivered again
after the next start: at least once, as in Lambda.
"""

import json
import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from datetime import UTC, datetime
from pathlib import Path

from local.files import write_file
from local.functions.invocations import Outcome
from local.functions.pools import FunctionPool, PoolClosedError
from local.spool import Entry, Spool

_log = logging.getLogger(__name__)

RETRY_SECONDS = (60.0, 120.0)
"""Seconds that Lambda waits before the second and the third attempt. A worker that meets another one at the same work
raises, and must not come again before that one is done or surely dead.
"""
# An event that has reached no handler (no environment could be started) has met nobody.
_START_AGAIN_SECONDS = (1.0, 3.0)


class AsyncQueue:
    """Delivers events to function pools. Safe for threads."""

    def __init__(
        self,
        pools: Mapping[str, FunctionPool],
        spool: Spool,
        dead_letters: Path,
        retry_seconds: tuple[float, ...] = RETRY_SECONDS,
        later: Callable[[float, Callable[[], None]], None] | None = None,
    ) -> None:
        """Prepare; `later` calls a function after so many seconds, by default in a thread of its own."""
        self._pools = pools
        self._spool = spool
        self._dead_letters = dead_letters
        self._retry_seconds = retry_seconds
        self._later = later or _call_later
        self._closed = threading.Event()

    def start(self) -> int:
        """Deliver again, in the background, what an earlier runtime left; returns how many events those are."""
        left = self._spool.load()
        self._later(0, lambda: self._deliver_all(left))
        return len(left)

    def accept(self, function_id: str, event: bytes) -> str:
        """Take an event (JSON) on; returns its request id. Raises OSError when the disk refuses it."""
        request_id = str(uuid.uuid4())
        entry = self._spool.add(
            {
                "function": function_id,
                "request_id": request_id,
                "accepted_at": _now(),
                "event": json.loads(event),
            }
        )
        self._deliver(entry, attempt=1)
        return request_id

    def close(self) -> None:
        """Start no further attempt. Entries that are not finished stay on disk."""
        self._closed.set()

    def _deliver_all(self, left: list[Entry]) -> None:
        for entry in left:
            try:
                self._deliver(entry, attempt=1)
            except OSError:
                _log.exception("%s: left for the next start", entry.name)

    def _deliver(self, entry: Entry, attempt: int) -> None:
        if self._closed.is_set():
            return
        pool = self._pools.get(entry.content["function"])
        if pool is None:
            self._give_up(entry, 0, '{"errorType": "ResourceNotFoundException", "errorMessage": "no such function"}')
            return
        event = json.dumps(entry.content["event"], ensure_ascii=False).encode()
        future = pool.submit(event, asynchronous=True, request_id=entry.content["request_id"])
        future.add_done_callback(lambda done: self._settle(entry, attempt, done))

    def _settle(self, entry: Entry, attempt: int, done: "Future[Outcome]") -> None:
        try:
            outcome = done.result()
        except (PoolClosedError, CancelledError):
            return
        if not outcome.failed:
            self._spool.remove(entry)
            return
        pool = self._pools[entry.content["function"]]
        if attempt > pool.function.retries:
            self._give_up(entry, attempt, outcome.payload.decode("utf-8", "replace"))
            return
        pauses = self._retry_seconds if outcome.begun else _START_AGAIN_SECONDS
        delay = pauses[min(attempt, len(pauses)) - 1]
        self._later(delay, lambda: self._deliver(entry, attempt + 1))

    def _give_up(self, entry: Entry, attempts: int, error: str) -> None:
        folder = self._dead_letters / entry.content["function"]
        self._dead_letters.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        letter = entry.content | {"failed_at": _now(), "attempts": attempts, "error": json.loads(error)}
        path = folder / f"{entry.content['request_id']}.json"
        write_file(path, json.dumps(letter, indent=2, ensure_ascii=False).encode())
        self._spool.remove(entry)
        _log.error("%s: given up after %d attempts, event kept in %s", entry.content["function"], attempts, path)


def _call_later(seconds: float, call: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
