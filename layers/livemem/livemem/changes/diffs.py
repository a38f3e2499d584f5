"""Unified diffs of a record's changes, for people."""

import difflib
from typing import Any

from livemem.changes.records import FileChange, Record

CONTEXT_LINES = 3


def changes(record: Record) -> list[dict[str, Any]]:
    """Per changed file: path, action, unified diff, the edits if it was edited, and the reason if one was given."""
    return [
        {
            "path": change.path,
            "action": change.action,
            "diff": unified(change),
            "edits": change.edits,
            "reason": change.reason,
        }
        for change in record.changed()
    ]


def unified(change: FileChange) -> str:
    """The unified diff of one file, `a/` before and `b/` after; `/dev/null` where there is no file."""
    before = change.before.content if change.before else ""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        (change.after or "").splitlines(keepends=True),
        f"a/{change.path}" if change.before else "/dev/null",
        f"b/{change.path}" if change.after is not None else "/dev/null",
        n=CONTEXT_LINES,
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
