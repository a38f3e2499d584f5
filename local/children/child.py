"""Server programs beside the runtime (embedded S3 server, offline LLM): started, waited for, watched, stopped."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_URL = re.compile(r"https?://\S+")
_STOP_SECONDS = 5.0


class ChildError(RuntimeError):
    """A server program did not become ready."""


class Child:
    """One server program. It says that it is ready with a line on standard output that holds its URL."""

    def __init__(self, name: str, module: str, *arguments: str) -> None:
        """Start it; it lives no longer than this process."""
        self.name = name
        self._url: Future[str] = Future()
        self._stopping = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "local.children.module", module, *arguments],
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C in the terminal goes to the runtime alone, which then ends everything in order.
            start_new_session=True,
        )
        threading.Thread(target=self._read_output, name=f"{name}-output", daemon=True).start()

    def _read_output(self) -> None:
        output = self._process.stdout
        assert output is not None
        for line in output:
            found = _URL.search(line.decode("utf-8", "replace"))
            if found and not self._url.done():
                self._url.set_result(found[0].rstrip(".,;)"))
        if not self._url.done():
            self._url.set_exception(ChildError(f"the {self.name} ended with status {self._process.wait()}"))

    def wait_ready(self, timeout: float) -> str:
        """Wait for the URL. Raises ChildError when there is none in time."""
        try:
            return self._url.result(timeout)
        except TimeoutError as error:
            raise ChildError(f"the {self.name} was not ready within {timeout:.0f} s") from error

    def watch(self, on_end: Callable[[str], None]) -> None:
        """Call a function with the name when the program ends without having been asked to."""

        def wait() -> None:
            self._process.wait()
            if not self._stopping:
                on_end(self.name)

        threading.Thread(target=wait, name=f"{self.name}-watch", daemon=True).start()

    def stop(self) -> None:
        """End it and wait until it has ended."""
        self._stopping = True
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
