"""What the lists of tools cost an agent in every session, in tokens (benchmarks/mcp.py prints them)."""

import json

import pytest

from benchmarks import mcp as bench
from livemem_mcp.core import CORE
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
