"""An outside provider says who a person is, which counts only where it is certain that it says so, now, to us."""

import math
import secrets
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest

from livemem.access import registry
from livemem.errors import NotConfigured, ProviderFailed, Unauthenticated
from livemem.signin import consent, person, provider
from livemem.signin.provider import Login
from livemem.store.bucket import ATTEMPT, CODE, OAUTH
from tests.support.cases import each
from tests.support.mcp import token
from tests.support.provider import CLIENT_ID, EMAIL, SECRET, OidcServer, ec_key, jwk, providing, rsa_key
from tests.support.world import World
from tests.unit.signin.test_exchange import RESOURCE, asked, world_with

CALLBACK = "https://memory.example.org/oauth/callback"
ANN = "lm_" + "a" * 43


@pytest.fixture
def there() -> Iterator[OidcServer]:
    with providing() as server:
        yield server


def world_of(there: OidcServer, *entries: Any, **settings: Any) -> World:
    usual = {"oidc_issuer": there.issuer, "oidc_client_id": CLIENT_ID, "oidc_client_secret": SECRET}
    ann = token(ANN, "read", "write", spaces=("demo",)).model_copy(update={"email": "ann@Example.org"})
    return world_with(*(entries or (ann,)), **{**usual, **settings})


def login() -> Login:
    return Login(secrets.token_urlsafe(32))


def who(world: World, there: OidcServer, **came: str) -> dict[str, Any]:
    """What the provider says of a person who signs in."""
    way = login()
    back = there.let_in(provider.authorization_url(world.process, way, CALLBACK))
    assert way.is_of(back["state"])
    return provider.claims(world.process, way, {**back, **came}, CALLBACK)


def request_of(world: World) -> consent.AuthorizationRequest:
    client, uri = consent.check_client(world.process, asked())
    return consent.check_request(asked(), client, uri, RESOURCE)


def shown(world: World, claims: dict[str, Any]) -> list[str]:
    """The names of the tokens with which such a person may sign in."""
    found = person.show_person(world.process, request_of(world), "nonce", claims, secrets.token_urlsafe)
    return [one.principal.name for one in found]


def named(name: str, **changes: Any) -> Any:
    entry = token(f"lm_{name:x<43}", *changes.pop("permissions", ("read", "write")), spaces=("demo",))
    return entry.model_copy(update={"name": name, **changes})


def test_a_person_whose_address_a_token_has_gets_what_that_token_may_do(there):
    world = world_of(there)
    [one] = person.show_person(world.process, request_of(world), "nonce", who(world, there), secrets.token_urlsafe)

    choice: Any = {"scope": ["read"], "space_ids": ["demo"], "code": "code"}
    consent.approve(world.process, request_of(world), "nonce", one.ticket, **choice)

    assert (one.principal.name, one.principal.space_ids) == ("ann", {"demo"})
    assert len(world.keys(CODE.prefix())) == 1
    with pytest.raises(Unauthenticated):
        consent.approve(world.process, request_of(world), "another browser", one.ticket, **choice)


def test_what_the_provider_publishes_is_read_once_and_a_sign_in_is_one_request_more(there):
    world = world_of(there)
    for _ in range(3):
        who(world, there)

    paths = [path for path, _ in there.asked]
    assert sorted(paths) == sorted(["/.well-known/openid-configuration", "/jwks", *["/token"] * 3])
    world.clock.move(3_601)
    who(world, there)
    assert len(there.asked) == len(paths) + 3


@pytest.mark.parametrize("methods", [None, ["client_secret_basic"], ["client_secret_post"]])
def test_the_secret_is_shown_as_the_provider_takes_it(there, methods):
    there.configuration = {"token_endpoint_auth_methods_supported": methods}

    assert who(world_of(there), there)["email"] == EMAIL
    [form] = [form for path, form in there.asked if path == "/token"]
    assert ("client_secret" in form) == (methods == ["client_secret_post"])


