"""Whoever asks a program to stop, and asks again at once and often, is obeyed: none hangs, and no child is left."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from local.stopping import StopRequest
from tests.integration.local.support import ROOT, descendants, is_alive, wait_until

SIGNALS = 300

WORST_MOMENTS = """
import os, signal, sys

left = 50

def strike(frame, event, argument):
    global left
    if event in ("call", "return") and left:
        left -= 1
        os.kill(os.getpid(), signal.SIGTERM)

signal.signal(signal.SIGUSR1, lambda *_: sys.setprofile(strike))
"""
"""From a signal on the main thread gets another one at the beginning and at the end of each function, handlers and what
they call among them: by chance alone that happens in one stop of seven.
"""


@contextmanager
def running(data: Path) -> Iterator["subprocess.Popen[str]"]:
    """The runtime, once it has said something."""
    (data.parent / "sitecustomize.py").write_text(WORST_MOMENTS)
    environment = {
        **os.environ,
        "PORT": "0",
        "LIVEMEM_DATA_DIR": str(data),
        "PYTHONPATH": os.pathsep.join([str(data.parent), str(ROOT)]),
    }
    command = [sys.executable, "-m", "local"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        assert process.stdout.readline()
        yield process
    finally:
        for left in (process.pid, *descendants(process.pid)):
            with suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
        process.communicate()


def test_a_runtime_that_is_asked_to_stop_hundreds_of_times_at_once_stops(tmp_path: Path):
    with running(tmp_path / "data") as process:
        children = descendants(process.pid)
        process.send_signal(signal.SIGUSR1)
        for _ in range(SIGNALS):
            process.send_signal(signal.SIGTERM)

        # A signal that comes when it is stopping, or when Python ends, ends it at once.
        assert process.wait(30) in (0, -signal.SIGTERM)
        wait_until(lambda: not [child for child in children if is_alive(child)], 30)


def test_asking_is_possible_at_every_moment_of_waiting_and_asking():
    stop = StopRequest()
    depth = 0

    def interrupting(frame, event, argument):
        nonlocal depth
        # As a signal does: between any two lines, also of the handler.
        if event == "line" and depth < 3 and frame.f_code.co_name in ("wait", "ask"):
            depth += 1
            stop.ask()
            depth -= 1
        return interrupting

    def work() -> None:
        sys.settrace(interrupting)
        try:
            done.append(stop.wait())
        finally:
            sys.settrace(None)

    done: list[bool] = []
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(10)
    assert done == [True]


def test_nobody_has_asked_until_somebody_asks_and_then_it_stays_so():
    stop = StopRequest()
    assert not stop.wait(0)
    for _ in range(100_000):
        stop.ask()
    assert stop.wait(0)
    assert stop.wait()
