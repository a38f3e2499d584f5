"""The hooks of clients on the real routes: what was said is in the space, the memory is at the next start."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from live_memory import Client
from live_memory.cli.main import app
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

    def hook(event: str) -> dict[str, dict[str, str]]:
        done = CliRunner().invoke(app, ["hook", "claude-code", event, "--space", "demo"], input=json.dumps(payload))
        assert (done.exit_code, done.stderr) == (0, "")
        answer: dict[str, dict[str, str]] = json.loads(done.stdout)
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
            listed = client.call("list_conversations", {"space_id": "demo", "cwd": "/home/ann/ferry"})
            (conversation,) = listed["items"]
            where = {"space_id": "demo", "conversation_id": conversation["conversation_id"]}
            turns = client.call("list_turns", where)["items"]
            assert [(turn["user_message"], turn.get("assistant_message", "")) for turn in turns] == [
                ("Since when?", ""),
                ("Why does it fail?", "Kiel answers 503."),
            ]