def test_an_address_of_the_provider_may_have_a_query_of_its_own(there):
    there.configuration = {"authorization_endpoint": f"{there.issuer}/authorize?tenant=1"}

    url = provider.authorization_url(world_of(there).process, login(), CALLBACK)

    assert url.startswith(f"{there.issuer}/authorize?tenant=1&response_type=code&")


def test_without_its_secret_the_service_gets_nothing(there):
    with pytest.raises(ProviderFailed, match="OIDC_CLIENT_SECRET"):
        who(world_of(there, oidc_client_secret=""), there)


def test_other_algorithms_that_the_provider_publishes_are_taken(there):
    there.keys.append(jwk(ec_key(), "k2"))
    there.configuration = {"id_token_signing_alg_values_supported": ["none", "HS256", "ES256"]}
    there.sign = lambda claims: jwt.encode(claims, ec_key(), "ES256", {"kid": "k2"})

    assert who(world_of(there), there)["sub"] == "ann-1"


def test_a_new_key_of_the_provider_is_found_and_a_flood_of_unknown_ones_asks_a_few_times(there):
    world = world_of(there)
    who(world, there)
    there.keys = [jwk(rsa_key(1), "k9")]
    there.sign = lambda claims: jwt.encode(claims, rsa_key(1), "RS256", {"kid": "k9"})
    assert who(world, there)["sub"] == "ann-1"

    there.sign = lambda claims: jwt.encode(claims, rsa_key(1), "RS256", {"kid": "unknown"})
    for _ in range(20):
        with pytest.raises(ProviderFailed, match="keys"):
            who(world, there)
    assert [path for path, _ in there.asked].count("/jwks") <= 2 + 5


def unsigned(claims: dict[str, Any]) -> str:
    return jwt.encode(claims, "", "none", {"kid": "k1"})


def with_the_public_key_as_secret(claims: dict[str, Any]) -> str:
    # The text of a public key is no secret. PyJWT itself refuses to sign so, as an attacker would not.
    return jwt.encode(claims, "x" * 64, "HS256", {"kid": "k1"})


def signed(*, kid: str | None = "k1", key: Any = None, algorithm: str = "RS256") -> Any:
    headers = {"kid": kid} if kid else {}
    return lambda claims: jwt.encode(claims, key or rsa_key(), algorithm, headers)


def tampered(claims: dict[str, Any]) -> str:
    head, body, signature = signed()(claims).split(".")
    other = signed()({**claims, "email": "admin@example.org"}).split(".")[1]
    assert other != body
    return f"{head}.{other}.{signature}"


NOW = int(time.time())
SHARED = {"kty": "oct", "k": "eHh4", "kid": "k1"}
TWO = [jwk(rsa_key(), "a"), jwk(rsa_key(1), "b")]


