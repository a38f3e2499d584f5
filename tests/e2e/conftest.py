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
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import PATIENCE_SECONDS, Service
from tests.e2e.stack import KIND, Running, Stack, give_up, started

# The demo starts a runtime of its own, which would prove nothing elsewhere.
collect_ignore = [] if KIND == "local" else ["test_demo.py"]

SHARED = pytest.StashKey[Stack]()
"""What the process that leads several workers has started for all of them."""
SHARED_DATA = "e2e_data"
"""The name under which each worker is told the data folder of it."""


@pytest.fixture(scope="session")
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The service that all tests share."""
    if url := os.environ.get("LIVEMEM_URL"):
        logs = os.environ.get("LIVEMEM_LOGS")
        yield Running(
            url, os.environ["LIVEMEM_TOKEN"], os.environ.get("LIVEMEM_LAMBDA_URL"), Path(logs) if logs else None
        )
        return
    if shared := getattr(request.config, "workerinput", {}).get(SHARED_DATA):
        yield started(Path(shared))
        return
    stack = Stack(tmp_path_factory.mktemp("data"))
    try:
        yield started(stack.data, stack.process)
    finally:
        wrong = stack.stop()
    # Only after a start that succeeded: another failure is not hidden by this one.
    assert not wrong, wrong


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Several workers share one service too: each start of its processes takes half a minute of a core."""
    if KIND != "local" or os.environ.get("LIVEMEM_URL"):
        return
    stash = node.config.stash
    if SHARED not in stash:
        stash[SHARED] = Stack(Path(tempfile.mkdtemp(prefix="livemem-e2e-")) / "data")
    node.workerinput[SHARED_DATA] = str(stash[SHARED].data)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """The workers have ended: so does what they shared, and in order."""
    stack = session.config.stash.get(SHARED, None)
    if stack is None:
        return
    if wrong := stack.stop():
        print(f"\nThe service of the end-to-end tests: {wrong}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    shutil.rmtree(stack.data.parent)


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
