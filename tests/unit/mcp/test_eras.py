"""Both eras of the protocol: clients that shake hands, as they did up to 2025-11-25, and those that do no more."""

import json
from typing import Any

import pytest

from tests.support.cases import each
from tests.support.mcp import HANDSHAKES, MODERN, Agents, asked, started

CAPABILITIES: dict[str, Any] = {}


@pytest.fixture
def agents(monkeypatch) -> Agents:
    found = started(monkeypatch)
    found.world.create_space()
    return found


def initialize(agents: Agents, version: str) -> Any:
    """As a client begins that knows no version of the server yet: without the header."""
    params = {
        "protocolVersion": version,
        "capabilities": {"roots": {"listChanged": True}, "sampling": {}},
        "clientInfo": {"name": "client", "version": "1.0"},
    }
    return agents.good("initialize", params, headers={"mcp-protocol-version": None})


@pytest.mark.parametrize("version", HANDSHAKES)
def test_a_client_that_shakes_hands_is_answered_in_its_version(agents, version):
    agents.protocol = version

    begun = initialize(agents, version)
    told = agents.send(
        {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers={"mcp-protocol-version": version}
    )

    assert begun["protocolVersion"] == version
    assert begun["serverInfo"]["name"] == "live-memory"
    assert set(begun["capabilities"]) == {"tools", "resources", "prompts", "completions"}
    assert "start_session" in begun["instructions"]
    assert (told["statusCode"], told["body"]) == (202, "")
    assert set(agents.tools()) >= {"note", "start_session"}
    assert agents.call("note", space_id="demo", category="todo", content="x")["space_id"] == "demo"


def test_a_client_without_the_header_of_the_version_is_served_as_the_first_that_had_none(agents):
    body, _ = asked("tools/list", None, "2025-03-26")

    answer = agents.send(body, headers={"mcp-protocol-version": None})

    assert (answer["statusCode"], len(json.loads(answer["body"])["result"]["tools"])) == (200, 10)


@pytest.mark.parametrize("version", ["1.0", "2099-01-01", "", "x" * 10_000])
def test_a_version_that_nobody_knows_is_answered_with_one_that_the_server_speaks(agents, version):
    assert initialize(agents, version)["protocolVersion"] in HANDSHAKES


def test_a_client_of_today_discovers_the_server_and_calls_it_without_a_handshake(agents):
    agents.protocol = MODERN

    found = agents.good("server/discover")

    assert MODERN in found["supportedVersions"]
    assert set(found["capabilities"]) == {"tools", "resources", "prompts", "completions"}
    assert found["instructions"]
    assert set(agents.tools()) >= {"note", "start_session"}
    assert agents.call("note", space_id="demo", category="todo", content="x")["space_id"] == "demo"


def test_a_client_may_shake_hands_after_it_has_discovered_the_server(agents):
    agents.protocol = MODERN
    agents.good("server/discover")
    agents.protocol = "2025-11-25"

    assert initialize(agents, "2025-11-25")["protocolVersion"] == "2025-11-25"
    assert agents.tools()


@pytest.mark.parametrize("protocol", [*HANDSHAKES, MODERN])
def test_no_session_is_begun_so_none_has_to_be_found_again(agents, protocol):
    body, headers = asked("tools/list", None, protocol)

    answer = agents.send(body, headers=headers | {"mcp-session-id": "nobody-gave-me-this"})

    assert answer["statusCode"] == 200
    assert "mcp-session-id" not in {name.lower() for name in answer["headers"]}


def test_both_eras_get_the_same_of_a_tool(agents):
    agents.world.note("One.")
    results = []
    for protocol in (*HANDSHAKES, MODERN):
        agents.protocol = protocol
        results.append(agents.result("start_session", {"space_id": "demo"}))

    assert len({result["content"][0]["text"] for result in results}) == 1
    # What came with 2025-06-18 is left out for older ones by the library.
    newest = results[-1]["structuredContent"]
    assert all(result.get("structuredContent", newest) == newest for result in results)


def test_lists_may_be_kept_for_a_while_by_clients_of_today(agents):
    agents.protocol = MODERN

    assert agents.good("tools/list")["ttlMs"] == 300_000
    assert agents.good("prompts/list")["ttlMs"] == 300_000


@each("protocol", [*HANDSHAKES, MODERN])
@each(
    "method",
    [
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "subscriptions/listen",
        "sampling/createMessage",
        "elicitation/create",
        "tasks/get",
        "tasks/list",
        "roots/list",
        "nothing",
    ],
)
def test_what_the_server_does_not_offer_is_no_method_of_it(agents, protocol, method):
    agents.protocol = protocol

    assert agents.error(method, {})["code"] in (-32601, -32602)
