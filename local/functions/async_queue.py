"""Asynchronous invocations: taken on durably, tried again after a failure, given up into a folder of dead letters.

The counterpart of Lambda's event queue. Events that wait or run when the runtime ends, in any way, are delivered again
after the next start: at least once, as in Lambda. Each is a file, named by its time.
"""

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from functools import partial
from pathlib import Path
from typing import Any

from livemem import clock
from local.files import write_file
from local.functions.invocations import Outcome
from local.functions.pools import FunctionPool, PoolClosedError

_log = logging.getLogger(__name__)

RETRY_SECONDS = (60.0, 120.0)
"""Seconds that Lambda waits before the second and the third attempt. A worker that meets another one at the same work
raises, and must not come again before that one is done or surely dead.
"""
# An event that has reached no handler (no environment could be started) has met nobody.
_START_AGAIN_SECONDS = (1.0, 3.0)


Later = Callable[[float, Callable[[], object]], object]
"""Calls a function after so many seconds."""


def gather(root: Path, target: Path) -> None:
    """Move what waits in the queues of a data folder, its own and its workers', to the queue of one of them."""
    (target / "queue").mkdir(mode=0o700, parents=True, exist_ok=True)
    for entry in [*root.glob("queue/*.json"), *root.glob("workers/*/queue/*.json")]:
        if entry.parent.parent != target:
            name = entry.name
            while (target / "queue" / name).exists():
                name = f"{name.removesuffix('.json')}0.json"
            entry.rename(target / "queue" / name)


class AsyncQueue:
    """Delivers events to function pools. Safe for threads; two processes never share a folder."""

    def __init__(
        self,
        pools: Mapping[str, FunctionPool],
        folder: Path,
        dead_letters: Path,
        later: Later,
        retry_seconds: tuple[float, ...] = RETRY_SECONDS,
    ) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._pools, self._folder, self._dead_letters = pools, folder, dead_letters
        self._later, self._retry_seconds = later, retry_seconds
        self._lock = threading.Lock()
        self._last = 0
        self._closed = threading.Event()

    def start(self) -> int:
        """Deliver again, in the background, what an earlier runtime left, oldest first; returns how many events those
        are. An unreadable file is set aside.
        """
        left = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                left.append((path, json.loads(path.read_bytes())))
            except ValueError:
                path.rename(path.with_suffix(".unreadable"))
                _log.warning("%s: not readable, set aside", path)
        for path, entry in left:
            self._later(0, partial(self._deliver, path, entry, 1))
        return len(left)

    def accept(self, function_id: str, event: bytes) -> str:
        """Take an event (JSON) on; returns its request id. Raises OSError when the disk refuses it.

        When this returns the event survives the end of the process (not a power failure).
        """
        request_id = str(uuid.uuid4())
        entry = {
            "function": function_id,
            "request_id": request_id,
            "accepted_at": clock.iso(clock.now()),
            "event": json.loads(event),
        }
        with self._lock:
            # Two entries of one clock tick, or a clock that was set back, still get names in the order of arrival.
            self._last = max(time.time_ns(), self._last + 1)
            path = self._folder / f"{self._last:020d}.json"
        write_file(path, json.dumps(entry).encode(), sync=False)
        self._deliver(path, entry, attempt=1)
        return request_id

    def close(self) -> None:
        """Start no further attempt. Entries that are not finished stay on disk."""
        self._closed.set()

    def _deliver(self, path: Path, entry: dict[str, Any], attempt: int) -> None:
        if self._closed.is_set():
            return
        pool = self._pools.get(entry["function"])
        if pool is None:
            self._give_up(
                path, entry, 0, b'{"errorType": "ResourceNotFoundException", "errorMessage": "no such function"}'
            )
            return
        event = json.dumps(entry["event"], ensure_ascii=False).encode()
        future = pool.submit(event, asynchronous=True, request_id=entry["request_id"])
        future.add_done_callback(partial(self._settle, path, entry, attempt))

    def _settle(self, path: Path, entry: dict[str, Any], attempt: int, done: "Future[Outcome]") -> None:
        try:
            outcome = done.result()
        except (PoolClosedError, CancelledError):
            return
        if not outcome.failed:
            path.unlink(missing_ok=True)
        elif attempt > self._pools[entry["function"]].function.retries:
            self._give_up(path, entry, attempt, outcome.payload)
        else:
            pauses = self._retry_seconds if outcome.begun else _START_AGAIN_SECONDS
            self._later(pauses[min(attempt, len(pauses)) - 1], partial(self._deliver, path, entry, attempt + 1))

    def _give_up(self, path: Path, entry: dict[str, Any], attempts: int, error: bytes) -> None:
        folder = self._dead_letters / entry["function"]
        for one in (self._dead_letters, folder):
            one.mkdir(mode=0o700, parents=True, exist_ok=True)
        letter = entry | {"failed_at": clock.iso(clock.now()), "attempts": attempts, "error": json.loads(error)}
        kept = folder / f"{entry['request_id']}.json"
        write_file(kept, json.dumps(letter, indent=2, ensure_ascii=False).encode())
        path.unlink(missing_ok=True)
        _log.error("%s: given up after %d attempts, event kept in %s", entry["function"], attempts, kept)
