"""Answers as Markdown alone, for clients that would hand their model the JSON in its place."""

import json

import pytest

from tests.support.mcp import HANDSHAKES, MODERN, Agents, started, token

ANN = "lm_ann"
NOTE = {"category": "decision", "content": "We keep S3."}


@pytest.fixture
def agents(monkeypatch) -> Agents:
    found = started(monkeypatch)
    found.world.create_space(rules="Keep a log.")
    found.let_in(token(ANN, "read", "write"))
    return found.as_one(ANN)


@pytest.mark.parametrize("protocol", [*HANDSHAKES, MODERN])
def test_an_address_that_says_so_gets_the_markdown_alone(agents, protocol):
    agents = agents.as_one(ANN, protocol=protocol)

    told = agents.result("note", NOTE, query={"structured": "false"})

    (note_id,) = agents.world.live_ids()
    assert told["content"][0]["text"] == f"Noted: {note_id}\n"
    assert told.get("structuredContent") is None


@pytest.mark.parametrize("query", [{}, {"structured": "true"}])
def test_else_the_same_comes_as_json_too(agents, query):
    told = agents.result("note", NOTE, query=query)

    assert told["structuredContent"]["note_id"] in told["content"][0]["text"]


def test_what_is_made_of_routes_heeds_it_too(agents):
    agents.call("note", **NOTE)

    told = agents.result("list_notes", query={"toolset": "full", "structured": "false"})

    assert "We keep S3." in told["content"][0]["text"]
    assert told.get("structuredContent") is None


@pytest.mark.parametrize("value", ["", "no", "False", "0"])
def test_another_value_is_refused(agents, value):
    answer = agents.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, query={"structured": value})

    assert answer["statusCode"] == 422
    assert json.loads(answer["body"])["errors"][0]["field"] == "structured"
