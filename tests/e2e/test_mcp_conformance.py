"""The official conformance suite of MCP against the running service: what does not pass is named, with its reason.

The suite is a package of npm, got by scripts/conformance.sh.
"""

import json
import re
import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.e2e.spaces import fresh_space
from tests.e2e.stack import ROOT, give_up
from tests.support.relay import relayed
from tests.support.signing_in import Browser, registered
from tests.support.signing_in_over_http import over_http

EXPECTED = ROOT / "tests" / "e2e" / "conformance" / "expected-failures.yml"
SECONDS = 900
"""On `sam local` each of some hundred requests may start a container."""
AUTHORIZATION = {"authorization-server-metadata-endpoint", "authorization-code-grant"}
"""The scenarios for authorization servers: without one of them the test would prove less than it says."""
FAILED = ("FAILURE", "WARNING")
"""As the suite itself counts where it is given what is expected: also what a server should do, or cannot be tested."""
SCENARIO = re.compile(r"^  - ([a-z0-9-]+)$", re.MULTILINE)


@pytest.fixture(scope="session")
def suite() -> list[str]:
    """The command that runs the suite."""
    command = [str(ROOT / "scripts" / "conformance.sh")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        give_up(done.stderr[-2_000:])
    return done.stdout.splitlines()


def test_every_scenario_passes_or_is_explained(suite, service, running, tmp_path):
    expected = set(SCENARIO.findall(EXPECTED.read_text("utf-8")))
    with fresh_space(service, 0) as space, relayed(running.url, service.token) as address:
        url = f"{address}/mcp?space={space}&toolset=full"
        command = [*suite, "server", "--url", url, "--suite", "all", "-o", str(tmp_path), "--timeout", "120000"]
        command += ["--expected-failures", str(EXPECTED)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)

    found = _results(tmp_path)
    assert len(found) >= 60, done.stdout[-2_000:] + done.stderr[-2_000:]
    failed = {name: told for name, told in found.items() if told}
    assert {name: told for name, told in failed.items() if name not in expected} == {}
    assert expected - set(failed) == set(), "these pass now, or are gone: name them no more"
    assert done.returncode == 0, done.stdout[-2_000:]
    assert {"server-initialize", "tools-list", "http-header-validation", "dns-rebinding-protection"} <= set(found)


def test_every_scenario_of_an_authorization_server_passes(suite, service, running, tmp_path):
    """The suite starts a client and prints where a person has to go; here a program goes there."""
    if httpx.get(f"{running.url}/.well-known/oauth-authorization-server").status_code != 200:
        give_up("this service has no sign-in")
    send, port = over_http(running.url), _free_port()
    client = registered(send, running.url, f"http://127.0.0.1:{port}/callback")
    command = [*suite, "authorization", "--url", running.url, "--client-id", client.client_id]
    command += ["--resource", f"{running.url}/mcp", "-p", str(port), "-o", str(tmp_path)]
    with fresh_space(service, 0) as space:
        token = service.tokens.create(name="ann", permissions=["read", "write"], space_ids=[space]).token
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
            told = []
            for line in program.stdout or ():
                told.append(line)
                if line.startswith(f"{running.url}/oauth/authorize?"):
                    target = Browser(send, running.url).allow(line.strip(), token).target()
                if line.startswith("Callback server started"):
                    httpx.get(target)
            program.wait(SECONDS)

    found = _results(tmp_path)
    assert {name.removeprefix("authorization-server-") for name in found} == AUTHORIZATION, "".join(told)
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    assert program.returncode == 0, "".join(told)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _results(folder: Path) -> dict[str, list[str]]:
    """Scenario -> what failed in it."""
    found = {}
    for file in folder.glob("*/checks.json"):
        # `server-ping-2026-11-23T01-29-53-237Z`
        name = re.sub(r"-\d{4}-\d\d-\d\dT[\dTZ-]+$", "", file.parent.name).removeprefix("server-")
        checks = json.loads(file.read_text("utf-8"))
        found[name] = [f"{one['id']}: {one.get('errorMessage')}" for one in checks if one["status"] in FAILED]
    return found
