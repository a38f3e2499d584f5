"""Sign-in over HTTP: from the metadata to the tokens, and what a person sees on the way."""

import json
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from livemem.access.registry import Registry, Token
from livemem.store.bucket import CODE, TOKENS
from livemem_http.oauth import endpoints
from tests.support.cases import each
from tests.support.mcp import token
from tests.support.signing_in import (
    ADDRESS,
    CALLBACK,
    ISSUER,
    Browser,
    Client,
    Got,
    event_of,
    got,
    registered,
    signed_in,
    to,
)
from tests.support.world import BOOTSTRAP_KEY, World

ANN = "lm_" + "a" * 43
ROOT = "lm_" + "r" * 43


@pytest.fixture
def world() -> World:
    world = World(oauth_issuer=ISSUER)
    for space_id in ("demo", "other"):
        world.create_space(space_id)
    let_in(world, token(ANN, "read", "write", spaces=("demo", "other")))
    return world


def let_in(world: World, *tokens: Token) -> None:
    world.inner.put_object(Bucket="bucket", Key=TOKENS, Body=Registry(tokens=list(tokens)).to_bytes())
    world.new_process()


def query_of(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


@each("route", sorted(endpoints.ROUTES))
def test_without_an_issuer_there_is_no_sign_in(route):
    method, _, path = route.partition(" ")

    answer = to(World())(method, path, "", "", {})

    assert (answer.status, answer.json()["code"]) == (404, "route_not_found")


@each("path", ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"])
def test_the_resource_is_the_address_of_mcp(world, path):
    told = to(world)("GET", path, "", "", {}).json()

    assert (told["resource"], told["authorization_servers"]) == (f"{ISSUER}/mcp", [ISSUER])


@each("path", ["/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp"])
def test_the_server_says_what_clients_refuse_to_go_on_without(world, path):
    told = to(world)("GET", path, "", "", {}).json()

    assert told["issuer"] == ISSUER
    assert told["code_challenge_methods_supported"] == ["S256"]
    assert told["token_endpoint_auth_methods_supported"] == ["none"]
    assert told["authorization_response_iss_parameter_supported"] is True
    assert all(told[f"{name}_endpoint"].startswith(f"{ISSUER}/oauth/") for name in ("authorization", "token"))


def test_a_person_shows_a_token_once_and_the_client_gets_what_was_chosen(world):
    send = to(world)
    client, browser = registered(send), Browser(send)

    first = browser.open(client.url())
    second = browser.submit({**first.fields(), "token": ANN})
    target = browser.submit({**second.fields(), "right": "read", "spaces": "these", "space_id": "demo"}).target()
    issued = client.redeem(target).json()

    assert target.startswith(f"{CALLBACK}?")
    assert {**query_of(target), "code": ""} == {"code": "", "state": "s-1", "iss": ISSUER}
    assert (issued["token_type"], issued["scope"], issued["expires_in"]) == ("Bearer", "read", 86_400)
    assert "Claude" in first.body
    assert "claude.ai" in first.body
    assert "You act as ann." in second.body


def test_a_refresh_and_a_revocation_are_answered_as_oauth_has_it(world):
    send = to(world)
    issued = signed_in(send, ANN)
    client = Client(send, client_id=issued["client_id"])

    again = client.refresh(issued["refresh_token"])
    assert again.json()["refresh_token"] != issued["refresh_token"]
    assert again.headers["cache-control"] == "no-store"
    assert client.revoke(again.json()["access_token"]).status == 200
    assert client.refresh(again.json()["refresh_token"]).error() == "invalid_grant"
    assert client.revoke("lma_unknown").status == 200


@each(
    ("form", "error"),
    [
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({}, "unsupported_grant_type"),
        ({"grant_type": "authorization_code", "code": "x"}, "invalid_request"),
        ({"grant_type": "refresh_token"}, "invalid_request"),
        ({"grant_type": "refresh_token", "refresh_token": "lmr_x"}, "invalid_grant"),
        ({"grant_type": "refresh_token", "refresh_token": "x" * 70_000}, "invalid_request"),
        ({"grant_type": "refresh_token", "resource": "https://evil.example/mcp"}, "invalid_target"),
        (
            {
                "grant_type": "authorization_code",
                "code": "x",
                "redirect_uri": CALLBACK,
                "code_verifier": "é",
            },
            "invalid_grant",
        ),
    ],
)
def test_the_token_endpoint_refuses(world, form, error):
    assert registered(to(world)).token(**form).error() == error


def test_a_parameter_that_comes_twice_is_refused(world):
    send = to(world)
    client = registered(send)

    page = Browser(send).open(f"{client.url()}&redirect_uri=https%3A%2F%2Fevil.example")
    answer = send("POST", "/oauth/token", "", "grant_type=refresh_token&grant_type=x", {})

    assert page.status == 400
    assert "evil.example" not in page.body
    assert answer.error() == "invalid_request"


@each("metadata", [{"redirect_uris": []}, {"redirect_uris": ["http://evil.example/"]}, {"redirect_uris": "x"}])
def test_a_registration_without_a_good_address_is_refused(world, metadata):
    assert Client(to(world)).register(**metadata).error() == "invalid_redirect_uri"


def test_a_client_that_wants_a_secret_is_told_that_it_has_none(world):
    answer = Client(to(world)).register(token_endpoint_auth_method="client_secret_post")

    assert (answer.status, answer.json()["token_endpoint_auth_method"]) == (201, "none")
    assert "client_secret" not in answer.json()


def test_registrations_leave_nothing_in_the_bucket(world):
    send, before = to(world), set(world.inner.objects)

    for number in range(50):
        registered(send, name=f"flood {number}")
        Browser(send).open(registered(send).url())

    assert set(world.inner.objects) == before


@each(
    "changes",
    [
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": None},
        {"client_id": "lmc_x"},
        {"client_id": None},
        {"client_id": "https://evil.example/client.json"},
    ],
)
def test_nobody_is_sent_to_an_address_that_is_not_the_clients(world, changes):
    page = Browser(to(world)).open(registered(to(world)).url(**changes))

    assert page.status == 400
    assert "location" not in page.headers
    assert "href" not in page.body
    assert "refresh" not in page.body


@each(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"scope": "admin"}, "invalid_scope"),
        ({"resource": "https://evil.example/mcp"}, "invalid_target"),
        ({"state": "x" * 3_000}, "invalid_request"),
    ],
)
def test_a_request_with_an_error_leads_back_only_if_the_person_wants_to(world, changes, error):
    """Who may register any address could else send people from the service's address to it."""
    page = Browser(to(world)).open(registered(to(world)).url(**changes))

    assert page.status == 400
    assert "location" not in page.headers
    assert "refresh" not in page.body
    assert f"{CALLBACK}?error={error}" in page.body


