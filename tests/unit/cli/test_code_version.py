"""Which version of the code goes along with what an agent writes and asks: never a secret, and no command of theirs."""

import json
import os
import threading
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from live_memory.cli import code_version
from live_memory.cli.code_version import WorkTree, place_of
from live_memory.cli.init.hooks import running
from live_memory.cli.init.hooks.events import Called
from live_memory.cli.init.hooks.running import Hook
from live_memory.cli.program import Program
from livemem.text.code_version import CodeVersion
from local.front.httpd import answer_json
from tests.support.cases import each
from tests.unit.cli.init.hooks.support import FakeMemory
from tests.unit.cli.mcp.test_stdio import CALL, Upstreams, passed
from tests.unit.cli.test_repository import cloned, git

URL = "https://ann:gl-4Tulips@forge.example.org/ferry/timetable.git"
NAME = "forge.example.org/ferry/timetable"


@pytest.fixture
def unhurried(monkeypatch):
    # A machine under load needs longer than an agent waits.
    monkeypatch.setattr(code_version, "SECONDS", 20)


@pytest.fixture
def place(tmp_path, unhurried) -> Path:
    folder = cloned(tmp_path / "here", URL)
    git(folder, "symbolic-ref", "HEAD", "refs/heads/main")
    return folder


def committed(folder: Path) -> str:
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    return (folder / ".git/refs/heads/main").read_text()[:12]


def test_it_is_the_branch_and_commit_of_the_moment_and_the_remote_without_its_secrets(place):
    tree = WorkTree(place)
    before = tree.version()
    commit = committed(place)
    there = tree.version()
    git(place, "checkout", "-qb", "feature/x")
    on_branch = tree.version()
    git(place, "checkout", "-q", "--detach")

    assert before == {"repository": NAME}
    assert there == {"repository": NAME, "branch": "main", "commit": commit}
    assert on_branch == {**there, "branch": "feature/x"}
    assert tree.version() == {"repository": NAME, "commit": commit}
    assert CodeVersion(**on_branch).checked() == CodeVersion(**on_branch)


def test_a_worktree_and_a_submodule_have_their_own(place, tmp_path):
    committed(place)
    git(place, "worktree", "add", "-qb", "other", str(tmp_path / "other"))
    inner = cloned(place / "inner", "git@forge.example.org:ferry/inner.git")
    git(inner, "checkout", "-qb", "deep")
    git(inner, "commit", "-q", "--allow-empty", "-m", "one")

    assert WorkTree(tmp_path / "other").version()["branch"] == "other"
    assert WorkTree(tmp_path / "other").version()["repository"] == NAME
    assert WorkTree(inner).version()["repository"] == "forge.example.org/ferry/inner"
    assert WorkTree(inner).version()["branch"] == "deep"


def test_without_a_remote_it_is_the_folders_name_and_elsewhere_nothing(tmp_path, unhurried):
    git(tmp_path, "init", "-q", "ferry")
    (tmp_path / "plain").mkdir()

    assert WorkTree(tmp_path / "ferry").version() == {"repository": "ferry"}
    assert WorkTree(tmp_path / "plain").headers() == WorkTree(tmp_path / "gone").headers() == {}


@each(
    ("branch", "named"),
    [
        ("x`y", "x-y"),
        ("fix(auth)!", "fix-auth--"),
        ("x;y", "x-y"),
        ("b" * 201, "b" * 200),
        ("<x>", "-x-"),
        ("$(x)", "--x-"),
        ("für/x", "für/x"),
    ],
)
def test_a_branch_is_named_without_what_no_text_should_hold(branch, named, place):
    commit = committed(place)
    (place / ".git/HEAD").write_text(f"ref: refs/heads/{branch}\n")
    head = place / f".git/refs/heads/{branch}"
    head.parent.mkdir(exist_ok=True)
    head.write_text((place / ".git/refs/heads/main").read_text())

    version = WorkTree(place).version()
    assert version == {"repository": NAME, "branch": named, "commit": commit}
    assert CodeVersion(**version).checked() == CodeVersion(**version)


def test_nothing_that_a_repository_names_is_run(place, tmp_path):
    commit = committed(place)
    ran = tmp_path / "ran"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {ran}\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "alias.rev-parse"):
        git(place, "config", name, f"{'!' if 'alias' in name else ''}{script}")
    git(place, "config", "core.hooksPath", str(tmp_path))

    assert WorkTree(place).version()["commit"] == commit
    assert not ran.exists()


