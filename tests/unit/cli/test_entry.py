"""The program as a shell starts it: pipes that close, streams that are not there, usage errors for scripts."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from live_memory.cli import reading
from tests.support.cli_harness import CliHarness

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = [sys.executable, "-m", "live_memory.cli"]


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("LIVEMEM_")}
    return {**own, "PYTHONPATH": str(ROOT / "client"), "LIVEMEM_CONFIG": str(tmp_path / "config.toml")}


@pytest.mark.process
def test_a_reader_that_has_seen_enough_is_no_failure(environ: Mapping[str, str]):
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run([*PROGRAM, "api", "--json"], env=environ, stdout=writes, stderr=subprocess.PIPE, check=False)
    os.close(writes)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.process
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_disk_that_is_full_is_told_in_one_line(environ: Mapping[str, str]):
    with Path("/dev/full").open("wb") as full:
        # As people run it: Python keeps what is written until the end, or sends it at once.
        buffered = {name: value for name, value in environ.items() if name != "PYTHONUNBUFFERED"}
        for told in (buffered, buffered | {"PYTHONUNBUFFERED": "1"}):
            done = subprocess.run([*PROGRAM, "config"], env=told, stdout=full, stderr=subprocess.PIPE, check=False)
            assert done.returncode == 1
            assert done.stderr.splitlines() == [b"livemem: No space left on device."]


@pytest.mark.process
def test_streams_that_are_closed_break_nothing(environ: Mapping[str, str]):
    line = '"$@" <&- >&- 2>&-'
    # A program that breaks ends with another code.
    assert subprocess.run(["sh", "-c", line, "sh", *PROGRAM, "note"], env=environ, check=False).returncode == 2


@pytest.mark.process
def test_ctrl_c_while_the_program_still_loads_is_quiet(environ: Mapping[str, str]):
    code = (
        "import builtins, os, signal\n"
        "from live_memory.cli import entry\n"
        "real = builtins.__import__\n"
        "def load(name, *rest, **more):\n"
        "    if name == 'live_memory.cli.main':\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest, **more)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "builtins.__import__ = load\n"
        "entry.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, b"", b"")


@pytest.mark.parametrize("arguments", [("nope",), ("diff", "abc"), ("diff",), ("show", "--nope"), ("api", "nope")])
def test_with_json_wrong_usage_is_a_document_too(desk: CliHarness, arguments: tuple[str, ...]):
    said = desk.say(*arguments, "--json")
    told = json.loads(said.err)
    assert (said.code, said.out, told["code"]) == (2, "", "usage")
    assert told["detail"]


@pytest.mark.process
@pytest.mark.parametrize("arguments", [(), ("claude-code",), ("claude-code", "Stop", "--of-a-later-version")])
def test_a_hook_that_this_version_does_not_know_blocks_no_client(
    environ: Mapping[str, str], arguments: tuple[str, ...]
):
    done = subprocess.run([*PROGRAM, "hook", *arguments], env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"livemem: ")


def test_a_stdin_that_never_ends_is_not_read_for_ever(desk: CliHarness, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 1 << 20)
    said = desk.say("note", stdin="x" * ((1 << 20) + 1))
    assert (said.code, desk.asked) == (2, [])
    assert "more than 1 MiB" in said.err
