"""A service that takes requests and never ends an answer: hooks, as processes, leave it and let the client go on."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from live_memory.cli import config
from live_memory.cli.init.hooks.prompts import Asked

HEAD = b"HTTP/1.1 200 OK\r\nX-Slow: "


class Hung:
    """A port that accepts, and says nothing, or a header that has no end."""

    def __init__(self, *, drips: bool) -> None:
        self._drips, self._ended = drips, threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.asked: list[bytes] = []
        """The first bytes of each request."""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self.asked.append(connection.recv(60))
            if self._drips:
                connection.sendall(HEAD)
            while not self._ended.wait(0.02):
                if self._drips:
                    # No pause is long enough for a time limit of one read.
                    connection.sendall(b"x")

    def end(self) -> None:
        self._ended.set()
        self._socket.close()


@contextmanager
def hung(*, drips: bool) -> Iterator[Hung]:
    service = Hung(drips=drips)
    try:
        yield service
    finally:
        service.end()


def run_hook(service: Hung, home: Path, event: str) -> Any:
    """What the client gets from the hook's process, which must end by itself."""
    project, transcript = home / "ferry", home / "session.jsonl"
    project.mkdir(exist_ok=True)
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": "client", "LIVEMEM_URL": service.url}
    environ |= {"LIVEMEM_TOKEN": "t", "LIVEMEM_STATE": str(home / "state"), "LIVEMEM_CONFIG": str(home / "none")}
    address = config.address_of(environ, service.url, is_local=False)
    Asked(home / "state" / "hooks", "claude-code").allow(project, address)
    said = [{"type": role, "message": {"role": role, "content": "All is said."}} for role in ("user", "assistant")]
    transcript.write_text("".join(json.dumps(one) + "\n" for one in said))
    payload = {"session_id": "s1", "cwd": str(project), "transcript_path": str(transcript)}
    payload["prompt"] = "Which store do we keep for the turns?"
    command = [sys.executable, "-m", "live_memory.cli", "hook", "claude-code", event, "--space", "demo"]
    done = subprocess.run(
        command, input=json.dumps(payload), env=environ, capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


@pytest.mark.process
@pytest.mark.parametrize("drips", [False, True], ids=["silent", "drips"])
def test_a_prompt_goes_on_without_a_service_that_hangs_which_is_asked_once_and_not_by_the_next_prompt(
    tmp_path: Path, drips: bool
):
    with hung(drips=drips) as service:
        assert [run_hook(service, tmp_path, "UserPromptSubmit") for _ in range(2)] == [{}, {}]
        assert len(service.asked) <= 1


@pytest.mark.process
@pytest.mark.slow
def test_a_session_starts_and_ends_without_a_service_that_hangs_and_what_was_said_waits(tmp_path: Path):
    # A limit that ends what drips ends what is silent as well.
    with hung(drips=True) as service:
        with ThreadPoolExecutor() as clients:
            started, ended = clients.map(partial(run_hook, service, tmp_path), ("SessionStart", "SessionEnd"))
        assert "could not be loaded" in json.dumps(started) or started == {}
        assert ended == {}
        assert service.asked
    (entry,) = (tmp_path / "state" / "hooks" / "unsent").iterdir()
    assert "All is said." not in entry.read_text()
