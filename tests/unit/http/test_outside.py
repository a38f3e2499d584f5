"""A person signs in with an outside provider: the way there and back over real HTTP, and the attacks on it."""

import base64
import json
import zlib
from collections.abc import Iterator
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from livemem.store.bucket import ATTEMPT, CODE
from tests.support.cases import each
from tests.support.mcp import token
from tests.support.provider import CLIENT_ID, EMAIL, SECRET, OidcServer, providing
from tests.support.signing_in import INPUT, ISSUER, Browser, Client, Got, registered, to
from tests.support.world import World
from tests.unit.signin.test_exchange import let_in

WAY = "__Host-livemem-way"
CALLBACK = f"{ISSUER}/oauth/callback"
ANN = "lm_" + "a" * 43


@pytest.fixture
def there() -> Iterator[OidcServer]:
    with providing() as server:
        yield server


def named(name: str, email: str = EMAIL, *permissions: str, spaces: tuple[str, ...] = ("demo",)) -> Any:
    entry = token(f"lm_{name:x<43}", *(permissions or ("read", "write")), spaces=spaces)
    return entry.model_copy(update={"name": name, "email": email})


class Scene:
    """A service with a provider, a client and a person."""

    def __init__(self, there: OidcServer, *entries: Any, **settings: Any) -> None:
        usual = {"oidc_issuer": there.issuer, "oidc_client_id": CLIENT_ID, "oidc_client_secret": SECRET}
        self.there = there
        self.world = World(oauth_issuer=ISSUER, **{**usual, **settings})
        self.world.create_space()
        let_in(self.world, *(entries or (named("ann"),)))
        self.send = to(self.world)
        self.client: Client = registered(self.send)
        self.browser = Browser(self.send)

    def leave(self, browser: Browser | None = None) -> str:
        """The address at the provider to which the button leads."""
        browser = browser or self.browser
        first = browser.open(self.client.url())
        return browser.submit(first.fields(), to="/oauth/oidc").target()

    def back(self, came: dict[str, str], browser: Browser | None = None) -> Got:
        return (browser or self.browser).open(f"{CALLBACK}?{urlencode(came)}")

    def come_back(self, **changes: str) -> Got:
        return self.back(self.there.let_in(self.leave(), **changes))


def test_a_person_signs_in_with_the_provider_and_the_client_gets_what_the_token_may_do(there):
    scene = Scene(there)
    page = scene.come_back()
    assert page.status == 200, page.body
    assert "You act as ann." in page.body

    issued = scene.client.redeem(scene.browser.submit(page.fields()).target())

    assert issued.status == 200
    assert set(issued.json()["scope"].split()) == {"read", "write"}


def test_the_page_offers_the_provider_by_its_host_and_nothing_without_one(there):
    scene = Scene(there)
    page = scene.browser.open(scene.client.url())
    assert f"Sign in with {urlsplit(there.issuer).netloc}" in page.body
    assert there.asked == []

    scene.world.settings = scene.world.settings.model_copy(update={"oidc_issuer": None})
    scene.world.new_process()
    page = scene.browser.open(scene.client.url())
    assert "Sign in with" not in page.body
    assert scene.browser.submit(page.fields(), to="/oauth/oidc").status == 404
    assert scene.back({"code": "x", "state": "y"}).status == 404


def test_the_way_is_a_cookie_for_ten_minutes_that_no_script_reads_and_ends_at_the_return(there):
    scene = Scene(there)
    first = scene.browser.open(scene.client.url())
    answer = scene.browser.submit(first.fields(), to="/oauth/oidc")
    [line] = answer.cookies
    assert line.startswith(f"{WAY}=")
    assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=600"} <= set(line.split("; "))

    sent = parse_qs(urlsplit(answer.target()).query)
    assert sent["code_challenge_method"] == ["S256"]
    assert sent["redirect_uri"] == [CALLBACK]
    way = json.loads(zlib.decompress(base64.urlsafe_b64decode(scene.browser.cookies[WAY] + "===")))
    assert way[0] not in answer.target()
    scene.back(there.let_in(answer.target()))
    assert WAY not in scene.browser.cookies
    assert scene.world.keys(CODE.prefix()) == []


def test_nobody_is_led_to_the_provider_but_by_the_button_of_the_page(there):
    scene = Scene(there)
    form = scene.browser.open(scene.client.url()).fields()

    assert scene.browser.submit(form, to="/oauth/oidc", origin="https://evil.example").status == 403
    assert Browser(scene.send).submit(form, to="/oauth/oidc").status == 403
    assert scene.browser.submit({**form, "seal": ["0" * 64]}, to="/oauth/oidc").status == 403
    assert scene.browser.submit({**form, "redirect_uri": ["https://evil.example/"]}, to="/oauth/oidc").status == 400
    assert there.asked == []


def test_who_begins_a_sign_in_can_not_have_another_person_finish_it(there):
    scene, victim = Scene(there), Browser(to(World(oauth_issuer=ISSUER)))
    victim.send = scene.send
    attackers = scene.leave()

    # The victim is lured to the provider with the attacker's address, or straight to the callback.
    answer = scene.back(there.let_in(attackers), victim)
    assert answer.status == 403
    assert "not made for your browser" in answer.body
    # The same where the victim is on a way of their own.
    scene.leave(victim)
    assert scene.back(there.let_in(attackers), victim).status == 403
    assert "/token" not in [path for path, _ in there.asked]
    assert scene.world.keys(ATTEMPT.prefix()) == []