def test_a_git_that_takes_longer_than_an_agent_waits_tells_nothing(place, monkeypatch):
    monkeypatch.setattr(code_version, "SECONDS", 0)

    assert WorkTree(place).version() == {}


def test_a_git_that_is_late_for_the_branch_tells_no_repository_either(place, tmp_path, monkeypatch):
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(f'#!/bin/sh\ncase "$*" in *rev-parse*) exec sleep 20;; esac\nexec {which("git")} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(code_version, "SECONDS", 1)

    assert WorkTree(place).headers() == {}


def test_a_git_that_never_ends_keeps_nobody_waiting(place, monkeypatch):
    ended, awake = [], threading.Event()
    monkeypatch.setattr(code_version, "SECONDS", 0.001)
    monkeypatch.setattr(code_version, "ask_until", lambda *_: ended.append(awake.wait(20)))

    assert WorkTree(place).version() == {}
    assert place_of(place, place.parent, waits=True) == place
    assert ended == []
    awake.set()


def test_a_session_in_another_work_tree_of_its_project_works_on_that_ones_branch(place, tmp_path):
    committed(place)
    other = tmp_path / "other"
    git(place, "worktree", "add", "-qb", "feature/wt", str(other))
    stranger = cloned(tmp_path / "stranger", "git@forge.example.org:ferry/other.git")
    git(stranger, "commit", "-q", "--allow-empty", "-m", "one")
    sent = []

    class Recording(FakeMemory):
        def call(self, name, arguments):
            sent.extend(arguments.get("items", ()))
            return super().call(name, arguments)

    for number, folder in enumerate((other, stranger, place.parent, place)):
        transcript = tmp_path / f"{number}.jsonl"
        said = {"role": "user", "content": "Which store?"}
        line = {"type": "user", "uuid": f"u{number}", "sessionId": str(number), "message": said}
        transcript.write_text(json.dumps(line) + "\n")
        environ = {
            "CLAUDE_PROJECT_DIR": str(place),
            "LIVEMEM_CONFIG": "/none",
            "LIVEMEM_STATE": str(tmp_path / "state"),
            "LIVEMEM_TOKEN": "t",
            "LIVEMEM_URL": "https://memory.example.org",
        }
        memory: Any = Recording()
        program = Program(environ=environ, connect_quickly=lambda *_, memory=memory, **__: memory)
        event = {"session_id": str(number), "transcript_path": str(transcript), "cwd": str(folder)}
        called = Called("claude-code", "Stop", "demo", None, None)
        running.handle(program, called, json.dumps(event), print, [])

    assert [turn.get("branch") for turn in sent] == ["feature/wt", "main", "main", "main"]


def test_a_call_over_stdio_names_it_and_nothing_else_does(place, serve):
    committed(place)
    headers = []

    def answer(request):
        headers.append(request.header(code_version.HEADER))
        return answer_json(200, {"jsonrpc": "2.0", "id": 1, "result": {}})

    passed(Upstreams(serve(answer)), CALL, folder=place)
    passed(Upstreams(serve(answer)), {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, folder=place)

    assert json.loads(headers[0]) == WorkTree(place).version()
    assert headers[1] is None


def test_a_note_names_it_and_each_of_a_batch(desk, place, monkeypatch):
    commit = committed(place)
    monkeypatch.chdir(place)
    code = {"repository": NAME, "branch": "main", "commit": commit}
    desk.answers["append_note"] = [{"note_id": "N"}, {"items": [{"note_id": "N"}]}]

    desk.say("note", "S3 stays.")
    desk.say("note", "--batch", stdin='{"content": "a"}\n')

    one, several = (arguments for name, arguments in desk.asked if name == "append_note")
    assert {name: one.get(name) for name in code} == code
    assert {name: several["items"][0].get(name) for name in code} == code


def test_turns_of_a_session_name_it_where_they_are_said(place, tmp_path):
    commit = committed(place)
    sent = []

    class Recording(FakeMemory):
        def call(self, name, arguments):
            sent.extend(arguments.get("items", ()))
            return super().call(name, arguments)

    transcript = tmp_path / "s.jsonl"
    line = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "Which store?"}}
    transcript.write_text(json.dumps(line) + "\n")
    event = json.dumps({"session_id": "s", "transcript_path": str(transcript), "hook_event_name": "Stop"})
    for folder, where in (("one", place), ("two", tmp_path)):
        hook = Hook(lambda _: Recording(), tmp_path / folder, lambda _: None, place=where)
        hook.run("claude-code", "Stop", "demo", event)

    assert [turn.get("commit") for turn in sent] == [commit, None]
