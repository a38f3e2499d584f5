"""Work of a hook that nobody has to wait for, in a process of its own that outlives the hook."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

MOST_LOG_BYTES = 200_000


def detach(work: Callable[[], object], log: Path) -> bool:
    """Carry out work in another process; what it writes goes to the log. False: it must be done here.

    Only on Linux: elsewhere a fork of a process that uses the system's libraries may end in a crash.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        output = _opened(log)
        if os.fork():
            os.close(output)
            return True
    except OSError:
        return False
    # From here on this is the other process. It must never return into the program of the first one.
    try:
        # The client waits until all have closed its pipes, and may end its own processes with a signal to their group.
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        work()
        sys.stderr.flush()
    finally:
        os._exit(0)


def _opened(log: Path) -> int:
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        if log.stat().st_size > MOST_LOG_BYTES:
            log.replace(log.with_suffix(".1"))
    return os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
