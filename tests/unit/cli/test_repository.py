"""Which repository a folder belongs to, and what its space is called."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli import repository
from tests.support.cases import each

SPACE_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}")


def git(folder: Path, *arguments: str) -> None:
    own = {"HOME": str(folder), "PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_CONFIG_NOSYSTEM": "1"}
    options = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", str(folder), *options, *arguments], check=True, capture_output=True, env=own)


def cloned(folder: Path, url: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    git(folder, "config", "remote.origin.url", url)
    return folder


def names(folder: Path, *urls: str) -> set[tuple[str, str]]:
    seen = set()
    for url in urls:
        here = repository.of(cloned(folder, url))
        seen.add((here.identity, here.space_ids[0]))
    return seen


@given(st.text(), st.text())
def test_every_repository_has_two_ids_of_spaces_that_fit(name: str, identity: str):
    here = repository.Repository(identity, name, Path(), Path(), "x")
    assert all(SPACE_ID.fullmatch(space_id) for space_id in here.space_ids)
    assert repository.as_space_id(here.space_ids[1]) == here.space_ids[1]


def test_all_forms_of_a_remote_are_one_repository_and_hold_no_user_password_or_port(tmp_path):
    forms = names(
        tmp_path,
        "git@forge.example.org:ferry/Timetable.git",
        "forge.example.org:ferry/timetable",
        "https://forge.example.org/ferry/timetable",
        "https://Forge.Example.ORG/ferry/timetable.git/",
        "https://ann:gl-4Tulips@forge.example.org:8443/ferry//timetable.git",
        "https://t@ken:x@forge.example.org/ferry/timetable?private_token=4Tulips#x",
        "ssh://git@forge.example.org:2222/ferry/timetable.git",
        "ssh://ssh.forge.example.org:443/ferry/timetable",
        "git+ssh://ann@forge.example.org/ferry/timetable.git",
        "git://forge.example.org/ferry/timetable",
        "https://forge.example.org/%66erry/timetable",
    )
    assert forms == {("forge.example.org/ferry/timetable", "ferry-timetable")}


def test_the_addresses_of_azure_by_ssh_and_https_are_one_repository(tmp_path):
    forms = names(
        tmp_path,
        "git@ssh.dev.azure.com:v3/acme/shop/api",
        "ssh://git@ssh.dev.azure.com:22/v3/acme/shop/api",
        "https://dev.azure.com/acme/shop/_git/api",
        "https://acme@dev.azure.com/acme/shop/_git/api",
    )
    assert forms == {("dev.azure.com/acme/shop/api", "acme-shop-api")}
    short = names(tmp_path, "https://dev.azure.com/acme/_git/api", "git@ssh.dev.azure.com:v3/acme/api/api")
    assert short == {("dev.azure.com/acme/api/api", "acme-api-api")}


def test_a_host_whose_name_only_ends_with_that_of_another_door_is_another_host(tmp_path):
    assert len(names(tmp_path, "https://myssh.example.org/acme/api", "https://myexample.org/acme/api")) == 2
    assert len(names(tmp_path, "https://vs-ssh.example.org/acme/api", "https://vs-example.org/acme/api")) == 2


def test_owners_hosts_and_groups_are_told_apart_by_the_name_or_by_the_second_one(tmp_path):
    urls = [
        "https://forge.example.org/acme/api",
        "https://forge.example.org/globex/api",
        "https://other.example.org/acme/api",
        "https://forge.example.org/acme/team/api",
        "https://forge.example.org/acme-team/api",
        "https://forge.example.org/acme/api.js",
        "https://forge.example.org/acme/api-js",
        "https://forge.example.org/acme/%E6%97%A5%E6%9C%AC",
        "https://forge.example.org/acme/пирог",
        "https://[2001:db8::1]/acme/api",
        "git@[2001:db8::2]:acme/api",
    ]
    here = [repository.of(cloned(tmp_path, url)) for url in urls]
    assert len({one.identity for one in here}) == len({one.space_ids[1] for one in here}) == len(urls)
    assert [one.space_ids[0] for one in here[:5]] == [
        "acme-api", "globex-api", "acme-api", "acme-team-api", "acme-team-api",
    ]  # fmt: skip
    assert here[5].space_ids[0] == "acme-api-js"


@each("name", ["日本語", "проект", "café", "مشروع", "日本語 2", "default"])
def test_a_name_that_loses_letters_gets_a_hash_so_that_no_two_are_one(name: str):
    here = repository.Repository(name, name, Path(), Path(), "x")
    assert re.search("[0-9a-f]{8}$", here.space_ids[0])
    assert here.space_ids[0] != repository.Repository(name + "x", name + "x", Path(), Path(), "x").space_ids[0]


def test_the_two_ways_to_write_an_accent_are_one_repository_and_a_long_name_stays_one(tmp_path):
    urls = ("https://forge.example.org/acme/cafe\u0301", "https://forge.example.org/acme/caf\u00e9")
    assert len(names(tmp_path, *urls)) == 1
    long = [f"https://forge.example.org/acme/{'x' * 300}{end}" for end in "ab"]
    assert len(names(tmp_path, *long)) == 2
    assert all(len(identity.encode()) <= 300 for identity, _ in names(tmp_path, *long))


def test_a_secret_in_the_path_of_a_remote_is_in_neither_the_identity_nor_the_id(tmp_path):
    here = repository.of(cloned(tmp_path, "https://forge.example.org/api_key=hunter2Tulip99/api"))
    assert "hunter2" not in f"{here.identity} {here.space_ids}".lower()


def test_clones_work_trees_and_subfolders_share_and_a_link_is_the_folder_it_leads_to(tmp_path):
    first = cloned(tmp_path / "one", "https://forge.example.org/acme/api")
    second = cloned(tmp_path / "deep" / "two", "git@forge.example.org:acme/api.git")
    git(first, "commit", "-q", "--allow-empty", "-m", "x")
    git(first, "worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "tree" / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "tree" / "a" / "b")
    here = [repository.of(folder) for folder in (first, second, tmp_path / "tree" / "a" / "b", tmp_path / "link")]
    assert {one.identity for one in here} == {"forge.example.org/acme/api"}
    assert [one.places for one in here] == [(".",), (".",), ("a/b", "a", "."), ("a/b", "a", ".")]


def test_without_a_remote_each_folder_is_its_own_also_from_its_work_trees_and_below(tmp_path):
    folders = [tmp_path / owner / "Notes" for owner in ("ann", "bob")]
    for folder in folders:
        folder.mkdir(parents=True)
        git(folder, "init", "-q")
        git(folder, "commit", "-q", "--allow-empty", "-m", "x")
        git(folder, "worktree", "add", "-q", str(folder.parent / "tree"))
        (folder / "below").mkdir()
    here = [repository.of(folder) for folder in folders]
    assert [one.space_ids[0] for one in here] == ["notes", "notes"]
    assert here[0].identity != here[1].identity
    assert here[0].space_ids[1] != here[1].space_ids[1]
    for folder, one in zip(folders, here, strict=True):
        copies = (folder.parent / "tree", folder / "below")
        assert {repository.of(copy).identity for copy in copies} == {one.identity}
        assert str(folder.parent) not in one.identity


def test_a_bare_repository_inside_a_repository_names_no_remote(tmp_path):
    project = cloned(tmp_path / "project", "https://forge.example.org/acme/api")
    subprocess.run(["git", "init", "-q", "--bare", str(project / "trap")], check=True, capture_output=True)
    git(project / "trap", "config", "remote.origin.url", "https://forge.example.org/victim/secret")
    assert repository.of(project / "trap").identity == "forge.example.org/acme/api"
    loose = tmp_path / "loose"
    subprocess.run(["git", "init", "-q", "--bare", str(loose)], check=True, capture_output=True)
    git(loose, "config", "remote.origin.url", "https://forge.example.org/victim/secret")
    assert "victim" not in repository.of(loose).identity


def test_a_work_tree_of_a_bare_repository_has_its_remote(tmp_path):
    source = cloned(tmp_path / "source", "x")
    git(source, "commit", "-q", "--allow-empty", "-m", "x")
    git(tmp_path, "clone", "-q", "--bare", str(source), str(tmp_path / "api.git"))
    git(tmp_path / "api.git", "config", "remote.origin.url", "git@forge.example.org:acme/api.git")
    git(tmp_path / "api.git", "worktree", "add", "-q", str(tmp_path / "tree"))
    assert repository.of(tmp_path / "tree").identity == "forge.example.org/acme/api"


def test_the_only_remote_counts_whatever_it_is_called_and_so_do_short_forms_of_the_user(tmp_path, monkeypatch):
    folder = cloned(tmp_path / "x", "x")
    git(folder, "config", "--unset", "remote.origin.url")
    git(folder, "remote", "add", "upstream", "forge:acme/api")
    git(folder, "config", "url.https://forge.example.org/.insteadOf", "forge:")
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    assert repository.of(folder).identity == "forge.example.org/acme/api"


def test_clones_of_a_repository_on_this_machine_share(tmp_path):
    (tmp_path / "api.git").mkdir()
    urls = (str(tmp_path / "api.git"), "../api.git", f"file://{tmp_path}/api.git/")
    ((identity, space_id),) = names(tmp_path / "clone", *urls)
    assert (space_id, identity[:4]) == ("api", "api#")


def test_without_git_it_is_the_top_of_the_repository_and_the_root_has_the_space_default(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = tmp_path / "My notes"
    (folder / ".git").mkdir(parents=True)
    (folder / "below").mkdir()
    assert repository.of(folder / "below").identity == repository.of(folder).identity
    assert repository.of(folder).space_ids[0] == repository.of(folder).former == "my-notes"
    assert (repository.of(Path("/")).identity, repository.of(Path("/")).space_ids) == ("", ("default", "default"))


@pytest.mark.parametrize("url", ["C:\\code\\My.Project.git", "../My.Project", "ext::sh -c x", "https://", ":", "a@:b"])
def test_a_remote_in_any_other_form_still_gives_an_identity(tmp_path, url):
    here = repository.of(cloned(tmp_path, url))
    assert here.identity
    assert SPACE_ID.fullmatch(here.space_ids[0])


def test_a_repository_is_asked_once_by_one_program_until_its_configuration_changes(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q")
    programs = []
    ask = repository.ask_git
    monkeypatch.setattr(repository, "ask_git", lambda *words, **more: programs.append(words) or ask(*words, **more))
    assert repository.of(tmp_path) == repository.of(tmp_path)
    assert len(programs) == 1
    git(tmp_path, "remote", "add", "origin", "https://forge.example/owner/name")
    assert repository.of(tmp_path).identity == "forge.example/owner/name"
    assert len(programs) == 2


def test_what_git_had_no_time_for_is_not_kept(tmp_path):
    git(tmp_path, "init", "-q")
    git(tmp_path, "remote", "add", "origin", "https://forge.example/owner/name")
    assert "forge" not in repository.of(tmp_path, lambda *_: "").identity
    assert repository.of(tmp_path).identity == "forge.example/owner/name"


@pytest.mark.parametrize("seconds", [-0.001, -1.0, -5.0])
def test_no_work_begins_when_its_time_is_over(seconds):
    moments = []
    repository.look(moments.append, seconds)
    assert moments == []
    repository.look(moments.append, 5.0)
    assert len(moments) == 1
