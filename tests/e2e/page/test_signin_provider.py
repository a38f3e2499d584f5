"""A person signs in with a real provider of OpenID Connect, and a client of sign-in works: all over HTTP on loopback.

The provider is `oidc-provider`, a package of npm that is certified by the OpenID Foundation, got by
scripts/conformance.sh. Unlike the scripted one of the unit tests it knows nothing of this service.
"""

import html
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.e2e.client import Service
from tests.e2e.stack import KIND, ROOT, Running, Stack, free_ports, give_up, started
from tests.support.browser import visited
from tests.support.part import of_proof
from tests.support.signing_in import CALLBACK, Browser, registered
from tests.support.signing_in_over_http import over_http

CLIENT = {"OIDC_CLIENT_ID": "live-memory", "OIDC_CLIENT_SECRET": "a-secret-of-the-test"}
FORM = re.compile(r'<form[^>]*action="([^"]*)"')
FIELD = re.compile(r'name="(\w+)" value="([^"]*)"')

pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.skipif(KIND != "local", reason="the provider must know the service's address, and both this machine"),
]


@pytest.fixture(scope="module")
def port() -> int:
    return free_ports(1)


@pytest.fixture(scope="module")
def issuer(port: int) -> Iterator[str]:
    """A provider that sends people back to the service at this port."""
    script = [str(ROOT / "scripts" / "conformance.sh")]
    done = subprocess.run(script, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        give_up(done.stderr[-2_000:])
    node, suite = done.stdout.splitlines()
    program = ROOT / "tests" / "e2e" / "conformance" / "provider.mjs"
    command = [node, str(program), str(Path(suite).parents[3]), f"http://127.0.0.1:{port}/oauth/callback"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@pytest.fixture(
    scope="module",
    params=[{}, *of_proof({"OIDC_CLAIM": "groups", "OIDC_SCOPE": "openid groups"})],
    ids=lambda variables: variables.get("OIDC_CLAIM", "email"),
)
def signing_in(
    request: pytest.FixtureRequest, issuer: str, port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A service with this provider."""
    variables = {**CLIENT, "OIDC_ISSUER": issuer, "PORT": str(port), "EMBEDDINGS_API_URL": "off", **request.param}
    stack = Stack(tmp_path_factory.mktemp("data") / "data", **variables)
    try:
        yield started(stack.data, stack.process)
    finally:
        wrong = stack.stop()
    assert not wrong, wrong


def at_the_provider(url: str, name: str, back: str) -> str:
    """Sign in at the provider's own forms; where it sends the person then."""
    with httpx2.Client() as browser:
        answer = browser.get(url)
        for _ in range(12):
            if answer.is_redirect:
                target = str(answer.url.join(answer.headers["location"]))
                if target.startswith(back):
                    return target
                answer = browser.get(target)
                continue
            form = FORM.search(answer.text)
            assert form, answer.text
            fields = dict(FIELD.findall(answer.text))
            if 'name="login"' in answer.text:
                fields |= {"login": name, "password": "any"}
            answer = browser.post(html.unescape(form[1]), data=fields)
    raise AssertionError(answer.text)


def person_of(running: Running, name: str) -> None:
    """A token of this person for a space. Repeats change nothing."""
    service = Service(running.url, running.token)
    entry = {
        "name": f"team-{name}",
        "permissions": ["read"],
        "space_ids": ["demo"],
        "email": f"{name}@example.org",
    }
    assert service.send("POST", "/spaces", {"space_id": "demo", "rules": "Keep a log."}).status in (201, 409)
    assert service.send("POST", "/tokens", entry).status == 201


def test_a_person_with_an_account_there_lets_a_client_in_and_ends_it(signing_in: Running) -> None:
    url = signing_in.url
    person_of(signing_in, "ann")
    send = over_http(url)
    client, browser = registered(send, url), Browser(send, url)

    first = browser.open(client.url())
    left = browser.submit(first.fields(), to="/oauth/oidc")
    came = at_the_provider(left.target(), "ann", f"{url}/oauth/callback")
    page = browser.open(came)
    assert page.status == 200, page.body
    assert "You act as team-ann." in page.body
    issued = client.redeem(browser.submit(page.fields()).target()).json()

    assert issued["scope"] == "read"
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {
        "authorization": f"Bearer {issued['access_token']}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    assert send("POST", "/mcp", "", json.dumps(call), headers).status == 200
    assert client.revoke(issued["access_token"]).status == 200
    assert browser.open(came).status == 403


def test_a_person_without_a_token_is_let_in_nowhere(signing_in: Running) -> None:
    send = over_http(signing_in.url)
    client, browser = registered(send, signing_in.url), Browser(send, signing_in.url)
    first = browser.open(client.url())
    left = browser.submit(first.fields(), to="/oauth/oidc")

    page = browser.open(at_the_provider(left.target(), "eve", f"{signing_in.url}/oauth/callback"))

    assert page.status == 403
    assert re.search(r"belongs to (eve@example\.org|team-eve)\.", page.body)
    assert urlsplit(page.cancel()).netloc == "claude.ai"


def test_a_person_goes_to_the_provider_and_comes_back_in_a_real_browser(browser, signing_in: Running) -> None:
    person_of(signing_in, "kim")
    client = registered(over_http(signing_in.url), signing_in.url)
    visit = visited(browser, signing_in.url)
    page = visit.page
    page.route(f"{CALLBACK}**", lambda route: route.fulfill(content_type="text/html", body="You are back."))
    # The provider's own page asks for a font.
    page.route("https://fonts.*/**", lambda route: route.fulfill(content_type="text/css", body=""))
    page.goto(client.url())
    page.get_by_role("button", name=re.compile("Sign in with")).click()
    page.locator("input[name=login]").fill("kim")
    page.locator("input[name=password]").fill("any")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Continue").click()
    page.get_by_text("You act as team-kim.").wait_for()
    page.get_by_role("button", name="Allow").click()
    page.get_by_text("You are back.").wait_for()
    came = page.url
    page.context.close()

    assert client.redeem(came).json()["scope"] == "read"
    # The provider and the client are other hosts.
    assert [one for one in visit.troubles if not one.startswith("another host: ")] == []
