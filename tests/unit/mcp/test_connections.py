"""Clients of sign-in at `/mcp`: how they learn that they have to sign in, and what their tokens open."""

import json
from typing import Any

import pytest

from livemem.access.grant import Grant
from livemem.access.look_rate import LOOKS_A_SECOND
from livemem.store.bucket import GRANT
from livemem_http.routing import INVOKED_BY
from tests.support.cases import each
from tests.support.functions import request
from tests.support.mcp import Agents, asked, started, token
from tests.support.signing_in import ISSUER, Client, signed_in, to
from tests.support.world import World

ANN = "lm_" + "a" * 43
METADATA = f'resource_metadata="{ISSUER}/.well-known/oauth-protected-resource/mcp"'
FULL = {"toolset": "full"}
NOTE = {"category": "todo", "content": "x", "space_id": "demo"}


@pytest.fixture
def service(monkeypatch) -> Agents:
    found = started(monkeypatch, World(oauth_issuer=ISSUER))
    for space_id in ("demo", "other"):
        found.world.create_space(space_id)
    found.let_in(token(ANN, "read", "write", "admin", spaces=("demo", "other")))
    return found


def connected(service: Agents, **choice: Any) -> tuple[Agents, dict[str, Any]]:
    """A client with what was chosen of Ann's rights and spaces, and what it was issued."""
    issued = signed_in(to(service.world), ANN, **choice)
    return service.as_one(issued["access_token"]), issued


def challenge(answer: dict[str, Any]) -> str:
    return str(answer["headers"]["WWW-Authenticate"])


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@each("method", ["POST", "GET", "DELETE"])
def test_without_a_token_a_client_is_told_where_to_sign_in(service, method):
    answer = service.send(PING, method=method, token=None)

    assert answer["statusCode"] == 401
    assert challenge(answer) == f'Bearer scope="read write", {METADATA}'


@each("plain", ["lm_unknown", "lma_x", f"lma_01ARZ3NDEKTSV4RRFFQ69G5FAV_{'x' * 43}", "lmr_x"])
def test_with_a_token_that_is_none_it_is_told_so(service, plain):
    answer = service.send(PING, token=plain)

    assert answer["statusCode"] == 401
    assert challenge(answer) == f'Bearer error="invalid_token", scope="read write", {METADATA}'


def test_any_number_of_connections_may_open_in_one_second(service):
    for _ in range(2 * LOOKS_A_SECOND):
        client, _issued = connected(service)

        assert "note" in client.tools()


def test_a_flood_of_tokens_that_are_none_is_told_to_come_again(service):
    grants = [f"lma_01ARZ3NDEKTSV4RRFFQ69G5F{number:02}_{'x' * 43}" for number in range(LOOKS_A_SECOND + 1)]

    statuses = [service.send(PING, token=one)["statusCode"] for one in grants]

    # Not 401: a client would ask its person to sign in again.
    assert statuses == [*[401] * LOOKS_A_SECOND, 429]


def test_without_an_issuer_nothing_is_told_and_nothing_opened(monkeypatch):
    found = started(monkeypatch)
    answer = found.send(PING, token=f"lma_01ARZ3NDEKTSV4RRFFQ69G5FAV_{'x' * 43}")

    assert (answer["statusCode"], challenge(answer)) == (401, "Bearer")


def test_an_access_token_opens_what_was_chosen(service):
    client, _ = connected(service, right="read", spaces="these", space_id="demo")

    assert "start_session" in client.tools()
    assert client.text("start_session", space_id="demo")
    assert "may not use this space" in client.refused("start_session", space_id="other")
    # Of the only space a call need not speak.
    assert client.text("start_session")


@each("method", ["GET", "DELETE"])
def test_with_a_good_token_there_is_no_stream_and_no_session(service, method):
    client, _ = connected(service)

    assert client.send(None, method=method)["statusCode"] == 405


def test_a_tool_that_needs_another_right_is_refused_by_the_status(service):
    client, _ = connected(service, right="read")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "note", "arguments": NOTE}}

    answer = client.send(call)

    assert (answer["statusCode"], json.loads(answer["body"])["code"]) == (403, "insufficient_scope")
    assert challenge(answer) == f'Bearer error="insufficient_scope", scope="read write", {METADATA}'
    assert service.world.live_ids() == []


def test_a_tool_that_no_client_can_be_allowed_is_unknown(service):
    client, _ = connected(service)

    for name in ("create_token", "delete_space", "rotate_token", "list_tokens"):
        refused = client.error("tools/call", {"name": name, "arguments": {}}, query=FULL)
        assert refused["message"] == f"Unknown tool: {name}"
    assert not {"create_token", "rotate_token"} & set(client.tools(query=FULL))


def test_a_tool_of_another_function_takes_the_token_along(service):
    client, _ = connected(service, spaces="these", space_id="demo")

    spaces = client.result("list_spaces", {}, query=FULL)["structuredContent"]["items"]

    assert [one["space_id"] for one in spaces] == ["demo"]
    assert [function for function, _ in service.invoked] == ["reads"]


@each("route", ["/v1/spaces", "/v1/whoami", "/v1/health"])
def test_from_outside_an_access_token_opens_mcp_alone(service, route):
    _, issued = connected(service)

    status, problem = service.http("reads", request("GET", route, token=issued["access_token"]))

    assert (status, problem["code"]) == (401, "unauthenticated")


def test_even_from_within_nobody_gets_a_token_by_a_connection(service):
    _, issued = connected(service)
    event = request("POST", "/v1/tokens/self/rotate", token=issued["access_token"])

    status, problem = service.http("admin", {**event, INVOKED_BY: "mcp"})

    assert (status, problem["code"]) == (401, "unauthenticated")


def test_a_connection_that_ends_during_a_call_ends_it_by_the_status(service):
    """The function that carries the tool out may learn of it first."""
    client, issued = connected(service)
    client.tools()

    def end(function: str, event: Any) -> Any:
        Client(to(service.world), client_id=issued["client_id"]).revoke(issued["access_token"])
        service.world.new_process()
        return Agents.invoke(client, function, event)

    client.invoke = end  # type: ignore[method-assign]
    body, headers = asked("tools/call", {"name": "list_spaces", "arguments": {}}, client.protocol)

    answer = client.send(body, query=FULL, headers=headers)

    assert answer["statusCode"] == 401
    assert 'error="invalid_token"' in challenge(answer)


def test_ending_the_token_ends_its_connections(service):
    client, _ = connected(service)
    service.let_in()

    assert client.send(PING)["statusCode"] == 401


def test_a_warm_call_of_a_connection_costs_no_request_more_than_one_of_its_token(service):
    client, _ = connected(service)
    costs = []
    for agents in (service.as_one(ANN), client):
        agents.result("start_session", {"space_id": "demo"})
        service.world.client.reset()
        agents.result("start_session", {"space_id": "demo"})
        costs.append(dict(service.world.client.counts))

    assert costs[0] == costs[1]


def test_a_grant_that_says_admin_is_none(service):
    """Somebody may change an object of the bucket by hand."""
    client, _ = connected(service)
    (key,) = service.world.keys(GRANT.prefix())
    grant = Grant.from_bytes(service.world.text(key).encode())
    forged = grant.model_copy(update={"scope": ["read", "write", "admin"]})
    service.world.inner.put_object(Bucket="bucket", Key=key, Body=forged.to_bytes())
    service.world.new_process()

    assert "create_token" not in client.tools(query=FULL)
