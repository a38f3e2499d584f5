"""The official conformance suite of MCP against the running service: what does not pass is named, with its reason.

The suite is a package of npm, got by scripts/conformance.sh.
"""

import json
import re
import subprocess
from http import HTTPStatus
from pathlib import Path

import httpx2
import pytest

from tests.e2e.spaces import fresh_space
from tests.e2e.stack import ROOT, free_ports, give_up
from tests.e2e.test_signin_provider import over_http
from tests.support.relay import relayed
from tests.support.signing_in import Browser, registered

EXPECTED = ROOT / "tests" / "e2e" / "conformance" / "expected-failures.yml"
SECONDS = 900
"""On `sam local` each of some hundred requests may start a container."""
FAILED = ("FAILURE", "WARNING")
"""As the suite itself counts where it is given what is expected: also what a server should do, or cannot be tested."""
AUTHORIZATION = {"authorization-code-grant", "authorization-server-metadata-endpoint"}
"""All scenarios of the suite for authorization servers."""
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


def test_the_authorization_server_passes_with_a_person_who_presses_one_button(suite, service, running, tmp_path):
    url = running.url
    if httpx2.get(f"{url}/.well-known/oauth-authorization-server").status_code != HTTPStatus.OK:
        give_up("this service has no sign-in")
    port = free_ports(1)
    with fresh_space(service, 0) as space:
        send = over_http(url)
        client = registered(send, url, f"http://127.0.0.1:{port}/callback")
        made = service.tokens.create(name="ann", permissions=["read", "write"], space_ids=[space])
        command = [*suite, "authorization", "--url", url, "--client-id", client.client_id, "-p", str(port)]
        command += ["--resource", f"{url}/mcp", "-o", str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            told = []
            for line in process.stdout:
                told.append(line)
                if line.startswith(f"{url}/oauth/authorize?"):
                    httpx2.get(Browser(send, url).allow(line.strip(), made.token).target())
            status = process.wait(SECONDS)

    assert status == 0, "".join(told)
    found = _results(tmp_path)
    assert {name for name, failed in found.items() if not failed} == AUTHORIZATION, (found, told)


def _results(folder: Path) -> dict[str, list[str]]:
    """Scenario -> what failed in it."""
    found = {}
    for file in folder.glob("*/checks.json"):
        # `server-ping-2026-11-23T01-29-53-237Z`
        name = (
            re.sub(r"-\d{4}-\d\d-\d\dT[\dTZ-]+$", "", file.parent.name)
            .removeprefix("authorization-server-")
            .removeprefix("server-")
        )
        checks = json.loads(file.read_text("utf-8"))
        found[name] = [f"{one['id']}: {one.get('errorMessage')}" for one in checks if one["status"] in FAILED]
    return found
