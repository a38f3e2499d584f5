"""Fold notes into a bank by fixed rules, as a plain filer: each note becomes a bullet below the section that fits its
category, and one that begins with "Done:" closes the open entry of the same words. Equal input gives an equal answer.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from livemem.text.similarity import contradicts
from local.offline_llm import sentences
from local.offline_llm.edits import Bullet, FileChange, Item, Outline, write_change
from local.offline_llm.entries import Note, own_text, read_note, stamped_day, write_entry
from local.offline_llm.filing import CATEGORIES, OPEN, Shelf, choose_shelf, open_kinds, read_shelf
from local.offline_llm.prompt import Prompt, PromptError
from local.offline_llm.rules import FileSpec, Section, read_layout
from local.offline_llm.words import VOCABULARY, alternatives, is_french, normalise, stems, word_stems

MAX_FILES = 100  # of one answer
COMPARED = 200
"""Entries of a file that a new decision is compared with, the last ones."""
SYNTHESIS_BYTES, LATEST, LONGEST = 1_500, 4, 300
"""Of the synthesis, the lines about each category, and the characters of one."""
_CLOSES = alternatives(VOCABULARY["patterns"]["done"])
_DONE = re.compile(rf"^\W*(?:\[x\]\s*)?(?:c['’]est\s+)?(?:{_CLOSES})\s*[:,.!–—-]\s*", re.IGNORECASE)
_LANGUAGE = re.compile(r'^Write bank and synthesis in the language "([\w-]+)"\.$', re.MULTILINE)
_MADE_BY = (
    "Made by the offline rules (model `offline-rules`), not by a language model.",
    "Fait par des règles fixes (modèle `offline-rules`), pas par un modèle de langue.",
)


@dataclass(eq=False)
class _Entry:
    """An entry that is open, or known by its text: where it stands in the bank, or which note it will be."""

    text: str
    kinds: frozenset[str]
    filename: str = ""
    section: int = -1
    item: Item | None = None
    note: int = 0


@dataclass
class _Desk:
    """What filing the notes has come to: entries by their texts, those that are open, and by the number of a note where
    its bullet goes, with the numbers that it cites.
    """

    shelves: Sequence[Shelf]
    changes: dict[str, FileChange]
    known: dict[str, _Entry] = field(default_factory=dict)
    waiting: list[_Entry] = field(default_factory=list)
    drafts: dict[int, tuple[Shelf, str, Note, list[int]]] = field(default_factory=dict)
    discarded: list[dict[str, Any]] = field(default_factory=list)

    def enter(self, entry: _Entry) -> None:
        """Enter what stands in the bank, or will."""
        self.known.setdefault(normalise(entry.text), entry)
        if entry.kinds & set(OPEN):
            self.waiting.append(entry)


def fold(prompt: Prompt) -> dict[str, Any]:
    """The answer to a prompt for a consolidation, in the language that it names, else in that of the rules. Every note
    is cited or discarded with a reason, and only open entries leave the bank. Raises PromptError.
    """
    rules, bank = prompt.value("Rules", str), prompt.value("Bank files", dict)
    if not all(isinstance(text, str) for text in bank.values()):
        raise PromptError("The bank must be an object of strings.")
    # Names of notes sort by second only, and then by author.
    notes = sorted(map(read_note, prompt.value("Live notes", list)), key=lambda note: note.moment)
    language = _LANGUAGE.search(prompt.text)
    french = language[1].lower().partition("-")[0] == "fr" if language else is_french(rules)
    # A file of the bank keeps its name: names that differ in case are refused.
    present = {name.lower(): name for name in bank}
    files = [replace(spec, name=present.get(spec.name.lower(), spec.name)) for spec in read_layout(rules)][:MAX_FILES]
    changes = {name: FileChange(FileSpec(name, ""), text) for name, text in bank.items()}
    changes |= {spec.name: FileChange(spec, bank.get(spec.name)) for spec in files}
    shelves = [read_shelf(spec, path) for spec in files for path in spec.leaves or [()]]
    desk = _Desk(shelves, changes)
    _read_bank(bank, desk)
    for note in notes:
        _file_note(note, desk)
    # In the order of the rules.
    for shelf, category, note, cited in sorted(desk.drafts.values(), key=lambda draft: shelves.index(draft[0])):
        path = tuple(replace(part, text=note.day or "Undated") if part.day else part for part in shelf.path)
        path = path or (Section(2, CATEGORIES[category]["headings"][french]),)
        bullet = Bullet(write_entry(note, french=french), sorted(set(cited)))
        changes[shelf.spec.name].bullets.setdefault(path, []).append(bullet)
    entries = [entry for change in changes.values() if (entry := write_change(change))][:MAX_FILES]
    synthesis = _synthesis(notes, desk.waiting, french=french)
    return {"bank_files": entries, "synthesis": synthesis, "discarded": desk.discarded}


def _read_bank(bank: Mapping[str, str], desk: _Desk) -> None:
    """Enter the entries of the bank by their texts, and those that are open."""
    kinds = {frozenset(word_stems(shelf.path[-1].text)): shelf.kinds for shelf in desk.shelves if shelf.path}
    for filename, text in bank.items():
        outline = Outline(text)
        for number, items in enumerate(outline.items):
            heading = outline.heading(number)
            is_open = kinds.get(frozenset(word_stems(heading)), open_kinds(heading)) if items else frozenset()
            for item in items:
                desk.enter(_Entry(own_text(item.lines), is_open, filename, number, item))


def _file_note(note: Note, desk: _Desk) -> None:
    """Discard what is no entry, confirm what the note repeats, else file it."""
    said, closed = own_text(write_entry(note)), _closed(note, desk.waiting)
    known = desk.known.get(normalise(said)) if not closed else None
    reason = f"Repeats note {known.note}." if known and not known.item else ""
    if not note.text:
        reason = "Empty: it holds no text."
    elif sentences.gives_orders(note.text):
        reason = "It gives orders to its reader. The record keeps it."
    if reason:
        desk.discarded.append({"note": note.number, "reason": reason})
    elif known:
        desk.changes[known.filename].confirmed.setdefault(known.section, []).append(note.number)
    else:
        _file_new(note, said, closed, desk)


def _file_new(note: Note, said: str, closed: _Entry | None, desk: _Desk) -> None:
    """Close what the note closes, and choose its place."""
    category, cited = note.category if note.category in CATEGORIES else "observation", [note.number]
    if category in OPEN and _DONE.match(note.text):
        category = "progress"
    if closed:
        desk.waiting.remove(closed)
        if closed.item:
            removals = desk.changes[closed.filename].removals.setdefault(closed.section, [])
            removals.append((closed.item, note.number))
        else:
            cited += desk.drafts.pop(closed.note)[3]
    shelf = choose_shelf(note, category, desk.shelves)
    if category == "decision" and (day := _against(said, shelf, desk)):
        note = replace(note, author=f"{note.who}, against {day}?")
    desk.drafts[note.number] = shelf, category, note, cited
    desk.enter(_Entry(said, frozenset({category}), note=note.number))


def _against(said: str, shelf: Shelf, desk: _Desk) -> str:
    """The day of an earlier decision of the same file that a new one may be against, "" if there is none. No rule can
    say which of them holds.
    """
    known = [entry for entry in desk.known.values() if entry.item and entry.filename == shelf.spec.name]
    filed = [(entry.text, stamped_day(entry.item.lines)) for entry in known if entry.item]
    filed += [(note.text, note.day) for other, _, note, _ in desk.drafts.values() if other.spec is shelf.spec]
    return next((day for text, day in reversed(filed[-COMPARED:]) if day and contradicts(said, text)), "")


def _closed(note: Note, waiting: Sequence[_Entry]) -> _Entry | None:
    """The open entry that a note closes, which says "Done:" and all its words. Of several the one with most words."""
    opening = _DONE.match(note.text)
    said = stems(note.text[opening.end() :]) if opening else frozenset()
    fitting = [entry for entry in waiting if said and (words := stems(entry.text)) and words <= said]
    return max(fitting, key=lambda entry: len(stems(entry.text)), default=None)


def _synthesis(notes: Sequence[Note], waiting: Sequence[_Entry], *, french: bool) -> str:
    """Markdown: days, authors, counts, the latest decisions and results, what stays open."""
    days = sorted({note.day for note in notes if note.day})
    counts = Counter(note.category for note in notes)
    kinds = ", ".join(f"{CATEGORIES[kind]['headings'][french]} {counts[kind]}" for kind in CATEGORIES if counts[kind])
    who = ", ".join(name[:40] for name, _ in Counter(note.who for note in notes).most_common(6))
    lines = [f"{' – '.join(sorted({*days[:1], *days[-1:]}))}: {len(notes)} notes, {who} ({kinds}). {_MADE_BY[french]}"]
    for kind in ("decision", "progress", *OPEN):
        filed = [note.text for note in notes if note.category == kind]
        # Where a section holds all that is open, it counts as todos.
        open_here = [entry.text for entry in waiting if min(entry.kinds, key=OPEN.index) == kind]
        texts = open_here if kind in OPEN else filed
        shown = [f"- {line}" for text in reversed(texts) if (line := _line(text))][:LATEST]
        lines += ["", f"**{CATEGORIES[kind]['headings'][french]}**", "", *shown] if shown else []
    while len("\n".join(lines).encode()) > SYNTHESIS_BYTES or not lines[-1] or lines[-1].startswith("**"):
        lines.pop()
    return "\n".join(lines)


def _line(text: str) -> str:
    """The first sentence in one line, "" where it is too long."""
    first = next(sentences.split_line(" ".join(text.replace("<", "\\<").replace("#", "\\#").split())), "")
    return first if len(first) <= LONGEST else ""
