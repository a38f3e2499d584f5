"""Function environments as the runtime sees them: processes that are forked on demand and killed when they must be."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from local.functions.worker import WorkerSpec
from local.functions.zygote import receive_message, send_message

# Importing a function's module may take this long; Lambda allows 10 s on a faster disk.
INIT_SECONDS = 60.0
_EXIT_SECONDS = 5.0
_ROOT = Path(__file__).resolve().parents[2]
_ZYGOTE = (sys.executable, "-m", "local.functions.zygote")


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
        try:
            details = json.loads(self.payload)
        except ValueError:
            return self.payload.decode("utf-8", "replace")[:500]
        if not isinstance(details, dict):
            return str(details)[:500]
        return f"{details.get('errorType', 'Error')}: {details.get('errorMessage', '')}"[:500]


def failure(kind: str, message: str, request_id: str | None = None) -> Outcome:
    """Build the outcome that Lambda reports for a failure of its own."""
    details: dict[str, Any] = {"errorType": kind, "errorMessage": message}
    if request_id:
        details["requestId"] = request_id
    return Outcome(json.dumps(details).encode(), failed=True)


class Nursery:
    """Starts environments through the zygote (zygote.py) and knows when they end. Safe for threads."""

    def __init__(self, scratch: Path, layers: tuple[Path, ...] = ()) -> None:
        """Prepare. `scratch`: a folder for the environments' temporary files, emptied at the start and removed at the
        end. `layers`: folders with packages that every function imports from.
        """
        self._scratch = scratch
        self._layers = layers
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._exits: dict[int, Future[int]] = {}
        self._ready = threading.Event()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def start(self) -> None:
        """Start the zygote; its imports go on in the background. A second call changes nothing."""
        with self._lock:
            self._start_locked()

    def wait_ready(self, timeout: float) -> bool:
        """Wait until the zygote has imported everything and can fork."""
        return self._ready.wait(timeout)

    def _start_locked(self) -> None:
        if self._control is not None or self._closed:
            return
        ours, theirs = socket.socketpair()
        self._ready.clear()
        with theirs:
            self._process = subprocess.Popen(
                [*_ZYGOTE, str(theirs.fileno()), str(self._scratch), *map(str, self._layers)],
                cwd=_ROOT,
                env={**os.environ, "PYTHONPATH": str(_ROOT)},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                # Ctrl-C in the terminal goes to the runtime alone, which then ends everything in order.
                start_new_session=True,
            )
        self._control = ours
        threading.Thread(target=self._read_reports, args=(ours,), name="zygote", daemon=True).start()

    def _read_reports(self, control: socket.socket) -> None:
        try:
            while (received := receive_message(control)) is not None:
                message = received[0]
                if "ready" in message:
                    self._ready.set()
                    continue
                with self._lock:
                    exited = self._exits.pop(message["exited"], None)
                if exited:
                    exited.set_result(message["status"])
        except OSError:
            pass
        with self._lock:
            control.close()
            # Nobody is left to report or kill its environments, which go on until their connection closes.
            self._control = None
            lost, self._exits = self._exits, {}
        for exited in lost.values():
            exited.set_result(signal.SIGKILL)

    def fork(self, spec: WorkerSpec) -> tuple[int, Connection, Future[int]]:
        """Start an environment.

        Returns:
            Its number for `kill`, the connection to it, and a future of its wait status.
        Raises:
            OSError: the zygote is gone, or the nursery is closed.
        """
        ours, theirs = socket.socketpair()
        exited: Future[int] = Future()
        try:
            with self._lock, theirs:
                self._start_locked()
                if self._control is None:
                    raise OSError("the runtime is stopping")
                number = next(self._numbers)
                self._exits[number] = exited
                send_message(self._control, {"fork": number, "spec": asdict(spec)}, (theirs.fileno(),))
        except OSError:
            ours.close()
            raise
        return number, Connection(ours.detach()), exited

    def kill(self, number: int) -> None:
        """Kill an environment; one that has ended already is no error."""
        with self._lock:
            if self._control is not None and number in self._exits:
                # Without its zygote an environment ends when its connection is closed.
                with contextlib.suppress(OSError):
                    send_message(self._control, {"kill": number})

    def close(self) -> None:
        """Kill every environment and the zygote."""
        with self._lock:
            self._closed = True
            if self._control is not None:
                with contextlib.suppress(OSError):
                    self._control.shutdown(socket.SHUT_RDWR)
        if self._process is not None:
            try:
                self._process.wait(_EXIT_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


class Environment:
    """One environment: at most one request at a time, from one thread. Made ready by the constructor's caller."""

    def __init__(self, nursery: Nursery, spec: WorkerSpec) -> None:
        self._nursery = nursery
        self._spec = spec
        self._number, self._connection, self._exited = nursery.fork(spec)
        self.alive = True

    def wait_ready(self) -> Outcome | None:
        """Wait for the import of the handler; the failure if there is one, and then the environment is gone."""
        try:
            if self._connection.poll(INIT_SECONDS):
                state, payload, _ = self._receive()
                if state == "ready":
                    return None
                self.discard()
                return Outcome(payload, failed=True)
        except (EOFError, OSError):
            return failure("Runtime.ExitError", f"Error: Runtime exited during init: {self._end()}")
        self.discard()
        return failure("Sandbox.Timedout", f"Error: importing the handler took more than {INIT_SECONDS:.0f} s")

    def invoke(self, request_id: str, event: bytes, timeout: float) -> Outcome:
        """Run the handler on an event (JSON) and wait for the outcome, at most `timeout` seconds.

        After a timeout or a crash `alive` is false.
        """
        head = json.dumps({"request_id": request_id, "deadline": time.time() + timeout}).encode()
        try:
            self._connection.send_bytes(head + b"\n" + event)
            if self._connection.poll(timeout):
                state, payload, metrics = self._receive()
                return Outcome(payload, failed=state == "error", metrics=metrics)
        except (EOFError, OSError):
            text = f"RequestId: {request_id} Error: Runtime exited with error: {self._end()}"
            return failure("Runtime.ExitError", text, request_id)
        self.discard()
        text = f"RequestId: {request_id} Error: Task timed out after {timeout:.2f} seconds"
        return failure("Sandbox.Timedout", text, request_id)

    def has_ended(self) -> bool:
        """Whether its process is known to have ended, without having been asked to."""
        return self._exited.done()

    def kill(self) -> None:
        """Kill the environment, from any thread, at any time. A caller that waits for an outcome gets a failure."""
        self._nursery.kill(self._number)

    def discard(self) -> None:
        """Kill the environment and forget its connection."""
        self.alive = False
        self.kill()
        self._connection.close()

    def _receive(self) -> tuple[str, bytes, list[dict[str, Any]]]:
        head, _, payload = self._connection.recv_bytes().partition(b"\n")
        said = json.loads(head)
        return said["state"], payload, said["metrics"]

    def _end(self) -> str:
        self.alive = False
        self._connection.close()
        try:
            status = self._exited.result(_EXIT_SECONDS)
        except TimeoutError:
            # It closed its connection and lives on.
            self._nursery.kill(self._number)
            return "connection closed"
        if os.WIFSIGNALED(status):
            return f"signal: {signal.Signals(os.WTERMSIG(status)).name}"
        return f"exit status {os.WEXITSTATUS(status)}"
