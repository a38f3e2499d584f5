"""`make demo`: the whole product at work on this machine, on the notes that were taken while it was built.

Starts the local runtime on an empty store, posts every line of `examples/build-log.jsonl` over HTTP, lets the store's
put events start the consolidations, and at the end accounts for every note, over HTTP and from the bucket. The exit
status is 0 only if none is missing, the events started at least two consolidations, and there is a bank to read.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from live_memory import Client, models
from local.demo import stage
from local.demo.report import Progress, check_notes, describe_run, show_file, show_hits, table_of_runs
from local.demo.service import ROOT, DemoError, Service

SPACE = "demo"
NOTES = ROOT / "examples" / "build-log.jsonl"
THRESHOLD = 30
AUTOMATIC_RUNS = 2
QUESTIONS = (
    "What happens when the LLM has failed?",
    "Comment supprime-t-on un espace ?",
    "If-Match on CopyObject",
)
"""What the notes answer: in other words, in another language, by a name."""
_FOUND = 3
_INDEXING_SECONDS = 20.0
_POSTING_SECONDS = 12.0  # spread over all notes: agents do not write all at once, and one can watch
_POLL_SECONDS = 0.4
# A slow LLM must not find all notes at once: posting waits, so that there is something left for another run.
_MOST_LIVE = 2 * THRESHOLD
_FIELDS = ("timestamp", "agent", "category", "content")


@dataclass
class Demo:
    """The demo while it runs."""

    service: Service
    progress: Progress
    patience: float  # seconds to wait for consolidations
    posted: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: dict[int, dict[str, Any]] = field(default_factory=dict)  # consolidations by number
    live: int = 0

    @property
    def api(self) -> Client:
        """The API as the admin."""
        return self.service.admin

    def look(self) -> None:
        """Ask how the space is, and tell of consolidations that are new; raises DemoError if a run has failed."""
        info = self.api.spaces.get(SPACE)
        self.live = info.live.notes_count
        if info.changes > len(self.seen):
            for item in reversed(list(self.api.pages("list_consolidations", {"space_id": SPACE}))):
                if item["number"] not in self.seen:
                    self.seen[item["number"]] = item
                    self.progress.tell(describe_run(item))
        self._check_runs()

    def _check_runs(self) -> None:
        # Nothing starts a failed run again before the next note or the sweep, so waiting would not help.
        for key in self.service.bucket.keys(f"{SPACE}/_runs/"):
            run = {} if key.endswith(".plan.json") else json.loads(self.service.bucket.read(key))
            if run.get("result") == "error":
                error = run.get("error") or {}
                raise DemoError(
                    f"A consolidation ended in an error ({error.get('code')}): {error.get('detail')} "
                    "Its notes stay live."
                )

    def is_busy(self) -> bool:
        """Whether somebody holds the space's lease."""
        return bool(self.service.bucket.keys(f"{SPACE}/_lease.json"))


