"""What the lists of tools cost an agent in every session, in tokens (benchmarks/mcp.py prints them)."""

import json

import pytest

from benchmarks import mcp as bench
from livemem_mcp import catalog
from livemem_mcp.core import CORE
from tests.support.cases import each
from tests.support.mcp import started

CORE_TOKENS = 1_100
MOST = {"core": CORE_TOKENS, "read": 5_600, "full": 14_000}
"""Of the longest list: that of a token that may do everything everywhere, and so names the space in each call."""


@pytest.mark.parametrize("toolset", MOST)
def test_a_list_of_tools_costs_no_more_tokens_than_it_may(toolset):
    text = bench.listed(toolset)

    assert len(CORE) <= len(json.loads(text))
    assert len(text) / 10 < bench.tokens(text) < MOST[toolset]


def test_what_is_counted_is_what_is_sent(monkeypatch):
    agents = started(monkeypatch)

    for toolset in ("core", "full"):
        sent = agents.good("tools/list", query={"toolset": toolset})["tools"]
        assert json.loads(bench.listed(toolset)) == sent


def test_null_is_shown_where_it_takes_a_value_away_and_nowhere_else():
    shown = {tool["name"]: tool["inputSchema"]["properties"] for tool in json.loads(bench.listed("full"))}
    for name, tool in catalog.tools().items():
        takes = {field for field, schema in tool.schema["properties"].items() if "null" in schema.get("type", ())}
        of = catalog.words()["tools"][name].get("of", name)
        clears = catalog.operations()[of]["method"] == "PATCH"
        assert {field for field, schema in shown[name].items() if "null" in schema.get("type", ())} == (
            takes if clears else set()
        ), name
    nullable = {field for field, schema in shown["correct_memory"].items() if "null" in schema["type"]}
    assert {"category", "said_at", "author", "ttl"} <= nullable


@each(
    ("tool", "argument", "words"),
    [
        ("patch_token", "expires_in_days", "null: never"),
        ("correct_memory", "said_at", "when it was stored"),
        ("refuse_plan", "reason", "the job shows"),
    ],
)
def test_an_argument_that_means_another_thing_in_one_tool_has_its_own_words_there(tool, argument, words):
    assert words in catalog.tools()[tool].schema["properties"][argument]["description"]