def test_a_client_that_publishes_a_document_is_known_by_its_address(world):
    url = "https://vscode.example/client.json"
    document = {"client_id": url, "client_name": "Editor", "redirect_uris": ["http://127.0.0.1:33418/"]}
    fetched = {url: json.dumps(document).encode()}
    world.process = replace(world.process, fetch_document=fetched.__getitem__)
    send = to(world)

    first = Browser(send).open(Client(send, client_id=url, callback="http://127.0.0.1:5/").url())

    assert first.status == 200
    assert "It is published by" in first.body
    assert "vscode.example" in first.body
    assert to(world)("GET", "/.well-known/oauth-authorization-server", "", "", {}).json()[
        "client_id_metadata_document_supported"
    ]


def test_who_cancels_goes_back_with_a_refusal(world):
    send = to(world)
    browser = Browser(send)
    first = browser.open(registered(send).url())

    assert query_of(first.cancel()) == {"error": "access_denied", "state": "s-1", "iss": ISSUER}
    second = browser.submit({**first.fields(), "token": ANN})
    assert second.cancel() == first.cancel()


@each(
    ("plain", "words"),
    [
        ("lm_" + "x" * 43, "not known"),
        (BOOTSTRAP_KEY, "bootstrap key"),
        ("é" * 600, "not known"),
        ("", "not known"),
    ],
)
def test_a_token_that_will_not_do_is_named_on_the_page(world, plain, words):
    send = to(world)
    browser = Browser(send)
    first = browser.open(registered(send).url())

    page = browser.submit({**first.fields(), "token": plain})

    assert page.status == 403
    assert words in page.body
    assert "ticket" not in page.fields()
    assert plain == "" or plain not in page.body


