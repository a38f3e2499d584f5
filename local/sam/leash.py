"""Runs a program that must not outlive its owner: `python -m local.sam.leash <program> <arguments>`.

The owner holds the other end of standard input. When that closes (also because the owner was killed), or at SIGTERM,
the program and everything that it started in its group is asked to end, again and again, and then made to: the SAM CLI
loses a SIGTERM that comes at the wrong moment.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading

from local.stopping import StopRequest, on_signals

_ASK_TIMES, _ASK_SECONDS = 5, 3.0


def main() -> int:
    """Run the program; returns its exit status, or 0 if it was told to end."""
    told = StopRequest()
    on_signals(told.ask)
    process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    threading.Thread(target=_watch_owner, args=(told,), daemon=True).start()
    while not told.wait(0.2):
        if (status := process.poll()) is not None:
            _kill(process, signal.SIGKILL)  # what it may have left of its group
            return status
    for _ in range(_ASK_TIMES):
        _kill(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_ASK_SECONDS)
            break
    _kill(process, signal.SIGKILL)
    process.wait()
    return 0


def _watch_owner(told: StopRequest) -> None:
    while os.read(0, 4096):
        pass
    told.ask()


def _kill(process: "subprocess.Popen[bytes]", number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


if __name__ == "__main__":
    sys.exit(main())
