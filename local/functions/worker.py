"""Inside a function environment: import the handler, then answer one event at a time, as Lambda's runtime does.

The environment ends with the connection to its parent, in the middle of a handler too: no orphan survives the runtime.
"""

import importlib
import json
import logging
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# Lambda's limit on what a synchronous invocation may return.
MAX_RESPONSE_BYTES = 6_291_556
MAX_METRIC_LINES = 100
"""Lines of metrics that go with one answer; further ones are only written."""

Handler = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class WorkerSpec:
    """The parameters that an environment needs at its start. They travel as JSON."""

    function_name: str
    function_arn: str
    handler: str
    memory: int
    import_paths: list[str]
    variables: dict[str, str]
    log_file: str
    """Empty: the standard output that the runtime has."""
    log_stream: str


class LambdaContext:
    """The second argument of a handler."""

    def __init__(self, spec: WorkerSpec, request_id: str, deadline: float) -> None:
        self.function_name = spec.function_name
        self.function_version = "$LATEST"
        self.invoked_function_arn = spec.function_arn
        self.memory_limit_in_mb = spec.memory
        self.aws_request_id = request_id
        self.log_group_name = f"/aws/lambda/{spec.function_name}"
        self.log_stream_name = spec.log_stream
        self.identity = None
        self.client_context = None
        self._deadline = deadline

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the function's timeout, never less than 0."""
        return max(0, int((self._deadline - time.time()) * 1000))


@dataclass
class _Current:
    """The request at work, for log lines, and the metrics that were written since the last answer."""

    request_id: str | None = None
    metrics: list[dict[str, Any]] = field(default_factory=list)


class JsonLines:
    """A text stream that writes JSON objects as they are and wraps every other line into one."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, descriptor: int, level: str, current: _Current) -> None:
        self._descriptor, self._level, self._current = descriptor, level, current
        self._pending = ""
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        """Write whole lines; keep the rest until its line ends."""
        with self._lock:
            *lines, self._pending = (self._pending + text).split("\n")
            for line in lines:
                self._write_line(line)
        return len(text)

    def flush(self) -> None:
        """Do nothing: whole lines are out already."""

    def isatty(self) -> bool:
        """Say that no person is watching."""
        return False

    def fileno(self) -> int:
        """Return the descriptor below."""
        return self._descriptor

    def _write_line(self, line: str) -> None:
        if not line.strip():
            return
        read = _read_object(line)
        if read is None:
            line = json.dumps(_log_record(self._level, line, self._current.request_id), ensure_ascii=False)
        elif "_aws" in read and len(self._current.metrics) < MAX_METRIC_LINES:
            self._current.metrics.append(read)
        # A line that the disk refuses is lost: a log must not end the request that it is about.
        with suppress(OSError):
            os.write(self._descriptor, line.encode("utf-8", "replace") + b"\n")


def _read_object(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        read = json.loads(line)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


def _log_record(level: str, message: str, request_id: str | None) -> dict[str, Any]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return {"timestamp": now, "level": level, "message": message, "requestId": request_id}


class _RootHandler(logging.Handler):
    """What Lambda installs on the root logger: one JSON object per record."""

    def __init__(self, current: _Current) -> None:
        super().__init__()
        self._current = current

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record to standard output."""
        line = _log_record(record.levelname, record.getMessage(), self._current.request_id) | {"logger": record.name}
        if record.exc_info:
            line["stackTrace"] = "".join(traceback.format_exception(*record.exc_info))
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")


