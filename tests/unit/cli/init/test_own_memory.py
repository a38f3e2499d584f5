"""Whether a client remembers by itself, as Claude Code 2.1.332 and Codex 0.171.0 read their settings."""

from collections.abc import Iterator
from typing import Any

import pytest

from live_memory.cli.init import own_memory
from tests.unit.cli.init.support import CLIENTS, Desk, desk

HOME, PROJECT, LOCAL = ".claude/settings.json", "ferry/.claude/settings.json", "ferry/.claude/settings.local.json"
OFF, ON = '{"autoMemoryEnabled": false}', '{"autoMemoryEnabled": true}'
VARIABLE = '{"env": {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "%s"}}'
CONFIG, OWN_CONFIG = ".codex/config.toml", "ferry/.codex/config.toml"


@pytest.fixture
def user() -> Iterator[Desk]:
    with desk() as made:
        yield made


def is_on(user: Desk, client: str, **changes: Any) -> bool:
    (line,) = own_memory.told(client, user.setup(**changes))
    assert ("memory is on too" in line) != ("memory is off" in line)
    return "memory is on too" in line


@pytest.mark.parametrize(
    ("files", "said", "on"),
    [
        pytest.param({}, None, True, id="nothing"),
        pytest.param({HOME: OFF}, None, False, id="user"),
        pytest.param({HOME: OFF, PROJECT: ON}, None, True, id="project wins"),
        pytest.param({PROJECT: ON, LOCAL: OFF}, None, False, id="local wins"),
        pytest.param({LOCAL: ON}, "1", False, id="variable wins"),
        pytest.param({LOCAL: OFF}, "No", True, id="variable forces"),
        pytest.param({HOME: VARIABLE % "true"}, None, False, id="variable of settings"),
        pytest.param({HOME: VARIABLE % "true", LOCAL: VARIABLE % "0"}, "1", True, id="nearer variable"),
        pytest.param({HOME: OFF}, "maybe", False, id="no variable"),
        pytest.param(
            {HOME: '{"autoMemoryEnabled": "no", "env": 3}', LOCAL: "[1]", PROJECT: "{"}, None, True, id="wrong types"
        ),
        pytest.param({HOME: '{"a":' * 100_000}, None, True, id="deep"),
    ],
)
def test_the_memory_of_claude_code_is_on_unless_its_settings_switch_it_off(user, files, said, on):
    for name, text in files.items():
        user.home.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        user.home.joinpath(name).write_text(text)
    if said:
        user.environ[own_memory.VARIABLE] = said
    assert is_on(user, "claude-code") == on


@pytest.mark.parametrize(
    ("files", "on"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param({CONFIG: "[features]\nmemories = true\n"}, True, id="user"),
        pytest.param({CONFIG: "features.memories = true\n"}, True, id="dotted"),
        pytest.param({CONFIG: "[features]\nmemory_tool = true\n"}, True, id="former name"),
        pytest.param(
            {CONFIG: "[features]\nmemories = true\n", OWN_CONFIG: "[features]\nmemories = false\n"},
            False,
            id="project wins",
        ),
        pytest.param(
            {CONFIG: 'features = "memories"\n', OWN_CONFIG: "[features]\nmemories = 1\n"}, False, id="wrong types"
        ),
        pytest.param({CONFIG: "[features\n"}, False, id="no toml"),
    ],
)
def test_the_memory_of_codex_is_off_unless_its_settings_switch_it_on(user, files, on):
    for name, text in files.items():
        user.home.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        user.home.joinpath(name).write_text(text)
    assert is_on(user, "codex") == on


def test_other_clients_have_none_and_settings_of_the_user_alone_count_for_all_projects(user):
    assert [client for client in CLIENTS if own_memory.told(client, user.setup())] == ["claude-code", "codex"]
    user.write(".claude/settings.json", OFF)
    assert (is_on(user, "claude-code"), is_on(user, "claude-code", scope="user")) == (False, True)
    user.environ["CLAUDE_CONFIG_DIR"] = str(user.root / "elsewhere")
    user.home.joinpath(HOME).parent.mkdir()
    user.home.joinpath(HOME).write_text(OFF)
    assert is_on(user, "claude-code", scope="user")


def test_what_a_client_has_remembered_is_named_with_the_command_that_takes_it_over(user):
    name = "".join(one if one.isascii() and one.isalnum() else "-" for one in str(user.project))
    for folder in (user.home / ".claude/projects" / name / "memory", user.home / ".codex/memories"):
        client = "codex" if folder.name == "memories" else "claude-code"
        user.home.joinpath(CONFIG).parent.mkdir(exist_ok=True)
        user.home.joinpath(CONFIG).write_text("[features]\nmemories = true\n")
        assert "livemem import" not in own_memory.told(client, user.setup())[0]
        folder.mkdir(parents=True)
        assert "livemem import" not in own_memory.told(client, user.setup())[0], "An empty folder has nothing to take."
        (folder / "MEMORY.md").write_text("- The tunnel is closed.\n")
        assert f"livemem import {folder}" in own_memory.told(client, user.setup())[0]
