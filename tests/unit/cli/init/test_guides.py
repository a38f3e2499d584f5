"""The guides in docs/agents show what `livemem init` writes, so that who pastes and who runs it have the same."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.init.support import URL, desk

GUIDES = Path(__file__).parents[4] / "docs" / "agents"
SHOWN_URL = "http://127.0.0.1:3000"
FILES = {
    "claude-code": [".mcp.json"],
    "cursor": [".cursor/mcp.json"],
    "vscode": [".vscode/mcp.json"],
    "opencode": ["opencode.json"],
}


@pytest.fixture
def there():
    with desk() as made:
        yield made


@pytest.mark.parametrize(("client", "file"), [(client, file) for client, files in FILES.items() for file in files])
def test_a_guide_shows_the_file_that_init_writes(there, client, file):
    there.init(client, allow_reading=True)

    assert json.loads(_block(client, file, "json")) == there.json(file)


def test_the_guide_of_gemini_cli_shows_the_server_that_init_writes(there):
    there.init("gemini-cli")

    shown = json.loads(_block("gemini-cli", ".gemini/settings.json", "json"))
    assert shown["mcpServers"] == there.json(".gemini/settings.json")["mcpServers"]


def test_the_guide_of_codex_shows_the_table_that_init_writes(there):
    there.init("codex")

    assert tomllib.loads(_block("codex", ".codex/config.toml", "toml")) == tomllib.loads(
        there.read(".codex/config.toml")
    )


def test_the_guide_of_cline_shows_the_server_and_a_hook_that_init_writes(there):
    there.init("cline", token="lm_one")

    (server,) = json.loads(_block("cline", "cline_mcp_settings.json", "json"))["mcpServers"].values()
    settings = there.home / ".cline/data/settings/cline_mcp_settings.json"
    written = json.loads(settings.read_text("utf-8"))["mcpServers"]["livemem"]
    script = re.sub(r"# livemem:(begin|end)\n", "", there.read(".clinerules/hooks/TaskStart"))

    assert {**server, "headers": None} == {**written, "headers": None, "autoApprove": server["autoApprove"]}
    assert _block("cline", ".clinerules/hooks/", "sh") == script


def test_the_guide_of_cursor_shows_the_head_of_its_rule(there):
    there.init("cursor")

    assert there.read(".cursor/rules/livemem.mdc").startswith(_block("cursor", ".cursor/rules/livemem.mdc", ""))


@pytest.mark.parametrize("client", [*FILES, "codex", "cline", "gemini-cli"])
def test_a_guide_names_every_file_that_init_writes(there, client):
    there.init(client)
    guide = (GUIDES / f"{client}.md").read_text("utf-8")

    written = [path.relative_to(there.project).as_posix() for path in there.project.rglob("*") if path.is_file()]

    assert written
    missing = [path for path in written if path not in guide and not path.startswith(".clinerules/hooks/")]
    assert missing == []


def _block(client: str, file: str, language: str) -> str:
    """The first fenced block below the heading that names a file, with the address of the tests."""
    sections = re.split(r"^## ", (GUIDES / f"{client}.md").read_text("utf-8"), flags=re.MULTILINE)
    (section,) = [one for one in sections if f"`{file}`" in one.splitlines()[0]]
    found: Any = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return str(found[1]).replace(SHOWN_URL, URL)
