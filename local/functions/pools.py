"""The invocations of one function: those at work, each in a thread, and those that wait.

As many run at once as the function reserves, or up to a limit where it reserves none; further ones wait, first come,
first served. Where a function has routes, synchronous requests go before asynchronous ones, and one place is never
given to asynchronous work, so that long work does not shut the API out.
"""

import contextvars
import heapq
import itertools
import logging
import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from typing import Any

from local.functions.invocations import Handler, Invocation, Outcome, failure, load_handler
from local.functions.logs import FunctionLog
from local.functions.template import Function
from local.metrics import Metrics

_log = logging.getLogger(__name__)

MAX_INVOCATIONS = 16
"""At once, of a function that reserves no concurrency."""

IDLE_SECONDS = 5.0
"""For so long a thread without an invocation waits for the next one."""

_LOADING = threading.Lock()
"""Of all pools: two threads that import modules which import each other find them half made."""


class PoolClosedError(Exception):
    """The runtime is stopping; the invocation did not run to its end."""


class Deadlines:
    """Calls functions at their moments, one after the other, in one thread. Safe for threads."""

    def __init__(self) -> None:
        self._due: list[list[Any]] = []
        self._numbers = itertools.count()
        self._change = threading.Condition()

    def after(self, seconds: float, call: Callable[[], object]) -> list[Any]:
        """Call something after so many seconds. The entry that is returned is for `drop`."""
        number = next(self._numbers)
        entry = [time.time() + seconds, number, call]
        with self._change:
            heapq.heappush(self._due, entry)
            if self._due[0] is entry:
                self._change.notify()
        if number == 0:
            threading.Thread(target=self._run, name="deadlines", daemon=True).start()
        return entry

    @staticmethod
    def drop(entry: list[Any]) -> None:
        """Call nothing any more, and hold nothing of it."""
        entry[2] = None

    def _run(self) -> None:
        while True:
            with self._change:
                while not self._due or self._due[0][0] > time.time():
                    self._change.wait(self._due[0][0] - time.time() if self._due else None)
                call = heapq.heappop(self._due)[2]
            try:
                if call:
                    call()
            except Exception:  # noqa: BLE001 - other invocations need this thread
                _log.exception("what was due has failed")


