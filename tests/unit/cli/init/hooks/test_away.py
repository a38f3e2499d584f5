"""A service that gives no answer is asked again after five minutes, and at the end of a session."""

import json
import socket
import time
from pathlib import Path

import pytest

from live_memory import LiveMemoryError
from live_memory.cli.init import record
from live_memory.cli.init.hooks import running
from live_memory.cli.init.hooks.away import SECONDS, Away
from live_memory.cli.init.hooks.command import SECONDS as HOOK_SECONDS
from live_memory.cli.init.hooks.events import STARTS, Called
from live_memory.cli.program import Program
from tests.unit.cli.init.hooks.support import Machine, claude

NO_ANSWER = LiveMemoryError("no_answer", "There was no answer.")
REFUSED = LiveMemoryError("no_connection", "Nobody listens.")


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path, away=Away.of(tmp_path / "state", "https://memory.example.org", near=False))


def later(machine: Machine, seconds: float) -> None:
    now = time.time() + seconds
    machine.away = Away(machine.away.file, machine.away.near, lambda: now)


def test_a_service_without_an_answer_is_asked_by_no_further_hook_for_five_minutes_and_nothing_is_lost(machine):
    machine.memory.fail = lambda _: NO_ANSWER
    machine.hook("claude-code", "SessionStart")
    machine.memory.fail = lambda _: None
    transcript = machine.transcript(claude("user", "Tabs stay."), claude("assistant", "Yes."))

    machine.hook("claude-code", "Stop", transcript_path=transcript)
    told = machine.hook("claude-code", "SessionStart")["hookSpecificOutput"]["additionalContext"]
    assert machine.memory.calls == ["get_start"]
    assert "asked again in 5 min" in told

    later(machine, SECONDS + 1)
    machine.hook("claude-code", "Stop", transcript_path=transcript)
    assert machine.memory.said == ["Tabs stay.", "Yes."]


def test_the_end_of_a_session_is_sent_all_the_same(machine):
    machine.away.learn(NO_ANSWER)
    transcript = machine.transcript(claude("user", "Tabs stay."))
    machine.hook("claude-code", "SessionEnd", transcript_path=transcript)

    assert machine.memory.said == ["Tabs stay."]


def test_only_a_service_that_gives_no_answer_is_left_alone(tmp_path):
    def left(problem, *, near):
        away = Away.of(tmp_path, f"{problem!r}{near}", near=near)
        away.learn(problem)
        return away.seconds_left() > 0

    assert left(NO_ANSWER, near=False)
    assert left(NO_ANSWER, near=True)
    assert left(REFUSED, near=False)
    assert not left(REFUSED, near=True), "it may start at any moment"
    assert not left(LiveMemoryError("unauthorized", "No.", status=401), near=False)
    assert not left(ValueError(), near=False)


def test_a_clock_that_was_set_back_keeps_no_memory_away(machine):
    machine.away.learn(NO_ANSWER)
    later(machine, -3_600)

    assert machine.away.seconds_left() == 0
    assert not Path(machine.away.file).read_bytes()


def test_a_service_of_this_machine_that_hangs_is_looked_for_once_in_five_minutes_and_at_the_end_of_a_session(
    tmp_path, monkeypatch
):
    # Given a service whose process takes connections, and does not answer any more
    monkeypatch.setattr(running, "LOOK_SECONDS", 0.2)
    environ = {f"LIVEMEM_{name}": str(tmp_path / name) for name in ("STATE", "CONFIG", "DATA_DIR")}
    (tmp_path / "DATA_DIR").mkdir()
    transcript = tmp_path / "said.jsonl"
    transcript.write_text(json.dumps(claude("user", "Tabs stay.")) + "\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        told = {"api": f"http://127.0.0.1:{server.getsockname()[1]}", "pid": 7, "instance": "a" * 32}
        (tmp_path / "DATA_DIR/endpoints.json").write_text(json.dumps(told))

        def asked(event):
            """How often a hook asked it, and what the hook answered, and left to be done."""
            said = json.dumps({"session_id": "s", "cwd": str(tmp_path), "transcript_path": str(transcript)})
            called, later = Called("claude-code", event, "demo"), []
            answer = running.handle(Program(environ=environ), called, said, lambda _: None, later)
            connections = 0
            while True:
                try:
                    server.accept()[0].close()
                except BlockingIOError:
                    return connections, "asked again in 5 min" in answer, later
                connections += 1

        # When hooks run, then only the first one waits for it, and none starts another service
        assert [asked(event) for event in ("SessionStart", "SessionStart", "Stop", "SessionEnd")] == [
            (1, True, []),
            (0, True, []),
            (0, False, []),
            (1, False, []),
        ]
    # And what was said waits for a service that answers
    (entry,) = [json.loads(path.read_text()) for path in (tmp_path / "STATE/hooks/unsent").iterdir()]
    assert (entry["session"], entry["transcript"]) == ("s", str(transcript))


def test_a_service_that_is_late_while_the_hook_starts_it_is_not_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "LOOK_SECONDS", 0.2)
    environ = {f"LIVEMEM_{name}": str(tmp_path / name) for name in ("STATE", "CONFIG", "DATA_DIR")}
    (tmp_path / "DATA_DIR").mkdir()
    said = json.dumps({"session_id": "s", "cwd": str(tmp_path)})
    with socket.create_server(("127.0.0.1", 0)) as server:
        told = {"api": f"http://127.0.0.1:{server.getsockname()[1]}", "pid": 7, "instance": "a" * 32}
        (tmp_path / "DATA_DIR/endpoints.json").write_text(json.dumps(told))
        for later, left_alone in ((STARTS, False), (None, True)):
            called = Called("claude-code", "SessionStart", "demo", later=later)
            running.handle(Program(environ=environ), called, said, lambda _: None, [])
            found = Away.of(record.state_folder(environ) / "hooks", "", near=True)
            assert (found.seconds_left() > 0) == left_alone


def test_all_that_a_hook_waits_for_fits_into_its_own_time():
    assert running.LOOK_SECONDS + running.REQUEST_SECONDS < HOOK_SECONDS
