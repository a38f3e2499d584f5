"""The page of sign-in in a real browser: without script, under its policy, from the client's link to the client."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import expect

from tests.e2e.spaces import fresh_space
from tests.e2e.stack import give_up
from tests.support.browser import Visit
from tests.support.signing_in import Client, registered
from tests.support.signing_in_over_http import over_http


@pytest.fixture
def callback() -> Iterator[tuple[str, list[str]]]:
    """A client's own server: the address that people come back to, and what they bring. It sends them on once more."""
    brought: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/callback"):
                brought.append(self.path)
                self.send_response(302)
                # Another host to the browser: a policy that held redirects against `form-action` would end here.
                self.send_header("Location", f"http://localhost:{self.server.server_address[1]}/done")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<link rel=icon href=data:,><title>Back</title>You are back.")

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/callback", brought
    server.shutdown()
    server.server_close()


@pytest.fixture
def client(running, callback) -> Client:
    if httpx.get(f"{running.url}/.well-known/oauth-protected-resource").status_code != 200:
        give_up("this service has no sign-in")
    return registered(over_http(running.url), running.url, callback[0], name="Desk")


@pytest.fixture
def token(service) -> Iterator[str]:
    with fresh_space(service, 0) as one, fresh_space(service, 0) as two:
        yield service.tokens.create(name="ann", permissions=["read", "write"], space_ids=[one, two]).token


def opened(visit: Any, client: Client, **options: Any) -> Visit:
    found: Visit = visit(java_script_enabled=False, **options)
    found.page.goto(client.url())
    return found


def forget_other_hosts(found: Visit) -> None:
    """It is the client's server that the browser is sent to."""
    found.troubles[:] = [one for one in found.troubles if not one.startswith("another host: ")]


def test_a_person_comes_from_the_client_and_goes_back_with_a_code(visit, client, callback, token):
    found = opened(visit, client)
    page = found.page
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Only these").check()
    page.get_by_label("write").uncheck()
    page.get_by_role("button", name="Allow").click()
    page.get_by_text("You are back.").wait_for()

    (path,) = callback[1]
    told = parse_qs(urlsplit(path).query)
    assert (told["state"], told["iss"]) == (["s-1"], [client.issuer])
    assert "token" not in told
    issued = client.redeem(f"{client.issuer}{path}").json()
    assert issued["scope"] == "read"
    forget_other_hosts(found)


def test_who_cancels_goes_back_without_a_code(visit, client, callback):
    found = opened(visit, client)
    found.page.get_by_role("link", name="Cancel").click()
    found.page.get_by_text("You are back.").wait_for()

    assert "error=access_denied" in callback[1][0]
    assert "code=" not in callback[1][0]
    forget_other_hosts(found)


def test_a_wrong_token_can_be_corrected(visit, client, token):
    found = opened(visit, client)
    found.allowed.add(403)
    page = found.page
    page.get_by_label("Your token").fill("lm_wrong")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    page.get_by_label("Your token").fill(token)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Allow").wait_for()

    assert "lm_wrong" not in page.url
    assert token not in page.url
    assert token not in page.content()


def test_the_spaces_are_shown_once_a_choice_is_wanted(visit, client, token):
    found = opened(visit, client)
    page = found.page
    page.get_by_label("Your token").fill(token)
    page.keyboard.press("Enter")
    boxes = page.locator("input[name=space_id]")
    page.get_by_role("button", name="Allow").wait_for()

    expect(boxes).to_have_count(2)
    expect(boxes.first).to_be_hidden()
    page.get_by_label("Only these").check()
    expect(boxes.first).to_be_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_the_pages_can_be_read_and_used_by_everybody(visit, client, token, scheme, width):
    # axe is script, so here the browser runs some; the page has none.
    found: Visit = visit(color_scheme=scheme, viewport={"width": width, "height": 844}, bypass_csp=True)
    page = found.page
    page.goto(client.url())
    assert found.findings() == []
    found.shot(f"consent-token-{scheme}-{width}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Only these").check()
    assert found.findings() == []
    found.shot(f"consent-choice-{scheme}-{width}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_speaks_french_to_who_reads_french(visit, client):
    found = opened(visit, client, locale="fr-FR")

    assert found.page.get_by_role("heading").inner_text() == "Connecter Desk ?"


def test_no_other_page_can_frame_it_or_send_its_form(visit, running, client, callback, token):
    """Another site shows the page in a frame, and sends a form of its own: neither reaches anything."""
    found: Visit = visit()
    page = found.page
    page.route(
        "http://127.0.0.1:9/**",
        lambda route: route.fulfill(content_type="text/html", body=f'<iframe src="{_html(client.url())}"></iframe>'),
    )
    page.goto("http://127.0.0.1:9/frame")
    page.wait_for_timeout(500)
    framed = [frame for frame in page.frames if frame != page.main_frame]
    assert all("Your token" not in frame.content() for frame in framed)
    found.troubles.clear()

    fields = "".join(
        f'<input name="{name}" value="{_html(value[0])}">'
        for name, value in {**parse_qs(urlsplit(client.url()).query), "token": [token], "seal": ["x"]}.items()
    )
    page.route(
        "http://127.0.0.1:9/form",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f'<form method="post" action="{running.url}/oauth/authorize">{fields}<button>Win</button></form>',
        ),
    )
    page.goto("http://127.0.0.1:9/form")
    page.get_by_role("button", name="Win").click()
    page.get_by_text("This page was not made for your browser").wait_for()
    assert callback[1] == []
    found.troubles.clear()


def _html(text: str) -> str:
    return re.sub('[&"<>]', lambda sign: f"&#{ord(sign[0])};", text)
