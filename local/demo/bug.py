"""`make demo`: two agents and a bug. A story in the shell: every line below a prompt is what the command printed.

Makes a space and two tokens, and plays `examples/story/notes.jsonl` with the command line `livemem`, as its users do.
The notes of each agent start a consolidation by themselves. It succeeds only if they did, the second agent was given
the first one's decision, every note is in exactly one record, and the undo of a wrong change gave back the bank byte
for byte.

Below a prompt stands what the command printed. Empty lines and the positions of a diff are left out, and what else is
left out is said in brackets.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from local import ROOT
from local.demo.stage import DemoError, Service, read_lines, show, width

SPACE, FILE = "shop", "webhook.md"
FIRST, SECOND = "ada", "ben"
THRESHOLD = 4


@dataclass(frozen=True)
class Shell:
    """Runs `livemem` for somebody, and prints the command with what it answers."""

    who: str
    token: str
    service: Service

    def run(self, *arguments: str, quiet: bool = False) -> str:
        """The output of a command. Raises DemoError if it fails."""
        # A terminal's colours would hide the text from a reader of a file.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LIVEMEM_")}
        own = {
            "LIVEMEM_URL": self.service.admin.url,
            "LIVEMEM_TOKEN": self.token,
            "LIVEMEM_SPACE": SPACE,
            "LIVEMEM_CONFIG": str(self.service.home / "none.toml"),
            "PYTHONPATH": str(ROOT / "client"),
            "COLUMNS": str(width() - 2),
        }
        done = subprocess.run(
            [sys.executable, "-m", "live_memory.cli", *arguments],
            cwd=ROOT,
            env=kept | own,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise DemoError(f"livemem {shlex.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
        if not quiet:
            self.prompt(arguments)
        return done.stdout.rstrip("\n")

    def prompt(self, arguments: Sequence[str]) -> None:
        """Print a command as its user types it."""
        line = f"{self.who}$ livemem {' '.join(_quoted(one) for one in arguments)}"
        print("\n".join(textwrap.wrap(line, width(), subsequent_indent="     ", break_on_hyphens=False)), flush=True)

    def print(self, *arguments: str) -> str:
        """The same, and print the output."""
        text = self.run(*arguments)
        _indented(text.split("\n"))
        return text


def tell(service: Service) -> None:
    """Tell it. Raises DemoError."""
    began = time.monotonic()
    _headline("A team, a space, a token for each agent")
    lead = Shell("lead", service.admin_key, service)
    lead.run("space", "create", SPACE, "--threshold", str(THRESHOLD), "--rules", "examples/story/rules.md")
    shells = {}
    for name in (FIRST, SECOND):
        token = json.loads(lead.run("token", "create", name, "-s", SPACE, "--json", quiet=True))["token"]
        lead.prompt(("token", "create", name, "-s", SPACE))
        shells[name] = Shell(name, token, service)
    ada, ben = shells[FIRST], shells[SECOND]
    notes = read_lines("story/notes.jsonl")

    _headline("Ada looks for a bug, and writes down what the team should know")
    posted = _write(ada, [note for note in notes if note["agent"] == FIRST])
    _await_change(service, 1)
    print("\nThe fourth note's put event started a consolidation: nobody asked for it.")

    _headline("Ben begins, and is given what holds")
    start = ben.run("start")
    held, synthesis, rest = start.partition("\n## Synthesis\n")
    _indented(held.strip("\n").split("\n"))
    if synthesis:
        print(f"  (then the synthesis, {len(rest)} characters)")
    decisions = [note["content"] for note in notes if note["agent"] == FIRST and note["category"] == "decision"]
    if service.offline_llm and not all(text in held for text in decisions):
        raise DemoError("The start does not hold what was decided.")
    print("\nHe finds another cause, decides, and says what he has done:")
    posted += _write(ben, [note for note in notes if note["agent"] == SECOND])
    _await_change(service, 2)
    print("\nThe second consolidation. The right cause stands below the wrong one; todo and issue have left:")
    diff = ben.run("diff", "2").split("\n")
    # Without the names of the files and positions.
    _indented([line for line in diff if not line.startswith(("---", "+++", "@@"))])

    _headline("Why should anybody believe a line? It names its notes, and these are kept")
    _sources(ben)

    _headline("The lead writes an old copy of the file over the new one. A change like any other")
    good = service.admin.bank.get_file(SPACE, FILE).content
    old = service.admin.bank.get_file(SPACE, FILE, at="1").content
    service.admin.bank.put_file(SPACE, FILE, content=old or "", reason="Tidied up")
    print(f"PUT {service.admin.url}/v1/spaces/{SPACE}/bank/{FILE}")
    lead.print("history")
    lead.print("undo", "3", "--yes")
    if service.admin.bank.get_file(SPACE, FILE).content != good:
        raise DemoError("The undo did not give back the bank.")
    print(f"{FILE} is byte for byte what it was after change 2.")

    _headline("What it cost")
    records = _account(service, posted)
    used, requests = service.admin.usage.get(space_id=SPACE, days=1).total, _requests(service)
    print(
        f"{used.runs} consolidations: {used.calls} calls of the LLM, {used.tokens:,} tokens. {requests} requests to "
        f"the API.\nAll {len(posted)} notes are in exactly one of {records} records. It took "
        f"{time.monotonic() - began:.0f} s."
    )


def _headline(text: str) -> None:
    print(f"\n── {text} ".ljust(width() + 1, "─"), flush=True)


def _quoted(argument: str) -> str:
    """An argument as a person types it: in double quotes where it needs any and has none."""
    plain = shlex.quote(argument) == argument
    return argument if plain else f'"{argument}"' if not set(argument) & set('"$`\\!') else shlex.quote(argument)


def _indented(lines: Sequence[str]) -> None:
    """Print lines of an output, the empty ones left out."""
    show((line for line in lines if line.strip(" +-")), "  ")


def _write(shell: Shell, notes: Sequence[dict[str, str]]) -> list[str]:
    """Write notes; gives their ids."""
    return [shell.run("note", note["content"], "-c", note["category"]) for note in notes]


def _await_change(service: Service, number: int) -> None:
    """Wait until put events have made a change, and no note is left."""

    def look() -> str | None:
        info, changes = service.admin.spaces.get(SPACE), service.admin.consolidations.list(SPACE).items
        done = len(changes) >= number and not (info.live and info.live.notes_count)
        return changes[0].trigger if done else None

    trigger = service.wait(look, f"Change {number} was not there, or notes were live")
    if trigger == "sweep":
        show(["(The schedule looked before the event came.)"])
    elif trigger != "threshold":
        raise DemoError(f"Change {number} was not started by an event, but by {trigger}.")


def _sources(shell: Shell) -> None:
    """Show the notes of each section, and the second agent's insight, or the first note."""
    cited = re.findall(r"\d{8}T\d{6}_\w+", shell.print("bank", FILE, "--sources"))
    if not cited:
        raise DemoError("No section names its notes.")
    shell.print("read", next((one for one in cited if f"_{SECOND}_insight_" in one), cited[0]))


def _account(service: Service, posted: Sequence[str]) -> int:
    """The number of records that the notes are in. Raises DemoError if one is not in exactly one."""
    numbers = range(1, len(service.admin.consolidations.list(SPACE).items) + 1)
    records = {n: [one.note_id for one in service.admin.consolidations.get(SPACE, str(n)).sources] for n in numbers}
    holding = [[n for n, ids in records.items() if note_id in ids] for note_id in posted]
    if any(len(places) != 1 for places in holding):
        raise DemoError(f"Not every note is in exactly one record: {holding}.")
    return len({places[0] for places in holding})


def _requests(service: Service) -> int:
    """The requests that the API has answered, as the service counts them (docs/self-hosting.md)."""
    lines = httpx.get(f"{service.admin.url}/metrics", timeout=10, trust_env=False).text.split("\n")
    return int(sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("livemem_http_requests_total{")))
