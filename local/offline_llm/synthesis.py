"""The synthesis of a consolidation: a short account of its notes and of the open points."""

from collections import Counter
from collections.abc import Sequence

from local.offline_llm import sentences
from local.offline_llm.affinity import CATEGORIES, OPEN_KINDS
from local.offline_llm.closing import OpenEntry
from local.offline_llm.entries import Note, clean_text
from local.offline_llm.texts import Texts

MAX_BYTES = 1_500
_MAX_LINE = 150
_MAX_SENTENCE = 300
_LATEST = 4


def write_synthesis(notes: Sequence[Note], waiting: Sequence[OpenEntry], texts: Texts) -> str:
    """Markdown of at most 1,500 bytes: period, authors, counts, the latest decisions and results, what stays open.

    `waiting` are the open entries of the bank as it will be, oldest first.
    """
    lines = [f"{_head(notes, texts)} {texts.made_by}"]
    for title, category in ((texts.decisions, "decision"), (texts.progress, "progress")):
        said = [clean_text(note.content) for note in reversed(notes) if note.category == category]
        lines += _list(title, said, "", 0)
    for kind in OPEN_KINDS:
        open_ones = [
            entry.text for entry in waiting if kind in entry.kinds and (len(entry.kinds) == 1 or kind == "todo")
        ]
        lines += _list(texts.open[kind], open_ones[::-1], texts.newest, len(open_ones))
    return _fit(lines)


def _head(notes: Sequence[Note], texts: Texts) -> str:
    days = sorted(note.day for note in notes if note.day)
    period = texts.period.format(first=days[0], last=days[-1]) if len(set(days)) > 1 else "".join(days[:1])
    authors = (clean_text(" ".join((note.author or note.agent).split())) for note in notes)
    named = [name[:64] for name, _ in Counter(name for name in authors if name).most_common(6)]
    counts = Counter(note.category for note in notes)
    kinds = [
        f"{counts[category]} {texts.counts[category][counts[category] > 1]}"
        for category in CATEGORIES
        if counts[category]
    ]
    return texts.head.format(
        period=period or texts.undated,
        count=len(notes),
        who=texts.by.format(who=", ".join(named)) if named else "",
        kinds=", ".join(kinds),
    )


def _list(title: str, said: Sequence[str], newest: str, total: int) -> list[str]:
    """The first of the texts that can be told in whole sentences. `newest` says how many there are in `total`."""
    shown = [short for text in said if (short := _short(text))][:_LATEST]
    if not shown:
        return []
    count = newest.format(shown=len(shown), total=total) if total > len(shown) else ""
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
