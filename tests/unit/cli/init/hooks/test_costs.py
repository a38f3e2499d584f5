"""What a person waits for at each hook, in counts: requests, programs, modules."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from live_memory.cli import code_version, gone_paths, repository
from live_memory.cli.init.accepted import Accepted
from live_memory.cli.init.hooks import command
from live_memory.cli.init.hooks.prompts import Asked
from live_memory.cli.program import Program
from tests.unit.cli.init.hooks.support import claude
from tests.unit.cli.init.hooks.test_prompts import PROMPT, Known, item
from tests.unit.cli.test_repository import cloned, git

URL = "http://127.0.0.2:9"
"""Nothing listens there. It is not among the addresses at which a hook starts the service of this machine."""
OF_HOOKS = "live_memory.cli.init.hooks"
OF_SENDING = {f"{OF_HOOKS}.{name}" for name in ("sending", "transcripts", "pauses", "copies")}
UNUSED = {"httpx", "pydantic", "certifi", "typer", "secrets", "live_memory.models", "live_memory.cli.init.setup"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository with a remote, whose hooks `init` wrote."""
    folder = cloned(tmp_path / "ferry", "https://forge.example.org/ferry/timetable.git")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    (folder / ".claude").mkdir()
    (folder / ".claude/settings.json").write_text('"livemem hook claude-code SessionStart --space demo"')
    Accepted(environ(folder)).keep(repository.of(folder), "claude-code", "demo")
    return folder


def environ(place: Path) -> dict[str, str]:
    here = {"LIVEMEM_STATE": str(place.parent / "state"), "LIVEMEM_CONFIG": "/none", "CLAUDE_PROJECT_DIR": str(place)}
    return {**here, "LIVEMEM_URL": URL, "LIVEMEM_TOKEN": "t"}


def told(place: Path) -> str:
    """What Claude Code tells a hook after two new messages."""
    transcript = place.parent / "transcript.jsonl"
    with transcript.open("a") as file:
        for role in ("user", "assistant"):
            file.write(json.dumps(claude(role, "Some words.")) + "\n")
    return json.dumps({"session_id": "s1", "cwd": str(place), "transcript_path": str(transcript), "prompt": PROMPT})


def test_each_hook_of_a_session_sends_the_requests_that_it_needs_and_asks_git_twice(place, monkeypatch, capsys):
    # A machine under load needs longer than an agent waits.
    for module in (code_version, gone_paths, command):
        monkeypatch.setattr(module, "SECONDS", 20)
    monkeypatch.setattr(command, "PROMPT_SECONDS", 60)
    Asked(place.parent / "state/hooks", "claude-code").allow(place, URL)
    # An id of the memory is no path of the repository.
    memory = Known({**item("The crane speaks Modbus. (2026-03-01)"), "kind": "bank", "id": "bank/crane.md#Crane"})
    programs: list[str] = []
    ask = repository.ask_git

    def counted(folder: Path, *words: str, **more: Any) -> str | None:
        programs.append(words[0])
        return ask(folder, *words, **more)

    monkeypatch.setattr(repository, "ask_git", counted)

    def connect(*_: Any, **_more: Any) -> Any:
        return memory

    program = Program(environ=environ(place), connect_quickly=connect, detach=lambda *_: False)

    def asked(event: str) -> list[str]:
        memory.calls.clear()
        programs.clear()
        # Each hook is a process of its own.
        repository._KNOWN.clear()
        monkeypatch.setattr(command, "_read_stdin", lambda _: told(place))
        assert command.run_hook(["claude-code", event, "--space", "demo"], program) == 0
        assert programs == ["remote", "rev-parse"], event
        return list(memory.calls)

    assert asked("SessionStart") == ["get_start"]
    assert asked("UserPromptSubmit") == ["load_context"]
    assert "The crane speaks Modbus." in capsys.readouterr().out
    assert asked("Stop") == ["list_conversations", "create_conversation", "append_turn"]
    assert asked("PreCompact") == ["append_turn", "close_conversation"]
    assert asked("SessionEnd") == ["append_turn", "close_conversation"]


@pytest.mark.process
@pytest.mark.parametrize(
    ("event", "unused"),
    [
        ("SessionStart", UNUSED | OF_SENDING | {f"{OF_HOOKS}.unsent", "live_memory.cli.given_lines"}),
        ("SessionEnd", UNUSED | {"live_memory.cli.gone_paths"}),
    ],
)
def test_a_hook_loads_no_module_that_it_has_no_use_for(place, event, unused):
    # The real program, which asks a service that is not there.
    call = [sys.executable, "-X", "importtime", "-m", "live_memory.cli", "hook", "claude-code", event, "-s", "demo"]
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    here = {**kept, **environ(place), "PYTHONPATH": str(Path(__file__).resolve().parents[5] / "client")}
    done = subprocess.run(call, input=told(place), env=here, capture_output=True, text=True, check=True)
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert {f"{OF_HOOKS}.running", "http.client"} <= modules
    assert not modules & unused