@pytest.mark.parametrize(
    ("case", "bent"),
    [
        ("for another client", {"claims": {"aud": "another"}}),
        ("for several clients", {"claims": {"aud": [CLIENT_ID, "another"]}}),
        ("for several clients, given to another", {"claims": {"aud": [CLIENT_ID, "another"], "azp": "another"}}),
        ("given to another client", {"claims": {"azp": "another"}}),
        ("for nobody", {"claims": {"aud": None}}),
        ("of another issuer", {"claims": {"iss": "https://evil.example"}}),
        ("of an issuer that looks alike", {"claims": {"iss": "http://127.0.0.1:1/"}}),
        ("of no issuer", {"claims": {"iss": None}}),
        ("of another sign-in", {"claims": {"nonce": "another"}}),
        ("of no sign-in", {"claims": {"nonce": None}}),
        ("of a nonce that is no text", {"claims": {"nonce": ["x"]}}),
        ("expired", {"claims": {"exp": NOW - 3_600}}),
        ("without end", {"claims": {"exp": None}}),
        ("with an end that is no number", {"claims": {"exp": "never"}}),
        ("with an endless end", {"claims": {"exp": math.inf}}),
        ("begun never", {"claims": {"iat": -math.inf}}),
        ("not yet valid", {"claims": {"nbf": NOW + 3_600}}),
        ("of tomorrow", {"claims": {"iat": NOW + 86_400}}),
        ("of nobody", {"claims": {"sub": None}}),
        ("of a number", {"claims": {"sub": 7}}),
        ("without a signature", {"sign": unsigned}),
        ("with a shared secret", {"sign": with_the_public_key_as_secret}),
        ("signed with another key", {"sign": signed(key=rsa_key(1))}),
        ("signed with an algorithm that is not published", {"sign": signed(algorithm="RS512")}),
        ("of an unknown key", {"sign": signed(kid="k7")}),
        ("changed after it was signed", {"sign": tampered}),
        ("no token", {"sign": lambda _: "a.b.c"}),
        ("no text", {"sign": lambda _: 7}),
        ("too long", {"claims": {"x": "x" * 40_000}}),
        ("of a key for encryption", {"keys": [jwk(rsa_key(), "k1", use="enc")]}),
        ("of a key of another algorithm", {"keys": [jwk(rsa_key(), "k1", alg="PS256")]}),
        (
            "of a shared key",
            {"keys": [SHARED], "sign": with_the_public_key_as_secret},
        ),
        ("of a damaged key", {"keys": [{"kty": "RSA", "n": "!", "e": "AQAB", "kid": "k1"}]}),
        ("of no keys", {"keys": []}),
        (
            "of several keys and naming none",
            {"keys": TWO, "sign": signed(kid=None)},
        ),
        ("of unpublished algorithms", {"configuration": {"id_token_signing_alg_values_supported": ["none", "HS256"]}}),
    ],
)
def test_nobody_signs_in_with_a_token(there, case, bent):
    for name, value in bent.items():
        setattr(there, name, value)
    world = world_of(there)

    with pytest.raises(ProviderFailed):
        who(world, there)
    assert world.keys(ATTEMPT.prefix()) == []


def test_a_shared_secret_does_not_count_even_where_the_provider_publishes_it(there):
    there.configuration = {"id_token_signing_alg_values_supported": ["RS256", "HS256"]}
    there.sign = lambda claims: jwt.encode(claims, SECRET * 8, "HS256", {"kid": "k1"})

    with pytest.raises(ProviderFailed):
        who(world_of(there), there)


def test_a_code_of_another_sign_in_is_of_no_use(there):
    world = world_of(there)
    victims = there.let_in(provider.authorization_url(world.process, login(), CALLBACK))
    mine = login()
    there.let_in(provider.authorization_url(world.process, mine, CALLBACK))

    with pytest.raises(ProviderFailed, match="refuses the code"):
        provider.claims(world.process, mine, {**victims, "state": mine.state}, CALLBACK)


def test_a_code_that_comes_twice_is_of_no_use(there):
    world, way = world_of(there), login()
    back = there.let_in(provider.authorization_url(world.process, way, CALLBACK))
    provider.claims(world.process, way, back, CALLBACK)

    with pytest.raises(ProviderFailed, match="refuses the code"):
        provider.claims(world.process, way, back, CALLBACK)


@pytest.mark.parametrize("came", [{"iss": "https://evil.example"}, {"iss": ""}])
def test_the_answer_of_another_provider_is_not_taken_to_this_one(there, came):
    world = world_of(there)
    with pytest.raises(ProviderFailed, match="not of the sign-in provider"):
        who(world, there, **came)

    assert "/token" not in [path for path, _ in there.asked]


def test_a_provider_that_does_not_name_itself_need_not(there):
    there.configuration = {"authorization_response_iss_parameter_supported": None}
    world, way = world_of(there), login()
    back = there.let_in(provider.authorization_url(world.process, way, CALLBACK))
    del back["iss"]

    assert provider.claims(world.process, way, back, CALLBACK)["sub"] == "ann-1"


