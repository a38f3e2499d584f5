"""What an agent is given at its start: how much of what its next job needs is there, over HTTP and by the hook.

    .venv/bin/python -m benchmarks.given [--notes 394] [--calls 20] [--conversations FILE ...]

The first notes of `examples/build-log.jsonl` are folded by the offline LLM into a bank with the rules `standard`, 30 at
a time, as `make demo` does. Then the start is asked for at several budgets, with and without a question, beside the
summary, which has everything. What is needed are the entries of the sections Next steps, Open questions and Known
issues. `requests` are those to the store of the last call; the first call is not counted. The time of the hook is that
of the whole program `livemem hook`, interpreter and all.

`--conversations` measures besides what recorded conversations leave (lines as an import takes them, such as
`examples/conversation.ndjson`). Each goes into a space of its own, as hooks would record it. What is needed are the
decisions, todos and issues that were captured of it: nobody wrote a note.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote

from benchmarks.build_log import read_notes
from benchmarks.recall_http import repeat_import, summarise
from benchmarks.requests import SPACE, Bench, running, timed, verbs

BUDGETS = (2_000, 9_500, 20_000)
NEEDED = ("Next steps", "Open questions", "Known issues")
CAPTURED = ("decision", "todo", "issue")
QUESTION = "Why does a backup of the space fail at night?"
AT_ONCE = 30
START = f"/spaces/{SPACE}/start"


@dataclass(frozen=True)
class Given:
    """A way to get the memory, and what it gave: text, milliseconds of each call, requests of the last one."""

    name: str
    text: str
    times: Sequence[float]
    requests: Counter[str]


def fill(bench: Bench, count: int) -> int:
    """Post and fold so many notes; gives how many there were."""
    rows = read_notes()[:count]
    for start in range(0, len(rows), AT_ONCE):
        some = [
            {"category": row["category"], "content": row["content"], "tags": row.get("tags") or []}
            for row in rows[start : start + AT_ONCE]
        ]
        bench.ok("POST", f"/spaces/{SPACE}/notes", {"items": some})
        # What the last agents have noted is in no file yet.
        if len(some) == AT_ONCE:
            consolidate(bench, SPACE)
    return len(rows)


def consolidate(bench: Bench, space: str) -> None:
    """Fold the live notes of a space, until that is done."""
    queued = bench.ok("POST", f"/spaces/{space}/consolidations", {})
    while (run := bench.ok("GET", f"/jobs/{queued['job']}"))["status"] in ("queued", "running"):
        pass
    assert run["status"] == "done", run


def needed(bench: Bench) -> dict[str, list[str]]:
    """The entries of each section that is needed."""
    found: dict[str, list[str]] = {}
    for file in bench.ok("GET", f"/spaces/{SPACE}/bank?content=true")["items"]:
        for title in NEEDED:
            section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", file["content"], re.MULTILINE | re.DOTALL)
            if section:
                found[title] = [line for line in section[1].split("\n") if line.startswith("- ")]
    return found


def measured(bench: Bench, name: str, get: Callable[[], str]) -> Given:
    """Call it once, and then so often that each time counts."""
    get()
    texts, times = [], []
    for _ in range(bench.calls):
        bench.seen()
        times.append(timed(lambda: texts.append(get())))
    return Given(name, texts[-1], times, verbs(bench.seen()))


def over_http(bench: Bench, path: str) -> str:
    """The Markdown of an answer."""
    found: str = bench.ok("GET", path)["markdown"]
    return found


def by_hook(url: str, token: str) -> str:
    """What the hook of a client gives its model."""
    command = [sys.executable, "-m", "live_memory.cli", "hook", "claude-code", "SessionStart", "--space", SPACE]
    variables = {**os.environ, "LIVEMEM_URL": url, "LIVEMEM_TOKEN": token, "PYTHONPATH": "client"}
    done = subprocess.run(
        command, input=json.dumps({"session_id": "s"}), env=variables, capture_output=True, text=True, check=True
    )
    found: str = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    return found


def ways(bench: Bench, url: str, token: str) -> Iterator[Given]:
    """Each way to get the memory."""
    for budget in BUDGETS:
        yield measured(bench, f"start, {budget:,}", lambda: over_http(bench, f"{START}?max_chars={budget}"))  # noqa: B023
        asked = f"{START}?max_chars={budget}&q={quote(QUESTION)}"
        yield measured(bench, f"start, {budget:,}, with a question", lambda: over_http(bench, asked))  # noqa: B023
    yield measured(bench, "hook", lambda: by_hook(url, token))
    yield measured(
        bench, "summary", lambda: json.dumps(bench.ok("GET", f"/spaces/{SPACE}/summary"), ensure_ascii=False)
    )


def recorded(bench: Bench, file: Path, space: str) -> dict[str, list[str]]:
    """Import a conversation into a new space and let all of it be summarised; gives the captured notes by category."""
    bench.ok("POST", "/spaces", {"space_id": space, "consolidation_threshold": 0, "rules_template": "standard"})
    wanted = {"capture": "notes", "profile": "windows"}
    talk = (
        f"/spaces/{space}/conversations/{bench.ok('POST', f'/spaces/{space}/conversations', wanted)['conversation_id']}"
    )
    items = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    repeat_import(bench, f"{talk}/turns", items)
    summarise(bench, talk)
    notes = bench.ok("GET", f"/spaces/{space}/notes?limit=200")["items"]
    return {one: [note["content"] for note in notes if note["category"] == one] for one in CAPTURED}


def of_conversations(bench: Bench, files: Sequence[Path]) -> None:
    """What is given of each conversation, before and after its notes are folded."""
    for number, file in enumerate(files, 1):
        space = f"talk-{number}"
        wanted = recorded(bench, file, space)
        print(f"\n{file.name}: {sum(map(len, wanted.values()))} notes were captured.\n")
        if not any(wanted.values()):
            continue
        for state in ("live", "folded"):
            if state == "folded":
                print()
                consolidate(bench, space)
            paths = {budget: f"/spaces/{space}/start?max_chars={budget}" for budget in BUDGETS}
            found = [
                measured(bench, f"start, {budget:,}, {state}", partial(over_http, bench, path))
                for budget, path in paths.items()
            ]
            show(found, wanted)


def show(found: Iterable[Given], wanted: Mapping[str, Sequence[str]]) -> None:
    """Print the rows as they come."""
    print(f"| given | characters | {' | '.join(wanted)} | requests | p50 ms |")
    print(f"|---|---:|{'---:|' * len(wanted)}---|---:|")
    for one in found:
        shares = [f"{sum(entry in one.text for entry in entries)} of {len(entries)}" for entries in wanted.values()]
        asked = ", ".join(f"{count} {verb}" for verb, count in sorted(one.requests.items()))
        cells = [one.name, f"{len(one.text):,}", *shares, asked, f"{statistics.median(one.times):.1f}"]
        print("|", " | ".join(cells), "|", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=394)
    parser.add_argument("--calls", type=int, default=20, help="of each way")
    parser.add_argument("--conversations", type=Path, nargs="+", default=[], metavar="FILE")
    arguments = parser.parse_args()
    with running(0, arguments.calls, offline_llm=True) as bench:
        count = fill(bench, arguments.notes)
        wanted = needed(bench)
        files = bench.ok("GET", f"/spaces/{SPACE}/bank")["items"]
        # What was written just now is not kept in memory yet.
        time.sleep(3)
        print(f"{count} notes; the bank has {len(files)} files, {sum(file['size'] for file in files):,} bytes.\n")
        show(ways(bench, bench.url, bench.token), wanted)
        of_conversations(bench, arguments.conversations)


if __name__ == "__main__":
    main()
