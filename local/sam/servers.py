"""The servers of the stack as processes: started with a log file, waited for by their port, ended with the stack."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from local import ROOT

# The SAM CLI loses a SIGTERM that comes at the wrong moment.
_ASK_TIMES, _ASK_SECONDS = 5, 3.0
_POLL_SECONDS = 0.1


class StackError(OSError):
    """The stack cannot run, or go on; the text is for the terminal."""

    status = 3
    """Exit status where a part is missing."""


class ServerProcess:
    """One server, from its start to its stop."""

    def __init__(
        self, name: str, command: Sequence[str], *, environment: Mapping[str, str], log: Path, address: tuple[str, int]
    ) -> None:
        """Start it, with these variables alone. `log` is emptied for what it prints, `address` is where it listens."""
        self.name = name
        self.log = log
        self._address = address
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                # However the stack ends, the system then ends its servers.
                ["setpriv", "--pdeathsig", "TERM", *command],
                cwd=ROOT,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Ctrl-C in the terminal goes to the stack alone, which then ends everything in order.
                start_new_session=True,
            )

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def wait_ready(self, seconds: float) -> None:
        """Wait until it listens; raises StackError when it ends before that, or takes too long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection(self._address, timeout=1).close()
                return
            if not self.is_running():
                raise StackError(f"{self.name} ended with status {self._process.returncode}:\n{self.tail()}")
            time.sleep(_POLL_SECONDS)
        raise StackError(f"{self.name} did not listen within {seconds:.0f} s:\n{self.tail()}")

    def tail(self) -> str:
        """The end of its log."""
        return self.log.read_text("utf-8", "replace")[-2_000:].strip()

    def ask_to_stop(self) -> None:
        """Tell it to end, without waiting."""
        self._signal(signal.SIGTERM)

    def stop(self) -> None:
        """End it, and what it started in its group, and wait until it has ended."""
        for _ in range(_ASK_TIMES):
            self.ask_to_stop()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_ASK_SECONDS)
                break
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def check_free(host: str, port: int) -> None:
    """Raise StackError if somebody listens on a port, or the address is not this machine's."""
    with socket.socket() as probe:
        # As servers do it: a port whose last connections are still closing is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise StackError(
                f"Cannot listen on {host}:{port}: {error.strerror}. Set PORT to another port; the next three serve too."
            ) from error