def main() -> int:
    """Run the demo; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m local.demo", description="The whole product at work, once.")
    parser.add_argument("--notes", type=Path, default=NOTES, help="notes, one JSON a line")
    parser.add_argument("--full", action="store_true", help="print every entry of the bank")
    options = parser.parse_args()
    began = time.monotonic()

    def show(service: Service, data: Path) -> None:
        demo = Demo(service, Progress(every=20), patience=60.0 if service.offline_llm else 1_800.0)
        _run(demo, read_notes(options.notes), data / "bank", full=options.full, began=began)

    return stage.play(show, "demo")


def read_notes(file: Path) -> list[dict[str, Any]]:
    """The notes of a file, oldest first; raises DemoError that names the line which is none."""
    try:
        lines = file.read_text("utf-8").split("\n")
    except OSError as error:
        raise DemoError(f"{file} cannot be read: {error.strerror}.") from error
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DemoError(f"{file}, line {number}, is not JSON.") from error
        if not isinstance(row, dict) or any(not isinstance(row.get(name), str) for name in _FIELDS):
            raise DemoError(f"{file}, line {number}, needs the texts {', '.join(_FIELDS)}.")
        rows.append(row)
    return sorted(rows, key=lambda row: str(row["timestamp"]))


def _run(demo: Demo, rows: Sequence[dict[str, Any]], copy: Path, *, full: bool, began: float) -> None:
    agents = sorted({row["agent"] for row in rows})
    print(f"Live Memory runs at {demo.api.url}, with its own S3 server. Notes: {len(rows)} by {', '.join(agents)}.")
    print(stage.describe_llm(demo.service))
    print(stage.describe_embeddings(demo.service))
    writers = demo.service.add_agents(agents, SPACE)
    demo.api.spaces.create(
        space_id=SPACE,
        description="The building of Live Memory, as noted by those who built it",
        rules_template="standard",
        consolidation_threshold=THRESHOLD,
    )
    print(f"Space `{SPACE}` has the rules `standard`; {THRESHOLD} live notes start a consolidation.\n")
    _post(demo, rows, writers)
    _await_automatic(demo)
    _fold_rest(demo)
    problems = _account(demo)
    rules = demo.api.spaces.get_rules(SPACE).rules
    files = demo.api.bank.list(SPACE, content=True).items
    bank = sorted(files, key=lambda file: rules.find(file.path) % len(rules))  # unknown ones last
    _show(demo, bank, copy, full=full)
    _ask(demo)
    _conclude(demo, problems, bank, time.monotonic() - began)


def _post(demo: Demo, rows: Sequence[dict[str, Any]], writers: dict[str, Client]) -> None:
    """Post each note as its agent. The time at which it was taken goes along as a tag, its content as it is."""
    pause = _POSTING_SECONDS / max(1, len(rows))
    due = looked = time.monotonic()
    for number, row in enumerate(rows, 1):
        body = {
            "category": row["category"],
            "content": row["content"],
            "tags": [*row.get("tags", []), row["timestamp"]],
        }
        note = writers[row["agent"]].notes.append(SPACE, **body)
        demo.posted[note.note_id] = body | {"agent": row["agent"]}
        if time.monotonic() - looked > _POLL_SECONDS:
            demo.look()
            if demo.live >= _MOST_LIVE:
                _wait(demo, "a consolidation", lambda: demo.live < _MOST_LIVE)
            looked = time.monotonic()
        demo.progress.show(f"posted {number} of {len(rows)}, live {demo.live}, consolidations {len(demo.seen)}")
        due = max(due + pause, looked)
        time.sleep(max(0.0, due - time.monotonic()))
    demo.progress.tell(f"  all {len(rows)} notes are posted")


def _await_automatic(demo: Demo) -> None:
    """Wait until the events have started all consolidations that they will start."""

    def idle() -> bool:
        return demo.live < THRESHOLD and not demo.is_busy()

    _wait(demo, "the consolidations that the put events started", idle)


def _fold_rest(demo: Demo) -> None:
    """Start consolidations by hand for what stays below the threshold."""
    while demo.live:
        started = demo.api.runs.start(SPACE)
        demo.progress.tell(f"  {demo.live} notes are left below the threshold: started a consolidation by hand")
        job = demo.api.jobs.wait(started.job, timeout=demo.patience, on_poll=lambda _: _tell(demo, "the run"))
        demo.look()
        if job.error and job.error.code == "busy":
            _await_automatic(demo)


def _wait(demo: Demo, what: str, done: Callable[[], bool]) -> None:
    """Poll until `done` is true twice in a row: an event may be on its way when it first seems so."""
    deadline = time.monotonic() + demo.patience
    quiet = 0
    while quiet < 2:
        if time.monotonic() > deadline:
            raise DemoError(f"Gave up after {demo.patience:.0f} s of waiting for {what}; {demo.live} notes are live.")
        demo.look()
        quiet = quiet + 1 if done() else 0
        _tell(demo, what)
        time.sleep(_POLL_SECONDS)
    demo.look()


def _tell(demo: Demo, what: str) -> None:
    demo.progress.show(f"waiting for {what}: live {demo.live}, consolidations {len(demo.seen)}")


def _account(demo: Demo) -> list[str]:
    """Compare the posted notes with the API and the bucket."""
    with ThreadPoolExecutor(max_workers=4) as executor:
        told = executor.map(lambda note_id: demo.api.notes.get(SPACE, note_id).model_dump(), demo.posted)
        answers = dict(zip(demo.posted, told, strict=True))
    bucket = demo.service.bucket
    live = [key.rsplit("/", 1)[1].removesuffix(".md") for key in bucket.keys(f"{SPACE}/live/") if key.endswith(".md")]
    records = {}
    for key in bucket.keys(f"{SPACE}/_consolidations/"):
        record = json.loads(bucket.read(key))
        records[int(record["number"])] = [note["note_id"] for note in record["notes"]]
    return check_notes(demo.posted, answers, live, records)


def _show(demo: Demo, bank: Sequence[models.FileView], copy: Path, *, full: bool) -> None:
    """Print the bank and the runs, and leave the bank as files."""
    print("\nThe memory bank\n")
    for file in bank:
        content = file.content or ""
        print(show_file(file.path, content, full=full), end="\n\n")
        target = copy / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, "utf-8")
    print(f"The bank's files as they are: {copy}\n")
    print("The synthesis of the last consolidation\n")
    print(demo.api.bank.get_synthesis(SPACE).content.strip(), end="\n\n")
    print("The runs\n")
    print(table_of_runs(list(demo.seen.values())), end="\n\n")


def _ask(demo: Demo) -> None:
    """Ask the memory what a newcomer would ask, once the indexer has seen all of it."""

    def find(asked: str) -> models.SearchAnswer:
        return demo.api.search.space(SPACE, q=asked, scope="all", limit=_FOUND)

    deadline = time.monotonic() + _INDEXING_SECONDS
    while find(QUESTIONS[0]).unembedded and time.monotonic() < deadline:
        time.sleep(2 * _POLL_SECONDS)
    answers = [find(asked) for asked in QUESTIONS]
    by = "words and meaning" if answers[0].ranking == "hybrid" else "words alone"
    print(f"The memory, asked (bank, live and consolidated notes: {answers[0].view.documents}; by {by})\n")
    for asked, answer in zip(QUESTIONS, answers, strict=True):
        print(show_hits(asked, [item.model_dump() for item in answer.items]), end="\n\n")


def _conclude(demo: Demo, problems: Sequence[str], bank: Sequence[models.FileView], seconds: float) -> None:
    """The closing line; raises DemoError if the demo did not show what it is to show."""
    automatic = sum(item["trigger"] == "threshold" for item in demo.seen.values())
    if problems:
        raise DemoError(f"{len(problems)} notes are not accounted for:\n  " + "\n  ".join(problems[:20]))
    if automatic < AUTOMATIC_RUNS:
        raise DemoError(
            f"Put events started {automatic} of the consolidations; it takes {AUTOMATIC_RUNS} to show that they do."
        )
    if not any((file.content or "").strip() for file in bank):
        raise DemoError("The bank is empty.")
    print(
        f"All {len(demo.posted)} notes are accounted for, each in exactly one consolidation record: {automatic} runs "
        f"started by put events, {len(demo.seen) - automatic} by hand; {len(bank)} bank files. {seconds:.0f} s."
    )
