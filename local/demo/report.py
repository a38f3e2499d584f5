"""The output of the demo: progress while it works, the bank, the table of the runs, and whether every note is there."""

import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from local import terminal

_ENTRIES_SHOWN = 3  # of each section; the rest is counted
_MAX_WIDTH = 120


class Progress:
    """One line that is rewritten on a terminal; elsewhere a line now and then."""

    def __init__(self, every: int) -> None:
        """Without a terminal, `show` prints only each `every`-th time."""
        self._live = sys.stdout.isatty()
        self._every = every
        self._count = 0
        self._open = False

    def show(self, text: str) -> None:
        """The present state."""
        self._count += 1
        if self._live:
            terminal.rewrite_line(f"  {text[: width() - 3]}")
            self._open = True
        elif self._count % self._every == 0:
            print(f"  {text}", flush=True)

    def tell(self, text: str) -> None:
        """Something that stays on the screen."""
        if self._open:
            terminal.rewrite_line("")
            self._open = False
        print(text, flush=True)


def width() -> int:
    """Columns to use."""
    return min(shutil.get_terminal_size((100, 24)).columns, _MAX_WIDTH)


def describe_run(item: Mapping[str, Any]) -> str:
    """A consolidation in one line, from an item of the history."""
    metrics = item["metrics"]
    return (
        f"  consolidation {item['number']} ({item['trigger']}): {item['notes_count']} notes folded into "
        f"{len(item['files'])} files in {metrics['duration_seconds']:.1f} s"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows of texts and numbers below a head; numbers are on the right."""
    shown = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [list(head), *shown]) for column in range(len(head))]
    right = [all(isinstance(row[column], (int, float)) for row in rows) for column in range(len(head))]
    lines = [
        "  ".join(
            cell.rjust(w) if numeric else cell.ljust(w) for cell, w, numeric in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in [list(head), *shown]
    ]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


def show_hits(asked: str, items: Sequence[Mapping[str, Any]]) -> str:
    """A question and what was found, a line for each."""
    lines = [f"  {asked}"]
    for item in items:
        where = item.get("title") or f"{item['author']}, {item['category']}"
        text = " ".join(item["snippet"].split())
        lines.append(textwrap.shorten(f"{item['kind']} ({where}): {text}", width() - 6, placeholder=" ..."))
    return "\n    - ".join(lines) if items else f"  {asked}\n    nothing was found"


def table_of_runs(items: Sequence[Mapping[str, Any]]) -> str:
    """The consolidations, oldest first, as a table with a line of totals."""
    head = ["run", "trigger", "notes", "discarded", "files", "edits", "LLM calls", "tokens in", "tokens out", "seconds"]
    names = ["notes_discarded", "edits_applied", "llm_calls", "llm_prompt_tokens", "llm_completion_tokens"]
    rows = []
    totals = [0.0] * 8
    for item in sorted(items, key=lambda item: int(item["number"])):
        discarded, edits, calls, tokens_in, tokens_out = (item["metrics"].get(name, 0) for name in names)
        seconds = item["metrics"]["duration_seconds"]
        numbers = [item["notes_count"], discarded, len(item["files"]), edits, calls, tokens_in, tokens_out, seconds]
        totals = [total + number for total, number in zip(totals, numbers, strict=True)]
        rows.append([str(item["number"]), item["trigger"], *_numbers(numbers)])
    rows.append(["all", "", *_numbers(totals)])
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(w) if column == 1 else cell.rjust(w)
            for column, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in [head, *rows]
    ]
    rule = "  ".join("-" * w for w in widths)
    return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1]])


def _numbers(values: Sequence[float]) -> list[str]:
    return [f"{value:,.0f}" for value in values[:-1]] + [f"{values[-1]:.1f}"]


def show_file(name: str, content: str, *, full: bool) -> str:
    """A bank file for the terminal: wrapped, and unless `full` only the first entries of each section."""
    count = sum(line.startswith("- ") for line in content.split("\n"))
    title = f"── {name} ── {count} entries, {len(content.encode()):,} bytes "
    lines = [title.ljust(width(), "─")]
    shown = 0
    hidden = 0
    for line in [*content.rstrip("\n").split("\n"), "#"]:
        if line.startswith("#"):
            if hidden:
                lines += [f"  … and {hidden} more", ""]
            shown = hidden = 0
        elif line.startswith("- "):
            shown += 1
            hidden += 0 if full or shown <= _ENTRIES_SHOWN else 1
        if not hidden and line != "#":
            lines += _wrap(line)
    return "\n".join(lines).rstrip()


def _wrap(line: str) -> list[str]:
    marker = re.match(r"\s*(?:- )?", line)
    hang = " " * len(marker.group()) if marker else ""
    return textwrap.wrap(line, width(), subsequent_indent=hang, break_long_words=False, break_on_hyphens=False) or [""]


def check_notes(
    posted: Mapping[str, Mapping[str, Any]],
    answers: Mapping[str, Mapping[str, Any]],
    live: Sequence[str],
    records: Mapping[int, Sequence[str]],
) -> list[str]:
    """The problems in the account of the notes. An empty list if every note is where it must be.

    Args:
        posted: note id to the note that was sent.
        answers: note id to the API's answer about it now.
        live: the ids below `live/` in the bucket.
        records: number of a consolidation to the ids in its record in the bucket.
    """
    problems = []
    for note_id, sent in posted.items():
        places = [f"consolidation {number}" for number, ids in sorted(records.items()) for id_ in ids if id_ == note_id]
        places += ["live"] * list(live).count(note_id)
        if len(places) != 1:
            problems.append(f"{note_id} is in {len(places)} places of the bucket: {', '.join(places) or 'none'}")
        answer = answers[note_id]
        told = f"consolidation {answer['consolidation']}" if answer["status"] == "consolidated" else answer["status"]
        if places != [told]:
            problems.append(f"{note_id}: the API says {told}, the bucket {', '.join(places) or 'nothing'}")
        if any(answer[name] != sent[name] for name in ("content", "category", "tags", "agent")):
            problems.append(f"{note_id} is not what was posted")
    known = set(posted)
    foreign = [id_ for ids in (live, *records.values()) for id_ in ids if id_ not in known]
    problems += [f"{note_id} was never posted" for note_id in foreign]
    return problems
