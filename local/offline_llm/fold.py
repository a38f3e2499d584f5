"""Fold notes into a bank by fixed rules: the pure core of the offline LLM, a plain filer.

Each note becomes a bullet below the section that fits its category. A note that begins with "Done:" closes the open
entry of the same words. The answer has the form that the service asks of any model (docs/consolidation.md). Equal input
gives an equal answer.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from local.offline_llm import sentences
from local.offline_llm.edits import Bullet, FileChange, write_change
from local.offline_llm.entries import Note, clean_text, own_text, write_entry
from local.offline_llm.filing import CATEGORIES, OPEN, Shelf, choose_shelf, list_shelves, open_kinds
from local.offline_llm.orders import gives_orders
from local.offline_llm.outline import Item, Outline, read_outline
from local.offline_llm.rules import FileSpec, Section, read_layout
from local.offline_llm.words import all_stems, is_french, stems

MAX_FILES = 100  # what the service takes in one answer
SYNTHESIS_BYTES = 1_500
_LATEST = 4
_LINE = 150
_DONE = re.compile(
    r"^\W*(?:\[x\]\s*)?(?:c['’]est\s+)?(?:done|finished|completed|fixed|solved|resolved|closed|answer(?:ed)?|erledigt"
    r"|behoben|beantwortet|(?:fait|terminé|fini|corrigé|résolu|réglé|répondu|tranché)e?s?|réponse)\s*[:,.!–—-]\s*",
    re.IGNORECASE,
)
# In English and French.
_HEADINGS = {
    "observation": ("Observations", "Constats"),
    "decision": ("Decisions", "Décisions"),
    "todo": ("To do", "À faire"),
    "insight": ("Insights", "Enseignements"),
    "question": ("Open questions", "Questions ouvertes"),
    "progress": ("Progress", "Avancement"),
    "issue": ("Known issues", "Problèmes connus"),
}
_MADE_BY = (
    "Made by the offline rules (model `offline-rules`), not by a language model.",
    "Fait par des règles fixes (modèle `offline-rules`), pas par un modèle de langue.",
)


@dataclass(eq=False)
class _Entry:
    """An entry that is open, or known by its text: where it stands in the bank, or which note it will be.
    `repeated`: why a note that repeats it is discarded.
    """

    repeated: str
    text: str = ""
    kinds: frozenset[str] = frozenset()
    filename: str = ""
    heading: int = -1
    item: Item | None = None
    note: int = 0

    def words(self) -> frozenset[str]:
        """Its subject words."""
        return stems(self.text)


@dataclass
class _Desk:
    """What filing the notes has come to so far: entries by their texts, those that are open, and by the number
    of a note where its bullet goes, with the numbers that it cites.
    """

    shelves: Sequence[Shelf]
    changes: dict[str, FileChange]
    known: dict[str, _Entry]
    waiting: list[_Entry]
    drafts: dict[int, tuple[Shelf, str, Note, list[int]]] = field(default_factory=dict)
    discarded: list[dict[str, Any]] = field(default_factory=list)


def fold(rules: str, bank: Mapping[str, str], notes: Sequence[Note], language: str = "") -> dict[str, Any]:
    """The answer for these rules, bank files (name to text) and notes. `language` "": that of the rules.

    Every note is cited by an edit or discarded with a reason. Text of the bank stays as it is, but for open entries
    that a note closes.
    """
    # Names of notes sort by second only, and then by author.
    notes = sorted(notes, key=lambda note: note.moment)
    french = language.lower().partition("-")[0] == "fr" if language else is_french(rules)
    files = _files(rules, bank, notes)
    shelves = list_shelves(files)
    changes = {name: FileChange(FileSpec(name, ""), text) for name, text in bank.items()}
    changes |= {spec.name: FileChange(spec, bank.get(spec.name)) for spec in files}
    desk = _Desk(shelves, changes, *_read_bank({name: read_outline(text) for name, text in bank.items()}, shelves))
    for note in notes:
        _file_note(note, desk)
    for shelf, category, note, cited in desk.drafts.values():
        path = tuple(replace(part, text=note.day or "Undated") if part.day else part for part in shelf.path)
        path = path or (Section(2, _HEADINGS[category][french]),)
        bullet = Bullet(write_entry(note, french=french), sorted(set(cited)))
        changes[shelf.spec.name].bullets.setdefault(path, []).append(bullet)
    entries = [entry for change in changes.values() if (entry := write_change(change))]
    if len(entries) > MAX_FILES:  # those that hold nothing yet can come later
        entries = [entry for entry in entries if entry.get("edits") or entry.get("notes")]
    synthesis = _synthesis(notes, desk.waiting, french=french)
    return {"bank_files": entries, "synthesis": synthesis, "discarded": desk.discarded}


def _files(rules: str, bank: Mapping[str, str], notes: Sequence[Note]) -> list[FileSpec]:
    """The files of the rules, under the names that the bank has for them: names that differ in case are refused."""
    days = sorted({note.day or "undated" for note in notes})
    present = {name.lower(): name for name in bank}
    files: dict[str, FileSpec] = {}
    for layout in read_layout(rules):
        for spec in layout.for_days(days):
            files.setdefault(spec.name.lower(), replace(spec, name=present.get(spec.name.lower(), spec.name)))
    return list(files.values())


def _file_note(note: Note, desk: _Desk) -> None:
    """Confirm what the note repeats, close what it closes, and choose its place."""
    text, closed = own_text(write_entry(note)), _closed(note, desk.waiting)
    known = desk.known.get(text)
    if reason := _no_entry(note) or (known.repeated if known and not known.filename and not closed else ""):
        desk.discarded.append({"note": note.number, "reason": reason})
        return
    if known and not closed:
        desk.changes[known.filename].confirmed.setdefault(known.heading, []).append(note.number)
        return
    category, cited = note.category if note.category in CATEGORIES else "observation", [note.number]
    if category in OPEN and (closed or _DONE.match(clean_text(note.content))):
        category = "progress"
    if closed:
        desk.waiting.remove(closed)
        if closed.item:
            removals = desk.changes[closed.filename].removals.setdefault(closed.heading, [])
            removals.append((closed.item, note.number))
        else:
            cited += desk.drafts.pop(closed.note)[3]
    desk.drafts[note.number] = choose_shelf(note, category, desk.shelves), category, note, cited
    entry = _Entry(f"Repeats note {note.number}.", clean_text(note.content), frozenset({category}), note=note.number)
    desk.known.setdefault(text, entry)
    if category in OPEN:
        desk.waiting.append(entry)


def _no_entry(note: Note) -> str:
    """Why a note becomes no entry, "" if it may."""
    if not clean_text(note.content):
        return "Empty: it holds no text."
    return "It gives orders to its reader. The record keeps it." if gives_orders(note.content) else ""


def _read_bank(outlines: Mapping[str, Outline], shelves: Sequence[Shelf]) -> tuple[dict[str, _Entry], list[_Entry]]:
    """The entries of the bank by their texts, and those that are open."""
    kinds = {all_stems(shelf.path[-1].text): shelf.kinds for shelf in shelves if shelf.path}
    known: dict[str, _Entry] = {}
    waiting: list[_Entry] = []
    for filename, outline in outlines.items():
        for index, heading in enumerate(outline.headings):
            words = all_stems(heading.text)
            is_open = kinds[words] if words in kinds else open_kinds(heading.text)
            addressed = outline.addresses[index] is not None
            for item in heading.items:
                text = own_text(item.lines)
                repeated = f"Repeats an entry of {filename} under “{heading.text[:80]}”."
                entry = _Entry(repeated, text, is_open, filename if addressed else "", index, item)
                known.setdefault(text, entry)
                if is_open and addressed:
                    waiting.append(entry)
    return known, waiting


def _closed(note: Note, waiting: Sequence[_Entry]) -> _Entry | None:
    """The open entry that a note closes, which says "Done:" and all its words. Of several the one with most words."""
    text = clean_text(note.content)
    opening = _DONE.match(text)
    said = stems(text[opening.end() :]) if opening else frozenset()
    fitting = [entry for entry in waiting if said and (words := entry.words()) and words <= said]
    return max(fitting, key=lambda entry: len(entry.words()), default=None)


# The synthesis


def _synthesis(notes: Sequence[Note], waiting: Sequence[_Entry], *, french: bool) -> str:
    """Markdown of at most SYNTHESIS_BYTES: days, authors, counts, the latest decisions and results, what stays open."""
    days = sorted({note.day for note in notes if note.day})
    authors = Counter(" ".join(clean_text(note.author or note.agent).split()) for note in notes)
    counts = Counter(note.category for note in notes)
    kinds = ", ".join(f"{_HEADINGS[kind][french]} {counts[kind]}" for kind in CATEGORIES if counts[kind])
    who = ", ".join(name[:64] for name, _ in authors.most_common(6))
    lines = [
        f"{' – '.join(dict.fromkeys([*days[:1], *days[-1:]]))}: {len(notes)} notes, {who} ({kinds}). {_MADE_BY[french]}"
    ]
    for kind in ("decision", "progress", *OPEN):
        if kind in OPEN:
            said = [entry.text for entry in waiting if kind in entry.kinds]
        else:
            said = [clean_text(note.content) for note in notes if note.category == kind]
        shown = [short for text in reversed(said) if (short := _short(text))][:_LATEST]
        lines += ["", f"**{_HEADINGS[kind][french]}**", "", *(f"- {text}" for text in shown)] if shown else []
    while len("\n".join(lines).encode()) > SYNTHESIS_BYTES and len(lines) > 1:
        lines.pop()
    while not lines[-1] or lines[-1].startswith("**"):
        lines.pop()
    return "\n".join(lines)


def _short(text: str) -> str:
    """The first sentence in one line, "" where it is too long."""
    first = next(sentences.split_line(" ".join(text.replace("<", "\\<").replace("#", "\\#").split())), "")
    return first if len(first) <= _LINE * 2 else ""
