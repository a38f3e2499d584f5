"""Help and completion come at once: nothing heavy is loaded for them, and nobody is asked for long."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from typer import Context
from typer.core import TyperGroup
from typer.main import get_command

from live_memory import Client
from live_memory.cli import local_service
from live_memory.cli.command_table import COMMANDS
from live_memory.cli.completion import complete_space
from live_memory.cli.main import app
from tests.support.cli_harness import CliHarness
from tests.support.scripted import problem

HEAVY = (
    "httpx",
    "pydantic",
    "tomlkit",
    "platformdirs",
    "live_memory.models",
    "live_memory.operations",
    "asyncio",
    "rich",
    "typer",
    "http.client",
    "live_memory.cli.commands.notes",
    "live_memory.cli.config",
)
ROOT = Path(__file__).resolve().parents[3]


def loaded(code: str) -> list[str]:
    """What is loaded of it in a Python of its own that has run the code."""
    told = f"import sys\n{code}\nprint([one for one in {HEAVY!r} if one in sys.modules])"
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "client")}
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, env=environ, check=True)
    return list(ast.literal_eval(done.stdout))


@pytest.mark.process
def test_the_program_starts_and_shows_its_help_without_what_only_a_request_needs():
    code = (
        "import contextlib, io\n"
        "from live_memory.cli import entry\n"
        "sys.argv = ['livemem', '--help']\n"
        "with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.suppress(SystemExit):\n"
        "    entry.main()\n"
    )
    assert loaded(code) == ["typer"]
    assert "rich" not in loaded(f"{code}import httpx\n")


@pytest.mark.process
@pytest.mark.parametrize("event", ["SessionStart", "Stop"])
def test_a_hook_loads_neither_typer_nor_httpx_nor_models(tmp_path: Path, event: str):
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text('{"type": "user", "message": {"role": "user", "content": "Why?"}}\n')
    told = {"session_id": "s", "transcript_path": str(transcript)}
    service = {"LIVEMEM_URL": "http://127.0.0.1:9", "LIVEMEM_TOKEN": "t", "LIVEMEM_STATE": str(tmp_path)}
    code = (
        "import contextlib, io, json, os, sys\n"
        "from live_memory.cli import entry\n"
        f"sys.argv = ['livemem', 'hook', 'claude-code', '{event}', '--space', 'demo']\n"
        f"sys.stdin = io.TextIOWrapper(io.BytesIO(json.dumps({told!r}).encode()))\n"
        f"os.environ |= {service!r}\n"
        "os._exit = sys.exit\n"
        "from live_memory.cli import background\n"
        "background.detach = lambda *_: False\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as log:\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        entry.main()\n"
        "assert 'no_connection' in log.getvalue(), log.getvalue()"
    )
    assert set(loaded(code)) == {"http.client", "live_memory.cli.config", "live_memory.operations"}


def test_the_table_of_commands_says_what_their_own_help_says():
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    built = {name: group.get_command(Context(group), name) for name in COMMANDS}
    for name, row in COMMANDS.items():
        assert built[name].hidden is not bool(row.panel), name
        assert not row.panel or built[name].get_short_help_str(1_000) == row.summary, name


@pytest.mark.process
def test_a_request_by_the_id_of_an_operation_waits_for_no_models():
    code = (
        "import httpx, live_memory\n"
        "answers = httpx.MockTransport(lambda _: httpx.Response(200, json={}))\n"
        "live_memory.Client('https://memory.example.org', transport=answers).call('get_space', {'space_id': 'demo'})"
    )
    assert not {"pydantic", "live_memory.models"} & set(loaded(code))


def test_help_is_there_for_every_command(desk: CliHarness):
    shown = desk.say("--help").out
    for name in ("note", "tail", "consolidate", "review", "backup", "api", "login", "export"):
        assert name in shown
        assert desk.say(name, "--help").code == 0
    assert desk.asked == []


def test_help_and_version_are_spelt_as_in_other_programs(desk: CliHarness):
    assert desk.say("-h").out == desk.say("help").out == desk.say("--help").out
    assert desk.say("note", "-h").out == desk.say("help", "note").out == desk.say("note", "--help").out
    assert desk.say("version").out == desk.say("--version").out
    assert desk.say("--version").out.startswith("livemem ")
    assert desk.say("help", "nope").code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("history --limit x", "Invalid value for '--limit' / '-n': it must be a whole number."),
        ("search q -n 0", "Invalid value for '--limit' / '-n': it must be greater than or equal to 1."),
        (
            "init",
            "Missing argument 'client'. Choose from: claude-code, cursor, cline, vscode, codex, gemini-cli, opencode.",
        ),
        ("initt", "No such command 'initt'. Did you mean 'init'?"),
        ("bank a b", "Got unexpected extra arguments (b)."),
        ("note x -c", "Option '-c' requires an argument."),
        ("tail a -s b", "Which space: a or b?"),
    ],
)
def test_wrong_usage_is_one_plain_line(desk: CliHarness, arguments: str, said: str):
    done = desk.say(*arguments.split())
    assert (done.code, done.out, desk.asked) == (2, "", [])
    (line,) = done.err.splitlines()
    assert line.partition(" More: `livemem")[0] == f"livemem: {said}"


def test_without_a_service_a_command_says_what_to_do_here(desk: CliHarness, monkeypatch: pytest.MonkeyPatch):
    desk.alone()
    monkeypatch.setattr(local_service, "is_installed", lambda: False)
    assert "`livemem init" not in desk.say("start").err
    monkeypatch.setattr(local_service, "is_installed", lambda: True)
    assert "Run `livemem init claude-code` in your project" in desk.say("start").err
    (desk.home / "data").mkdir()
    (desk.home / "data" / local_service.LOCK).touch()
    said = desk.say("start")
    assert (said.code, "does not run: `livemem serve --background`" in said.err) == (6, True)


def test_alone_the_program_says_in_six_lines_what_to_begin_with(desk: CliHarness):
    said = desk.say()
    assert (said.code, said.err, desk.asked) == (0, "", [])
    lines = said.out.splitlines()
    assert len(lines) == 6
    assert {line.split()[1] for line in lines[1:]} <= {*COMMANDS, "help"}


def test_a_wrong_choice_is_said_without_the_names_of_a_library(desk: CliHarness):
    said = desk.say("init", "nope")
    assert (said.code, "'nope' is not one of 'claude-code'" in said.err, "Value error" in said.err) == (2, True, False)


def complete(desk: CliHarness, line: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What bash is told for a line that ends where the cursor is."""
    words = line.split(" ")
    variables = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_LIVEMEM_COMPLETE": "complete_bash"}
    for name, value in {**desk.environ, **variables}.items():
        monkeypatch.setenv(name, value)
    from typer.testing import CliRunner

    done = CliRunner().invoke(app, [], prog_name="livemem", obj=desk.program())
    return done.stdout.split()


