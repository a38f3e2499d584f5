"""Access as the security checklist asks for it (lines 1 to 6), from outside and over every route there is.

Lines 7 and 8 are in test_bad_input.py, 9 to 12 in test_content.py; tests/support/checklist.py names the proofs of all.
"""

import hmac
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import pytest

from livemem.access import decision
from livemem.errors import StoreUnavailable
from livemem.store.bucket import LAST_USED, TOKENS
from scripts.openapi import load
from tests.support import front, hostile, stories
from tests.support.log_capture import heard
from tests.support.policy import BUCKET, Role
from tests.support.routes import ROUTES, good
from tests.support.service import Service, without_store
from tests.support.tokens import ALL, REGISTRY, TOKEN, entry, write_raw, write_registry
from tests.support.world import BOOTSTRAP_KEY, World

NEEDS = {key: load(function).api.needs[key] for function, key in ROUTES}
Event = dict[str, Any]


def ask(service: Service, change: Callable[[Event], object], *, token: str | None = None) -> dict[str, tuple[int, str]]:
    """Route -> status and code, for a request to each that `change` has been at."""
    answers = {}
    for function, key in ROUTES:
        event = good(key, token)
        change(event)
        answer = service.invoke(function, event)
        body = json.loads(answer["body"]) if answer["body"] else {}
        answers[key] = (answer["statusCode"], str(body.get("code", "")))
    return answers


def ask_as(service: Service, token: str | None) -> dict[str, tuple[int, str]]:
    return ask(service, lambda event: None, token=token)


def with_header(value: str) -> Callable[[Event], object]:
    return lambda event: event["headers"].update({"authorization": value})


def those(needs: Callable[[str], bool]) -> set[str]:
    """The routes whose need is such a one."""
    return {key for key, need in NEEDS.items() if needs(need)}


CLOSED = those(lambda need: need != "nothing")
UNKNOWN = (401, "unauthenticated")


OPEN = {"GET /v1/health", "POST /v1/page-codes/exchange"}
"""What needs no token. The exchange needs a code, which is as hard to guess."""


def test_1_only_health_and_the_exchange_of_a_code_are_open_to_anybody():
    assert those(lambda need: need == "nothing") == OPEN


@pytest.mark.parametrize("token", [None, "lm_unknown"])
def test_1_without_a_token_that_is_known_no_route_answers(service: Service, token: str | None):
    write_registry(service, entry())

    answers = ask_as(service, token)

    assert {key: answers[key] for key in CLOSED} == dict.fromkeys(CLOSED, UNKNOWN)
    assert answers["GET /v1/health"][0] == (200 if token is None else 401)


@pytest.mark.parametrize("missing", ALL)
def test_1_a_route_is_closed_to_who_has_every_permission_but_the_one_it_needs(service: Service, missing: str):
    write_registry(service, entry(permissions=[name for name in ALL if name != missing]))

    answers = ask_as(service, TOKEN)

    asking = those(lambda need: need == missing)
    assert asking
    assert {key: answers[key] for key in asking} == dict.fromkeys(asking, (403, "forbidden"))
    # Of all spaces, as it is asked for here, it needs `admin`.
    other = NEEDS.keys() - asking - {"GET /v1/usage"}
    assert not [key for key in other if answers[key] == (403, "forbidden")]


def test_1_no_route_about_a_space_answers_who_may_only_use_another_whether_it_is_there_or_not(service: Service):
    assert service.http("backup", "POST", "/v1/spaces", body={"space_id": "mine"})["statusCode"] == 201
    write_registry(service, entry(space_ids=["other"]))

    there = ask_as(service, TOKEN)
    # What one round of requests changes, such as the token itself, must not show in the other.
    write_registry(service, entry(space_ids=["other"]))
    gone = ask(service, lambda event: rename(event, "nowhere"), token=TOKEN)

    about = {key for key in NEEDS if "{space_id}" in key}
    assert {key: there[key] for key in about} == dict.fromkeys(about, (403, "forbidden"))
    assert there == gone
    for space_id in ("mine", "nowhere"):
        answer = service.http("backup", "GET", "/v1/jobs", token=TOKEN, query={"space_id": space_id})
        assert answer["statusCode"] == 403


def rename(event: Event, space_id: str) -> None:
    if "space_id" in event["pathParameters"]:
        event["pathParameters"]["space_id"] = space_id
        event["rawPath"] = event["rawPath"].replace("/mine", f"/{space_id}", 1)


def test_1_each_request_is_who_its_own_token_says_whoever_asked_before(service: Service):
    other = "lm_bob"
    write_registry(service, entry(), entry(other, ["read"], ["demo"], name="bob"))

    asked = [BOOTSTRAP_KEY, TOKEN, other, TOKEN, None, other]
    names = [json.loads(service.http("reads", "GET", "/v1/whoami", token=token)["body"]).get("name") for token in asked]

    assert names == ["admin", "ann", "bob", "ann", None, "bob"]


