"""Marks at paths that a repository has lost since the day of their line."""

import io
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli import gone_paths
from live_memory.cli.gone_paths import MOST_MARKS, marked
from live_memory.cli.init.hooks.running import Hook
from live_memory.cli.mcp.kept_answers import KeptAnswers
from live_memory.cli.mcp.stdio import Passer
from live_memory.cli.repository import ask_until
from local.front.httpd import answer_json
from tests.integration.local.support import wait_until
from tests.support.cases import each
from tests.unit.cli.init.hooks.support import FakeMemory
from tests.unit.cli.mcp.test_stdio import CALL, Upstreams, passed

NOTE = "- 2026-03-01 ann: {} holds the parser.\n"


def git(folder: Path, *arguments: str, day: str = "2026-02-01") -> None:
    own = {"HOME": str(folder), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    own |= {"GIT_COMMITTER_DATE": f"{day}T12:00:00Z", "GIT_AUTHOR_DATE": f"{day}T12:00:00Z"}
    options = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", str(folder), *options, *arguments], check=True, capture_output=True, env=own)


@pytest.fixture
def unhurried(monkeypatch):
    # A machine under load needs longer than an agent waits.
    monkeypatch.setattr(gone_paths, "SECONDS", 20)


@pytest.fixture(scope="module")
def committed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("committed")
    for name in ("old.py", "lib/a.py", "lib/b.py", "src/app.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    git(folder, "init", "-q", "--template=")
    (folder / ".git" / "info").mkdir()
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    git(folder, "rm", "-qr", "old.py", "lib")
    git(folder, "commit", "-qm", "two", day="2026-04-01")
    return folder


@pytest.fixture
def repository(tmp_path, committed, unhurried) -> Path:
    """`old.py`, `lib/a.py` and `lib/b.py` were removed on 2026-04-01, `src/app.py` is there."""
    shutil.copytree(committed, tmp_path, dirs_exist_ok=True)
    return tmp_path


@each(
    ("said", "shown"),
    [
        ("old.py", "old.py (gone)"),
        ("`old.py`", "`old.py` (gone)"),
        ("`old.py:12`", "`old.py:12` (gone)"),
        ("`lib/a.py`,", "`lib/a.py` (gone),"),
        ("`lib/`", "`lib/` (gone)"),
        ("lib/a.py and lib/b.py.", "lib/a.py (gone) and lib/b.py (gone)."),
        ("src/app.py", None),
        ("`src/new.py`", None),
        ("`lib`", None),
        ("https://example.org/old.py", None),
        ("`../old.py`", None),
        ("`/old.py`", None),
        ("`./old.py`", None),
        ("`.git/old.py`", None),
        ("`:(glob)**`", None),
        ("`*.py`", None),
        ("old.python", None),
    ],
)
def test_a_path_that_was_there_on_the_day_of_its_line_and_is_gone_is_marked(repository, said, shown):
    assert marked(NOTE.format(said), repository) == NOTE.format(shown or said)


def test_a_line_that_is_younger_than_the_removal_knows_of_it(repository):
    text = "- 2026-05-01 ann: old.py was not missed.\n"
    assert marked(text, repository) == text


def test_a_line_without_a_day_has_that_above_it_up_to_its_heading(repository):
    text = "## Parser (2026-03-01)\n\nIt is in `old.py`.\n\n## Other\n\nAs is `old.py`.\n"
    assert marked(text, repository / "src") == text.replace("`old.py`", "`old.py` (gone)", 1)


def test_an_id_names_the_day_of_its_line(repository):
    text = "- old.py is slow [20260220T140000_ann_issue_1a2b3c4d]\n"
    assert marked(text, repository) == text.replace("old.py", "old.py (gone)")


def test_an_id_of_the_memory_is_no_path(repository):
    assert marked(NOTE.format("old.py#Parser"), repository) == NOTE.format("old.py#Parser")


def test_a_file_that_was_removed_and_not_committed_is_gone(repository):
    (repository / "src" / "app.py").unlink()
    assert marked(NOTE.format("src/app.py"), repository) == NOTE.format("src/app.py (gone)")


def test_what_leads_through_a_link_is_not_looked_at(repository):
    (repository / "lib").symlink_to("/nowhere")
    assert marked(NOTE.format("lib/a.py"), repository) == NOTE.format("lib/a.py")


def test_with_a_detached_head_its_own_history_counts(repository):
    git(repository, "checkout", "-q", "--detach")
    assert marked(NOTE.format("old.py"), repository) == NOTE.format("old.py (gone)")
    git(repository, "checkout", "-q", "HEAD~1")
    assert marked(NOTE.format("old.py"), repository) == NOTE.format("old.py")


def test_in_a_submodule_its_own_paths_count(repository, tmp_path_factory):
    above = tmp_path_factory.mktemp("above")
    git(above, "init", "-q")
    git(above, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "inner")
    assert (above / "inner" / ".git").is_file()
    assert marked(NOTE.format("old.py"), above / "inner" / "src") == NOTE.format("old.py (gone)")
    assert marked(NOTE.format("old.py"), above) == NOTE.format("old.py")


def test_among_1_000_files_only_the_named_ones_are_looked_at(repository, monkeypatch):
    blob = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "HEAD:src/app.py"], check=True, capture_output=True, text=True
    ).stdout.strip()
    entries = "".join(f"100644 {blob} 0\tmany/{number % 300}/{number}.py\n" for number in range(1_000))
    command = ["git", "-C", str(repository), "update-index", "--index-info"]
    subprocess.run(command, input=entries, check=True, text=True)
    git(repository, "commit", "-qm", "many", day="2026-05-01")
    looked = []
    monkeypatch.setattr(gone_paths, "_is_missing", lambda top, path: looked.append(path) or path == "old.py")

    assert marked(NOTE.format("old.py of src/app.py"), repository) == NOTE.format("old.py (gone) of src/app.py")
    assert looked == ["old.py", "src/app.py"]


