"""What readers wait for while a conversation is imported and embedded, in its space and in another one.

    .venv/bin/python -m benchmarks.after_import [--turns 5000] [--seconds 120]

It runs the service with the embedded store and the offline embedding model, and imports so many turns into one space.
From the beginning of the import on a reader asks a small space beside it. When the import has ended, another one asks
for its first turn, whose words no other turn has, and for `context`, until the turn has been found and all texts have
vectors, or the seconds have passed. Of the longest answer it prints what the service says of its cost: the requests to
the store, and the seconds in the function, which do not hold what a request waits for before it begins.
"""

import argparse
import re
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.recall_http import LINES, repeat_import
from benchmarks.requests import Bench, running, timed

BESIDE, SPACE = "beside", "imported"
QUESTION = "Where does Zebulon keep the marmalade?"
COST = re.compile(r'desc="([^"]*)", total;dur=([0-9.]+)')
PAUSE = 0.5
"""Seconds between two questions of a reader."""
SUBJECTS = ("parser", "kitchen", "oven", "garden", "bicycle", "violin", "harbour", "winter", "letter", "bridge")


@dataclass
class Asked:
    """The answers to one question, in their order: seconds each, and what was told."""

    seconds: list[float] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    costs: list[str] = field(default_factory=list)

    def ask(self, call: Callable[[], tuple[int, Any, Any]]) -> Any:
        """Call once; returns the JSON of the answer, None for an error."""
        begin = time.perf_counter()
        status, answer, headers = call()
        self.seconds.append(time.perf_counter() - begin)
        told = COST.search(headers.get("server-timing", ""))
        self.costs.append(f"{told[1]}; {float(told[2]) / 1_000:.2f} s" if told else "-")
        self.answers.append(answer if status < 400 else None)
        return self.answers[-1]

    def told(self) -> str:
        """The times, and how many were answered by meaning too."""
        failed = sum(answer is None for answer in self.answers)
        hybrid = sum(bool(answer and answer.get("ranking") == "hybrid") for answer in self.answers)
        tells = any(answer and "ranking" in answer for answer in self.answers)
        share = f"{100 * hybrid / len(self.answers):.0f} %" if tells else "-"
        return (
            f"| {len(self.seconds)} | {self.seconds[0]:.2f} | {statistics.median(self.seconds):.2f} "
            f"| {max(self.seconds):.2f} | {self.costs[self.seconds.index(max(self.seconds))]} | {share} | {failed} |"
        )


def turns(count: int) -> Sequence[dict[str, str]]:
    """The turns of an import. Only the first one answers the question."""
    first = {"message_id": "m0", "user_message": QUESTION, "assistant_message": "Zebulon keeps the marmalade in a hat."}
    return [
        first,
        *(
            {
                "message_id": f"m{number}",
                "user_message": f"What about the {SUBJECTS[number % 10]} number {number}? " + "It matters to us. " * 8,
                "assistant_message": f"The {SUBJECTS[number % 7]} {number} was seen to. " + "All went as planned. " * 8,
            }
            for number in range(1, count)
        ),
    ]


def prepare(bench: Bench, path: str) -> None:
    """Make the two spaces, and wait until the small one is found by meaning."""
    for space in (BESIDE, SPACE):
        new = {"space_id": space, "description": "", "consolidation_threshold": 0, "rules_template": "standard"}
        bench.ok("POST", "/spaces", new)
    for number in range(50):
        note = {"category": "observation", "content": f"The {SUBJECTS[number % 10]} has {number} parts."}
        bench.ok("POST", f"/spaces/{BESIDE}/notes", note)
    while (bench.api.call("GET", path)[1] or {}).get("unembedded", 1):
        time.sleep(PAUSE)


def bring_in(bench: Bench, count: int) -> None:
    """Import the turns."""
    talk = bench.ok("POST", f"/spaces/{SPACE}/conversations", {})["conversation_id"]
    lines = turns(count)
    for start in range(0, count, LINES):
        repeat_import(bench, f"/spaces/{SPACE}/conversations/{talk}/turns", lines[start : start + LINES])


def wait_for_all(bench: Bench, seconds: float, search: Asked, context: Asked) -> tuple[float | None, float | None]:
    """Ask until the first turn was found and all is found by meaning. Returns after how many seconds they were."""
    begin = time.perf_counter()
    q = QUESTION.rstrip("?").replace(" ", "+")
    found: float | None = None
    complete: float | None = None
    while (now := time.perf_counter() - begin) < seconds and (found is None or complete is None):
        context.ask(lambda: bench.api.call("GET", f"/spaces/{SPACE}/context?q={q}"))
        answer = search.ask(lambda: bench.api.call("GET", f"/spaces/{SPACE}/search?q={q}&scope=conversations")) or {}
        now = time.perf_counter() - begin
        if found is None and any("marmalade" in hit["snippet"] for hit in answer.get("items", [])):
            found = now
        if answer.get("ranking") == "hybrid" and not answer["unembedded"] and not answer["view"].get("unread"):
            complete = now
        time.sleep(PAUSE)
    return found, complete


def measure(bench: Bench, count: int, seconds: float) -> None:
    """Import, ask, and print."""
    small = f"/spaces/{BESIDE}/search?q=what+is+in+the+kitchen"
    prepare(bench, small)
    beside, search, context = Asked(), Asked(), Asked()
    ended = threading.Event()

    def ask_beside() -> None:
        while not ended.wait(PAUSE):
            beside.ask(lambda: bench.api.call("GET", small))

    reader = threading.Thread(target=ask_beside)
    reader.start()
    taken = timed(lambda: bring_in(bench, count)) / 1_000
    found, complete = wait_for_all(bench, seconds, search, context)
    ended.set()
    reader.join()
    print(f"{count} turns were imported in {taken:.0f} s.")
    print("| reader | answers | first s | p50 s | longest s | its cost | by meaning too | failed |")
    print("|---|---|---|---|---|---|---|---|")
    for name, asked in (("search in another space", beside), ("search of an old turn", search), ("`context`", context)):
        print(f"| {name} {asked.told()}")
    print(f"The first turn was found {_after(found)} after the import, all texts had vectors {_after(complete)} after.")


def _after(seconds: float | None) -> str:
    return "too late" if seconds is None else f"{seconds:.0f} s"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=120)
    arguments = parser.parse_args()
    with running(0, 1) as bench:
        measure(bench, arguments.turns, arguments.seconds)


if __name__ == "__main__":
    main()
