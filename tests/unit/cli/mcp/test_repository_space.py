"""Which space an agent's folder has."""

import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli.exits import Refused
from live_memory.cli.mcp import repository_space
from tests.support.scripted import problem

SPACE_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}")


def git(folder, *arguments):
    own = {"HOME": str(folder), "PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, env=own)


@given(st.text())
def test_every_name_becomes_the_id_of_a_space_and_an_id_stays_itself(name):
    found = repository_space.as_space_id(name)

    assert SPACE_ID.fullmatch(found)
    assert repository_space.as_space_id(found) == found


def test_the_space_has_the_name_of_the_remote_in_every_form_of_its_url(tmp_path):
    urls = [
        "git@example.org:team/My.Project.git",
        "https://example.org/team/My.Project.git",
        "https://example.org/team/My.Project/",
        "ssh://git@example.org:22/team/My.Project.git",
        "../My.Project",
        "C:\\repositories\\My.Project.git",
    ]
    git(tmp_path, "init", "-q")
    git(tmp_path, "remote", "add", "origin", "x")
    (tmp_path / "below").mkdir()
    found = set()
    for url in urls:
        git(tmp_path, "config", "remote.origin.url", url)
        found.add(repository_space.name_of(tmp_path / "below"))

    assert found == {"my-project"}


def test_without_a_remote_it_has_the_name_of_the_repository_also_in_another_work_tree(tmp_path):
    main = tmp_path / "Parser"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", "-q", str(tmp_path / "elsewhere"))

    assert repository_space.name_of(main) == "parser"
    assert repository_space.name_of(tmp_path / "elsewhere") == "parser"


def test_without_a_repository_or_without_git_it_has_the_name_of_the_folder(tmp_path, monkeypatch):
    folder = tmp_path / "My notes"
    folder.mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert repository_space.name_of(folder) == "my-notes"

    monkeypatch.setenv("PATH", str(tmp_path))
    assert repository_space.name_of(folder) == "my-notes"


def test_a_space_that_is_there_costs_one_request_and_one_that_is_not_is_made(desk):
    desk.answers = {"get_space": {"space_id": "demo"}, "create_space": {"space_id": "new"}}
    with desk.program().connect("http://memory", "x") as client:
        repository_space.ensure(client, "demo")
        assert [name for name, _ in desk.asked] == ["get_space"]
        desk.answers["get_space"] = problem(404, "space_not_found")
        repository_space.ensure(client, "new")
        assert desk.asked[-1] == ("create_space", {"space_id": "new", "description": "The memory of new."})
        desk.answers["create_space"] = problem(409, "space_exists")
        repository_space.ensure(client, "new")


def test_a_token_that_may_not_make_the_space_is_told_what_to_do(desk):
    desk.answers = {"get_space": problem(404, "space_not_found"), "create_space": problem(403, "forbidden")}
    with desk.program().connect("http://memory", "x") as client:
        with pytest.raises(Refused, match="--space NAME"):
            repository_space.ensure(client, "new")
        desk.answers["get_space"] = problem(403, "forbidden")
        with pytest.raises(Refused, match="--space NAME"):
            repository_space.ensure(client, "another")
