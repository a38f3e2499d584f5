"""The environments of one function, and the invocations that wait for one.

As in Lambda an environment works on one request at a time. A pool grows while requests wait, one environment after the
other up to the function's reserved concurrency (or a limit of its own, where it reserves none), and keeps what it has;
further requests queue, first come, first served. Where a function has routes, synchronous requests go before
asynchronous ones, and one environment is never given to asynchronous work, so that long work does not shut the API out.
"""

import logging
import threading
import time
import uuid
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from local.functions.environments import Environment, Nursery, Outcome, failure
from local.functions.logs import FunctionLog
from local.functions.template import Function
from local.functions.variables import function_arn, import_paths
from local.functions.worker import WorkerSpec
from local.metrics import Metrics

_log = logging.getLogger(__name__)

MAX_ENVIRONMENTS = 16
"""Of a function that reserves no concurrency."""


class PoolClosedError(Exception):
    """The runtime is stopping; the invocation did not run to its end."""


@dataclass
class _Job:
    event: bytes
    asynchronous: bool
    request_id: str
    outcome: Future[Outcome] = field(default_factory=Future)


class FunctionPool:
    """Runs invocations of one function. Safe for threads."""

    def __init__(
        self,
        function: Function,
        nursery: Nursery,
        variables: dict[str, str],
        log: FunctionLog,
        limit: int = MAX_ENVIRONMENTS,
        metrics: Metrics | None = None,
    ) -> None:
        self.function = function
        self._nursery = nursery
        self._variables = variables
        self._log = log
        self._metrics = metrics or Metrics()
        self._limit = max(1, function.reserved_concurrency or limit)
        self._asynchronous_limit = max(1, self._limit - 1) if function.routes else self._limit
        self._change = threading.Condition()
        self._jobs: dict[bool, deque[_Job]] = {False: deque(), True: deque()}
        self._slots = 0
        self._starting = 0
        self._idle = 0
        self._asynchronous_running = 0
        self._environments: set[Environment] = set()
        self._closed = False

    def submit(self, event: bytes, *, asynchronous: bool = False, request_id: str | None = None) -> Future[Outcome]:
        """Queue an invocation.

        Args:
            event: the event as JSON.
            asynchronous: it may wait behind synchronous ones.
            request_id: the id of an earlier attempt, which a retry keeps.
        Returns:
            A future of the outcome. Cancelling it drops an invocation that has not begun. It raises PoolClosedError
            when the runtime stops before the end.
        """
        job = _Job(event, asynchronous, request_id or str(uuid.uuid4()))
        with self._change:
            if self._closed:
                job.outcome.set_exception(PoolClosedError())
                return job.outcome
            self._jobs[asynchronous].append(job)
            self._grow()
            self._change.notify_all()
        return job.outcome

    def warm(self) -> None:
        """Start an environment before the first request asks for one."""
        with self._change:
            if not self._closed and not self._slots:
                self._add_slot()

    def wait_warm(self, timeout: float) -> bool:
        """Wait until an environment is idle; false when none is after `timeout` seconds."""
        with self._change:
            return self._change.wait_for(lambda: self._idle > 0, timeout)

    def close(self) -> None:
        """Kill the environments. What runs or waits ends with PoolClosedError."""
        with self._change:
            self._closed = True
            waiting = [*self._jobs[False], *self._jobs[True]]
            self._jobs[False].clear()
            self._jobs[True].clear()
            for environment in self._environments:
                environment.kill()
            self._change.notify_all()
        for job in waiting:
            if job.outcome.set_running_or_notify_cancel():
                job.outcome.set_exception(PoolClosedError())

    def _grow(self, free: int = 0) -> None:
        # Only one environment starts at a time: its import competes for the processor with those that could already
        # have served the requests that wait.
        waiting = len(self._jobs[False]) + len(self._jobs[True])
        if waiting > self._idle + free and not self._starting and self._slots < self._limit and not self._closed:
            self._add_slot()

    def _add_slot(self) -> None:
        self._slots += 1
        self._starting += 1
        name = f"{self.function.logical_id}-{self._slots}"
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def _serve(self) -> None:
        """One slot: an environment after another, a job after another, until the pool closes."""
        environment, problem = self._start_environment()
        with self._change:
            self._starting -= 1
            self._grow(free=1)
        while (job := self._next_job()) is not None:
            if environment is not None and environment.has_ended():
                # Killed while it was idle: no reason to fail a request.
                self._forget(environment)
                environment = None
            if environment is None and problem is None:
                environment, problem = self._start_environment()
            if environment is None:
                # The import failed: this job learns why, and the next one makes a new attempt.
                outcome = problem or failure("Runtime.Unknown", "Error: no environment", job.request_id)
                outcome = replace(outcome, begun=False)
                problem = None
            else:
                begin = time.monotonic()
                outcome = environment.invoke(job.request_id, job.event, self.function.timeout)
                self._write_report(job, outcome, time.monotonic() - begin)
                if not environment.alive:
                    self._forget(environment)
                    environment = None
            self._finish(job, outcome)

    def _next_job(self) -> _Job | None:
        with self._change:
            self._idle += 1
            self._change.notify_all()
            try:
                while not self._closed:
                    job = self._take()
                    if job is None:
                        self._change.wait()
                    elif job.outcome.set_running_or_notify_cancel():
                        self._asynchronous_running += job.asynchronous
                        return job
                return None
            finally:
                self._idle -= 1

    def _take(self) -> _Job | None:
        if self._jobs[False]:
            return self._jobs[False].popleft()
        if self._jobs[True] and self._asynchronous_running < self._asynchronous_limit:
            return self._jobs[True].popleft()
        return None

    def _finish(self, job: _Job, outcome: Outcome) -> None:
        with self._change:
            self._asynchronous_running -= job.asynchronous
            closed = self._closed
            self._change.notify_all()
        if not outcome.failed:
            job.outcome.set_result(outcome)
        elif closed:
            job.outcome.set_exception(PoolClosedError())
        else:
            self._report_failure(job.request_id, outcome)
            job.outcome.set_result(outcome)

    def _start_environment(self) -> tuple[Environment | None, Outcome | None]:
        """Start one and wait until its handler is imported; one of the two results is None."""
        begin = time.monotonic()
        try:
            with self._change:
                if self._closed:
                    return None, failure("Runtime.Unknown", "Error: the runtime is stopping")
                environment = Environment(self._nursery, self._spec())
                self._environments.add(environment)
        except OSError as error:
            return None, failure("Runtime.Unknown", f"Error: no environment could be started: {error}")
        problem = environment.wait_ready()
        seconds = time.monotonic() - begin
        status = "error" if problem else "success"
        self._log.write_report("platform.initReport", {"status": status, "metrics": {"durationMs": _ms(seconds)}})
        if problem:
            self._forget(environment)
            return None, problem
        return environment, None

    def _forget(self, environment: Environment) -> None:
        with self._change:
            self._environments.discard(environment)
        environment.discard()

    def _spec(self) -> WorkerSpec:
        return WorkerSpec(
            function_name=self.function.name,
            function_arn=function_arn(self.function),
            handler=self.function.handler,
            memory=self.function.memory,
            import_paths=[str(p) for p in import_paths(self.function)],
            variables=self._variables,
            log_file=str(self._log.path or ""),
            log_stream=f"{time.strftime('%Y/%m/%d', time.gmtime())}/[$LATEST]{uuid.uuid4().hex}",
        )

    def measure(self) -> None:
        """Set the gauges of the pool: its environments, and what waits."""
        name = self.function.logical_id
        with self._change:
            sizes = {kind: len(self._jobs[later]) for kind, later in (("request", False), ("event", True))}
            environments = len(self._environments)
        self._metrics.set("livemem_environments", environments, function=name)
        for kind, waiting in sizes.items():
            self._metrics.set("livemem_waiting", waiting, function=name, kind=kind)

    def _write_report(self, job: _Job, outcome: Outcome, seconds: float) -> None:
        name, status = self.function.logical_id, "error" if outcome.failed else "success"
        self._metrics.add("livemem_invocations_total", function=name, status=status)
        self._metrics.observe("livemem_invocation_seconds", seconds, function=name)
        self._metrics.take(outcome.metrics)
        record: dict[str, Any] = {
            "requestId": job.request_id,
            "status": status,
            "asynchronous": job.asynchronous,
            "metrics": {"durationMs": _ms(seconds)},
        }
        if outcome.failed:
            record["error"] = outcome.describe()
        self._log.write_report("platform.report", record)

    def _report_failure(self, request_id: str, outcome: Outcome) -> None:
        _log.error(
            "%s (%s): %s; see %s",
            self.function.logical_id,
            request_id,
            outcome.describe(),
            self._log.path or "the lines above",
        )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
