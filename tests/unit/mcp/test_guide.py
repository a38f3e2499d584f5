"""docs/mcp.md names tools that there are, and all that it should."""

import re
from pathlib import Path

from livemem_mcp import catalog
from livemem_mcp.core import CORE

GUIDE = Path(__file__).parents[3] / "docs" / "mcp.md"
FORMER = 38
"""Tools that the known implementation has in v1.2."""
WITHOUT = {"bank_repair", "graph_connect", "graph_push", "graph_status", "graph_disconnect"}


def _rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    section = GUIDE.read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


def test_the_table_of_core_tools_has_each_of_them():
    assert [row[0].strip("`") for row in _rows("Core tools")] == list(CORE)


def test_each_former_tool_has_a_row_and_a_tool_that_there_is():
    rows = _rows("Coming from chrlesur/live-memory")
    former = [row[0].strip("`") for row in rows]
    tools = {one: row[1].strip("`") for one, row in zip(former, rows, strict=True)}

    assert len(set(former)) == len(former) == FORMER
    assert {one for one, tool in tools.items() if tool == "none"} == WITHOUT
    assert {tool for tool in tools.values() if tool != "none"} <= CORE.keys() | catalog.tools().keys()


def test_tools_that_the_guide_names_are_there():
    named = re.findall(
        r"`((?:get|list|put|patch|delete|create|undo|restore|start|search|collect)_\w+)`", GUIDE.read_text("utf-8")
    )

    assert set(named) - CORE.keys() - catalog.tools().keys() - {"list_changed", "delete_only"} == set()