def tried(world: World, times: int, *, address: str = ADDRESS, states: bool = False) -> list[int]:
    """The statuses of so many wrong tokens; with `states` each is of a request of its own."""
    send = to(world, address=address)
    client, browser, found = registered(send), Browser(send), []
    for number in range(times):
        form = browser.open(client.url(state=f"s-{number if states else 0}")).fields()
        found.append(browser.submit({**form, "token": f"lm_{number}"}).status)
        world.clock.move(1)
    return found


def test_five_wrong_tokens_end_a_request(world):
    assert tried(world, 6) == [*[403] * 5, 429]
    send = to(world)
    client, browser = registered(send), Browser(send)
    assert browser.submit({**browser.open(client.url()).fields(), "token": ANN}).status == 200


def test_twenty_wrong_tokens_an_hour_end_an_address(world):
    assert tried(world, 21, states=True) == [*[403] * 20, 429]
    assert tried(world, 1, address="1.1.1.1") == [403]
    # Of IPv6 whoever has an address has its network.
    tried(world, 20, address="2606:4700::1", states=True)
    assert tried(world, 1, address="2606:4700::2") == [429]
    world.clock.move(3_601)
    assert tried(world, 1) == [403]


def test_behind_a_proxy_nobody_locks_out_all_others(world):
    assert tried(world, 21, address="127.0.0.1", states=True) == [403] * 21
    assert tried(world, 21, address="10.0.0.1", states=True) == [403] * 21


def test_a_right_token_costs_no_place(world):
    send = to(world)
    for _ in range(25):
        signed_in(send, ANN)

    assert tried(world, 1) == [403]


def test_a_form_counts_only_in_the_browser_that_it_was_made_for(world):
    send = to(world)
    client, attacker, victim = registered(send), Browser(send), Browser(send)
    form = {**attacker.open(client.url()).fields(), "token": ANN}
    victim.open(client.url())

    assert victim.submit(form).status == 403
    assert Browser(send).submit(form).status == 403
    assert attacker.submit(form, origin="https://evil.example").status == 403
    assert attacker.submit(form, origin="null").status == 403
    assert attacker.submit({**form, "seal": ""}).status == 403
    assert attacker.submit({**form, "state": "other"}).status == 403
    assert attacker.submit(form).status == 200


def test_a_shown_token_is_of_use_in_no_other_browser(world):
    send = to(world)
    client, one, other = registered(send), Browser(send), Browser(send)
    second = one.submit({**one.open(client.url()).fields(), "token": ANN})
    seal = other.open(client.url()).fields()["seal"]

    stolen = other.submit({**second.fields(), "seal": seal})

    assert stolen.status == 403
    assert world.keys(CODE.prefix()) == []


def test_a_shown_token_counts_for_ten_minutes(world):
    send = to(world)
    client, browser = registered(send), Browser(send)
    second = browser.submit({**browser.open(client.url()).fields(), "token": ANN})
    world.clock.move(601)

    assert browser.submit(second.fields()).status == 403


@each(
    ("choice", "words"),
    [({"right": None}, "at least one right"), ({"spaces": "these", "space_id": None}, "at least one space")],
)
def test_who_chooses_nothing_is_asked_again(world, choice, words):
    send = to(world)

    page = Browser(send).allow(registered(send).url(), ANN, **choice)

    assert page.status == 400
    assert words in page.body
    assert page.fields()["ticket"]


@each(
    "choice", [{"right": ["read", "admin"]}, {"spaces": "these", "space_id": "third"}, {"spaces": "x", "space_id": "/"}]
)
def test_nobody_chooses_more_than_was_asked_for_or_than_the_token_may(world, choice):
    send = to(world)

    assert Browser(send).allow(registered(send).url(), ANN, **choice).status == 403
    assert world.keys(CODE.prefix()) == []


def test_what_the_token_may_not_do_can_not_be_ticked(world):
    let_in(world, token(ANN, "read", spaces=("demo",)))
    send = to(world)
    browser = Browser(send)

    page = browser.submit({**browser.open(registered(send).url()).fields(), "token": ANN})

    assert (page.fields()["right"], page.fields()["space_id"]) == (["read"], ["demo"])
    assert "your token may not" in page.body