def test_spaces_are_completed_by_asking_the_service_once_and_briefly(desk: CliHarness):
    desk.answers = {"list_spaces": {"items": [{"space_id": one} for one in ("demo", "den", "other")]}}
    seen = []
    connect = desk._connect

    def noted(url: str, token: str, **given: object) -> Client:
        seen.append(given)
        return connect(url, token, **given)

    desk._connect = noted
    assert complete_space(_context(desk), "de") == ["demo", "den"]
    assert seen == [{"timeout": 1.5, "retries": 0}]


@pytest.mark.parametrize(
    "answer", [problem(503, "store_unavailable"), httpx.ConnectError("x"), "nonsense", {"items": None}, {}]
)
def test_a_service_that_does_not_answer_completes_nothing_in_silence(desk: CliHarness, answer, capsys):
    desk.answers = {"list_spaces": answer}
    assert complete_space(_context(desk), "") == []
    desk.alone()
    assert complete_space(_context(desk), "") == []
    assert capsys.readouterr() == ("", "")


def _context(desk: CliHarness):
    return get_command(app).make_context("livemem", ["note", "x"], obj=desk.program(), resilient_parsing=True)


def test_a_shell_completes_commands_and_operations(desk: CliHarness, monkeypatch: pytest.MonkeyPatch):
    assert complete(desk, "livemem conso", monkeypatch) == ["consolidate"]
    assert complete(desk, "livemem api no", monkeypatch) == ["notes"]
    assert complete(desk, "livemem api notes app", monkeypatch) == ["append"]
    assert "--category" in complete(desk, "livemem note --cat", monkeypatch)
