"""Runs a module that must not outlive its owner: `python -m benchmarks.chaos.owned <module> <arguments>`.

The owner holds the other end of standard input. When that closes, the owner is gone, even by SIGKILL, and the module
ends too: first as if asked to (SIGTERM), then by force.
"""

import os
import runpy
import signal
import sys
import threading
import time

_GRACE_SECONDS = 10.0


def _watch_parent() -> None:
    try:
        while os.read(0, 4096):
            pass
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_GRACE_SECONDS)
        os._exit(1)


def main() -> None:
    """Start the watch and become the module."""
    threading.Thread(target=_watch_parent, name="parent-watch", daemon=True).start()
    module = sys.argv[1]
    sys.argv = sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
