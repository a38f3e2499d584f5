"""The whole product from outside, over HTTP; the same files on three kinds of service.

E2E_STACK      `local` (the default: the local runtime) or `sam` (sam local, Docker and MinIO, started here)
LIVEMEM_URL    a service that runs: base URL without /v1 (then LIVEMEM_TOKEN is an admin token of it)
LIVEMEM_LAMBDA_URL, LIVEMEM_LOGS  the Lambda API of that service and the folder of its logs, for tests that need them
E2E_PATIENCE_SECONDS  longest wait for anything (90); a service with a real LLM needs some minutes
E2E_REQUIRED   1: what cannot be tested fails instead of being skipped
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import pytest

from tests.e2e.client import PATIENCE_SECONDS, Service

ROOT = Path(__file__).resolve().parents[2]
KIND = os.environ.get("E2E_STACK") or "local"
MODULES = {"local": "local", "sam": "local.sam"}
# A first start on real parts builds; later ones make an image for each function.
START_SECONDS = {"local": 60, "sam": 1_200}
STOP_SECONDS = {"local": 30, "sam": 120}
# What it serves itself in any case; the store of the local runtime, and the LLM of both, may be somebody else's.
OWN_SERVERS = {"local": ("api",), "sam": ("api", "lambda", "s3")}
PART_IS_MISSING = 3
"""Exit status of `python -m local.sam` if something has to be installed first."""

# The demo starts a runtime of its own, which would prove nothing elsewhere.
collect_ignore = [] if KIND == "local" else ["test_demo.py"]


@dataclass(frozen=True)
class Running:
    """A service that runs, as far as it is known: a deployed one has no log files here."""

    url: str
    token: str
    lambda_url: str | None = None
    logs: Path | None = None
    data: Path | None = None
    """The data folder of one that was started here."""


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The service that all tests share."""
    if url := os.environ.get("LIVEMEM_URL"):
        logs = os.environ.get("LIVEMEM_LOGS")
        yield Running(
            url, os.environ["LIVEMEM_TOKEN"], os.environ.get("LIVEMEM_LAMBDA_URL"), Path(logs) if logs else None
        )
        return
    others = _containers()
    data = tmp_path_factory.mktemp("data")
    environment = {
        **os.environ,
        "PORT": str(_free_ports(4)) if KIND == "sam" else "0",
        "LIVEMEM_DATA_DIR": str(data),
        # So that it is met, and costs no minutes.
        "CONSOLIDATION_COOLDOWN_SECONDS": "1",
        "PYTHONPATH": f"{ROOT / 'layers' / 'livemem'}{os.pathsep}{ROOT}",
    }
    output = data.with_name(f"{data.name}.log")
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", MODULES[KIND]], cwd=ROOT, env=environment, stdout=file, stderr=file
        )
    try:
        endpoints = _wait_for(data / "endpoints.json", process, output)
        key = (data / "admin.key").read_text().strip()
        # The local runtime answers the Lambda API at the same port.
        yield Running(endpoints["api"], key, endpoints.get("lambda", endpoints["api"]), data / "logs", data)
    finally:
        process.terminate()
        status = process.wait(timeout=STOP_SECONDS[KIND])
    # Only after a start that succeeded: another failure is not hidden by this one.
    assert status == 0, output.read_text("utf-8", "replace")
    for name in OWN_SERVERS[KIND]:
        assert not _listens(endpoints[name]), f"{name} still listens at {endpoints[name]}"
    assert _containers() <= others


@pytest.fixture(scope="session")
def service(running: Running) -> Service:
    """A client with the bootstrap key, on a service that runs."""
    return Service(running.url, running.token)


@pytest.fixture(scope="session")
def invoke(running: Running) -> Callable[[str, Any], Any]:
    """Calls a function by its logical id with an event, as a schedule does; gives its result."""
    if running.lambda_url is None:
        give_up("LIVEMEM_LAMBDA_URL is not set: no function can be invoked")

    def call(function: str, event: Any) -> Any:
        url = f"{running.lambda_url}/2015-03-31/functions/{function}/invocations"
        request = urllib.request.Request(url, data=json.dumps(event).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            assert "X-Amz-Function-Error" not in answer.headers, answer.read()
            return json.loads(answer.read())

    return call


@pytest.fixture(scope="session")
def log_lines(running: Running) -> Callable[[], list[str]]:
    """What the functions have logged so far."""
    folder = running.logs
    if folder is None:
        give_up("LIVEMEM_LOGS is not set: there are no logs to look at")
    return lambda: [
        line for file in sorted(folder.glob("*.log")) for line in file.read_text("utf-8", "replace").splitlines()
    ]


def give_up(reason: str) -> NoReturn:
    """Skip, or fail where everything has to be tested."""
    if os.environ.get("E2E_REQUIRED") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _wait_for(file: Path, process: "subprocess.Popen[bytes]", output: Path) -> dict[str, str]:
    deadline = time.monotonic() + START_SECONDS[KIND]
    while time.monotonic() < deadline:
        if file.is_file():
            return json.loads(file.read_text())
        if (status := process.poll()) is not None:
            told = output.read_text("utf-8", "replace").strip()
            if status == PART_IS_MISSING:
                give_up(told)
            pytest.fail(f"the stack ended with {status} while it started:\n{told}")
        time.sleep(0.1)
    pytest.fail(f"the stack did not start in time:\n{output.read_text('utf-8', 'replace')}")


def _listens(url: str) -> bool:
    address = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex((address.hostname, address.port)) == 0


def _containers() -> set[str]:
    """The functions that run in Docker, anybody's; none where it is not needed."""
    if KIND != "sam" or not shutil.which("docker"):
        return set()
    command = ["docker", "ps", "--all", "--quiet", "--filter", "label=sam.cli.container.type=lambda"]
    return set(subprocess.run(command, capture_output=True, text=True, check=False).stdout.split())


def _free_ports(count: int) -> int:
    """The first of `count` free neighbours, away from the ports of SAM's containers and of outgoing connections."""
    for first in range(14_300, 30_000, 10):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("0.0.0.0", port))
        except OSError:
            continue
        return first
    raise AssertionError("no free ports")
