"""A foreign program, of which one process at a time runs: in a group of its own, that ends as a whole.

A process is recorded before it gets its input, by its id and the time of its start, which no other process has. So a
start after a crash finds it. If its owner dies before that, it reads an empty input and ends by itself.
"""

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from local.files import write_file

MOST_BYTES = 8 * 1024 * 1024
"""Of an output: as much as of an API's answer (livemem/llm/api.py)."""
END_SECONDS = 5.0
APART = 2.0
"""Seconds by which two looks at the start of one process may differ: the system counts from its boot."""


class ProcessFailed(RuntimeError):
    """The program gave no whole output. The text goes on after the program's name."""


class SingleProcess:
    """At most one process at a time. `record` is the file that names it. Safe for threads."""

    def __init__(self, record: Path) -> None:
        self._record = record
        self._guard, self._turn = threading.Lock(), threading.Lock()
        self._closed = False

    def run(
        self, command: Sequence[str], given: bytes, folder: Path, environment: Mapping[str, str], seconds: float
    ) -> tuple[int, bytes]:
        """The exit status and the output of a command that works in `folder`. It is ended after `seconds`.

        Raises ProcessFailed, OSError.
        """
        with self._turn:
            process, seen = self._begin(command, folder, environment)
            late = threading.Event()
            watch = threading.Thread(target=_watch, args=(process, seen, seconds, late), daemon=True)
            watch.start()
            threading.Thread(target=_feed, args=(process, given), daemon=True).start()
            assert process.stdout
            output = process.stdout.read(MOST_BYTES + 1)
            if len(output) > MOST_BYTES:
                _kill(seen)
            # It takes the exit status, so it comes first.
            watch.join()
            if not self._end(seen):
                raise ProcessFailed("does not end")
            process.stdout.close()
        if self._closed:
            raise ProcessFailed("was ended with the service")
        if late.is_set():
            raise ProcessFailed(f"did not answer within {seconds:.0f} s")
        if len(output) > MOST_BYTES:
            raise ProcessFailed(f"wrote more than {MOST_BYTES} bytes")
        return process.returncode, output

    def end_former(self) -> None:
        """End the process that is recorded: a crash has left it behind. Raises ProcessFailed if it does not end."""
        try:
            known = json.loads(self._record.read_bytes())
            process = psutil.Process(known["pid"])
            ours = abs(process.create_time() - known["began"]) < APART
        except (OSError, ValueError, KeyError, TypeError, psutil.Error):
            return
        if ours and not self._end(process):
            raise ProcessFailed("still runs from a former call, and does not end")

    def close(self) -> None:
        """End the process that runs. None is started from now on."""
        with self._guard:
            self._closed = True
            with contextlib.suppress(ProcessFailed):
                self.end_former()

    def _begin(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> tuple["subprocess.Popen[bytes]", psutil.Process]:
        group: dict[str, Any] = {"start_new_session": True}
        if os.name == "nt":
            group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined]
        with self._guard:
            if self._closed:
                raise ProcessFailed("was ended with the service")
            self.end_former()
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                **group,
            )
            seen = psutil.Process(process.pid)
            try:
                write_file(
                    self._record, json.dumps({"pid": seen.pid, "began": seen.create_time()}).encode(), mode=0o600
                )
            except BaseException:
                _kill(seen)
                raise
            return process, seen

    def _end(self, process: psutil.Process) -> bool:
        """End it with all that it started, and whether it has ended."""
        ended = _kill(process)
        if ended:
            self._record.unlink(missing_ok=True)
        return ended


def _watch(process: "subprocess.Popen[bytes]", seen: psutil.Process, seconds: float, late: threading.Event) -> None:
    """End it when its time is over, and what it has started when it ends: that may hold its output open."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        late.set()
    _kill(seen)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)


def _feed(process: "subprocess.Popen[bytes]", given: bytes) -> None:
    assert process.stdin
    with contextlib.suppress(OSError), process.stdin as stdin:
        stdin.write(given)


def _kill(process: psutil.Process) -> bool:
    family = [process]
    with contextlib.suppress(psutil.Error):
        family += process.children(recursive=True)
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    for one in family:
        with contextlib.suppress(psutil.Error):
            one.kill()
    _, alive = psutil.wait_procs(family, timeout=END_SECONDS)
    return not [one for one in alive if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