def run_worker(descriptor: int, spec: WorkerSpec) -> int:
    """Serve a connection until it closes.

    Args:
        descriptor: the environment's end of the socket. A request is a line of JSON (`request_id`, `deadline` in
            seconds of Unix time) and the event; an answer is a line of JSON (`state`: ready, ok, error; `metrics`: the
            lines of metrics that were written meanwhile) and a payload.
        spec: which function, with which variables.
    Returns:
        The exit status of the process.
    """
    current = _Current()
    _prepare_process(spec, current)
    connection: Connection[Any, Any] = Connection(descriptor)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(connection, requests), name="lambda-runtime", daemon=True).start()
    try:
        handler = _load_handler(spec)
    except Exception as error:  # noqa: BLE001 - whatever a module raises on import is the function's own failure
        _send(connection, "error", _describe_error(error, None))
        return 1
    _send(connection, "ready", b"")
    while True:
        head, _, event = requests.get().partition(b"\n")
        meta = json.loads(head)
        current.request_id = meta["request_id"]
        context = LambdaContext(spec, meta["request_id"], meta["deadline"])
        state, payload = _answer(handler, event, context)
        metrics, current.metrics = current.metrics, []
        _send(connection, state, payload, metrics)
        current.request_id = None


def _prepare_process(spec: WorkerSpec, current: _Current) -> None:
    os.environ.clear()
    os.environ.update(spec.variables)
    os.environ["AWS_LAMBDA_LOG_STREAM_NAME"] = spec.log_stream
    time.tzset()
    if spec.log_file:
        log = os.open(spec.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for standard in (1, 2):
            os.dup2(log, standard)
        os.close(log)
    sys.stdout = JsonLines(1, "INFO", current)
    sys.stderr = JsonLines(2, "ERROR", current)
    root = logging.getLogger()
    root.handlers[:] = [_RootHandler(current)]
    root.setLevel(logging.WARNING)
    # A function sees its own folder and its layers, and neither the project root nor the `local` package.
    root_folder = str(Path(__file__).resolve().parents[2])
    sys.path[:] = [*spec.import_paths, *(p for p in sys.path if p not in {"", root_folder})]
    for name in [n for n in sys.modules if n == "local" or n.startswith("local.")]:
        del sys.modules[name]


def _read_requests(connection: "Connection[Any, Any]", requests: "queue.SimpleQueue[bytes]") -> None:
    while True:
        try:
            requests.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)


def _load_handler(spec: WorkerSpec) -> Handler:
    module_name, _, attribute = spec.handler.rpartition(".")
    handler = getattr(importlib.import_module(module_name.replace("/", ".")), attribute)
    if not callable(handler):
        raise TypeError(f"Handler {spec.handler} is not a function")
    return handler  # type: ignore[no-any-return]


def _answer(handler: Handler, event: bytes, context: LambdaContext) -> tuple[str, bytes]:
    try:
        result = handler(json.loads(event), context)
    except Exception as error:  # noqa: BLE001 - Lambda reports every exception of a handler
        return "error", _describe_error(error, context.aws_request_id)
    try:
        payload = json.dumps(result, ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        return "error", _failure("Runtime.MarshalError", f"Unable to marshal response: {error}", context.aws_request_id)
    if len(payload) > MAX_RESPONSE_BYTES:
        text = f"Response payload size exceeded maximum allowed payload size ({MAX_RESPONSE_BYTES} bytes)."
        return "error", _failure("Function.ResponseSizeTooLarge", text, context.aws_request_id)
    return "ok", payload


def _describe_error(error: Exception, request_id: str | None) -> bytes:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f.filename != __file__ and not f.filename.startswith("<frozen importlib")]
    stack = traceback.format_list(own)
    logging.getLogger("lambda").error("%s: %s", type(error).__name__, error, exc_info=error)
    details = {
        "errorMessage": str(error),
        "errorType": type(error).__name__,
        "requestId": request_id,
        "stackTrace": stack,
    }
    return json.dumps(details).encode()


def _failure(kind: str, message: str, request_id: str) -> bytes:
    logging.getLogger("lambda").error("%s: %s", kind, message)
    return json.dumps({"errorMessage": message, "errorType": kind, "requestId": request_id}).encode()


def _send(
    connection: "Connection[Any, Any]", state: str, payload: bytes, metrics: Sequence[dict[str, Any]] = ()
) -> None:
    head = {"state": state, "metrics": list(metrics)}
    connection.send_bytes(json.dumps(head).encode() + b"\n" + payload)
