"""Fold notes into a bank by fixed rules: the pure core of the offline LLM.

The answer has the form that the service asks of any model (docs/consolidation.md, "What it may answer").
Equal input gives an equal answer.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from local.offline_llm.affinity import CURRENT, OPEN_KINDS, affinities, open_kinds
from local.offline_llm.closing import OpenEntry, Waiting, find_closed, is_done_todo, is_settled_issue, open_entry
from local.offline_llm.correcting import STATEMENT, find_corrected, statement
from local.offline_llm.edits import Bullet, FileChange, Path, Removal, write_change
from local.offline_llm.entries import (
    Closed,
    Note,
    clean_text,
    first_paragraph,
    label_entry,
    labelled_kind,
    own_text,
    without_closed,
    write_entry,
)
from local.offline_llm.filing import NAMED, Shelf, choose_shelf, file_as, list_shelves, named_shelf, word_rarity
from local.offline_llm.layout import FileSpec, Section, for_days
from local.offline_llm.orders import gives_orders
from local.offline_llm.outline import Item, Outline, read_outline
from local.offline_llm.rules import read_layout
from local.offline_llm.synthesis import write_synthesis
from local.offline_llm.texts import Texts, of_language
from local.offline_llm.words import all_stems

MAX_FILES = 100  # what the service takes in one answer
_DATE = re.compile(r"\b\d{4}-\d{2}")


@dataclass(frozen=True)
class _Stored:
    """Where an entry of the bank stands, and the section of the rules that its heading means."""

    filename: str
    heading: int
    item: Item
    shelf: Shelf | None = None


@dataclass(frozen=True)
class _Known:
    """Where the text of an entry stands, in words. In the bank: the file and its heading."""

    told: str
    filename: str = ""
    heading: int = -1


@dataclass(eq=False)
class _Draft:
    """An entry that will be written: a note, where it goes, and what it closes."""

    note: Note
    category: str  # what it is filed as
    shelf: Shelf
    texts: Texts
    plain: tuple[str, ...]  # its bullet as long as it closes nothing
    closed: list[Closed] = field(default_factory=list)
    notes: list[int] = field(default_factory=list)

    @property
    def lines(self) -> tuple[str, ...]:
        """Its bullet, labelled where its section holds several kinds of open entries."""
        lines = write_entry(self.note, self.closed, self.texts) if self.closed else self.plain
        mixed = self.category in OPEN_KINDS and len(self.shelf.kinds) > 1
        return label_entry(lines, self.category, self.texts) if mixed else lines


@dataclass
class _Desk:
    """What filing the notes has come to so far."""

    texts: Texts
    waiting: Waiting
    statements: Waiting  # what stands until a note replaces it
    known: dict[str, _Known]  # by the text of an entry
    drafts: list[_Draft] = field(default_factory=list)
    removals: list[tuple[str, Removal]] = field(default_factory=list)
    confirmed: list[tuple[_Known, int]] = field(default_factory=list)  # with the numbers of the notes that repeat it
    discarded: list[dict[str, Any]] = field(default_factory=list)


def fold(rules: str, bank: Mapping[str, str], notes: Sequence[Note], language: str = "") -> dict[str, Any]:
    """The answer for these rules, bank files (name to text) and notes. `language` "": that of the rules.

    Every note is cited by an edit or discarded with a reason. Text of the bank stays as it is, but for open entries
    that a note closes and statements that it replaces: these move below the entry of that note.
    """
    # Names of notes sort by second only, and then by author.
    notes = sorted(notes, key=lambda note: note.moment)
    files = _as_named(for_days(read_layout(rules), (note.day for note in notes)), bank)
    shelves = list_shelves(files)
    outlines = {name: read_outline(text) for name, text in bank.items()}
    desk = _Desk(
        of_language(language, rules),
        _open_entries(outlines, shelves),
        _statements(outlines, shelves),
        _known_texts(outlines),
    )
    rarity = word_rarity(shelves)
    for note in notes:
        _file_note(note, desk, shelves, rarity)

    changes = {spec.name: FileChange(spec, bank.get(spec.name)) for spec, _ in files}
    for draft in desk.drafts:
        bullet = Bullet(draft.lines, tuple(draft.notes))
        changes[draft.shelf.spec.name].bullets.setdefault(_path(draft), []).append(bullet)
    for filename, removal in desk.removals:
        change = changes.setdefault(filename, FileChange(FileSpec(filename, ""), bank[filename]))
        change.removals.append(removal)
    for known, number in desk.confirmed:
        name = known.filename
        change = changes.setdefault(name, FileChange(FileSpec(name, ""), bank[name]))
        change.confirmed.setdefault(known.heading, []).append(number)
    entries = [entry for change in changes.values() if (entry := write_change(change))]
    if len(entries) > MAX_FILES:  # those that hold nothing yet can come later
        entries = [entry for entry in entries if entry.get("edits") or entry.get("notes")]
    return {
        "bank_files": entries,
        "synthesis": write_synthesis(notes, desk.waiting.entries, desk.texts),
        "discarded": desk.discarded,
    }


def _as_named(files: Sequence[tuple[FileSpec, str]], bank: Mapping[str, str]) -> list[tuple[FileSpec, str]]:
    """The files under the names that the bank has for them, as names that differ in case alone are refused."""
    present = {name.lower(): name for name in bank}
    unique: dict[str, tuple[FileSpec, str]] = {}
    for spec, day in files:
        key = spec.name.lower()
        unique.setdefault(key, (replace(spec, name=present.get(key, spec.name)), day))
    return list(unique.values())


def _file_note(note: Note, desk: _Desk, shelves: Sequence[Shelf], rarity: Mapping[str, float]) -> None:
    """Confirm what the note repeats, close what it closes, and choose its place."""
    closed = find_closed(note, desk.waiting)
    lines = write_entry(note, (), desk.texts)
    text = own_text(lines)
    if not clean_text(note.content):
        desk.discarded.append({"note": note.number, "reason": "Empty: it holds no text."})
        return
    if gives_orders(note.content):
        desk.discarded.append({"note": note.number, "reason": "It gives orders to its reader. The record keeps it."})
        return
    if text in desk.known and not closed:
        known = desk.known[text]
        if known.filename:
            desk.confirmed.append((known, note.number))
        else:
            desk.discarded.append({"note": note.number, "reason": f"Repeats {known.told}."})
        return
    desk.known.setdefault(text, _Known(f"note {note.number}"))
    category, shelf = _place(note, shelves, rarity, closes=bool(closed))
    corrected = None if category in OPEN_KINDS else find_corrected(note, desk.statements)
    # What corrects a statement stands in its place. A decision stands with the decisions.
    stood = corrected.place.shelf if corrected and isinstance(corrected.place, _Stored | _Draft) else None
    shelf = stood if stood and stood.leaf and note.category != "decision" else shelf
    draft = _Draft(note, category, shelf, desk.texts, lines, notes=[note.number])
    for entry, kind in closed:
        desk.waiting.remove(entry)
        _take_place(entry, kind, draft, desk)
    if corrected:
        desk.statements.remove(corrected)
        _take_place(corrected, STATEMENT, draft, desk)
    desk.drafts.append(draft)
    # Where the rules have no section for it, it is filed among other things and stays there.
    if category in OPEN_KINDS and (draft.shelf.leaf is None or category in draft.shelf.kinds):
        desk.waiting.add(open_entry({category}, clean_text(note.content), draft))
    elif category not in OPEN_KINDS and not _is_of_a_day(shelf):
        desk.statements.add(statement(clean_text(note.content), draft, decision=category == "decision"))


def _place(note: Note, shelves: Sequence[Shelf], rarity: Mapping[str, float], *, closes: bool) -> tuple[str, Shelf]:
    """What a note is filed as, and where."""
    if is_done_todo(note) or (closes and note.category == "todo"):
        category = "progress"
    elif is_settled_issue(note):
        category = "insight"  # what is left of it is what was learned
    elif named := named_shelf(note, shelves):
        return (CURRENT if CURRENT in named.kinds else file_as(note, shelves)), named
    else:
        category = file_as(note, shelves)
    return category, choose_shelf(note, category, shelves, rarity)


def _take_place(entry: OpenEntry, kind: str, by: _Draft, desk: _Desk) -> None:
    """Take an entry from where it stands and put it below the one that closes or replaces it."""
    if isinstance(entry.place, _Stored):
        stored = entry.place
        desk.removals.append((stored.filename, Removal(stored.heading, stored.item, by.note.number)))
        by.closed.append(Closed(kind, without_closed(stored.item.lines) if kind == STATEMENT else stored.item.lines))
    elif isinstance(entry.place, _Draft):
        desk.drafts.remove(entry.place)
        by.closed.append(Closed(kind, entry.place.plain if kind == STATEMENT else entry.place.lines))
        by.notes += entry.place.notes


def _is_of_a_day(shelf: Shelf) -> bool:
    """Whether entries there tell what was on a day. Nothing replaces them."""
    return bool(shelf.day) or any(section.day for section in (shelf.leaf.path if shelf.leaf else ()))


def _path(draft: _Draft) -> Path:
    """The headings that a draft goes under, with its date where the rules ask for one section per day."""
    if draft.shelf.leaf is None:
        return (Section(2, draft.texts.headings.get(draft.category, draft.texts.headings["progress"])),)
    day = draft.note.day or "Undated"
    return tuple(Section(s.level, day, s.description, day=True) if s.day else s for s in draft.shelf.leaf.path)


# Reading the bank


def _open_entries(outlines: Mapping[str, Outline], shelves: Sequence[Shelf]) -> Waiting:
    """The todos, questions and issues that the bank holds, by the sections that they stand in."""
    named = {all_stems(shelf.leaf.path[-1].text): shelf.kinds for shelf in shelves if shelf.leaf}
    waiting = Waiting()
    for filename, outline in outlines.items():
        for index, heading in enumerate(outline.headings):
            words = all_stems(heading.text)
            kinds = named[words] if words in named else open_kinds(heading.text)
            for item in heading.items if kinds else ():
                kind = labelled_kind(item.lines)
                place = _Stored(filename, index, item)
                waiting.add(open_entry({kind} & kinds or kinds, first_paragraph(item.lines), place))
    return waiting


def _statements(outlines: Mapping[str, Outline], shelves: Sequence[Shelf]) -> Waiting:
    """The entries of the bank that stand until a note replaces them: those of sections where nothing is open."""
    named = {(shelf.spec.name, all_stems(shelf.leaf.path[-1].text)): shelf for shelf in shelves if shelf.leaf}
    found = Waiting()
    for filename, outline in outlines.items():
        for index, heading in enumerate(outline.headings):
            shelf = named.get((filename, all_stems(heading.text)))
            dated = any(_DATE.search(outline.headings[above].text) for above in outline.chain(index))
            if dated or _DATE.search(filename) or (shelf.kinds if shelf else open_kinds(heading.text)):
                continue
            decision = affinities(heading.text)["decision"] >= NAMED
            for item in heading.items:
                place = _Stored(filename, index, item, shelf)
                found.add(statement(first_paragraph(item.lines), place, decision=decision))
    return found


def _known_texts(outlines: Mapping[str, Outline]) -> dict[str, _Known]:
    """The entries of the bank by their texts. One below a heading that no edit can address only has words."""
    known: dict[str, _Known] = {}
    for filename, outline in outlines.items():
        for index, heading in enumerate(outline.headings):
            told = f"an entry of {filename} under “{heading.text[:80]}”"
            place = _Known(told, filename, index) if outline.addresses[index] is not None else _Known(told)
            for item in heading.items:
                known.setdefault(own_text(item.lines), place)
    return known
