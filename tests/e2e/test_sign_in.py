"""The official SDK's client signs in with nothing but the URL, over HTTP; a person presses one button for it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from mcp import ClientSession

from tests.e2e.client import Service
from tests.e2e.spaces import fresh_space
from tests.e2e.stack import KIND, give_up
from tests.support.signing_in import Client, signed_in
from tests.support.signing_in_over_http import Person, SdkClient, over_http

NOTE = {"category": "todo", "content": "By a client that signed in."}


@pytest.fixture
def url(running) -> str:
    """Where sign-in is: on a service that was started here, or one that says so."""
    told = httpx.get(f"{running.url}/.well-known/oauth-protected-resource")
    if told.status_code != 200:
        give_up("this service has no sign-in")
    assert told.json()["resource"] == f"{running.url}/mcp"
    return str(running.url)


@pytest.fixture
def space(service) -> Iterator[str]:
    with fresh_space(service, 0) as found:
        yield found


@pytest.fixture
def made(service, space) -> Any:
    """A token of a person for the space."""
    return service.tokens.create(name="ann", permissions=["read", "write"], space_ids=[space])


@pytest.fixture
def person(url, made) -> Person:
    return Person(url, made.token)


async def _note(session: ClientSession) -> Any:
    return await session.call_tool("note", NOTE)


async def _tools(session: ClientSession) -> list[str]:
    return [tool.name for tool in (await session.list_tools()).tools]


def test_a_client_that_knows_the_url_alone_connects_after_one_button(url, person, service, space):
    client = SdkClient(f"{url}/mcp", person)

    result = client.run(_note)

    assert not result.is_error
    assert person.visits == 1
    (note,) = service.notes.list(space).items
    assert (note.agent, note.content) == ("ann", NOTE["content"])
    assert client.run(_tools)
    assert person.visits == 1


def test_an_access_token_that_has_ended_is_refreshed_and_nobody_is_asked(url, person):
    client = SdkClient(f"{url}/mcp", person)
    client.run(_tools)
    first = client.storage.tokens
    assert first is not None

    async def late(session: ClientSession) -> list[str]:
        assert client.provider is not None
        client.provider.context.token_expiry_time = 1
        return await _tools(session)

    assert client.run(late)
    assert client.storage.tokens is not None
    assert client.storage.tokens.access_token != first.access_token
    assert person.visits == 1


def test_forty_refreshes_at_once_get_one_answer_and_no_grant_is_lost(url, made):
    send = over_http(url)
    issued = signed_in(send, made.token, url)
    client = Client(send, url, client_id=issued["client_id"])

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: client.refresh(issued["refresh_token"]), range(40)))

    assert {answer.status for answer in answers} == {200}
    (refresh,) = {answer.json()["refresh_token"] for answer in answers}
    assert client.refresh(refresh).status == 200


def test_a_client_that_lacks_a_right_asks_for_it_and_goes_on(url, person, service, space):
    person.choices = [{"right": "read"}, {"right": ["read", "write"]}]
    client = SdkClient(f"{url}/mcp", person)

    result = client.run(_note)

    assert not result.is_error
    assert person.visits == 2
    assert len(service.notes.list(space).items) == 1


def test_the_space_of_the_url_is_kept(url, person, space):
    client = SdkClient(f"{url}/mcp?space={space}&toolset=read", person)

    assert "list_spaces" in client.run(_tools)
    assert person.visits == 1


def test_a_gateway_may_rename_the_header_that_says_where_to_sign_in(url, person):
    async def rename(response: Any) -> None:
        if told := response.headers.pop("www-authenticate", None):
            response.headers["x-amzn-remapped-www-authenticate"] = told

    client = SdkClient(f"{url}/mcp", person, on_answer=rename)

    assert client.run(_tools)
    assert person.visits == 1


def test_who_ends_a_connection_or_its_token_ends_the_client(url, service, space, made):
    """A process that knows the grant lets the client in for 30 seconds more: tests/unit/signin/test_exchange.py."""
    other = service.tokens.create(name="bob", permissions=["read"], space_ids=[space])
    send = over_http(url)
    access = [signed_in(send, one.token, url)["access_token"] for one in (made, other)]
    web = httpx.Client()
    assert _status(web, url, access[1]) == 200
    (connection,) = Service(url, made.token).connections.list().items
    assert connection.client_name == "Claude"

    Service(url, made.token).connections.end(connection.connection_id)
    service.tokens.revoke(other.hash)

    service.wait_until(lambda: [_status(web, url, one) for one in access], lambda found: found == [401, 401])
    assert Service(url, made.token).connections.list().items == []


def _status(web: httpx.Client, url: str, access: str) -> int:
    headers = {"authorization": f"Bearer {access}", "accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    return web.post(f"{url}/mcp", json=body, headers=headers).status_code


def test_no_token_code_or_ticket_is_in_the_logs(url, made, log_lines):
    send = over_http(url)
    issued = signed_in(send, made.token, url)
    Client(send, url, client_id=issued["client_id"]).refresh(issued["refresh_token"])
    send("GET", "/oauth/authorize", "state=a-state-that-nobody-logs", "", {})

    logged = "\n".join(log_lines())
    # The SAM CLI logs addresses itself, whole.
    addresses = ["a-state-that-nobody-logs"] if KIND != "sam" else []
    for secret in (made.token, issued["access_token"], issued["refresh_token"], *addresses):
        assert secret not in logged
