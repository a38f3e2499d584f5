"""Three days of two agents with the real hooks: what each moment gives, how long a person waits, and how much of what
prompts get by themselves is about them.

    .venv/bin/python -m benchmarks.day [--project NAME ...] [--wrong]

`prompts.jsonl` has five projects of 60 notes, lines of a bank and turns, and 50 prompts for each, 100 for the last one.
40 of 100 deserve nothing: chat, commands, new subjects, and such that share common words. `right` names what is about a
prompt. The rule (evidence.clear_places) was chosen beside the first two projects, and its numbers with the third one in
view. The fourth was written by somebody who knew nothing of the rule, the fifth by somebody who had read it, before its
results were seen. Neither changed a number.

The service of one machine runs, and each hook is a process. On the first day Claude Code works, on the second Codex:
their transcripts are lines that the clients wrote, with other words. Then every second file that the notes name is
removed from the repository. On the third day both ask the labelled prompts, each in a session of its own. Tokens are
characters / 4, a day has three starts and 50 prompts. `late`: hooks that gave a prompt up. `--wrong`: name what is not
about its prompt, and the prompts that got nothing.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from benchmarks import ROOT
from benchmarks.hooks import LIVEMEM, SPACE, Took, run, service
from live_memory import Client
from live_memory.cli import local_service
from live_memory.cli.init.hooks import prompts
from tests.support.mcp_stdio import McpStdio

SET = Path(__file__).with_name("prompts.jsonl")
VECTORS = {"bundled model": {}, "by words": {"EMBEDDINGS_API_URL": "off"}}
CLIENTS = ("claude-code", "codex")
PROMPTS_A_DAY, STARTS_A_DAY, CHARACTERS_OF_TOKEN = 50, 3, 4
QUIET_SECONDS, LONGEST_SECONDS = 1.0, 120.0

RECORDED = ROOT / "tests" / "support" / "transcripts"
QUESTION = "Which berth does the ferry use?"
_PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)`")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|msg_\d+")

Row = Mapping[str, Any]
Ask = Callable[["Days", str, str], list[str]]


@dataclass(frozen=True)
class Recorded:
    """The first turn of a transcript that a client wrote, with what stands before it."""

    head: str
    turn: str
    session: str
    folder: str

    @classmethod
    def of(cls, client: str) -> "Recorded":
        """That of a client."""
        if client == "codex":
            path, first, last = RECORDED / "codex-0.171.0" / "exec.jsonl", 1, "task_complete"
        else:
            name = "315fc6aa-12c8-46fb-85a0-cc21f0a1edb6.jsonl"
            path, first, last = RECORDED / "claude-code-2.1.197" / name, 3, '"type":"assistant"'
        lines = path.read_text("utf-8").splitlines(keepends=True)
        end = next(number for number, line in enumerate(lines) if number > first and last in line) + 1
        session = re.search(r'"session_?[iI]d":"([^"]+)"', lines[0])
        folder = re.search(r'"cwd":"(/[^"]+)"', "".join(lines))
        assert session
        assert folder
        return cls(lines[0], "".join(lines[first:end]), session[1], folder[1])

    def said(self, text: str, session: str, folder: Path, moment: datetime) -> str:
        """Lines of it as those of another session."""
        named = {self.session: session}
        text = _ID.sub(lambda found: named.get(found[0]) or str(uuid5(NAMESPACE_URL, f"{moment} {found[0]}")), text)
        text = re.sub(r'("timestamp":")[^"]+', rf"\g<1>{moment:%Y-%m-%dT%H:%M:%S}.000Z", text)
        return text.replace(self.folder, str(folder))


@dataclass
class Days:
    """Three days of a project on a machine, and what was measured. `folder` is its repository."""

    home: Path
    environ: Mapping[str, str]
    client: Client
    took: dict[str, list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))
    """Of each moment the milliseconds, and the characters that a model was given."""
    late: int = 0
    run: Callable[[list[str], dict[str, str], str], Took] = run
    """How a command is run."""
    today: datetime = field(default_factory=lambda: datetime.now(UTC).replace(hour=0, minute=5, second=0))

    @property
    def folder(self) -> Path:
        """The repository."""
        return self.home / "project"

    def day(self, number: int) -> datetime:
        """When a day begins: the third one is today."""
        return self.today + timedelta(days=number - 3)

    def hook(self, client: str, event: str, session: str, **more: str) -> str:
        """Run a hook as its client does; gives what the model gets."""
        payload = {"session_id": session, "cwd": str(self.folder), "hook_event_name": event, **more}
        took = self.run([*LIVEMEM, "hook", client, event, "--space", SPACE], dict(self.environ), json.dumps(payload))
        answer = json.loads(took.said or "{}").get("hookSpecificOutput", {}).get("additionalContext", "")
        self._count(f"{event} ({client})", took, answer)
        if event == "UserPromptSubmit" and took.complained:
            self.late += 1
            for pause in (self.home / "state" / "hooks").glob("*.prompts"):
                pause.unlink()  # for a minute a late service is not asked
        return str(answer)

    def _count(self, moment: str, took: Took, answer: str) -> None:
        self.took[moment].append((took.wall, len(answer)))

    def live(self, rows: Sequence[Row]) -> None:
        """Two days of two agents in a new repository, of which every second file is gone then."""
        known = [row for row in rows if "keep" in row]
        paths = sorted({path for row in known for path in _PATH.findall(f"{row['says']} {row.get('answer')}")})
        for path in [*paths, "README.md"]:
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(path)
        self.git("init", "-q", day=1)
        self.git("add", ".", day=1)
        self.git("commit", "-qm", "All files", day=1)
        for client in CLIENTS:
            init = ["init", client, "-s", SPACE, "--directory", str(self.folder), "--yes"]
            self.run([*LIVEMEM, *init], dict(self.environ), "")
        self.work(1, CLIENTS[0], known[::2])
        self.work(2, CLIENTS[1], known[1::2])
        lines = "\n".join(f"- {row['says']}" for row in known if row["as"] == "line")
        file = {"path": "project.md", "content": f"# Project\n\n## Facts\n\n{lines}\n"}
        self.client.call("put_bank_file", {"space_id": SPACE, **file})
        if gone := paths[::2]:
            self.git("rm", "-q", *gone, day=2)
            self.git("commit", "-qm", "Some files less", day=2)

    def work(self, number: int, client: str, rows: Sequence[Row]) -> None:
        """A session of an agent: notes by the service, turns by hooks."""
        session, moment = str(uuid5(NAMESPACE_URL, f"{self.home} {number}")), self.day(number)
        recorded, path = Recorded.of(client), self.home / f"{session}.jsonl"
        path.write_text(recorded.said(recorded.head, session, self.folder, moment), "utf-8")
        more = {"transcript_path": str(path)}
        self.hook(client, "SessionStart", session, source="startup", **more)
        for row in rows:
            moment += timedelta(minutes=2)
            if row["as"] == "turn":
                self.hook(client, "UserPromptSubmit", session, prompt=row["says"], **more)
                turn = recorded.said(recorded.turn, session, self.folder, moment)
                for old, new in ((f"Answer to: {QUESTION}", row["answer"]), (QUESTION, row["says"])):
                    turn = turn.replace(old, json.dumps(new, ensure_ascii=False)[1:-1])
                with path.open("a", encoding="utf-8") as file:
                    file.write(turn)
                self.hook(client, "Stop", session, **more)
            elif row["as"] != "line":
                note = {"category": row["as"], "content": row["says"], "said_at": moment.isoformat()}
                self.client.call("append_note", {"space_id": SPACE, **note})
        self.hook(client, "SessionEnd" if client == "claude-code" else "PreCompact", session, **more)

    def call_tools(self, question: str) -> None:
        """One search by `livemem mcp`."""
        with McpStdio([*LIVEMEM, "mcp", "-s", SPACE], self.folder, self.environ) as server:
            asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "day", "version": "1"}}
            server.ask("initialize", asked)
            server.tell("notifications/initialized")
            began = time.perf_counter()
            found = server.call("search", q=question)
            self.took["tool search (MCP)"].append(((time.perf_counter() - began) * 1000, len(found)))

    def git(self, *arguments: str, day: int) -> None:
        """Run git in the repository, at noon of a day."""
        moment = f"{self.day(day):%Y-%m-%d}T12:00:00Z"
        own = {"GIT_COMMITTER_DATE": moment, "GIT_AUTHOR_DATE": moment, "GIT_CONFIG_GLOBAL": os.devnull}
        options = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
        command = ["git", "-C", str(self.folder), *options, *arguments]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **own})

    def settle(self) -> None:
        """Wait until all that was said is found, by meaning too where it can be."""
        began, quiet = time.monotonic(), 0.0
        while quiet < QUIET_SECONDS:
            assert time.monotonic() - began < LONGEST_SECONDS, "The index is not complete."
            found = self.client.call("search_space", {"space_id": SPACE, "q": "what was decided", "limit": 1})
            done = not found.get("unembedded") and not found["view"].get("unread")
            time.sleep(0.2)
            quiet = quiet + 0.2 if done else 0.0


@contextmanager
def lived(rows: Sequence[Row], **variables: str) -> Iterator[Days]:
    """The third day of a project, after two others."""
    with tempfile.TemporaryDirectory() as home, service(Path(home), **variables) as environ:
        running = local_service.ready(Path(home) / "data")
        assert running
        with Client(running.url, running.token) as client:
            days = Days(Path(home), environ, client)
            days.live(rows)
            for row in [row for row in rows if "keep" in row][-2:]:
                days.call_tools(row["says"])
            days.settle()
            yield days


def by_hook(days: Days, client: str, prompt: str) -> list[str]:
    """The lines that a prompt gets, in a session that was given nothing yet."""
    given = days.hook(client, "UserPromptSubmit", str(uuid5(NAMESPACE_URL, prompt)), prompt=prompt)
    return [line for line in given.splitlines() if line.startswith("- ")]


def by_http(days: Days, client: str, prompt: str) -> list[str]:
    """The same without a time limit."""
    del client
    question = prompts.question(prompt)
    if not question:
        return []
    asked = {"space_id": SPACE, "q": question, "max_chars": prompts.ASKED_CHARS, "clear": True}
    return prompts.lines(prompts.new(days.client.call("load_context", asked)["items"]))


def is_about(line: str, rows: Sequence[Row]) -> bool:
    """Whether a line says one of these."""
    shown = prompts.marks(line)
    return any(len(shown & prompts.marks(f"{row['says']} {row.get('answer', '')}")) >= len(shown) / 4 for row in rows)


@dataclass
class Judged:
    """What the prompts of a project got."""

    prompts: int = 0
    deserving: int = 0
    given: int = 0
    good: int = 0
    answered: int = 0
    noisy: int = 0
    characters: int = 0
    wrong: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, days: Days, rows: Sequence[Row], ask: Ask) -> "Judged":
        """Ask all prompts."""
        known, found = [row for row in rows if "keep" in row], cls()
        for number, row in enumerate(row for row in rows if "asks" in row):
            lines = ask(days, CLIENTS[number % 2], row["asks"])
            right = [one for one in known if one["keep"] in row["right"]]
            about = [line for line in lines if is_about(line, right)]
            found.prompts, found.deserving = found.prompts + 1, found.deserving + bool(right)
            found.given, found.good = found.given + len(lines), found.good + len(about)
            found.answered, found.noisy = found.answered + bool(about), found.noisy + bool(lines and not right)
            found.characters += sum(map(len, lines))
            if (lines or right) and len(about) < max(1, len(lines)):
                others = [line for line in lines if line not in about] or ["nothing"]
                found.wrong.append("\n    ".join([row["asks"], *others]))
        return found

    def row(self, name: str, days: Days, start: float) -> str:
        """The row of the table; `start`: characters of a start."""
        tokens = STARTS_A_DAY * start + PROMPTS_A_DAY * self.characters / self.prompts
        return (
            f"| {name} | {self.good / max(1, self.given):.2f} ({self.good} of {self.given}) "
            f"| {self.answered} of {self.deserving} | {self.noisy} of {self.prompts - self.deserving} "
            f"| {days.late} of {self.prompts} | {tokens / CHARACTERS_OF_TOKEN:,.0f} |"
        )


def main() -> None:
    """Live all projects with and without vectors, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--project", nargs="+")
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    rows = [json.loads(line) for line in SET.read_text("utf-8").splitlines()]
    moments: dict[str, list[tuple[float, int]]] = defaultdict(list)
    print("| project | lines about their prompt | prompts that got such a line | noise | late | tokens a day |")
    print("|---|---|---|---|---|---:|")
    for name in options.project or dict.fromkeys(row["of"] for row in rows):
        own = [row for row in rows if row["of"] == name]
        for vectors, variables in VECTORS.items():
            with lived(own, **variables) as days:
                days.late = 0
                starts = [days.hook(client, "SessionStart", f"third {client}", source="startup") for client in CLIENTS]
                judged = Judged.of(days, own, by_hook)
                if options.wrong:
                    print("\n".join(judged.wrong))
                size = statistics.mean(map(len, starts))
                print(judged.row(f"{name}, {vectors}", days, size), flush=True)
                for moment, took in days.took.items():
                    moments[moment] += took
    print("\n| moment | times | tokens, mean | ms | p95 |\n|---|---:|---:|---:|---:|")
    for moment, found in sorted(moments.items()):
        walls = sorted(wall for wall, _ in found)
        tokens = statistics.mean(chars for _, chars in found) / CHARACTERS_OF_TOKEN
        late = walls[int(len(walls) * 0.95)]
        print(f"| {moment} | {len(found)} | {tokens:,.0f} | {statistics.median(walls):.0f} | {late:.0f} |")


if __name__ == "__main__":
    main()
