import io
import json
import os
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from live_memory import Client, LiveMemoryError
from live_memory.cli import local_service
from live_memory.cli.exits import Refused
from live_memory.cli.init import record
from live_memory.cli.init.hooks import command
from live_memory.cli.init.hooks.command import run_hook
from live_memory.cli.init.hooks.pauses import Pauses
from live_memory.cli.init.hooks.prompts import Asked
from live_memory.cli.local_service import LocalService
from live_memory.cli.main import app
from live_memory.cli.mcp import repository_space
from live_memory.cli.mcp.repository_space import Settled
from live_memory.cli.program import Program
from tests.support.part import part
from tests.unit.cli.init.support import CLIENTS, URL
from tests.unit.cli.test_repository import cloned

OPTION = ("--allow-reading",)
SAID = '{"session_id": "s", "source": "startup"}'


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the commands with a home, a project and nothing else of the machine."""
    for name in (
        "LIVEMEM_URL",
        "LIVEMEM_TOKEN",
        "LIVEMEM_SPACE",
        "LIVEMEM_PROFILE",
        "CODEX_HOME",
        "CLINE_MCP_SETTINGS_PATH",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LIVEMEM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("LIVEMEM_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("LIVEMEM_DATA_DIR", str(tmp_path / "no-service"))
    monkeypatch.setattr(local_service, "is_installed", lambda: False)
    folder = tmp_path / "home/ferry"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)

    def runner(*arguments, said="", terminal=False, **environ):
        at_once: Any = partial(Client, sleep=lambda _: None)
        program = Program(is_terminal=lambda _: terminal, detach=lambda *_: False, connect=at_once)
        return CliRunner().invoke(app, list(arguments), input=said, env=environ, obj=program)

    return runner


@pytest.fixture
def project(run):
    return Path.cwd()


def wrote(project):
    return {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}


def test_init_says_where_prompts_may_go_and_no_recall_or_undo_takes_it_back(run, project, tmp_path):
    asked = Asked(tmp_path / "state" / "hooks", "claude-code")
    for options, allowed in (((), True), (("--no-recall",), False), ((), True), (("--undo",), False)):
        named = () if options == ("--undo",) else ("-s", "demo", "--url", URL)
        assert run("init", "claude-code", *named, "--yes", *options).exit_code == 0
        assert asked.allows(project, URL) is allowed
        assert not asked.allows(project, "https://thief.example.org")


@pytest.mark.parametrize("options", [("--no-recall", "-s", "demo", "--url", URL), ("--undo",)])
def test_the_no_of_a_project_counts_also_where_prompts_of_all_projects_may_go_to_the_service(
    run, project, tmp_path, options
):
    asked = Asked(tmp_path / "state" / "hooks", "claude-code")
    own = ("init", "claude-code", "--yes", "-s", "demo", "--url", URL)
    elsewhere, below = tmp_path / "elsewhere", project / "below"
    for folder in (project / ".git", elsewhere, below):
        folder.mkdir()
    assert run(*own, "--scope", "user").exit_code == 0
    assert [asked.allows(folder, URL) for folder in (project, below, elsewhere)] == [True] * 3
    assert run("init", "claude-code", "--yes", *options).exit_code in (0, 7)
    assert [asked.allows(folder, URL) for folder in (project, below, elsewhere)] == [False, False, True]
    # The nearest folder says it, and a yes after a no counts.
    assert run(*own, "--directory", str(below)).exit_code == 0
    assert [asked.allows(folder, URL) for folder in (project, below, elsewhere)] == [False, True, True]
    assert run(*own).exit_code == 0
    assert asked.allows(project, URL)


@pytest.mark.parametrize("client", CLIENTS)
def test_init_shows_each_change_writes_it_and_takes_it_back(run, project, client):
    arguments = ("init", client, "-s", "demo", "--url", URL, "--yes")
    done = run(*arguments, "--diff")
    assert done.exit_code == 0, done.output
    assert wrote(project)
    for path in wrote(project):
        assert f"+++ {path}" in done.stdout
        assert f"{path} (new)" in done.stdout
    again = run(*arguments)
    assert again.exit_code == 7
    assert f"Nothing to change: everything is written already. Chats in {client} are recorded." in again.stderr
    assert "Recorded:" in done.stderr
    assert "Recorded:" not in again.stderr
    # Neither the service nor the space is asked for again.
    back = run("init", client, "--undo", "--yes")
    assert back.exit_code == 0, back.output
    assert wrote(project) == set()
    assert run("init", client, "--undo", "--yes").exit_code == 7


@pytest.mark.parametrize("client", CLIENTS)
def test_init_says_in_ten_lines_what_it_writes_what_is_recorded_and_what_to_do_now(run, project, client):
    done = run("init", client, "-s", "demo", "--url", URL, said="y\nn\n", terminal=True)
    lines = [line for line in done.output.splitlines() if line.strip()]
    snippet = sum(line.startswith((" ", "{", "}")) for line in lines)
    assert (done.exit_code, len(lines) - snippet <= 10) == (0, True), done.output
    recorded = [line for line in lines if "--no-re" in line or "own memory" in line]
    assert all(len(line.replace(str(Path.home()), "~")) < 200 for line in recorded), recorded
    assert lines[0].startswith(f"In {project}: ")
    assert "+" not in "".join(line[:1] for line in lines)
    assert sum(line.startswith("Now: ") for line in lines) == 1
    lacking = {"claude-code": "--allow-reading", "cline": "cline_mcp_settings.json"}.get(client)
    assert lacking is None or (lines[-1].startswith("Not written: ") and lacking in lines[-1])


ENTRIES = [f"mcp__livemem__{name}" for name in ("start_session", "read", "search", "context", "poll")]


@pytest.mark.parametrize(("answer", "option", "allowed"), [("y", (), ENTRIES), ("n", (), None), ("", OPTION, ENTRIES)])
def test_the_tools_that_only_read_are_allowed_if_the_person_says_so(run, project, answer, option, allowed):
    arguments = ("init", "claude-code", "-s", "demo", "--url", URL, *option)
    done = run(*arguments, said=f"y\n{answer}\n", terminal=True)
    settings = json.loads((project / ".claude/settings.json").read_text())
    assert settings.get("permissions") == (allowed and {"allow": allowed})
    assert ("--allow-reading" in done.stderr) == (not allowed)
    # They stay without the option.
    assert run(*arguments, "--no-record", "--yes").exit_code == 0
    assert json.loads((project / ".claude/settings.json").read_text()).get("permissions") == settings.get("permissions")
    run("init", "claude-code", "--undo", "--yes")
    assert wrote(project) == set()


@pytest.mark.parametrize("edited", [False, True])
def test_permissions_that_the_person_has_already_stay_where_they_are(run, project, edited):
    text = '{"permissions": {"allow": ["Bash(ls)", "mcp__livemem__search", "mcp__livemem__search"], "deny": []}}'
    file = project / ".claude/settings.json"
    file.parent.mkdir()
    file.write_text(text)
    run("init", "claude-code", "-s", "demo", "--url", URL, "--yes", "--allow-reading")
    new = [entry for entry in ENTRIES if entry != "mcp__livemem__search"]
    allow = json.loads(text)["permissions"]["allow"]
    assert json.loads(file.read_text())["permissions"] == {"allow": [*allow, *new], "deny": []}
    if edited:
        file.write_text(file.read_text().replace("Bash(ls)", "Bash(cat)"))
    run("init", "claude-code", "--undo", "--yes")
    assert file.read_text() == (text.replace("Bash(ls)", "Bash(cat)") if edited else text)


@pytest.mark.slow
@pytest.mark.parametrize("client", part(CLIENTS, 3))
def test_what_is_recorded_where_to_and_how_to_turn_it_off_is_said_before_anybody_is_asked(run, project, client):
    done = run("init", client, "-s", "demo", "--url", URL, said="n\n", terminal=True)
    told, _, asked = done.stderr.partition("Write these changes?")

    assert asked
    for word in ("Recorded: ", f"the space demo at {URL}", "--no-record", "most, not all"):
        assert word in told
    assert not wrote(project)

    without = run("init", client, "-s", "demo", "--url", URL, "--no-record", "--dry-run")
    assert "No chat in" in without.stderr
    assert "Recorded:" not in without.stderr
    undone = run("init", client, "--undo", "--yes")
    assert "recorded" not in undone.stderr


def test_hooks_that_record_elsewhere_are_named_and_no_record_is_no_success_until_they_are_gone(run, project):
    arguments = ("init", "claude-code", "-s", "demo", "--url", URL, "--yes")
    assert run(*arguments, "--scope", "user").exit_code == 0
    by_hand = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"cd /x && livemem hook claude-code Stop"}]}]}}'
    (project / ".claude").mkdir()
    (project / ".claude/settings.local.json").write_text(by_hand)

    done = run(*arguments, "--no-record")
    assert done.exit_code == 1
    assert "No chat in" not in done.stderr
    assert f"{project}/.claude/settings.local.json (Stop): remove them there." in done.stderr
    user = f"{project.parent}/.claude/settings.json (PreCompact, Stop, SessionEnd)"
    assert f"{user}: `livemem init claude-code --scope user --no-record`." in done.stderr
    assert run(*arguments, "--no-record").exit_code == 1

    (project / ".claude/settings.local.json").unlink()
    assert run(*arguments, "--no-record", "--scope", "user").exit_code == 0
    done = run(*arguments, "--no-record")
    assert (done.exit_code, "No chat in claude-code is recorded" in done.stderr) == (7, True)


@pytest.mark.parametrize("off", ["--no-record", "--undo"])
def test_a_pause_lasts_from_the_end_of_recording_to_its_begin_unless_other_hooks_record(run, project, tmp_path, off):
    arguments = ("init", "claude-code", "-s", "demo", "--url", URL, "--yes")
    pauses = Pauses(tmp_path / "state" / "hooks")
    run(*arguments, "--scope", "user")
    run(*arguments)
    run(*arguments, off)
    assert pauses._all() == []

    run(*arguments)
    run(*arguments, off, "--scope", "user")
    run(*arguments, off)
    assert [one.until for one in pauses._all()] == [None]
    run(*arguments)
    assert all(one.until for one in pauses._all())


@pytest.mark.slow
@pytest.mark.parametrize("client", part(CLIENTS, 3))
def test_hooks_of_a_folder_above_in_the_repository_are_named_and_those_above_the_repository_not(run, project, client):
    (project / ".git").mkdir()
    inner = project / "services" / "a b"
    inner.mkdir(parents=True)
    arguments = ("init", client, "-s", "demo", "--url", URL, "--yes")
    assert run(*arguments).exit_code == 0

    done = run(*arguments, "--no-record", "--directory", str(inner))
    assert done.exit_code == 1
    assert "No chat in" not in done.stderr
    assert f"`livemem init {client} --directory {project} --no-record`." in done.stderr

    assert run(*arguments, "--no-record").exit_code == 0
    assert f"No chat in {client} is recorded" in run(*arguments, "--no-record", "--directory", str(inner)).stderr

    assert run(*arguments).exit_code == 0
    (inner / ".git").mkdir()
    assert f"No chat in {client} is recorded" in run(*arguments, "--no-record", "--directory", str(inner)).stderr


def test_a_hook_file_with_comments_still_records_after_no_record_and_that_is_said(run, project):
    arguments = ("init", "cursor", "-s", "demo", "--url", URL, "--yes")
    (project / ".cursor").mkdir()
    text = '// ours\n{"hooks": {"stop": [{"command": "livemem hook cursor stop --space demo"}]}}'
    (project / ".cursor/hooks.json").write_text(text)
    done = run(*arguments, "--no-record")
    assert done.exit_code == 1
    assert f"{project}/.cursor/hooks.json (stop): remove them there." in done.stderr


@pytest.mark.parametrize(
    ("typed", "client"),
    [("claude", "claude-code"), ("copilot", "vscode"), ("code", "vscode"), ("gemini", "gemini-cli")],
)
def test_a_client_is_known_by_what_people_call_it(run, project, typed, client):
    asked = ("--space", "demo", "--url", URL, "--dry-run", "--json")
    assert run("init", typed, *asked).stdout == run("init", client, *asked).stdout
    assert wrote(project) == set()


def test_an_undo_leaves_the_rules_that_another_client_reads_too(run, project):
    (project / "AGENTS.md").write_text("# Ferries\n")
    for client in ("codex", "opencode"):
        assert run("init", client, "--space", "demo", "--url", URL, "--yes").exit_code == 0
    assert run("init", "codex", "--undo", "--yes").exit_code == 0
    assert "start_session" in (project / "AGENTS.md").read_text()
    assert run("init", "opencode", "--undo", "--yes").exit_code == 0
    assert (project / "AGENTS.md").read_text() == "# Ferries\n"
    assert wrote(project) == {"AGENTS.md"}


def test_a_dry_run_shows_and_writes_nothing(run, project):
    done = run("init", "codex", "-s", "demo", "--url", URL, "--dry-run", "--diff")
    assert done.exit_code == 0
    assert "+[mcp_servers.livemem]" in done.stdout
    assert wrote(project) == set()


def test_where_nobody_can_be_asked_nothing_is_written(run, project):
    done = run("init", "codex", "-s", "demo", "--url", URL)
    assert done.exit_code == 2
    assert "--yes" in done.stderr
    assert wrote(project) == set()


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 7), ("\n", 7)])
def test_a_person_is_asked_first(run, project, answer, code):
    done = run("init", "codex", "-s", "demo", "--url", URL, said=answer, terminal=True)
    assert done.exit_code == code, done.output
    assert bool(wrote(project)) == (code == 0)


def test_service_and_space_may_come_from_the_environment(run, project):
    assert run("init", "codex", "--yes", LIVEMEM_URL=f"{URL}/v1/", LIVEMEM_SPACE="demo").exit_code == 0
    assert f'"{URL}/mcp?space=demo&structured=false"' in (project / ".codex/config.toml").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--url", URL),
        ("-s", "demo"),
        ("-s", "a b; rm -rf /", "--url", URL),
        ("-s", "-x", "--url", URL),
        ("-s", "demo", "--url", "ftp://x"),
        ("-s", "demo", "--url", "https://ann:secret@example.org"),
        ("-s", "demo", "--url", 'https://example.org/"\n'),
        ("-s", "demo", "--url", "https://example.org:port"),
        ("-s", "demo", "--url", URL, "--with-token"),
    ],
)
def test_what_can_not_be_written_is_refused_before_anything_is(run, project, arguments):
    done = run("init", "claude-code", "--yes", *arguments, LIVEMEM_TOKEN="lm_x")
    assert done.exit_code == 2
    assert done.stderr.strip()
    assert wrote(project) == set()


def test_the_token_is_written_for_cline_alone_and_never_shown(run, project):
    arguments = ("init", "cline", "-s", "demo", "--url", URL, "--with-token", "--yes")
    assert run(*arguments).exit_code == 4
    done = run(*arguments, LIVEMEM_TOKEN="lm_secret")
    assert done.exit_code == 0
    settings = project.parent / ".cline/data/settings/cline_mcp_settings.json"
    assert "lm_secret" in settings.read_text()
    assert "lm_secret" not in done.output
    assert "lm_secret" not in run("init", "cline", "--undo", "--yes").output
    assert not settings.exists()


def test_a_file_that_is_left_alone_comes_with_its_snippet_and_is_no_success(run, project):
    (project / ".mcp.json").write_text("{} // mine")
    done = run("init", "claude-code", "-s", "demo", "--url", URL, "--yes")
    assert done.exit_code == 1
    assert ".claude/settings.json" in wrote(project)
    assert "add this yourself" in done.stderr
    assert "livemem mcp-headers" in done.stderr
    assert (project / ".mcp.json").read_text() == "{} // mine"


def test_what_a_terminal_would_obey_in_a_file_is_not_printed(run, project):
    (project / "AGENTS.md").write_text("\x1b]0;owned\x07 \x1b[2J\n")
    done = run("init", "codex", "-s", "demo", "--url", URL, "--dry-run", "--diff")
    assert "\x1b" not in done.output
    assert "\x07" not in done.output


def test_a_token_is_not_written_for_another_service_than_its_own(run, project):
    arguments = ("init", "cline", "-s", "demo", "--url", "https://evil.example.org", "--with-token", "--yes")
    done = run(*arguments, LIVEMEM_URL=URL, LIVEMEM_TOKEN="lm_secret")
    assert done.exit_code == 2
    assert "another service" in done.stderr
    assert wrote(project) == set()


def test_programs_get_one_document_and_nothing_else(run, project):
    done = run("init", "cline", "-s", "demo", "--url", URL, "--yes", "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, done.stderr) == (0, "")
    assert {change["path"] for change in document["changes"]} == {str(project / path) for path in wrote(project)}
    (by_hand,) = document["by_hand"]
    assert "PUT-YOUR-TOKEN-HERE" in by_hand["snippet"]


# Hooks


def test_a_hook_answers_and_exits_with_0_when_nothing_is_configured(run):
    done = run("hook", "claude-code", "SessionStart", "--space", "demo", said=SAID)
    assert done.exit_code == 0
    assert "could not be loaded" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert "Which service?" in done.stderr


@pytest.fixture
def here(run, monkeypatch):
    """A service of this machine that can be started: what is started, and what it is asked."""
    started, asked = [], []
    found = LocalService(1, "http://127.0.0.1:3999", "own-key", {})
    Path(os.environ["LIVEMEM_DATA_DIR"]).mkdir()

    class Memory:
        def call(self, name, arguments):
            said = arguments["items"][0]["user_message"] if name == "append_turn" else arguments.get("title", "")
            asked.append((name, said if name == "append_turn" else said.split(" ")[0]))
            if name == "get_start" and not started:
                raise LiveMemoryError("no_connection", "Connection refused.")
            made = {"conversation_id": "c", "items": [], "markdown": "# Memory"}
            return {"token": "lm_agent"} if name == "create_token" else made

        def close(self):
            pass

    def start(_environ, _folder, choices, *_):
        started.append(choices.port)
        return found

    monkeypatch.setattr(local_service, "is_installed", lambda: True)
    monkeypatch.setattr(local_service, "is_free", lambda _: True)
    monkeypatch.setattr(local_service, "find", lambda *_: found if started else None)
    monkeypatch.setattr(local_service, "start", start)

    connect: Any = lambda *_, **__: Memory()  # noqa: E731

    def carry_out(arguments, text="", _log=None):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
            return run_hook(arguments[1:], Program(connect_quickly=connect)) == 0

    slept = []

    def hook(event, detach=carry_out, **payload):
        program = Program(
            detach=detach, connect_quickly=connect, sleep=lambda seconds: slept.append(seconds) or time.sleep(0.01)
        )
        said = json.dumps({"session_id": "s", **payload})
        done = CliRunner().invoke(app, ["hook", "claude-code", event, "--space", "demo"], input=said, obj=program)
        assert done.exit_code == 0
        return done

    return SimpleNamespace(hook=hook, carry_out=carry_out, started=started, asked=asked, slept=slept)


def test_the_hook_of_a_start_starts_the_service_of_this_machine_waits_for_it_and_gives_the_start(here):
    done = here.hook("SessionStart")
    context = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert (here.started, len(here.slept)) == ([None], 1)
    assert "is starting now" not in context
    assert "at the start of this session" in context


def test_a_session_whose_service_runs_waits_for_nothing(here):
    here.started.append(None)
    context = json.loads(here.hook("SessionStart").stdout)["hookSpecificOutput"]["additionalContext"]
    assert (here.started, here.slept) == ([None], [])
    assert [name for name, _ in here.asked if name != "create_token"] == ["get_start"]
    assert "at the start of this session" in context


def test_the_session_goes_on_without_a_service_that_starts_slowly_and_what_waits_is_sent_then(
    here, tmp_path, monkeypatch
):
    monkeypatch.setattr(command, "START_SECONDS", 0.2)
    monkeypatch.setattr(command, "PAUSE_SECONDS", 0.001)
    # Given a session that ended while the service did not run
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"type": "user", "uuid": "u", "message": {"role": "user", "content": "Why?"}}) + "\n")
    here.hook("SessionEnd", transcript_path=str(path))
    assert (here.started, here.asked) == ([], [])

    # When another one starts
    background = []
    done = here.hook("SessionStart", detach=lambda *left: background.append(left) or True, session_id="s2")

    # Then it goes on, and its model knows what to do
    context = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert "is starting now" in context
    assert "`start_session`" in context
    assert "log in" not in done.stdout + done.stderr
    assert "still starting" in done.stderr
    assert "sent the next time" not in done.stderr
    assert here.started == []
    (left,) = background
    here.carry_out(*left)
    assert here.started == [None]
    assert [name for name, _ in here.asked if name not in ("create_token", "get_start")] == [
        "list_conversations",
        "create_conversation",
        "append_turn",
        "close_conversation",
    ]


@pytest.mark.parametrize(
    ("environ", "started"),
    [
        ({"LIVEMEM_URL": "http://127.0.0.1:3999", "LIVEMEM_TOKEN": "t"}, ["3999"]),
        ({"LIVEMEM_URL": "http://localhost:3999/v1", "LIVEMEM_TOKEN": "t"}, ["3999"]),
        ({"LIVEMEM_URL": "https://memory.example.org", "LIVEMEM_TOKEN": "t"}, []),
        ({"LIVEMEM_TOKEN": "t"}, []),
    ],
)
def test_no_service_of_this_machine_is_started_in_the_place_of_another_one(here, monkeypatch, environ, started):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    done = here.hook("SessionStart")
    assert here.started == started
    assert ("could not be loaded" in done.stdout) == (not started)


def test_an_input_that_is_too_long_is_said_in_the_log_of_hooks(here, monkeypatch):
    monkeypatch.setattr(command, "MOST_BYTES", 1 << 20)
    here.hook("Stop", messages=["x" * (1 << 20)])
    log = record.state_folder(os.environ) / "hooks/hooks.log"
    assert "an input of more than 1 MiB is ignored" in log.read_text()


def test_no_other_hook_starts_it(here):
    for event in ("Stop", "PreCompact", "SessionEnd"):
        here.hook(event, transcript_path="/none")
    assert here.started == []


def test_a_service_that_can_not_be_started_is_said_in_the_log(here, monkeypatch):
    def refuse(*_):
        raise Refused("The port is taken.")

    monkeypatch.setattr(local_service, "start", refuse)
    assert "The port is taken." in here.hook("SessionStart").stderr


@pytest.mark.parametrize("option", ["--no-record", "--undo"])
def test_what_waits_to_be_sent_is_forgotten_where_nothing_is_recorded_any_more(run, project, tmp_path, option):
    service = {"LIVEMEM_URL": "http://127.0.0.1:9", "LIVEMEM_TOKEN": "t"}
    run("init", "claude-code", "-s", "demo", "--url", URL, "--yes")
    (tmp_path / "t.jsonl").write_text('{"type": "user", "message": {"role": "user", "content": "Why?"}}\n')
    payload = {"session_id": "s", "cwd": str(project), "transcript_path": str(tmp_path / "t.jsonl")}
    run("hook", "claude-code", "SessionEnd", "-s", "demo", said=json.dumps(payload), **service)
    waiting = tmp_path / "state/hooks/unsent"
    assert len(list(waiting.iterdir())) == 1
    run("init", "claude-code", "-s", "demo", "--url", URL, option, "--dry-run")
    assert waiting.exists()
    run("init", "claude-code", "-s", "demo", "--url", URL, option, "--yes")
    assert not waiting.exists()


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (("claude-code", "Stop"), {}),
        (("claude-code", "Stop", "--space", "; rm"), {}),
        (("cline", "TaskStart", "--space", "../x"), {"cancel": False}),
        (("nobody", "nothing"), {}),
    ],
)
def test_a_hook_that_is_called_wrongly_lets_the_client_go_on(run, arguments, answer):
    done = run("hook", *arguments, said=SAID)
    assert done.exit_code == 0
    assert json.loads(done.stdout) == answer


def test_a_client_that_says_too_much_is_not_listened_to(run):
    done = run("hook", "cursor", "beforeSubmitPrompt", "--space", "demo", said="x" * 9_000_000)
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"continue": True})


@pytest.mark.process
def test_a_client_that_leaves_stdin_open_gets_its_answer_and_a_clean_end(run, tmp_path):
    program = (
        "import sys; from live_memory.cli.init.hooks import command; command.SECONDS = 0.2;"
        "from live_memory.cli.entry import main; sys.argv[1:] = ['hook', 'cline', 'TaskStart', '-s', 'demo']; main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout.read() == b'{"cancel": false}\n'
        assert b"not done after" in process.stderr.read()
        assert process.wait() == 0


def test_without_a_profile_it_is_the_running_service_of_this_machine_with_the_space_of_the_project(
    run, project, monkeypatch
):
    found = LocalService(1, "http://127.0.0.1:3999", "own-key", {})
    monkeypatch.setattr(local_service, "ready", lambda _: found)
    done = run("init", "claude-code", "--yes")

    assert done.exit_code == 0, done.output
    server = json.loads((project / ".mcp.json").read_text())["mcpServers"]["livemem"]
    assert server == {"type": "stdio", "command": "livemem", "args": ["mcp", "--space", "ferry"], "alwaysLoad": True}
    assert "own-key" not in "".join(path.read_text() for path in project.rglob("*") if path.is_file())
    assert "was not made" in done.stderr, "no service is there in truth"
    assert "needs no --with-token" in run("init", "cline", "--with-token", "--yes").stderr


def test_a_service_that_does_not_run_yet_is_started_once_the_person_has_agreed_and_has_the_space(
    run, project, monkeypatch
):
    started, made = [], []
    found = LocalService(1, "http://127.0.0.1:3999", "own-key", {})
    monkeypatch.setattr(local_service, "is_installed", lambda: True)
    monkeypatch.setattr(local_service, "find", lambda *_: found if started else None)
    monkeypatch.setattr(local_service, "start", lambda *_: started.append(1) or found)

    def made_at(_service, _environ, settings, *_, **__):
        made.append(settings.space)
        return Settled("ferry-1234abcd", ("The space ferry is that of another.",))

    monkeypatch.setattr(repository_space, "of", made_at)
    shown = run("init", "codex", "--dry-run")
    assert (shown.exit_code, started, wrote(project)) == (0, [], set())
    done = run("init", "codex", "--yes")
    assert (done.exit_code, started, made) == (0, [1], [None]), done.output
    # The service knows better which space it is, and the files say so too.
    assert 'args = ["mcp", "--space", "ferry-1234abcd"]' in (project / ".codex/config.toml").read_text()
    assert "that of another" in done.stderr
    # Who is logged in uses that service, whatever else is installed.
    elsewhere = run("init", "codex", "--dry-run", "--diff", LIVEMEM_URL=URL, LIVEMEM_TOKEN="t", LIVEMEM_SPACE="x")
    assert "+bearer_token_env_var" in elsewhere.stdout
    run("init", "codex", "--undo", "--yes")
    assert wrote(project) == set()


def shared(project):
    """A project as a colleague cloned it: with files of `init`, and without a record of this machine."""
    for path in (project.parents[1] / "state").rglob("*"):
        if path.is_file():
            path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("client", part(CLIENTS, 3))
def test_one_short_command_accepts_the_space_of_a_cloned_project_also_where_everything_is_written(run, project, client):
    remote = ("--url", URL, "--yes")
    run("init", client, "--space", "beta", *remote)
    written = wrote(project)
    shared(project)
    refused = run("config", LIVEMEM_URL=URL, LIVEMEM_TOKEN="t")
    command = re.search(r"`livemem (init [a-z-]+ --space beta)`", refused.stderr)
    assert command, refused.stderr

    dry = run(*command[1].split(), "--dry-run", LIVEMEM_URL=URL, LIVEMEM_TOKEN="t")
    assert "have not accepted" in run("config", LIVEMEM_URL=URL, LIVEMEM_TOKEN="t").stderr, dry.output
    done = run(*command[1].split(), LIVEMEM_URL=URL, LIVEMEM_TOKEN="t")

    assert (done.exit_code, "The space beta is accepted for this repository" in done.stderr) == (0, True), done.output
    assert run(*command[1].split(), LIVEMEM_URL=URL, LIVEMEM_TOKEN="t").exit_code == 7
    assert wrote(project) == written
    accepted = run("config", "--json", LIVEMEM_URL=URL, LIVEMEM_TOKEN="t")
    assert json.loads(accepted.stdout)["space"] == "beta"
    run("init", client, "--undo", "--yes")
    assert json.loads(run("config", "--json", LIVEMEM_URL=URL, LIVEMEM_TOKEN="t").stdout)["space"] is None


@pytest.fixture
def hooked(run, project):
    """A cloned project, and a service for its hooks: answers by operation and space, and what was asked."""
    asked = []

    class Memory:
        def call(self, name, arguments):
            asked.append((name, arguments["space_id"]))
            if name == "get_space":
                return {"repository": "forge.example.org/ferry/timetable"}
            return {"conversation_id": "c", "items": [], "markdown": "S3 is the only store."}

    connect: Any = lambda *_, **__: Memory()  # noqa: E731

    def hook(client, event, *options, **payload):
        program = Program(detach=lambda *_: False, connect_quickly=connect)
        environ = {"LIVEMEM_URL": URL, "LIVEMEM_TOKEN": "t"}
        arguments, said = ["hook", client, event, *options], json.dumps({"session_id": "s", **payload})
        return CliRunner().invoke(app, arguments, input=said, env=environ, obj=program)

    cloned(project, "git@forge.example.org:ferry/timetable.git")
    return SimpleNamespace(hook=hook, asked=asked)


STARTS = {
    "claude-code": "SessionStart", "codex": "SessionStart", "vscode": "SessionStart", "cursor": "sessionStart",
    "cline": "TaskStart", "gemini-cli": "SessionStart", "opencode": "SessionStart",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("client", part(CLIENTS, 3))
def test_a_hook_of_a_cloned_project_loads_and_records_in_the_repositorys_own_space(
    run, project, hooked, client, tmp_path, monkeypatch
):
    run("init", client, "--space", "beta", "--url", URL, "--yes")
    (project / "src").mkdir()
    transcript = tmp_path / "t.jsonl"
    message = {"role": "user", "content": "Why?"}
    transcript.write_text(json.dumps({"type": "user", "uuid": "u", "message": message}) + "\n")
    accepted = hooked.hook(client, STARTS[client], "--space", "beta", cwd=str(project))
    assert hooked.asked == [("get_start", "beta")]
    assert "have not accepted" not in accepted.output

    shared(project)
    hooked.asked.clear()
    for folder in (project, project / "src"):
        done = hooked.hook(client, STARTS[client], "--space", "beta", cwd=str(folder))
        assert f"`livemem init {client} --space beta`. Tell the user once." in done.stdout
        assert "S3 is the only store" in done.stdout
    # Wherever the agent works by now, and however the hook says it.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project))
    hooked.hook(client, STARTS[client], "-s=beta", cwd=str(tmp_path))
    if client == "claude-code":
        hooked.hook(client, "SessionEnd", "--space", "beta", transcript_path=str(transcript), cwd=str(tmp_path))
        assert ("append_turn", "ferry-timetable") in hooked.asked
    assert {space for _, space in hooked.asked} == {"ferry-timetable"}


def test_a_hook_without_a_space_has_that_of_the_repository(run, hooked, project):
    hooked.hook("claude-code", "SessionStart", cwd=str(project))
    assert hooked.asked == [("get_space", "ferry-timetable"), ("get_start", "ferry-timetable")]
    # Beside the hooks of `init`, those of a plugin do nothing.
    for client, asked in (("codex", [("get_start", "demo")]), ("claude-code", [])):
        run("init", client, "--space", "demo", "--url", URL, "--yes")
        hooked.asked.clear()
        hooked.hook("claude-code", "SessionStart", cwd=str(project))
        assert hooked.asked == asked


def test_init_in_a_cloned_project_takes_the_repositorys_own_space_and_says_how_to_accept_the_other(
    run, project, monkeypatch
):
    run("init", "claude-code", "--space", "beta", "--url", URL, "--yes")
    shared(project)
    cloned(project, "git@forge.example.org:ferry/timetable.git")
    monkeypatch.setattr(local_service, "ready", lambda _: LocalService(1, "http://127.0.0.1:3999", "own-key", {}))
    done = run("init", "codex", "--yes")
    assert "`livemem init claude-code --space beta`" in done.stderr
    assert '"ferry-timetable"' in (project / ".codex/config.toml").read_text()