def test_only_the_way_itself_leads_back():
    one, other = login(), login()

    assert one.is_of(one.state)
    assert not one.is_of(other.state)
    assert not one.is_of("")
    assert len({one.state, one.nonce, one.verifier, one.challenge, one.secret}) == 5
    assert 43 <= len(one.verifier) <= 128


@pytest.mark.parametrize(
    ("case", "bent"),
    [
        ("another issuer", {"configuration": {"issuer": "https://evil.example"}}),
        ("an issuer with a slash", {"configuration": {"issuer": "http://127.0.0.1/"}}),
        ("no endpoint", {"configuration": {"token_endpoint": None}}),
        ("plain http elsewhere", {"configuration": {"token_endpoint": "http://idp.example/token"}}),
        ("an endpoint with a user", {"configuration": {"authorization_endpoint": "https://a@idp.example/"}}),
        ("a script", {"configuration": {"authorization_endpoint": "javascript:alert(1)"}}),
        ("an endpoint that is no text", {"configuration": {"jwks_uri": 7}}),
        ("a page", {"broken": {"/.well-known/openid-configuration": (200, b"<html>")}}),
        ("a list", {"broken": {"/.well-known/openid-configuration": (200, b"[]")}}),
        ("brackets", {"broken": {"/.well-known/openid-configuration": (200, b"[" * 100_000)}}),
        ("a redirect", {"broken": {"/.well-known/openid-configuration": (302, b"{}")}}),
        ("an error", {"broken": {"/token": (500, b"{}")}}),
        ("a redirect of the code", {"broken": {"/token": (307, b"{}")}}),
        ("too much", {"broken": {"/token": (200, b"x" * 300_000)}}),
        ("no token", {"broken": {"/token": (200, b"{}")}}),
        ("no keys", {"broken": {"/jwks": (404, b"")}}),
        ("keys of another form", {"broken": {"/jwks": (200, b'{"keys": "x"}')}}),
    ],
)
def test_a_provider_is_not_believed_that_publishes(there, case, bent):
    for name, value in bent.items():
        setattr(there, name, value)

    with pytest.raises(ProviderFailed) as failed:
        who(world_of(there), there)
    assert "/elsewhere" not in [path for path, _ in there.asked]
    assert there.issuer not in failed.value.detail


def test_a_provider_that_can_not_be_reached_is_told_and_asked_again(there):
    there.broken = {"/.well-known/openid-configuration": (503, b"")}
    world = world_of(there)
    with pytest.raises(ProviderFailed, match="Try again"):
        who(world, there)

    there.broken = {}
    assert who(world, there)["sub"] == "ann-1"


def test_an_issuer_without_a_client_is_told_to_the_operator(there):
    with pytest.raises(NotConfigured, match="OIDC_CLIENT_ID"):
        who(world_of(there, oidc_client_id=""), there)


def test_a_secret_that_is_none_is_told_to_the_operator_and_never_shown(there):
    with pytest.raises(NotConfigured, match="sign-in provider's secret") as refused:
        who(world_of(there, oidc_client_secret="s\u00e9cret"), there)

    assert "cret." not in refused.value.detail
    assert "/token" not in [path for path, _ in there.asked]


def test_a_thin_token_is_filled_up_for_the_same_person_alone(there):
    there.claims = {"email": None, "email_verified": None}
    there.more = {"email": EMAIL, "email_verified": True, "sub": "ann-1"}
    world = world_of(there)
    assert shown(world, who(world, there)) == ["ann"]

    there.more["sub"] = "bob-2"
    with pytest.raises(ProviderFailed, match="two different people"):
        who(world, there)


def test_an_address_and_its_proof_come_from_one_place(there):
    there.claims = {"email": EMAIL, "email_verified": None}
    there.more = {"email": "mallory@example.org", "email_verified": True}
    world = world_of(there)

    assert shown(world, who(world, there)) == []