def test_a_code_of_another_person_is_not_taken_into_ones_own_sign_in(there):
    scene = Scene(there)
    stolen = there.let_in(scene.leave(Browser(scene.send)))
    mine = there.let_in(scene.leave())

    answer = scene.back({**mine, "code": stolen["code"]})

    assert answer.status == 403
    assert "refuses the code" in answer.body
    assert scene.world.keys(ATTEMPT.prefix()) == []


def test_a_return_counts_once(there):
    scene = Scene(there)
    came = there.let_in(scene.leave())
    assert scene.back(came).status == 200

    assert scene.back(came).status == 403


@pytest.mark.parametrize(
    ("_case", "changes", "words"),
    [
        ("another provider", {"iss": "https://evil.example"}, "not of the sign-in provider that was asked"),
        (
            "a refusal",
            {"error": "access_denied", "error_description": "<script>alert(1)</script>"},
            "did not let you in",
        ),
        ("no code", {"code": ""}, "refuses the code"),
    ],
)
def test_a_return_that_is_none_is_told_on_the_page_of_sign_in(there, _case, changes, words):
    answer = Scene(there).come_back(**changes)

    assert answer.status == 403
    assert words in answer.body
    assert "<script" not in answer.body
    assert "Your token" in answer.body


@each(
    "query",
    [
        "",
        "state=x",
        "code=x&state=",
        "code=x&state=%00",
        "code=x&state=\u00e9",
        "code=x&state=a&state=b",
        "code=x&code=y&state=a",
        "%ff=%ff",
        "state=" + "x" * 70_000,
    ],
)
def test_nonsense_comes_back_and_is_told(there, query):
    scene = Scene(there)
    scene.leave()

    assert scene.browser.open(f"{CALLBACK}?{query}").status in (400, 403, 413)


def way(*values: Any, raw: bytes | None = None) -> str:
    packed = zlib.compress(json.dumps(values).encode() if raw is None else raw)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


@each(
    "kept",
    [
        "",
        "!",
        "AAAA",
        way("secret"),
        way(*[7] * 9),
        way({"a": 1}),
        way(raw=b"["),
        way(raw=b"[" * 10_000),
        way(raw=b"\xff"),
        way(raw=b" " * 10_000_000),
    ],
)
def test_a_cookie_that_is_none_leads_nowhere(there, kept):
    scene = Scene(there)
    came = there.let_in(scene.leave())
    scene.browser.cookies[WAY] = kept

    assert scene.back(came).status == 403


def test_a_cookie_that_was_changed_is_checked_as_any_request(there):
    scene = Scene(there)
    came = there.let_in(scene.leave())
    kept = json.loads(zlib.decompress(base64.urlsafe_b64decode(scene.browser.cookies[WAY] + "===")))
    kept[3] = "https://evil.example/"
    scene.browser.cookies[WAY] = way(*kept)

    answer = scene.back(came)

    assert answer.status == 400
    assert "not one that the client has registered" in answer.body
    assert "/token" not in [path for path, _ in there.asked]


def test_a_person_with_several_tokens_chooses_one(there):
    scene = Scene(there, named("laptop"), named("phone", EMAIL, "read"), named("bobs", "bob@example.org"))
    page = scene.come_back()
    assert "laptop" in page.body
    assert "phone" in page.body
    assert "bobs" not in page.body
    form = page.fields()
    [chosen] = form["ticket"]
    [other] = [one["value"] for one in inputs(page) if one["name"] == "ticket" and one["value"] != chosen]

    second = scene.browser.submit({**form, "ticket": [other]})

    assert second.status == 200
    assert "You act as phone." in second.body
    assert "Choose at least" not in second.body
    issued = scene.client.redeem(scene.browser.submit(second.fields()).target())
    assert issued.json()["scope"] == "read"


def inputs(page: Got) -> list[dict[str, str]]:
    return [found.groupdict() for found in INPUT.finditer(page.body)]


def test_a_person_without_a_token_is_told_who_they_are(there):
    there.claims = {"email": "<b>eve</b>@example.org\u202e"}
    page = Scene(there).come_back()

    assert page.status == 403
    assert "&lt;b&gt;eve&lt;/b&gt;@example.org\\u{202E}" in page.body
    assert "<b>eve" not in page.body


def test_a_provider_that_is_down_leaves_the_token_as_a_way(there):
    scene = Scene(there)
    there.broken = {"/.well-known/openid-configuration": (503, b"")}
    first = scene.browser.open(scene.client.url())

    answer = scene.browser.submit(first.fields(), to="/oauth/oidc")

    assert answer.status == 403
    assert "does not answer" in answer.body
    second = scene.browser.submit({**answer.fields(), "token": f"lm_{'ann':x<43}"})
    assert second.status == 200


def test_a_request_that_no_cookie_can_hold_needs_a_token(there):
    scene, chance = Scene(there), Random(1)
    state = "".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(2_000))
    first = scene.browser.open(scene.client.url(state=state))
    assert first.status == 200, first.body

    answer = scene.browser.submit(first.fields(), to="/oauth/oidc")

    assert "too long for this way" in answer.body
    assert WAY not in scene.browser.cookies
    assert there.asked == []


def test_without_a_client_at_the_provider_the_service_says_so(there):
    scene = Scene(there, oidc_client_id="")
    first = scene.browser.open(scene.client.url())

    assert scene.browser.submit(first.fields(), to="/oauth/oidc").status == 503
