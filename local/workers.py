"""Several processes at one port, for a team on one machine: `livemem serve --workers N`.

The owner binds the port and starts the workers. Each is the whole service with a data folder of its own, and what they
share lies in the bucket. The first one alone has the schedules. A worker that dies is started again. They all end with
the owner, whose end of their pipe closes then, however it ends.
"""

import logging
import multiprocessing
import signal
import threading
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from socket import socket
from typing import Any

from local import admin_key, command_line, terminal
from local.config import Config
from local.data_dir import DataDir
from local.front.httpd import listen
from local.functions.async_queue import gather
from local.runtime import Runtime
from local.stopping import StopRequest

_log = logging.getLogger(__name__)
# The only way of starting a process that every system has. It passes the socket on.
_SPAWN = multiprocessing.get_context("spawn")
_STOP_SECONDS, _PAUSE_SECONDS = 15.0, 1.0


class Workers:
    """Has the parts of a `Runtime` that a program calls."""

    def __init__(self, config: Config) -> None:
        """Lock the data folder and bind the port. Raises DataDirError, OSError (the port)."""
        self.data = DataDir(config.data)
        self._config = config
        self._running: list[tuple[SpawnProcess, Connection, float]] = []
        try:
            self._socket = listen(config.host, config.port)
        except OSError:
            self.data.close()
            raise

    def start(self) -> dict[str, Any]:
        """Start all, and wait until they answer; returns the endpoints. Raises OSError if one does not start."""
        outer, key = self._config, self._config.admin_key_sha256
        self._config = replace(outer, admin_key_sha256=key or admin_key.sha256(self.data.admin_key()))
        gather(self.data.root, self._folder(0))
        # What the first one complains of is said once.
        self._running.append(self._begin(0))
        endpoints = _answer_of(self._running[0][1])
        self._running += map(self._begin, range(1, outer.workers))
        for _, pipe, _ in self._running[1:]:
            _answer_of(pipe)
        endpoints["admin_key_file"] = None if key else str(self.data.admin_key_file)
        command_line.keep_choices(outer.data, outer.outer)
        self.data.write_endpoints(endpoints)
        return endpoints

    def look(self) -> None:
        """Start again what has ended, one second after its last start at the earliest."""
        for number, (process, pipe, began) in enumerate(self._running):
            if not process.is_alive() and time.monotonic() > began + _PAUSE_SECONDS:
                _log.error("worker %d has ended (%s) and is started again", number + 1, process.exitcode)
                pipe.close()
                self._running[number] = self._begin(number)

    def stop(self) -> None:
        """End all."""
        for _, pipe, _ in self._running:
            pipe.close()
        end = time.monotonic() + _STOP_SECONDS
        for process, _, _ in self._running:
            process.join(max(0.0, end - time.monotonic()))
            process.kill()
        self._socket.close()
        self.data.close()

    def _folder(self, number: int) -> Path:
        return self.data.root / "workers" / str(number + 1)

    def _begin(self, number: int) -> tuple[SpawnProcess, Connection, float]:
        pipe, theirs = _SPAWN.Pipe()
        config = replace(self._config, data=self._folder(number))
        arguments = (config, self.data.instance, self._socket, theirs, number == 0)
        process = _SPAWN.Process(target=_work, args=arguments, daemon=True)
        process.start()
        theirs.close()
        return process, pipe, time.monotonic()


def _answer_of(pipe: Connection) -> dict[str, Any]:
    try:
        return dict(pipe.recv())
    except EOFError:
        raise OSError("A worker did not start.") from None


def _work(config: Config, instance: str, listening: socket, owner: Connection, schedules: bool) -> None:
    """What a worker does, until its owner's end of the pipe is closed or somebody sends SIGTERM."""
    terminal.protect()
    # Ctrl-C comes to all at once; the owner ends them in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stop = StopRequest()
    signal.signal(signal.SIGTERM, stop.ask)
    runtime = Runtime(config, listening, schedules=schedules)
    runtime.data.instance = instance
    try:
        owner.send(runtime.start())
        threading.Thread(target=_await_end, args=(owner, stop), daemon=True).start()
        stop.wait()
    finally:
        runtime.stop()


def _await_end(owner: Connection, stop: StopRequest) -> None:
    try:
        owner.recv()
    except (EOFError, OSError):
        stop.ask()