@each("prepare", [lambda folder: None, lambda folder: git(folder, "init", "-q")], ids=["no repository", "no commits"])
def test_a_folder_without_a_history_leaves_the_text_as_it_is(tmp_path, unhurried, prepare):
    prepare(tmp_path)
    assert marked(NOTE.format("old.py"), tmp_path) == NOTE.format("old.py")


def test_the_configuration_of_a_repository_runs_nothing(repository):
    trap = repository / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {repository}/sprung\n")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "gpg.program", "diff.external", "core.pager", "core.sshCommand"):
        git(repository, "config", name, str(trap))
    git(repository, "config", "log.showSignature", "true")
    assert marked(NOTE.format("old.py"), repository) == NOTE.format("old.py (gone)")
    assert not (repository / "sprung").exists()


def test_a_disk_that_hangs_costs_the_time_limit_and_a_few_threads(repository, monkeypatch):
    looks, awake = [], threading.Event()

    def hang(*_):
        looks.append(1)
        awake.wait(20)

    monkeypatch.setattr(gone_paths, "SECONDS", 0.01)
    monkeypatch.setattr(gone_paths, "_is_missing", hang)
    for _ in range(10):
        assert marked(NOTE.format("old.py"), repository) == NOTE.format("old.py")
    assert len(looks) == 4

    awake.set()
    monkeypatch.undo()
    monkeypatch.setattr(gone_paths, "SECONDS", 20)
    wait_until(lambda: "(gone)" in marked(NOTE.format("old.py"), repository), 20)


def test_a_text_gets_so_many_marks_at_most(repository):
    assert marked(NOTE.format("old.py") * 99, repository).count("(gone)") == MOST_MARKS


@given(st.text(alphabet="`./a \n2026-03#py:", max_size=300))
def test_any_text_outside_a_repository_stays_as_it_is(text):
    assert marked(text, Path("/")) == text


