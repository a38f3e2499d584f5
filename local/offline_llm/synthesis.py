"""The synthesis of a consolidation: a short account of its notes and of the open points."""

from collections import Counter
from collections.abc import Sequence

from local.offline_llm import sentences
from local.offline_llm.affinity import CATEGORIES, OPEN_KINDS
from local.offline_llm.closing import OpenEntry
from local.offline_llm.entries import Note, clean_text

MADE_BY = "Made by the offline rules (model `offline-rules`), not by a language model."
MAX_BYTES = 1_500
_MAX_LINE = 150
_MAX_SENTENCE = 300
_LATEST = 4
_PLURALS = {"todo": "todos", "progress": "progress", "insight": "insights"}
_OPEN_TITLES = {"todo": "Open todos", "question": "Open questions", "issue": "Open issues", "current": "Under way"}


def write_synthesis(notes: Sequence[Note], waiting: Sequence[OpenEntry]) -> str:
    """Markdown of at most 1,500 bytes: period, authors, counts, the latest decisions and results, what stays open.

    `waiting` are the open entries of the bank as it will be, oldest first.
    """
    lines = [f"{_head(notes)} {MADE_BY}"]
    for title, category in (("Latest decisions", "decision"), ("Latest progress", "progress")):
        texts = [clean_text(note.content) for note in reversed(notes) if note.category == category]
        lines += _list(title, texts, None)
    for kind in OPEN_KINDS:
        texts = [entry.text for entry in waiting if kind in entry.kinds and (len(entry.kinds) == 1 or kind == "todo")]
        lines += _list(_OPEN_TITLES[kind], texts[::-1], len(texts))
    return _fit(lines)


def _head(notes: Sequence[Note]) -> str:
    days = sorted(note.day for note in notes if note.day)
    period = f"{days[0]} to {days[-1]}" if days and days[0] != days[-1] else (days[0] if days else "undated")
    agents = [
        name
        for name, _ in Counter(clean_text(" ".join(note.agent.split())) for note in notes if note.agent).most_common(6)
    ]
    counts = Counter(note.category for note in notes)
    kinds = [
        f"{counts[category]} {_PLURALS.get(category, category + 's') if counts[category] > 1 else category}"
        for category in CATEGORIES
        if counts[category]
    ]
    who = f" by {', '.join(agent[:64] for agent in agents)}" if agents else ""
    return f"{period}: {len(notes)} notes{who} ({', '.join(kinds)})."


def _list(title: str, texts: Sequence[str], total: int | None) -> list[str]:
    """The first of the texts that can be told in whole sentences."""
    shown = [short for text in texts if (short := _short(text))][:_LATEST]
    if not shown:
        return []
    count = f" ({len(shown)} newest of {total})" if total is not None and total > len(shown) else ""
    return ["", f"**{title}{count}**", "", *(f"- {text}" for text in shown)]


def _short(text: str) -> str:
    """As many whole sentences as fit into a line, at least the first; nothing where that is too long."""
    line = " ".join(text.replace("<", "\\<").replace("#", "\\#").split())
    if len(line) <= _MAX_LINE:
        return line
    first, *others = sentences.split_line(line)
    for other in others:
        if len(first) + 1 + len(other) > _MAX_LINE:
            break
        first += f" {other}"
    return first if len(first) <= _MAX_SENTENCE else ""


def _fit(lines: list[str]) -> str:
    while len("\n".join(lines).encode()) > MAX_BYTES and len(lines) > 1:
        lines = lines[:-1]
    while lines and (not lines[-1] or lines[-1].startswith("**")):
        lines = lines[:-1]
    return "\n".join(lines)
