"""A service that the end-to-end tests start themselves, and end."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import pytest

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


@dataclass(frozen=True)
class Running:
    """A service that runs, as far as it is known: a deployed one has no log files here."""

    url: str
    token: str
    lambda_url: str | None = None
    logs: Path | None = None
    data: Path | None = None
    """The data folder of one that was started here."""


class Stack:
    """A service that is started with an empty data folder, `data`, and more variables; who needs it waits for it with
    `started`.
    """

    def __init__(self, data: Path, **variables: str) -> None:
        self.data = data
        self._containers = _containers()
        environment = {
            **os.environ,
            "PORT": str(free_ports(4)) if KIND == "sam" else "0",
            "LIVEMEM_DATA_DIR": str(data),
            # So that it is met, and costs no minutes.
            "CONSOLIDATION_COOLDOWN_SECONDS": "1",
            # As on AWS. A sweep comes soon after the start, and would fold sessions of days before, which tests play.
            "SESSION_FOLDS": "false",
            "PYTHONPATH": f"{ROOT / 'layers' / 'livemem'}{os.pathsep}{ROOT}",
            **variables,
        }
        with _output(data).open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", MODULES[KIND]], cwd=ROOT, env=environment, stdout=file, stderr=file
            )

    def stop(self) -> str:
        """End it; in words what is wrong with how it ended, or nothing."""
        self.process.terminate()
        status = self.process.wait(timeout=STOP_SECONDS[KIND])
        if status != 0:
            return f"it ended with {status}:\n{_output(self.data).read_text('utf-8', 'replace')}"
        file = self.data / "endpoints.json"
        endpoints = json.loads(file.read_text()) if file.is_file() else {}
        still = [endpoints[name] for name in OWN_SERVERS[KIND] if endpoints and _listens(endpoints[name])]
        if still:
            return f"these still listen: {still}"
        containers = _containers() - self._containers
        return f"these containers still run: {containers}" if containers else ""


def started(data: Path, process: "subprocess.Popen[bytes] | None" = None) -> Running:
    """The service of the folder, when it is ready; fails where it does not come up in time, or its process ends."""
    deadline = time.monotonic() + START_SECONDS[KIND]
    file = data / "endpoints.json"
    while not file.is_file():
        told = _output(data).read_text("utf-8", "replace").strip()
        if process and (status := process.poll()) is not None:
            if status == PART_IS_MISSING:
                give_up(told)
            pytest.fail(f"the stack ended with {status} while it started:\n{told}")
        if time.monotonic() > deadline:
            pytest.fail(f"the stack did not start in time:\n{told}")
        time.sleep(0.1)
    endpoints = json.loads(file.read_text())
    key = (data / "admin.key").read_text().strip()
    # The local runtime answers the Lambda API at the same port.
    return Running(endpoints["api"], key, endpoints.get("lambda", endpoints["api"]), data / "logs", data)


def give_up(reason: str) -> NoReturn:
    """Skip, or fail where everything has to be tested."""
    if os.environ.get("E2E_REQUIRED") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _output(data: Path) -> Path:
    return data.with_name(f"{data.name}.log")


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


def free_ports(count: int) -> int:
    """The first of `count` free neighbours, away from the ports of SAM's containers and of outgoing connections.

    Workers of one run of tests look in ranges of their own: none takes what another one has found and not used yet.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    for first in range(14_300 + 1_000 * (worker % 10), 30_000, 10):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("0.0.0.0", port))
        except OSError:
            continue
        return first
    raise AssertionError("no free ports")
