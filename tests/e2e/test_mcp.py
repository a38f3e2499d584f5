"""A day of two agents that speak MCP, by the official Python client, over HTTP and in both eras of the protocol."""

import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.e2e.client import PATIENCE_SECONDS
from tests.e2e.spaces import fresh_id, fresh_space
from tests.e2e.stack import KIND

ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])
CORE = {"start_session", "read", "note", "notes", "search", "context", "remember", "ask", "consolidate", "poll"}


@asynccontextmanager
async def connected(url: str, token: str, mode: str, **query: str) -> AsyncIterator[Client]:
    """An agent that is connected as its configuration says."""
    headers = {"Authorization": f"Bearer {token}"}
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS) as http,
        Client(streamable_http_client(f"{url}/mcp?{asked}", http_client=http), mode=mode) as client,
    ):
        yield client


async def told(client: Client, tool: str, **arguments: Any) -> Any:
    """What a call that must succeed gives."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def text(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    return "".join(getattr(part, "text", "") for part in result.content)


async def followed(client: Client, found: Any) -> Any:
    """The result of what may go on, polled for as an agent does."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while handle := found.get("handle"):
        assert time.monotonic() < deadline, found
        found = await told(client, "poll", handle=handle)
    return found


def run(day: Callable[[], Coroutine[Any, Any, None]]) -> None:
    anyio.run(day)


@pytest.fixture
def space(service):
    with fresh_space(service, 0) as space_id:
        yield space_id


@pytest.fixture
def token(service, space) -> Callable[..., str]:
    """Makes the token of an agent in the space."""

    def make(name: str, *permissions: str) -> str:
        body = {"name": name, "permissions": list(permissions), "space_ids": [space]}
        return str(service.send("POST", "/tokens", body).body["token"])

    return make


@ERAS
def test_what_one_agent_writes_the_other_finds_when_its_session_starts(running, token, mode):
    writer, reader = token("agent-one", "read", "write"), token("agent-two", "read")

    async def day() -> None:
        async with (
            connected(running.url, writer, mode) as one,
            connected(running.url, reader, mode) as two,
        ):
            assert {tool.name for tool in (await one.list_tools()).tools} == CORE
            assert "note" not in {tool.name for tool in (await two.list_tools()).tools}
            await told(one, "start_session")
            await told(one, "note", category="decision", content="The store is the queue.", tags=["store"])
            notes = [{"category": "todo", "content": f"Measure part {number}."} for number in (1, 2)]
            assert len((await told(one, "notes", notes=notes))["items"]) == 2
            await told(one, "remember", content="Ines looks after the ferry timetable.")

            begun = await text(two, "start_session")
            assert "The store is the queue." in begun
            assert "agent-one decision" in begun
            found = await told(two, "search", q="measure part", scope="live")
            assert found["items"]
            assert "Ines" in await text(two, "context", q="Who looks after the ferry timetable?")
            answer = await followed(two, await told(two, "ask", message="Who looks after the ferry timetable?"))
            assert answer["status"] == "done"

            done = await followed(one, await told(one, "consolidate"))
            assert (done["status"], done["result"]["metrics"]["notes_processed"]) == ("done", 3)
            assert "The store is the queue." in await text(two, "start_session")

    run(day)


@ERAS
def test_the_whole_of_the_service_is_there_in_the_toolset_full(running, service, token, mode):
    async def day() -> None:
        async with connected(running.url, service.token, mode, toolset="full") as admin:
            space_id = fresh_id()
            await told(admin, "create_space", space_id=space_id, consolidation_threshold=0)
            await told(admin, "note", space_id=space_id, category="decision", content="One.")
            done = await followed(admin, await told(admin, "consolidate", space_id=space_id))
            bank = await told(admin, "list_bank", space_id=space_id)
            assert bank["items"]
            backup = await told(admin, "create_backup", space_id=space_id)
            made = await told(admin, "create_export", space_id=space_id, backup_id=backup["backup_id"])
            assert httpx2.get(made["result"]["archives"][0]["url"]).status_code == 200
            made = await told(admin, "create_token", name="agent-three", permissions=["read"], space_ids=[space_id])
            async with connected(running.url, made["token"], mode) as three:
                assert "One." in await text(three, "start_session")
            await told(admin, "undo_consolidation", space_id=space_id, number=str(done["result"]["consolidation"]))
            assert (await told(admin, "list_notes", space_id=space_id))["items"]
            assert await told(admin, "create_export", space_id=space_id)
            await told(admin, "revoke_token", token_hash=made["hash"].removeprefix("sha256:"), forget=True)
            await _deleted(admin, space_id)

    run(day)


