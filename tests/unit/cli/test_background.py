"""The client goes on while what was said is sent; the end of the session waits for it."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from live_memory.cli import background
from live_memory.cli.init.hooks import events
from live_memory.cli.init.hooks.events import EVENTS
from local.front.httpd import Server, answer_json
from tests.unit.cli.init.hooks.support import claude

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=["here", "elsewhere"])
def slow(tmp_path, request):
    """A service that answers when it is allowed to, and hooks on this system or on one without a fork."""
    paths = [ROOT / "client", *([ROOT / "tests/support/elsewhere"] if request.param == "elsewhere" else [])]
    return Slow(tmp_path, os.pathsep.join(map(str, paths)))


class Slow:
    def __init__(self, home, paths):
        self.home, self.paths = home, paths
        self.reached, self.may_answer, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.asked, self.said = [], []
        self.server = Server("127.0.0.1", 0, self._answer, max_body=10**6)
        self.server.start()
        self.transcript = home / "transcript.jsonl"

    def _answer(self, request):
        self.reached.set()
        assert self.may_answer.wait(30)
        self.asked.append((request.method, request.path.rpartition("/")[2]))
        if self.asked[-1][1] == "turns":
            self.said += [item["user_message"] for item in json.loads(request.body)["items"]]
        if self.asked[-1][1] == "close":
            self.ended.set()
        if request.method == "GET":
            return answer_json(200, {"items": []})
        return answer_json(200, {"conversation_id": "c", "left": 0})

    def hook(self, event, wait=True):
        with self.transcript.open("a") as file:
            file.write(json.dumps(claude("user", f"Before {event}.", uuid=event)) + "\n")
        said = json.dumps({"session_id": "s", "cwd": "/w", "transcript_path": str(self.transcript)})
        (self.home / f"{event}.json").write_text(said)
        own = {"LIVEMEM_URL": self.server.url, "LIVEMEM_TOKEN": "t", "LIVEMEM_STATE": str(self.home / "state")}
        with (self.home / f"{event}.json").open() as stdin:
            process = subprocess.Popen(
                [sys.executable, "-m", "live_memory.cli", "hook", "claude-code", event, "--space", "demo"],
                env={**os.environ, **own, "PYTHONPATH": self.paths},
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        return process if not wait else (*process.communicate(timeout=30), process.returncode)


@pytest.mark.process
def test_the_client_goes_on_before_the_service_has_answered_and_the_end_of_the_session_waits_for_what_is_sent(slow):
    # When an answer is done, the hook has ended and its pipes are closed though the service has not answered
    assert slow.hook("Stop") == (b"{}\n", b"", 0)
    assert slow.asked == []

    # And when the session ends while that is still under way
    assert slow.reached.wait(30)
    ending = slow.hook("SessionEnd", wait=False)
    slow.may_answer.set()
    told, wrong = ending.communicate(timeout=30)
    assert (b"2 turns kept" in told, wrong) == (True, b"")

    # Then all of it was sent into one conversation, which was closed
    assert slow.ended.is_set()
    assert slow.asked.count(("POST", "conversations")) == 1
    assert slow.asked[-1] == ("POST", "close")
    assert slow.said == ["Before Stop.", "Before SessionEnd."]
    slow.server.stop(grace_seconds=0)


@pytest.mark.process
def test_what_fails_in_the_background_is_in_a_log_of_its_own(slow):
    slow.server.stop(grace_seconds=0)
    assert slow.hook("Stop") == (b"{}\n", b"", 0)
    log = slow.home / "state/hooks/hooks.log"
    assert "livemem hook claude-code Stop: LiveMemoryError: no_connection" in _told(log)
    assert oct(log.stat().st_mode & 0o777) == "0o600"


def test_only_what_nobody_waits_for_goes_into_the_background():
    found = {name for client, names in EVENTS.items() for name in names if events.in_background(client, name)}
    assert found == {"Stop", "stop", "PreCompact", "preCompact", "AfterAgent"}
    assert not events.in_background("nobody", "Stop")


def test_work_that_no_process_can_be_started_for_is_done_here(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    assert not background.detach(["hook"], "text", tmp_path / "log")


@pytest.mark.process
def test_a_module_of_the_folder_that_an_agent_works_in_is_not_loaded(tmp_path, monkeypatch):
    (tmp_path / "live_memory").mkdir()
    (tmp_path / "live_memory" / "__init__.py").write_text("raise SystemExit('hostile')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "client"))
    assert background.detach(["--version"], "", tmp_path / "log")
    assert _told(tmp_path / "log").startswith("livemem ")


def _told(log):
    for _ in range(400):
        if log.exists() and log.read_text().endswith("\n"):
            break
        threading.Event().wait(0.05)
    return log.read_text()


@pytest.mark.parametrize("size", [background.MOST_LOG_BYTES, background.MOST_LOG_BYTES + 1])
def test_a_log_that_grew_long_is_begun_again(tmp_path, monkeypatch, size):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    (tmp_path / "log").write_bytes(b"x" * size)
    background.detach(["hook"], "", tmp_path / "log")
    assert (tmp_path / "log.1").exists() is (size > background.MOST_LOG_BYTES)
