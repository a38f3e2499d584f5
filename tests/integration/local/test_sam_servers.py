"""The servers of `make sam-local` as processes."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from local.sam.servers import ServerProcess
from tests.integration.local.support import ROOT, is_alive, wait_until

# Has a child, and loses the first two SIGTERM, as the SAM CLI may.
STUBBORN = """
import signal, socket, subprocess, sys
left = [0, 0]
signal.signal(signal.SIGTERM, lambda *_: left.pop() if left else sys.exit())
child = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
print(child.pid, flush=True)
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        server.accept()[0].close()
"""
OWNER = """
import pathlib, sys, time
from local.sam.servers import ServerProcess
command = [sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(600)"]
server = ServerProcess("one", command, environment={}, log=pathlib.Path(sys.argv[1]), address=("127.0.0.1", 1))
while not server.tail():
    time.sleep(0.05)
print(server._process.pid, flush=True)
time.sleep(600)
"""


def test_a_server_that_loses_requests_to_end_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free_port = probe.getsockname()[1]
    monkeypatch.setattr("local.sam.servers._ASK_SECONDS", 0.2)
    command = [sys.executable, "-c", STUBBORN, str(free_port)]
    server = ServerProcess(
        "one", command, environment=dict(os.environ), log=tmp_path / "log", address=("127.0.0.1", free_port)
    )
    server.wait_ready(20)
    child = int(server.tail())

    server.stop()

    assert not server.is_running()
    wait_until(lambda: not is_alive(child), 10)


def test_a_server_ends_with_an_owner_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path / "log")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout
        server = int(owner.stdout.readline())
        assert is_alive(server)
        owner.send_signal(signal.SIGKILL)
    wait_until(lambda: not is_alive(server), 10)
