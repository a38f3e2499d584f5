"""What an attacker tries on sign-in beyond the rules of its parts: timing, rights that shrink, a stolen form."""

import hmac
from typing import Any

import pytest

from livemem.access.grant import token_digest
from livemem.store.bucket import OAUTH
from tests.support.mcp import Agents, started, token
from tests.support.signing_in import CHALLENGE, ISSUER, Browser, registered, signed_in, to
from tests.support.world import World

ANN = "lm_" + "a" * 43
NOTE = {"category": "todo", "content": "x", "space_id": "demo"}


@pytest.fixture
def service(monkeypatch) -> Agents:
    found = started(monkeypatch, World(oauth_issuer=ISSUER))
    found.world.create_space("demo")
    found.let_in(token(ANN, "read", "write"))
    return found


def test_whatever_decides_about_a_secret_compares_in_constant_time(service, monkeypatch):
    """Each secret that a client or a browser sends is compared by its digest, and by this function alone."""
    send = to(service.world)
    client, browser = registered(send), Browser(send)
    compared: list[bytes] = []
    usual = hmac.compare_digest

    def noted(one: Any, other: Any) -> bool:
        compared.extend((one, other))
        return usual(one, other)

    monkeypatch.setattr(hmac, "compare_digest", noted)
    first = browser.open(client.url())
    second = browser.submit({**first.fields(), "token": ANN})
    issued = client.redeem(browser.submit(second.fields()).target()).json()
    assert service.as_one(issued["access_token"]).tools()
    assert client.refresh(issued["refresh_token"]).status == 200

    seal = first.fields()["seal"][0]
    for digest in (seal, CHALLENGE, token_digest(issued["access_token"]), token_digest(issued["refresh_token"])):
        assert digest.encode() in compared, digest


def test_a_right_that_the_token_loses_is_lost_to_its_connections(service):
    issued = signed_in(to(service.world), ANN)
    client = service.as_one(issued["access_token"])
    client.call("note", **NOTE)

    service.let_in(token(ANN, "read"))

    assert "note" not in client.tools()
    service.let_in(token(ANN, "read", "write", spaces=("other",)))
    assert client.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})["statusCode"] == 401


def test_each_way_back_to_a_client_names_the_service(service):
    """A client that uses several services finds out which one answered (RFC 9207)."""
    send = to(service.world)
    client, browser = registered(send), Browser(send)
    iss = "iss=https%3A%2F%2Fmemory.example.org"

    first = browser.open(client.url())
    assert iss in first.cancel()
    assert iss in browser.allow(client.url(), ANN).target()
    assert iss in browser.open(client.url(scope="admin")).body


def test_a_code_in_another_browsers_hands_makes_no_tokens_without_the_verifier(service):
    send = to(service.world)
    client = registered(send)
    target = Browser(send).allow(client.url(), ANN).target()

    assert client.redeem(target, code_verifier="w" * 60).error() == "invalid_grant"
    assert client.redeem(target, code_verifier=CHALLENGE).error() == "invalid_grant"
    assert registered(send, callback="https://evil.example/").redeem(target).error() == "invalid_grant"
    assert client.redeem(target).status == 200


def test_a_flood_of_sign_ins_leaves_a_bounded_number_of_objects_that_the_sweep_removes(service):
    """Who has a token can make grants; all else is gone after a day."""
    send = to(service.world)
    for number in range(20):
        browser = Browser(send)
        form = browser.open(registered(send, name=str(number)).url()).fields()
        browser.submit({**form, "token": f"lm_{number}"})

    left = service.world.keys(OAUTH)
    assert {key.split("/")[2] for key in left} == {"wrong"}
    # One for each request, and one for the address.
    assert len(left) == 21
