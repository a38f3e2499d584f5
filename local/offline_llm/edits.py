"""The change of one bank file, as an entry of the answer (docs/consolidation.md): edits of its sections.

Sections are those that the service sees, and edits are tried as it will apply them. Where one does not apply, as in a
file whose headings no address tells apart or that ends in an open code fence, the whole file is sent.
"""

import itertools
from bisect import bisect_right
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from livemem.markdown.blocks import SectionError, parse, split_lines
from livemem.markdown.edits import Edit as SectionEdit
from livemem.markdown.edits import apply_edits
from livemem.markdown.sections import MarkdownText, joined, read
from local.offline_llm.rules import FileSpec, Path
from local.offline_llm.words import word_stems

Edit = dict[str, Any]

# The last two close a fence of any usual length; "</pre>" closes <script> and <style> too.
_CLOSERS = ("```", "~~~", "-->", "</pre>", "?>", "]]>", ">", "`" * 9, "~" * 9)


class Item(NamedTuple):
    """One item of a top-level list: its source lines, from line `start` of the file on."""

    start: int
    lines: tuple[str, ...]


class Outline:
    """The sections of a Markdown text in their order. A text that nests too deeply to be followed has none."""

    def __init__(self, text: str) -> None:
        try:
            document = read(text)
        except SectionError:
            document = MarkdownText(split_lines(text), (), ())
        self.lines = [line.rstrip("\r\n") for line in document.lines]
        self.sections = document.sections
        self.items: list[list[Item]] = [[] for _ in self.sections]
        """The items of each section, without those of its child sections."""
        starts = [section.start for section in self.sections]
        for block in document.blocks:
            number = bisect_right(starts, block.start) - 1
            if block.item_of and number >= 0:
                lines = tuple(self.lines[block.start : self.text_end(block.start, block.end)])
                self.items[number].append(Item(block.start, lines))

    def heading(self, number: int) -> str:
        """The text of a section's heading."""
        return self.sections[number].path[-1].lstrip("#").strip()

    def address(self, number: int) -> str:
        """How an edit names a section: by its heading, else by its path.

        Below the second level it is always the path: a line that is unique now need not be when another edit is done.
        """
        path = self.sections[number].path
        alone = sum(section.path[-1] == path[-1] for section in self.sections) == 1
        return path[-1] if alone and len(path) <= 2 else joined(path)

    def text_end(self, start: int, end: int) -> int:
        """The line behind the last one with text of these lines."""
        while end > start and not self.lines[end - 1].strip():
            end -= 1
        return end


class Bullet(NamedTuple):
    """An entry to add: its lines and the numbers of the notes that it rests on."""

    lines: tuple[str, ...]
    notes: list[int]


@dataclass
class FileChange:
    """All changes of one file: bullets by the headings that they go under, and by the number of a section the items
    that leave, with the note that closes each, and the notes that repeat an entry. `text` None: a new file.
    """

    spec: FileSpec
    text: str | None
    bullets: dict[Path, list[Bullet]] = field(default_factory=dict)
    removals: dict[int, list[tuple[Item, int]]] = field(default_factory=dict)
    confirmed: dict[int, list[int]] = field(default_factory=dict)


def write_change(change: FileChange) -> dict[str, Any] | None:
    """The answer's entry for one file; None if nothing changes."""
    if change.text is not None and not (change.bullets or change.removals or change.confirmed):
        return None
    text = _skeleton(change.spec) if change.text is None else change.text
    new = {"action": "created", "content": text} if change.text is None else {"action": "edited"}
    entry: dict[str, Any] = {"filename": change.spec.name, **new}
    try:
        entry |= {"edits": edits} if (edits := _edits(text, change)) else {}
    except SectionError:
        closing = [note for leaving in change.removals.values() for _, note in leaving]
        notes = [*closing, *itertools.chain(*change.confirmed.values(), *map(_notes, change.bullets.values()))]
        entry |= {"action": "updated", "content": _whole(text, change), "notes": sorted(set(notes))}
    return entry | ({"reason": "Notes say that the entries which leave are done."} if change.removals else {})


def _skeleton(spec: FileSpec) -> str:
    """A new file: its title and those headings that neither stand for a date nor below one."""
    path: Path = ()
    lines = [f"# {spec.title}"]
    for section in spec.sections:
        path = (*(above for above in path if above.level < section.level), section)
        if not any(part.day for part in path):
            lines.append(f"{'#' * section.level} {section.text}")
    return "\n\n".join(lines) + "\n"


