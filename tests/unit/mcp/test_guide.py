"""docs/mcp.md names tools that there are, and all that it should."""

import re
from pathlib import Path

import pytest

from livemem_mcp import catalog
from livemem_mcp.core import CORE
from tests.support.mcp import started

GUIDE = Path(__file__).parents[3] / "docs" / "mcp.md"
CODE = re.compile(r"`([a-z_.]+)`")
SETS = ("system", "space", "live", "bank", "graph", "backup", "admin")
FORMER = 38
"""Tools that the known implementation has in v1.2."""


def _rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    section = GUIDE.read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


def test_the_table_of_core_tools_has_each_of_them():
    assert [row[0].strip("`") for row in _rows("Core tools")] == list(CORE)


def test_each_former_tool_has_a_row_and_is_answered_with_the_tool_of_that_row(monkeypatch: pytest.MonkeyPatch):
    agents = started(monkeypatch)
    rows = {
        name: row[1].strip("`") for row in _rows("Coming from chrlesur/live-memory") for name in CODE.findall(row[0])
    }
    tools = {name: "" if tool == "none" else tool for name, tool in rows.items()}
    query = {"toolset": "full"}

    assert catalog.words()["former"] == tools
    assert len([name for name in tools if name.split("_")[0] in SETS]) == FORMER
    there = agents.tools(query=query).keys()
    assert {tool for tool in tools.values() if tool} <= there
    for name, tool in tools.items():
        if name not in there:
            answer = agents.result(name, query=query)
            told = f"This tool is called `{tool}` here." if tool else "There is no such tool here, and none that does"
            assert (answer["isError"], answer["content"][0]["text"].startswith(told)) == (True, True)


def test_a_former_name_of_a_tool_that_the_agent_lacks_says_so(monkeypatch: pytest.MonkeyPatch):
    assert (
        started(monkeypatch).refused("backup_create").startswith("This tool is called `create_backup` here. You lack")
    )


def test_tools_that_the_guide_names_are_there():
    named = re.findall(
        r"`((?:get|list|put|patch|delete|create|undo|restore|start|search|collect)_\w+)`", GUIDE.read_text("utf-8")
    )

    assert (
        set(named)
        - CORE.keys()
        - catalog.tools().keys()
        - {"list_changed", "delete_only"}
        - catalog.words()["former"].keys()
        == set()
    )
