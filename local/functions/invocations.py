"""One call of a function, in a thread of this process: its handler, its time, what it writes.

A thread cannot be killed. From its deadline on the store refuses the requests of an invocation (`check_time`), so what
goes on in it changes nothing any more, as if its process had been killed.
"""

import importlib.util
import json
import logging
import math
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import Context, ContextVar
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, TextIO

from livemem import clock
from livemem.errors import OutOfTime
from livemem.store.clients import HOST, Host
from local.functions.logs import FunctionLog
from local.functions.template import Function
from local.functions.variables import function_arn

MAX_METRIC_LINES = 100
"""Lines of metrics that go with one answer; further ones are only written."""

Handler = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Outcome:
    """What came of an invocation: the handler's JSON answer, or Lambda's description of the failure.

    `begun` is false when the event has reached no handler. `metrics` are the lines of metrics that the handler wrote.
    """

    payload: bytes
    failed: bool = False
    begun: bool = True
    metrics: Sequence[Mapping[str, Any]] = ()

    def describe(self) -> str:
        """The failure in one line, for people."""
        details = json.loads(self.payload)
        return f"{details['errorType']}: {details['errorMessage']}"[:500]


def failure(kind: str, message: str, request_id: str, *, begun: bool = True, **more: Any) -> Outcome:
    """Build the outcome that Lambda reports for a failure."""
    details = {"errorMessage": message, "errorType": kind, "requestId": request_id, **more}
    return Outcome(json.dumps(details).encode(), failed=True, begun=begun)


class LambdaContext:
    """The second argument of a handler."""

    def __init__(self, function: Function, request_id: str, deadline: float) -> None:
        self.function_name = function.name
        self.invoked_function_arn = function_arn(function)
        self.memory_limit_in_mb = function.memory
        self.aws_request_id = request_id
        self._deadline = deadline

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the function's timeout, never less than 0."""
        return max(0, int((self._deadline - time.time()) * 1000))


@dataclass(eq=False)
class Invocation:
    """An invocation that waits or is at work. `deadline` is in seconds of Unix time, once it has begun. `is_over`:
    nobody waits for it any more.
    """

    function: Function
    log: FunctionLog
    event: bytes
    asynchronous: bool
    request_id: str
    outcome: Future[Outcome] = field(default_factory=Future)
    deadline: float = math.inf
    is_over: bool = False
    metrics: list[dict[str, Any]] = field(default_factory=list)
    _line: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def carry_out(self, handler: Handler) -> Outcome:
        """Call the handler with the event (JSON) in this thread. Every exception becomes an outcome."""
        _AT_WORK.set(self)
        try:
            result = handler(json.loads(self.event), LambdaContext(self.function, self.request_id, self.deadline))
        except BaseException as error:  # noqa: BLE001 - a handler that exits ends its invocation alone
            return self._describe(error)
        try:
            return Outcome(json.dumps(result, ensure_ascii=False).encode(), metrics=self.metrics)
        except (TypeError, ValueError) as error:
            message = f"Unable to marshal response: {error}"
            self.log.write(_record("ERROR", f"Runtime.MarshalError: {message}", self.request_id))
            return failure("Runtime.MarshalError", message, self.request_id)

    def write(self, text: str, level: str) -> None:
        """Write whole lines to the log of the function, and keep the rest until its line ends. A line that is no JSON
        object is wrapped into one.
        """
        with self._lock:
            *lines, self._line = (self._line + text).split("\n")
            for line in filter(str.strip, lines):
                read = None
                with suppress(ValueError):
                    read = json.loads(line) if line.startswith("{") else None
                if read and "_aws" in read and len(self.metrics) < MAX_METRIC_LINES:
                    self.metrics.append(read)
                self.log.write(line if read is not None else _record(level, line, self.request_id))

    def _describe(self, error: BaseException) -> Outcome:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
        stack = "".join(traceback.format_exception(error))
        self.log.write(_record("ERROR", f"{type(error).__name__}: {error}", self.request_id, stackTrace=stack))
        lines = traceback.format_list(frames)
        failed = failure(type(error).__name__, str(error), self.request_id, stackTrace=lines)
        return replace(failed, metrics=self.metrics)


_AT_WORK: ContextVar[Invocation | None] = ContextVar("invocation at work", default=None)
"""The invocation of this thread."""


def check_time() -> None:
    """Raise OutOfTime if this thread belongs to an invocation that should have ended."""
    invocation = _AT_WORK.get()
    if invocation and (invocation.is_over or time.time() >= invocation.deadline):
        raise OutOfTime("The time of this invocation is over.")


def context(host: Host) -> Context:
    """The context of all invocations of a program."""
    made = Context()
    made.run(HOST.set, host)
    return made


def load_handler(function: Function) -> Handler:
    """Import the function's module, under a name of its own. Raises what the module raises."""
    module_name, _, attribute = function.handler.rpartition(".")
    path = (function.code / module_name).with_suffix(".py")
    name = f"function_{function.code.name}_{sha256(str(path).encode()).hexdigest()[:8]}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec
        assert spec.loader
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    handler = getattr(sys.modules[name], attribute)
    if not callable(handler):
        raise TypeError(f"Handler {function.handler} is not a function")
    return handler  # type: ignore[no-any-return]


class Output:
    """A text stream: what an invocation writes goes to the log of its function, all else to the stream below."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, below: TextIO, level: str) -> None:
        self._below, self._level = below, level

    def write(self, text: str) -> int:
        """Write."""
        invocation = _AT_WORK.get()
        if invocation is None:
            return self._below.write(text)
        invocation.write(text, self._level)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)


class RootHandler(logging.Handler):
    """On the root logger: one JSON object for a record of an invocation, as in Lambda. Others go to `below`."""

    def __init__(self, below: Sequence[logging.Handler]) -> None:
        super().__init__()
        self._below = below

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record."""
        invocation = _AT_WORK.get()
        if invocation is None:
            for handler in self._below:
                handler.handle(record)
            return
        more = {"logger": record.name}
        if record.exc_info:
            more["stackTrace"] = "".join(traceback.format_exception(*record.exc_info))
        invocation.log.write(_record(record.levelname, record.getMessage(), invocation.request_id, **more))


def _record(level: str, message: str, request_id: str, **more: str) -> str:
    line = {"timestamp": clock.iso_millis(clock.now()), "level": level, "message": message, "requestId": request_id}
    return json.dumps(line | more, ensure_ascii=False)
