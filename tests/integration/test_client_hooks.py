"""The hooks of clients on the real routes: what was said is in the space, the memory is at the next start."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from live_memory import Client
from live_memory.cli import local_service
from live_memory.cli.init.hooks import command
from live_memory.cli.init.hooks.events import EVENTS
from live_memory.cli.local_service import LocalService
from live_memory.cli.main import app
from live_memory.cli.mcp.upstream import Upstreams
from live_memory.cli.program import Program
from tests.support import front
from tests.support.service import Service
from tests.support.world import BOOTSTRAP_KEY


def said(role: str, text: str) -> str:
    entry = {"type": role, "message": {"role": role, "content": text}, "timestamp": "2026-11-22T10:00:00.000Z"}
    return json.dumps(entry) + "\n"


def test_what_is_said_in_a_session_is_in_the_space_and_its_memory_at_the_start_of_the_next(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEMEM_STATE", str(tmp_path / "state"))
    transcript = tmp_path / "session.jsonl"
    payload = {"session_id": "s1", "cwd": "/home/ann/ferry", "transcript_path": str(transcript)}

    def hook(event: str) -> dict[str, Any]:
        # Nobody would wait for what goes on in the background.
        here = Program(detach=lambda *_: False)
        called = ["hook", "claude-code", event, "--space", "demo"]
        done = CliRunner().invoke(app, called, input=json.dumps(payload), obj=here)
        assert (done.exit_code, done.stderr) == (0, "")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    with front.opened(service) as door:
        url = f"http://127.0.0.1:{door.port}"
        monkeypatch.setenv("LIVEMEM_URL", url)
        monkeypatch.setenv("LIVEMEM_TOKEN", BOOTSTRAP_KEY)
        with Client(url, BOOTSTRAP_KEY) as client:
            client.call("create_space", {"space_id": "demo", "description": "d"})
            client.call("append_note", {"space_id": "demo", "category": "decision", "content": "S3 alone."})

            # When a session starts, goes on, is compacted, and ends
            loaded = hook("SessionStart")
            transcript.write_text(said("user", "Why does it fail?") + said("assistant", "Kiel answers 503."))
            hook("Stop")
            hook("PreCompact")
            with transcript.open("a") as file:
                file.write(said("user", "Since when?"))
            hook("SessionEnd")

            # Then the memory was there, and each message is in one conversation of the folder, once
            assert "S3 alone." in loaded["hookSpecificOutput"]["additionalContext"]
            assert loaded["systemMessage"] == f"Live Memory: 1 decision; since yesterday 1 new. {url}"
            listed = client.call("list_conversations", {"space_id": "demo", "cwd": "/home/ann/ferry"})
            (conversation,) = listed["items"]
            where = {"space_id": "demo", "conversation_id": conversation["conversation_id"]}
            turns = client.call("list_turns", where)["items"]
            assert [(turn["user_message"], turn.get("assistant_message", "")) for turn in turns] == [
                ("Since when?", ""),
                ("Why does it fail?", "Kiel answers 503."),
            ]


def test_at_the_service_of_this_machine_notes_name_their_agent_also_when_its_token_is_no_longer_known(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given the service of this machine, and nobody who logged in
    for name in ("LIVEMEM_URL", "LIVEMEM_TOKEN", "LIVEMEM_SPACE", "LIVEMEM_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("STATE", "CONFIG", "DATA_DIR"):
        monkeypatch.setenv(f"LIVEMEM_{name}", str(tmp_path / name))
    (tmp_path / "DATA_DIR").mkdir(mode=0o700)

    def hook() -> None:
        payload = json.dumps({"session_id": "s1", "cwd": "/home/ann/ferry"})
        done = CliRunner().invoke(app, ["hook", "claude-code", "SessionStart", "--space", "ferry"], input=payload)
        assert (done.exit_code, done.stderr) == (0, "")

    with front.opened(service) as door:
        found = LocalService(1, f"http://127.0.0.1:{door.port}", BOOTSTRAP_KEY, {})
        monkeypatch.setattr(local_service, "find", lambda *_: found)
        upstreams = Upstreams(Program(), "ferry", tmp_path)

        def write(content: str) -> str:
            upstream = upstreams.get("claude-code")
            with Client(upstream.url, upstream.token) as agent:
                return str(
                    agent.call("append_note", {"space_id": "ferry", "category": "todo", "content": content})["agent"]
                )

        # When an agent writes and loads the memory, and again with a token that the service does not know
        first = write("Ask Kiel.")
        hook()
        kept = tmp_path / "DATA_DIR/agents/claude-code.token"
        unknown = "lm_" + "x" * 43
        kept.write_text(unknown)
        hook()
        upstreams.renewed(replace(upstreams.get("claude-code"), token=unknown))
        second = write("Ask Oslo.")
        with Client(found.url, BOOTSTRAP_KEY) as admin:
            # Then both notes bear its name, and each of its tokens was made once, with no more rights than it needs
            assert (first, second) == ("claude-code", "claude-code")
            made = admin.call("list_tokens", {})["items"]
            assert len(made) == 2
            assert {(one["name"], *sorted(one["permissions"])) for one in made} == {("claude-code", "read", "write")}


CLIENTS = ("claude-code", "codex", "vscode", "cursor", "cline", "gemini-cli", "opencode")
PRIVATE = "My landlord is called Aurelius."


def payload_of(client: str, event: str, folder: Path) -> str:
    """What a client gives a hook, with all words of a session."""
    transcript = folder / "session.jsonl"
    line = {
        "claude-code": {"type": "user", "uuid": "u1", "message": {"role": "user", "content": PRIVATE}},
        "codex": {"type": "response_item", "payload": {"type": "message", "role": "user", "content": PRIVATE}},
        "vscode": {"type": "user.message", "data": {"content": PRIVATE}},
        "gemini-cli": {"type": "user", "id": "u1", "content": [{"text": PRIVATE}]},
    }.get(client, {})
    transcript.write_text(json.dumps(line) + "\n")
    told = {"cwd": str(folder), "session_id": "s1", "transcript_path": str(transcript), "hook_event_name": event}
    own: dict[str, dict[str, object]] = {
        "cursor": {"cursor_version": "3.0", "prompt": PRIVATE, "text": PRIVATE},
        "opencode": {"messages": [{"id": "m1", "role": "user", "content": PRIVATE}]},
        "cline": {"clineVersion": "3", "taskId": "s1", "userPromptSubmit": {"prompt": PRIVATE}},
    }
    return json.dumps({**told, **own.get(client, {})})


@pytest.mark.parametrize("client", CLIENTS)
def test_after_no_record_the_hooks_that_stand_in_the_files_record_nothing_and_with_record_they_do_again(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    folder = tmp_path / "home/ferry"
    folder.mkdir(parents=True)
    # A hook whose time is over ends its process, which is that of the tests here.
    monkeypatch.setattr(command, "PROMPT_SECONDS", 60)
    monkeypatch.setattr(command, "SECONDS", 60)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LIVEMEM_STATE", str(tmp_path / "state"))

    def init(*options: str) -> None:
        arguments = ["init", client, "--directory", str(folder), "--yes", *options]
        done = CliRunner().invoke(app, arguments, obj=Program())
        assert done.exit_code == 0, done.output

    def run_all_hooks() -> set[str]:
        """Runs each command that stands in a file below the project; gives their events."""
        texts = [path.read_text() for path in folder.rglob("*") if path.is_file() and path.suffix != ".jsonl"]
        commands = {each for text in texts for each in re.findall(r"livemem (hook [\w-]+ \w+ --space \w+)", text)}
        # As a session goes: the end comes last.
        for called in sorted(commands, key=lambda each: ("nd" in each, "omplete" in each, "top" in each, each)):
            program = Program(detach=lambda *_: False)
            event = shlex.split(called)[2]
            done = CliRunner().invoke(app, shlex.split(called), input=payload_of(client, event, tmp_path), obj=program)
            assert done.exit_code == 0
        return {shlex.split(each)[2] for each in commands}

    with front.opened(service) as door:
        url = f"http://127.0.0.1:{door.port}"
        monkeypatch.setenv("LIVEMEM_URL", url)
        monkeypatch.setenv("LIVEMEM_TOKEN", BOOTSTRAP_KEY)
        with Client(url, BOOTSTRAP_KEY) as asked:
            for space in ("demo", "other"):
                asked.call("create_space", {"space_id": space, "description": "d"})

            def recorded() -> list[int]:
                spaces = ("demo", "other")
                return [len(asked.call("list_conversations", {"space_id": one})["items"]) for one in spaces]

            # Given hooks that record, also for another space, when they are told not to
            init("--space", "demo")
            with_record = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
            init("--space", "other")
            init("--space", "demo", "--no-record")

            # Then only those that load are there, whatever is run, and recording comes back as it was
            assert {EVENTS[client][event] for event in run_all_hooks()} <= {"load", "recall"}
            assert recorded() == [0, 0]
            init("--space", "demo")
            assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == with_record
            run_all_hooks()
            assert recorded() == [1, 0]