@each(
    ("case", "claims"),
    [
        ("that nobody has verified", {"email": EMAIL, "email_verified": False}),
        ("of which nothing is said", {"email": EMAIL}),
        ("verified by a word", {"email": EMAIL, "email_verified": "yes"}),
        ("of somebody else", {"email": "bob@example.org", "email_verified": True}),
        ("that is empty", {"email": "", "email_verified": True}),
        ("that is missing", {"email_verified": True}),
        ("that is no text", {"email": {"a": 1}, "email_verified": True}),
        ("with a letter that looks alike", {"email": "\u0430nn@example.org", "email_verified": True}),
        ("with a letter that becomes another in lower case", {"email": "ann@example.\u0130rg", "email_verified": True}),
        ("with a blank", {"email": EMAIL + " ", "email_verified": True}),
        ("with something in front", {"email": "xann@example.org", "email_verified": True}),
    ],
)
def test_no_token_belongs_to_an_address(there, case, claims):
    world = world_of(there, *(named("ann", email=address) for address in ("ann@example.org", None, "kim@example.org")))

    assert shown(world, {"sub": "x", **claims}) == []
    assert world.keys(ATTEMPT.prefix()) == []


def test_a_token_that_another_process_has_just_made_counts(there):
    world = world_of(there)
    claims = {"sub": "1", "email": "kim@example.org", "email_verified": True}
    assert shown(world, claims) == []

    made = named("kim", email="kim@example.org")
    registry.change_all(world.with_parts(), lambda old: old.model_copy(update={"tokens": [*old.tokens, made]}))

    assert shown(world, claims) == ["kim"]


def test_the_kelvin_sign_is_no_k():
    world = world_with(named("kim", email="kim@example.org"), oidc_issuer="https://idp.example")

    assert shown(world, {"email": "\u212aim@example.org", "email_verified": True}) == []


def test_tokens_that_have_ended_or_may_not_do_it_are_not_offered(there):
    mine = {"email": "ann@example.org"}
    world = world_of(
        there,
        named("revoked", revoked=True, **mine),
        named("expired", expires_at="2020-01-01T00:00:00Z", **mine),
        named("replaced", replaced_by="sha256:x", **mine),
        named("damaged", space_ids=None, **mine),
        named("admin-alone", permissions=("admin",), **mine),
        named("one", **mine),
        named("two", permissions=("read", "admin"), **mine),
        named("of-bob", email="bob@example.org"),
    )

    assert shown(world, who(world, there)) == ["one", "two"]


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("team-a", ["team-a"]),
        (["team-b", "other", "team-a"], ["team-a", "team-b"]),
        (["Team-A"], []),
        ("team", []),
        ([], []),
        ([["team-a"]], []),
        (None, []),
        (True, []),
    ],
)
def test_another_claim_leads_to_tokens_by_their_names(there, value, names):
    there.claims = {"groups": value}
    world = world_of(there, named("team-a"), named("team-b"), named("ann", email=EMAIL), oidc_claim="groups")

    assert shown(world, who(world, there)) == names
    assert person.called(world.process, {"sub": "x", "groups": ["a", "b"]}) == "a, b"


def test_a_person_with_many_tokens_is_offered_some(there):
    world = world_of(there, *(named(f"t{number}", email=EMAIL) for number in range(60)))

    assert len(shown(world, who(world, there))) == person.MOST_TOKENS


def test_nothing_of_the_person_or_of_the_way_is_in_the_bucket(there):
    world = world_of(there)
    there.claims = {"sub": "subject-of-ann"}
    shown(world, who(world, there))

    everything = "".join(f"{key} {world.text(key)}" for key in world.keys(OAUTH)).lower()
    assert everything
    for word in ("subject-of-ann", EMAIL.lower(), "code-", SECRET):
        assert word not in everything