def test_what_an_agent_reads_over_mcp_and_at_its_start_is_marked(repository, serve, tmp_path):
    def answer(request):
        parts = [{"type": "text", "text": NOTE.format("old.py")}]
        return answer_json(200, {"jsonrpc": "2.0", "id": json.loads(request.body)["id"], "result": {"content": parts}})

    read, noted = (
        passed(Upstreams(serve(answer)), {**CALL, "params": {"name": name}}, folder=repository)
        for name in ("read", "note")
    )

    assert "(gone)" in read[0]["result"]["content"][0]["text"]
    assert "(gone)" not in noted[0]["result"]["content"][0]["text"]
    memory = FakeMemory()
    memory.call = lambda *_: {"markdown": NOTE.format("old.py")}
    hook = Hook(lambda _: memory, tmp_path / "state", print, place=repository)
    asked = json.dumps({"session_id": "s", "cwd": str(repository)})
    assert "(gone)" in hook.run("claude-code", "SessionStart", "demo", asked)


def test_what_an_agent_writes_after_it_has_read_marks_reaches_the_memory_as_it_is_but_quotes_have_no_marks(
    repository, serve
):
    bodies = []

    def answer(request):
        bodies.append(json.loads(request.body))
        parts = [{"type": "text", "text": f"{NOTE.format('`old.py`')}- a (gone), works (on linux)\n"}]
        return answer_json(200, {"jsonrpc": "2.0", "id": bodies[-1]["id"], "result": {"content": parts}})

    note = {"content": "The deploy works (on linux), `old.py` (gone) for good, as is metadata (gone)."}
    quoted = {"line": "`old.py` (gone) works (on linux)", "content": "`old.py` (gone)"}
    edit = {"edits": [quoted], "reason": "`old.py` (gone)"}
    asked = {"read": {}, "note": note, "patch_bank_file": edit}
    called = [{**CALL, "params": {"name": name, "arguments": arguments}} for name, arguments in asked.items()]
    upstreams: Any = Upstreams(serve(answer))
    output = io.BytesIO()
    passer = Passer(upstreams, KeptAnswers(Path("/none"), "full"), output, print, repository)
    for message in called:
        passer.answer(json.dumps(message).encode())

    assert b"`old.py` (gone) holds" in output.getvalue()
    assert bodies[1]["params"]["arguments"] == note
    assert bodies[2]["params"]["arguments"] == {**edit, "edits": [{**quoted, "line": "`old.py` works (on linux)"}]}


def test_a_deleted_file_of_any_name_hides_no_other(repository):
    names = ["a\x01b", "c\n//d", "\x012"]
    for name in names:
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text("x")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "three", day="2026-04-02")
    git(repository, "rm", "-q", *names)
    git(repository, "commit", "-qm", "four", day="2026-04-03")

    assert marked(NOTE.format("old.py"), repository) == NOTE.format("old.py (gone)")


def test_what_a_sparse_checkout_leaves_out_is_not_gone(repository):
    git(repository, "status")  # It is a copy: git looks whether the files are those that it knows.
    git(repository, "sparse-checkout", "set", "--no-cone", "nothing")
    assert not (repository / "src/app.py").exists()
    assert marked(NOTE.format("src/app.py"), repository) == NOTE.format("src/app.py")


def test_what_commits_removed_is_marked_also_when_git_has_no_time_for_more(repository, monkeypatch):
    def ask(until, top, *arguments):
        return "" if arguments[0] == "ls-files" and awake.wait(20) else ask_until(until, top, *arguments)

    awake = threading.Event()
    monkeypatch.setattr(gone_paths, "SECONDS", 2)
    monkeypatch.setattr(gone_paths, "ask_until", ask)
    assert marked(NOTE.format("old.py"), repository) == NOTE.format("old.py (gone)")
    awake.set()
