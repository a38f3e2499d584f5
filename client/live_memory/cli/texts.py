"""Makes texts of others safe for a terminal: notes and banks may hold anything."""

import json
from collections.abc import Mapping
from typing import Any

from live_memory._invisible import json_escaped, visible


def clean(text: str) -> str:
    """The text with control and invisible characters shown as escapes. Newlines and tabs stay."""
    return visible(text)


def one_line(text: str, width: int | None = None) -> str:
    """The text on one line, at most `width` characters of it."""
    line = " ".join(clean(text).split())
    return line if width is None else cut(line, width)


def cut(line: str, width: int) -> str:
    """At most `width` characters of a line. If it was longer, the last one is an ellipsis."""
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"


def as_json(value: Any, *, indent: int | None = None) -> str:
    """The value as JSON. Characters that control a terminal are escaped, so any output may show it. The value is the
    same.
    """
    # Newlines and indentation are outside of strings. json.dumps has escaped those inside.
    return json_escaped(json.dumps(value, ensure_ascii=False, indent=indent))


def size(count: int) -> str:
    """A number of bytes in a readable form."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def moment(iso: str | None) -> str:
    """A time of the service (UTC) to the second, as in `2026-02-20 14:00:00`."""
    return "" if not iso else iso[:19].replace("T", " ")


def count(number: int, noun: str) -> str:
    """`1 note`, `3 notes`, `3 memories`, `3 progress`."""
    many = noun if noun.endswith("s") else f"{noun.removesuffix('y')}ies" if noun.endswith("ory") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


_NEXT_RUN = {
    "review": "after the plan of run {run_id} is approved or refused",
    "running": "run {run_id} is at work",
    "queued": "run {run_id} is queued",
    "held": "after other work on the space ({detail})",
    "after_failure": "not before {not_before}, after a failure ({detail})",
    "paused": "paused ({detail})",
    "by_hand": "only by hand",
    "due": "by itself, enough notes wait",
    "session_end": "at the end of a session with 3 notes, at the latest a day after the first",
    "threshold": "after {missing}",
}


def next_run(found: Mapping[str, Any] | None) -> str:
    """What the next consolidation of a space waits for. Nothing for a service that does not say it."""
    if not found:
        return ""
    missing = count(found.get("notes_missing") or 0, "more note")
    known = {"detail": "no reason is known", "missing": missing, **found, "not_before": moment(found.get("not_before"))}
    return _NEXT_RUN[found["why"]].format(**known)