def _edits(text: str, change: FileChange) -> list[Edit]:
    """The edits of sections and lines. Raises SectionError if the service could not apply them."""
    outline = Outline(text)
    edits = [_edit("confirm_section", outline.address(at), "", notes) for at, notes in change.confirmed.items()]
    for number, leaving in change.removals.items():
        address, items, section = outline.address(number), [item for item, _ in leaving], outline.sections[number]
        if all(len(item.lines) == 1 for item in items):
            edits += [_edit("remove_line", address, "", [note]) | {"line": item.lines[0]} for item, note in leaving]
        else:
            body = "\n".join(itertools.chain(*_without(outline, items)[section.body : section.end])).strip("\n")
            edits.append(_edit("replace_section", address, body, [note for _, note in leaving]))
    added = text
    for path, bullets in change.bullets.items():
        known = _find_path(outline, path)
        if len(known) == len(path):
            edits.append(_edit("append_to_section", outline.address(known[-1]), _lines(bullets), _notes(bullets)))
        else:
            edits.append(_added_section(outline, known, path, bullets))
            added = apply_edits(added, [SectionEdit(**edits[-1])])
            outline = Outline(added)
    apply_edits(text, [SectionEdit(**edit) for edit in edits])
    return edits


def _find_path(outline: Outline, path: Path) -> list[int]:
    """The sections of a path as far as the file has them: with the same heading, else with the same words."""
    known: list[int] = []
    within = range(len(outline.sections))
    for part in path:
        same = [number for number in within if outline.heading(number) == part.text]
        words = set(word_stems(part.text))
        if not (same := same or [at for at in within if set(word_stems(outline.heading(at))) == words]):
            break
        # A title may have the words of a section below it.
        number = min(same, key=lambda number: abs(outline.sections[number].level - part.level))
        end = outline.sections[number].end
        known.append(number)
        within = range(number + 1, sum(section.start < end for section in outline.sections))
    return known


def _added_section(outline: Outline, known: list[int], path: Path, bullets: list[Bullet]) -> Edit:
    """The edit that adds a section behind its siblings, a day behind the days that are newer."""
    title = next((number for number, section in enumerate(outline.sections) if section.level == 1), None)
    parent = known[-1] if known else title
    around = () if parent is None else outline.sections[parent].path
    beside = [number for number, section in enumerate(outline.sections) if section.path[:-1] == around]
    missing = path[len(known) :]
    level = outline.sections[beside[0]].level if beside else max(missing[0].level, len(around) + 1)
    heading, *deeper = (f"{'#' * (level + depth)} {part.text}" for depth, part in enumerate(missing))
    content, notes = "\n\n".join([*deeper, _lines(bullets)]), _notes(bullets)
    newer = [number for number in beside if outline.heading(number) > missing[0].text] if missing[0].day else beside
    if parent is not None and not newer:
        return _edit("prepend_to_section", outline.address(parent), f"{heading}\n\n{content}", notes)
    address = heading if parent is None else f"{outline.address(parent)} > {heading}"
    return _edit("add_section", address, content, notes) | ({"after": outline.address(newer[-1])} if newer else {})


def _whole(text: str, change: FileChange) -> str:
    """The file without what leaves, and with bullets below their headings; what lacks one comes at the end."""
    outline = Outline(_heal(text))
    lines = _without(outline, [item for item, _ in itertools.chain(*change.removals.values())])
    for path, bullets in change.bullets.items():
        known = _find_path(outline, path)
        if len(known) == len(path):
            section = outline.sections[known[-1]]
            lines[outline.text_end(section.body, section.own_end) - 1] += ["", _lines(bullets)]
        else:
            headings = [f"{'#' * part.level} {part.text}" for part in path[len(known) :]]
            lines.append(["", "\n\n".join([*headings, _lines(bullets)])])
    return "\n".join(itertools.chain(*lines)) + "\n"


def _without(outline: Outline, items: Iterable[Item]) -> list[list[str]]:
    """Each line in a list of its own, which is empty where an item leaves."""
    gone = {at for item in items for at in range(item.start, item.start + len(item.lines))}
    return [[] if at in gone else [line] for at, line in enumerate(outline.lines)]


def _edit(op: str, heading: str, content: str, notes: Iterable[int]) -> Edit:
    edit: Edit = {"op": op, "heading": heading, "notes": sorted(set(notes))}
    return edit | ({"content": content} if content else {})


def _lines(bullets: Iterable[Bullet]) -> str:
    return "\n".join(line for bullet in bullets for line in bullet.lines)


def _notes(bullets: Iterable[Bullet]) -> list[int]:
    return [note for bullet in bullets for note in bullet.notes]


def _heal(text: str) -> str:
    """The text with a code fence or HTML block that runs into its end closed, so that a section can follow."""
    for healed in (text, *(f"{text}\n{closer}\n" for closer in _CLOSERS)):
        with suppress(SectionError):
            if parse(split_lines(f"{healed}\n\n# end"))[-1].heading:
                return healed
    return text