def test_a_token_of_all_spaces_may_choose_some(world):
    let_in(world, token(ROOT, "read", "write", "admin", spaces=()))
    send = to(world)
    browser = Browser(send)

    plain = browser.submit({**browser.open(registered(send).url()).fields(), "token": ROOT}).fields()
    named = browser.submit(
        {**browser.open(registered(send).url(resource=f"{ISSUER}/mcp?space=demo")).fields(), "token": ROOT}
    ).fields()

    assert (plain["spaces"], plain["space_id"]) == (["all"], ["demo", "other"])
    assert (named["spaces"], named["space_id"]) == (["these"], ["demo"])


def pages_of(send: Any, **rest: Any) -> list[Got]:
    browser = Browser(send, **rest)
    client = registered(send, name="<script>alert(1)</script>", callback="http://127.0.0.1:33418/")
    first = browser.open(client.url(state="\"'><b>", redirect_uri="http://127.0.0.1:5/"))
    second = browser.submit({**first.fields(), "token": ANN})
    return [first, second, browser.submit(second.fields()), browser.open(client.url(client_id="<b>"))]


def test_no_page_can_be_framed_run_or_kept(world):
    for page in pages_of(to(world)):
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "form-action 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "script-src" not in policy
        assert "unsafe" not in policy
        assert (page.headers["x-frame-options"], page.headers["cache-control"]) == ("DENY", "no-store")
        assert page.headers["referrer-policy"] == "same-origin"
        assert "<script" not in page.body
        assert "<b>" not in page.body
        assert ANN not in page.body


def test_a_client_on_ones_own_machine_is_warned_of(world):
    first = pages_of(to(world))[0]
    assert "runs on your own computer" in first.body
    assert "127.0.0.1:5" in first.body
    assert "runs on your own computer" not in Browser(to(world)).open(registered(to(world)).url()).body


def test_the_pages_speak_french_too(world):
    first, second, last, failed = pages_of(to(world), language="fr-CH, en;q=0.5")

    assert 'lang="fr"' in first.body
    assert "Votre jeton" in first.body
    assert "Vous agissez en tant que ann." in second.body
    assert "Vous êtes renvoyé" in last.body
    assert "Cela ne fonctionne pas" in failed.body


def test_the_cookie_is_of_no_use_to_scripts_or_other_hosts(world):
    page = Browser(to(world)).open(registered(to(world)).url())
    (cookie,) = page.cookies

    assert cookie.startswith("__Host-livemem=")
    assert {"Path=/", "HttpOnly", "SameSite=Lax", "Secure"} <= set(cookie.split("; "))


def test_two_tabs_of_a_browser_do_not_disturb_each_other(world):
    send = to(world)
    client, browser = registered(send), Browser(send)
    one, two = (browser.open(client.url(state=state)).fields() for state in ("1", "2"))

    assert browser.submit({**one, "token": ANN}).status == 200
    assert browser.submit({**two, "token": ANN}).status == 200


def test_a_store_that_does_not_answer_is_told_as_such(world):
    send = to(world)
    client, browser = registered(send), Browser(send)
    first = browser.open(client.url())
    issued = signed_in(send, ANN)

    world.client.reset()
    world.client.break_at(0, "InternalError", 500, done=False)
    page = browser.submit({**first.fields(), "token": ANN})
    world.client.reset()
    world.client.break_at(0, "InternalError", 500, done=False)
    answer = client.refresh(issued["refresh_token"])

    assert page.status == 503
    assert "does not answer" in page.body
    assert (answer.status, answer.error()) == (503, "temporarily_unavailable")
    assert int(answer.headers["retry-after"]) > 0


@each("path", ["/oauth/authorize", "/oauth/token", "/oauth/revoke", "/oauth/register"])
@each("body", ["\x00", "%ff=%fe", "a=" + "b" * 2_000_000, "&" * 5_000, "[" * 5_000, '{"redirect_uris": 1e999}'])
def test_no_body_makes_the_service_fail(world, path, body):
    event = event_of("POST", path, "", body, {})

    answer = got(endpoints.handle(lambda: world.process, event))

    assert 400 <= answer.status < 500
