"""How long a person waits for hooks and for the command line: wall time of each, with the service of this machine up.

    .venv/bin/python -m benchmarks.hooks [--times 15]

Each row is a process of its own, as Claude Code starts it, and its median is set against `python -c pass`: the ratio
says more than milliseconds of some machine. A turn is a session in a repository, from its start to its end, and every
hook finds two new messages in the transcript. The target of each hook and of the help is 150 ms on an idle machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from benchmarks import ROOT
from live_memory.cli import local_service
from live_memory.cli.local_service import Choices

SPACE = "bench"
TARGET_MS = 150
IDLE_SECONDS = 1.0
MOST_BYTES = 1_000_000
LIVEMEM = [sys.executable, "-m", "live_memory.cli"]
GIT = (
    ("init", "-q"),
    ("remote", "add", "origin", "https://forge.example.org/harbour/crane.git"),
    ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"),
)
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")


@contextmanager
def service(home: Path, **variables: str) -> Iterator[dict[str, str]]:
    """The variables of a home in which the service runs, with a space. `variables` are the service's own.

    Compiled modules are kept, as those of an installed program are.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LIVEMEM_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    own = {"LIVEMEM_DATA_DIR": home / "data", "LIVEMEM_STATE": home / "state", "LIVEMEM_CONFIG": home / "config.toml"}
    environ = {**kept, **{name: str(path) for name, path in own.items()}, "PYTHONPATH": str(ROOT / "client")}
    environ |= variables
    local_service.start(environ, home / "data", Choices(port="0"))
    try:
        run([*LIVEMEM, "space", "create", SPACE], environ)
        yield environ
    finally:
        local_service.stop(home / "data")


def fill(home: Path, environ: dict[str, str]) -> None:
    """Some notes, of which one is about the prompt, and the hooks of a project, which is a repository."""
    for arguments in GIT:
        run(["git", "-C", str(home), *arguments], environ)
    run([*LIVEMEM, "note", "The harbour crane speaks Modbus.", "-s", SPACE], environ)
    for number in range(20):
        run([*LIVEMEM, "note", f"Note {number}: the import tries three times.", "-s", SPACE], environ)
    run([*LIVEMEM, "init", "claude-code", "-s", SPACE, "--directory", str(home), "--yes"], environ)


class Took(NamedTuple):
    """What a command took, in milliseconds, and what it said."""

    wall: float
    processor: float
    """Of the command alone, not of the service. It says what can be saved here, also on a busy machine."""
    said: str = ""
    complained: str = ""


def run(command: list[str], environ: dict[str, str], said: str = "") -> Took:
    """Run a command that must succeed."""
    # Files, because what a hook leaves in the background would hold a pipe open.
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(said.encode())
        stdin.seek(0)
        began = time.perf_counter()
        process = subprocess.Popen(command, env=environ, stdin=stdin, stdout=stdout, stderr=stderr)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        told, complained = (os.pread(file.fileno(), MOST_BYTES, 0).decode() for file in (stdout, stderr))
    return Took(wall * 1000, (used.ru_utime + used.ru_stime) * 1000, told, complained)


def hook(event: str, environ: dict[str, str], transcript: Path) -> Took:
    """Run a hook of Claude Code after two new messages. The session has the name of its transcript."""
    with transcript.open("a", encoding="utf-8") as file:
        for role in ("user", "assistant"):
            message = {"role": role, "content": f"What {role} says now, and it is a sentence or two long."}
            file.write(json.dumps({"type": role, "uuid": str(uuid4()), "message": message}) + "\n")
    told = {"session_id": transcript.stem, "cwd": str(transcript.parent), "hook_event_name": event}
    told |= {"transcript_path": str(transcript), "prompt": "Connect the harbour crane over Modbus, please."}
    return run([*LIVEMEM, "hook", "claude-code", event, "--space", SPACE], environ, json.dumps(told))


def main() -> None:
    """Measure all rows in turns, so that a busy moment of the machine meets each of them, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=15)
    times = parser.parse_args().times
    with tempfile.TemporaryDirectory() as folder, service(Path(folder)) as environ:
        fill(Path(folder), environ)
        rows: dict[str, Callable[[Path], Took]] = {
            "`python -c pass`": lambda _: run([sys.executable, "-c", "pass"], environ),
            "`livemem --help`": lambda _: run([*LIVEMEM, "--help"], environ),
            **{f"hook {event}": partial(hook, event, environ) for event in EVENTS},
            "`livemem start`": lambda _: run([*LIVEMEM, "start", "-s", SPACE], environ),
        }
        measured: dict[str, list[Took]] = {name: [] for name in rows}
        for turn in range(times + 1):
            transcript = Path(folder) / f"{uuid4()}.jsonl"
            for name, measure in rows.items():
                took = measure(transcript)
                time.sleep(IDLE_SECONDS)  # what goes on in the background would make the next one late
                if turn:  # the first one compiles, and fills the caches
                    measured[name].append(took)
    base = _median(measured["`python -c pass`"]).wall
    print("| | ms | p95 | slowest | times the base | of it its own processor time |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, found in measured.items():
        one, slowest = _median(found), max(took.wall for took in found)
        late = sorted(took.wall for took in found)[int(len(found) * 0.95)]
        print(f"| {name} | {one.wall:.0f} | {late:.0f} | {slowest:.0f} | {one.wall / base:.1f} | {one.processor:.0f} |")
    above = [name for name in rows if "start`" not in name and _median(measured[name]).wall > TARGET_MS]
    print(f"\nAbove {TARGET_MS} ms: {', '.join(above) or 'none'}.")


def _median(found: list[Took]) -> Took:
    return Took(statistics.median(one.wall for one in found), statistics.median(one.processor for one in found))


if __name__ == "__main__":
    main()
