"""Who sees and ends which connection."""

from typing import Any

import pytest

from livemem.access.registry import Registry, Token
from livemem.errors import NotFound
from livemem.process import Process
from livemem.signin import connections, grant_expiry
from livemem.store import bucket
from livemem.store.bucket import GRANT, OAUTH
from tests.support.functions import request
from tests.support.mcp import Agents, started, token
from tests.support.signing_in import ISSUER, signed_in, to
from tests.support.world import World

ANN, BOB, BOSS, ROOT = (f"lm_{name * 43}" for name in "abcd")
WEEK = 8 * 86_400


@pytest.fixture
def service(monkeypatch) -> Agents:
    found = started(monkeypatch, World(oauth_issuer=ISSUER))
    for space_id in ("demo", "other"):
        found.world.create_space(space_id)
    found.let_in(*TOKENS)
    return found


TOKENS = (
    token(ANN, "read", "write"),
    token(BOB, "read", spaces=("other",), name="bob"),
    token(BOSS, "admin", spaces=("demo",), name="boss"),
    token(ROOT, "admin", spaces=(), name="root"),
)


def seen(service: Agents, plain: str, **query: str) -> Any:
    status, body = service.http("signin", request("GET", "/v1/connections", token=plain, query=query))
    assert status == 200, body
    return body


def names(service: Agents, plain: str) -> list[str]:
    return [one["name"] for one in seen(service, plain)["items"]]


def end(service: Agents, plain: str, connection_id: str) -> int:
    route = "/v1/connections/{connection_id}"
    return service.http("signin", request("DELETE", route, token=plain, connection_id=connection_id))[0]


def test_a_person_sees_ones_own_and_an_admin_those_of_the_tokens_that_it_manages(service):
    for plain in (ANN, BOB):
        signed_in(to(service.world), plain)

    assert (names(service, ANN), names(service, BOB)) == (["ann"], ["bob"])
    assert (names(service, BOSS), names(service, ROOT)) == (["ann"], ["ann", "bob"])
    (one,) = seen(service, ANN)["items"]
    assert (one["client_name"], one["redirect_host"]) == ("Claude", "claude.ai")
    assert (one["permissions"], one["space_ids"]) == (["read", "write"], ["demo"])


def test_nobody_sees_or_ends_what_is_of_others(service):
    signed_in(to(service.world), ANN)
    (one,) = seen(service, ANN)["items"]

    assert end(service, BOB, one["connection_id"]) == 404
    assert end(service, ANN, "01ARZ3NDEKTSV4RRFFQ69G5FAV") == 404
    assert end(service, ANN, "x") == 422
    assert names(service, ANN) == ["ann"]


@pytest.mark.parametrize("plain", [ANN, BOSS, ROOT])
def test_who_ends_a_connection_ends_its_tokens(service, plain):
    issued = signed_in(to(service.world), ANN)
    client = service.as_one(issued["access_token"])
    assert client.tools()
    (one,) = seen(service, plain)["items"]

    assert end(service, plain, one["connection_id"]) == 204
    assert end(service, plain, one["connection_id"]) == 204
    assert names(service, plain) == []
    service.world.new_process()
    assert client.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})["statusCode"] == 401


def test_a_connection_cannot_end_or_list_connections(service):
    issued = signed_in(to(service.world), ANN)
    client = service.as_one(issued["access_token"])

    assert not {"list_connections", "end_connection"} & set(client.tools(query={"toolset": "full"}))
    status, _ = service.http("signin", request("GET", "/v1/connections", token=issued["access_token"]))
    assert status == 401


def test_the_last_use_is_shown(service):
    issued = signed_in(to(service.world), ANN)
    assert "last_used_at" not in seen(service, ANN)["items"][0]
    service.as_one(issued["access_token"]).tools()
    service.world.do_background()

    assert seen(service, ANN)["items"][0]["last_used_at"].startswith("20")


def let_in(world: World, *tokens: Token) -> None:
    world.inner.put_object(Bucket="bucket", Key=bucket.TOKENS, Body=Registry(tokens=list(tokens)).to_bytes())
    world.new_process()


@pytest.mark.parametrize(
    ("_case", "changes"),
    [
        ("revoked", {"revoked": True}),
        ("replaced", {"replaced_by": "sha256:x"}),
        ("ended", {"expires_at": "2020-01-01T00:00:00Z"}),
    ],
)
def test_a_connection_whose_token_has_ended_is_not_listed(service, _case, changes):
    signed_in(to(service.world), ANN)
    let_in(service.world, TOKENS[0].model_copy(update=changes), *TOKENS[1:])

    assert names(service, ROOT) == []


def test_a_list_has_pages(service):
    for _ in range(5):
        signed_in(to(service.world), ANN)

    first = seen(service, ANN, limit="3")
    rest = seen(service, ANN, limit="3", cursor=first["next_cursor"])

    ids = [one["connection_id"] for one in (*first["items"], *rest["items"])]
    assert len(ids) == 5
    assert ids == sorted(set(ids))
    assert "next_cursor" not in rest or rest["next_cursor"] is None


def test_a_grant_that_nobody_can_read_is_no_connection(service):
    signed_in(to(service.world), ANN)
    (key,) = service.world.keys(GRANT.prefix())
    service.world.inner.put_object(Bucket="bucket", Key=key, Body=b"{}")

    assert names(service, ROOT) == []
    with pytest.raises(NotFound):
        connections.end(service.world.process, root(), key.rpartition("/")[2].removesuffix(".json"))


def root() -> Any:
    from livemem.access.principal import Principal

    return Principal("root", frozenset(("admin",)), frozenset(), bootstrap=True)


def test_without_sign_in_there_are_no_connections(monkeypatch):
    found = started(monkeypatch)
    found.let_in(*TOKENS)

    status, body = found.http("signin", request("GET", "/v1/connections", token=ANN))

    assert (status, body["code"]) == (404, "route_not_found")


def expired(process: Process) -> int:
    return grant_expiry.expire(process)


def test_what_is_over_is_removed_and_what_works_is_kept(service):
    world = service.world
    send = to(world)
    issued = signed_in(send, ANN)
    ended = signed_in(send, BOB)
    service.as_one(issued["access_token"]).tools()
    world.do_background()
    (one,) = seen(service, BOB)["items"]
    end(service, BOB, one["connection_id"])
    assert expired(world.process) == 0

    world.clock.move(WEEK)

    assert expired(world.process) > 0
    left = world.keys(OAUTH)
    assert [key for key in left if key.startswith(GRANT.prefix())] == [GRANT.key(issued["access_token"].split("_")[1])]
    assert {key.split("/")[2] for key in left} == {"grants", "used"}
    assert ended["access_token"].split("_")[1] not in "".join(left)
    world.client.reset()
    assert expired(world.process) == 0
    assert world.client.counts == {"LIST": 1, "GET": 1}


def test_a_service_without_sign_in_is_not_asked_for_anything(service):
    world = World()
    world.client.reset()

    assert expired(world.process) == 0
    assert world.client.requests == []
