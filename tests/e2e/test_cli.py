"""The command line from outside: the program itself against a running service.

Some commands and what goes on are processes of their own; all else is said to the program in this one.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import tarfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from live_memory.cli.main import app
from tests.e2e.client import Service
from tests.e2e.spaces import fresh_space
from tests.e2e.stack import ROOT, Running

PROGRAM = [sys.executable, "-m", "live_memory.cli"]
SECONDS = 60


class Shell:
    """Where commands are given, with a configuration of its own and nothing else in the environment."""

    def __init__(self, home: Path, space: str) -> None:
        keep = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        config = str(home / "config" / "config.toml")
        self.environ = {**keep, "PYTHONPATH": str(ROOT / "client"), "LIVEMEM_CONFIG": config, "LIVEMEM_SPACE": space}

    def say(self, *arguments: str, stdin: str = "", code: int = 0) -> str:
        """Give a command that must end with this code; returns its stdout."""
        done = CliRunner().invoke(app, list(arguments), input=stdin, env=self.environ)
        assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
        return done.stdout

    def start(self, *arguments: str, stdin: str = "", code: int = 0) -> str:
        """The same in a process of its own."""
        done = subprocess.run(
            [*PROGRAM, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.environ,
            timeout=SECONDS * 5,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    def json(self, *arguments: str, **options: Any) -> Any:
        return json.loads(self.say(*arguments, "--json", **options))

    @contextmanager
    def follow(self, *arguments: str) -> "Iterator[Followed]":
        """Give a command that goes on; it ends with the test, also with one that fails."""
        with subprocess.Popen(
            [*PROGRAM, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env=self.environ,
            preexec_fn=_heed_interrupts,  # noqa: PLW1509 - it takes no lock
        ) as process:
            try:
                yield Followed(process)
            finally:
                process.kill()


def _heed_interrupts() -> None:
    """Who was started in the background ignores them, and so does whatever it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Followed:
    """A command that goes on, and its lines as they come."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line)
        self._lines.put(None)

    def told(self) -> dict[str, Any]:
        """The next line, as JSON."""
        line = self._lines.get(timeout=SECONDS)
        assert line, "it has ended"
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> tuple[int, list[str]]:
        """Interrupt it; how it ends, and what it says until then."""
        self._process.send_signal(signal.SIGINT)
        status = self._process.wait(SECONDS)
        rest = iter(lambda: self._lines.get(timeout=SECONDS), None)
        return status, [line for line in rest if line]


@pytest.fixture
def shell(running: Running, service: Service, tmp_path: Path) -> Iterator[Shell]:
    with fresh_space(service, 0) as space:
        shell = Shell(tmp_path, space)
        shell.say("login", "--url", running.url, stdin=running.token)
        yield shell


def test_a_day_at_the_command_line(shell: Shell):
    assert "admin" in json.loads(shell.start("whoami", "--json"))["permissions"]
    first = shell.say("note", "We keep S3 as the only store.", "-c", "decision").strip()
    shell.start("note", "-c", "issue", stdin="The parser drops tabs.\n")
    assert "The parser drops tabs." in shell.say("show")

    assert shell.json("consolidate", "--wait")["status"] == "done"
    shell.start("consolidate", "--wait", code=7)
    (change,) = shell.json("history")["items"]
    diff = shell.say("diff", str(change["number"]))
    assert "+" in diff
    assert "S3 as the only store" in diff
    assert shell.json("api", "notes", "get", "--note-id", first)["status"] == "consolidated"
    path = next(one["path"] for one in shell.json("diff", "1")["changes"] if "S3 as" in one["diff"])
    assert first in shell.say("bank", path, "--sources")
    assert "S3" in shell.say("search", "which store")
    assert "S3" in shell.say("ask", "Which store do we keep?")

    shell.say("undo", "1", "--yes")
    assert "The parser drops tabs." in shell.say("show")
    shell.say("bank", "nowhere.md", code=3)
    shell.say("whoami", "--profile", code=2)


def test_an_archive_comes_whole(shell: Shell, tmp_path: Path):
    note = shell.say("note", "for the archive").strip()
    file = tmp_path / "space.tar.gz"
    told = shell.json("export", "-o", str(file))
    assert told["size"] == file.stat().st_size
    with tarfile.open(file) as archive:
        assert any(note in name for name in archive.getnames())
    shell.say("export", "-o", str(file), code=5)


def test_a_backup_comes_back_under_another_name(shell: Shell):
    shell.say("note", "for the backup")
    backup = shell.say("backup", "create", "-d", "now", "--wait").strip()
    copy = f"copy-{uuid.uuid4().hex[:8]}"
    assert shell.json("backup", "restore", backup, "--as", copy, "--wait")["status"] == "done"
    assert "for the backup" in shell.say("show", copy)
    shell.say("space", "delete", copy, "--confirm", copy)
    shell.say("space", "show", copy, code=3)


def test_tail_tells_each_note_once_also_one_that_is_consolidated_at_once(shell: Shell):
    before = shell.say("note", "before").strip()
    with shell.follow("tail", "--json") as tail:
        told = [tail.told()]
        written = [before, shell.say("note", "live").strip()]
        told.append(tail.told())
        written.append(shell.say("note", "folded at once").strip())
        shell.say("consolidate", "--wait")
        written.append(shell.say("note", "last").strip())
        told += [tail.told(), tail.told()]
        assert tail.end() == (0, [])
    assert [one["note_id"] for one in told] == written


def test_a_token_is_handed_over_by_a_pipe(shell: Shell, running: Running):
    space = shell.environ["LIVEMEM_SPACE"]
    name = f"agent-{uuid.uuid4().hex[:6]}"
    token = shell.say("token", "create", name, "-s", space).strip()
    shell.say("--profile", "agent", "login", "--url", running.url, "--space", space, stdin=token)
    assert shell.json("--profile", "agent", "whoami")["name"] == name
    shell.say("--profile", "agent", "token", "list", code=4)
    found = next(one for one in shell.json("token", "list")["items"] if one["name"] == name)
    shell.say("token", "revoke", found["hash"], "--yes")
    shell.say("token", "revoke", "0" * 16, "--yes", code=3)


def test_a_plan_is_read_and_approved_by_a_person(shell: Shell):
    space = shell.environ["LIVEMEM_SPACE"]
    shell.say("review", "list", code=7)
    shell.say("space", "set", space, "--mode", "review")
    shell.say("note", "A person looks first.", "-c", "decision")
    assert "waits for approval" in shell.say("consolidate", "--wait")
    plan = shell.json("review", "show")["result"]["pending_plan"]
    assert "A person looks first." in shell.say("review", "show")
    shell.say("review", "approve", "--revision", "0" * 32, code=5)
    shell.say("review", "approve", "--revision", plan["plan_revision"])
    assert "A person looks first." in shell.say("diff", "1")

    shell.say("note", "Not this one.")
    shell.say("consolidate", "--wait")
    shell.say("review", "refuse", "--reason", "Not decided.", "--yes")
    shell.say("review", "show", code=7)
    assert "Not this one." in shell.say("show")
