"""Two agents on two branches of one repository see of which branch the other's knowledge is, until it is merged."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from live_memory import Client
from live_memory.cli import code_version, gone_paths
from live_memory.cli.init.hooks import command, prompts
from live_memory.cli.init.hooks.prompts import Asked
from live_memory.cli.main import app
from live_memory.cli.program import Program
from tests.support import front
from tests.support.service import Service
from tests.support.world import BOOTSTRAP_KEY, append_everything, read_prompt
from tests.unit.cli.test_repository import cloned, git

DECIDED = "The timetable parser reads kiel.csv in one pass."
MARKED = f"{DECIDED} (on feature/x)"


def test_what_was_decided_on_a_branch_says_so_elsewhere_until_it_is_merged(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A machine under load needs longer than an agent waits.
    for module in (code_version, gone_paths, command):
        monkeypatch.setattr(module, "SECONDS", 20)
    monkeypatch.setattr(prompts, "REQUEST_SECONDS", 20)
    monkeypatch.setattr(command, "PROMPT_SECONDS", 60)
    place = cloned(tmp_path / "ferry", "https://ann:secret@forge.example.org/ferry/timetable.git")
    git(place, "symbolic-ref", "HEAD", "refs/heads/main")
    git(place, "commit", "-q", "--allow-empty", "-m", "one")
    monkeypatch.chdir(place)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(place))
    monkeypatch.setenv("LIVEMEM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("LIVEMEM_SPACE", "demo")

    def livemem(*arguments: str, stdin: str = "") -> str:
        done = CliRunner().invoke(app, list(arguments), input=stdin, obj=Program(detach=lambda *_: False))
        assert done.exit_code == 0, done.stderr
        return done.stdout

    def start() -> str:
        payload = json.dumps({"session_id": "s", "cwd": str(place)})
        return livemem("hook", "claude-code", "SessionStart", "--space", "demo", stdin=payload)

    def prompt() -> str:
        sessions.append("s")
        text = "How does the timetable parser read kiel.csv?"
        payload = json.dumps({"session_id": "".join(sessions), "cwd": str(place), "prompt": text})
        return livemem("hook", "claude-code", "UserPromptSubmit", "--space", "demo", stdin=payload)

    # In the session of the start nothing comes twice.
    sessions = ["p"]
    looks: list[Callable[[], str]] = [
        start,
        prompt,
        lambda: livemem("start"),
        lambda: livemem("search", "timetable parser"),
        lambda: livemem("context", "How does the timetable parser read kiel.csv?"),
        lambda: livemem("read", "bank/log.md#Log > Log"),
    ]
    with front.opened(service) as door:
        url = f"http://127.0.0.1:{door.port}"
        monkeypatch.setenv("LIVEMEM_URL", url)
        Asked(tmp_path / "state/hooks", "claude-code").allow(place, url)
        monkeypatch.setenv("LIVEMEM_TOKEN", BOOTSTRAP_KEY)
        with Client(url, BOOTSTRAP_KEY) as client:
            client.call("create_space", {"space_id": "demo", "rules": "# Log"})
            client.call("patch_space", {"space_id": "demo", "agent_folds": True})

            # Given a note that was written on a branch
            livemem("note", "The ferry import tries three times.")
            git(place, "checkout", "-qb", "feature/x")
            git(place, "commit", "-q", "--allow-empty", "-m", "two")
            livemem("note", DECIDED, "--category", "decision")
            git(place, "checkout", "-q", "main")
            held: list[dict[str, Any]] = client.call("list_notes", {"space_id": "demo"})["items"]
            assert [(one["repository"], one["branch"]) for one in held] == [
                ("forge.example.org/ferry/timetable", "feature/x"),
                ("forge.example.org/ferry/timetable", "main"),
            ]

            # When it is read on another branch, then it says so, as a note and in the bank
            assert [MARKED in look() for look in looks[:-1]] == [True] * 5
            begun = client.call("start_consolidation", {"space_id": "demo", "by": "agent"})
            good = append_everything(read_prompt([{"content": ""}, {"content": begun["prompt"]}]))
            assert client.call("answer_job", {"job": begun["job"], "text": good})["status"] == "done"
            for look in looks:
                told = look()
                assert MARKED in told
                assert "three times. (on" not in told
                assert "(on feature/x as of" not in told

            # And no more once it is merged, nor on the branch itself
            git(place, "merge", "-q", "--no-ff", "-m", "merge", "feature/x")
            assert all(DECIDED in told and "(on" not in told for told in (look() for look in looks))
            git(place, "reset", "-q", "--hard", "HEAD~1")
            git(place, "checkout", "-q", "feature/x")
            assert all(DECIDED in told and "(on feature" not in told for told in (look() for look in looks))
