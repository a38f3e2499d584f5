"""A client whose id is the address of its document: what is believed of it, for how long, and what a flood can do."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from livemem.errors import StoreUnavailable
from livemem.signin import consent
from livemem.signin.client_metadata import redirect_host
from livemem.signin.refusal import Refused
from livemem.store.bucket import CLIENT_DOCUMENT
from livemem.store.object_table import PLACE_DIGITS
from tests.support.cases import each
from tests.support.llm_server import answer, redirect
from tests.support.sites import HOST, URL, Site, site
from tests.support.world import World
from tests.unit.signin.test_exchange import RESOURCE, asked, world_with

CALLBACK = "https://client.example/callback"
DOCUMENT: dict[str, Any] = {"client_id": URL, "client_name": "Helper", "redirect_uris": [CALLBACK]}
CHATGPT = {
    "client_name": "ChatGPT",
    "client_uri": "https://chatgpt.com/",
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "jwks_uri": "https://chatgpt.com/oauth/jwks.json",
    "token_endpoint_auth_method": "private_key_jwt",
    "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
}
"""As its document is, beside the addresses."""


def world_of(there: Site) -> World:
    world = world_with()
    with_site(world, there)
    return world


def with_site(world: World, there: Site) -> None:
    """A new process, which reaches the site."""
    world.process = world.with_parts(fetch_document=there.fetch)


def publishing(world: World, documents: Mapping[str, list[str]]) -> None:
    """A new process, which finds documents with these redirects at these URLs."""

    def fetch(url: str) -> bytes:
        return json.dumps({**DOCUMENT, "client_id": url, "redirect_uris": documents[url]}).encode()

    world.process = world.with_parts(fetch_document=fetch)


def place(url: str) -> str:
    return CLIENT_DOCUMENT.key(hashlib.sha256(url.encode()).hexdigest())


def why(world: World, url: str) -> str:
    """Why the client is refused, or an empty text."""
    try:
        find(world, url)
    except Refused as error:
        return error.reason
    return ""


def said(**changes: Any) -> Any:
    return answer({**DOCUMENT, **changes})


def find(world: World, url: str = URL) -> Any:
    return consent.find(world.process, url)


def test_the_document_says_who_the_client_is():
    with site(said()) as there:
        client = find(world_of(there))

    assert (client.client_id, client.name, client.redirect_uris) == (URL, "Helper", (CALLBACK,))


@each(
    "changes",
    [
        CHATGPT,
        {"redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback", "http://[::1]/"]},
        {"redirect_uris": ["cursor://anysphere.cursor-mcp/oauth/callback"]},
        {"client_name": None, "logo_uri": "javascript:alert(1)", "unknown": {"a": [1]}},
    ],
)
def test_documents_of_known_clients_are_taken(changes):
    with site(said(**changes)) as there:
        client = find(world_of(there))

    assert client.may_redirect(changes.get("redirect_uris", [CALLBACK])[0])


@each(
    ("step", "why"),
    [
        (said(client_id=URL + "/"), "another client_id"),
        (said(client_id=URL.upper()), "another client_id"),
        (said(client_id=None), "another client_id"),
        (answer([DOCUMENT]), "another client_id"),
        (answer(b"{"), "not JSON"),
        (answer(b"[" * 5_000), "not JSON"),
        (answer(b"\xff\xfe"), "not JSON"),
        (said(redirect_uris=[]), "redirect_uris"),
        (said(redirect_uris="https://client.example/"), "redirect_uris"),
        (said(redirect_uris=[CALLBACK] * 11), "redirect_uris"),
        (said(redirect_uris=["http://elsewhere.example/"]), "redirect address"),
        (said(redirect_uris=["javascript://x/%0aalert(1)"]), "redirect address"),
        (said(redirect_uris=[{}]), "redirect address"),
        (said(token_endpoint_auth_method="client_secret_basic"), "public clients"),
        (said(token_endpoint_auth_method="private_key_jwt"), "public clients"),
        (said(token_endpoint_auth_method="private_key_jwt", token_endpoint_auth_methods_supported="none"), "public"),
        (redirect("https://client.example/other"), "redirects"),
    ],
)
def test_a_document_that_can_not_be_used_is_an_honest_refusal_and_nothing_is_kept(step, why):
    with site(step) as there:
        world = world_of(there)
        with pytest.raises(Refused, match=why) as refused:
            find(world)

    assert f"at {HOST} " in refused.value.detail
    assert refused.value.reason == "invalid_client"
    assert world.keys(CLIENT_DOCUMENT.prefix()) == []


@each(
    ("case", "url"),
    [
        ("http", "http://client.example/client.json"),
        ("no path", "https://client.example"),
        ("an empty path", "https://client.example/"),
        ("a fragment", URL + "#x"),
        ("a user", "https://a@client.example/c.json"),
        ("a port", "https://client.example:8443/c.json"),
        ("its own port", "https://client.example:443/c.json"),
        ("a path with dots", "https://client.example/a/../c.json"),
        ("a path with a dot", "https://client.example/./c.json"),
        ("an address", "https://127.0.0.1/c.json"),
        ("an address of IPv6", "https://[::1]/c.json"),
        ("an address in hex", "https://0x7f.0x1/c.json"),
        ("a name without a dot", "https://localhost/c.json"),
        ("upper case", "https://Client.example/c.json"),
        ("letters that look alike", "https://cl\u0456ent.example/c.json"),
        ("a blank", "https://client.example/c json"),
        ("a header", "https://client.example/c\r\nx"),
        ("another slash", "https://client.example\\c.json"),
        ("length", "https://client.example/" + "x" * 500),
    ],
)
def test_no_client_has_an_id_with(case, url):
    with site(said(client_id=url)) as there:
        world = world_of(there)
        with pytest.raises(Refused):
            find(world, url)

    assert there.server.asked == []
    assert world.keys(CLIENT_DOCUMENT.prefix()) == []


def test_a_document_is_fetched_once_for_all_processes_and_again_after_an_hour():
    with site(said(), said(client_name="Later")) as there:
        world = world_of(there)
        assert find(world).name == "Helper"
        world.client.reset()
        assert find(world).name == "Helper"
        assert world.client.requests == []

        with_site(world, there)
        world.client.reset()
        assert find(world).name == "Helper"
        assert world.client.counts == {"GET": 1}
        assert len(there.server.asked) == 1

        world.clock.move(3_600)
        assert find(world).name == "Later"
    assert len(there.server.asked) == 2


def test_no_document_is_believed_for_more_than_an_hour():
    with site(said(), said(redirect_uris=["https://client.example/new"])) as there:
        world = world_of(there)
        find(world)
        # A process that has read the bucket's document at the last moment at which that counts.
        world.clock.move(3_000)
        with_site(world, there)
        find(world)
        world.clock.move(599)
        assert find(world).may_redirect(CALLBACK)

        world.clock.move(2)
        assert not find(world).may_redirect(CALLBACK)


def test_a_refusal_is_kept_for_half_a_minute():
    with site(answer(b"", 500), said()) as there:
        world = world_of(there)
        for _ in range(3):
            with pytest.raises(Refused, match="answers 500"):
                find(world)
        assert len(there.server.asked) == 1

        world.clock.move(31)
        assert find(world).name == "Helper"


@pytest.mark.slow
def test_a_flood_of_documents_fetches_a_few_a_second_and_fills_a_fixed_number_of_places():
    def fetch(url):
        fetched.append(url)
        return json.dumps({**DOCUMENT, "client_id": url}).encode()

    fetched: list[str] = []
    world = world_with()
    world.process = world.with_parts(fetch_document=fetch)
    refused = Counter(why(world, f"https://x{number}.example/c.json") for number in range(50))
    assert len(fetched) == 5
    assert refused == {"": 5, "temporarily_unavailable": 45}

    world.clock.move(1)
    for number in range(50, 1_500):
        world.clock.move(0.21)
        find(world, f"https://x{number}.example/c.json")
    # Thrown at random into so many places, 1,500 fill some 1,250.
    assert 16**PLACE_DIGITS == 4_096
    assert 1_100 < len(world.keys(CLIENT_DOCUMENT.prefix())) < 1_400


def test_two_clients_of_one_place_are_not_mixed_up():
    urls = [f"https://x{number}.example/c.json" for number in range(1_000)]
    [(crowded, _)] = Counter(place(url) for url in urls).most_common(1)
    one, two = [url for url in urls if place(url) == crowded][:2]
    documents = {one: ["https://one.example/"], two: ["https://two.example/"]}
    world = world_with()

    for url, uris in list(documents.items()) * 2:
        publishing(world, documents)
        assert list(find(world, url).redirect_uris) == uris
        assert len(world.keys(CLIENT_DOCUMENT.prefix())) == 1


def test_a_document_in_the_bucket_is_checked_again_and_replaced_where_it_makes_no_sense():
    with site(said(), said(), said()) as there:
        world = world_of(there)
        find(world)
        [key] = world.keys(CLIENT_DOCUMENT.prefix())
        for body in (b"{", json.dumps({**DOCUMENT, "redirect_uris": ["javascript://x/"]}).encode()):
            world.inner.put_object(Bucket="bucket", Key=key, Body=body)
            with_site(world, there)
            assert find(world).redirect_uris == (CALLBACK,)
    assert len(there.server.asked) == 3


def test_a_process_that_loses_the_race_for_the_place_has_its_client_all_the_same():
    with site(said()) as there:
        world = world_of(there)
        fetch = world.process.fetch_document

        def meanwhile(url):
            world.inner.put_object(Bucket="bucket", Key=place(url), Body=b"{}")
            return fetch(url)

        world.process = world.with_parts(fetch_document=meanwhile)
        assert find(world).name == "Helper"


def test_nobody_is_redirected_to_an_address_that_only_another_clients_document_names():
    evil, elsewhere = "https://evil.example/client.json", "https://evil.example/"
    world = world_with()
    publishing(world, {URL: [CALLBACK], evil: [elsewhere]})

    client, uri = consent.check_client(world.process, asked(client_id=URL, redirect_uri=CALLBACK))
    assert consent.check_request(asked(client_id=URL), client, uri, RESOURCE).client_id == URL
    for client_id, redirect_uri in ((evil, CALLBACK), (URL, elsewhere)):
        with pytest.raises(Refused, match="not one that the client has registered"):
            consent.check_client(world.process, asked(client_id=client_id, redirect_uri=redirect_uri))


def test_a_client_can_not_say_that_it_is_another_ones_document():
    with site(said(client_id="https://claude.ai/oauth/mcp-oauth-client-metadata")) as there, pytest.raises(Refused):
        find(world_of(there))


def test_a_name_or_a_host_that_looks_like_another_is_shown_as_what_it_is():
    uris = ["https://xn--clude-5nf.ai/callback"]
    with site(said(client_name="Cl\u202eaude\u200b\r\nby Anthropic", redirect_uris=uris)) as there:
        client = find(world_of(there))

    assert client.name == "Cl\\u{202E}aude\\u{200B} by Anthropic"
    assert redirect_host(client.redirect_uris[0]) == "xn--clude-5nf.ai"
    with site(said(redirect_uris=["https://cl\u0430ude.ai/callback"])) as there, pytest.raises(Refused):
        find(world_of(there))


def test_without_the_store_nobody_signs_in_by_a_document():
    with site(said()) as there:
        world = world_of(there)
        world.client.break_at(0, "InternalError", 500, done=False)
        with pytest.raises(StoreUnavailable):
            find(world)

    assert there.server.asked == []
