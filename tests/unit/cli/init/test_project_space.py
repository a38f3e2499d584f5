"""In a project that `livemem init` has set up, commands in a terminal act in its space."""

import json
from pathlib import Path

import pytest

from live_memory.cli.init import project_space
from live_memory.cli.mcp.upstream import Upstreams
from tests.support.cli_harness import CliHarness
from tests.support.scripted import URL
from tests.unit.cli.init.support import CLIENTS, Desk

NOTE = {"note_id": "n", "space_id": "ferry", "category": "todo", "timestamp": "2026-02-20T14:04:55Z", "size": 1}


@pytest.fixture(name="user")
def _user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    user = Desk(tmp_path)
    monkeypatch.setattr(Path, "home", lambda: user.home)
    return user


def test_each_client_leaves_the_space_where_it_is_found_also_below_and_without_records(user: Desk) -> None:
    (user.project / ".git").mkdir()
    below = user.project / "src" / "deep"
    below.mkdir(parents=True)
    found = {}
    for client in CLIENTS:
        for record in (True, False):
            user.init(client, space="ferry-1", record=record)
            found[client, record] = (project_space.find(user.project), project_space.find(below))
            user.undo(client)
            assert project_space.find(user.project) is None, client
    assert set(found.values()) == {("ferry-1", "ferry-1")}, found


def test_what_is_above_the_repository_or_of_the_user_or_in_doubt_is_no_space_of_the_project(user: Desk) -> None:
    user.init("claude-code", space="all", scope="user")
    assert project_space.find(user.home) is None
    assert project_space.find(user.project) is None
    user.init("claude-code", space="one", project=user.project)
    inner = user.project / "vendor"
    (inner / ".git").mkdir(parents=True)
    loose = user.project / "loose"
    loose.mkdir()
    assert [project_space.find(folder) for folder in (user.project, inner, loose)] == ["one", None, None]
    user.init("codex", space="two")
    assert project_space.find(user.project) is None
    settings = user.project / ".claude" / "settings.json"
    settings.write_text('{"x": "livemem hook claude-code Stop --space ../etc"}')
    (user.project / ".codex" / "hooks.json").unlink()
    assert project_space.find(user.project) is None


def test_a_note_goes_into_the_projects_space_which_is_said_unless_something_nearer_names_one(
    user: Desk, desk: CliHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    user.init("claude-code", space="ferry")
    monkeypatch.chdir(user.project)
    desk.answers = {"append_note": NOTE}
    desk.environ.pop("LIVEMEM_SPACE")
    desk.config.parent.mkdir(parents=True)
    desk.config.write_text('[profiles.default]\nspace = "saved"\n')
    desk.config.chmod(0o600)

    said = desk.say("note", "One.")
    in_json = desk.say("note", "One.", "--json")
    named = desk.say("note", "One.", "-s", "other")
    desk.environ["LIVEMEM_SPACE"] = "environment"
    by_variable = desk.say("note", "One.")

    assert [asked["space_id"] for _, asked in desk.asked] == ["ferry", "ferry", "other", "environment"]
    assert (said.code, said.err) == (0, "Space of this project: ferry\n")
    assert (in_json.err, named.err, by_variable.err) == ("", "", "")
    del desk.environ["LIVEMEM_SPACE"]
    settings = desk.say("config", "--json").json
    assert (settings["space"], settings["from"]["space"]) == ("ferry", "project")
    monkeypatch.chdir(user.home)
    assert json.loads(desk.say("config", "--json").out)["space"] == "saved"


def test_an_mcp_server_acts_where_the_terminal_of_the_project_does(user: Desk, desk: CliHarness) -> None:
    user.init("claude-code", space="ferry")
    desk.environ.pop("LIVEMEM_SPACE")
    desk.answers = {"get_space": {"space_id": "ferry"}}
    found = Upstreams(desk.program(), "auto", user.project).get()
    assert (found.url, found.space) == (URL, "ferry")
