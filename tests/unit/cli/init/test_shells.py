"""The command of a hook means the same in each shell that a client may run it with, and never stops a session."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from live_memory.cli.init import clients
from live_memory.cli.init.hooks import answers, events
from live_memory.cli.init.hooks.command import run_hook
from live_memory.cli.init.hooks.events import EVENTS
from live_memory.cli.init.pieces import HOOK_COMMANDS, Element, JsonPiece
from live_memory.cli.init.setup import Setup
from live_memory.cli.program import Program
from tests.unit.cli.init.support import URL

FORMER = f"{HOOK_COMMANDS[1]}claude-code Stop --space demo"
SHELLS = [shell for shell in ("sh", "bash", "dash", "zsh", "fish") if shutil.which(shell)]
SPACES = st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}", fullmatch=True)


def commands(space: str, platform: str = "linux") -> list[str]:
    """All commands of hooks in files that several clients' shells may read, in order."""
    setup = Setup(space, URL, "project", Path("/p"), Path("/h"), platform, {})
    pieces = [place.piece for client in clients.CLIENTS for place in clients.fitting(client, setup).places]
    entries = [entry for piece in pieces if isinstance(piece, JsonPiece) for entry in piece.entries]
    hooks = [entry.value for entry in entries if isinstance(entry, Element) and entry.path[0] == "hooks"]
    return [one["command"] for hook in hooks for one in hook.get("hooks", [hook])]


def in_powershell(line: str) -> list[list[str]]:
    """The commands of a line, by the rules of Windows PowerShell for words without quotes."""
    code = re.split(r"(?:^|(?<=[\s;]))#", line)[0]
    assert not re.search(r"[\"'`$(){}@&|<>,%]", code), "not a plain word there"
    return [statement.split() for statement in code.split(";")]


def in_cmd(line: str) -> list[list[str]]:
    """The commands of a line that are run one if the other has failed, with the arguments that their programs get."""
    parts = line.split(" || ")
    assert not any(re.search(r"[\"^%!&|<>()\\]", part) for part in parts), "not a plain word there"
    return [part.split() for part in parts]


@settings(max_examples=50)
@given(space=SPACES)
def test_each_shell_reads_the_same_command_and_then_ends_well(space):
    found = commands(space)
    assert found == commands(space, "win32")
    # Those of the others are programs of their own.
    assert len(found) == sum(len(names) for client, names in EVENTS.items() if client not in ("cline", "opencode"))
    for command in found:
        called = command.split(" ; ")[0].split()
        assert called[:2] == ["livemem", "hook"]
        assert called[3] in EVENTS[called[2]]
        assert in_powershell(command) == [called, ["exit", "0"]]
        assert in_cmd(command) == [[*called, ";", "exit", "0", "#"], ["exit", "0"]]


@pytest.mark.parametrize("rules", [in_powershell, in_cmd])
def test_the_former_command_was_not_one_for_windows(rules):
    with pytest.raises(AssertionError, match="not a plain word"):
        rules(FORMER)


@pytest.mark.process
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("ends", [0, 1, None])
def test_a_shell_runs_the_command_with_the_input_and_ends_well_also_where_livemem_fails_or_is_missing(
    tmp_path, shell, ends
):
    if ends is not None:
        program = tmp_path / "livemem"
        program.write_text(f'#!/bin/sh\necho "$@"\nread line\necho "$line"\nexit {ends}\n')
        program.chmod(0o755)
    command = commands("demo")[0]
    done = subprocess.run(
        [str(shutil.which(shell)), "-c", command],
        env={"PATH": str(tmp_path), "HOME": os.environ.get("HOME", "/")},
        input="said\n",
        capture_output=True,
        text=True,
        check=False,
    )
    said = "hook claude-code SessionStart --space demo\nsaid\n"
    assert (done.returncode, done.stdout) == (0, "" if ends is None else said)


def test_a_hook_passes_over_what_cmd_takes_for_arguments(monkeypatch, capsys):
    left = []
    program = Program(detach=lambda arguments, text, log: bool(left.append(arguments)) or True)
    monkeypatch.setattr("live_memory.cli.init.hooks.command._read_stdin", lambda _: "{}")
    arguments = next(command for command in commands("demo") if "Stop" in command).split(" || ")[0].split()
    assert run_hook(arguments[2:], program) == 0
    assert events.in_background("claude-code", "Stop")
    assert left == [["hook", "claude-code", "Stop", "--space", "demo", "--later", "event"]]
    assert capsys.readouterr().out == answers.nothing("claude-code", "Stop") + "\n"


def test_clines_hooks_are_programs_for_sh_and_powershell_scripts_on_windows():
    setup = Setup("demo", URL, "project", Path("/p"), Path("/h"), "win32", {})
    scripts = {
        place.relative: place.piece.snippet()
        for place in clients.fitting("cline", setup).places
        if "/hooks/" in place.relative
    }
    # Not for each call of a tool: in the editor it would start a program for nothing.
    wanted = EVENTS["cline"].keys() - {"PreToolUse"}
    assert scripts.keys() == {f".clinerules/hooks/{event}.ps1" for event in wanted}
    call = "livemem hook cline TaskStart --space demo"
    assert scripts[".clinerules/hooks/TaskStart.ps1"].splitlines()[1:-1] == [
        f"if (Get-Command livemem -ErrorAction SilentlyContinue) {{ {call}; if ($LASTEXITCODE -eq 0) {{ exit 0 }} }}",
        """'{"cancel": false}'""",
        "exit 0",
    ]


def test_a_path_in_a_command_for_the_user_is_quoted_as_this_systems_shells_want_it():
    setup = Setup("demo", URL, "project", Path("/p"), Path("/h"), "win32", {})
    assert setup.quoted(Path("C:/Users/Ann Lee")) == '"C:/Users/Ann Lee"'
    posix = Setup("demo", URL, "project", Path("/p"), Path("/h"), "darwin", {})
    assert posix.quoted(Path("/Users/Ann Lee")) == "'/Users/Ann Lee'"