ELSEWHERE: dict[str, Callable[[Event], object]] = {
    "query token": lambda event: in_query(event, "token"),
    "query access_token": lambda event: in_query(event, "access_token"),
    "query authorization": lambda event: in_query(event, "authorization"),
    "query Authorization": lambda event: in_query(event, "Authorization", f"Bearer {TOKEN}"),
    "a cookie": lambda event: event.update({"cookies": [f"token={TOKEN}", f"authorization=Bearer {TOKEN}"]}),
    "the body": lambda event: event.update({"body": json.dumps({"token": TOKEN, "authorization": f"Bearer {TOKEN}"})}),
    "another header": lambda event: event["headers"].update({"x-api-key": TOKEN, "x-authorization": f"Bearer {TOKEN}"}),
    "what an authoriser would say": lambda event: event["requestContext"].update({"authorizer": {"token": TOKEN}}),
    "basic": with_header(f"Basic {TOKEN}"),
    "no scheme": with_header(TOKEN),
    "another scheme in front": with_header(f"Token Bearer {TOKEN}"),
    "two of them": with_header(f"Bearer {TOKEN},Bearer {TOKEN}"),
    "two of them, apart": with_header(f"Bearer {TOKEN}, Bearer {TOKEN}"),
    "one and an empty one": with_header(f"Bearer {TOKEN},"),
    "an empty one and one": with_header(f",Bearer {TOKEN}"),
    "another and one": with_header(f"Basic eDp5,Bearer {TOKEN}"),
}


def in_query(event: Event, name: str, value: str = TOKEN) -> None:
    event["queryStringParameters"] = {name: value}
    event["rawQueryString"] = f"{name}={value}"


def test_1_a_token_counts_in_the_one_header_alone(service: Service):
    write_registry(service, entry())

    let_in = {}
    for place, change in ELSEWHERE.items():
        answers = ask(service, change)
        let_in |= {(place, key): answers[key] for key in CLOSED if answers[key] != UNKNOWN}

    assert let_in == {}


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "BeArEr", "Bearer:", "\u212aearer"])
def test_1_a_scheme_that_is_not_spelt_bearer_with_a_capital_is_none(service: Service, scheme: str):
    write_registry(service, entry())

    answers = ask(service, with_header(f"{scheme} {TOKEN}"))

    assert {key: answers[key] for key in CLOSED} == dict.fromkeys(CLOSED, UNKNOWN)


def test_1_two_authorization_headers_of_a_real_request_are_none(service: Service):
    write_registry(service, entry())
    bearer = f"Authorization: Bearer {TOKEN}"

    with front.opened(service) as door:
        assert door.send("GET /v1/whoami", bearer)[0] == 200
        for second in (bearer, bearer.lower(), "authorization: Basic eDp5", "Authorization:"):
            assert door.send("GET /v1/whoami", bearer, second)[0] == 401
            assert door.send("GET /v1/whoami", second, bearer)[0] == 401
        assert door.send(f"GET /v1/whoami?token={TOKEN}")[0] == 401
        assert door.send("GET /v1/whoami", "Authorization: Bearer lm_\u00fc\u00ff")[0] == 401
        assert door.send("GET /v1/whoami", f"Authorization: Bearer {'x' * 10_000}")[0] == 401


def test_2_a_token_of_whatever_bytes_and_length_is_unknown_on_every_route_and_never_told_again(service: Service):
    write_registry(service, entry())

    known = {}
    with heard() as lines:
        for token in hostile.TOKENS:
            answers = ask(service, with_header(f"Bearer {token}"))
            # Of unknown ones a few a second are looked for.
            refused = (UNKNOWN, (429, "cooldown"))
            known |= {(token[:50], key): answer for key, answer in answers.items() if answer not in refused}

    assert known == {}
    told = [token for token in hostile.TOKENS if len(token) > 5]
    assert not [line for line in lines for token in told if token in line]


def test_2_whatever_decides_about_a_token_compares_bytes_in_constant_time(
    service: Service, monkeypatch: pytest.MonkeyPatch
):
    write_registry(service, entry(), entry("lm_bob"))
    compared = []

    def never(one: Any, other: Any) -> bool:
        compared.append((type(one), type(other)))
        return False

    monkeypatch.setattr(hmac, "compare_digest", never)

    for token in (TOKEN, BOOTSTRAP_KEY):
        assert service.http("reads", "GET", "/v1/whoami", token=token)["statusCode"] == 401
    assert set(compared) == {(bytes, bytes)}
    # The bootstrap key for each of the two, and the one entry that has the digest of what was sent.
    assert len(compared) == 3