class FunctionPool:
    """Runs invocations of one function. Safe for threads."""

    def __init__(
        self,
        function: Function,
        log: FunctionLog,
        limit: int = MAX_INVOCATIONS,
        *,
        deadlines: Deadlines | None = None,
        metrics: Metrics | None = None,
        context: contextvars.Context | None = None,
    ) -> None:
        """Prepare. Invocations begin in a copy of `context`."""
        self.function = function
        self._log = log
        self._metrics = metrics or Metrics()
        self._deadlines = deadlines or Deadlines()
        self._context = context or contextvars.Context()
        self._limit = max(1, function.reserved_concurrency or limit)
        self._asynchronous_limit = max(1, self._limit - 1) if function.routes else self._limit
        self._lock = threading.Lock()
        self._waiting: dict[bool, deque[Invocation]] = {False: deque(), True: deque()}
        self._running: set[Invocation] = set()
        self._idle = 0
        self._handed: queue.SimpleQueue[Invocation] = queue.SimpleQueue()
        self._handler: Handler | None = None
        self._closed = False

    def submit(self, event: bytes, *, asynchronous: bool = False, request_id: str | None = None) -> Future[Outcome]:
        """Queue an invocation with an event (JSON). An `asynchronous` one may wait behind others. A retry keeps its
        `request_id`.

        Cancelling the future of the outcome drops an invocation that has not begun. It raises PoolClosedError when the
        runtime stops before the end.
        """
        job = Invocation(self.function, self._log, event, asynchronous, request_id or str(uuid.uuid4()))
        with self._lock:
            if self._closed:
                job.outcome.set_exception(PoolClosedError())
            else:
                self._waiting[asynchronous].append(job)
        self._start_next()
        return job.outcome

    def load(self) -> Handler:
        """Import the handler, once. Raises what its module raises; the next call tries again."""
        with nullcontext() if self._handler else _LOADING:
            if self._handler is None:
                self._handler = self._context.copy().run(load_handler, self.function)
        return self._handler

    def close(self) -> None:
        """Answer who waits with PoolClosedError. From now on the store refuses the requests of what runs."""
        with self._lock:
            self._closed = True
            ended = [*self._waiting[False], *self._waiting[True], *self._running]
            for jobs in (self._waiting[False], self._waiting[True], self._running):
                jobs.clear()
            for job in ended:
                job.is_over = True
        for job in ended:
            if job.outcome.running() or job.outcome.set_running_or_notify_cancel():
                job.outcome.set_exception(PoolClosedError())

    def measure(self) -> None:
        """Set the gauges of the pool: what runs, and what waits."""
        name = self.function.logical_id
        with self._lock:
            sizes = {kind: len(self._waiting[later]) for kind, later in (("request", False), ("event", True))}
            running = len(self._running)
        self._metrics.set("livemem_running", running, function=name)
        for kind, waiting in sizes.items():
            self._metrics.set("livemem_waiting", waiting, function=name, kind=kind)

    def _start_next(self) -> None:
        if job := self._take():
            with self._lock:
                self._idle -= (handed := self._idle > 0)
            if handed:
                self._handed.put(job)
                return
            begin, run = time.monotonic(), self._context.copy().run
            thread = threading.Thread(target=run, args=(self._work_off, job), name=self.function.name, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                # The system gives no more threads: the place is free again, and an event comes again.
                self._end(job, failure("Runtime.NoThread", str(error), job.request_id, begun=False), begin)

    def _take(self) -> Invocation | None:
        """The next one, if there is a place for it."""
        with self._lock:
            while len(self._running) < self._limit:
                busy = sum(job.asynchronous for job in self._running) >= self._asynchronous_limit
                waiting = self._waiting[False] or (None if busy else self._waiting[True])
                if not waiting:
                    return None
                job = waiting.popleft()
                if job.outcome.set_running_or_notify_cancel():
                    self._running.add(job)
                    return job
        return None

    def _work_off(self, job: Invocation) -> None:
        """Do one, then what waits, and then what comes within a few seconds."""
        following: Invocation | None = job
        while following and self._do(following):
            following = self._take() or self._wait()

    def _wait(self) -> Invocation | None:
        with self._lock:
            self._idle += 1
        with suppress(queue.Empty):
            return self._handed.get(timeout=IDLE_SECONDS)
        with self._lock:
            self._idle -= (leaves := self._idle > 0)
        # Otherwise one was handed to this thread at the last moment.
        return None if leaves else self._handed.get()

    def _do(self, job: Invocation) -> bool:
        """Carry it out. False: it was given up, and its place belongs to another thread."""
        begin, timeout = time.monotonic(), self.function.timeout
        try:
            handler = self.load()
        except Exception as error:  # noqa: BLE001 - whatever a module raises on import is the function's own failure
            text = f"{type(error).__name__}: {error}"
            _log.exception("%s cannot be imported", self.function.logical_id)
            return self._end(job, failure("Runtime.ImportError", text, job.request_id, begun=False), begin)
        if job.is_over:
            return False
        job.deadline = time.time() + timeout
        due = self._deadlines.after(timeout, lambda: self._give_up(job, begin))
        # The invocation's variables end with it.
        outcome = contextvars.copy_context().run(job.carry_out, handler)
        self._deadlines.drop(due)
        return self._end(job, outcome, begin)

    def _give_up(self, job: Invocation, begin: float) -> None:
        """End one whose time is over: its thread may go on, but the store takes nothing from it."""
        text = f"RequestId: {job.request_id} Error: Task timed out after {self.function.timeout:.2f} seconds"
        job.is_over = True
        if self._end(job, failure("Sandbox.Timedout", text, job.request_id), begin):
            self._start_next()

    def _end(self, job: Invocation, outcome: Outcome, begin: float) -> bool:
        """Hand the outcome over, once. False: it had ended."""
        with self._lock:
            if job not in self._running:
                return False
            self._running.remove(job)
        self._report(job, outcome, time.monotonic() - begin)
        job.outcome.set_result(outcome)
        return True

    def _report(self, job: Invocation, outcome: Outcome, seconds: float) -> None:
        name, status = self.function.logical_id, "error" if outcome.failed else "success"
        self._metrics.add("livemem_invocations_total", function=name, status=status)
        self._metrics.observe("livemem_invocation_seconds", seconds, function=name)
        self._metrics.take(outcome.metrics)
        record: dict[str, Any] = {
            "requestId": job.request_id,
            "status": status,
            "asynchronous": job.asynchronous,
            "metrics": {"durationMs": round(seconds * 1000, 1)},
        }
        if outcome.failed:
            record["error"] = outcome.describe()
            place = self._log.path or "the lines above"
            _log.error("%s (%s): %s; see %s", name, job.request_id, outcome.describe(), place)
        self._log.write_report("platform.report", record)
