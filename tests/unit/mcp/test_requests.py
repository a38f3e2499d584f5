"""What the core tools cost: as many requests to the store as the routes that do the same."""

from collections import Counter
from typing import Any

import pytest

from tests.support.functions import request
from tests.support.mcp import Agents, started, token

ANN = "lm_ann"
SPACE = "/v1/spaces/{space_id}"


@pytest.fixture
def agents(monkeypatch) -> Agents:
    found = started(monkeypatch)
    found.world.create_space()
    found.world.note("One.")
    found.world.consolidate()
    found.world.note("Two.")
    found.let_in(token(ANN, "read", "write"))
    return found.as_one(ANN)


def counted(agents: Agents, call: Any) -> Counter[str]:
    """The requests of a call in a process that has served one like it."""
    call()
    agents.world.client.reset()
    call()
    return agents.world.client.counts


def over_http(agents: Agents, function: str, method: str, route: str, body: Any = None) -> None:
    event = request(method, route, token=ANN, body=body, space_id="demo")
    status, answer = agents.http(function, event)
    assert status < 300, answer


def test_a_note_costs_no_more_requests_than_by_http(agents):
    note = {"category": "todo", "content": "x"}

    by_http = counted(agents, lambda: over_http(agents, "ingest", "POST", f"{SPACE}/notes", note))
    by_tool = counted(agents, lambda: agents.call("note", **note))

    assert by_tool == by_http
    assert sum(by_tool.values()) >= 1


def test_a_batch_costs_no_more_requests_than_by_http(agents):
    notes = {"notes": [{"category": "todo", "content": "x"}, {"category": "todo", "content": "y"}]}

    items = {"items": notes["notes"]}
    by_http = counted(agents, lambda: over_http(agents, "ingest", "POST", f"{SPACE}/notes", items))
    by_tool = counted(agents, lambda: agents.call("notes", **notes))

    assert by_tool == by_http


def test_the_start_of_a_session_costs_no_more_requests_than_by_http(agents):
    by_http = counted(agents, lambda: over_http(agents, "search", "GET", f"{SPACE}/start"))
    by_tool = counted(agents, lambda: agents.call("start_session"))

    assert by_tool == by_http
    assert sum(by_tool.values()) >= 1


@pytest.mark.parametrize(("method", "params"), [("tools/list", None), ("prompts/list", None), ("ping", None)])
def test_what_is_the_same_for_all_asks_the_store_for_nothing(agents, method, params):
    assert counted(agents, lambda: agents.good(method, params, query={"toolset": "full"})) == {}


def test_a_tool_of_the_catalog_asks_the_store_for_nothing_itself(agents):
    agents.call("start_session")
    agents.world.client.reset()
    during: list[int] = []

    def invoke(function: str, event: Any) -> Any:
        during.append(len(agents.world.client.requests))
        return {"statusCode": 200, "body": '{"rules": "x"}'}

    agents.invoke = invoke  # type: ignore[method-assign]
    agents.result("get_rules", query={"toolset": "full"})

    assert (during, len(agents.world.client.requests)) == ([0], 0)