def test_2_nothing_in_the_bucket_holds_a_token_that_has_worked(roles: dict[str, Role]):
    with stories.opened(roles) as account:
        write_registry(account.service, entry())
        account.create(token=TOKEN)
        account.note(token=TOKEN, key="once")
        account.start(token=TOKEN)
        account.work()
        account.note(token=BOOTSTRAP_KEY)
        code = account.call("admin", "POST", "/v1/page-codes", 201, token=TOKEN)["page_code"]
        s3 = account.service.s3
        stored = b"".join(s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in account.service.written())

    assert b"sha256:" in stored
    assert TOKEN.encode() not in stored
    assert code.encode() not in stored
    assert BOOTSTRAP_KEY.encode() not in stored


UNREADABLE = [
    b"",
    b"{",
    b"[]",
    b"\xff\xfe",
    b'{"tokens": [1]}',
    json.dumps({"tokens": [{name: value for name, value in entry().items() if name != "space_ids"}]}).encode(),
    json.dumps({"tokens": [entry(expires_at="soon")]}).encode(),
]


def test_4_a_registry_or_an_entry_that_can_not_be_read_closes_every_route(service: Service):
    for body in UNREADABLE:
        write_raw(service, body)

        assert ask_as(service, TOKEN) == dict.fromkeys(NEEDS, (503, "registry_unreadable")), body


def test_4_a_store_that_keeps_the_registry_to_itself_closes_every_route(
    service: Service, monkeypatch: pytest.MonkeyPatch
):
    write_registry(service, entry())
    without_store(monkeypatch)

    assert ask_as(service, TOKEN) == dict.fromkeys(NEEDS, (503, "store_unavailable"))


def test_4_a_registry_that_was_read_is_believed_no_longer_when_the_store_falls_silent():
    world = World()
    world.inner.put_object(Bucket="b", Key=TOKENS, Body=json.dumps({"tokens": [entry()]}).encode())

    def enter() -> str:
        return decision.authorise(world.process, f"Bearer {TOKEN}", needs="read", space_id="demo").name

    assert enter() == "ann"
    world.client.break_at(1, "InternalError", 500, done=False)
    assert enter() == "ann"
    world.clock.move(30)
    with pytest.raises(StoreUnavailable):
        enter()


@pytest.mark.parametrize("permissions", [[], ["root"], ["*"], ["READ"], [""]])
def test_4_no_permission_that_is_known_means_none(service: Service, permissions: list[str]):
    write_registry(service, entry(permissions=permissions))

    answers = ask_as(service, TOKEN)

    asking = those(lambda need: need in ALL)
    assert {key: answers[key] for key in asking} == dict.fromkeys(asking, (403, "forbidden"))


def test_4_a_list_of_what_can_be_no_space_lists_none(service: Service):
    names = ["*", "..", "_system", "", "mine/../other", "other/live"]
    write_registry(service, entry(space_ids=names))

    with asked(service) as wanted:
        answer = service.http("reads", "GET", "/v1/spaces", token=TOKEN)

    assert json.loads(answer["body"])["items"] == []
    assert not [key for key in wanted - {REGISTRY} if not key.startswith(LAST_USED.prefix())]


@pytest.mark.parametrize("key", ["", "x" * 64, "changeme" * 8, BOOTSTRAP_KEY[:31]])
def test_6_with_a_weak_bootstrap_key_every_route_but_health_is_closed_also_to_good_tokens(
    service: Service, monkeypatch: pytest.MonkeyPatch, key: str
):
    write_registry(service, entry())
    monkeypatch.setenv("ADMIN_BOOTSTRAP_KEY_SHA256", "")
    monkeypatch.setenv("ADMIN_BOOTSTRAP_KEY", key)

    for token in (TOKEN, key):
        answers = ask_as(service, token)
        assert {route: answers[route] for route in CLOSED} == dict.fromkeys(CLOSED, (503, "not_configured"))
        assert answers["GET /v1/health"][0] == 200


def test_6_what_opens_the_service_is_the_bootstrap_key_and_not_its_hash(
    service: Service, monkeypatch: pytest.MonkeyPatch
):
    digest = sha256(BOOTSTRAP_KEY.encode()).hexdigest()
    assert ask_as(service, BOOTSTRAP_KEY)["GET /v1/whoami"] == (200, "")
    for wrong in (digest, f"sha256:{digest}", BOOTSTRAP_KEY.upper()):
        assert ask_as(service, wrong)["GET /v1/whoami"] == UNKNOWN

    # What can be no hash of a key lets nobody in, the good tokens neither.
    write_registry(service, entry())
    for refused in (BOOTSTRAP_KEY, digest[:63], digest.upper(), sha256(b"").hexdigest(), "0" * 64):
        monkeypatch.setenv("ADMIN_BOOTSTRAP_KEY_SHA256", refused)
        service.modules.clear()
        assert ask_as(service, TOKEN)["GET /v1/whoami"] == (503, "not_configured")


@contextmanager
def asked(service: Service) -> Iterator[set[str]]:
    """The keys and prefixes that the functions ask the bucket for within."""
    seen: set[str] = set()
    before = dict(service.recorder.asked)
    service.recorder.asked.clear()
    yield seen
    seen |= service.recorder.keys()
    service.recorder.asked.update(before)