async def _deleted(client: Client, space_id: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (await client.call_tool("delete_space", {"space_id": space_id, "confirm": space_id})).is_error:
        assert time.monotonic() < deadline
        await anyio.sleep(0.2)


@ERAS
def test_resources_and_prompts_are_what_the_space_holds(running, token, space, mode):
    async def day() -> None:
        async with connected(running.url, token("agent-one", "read", "write"), mode) as one:
            await told(one, "note", category="decision", content="The store is the queue.")
            assert (await followed(one, await told(one, "consolidate")))["status"] == "done"
            listed = (await one.list_resources()).resources
            assert f"livemem://{space}/summary" in [str(item.uri) for item in listed]
            for item in listed:
                assert (await one.read_resource(str(item.uri))).contents
            templates = (await one.list_resource_templates()).resource_templates
            assert len(templates) == 4
            prompt = await one.get_prompt("start_session", {"task": "Fix it."})
            assert "The task: Fix it." in prompt.messages[0].content.text
            with pytest.raises(MCPError):
                await one.read_resource("livemem://somebody-elses/rules")

    run(day)


@ERAS
def test_a_token_that_is_not_known_is_not_let_in(running, mode):
    async def day() -> None:
        async with connected(running.url, "lm_nobody", mode) as nobody:
            await nobody.list_tools()

    with pytest.raises(ExceptionGroup) as refused:
        run(day)

    assert refused.group_contains(MCPError)
    assert "lm_nobody" not in repr(refused.value)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"])
def test_nothing_but_post_is_answered_and_nothing_without_a_token(running, service, method):
    url = f"{running.url}/mcp"

    nobody = httpx2.request(method, url, timeout=PATIENCE_SECONDS)
    somebody = httpx2.request(
        method, url, headers={"Authorization": f"Bearer {service.token}"}, timeout=PATIENCE_SECONDS
    )

    assert nobody.status_code == 401
    # A service without sign-in has nothing more to say.
    metadata = f"{running.url}/.well-known/oauth-protected-resource/mcp"
    signing_in = f'Bearer scope="read write", resource_metadata="{metadata}"'
    assert nobody.headers["www-authenticate"] in ("Bearer", signing_in)
    assert (somebody.status_code, somebody.headers["allow"]) == (405, "POST")


NO_TEXT = pytest.param(b"\xff\xfe", marks=pytest.mark.skipif(KIND == "sam", reason="sam local answers it, with 502"))


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", NO_TEXT, b"[" * 100_000, b" " * 1_048_577])
def test_what_is_no_message_is_refused_over_the_wire(running, service, body):
    headers = {
        "Authorization": f"Bearer {service.token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }

    answer = httpx2.post(f"{running.url}/mcp", content=body, headers=headers, timeout=PATIENCE_SECONDS)

    assert answer.status_code in (400, 413)
    assert service.token not in answer.text


@ERAS
def test_what_goes_wrong_comes_back_as_a_result_that_says_so(running, token, mode):
    async def day() -> None:
        async with connected(running.url, token("agent-one", "read", "write"), mode) as one:
            other = await one.call_tool("start_session", {"space_id": "somebody-elses"})
            wrong = await one.call_tool("note", {"category": "gossip", "content": "x"})
            assert (other.is_error, wrong.is_error) == (True, True)
            assert "may not use this space" in str(other.content)
            with pytest.raises(MCPError, match="Unknown tool"):
                await one.call_tool("create_token", {})

    run(day)
