"""Shows notes, runs and changes to a person."""

from collections.abc import Sequence
from typing import Any

from live_memory.cli import texts
from live_memory.cli.output import Output

Styled = list[tuple[str, str]]
"""Lines with their styles."""


def note(found: dict[str, Any]) -> Styled:
    """A note: a line with its agent, and its text."""
    tags = "".join(f" #{texts.one_line(tag)}" for tag in found["tags"])
    folded = f" (consolidated: {found['consolidation']})" if found.get("consolidation") else ""
    head = f"{texts.moment(found['timestamp'])} {found['agent']} {found['category']}{tags}{folded}"
    return [(head, "bold"), *((line, "") for line in found["content"].rstrip("\n").split("\n")), ("", "")]


def notes(out: Output, found: Sequence[dict[str, Any]]) -> None:
    """Notes beneath each other."""
    if found:
        out.lines([line for one in found for line in note(one)][:-1])


def diff(text: str) -> Styled:
    """A unified diff in colours."""
    styles = {"+++": "bold", "---": "bold", "@@": "cyan", "+": "green", "-": "red"}
    lines = text.rstrip("\n").split("\n")
    return [(line, next((style for begin, style in styles.items() if line.startswith(begin)), "")) for line in lines]


def metrics(counted: dict[str, Any]) -> str:
    """The counts of a run, in words; only those above zero."""
    names = {
        "notes_processed": "notes folded",
        "notes_discarded": "discarded",
        "bank_files_created": "files created",
        "bank_files_updated": "updated",
        "bank_files_edited": "edited",
        "bank_files_deleted": "deleted",
        "notes_remaining": "notes left",
        "notes_oversized": "oversized",
        "notes_left_out": "left out",
        "files_tidied": "files shortened",
        "lines_removed": "lines removed",
        "warnings": "warnings",
        "llm_calls": "calls of the LLM",
        "duration_seconds": "s",
    }
    return ", ".join(f"{counted[name]:g} {words}" for name, words in names.items() if counted.get(name))


def run(found: dict[str, Any]) -> Styled:
    """The result of a job that is a run."""
    if found["status"] == "failed":
        error = found.get("error") or {}
        return [
            (f"The run failed: {error.get('code', 'error')}. {error.get('detail', '')}".rstrip(), "red"),
            ("Every note is still live, and the bank is as it was.", ""),
        ]
    result = found["result"]
    if found["status"] == "done" and result.get("consolidation"):
        number = result["consolidation"]
        done = f"Change {number}: {metrics(result.get('metrics') or {})}"
        return [(done, "green"), (f"To see it: livemem diff {number}. To undo it: livemem undo {number}.", "dim")]
    words = {
        "nothing_to_do": "There is nothing to consolidate.",
        "awaiting_approval": "The plan waits for approval: livemem review show.",
    }
    message = result.get("message") or words.get(result.get("code") or "") or f"The run is {found['status']}."
    return [(message, "")]


def plan(found: dict[str, Any]) -> Styled:
    """The plan of a run, as diffs."""
    lines: Styled = []
    for change in found.get("changes", []):
        lines += [(f"{change['action']} {change['path']}", "bold"), *diff(change.get("diff") or ""), ("", "")]
    synthesis = found.get("synthesis")
    if synthesis:
        after = synthesis.get("after") if isinstance(synthesis, dict) else synthesis
        lines += [("synthesis", "bold"), (str(after or ""), "")]
    return [*(lines or [("The plan changes nothing.", "")]), *losses(found)]


def losses(found: dict[str, Any]) -> Styled:
    """What a change, or its plan, has removed of a bank that was too long, and its warnings."""
    removed = found.get("removed") or []
    lines: Styled = [("lines that no file holds any more", "bold")] if removed else []
    lines += [(f"{texts.one_line(one['file'])}: {texts.one_line(one['line'])}", "red") for one in removed]
    warnings = found.get("warnings") or []
    return lines + [(f"Warning: {texts.one_line(one['text'])}", "yellow") for one in warnings]
