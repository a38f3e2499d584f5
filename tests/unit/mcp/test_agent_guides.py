"""docs/agents and docs/mcp.md: what is there to be pasted can be, and what they link to is there."""

import ast
import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from live_memory.cli.init import clients
from livemem_mcp import http
from livemem_mcp.core import CORE
from livemem_mcp.session import TOOLSETS
from tests.support.cases import each

DOCS = Path(__file__).parents[3] / "docs"
PAGES = [DOCS / "mcp.md", *sorted((DOCS / "agents").glob("*.md"))]
READ: dict[str, Callable[[str], Any]] = {"json": json.loads, "toml": tomllib.loads, "python": ast.parse}
VALUES: dict[str, set[str]] = {"toolset": {*TOOLSETS}, "structured": set(http.STRUCTURED), "space": {"demo"}}


def _named(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(DOCS)) for page in pages]


@each("page", PAGES, ids=_named(PAGES))
def test_what_is_to_be_pasted_is_well_formed(page: Path):
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        READ.get(language, str)(text)


@each("page", PAGES, ids=_named(PAGES))
def test_addresses_ask_for_what_the_server_knows(page: Path):
    for address in re.findall(r"https?://[^\s\"'`)]+/mcp\?[^\s\"'`)]+", page.read_text("utf-8")):
        wanted = parse_qsl(urlsplit(address).query, keep_blank_values=True)
        assert [(name, value) for name, value in wanted if value not in VALUES[name]] == []


@each("page", PAGES, ids=_named(PAGES))
def test_links_lead_somewhere(page: Path):
    missing = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        file, _, heading = link.partition("#")
        if not link.startswith("http"):
            target = (page.parent / file).resolve() if file else page
            if not target.exists() or (heading and heading not in _headings(target)):
                missing.append(link)
    assert missing == []


def test_there_is_a_guide_for_every_client_of_init_and_the_first_page_names_all():
    first = (DOCS / "agents" / "README.md").read_text("utf-8")

    named = set(re.findall(r"\]\(([\w-]+\.md)\)", first))

    assert named == {page.name for page in PAGES[1:]} - {"README.md"}
    assert {"claude-code.md", "codex.md", "cursor.md", "vscode.md", "cline.md"} <= named


def _headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_init_allows_the_core_tools_that_only_read():
    assert set(clients.READING) == {name for name, tool in CORE.items() if tool.reads}
