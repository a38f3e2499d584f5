"""The change of one bank file, as an entry of the answer: section edits where they can express it.

The words of the contract are those of docs/consolidation.md; a heading is named by its line or by its path. A whole
file is sent only when it is new, or where its headings cannot be told apart or its text ends in an open code fence.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from local.offline_llm.layout import FileSpec, Section
from local.offline_llm.outline import NOTHING_HERE, Item, Outline, heal, read_outline
from local.offline_llm.texts import ENGLISH, FRENCH
from local.offline_llm.words import all_stems

Path = tuple[Section, ...]
Edit = dict[str, Any]

_DEEPEST = 6  # Markdown's last heading level
_LINES_MOST = 20  # lines of one section that are edited one by one


@dataclass(frozen=True)
class Bullet:
    """An entry to add: its lines and the numbers of the notes that it rests on."""

    lines: tuple[str, ...]
    notes: tuple[int, ...]


@dataclass(frozen=True)
class Removal:
    """An item that leaves the section of a heading (its index in the outline), and the note that takes its place."""

    heading: int
    item: Item
    note: int


@dataclass
class FileChange:
    """All changes of one file: bullets by section (in the order of filing), items that leave, and confirmations."""

    spec: FileSpec
    text: str | None  # None: the file does not exist yet
    bullets: dict[Path, list[Bullet]] = field(default_factory=dict)
    removals: list[Removal] = field(default_factory=list)
    confirmed: dict[int, list[int]] = field(default_factory=dict)  # by heading, the notes that repeat an entry


@dataclass(frozen=True)
class _Branch:
    """A heading that the file lacks, with what goes below it: bullets by the path of further headings."""

    parent: int | None
    root: Section
    bullets: Mapping[Path, list[Bullet]]


def write_change(change: FileChange) -> dict[str, Any] | None:
    """The answer's entry for one file; None if nothing changes."""
    entry: dict[str, Any] = {"filename": change.spec.name}
    if change.text is None:
        text = skeleton(change.spec)
        entry |= {"action": "created", "content": text}
    elif not change.bullets and not change.removals and not change.confirmed:
        return None
    else:
        entry["action"] = "edited"
        text = change.text
    outline = read_outline(text)
    found, branches = _resolve(outline, change)
    rewritten, direct = _rewrite(text, outline, found, change.removals)
    rewritten = heal(rewritten)
    if rewritten != text:
        entry |= {"action": "updated", "content": rewritten}
        outline = read_outline(rewritten)  # lines moved, headings did not
    if direct:
        entry["notes"] = direct
    confirmed = [
        {"op": "confirm_section", "heading": outline.addresses[index], "notes": sorted(set(notes))}
        for index, notes in sorted(change.confirmed.items())
    ]
    edits = [*confirmed, *_sections(outline, found, change.removals), *_additions(outline, branches, change.spec)]
    if edits:
        entry["edits"] = edits
    if change.removals:
        entry["reason"] = (
            f"Closed or replaced by the notes: {len(change.removals)}. Each stands below the entry that took its place."
        )
    return entry


def skeleton(spec: FileSpec) -> str:
    """A new file: its title and those headings that neither stand for a date nor below one."""
    lines = [f"# {spec.title}"]
    day_level = 0
    for section in spec.sections:
        if section.day:
            day_level = section.level
        elif day_level and section.level <= day_level:
            day_level = 0
        if not day_level:
            lines += ["", f"{'#' * section.level} {section.text}"]
    return "\n".join(lines) + "\n"


# Finding sections


def find_heading(outline: Outline, section: Section, among: Sequence[int]) -> int | None:
    """The heading that means a section: the same text, else the same words; for a date, one that begins with it."""
    headings = outline.headings
    same = [index for index in among if headings[index].text == section.text]
    if not same and section.day:
        same = [index for index in among if headings[index].text.startswith(section.text)]
    if not same:
        words = all_stems(section.text)
        same = [index for index in among if all_stems(headings[index].text) == words]
    # A title may have the words of a section below it.
    return min(same, key=lambda index: abs(headings[index].level - section.level), default=None)


def find_path(outline: Outline, path: Path) -> list[int]:
    """The headings of a path as far as the file has them."""
    found: list[int] = []
    among: Sequence[int] = range(len(outline.headings))
    for section in path:
        index = find_heading(outline, section, among)
        if index is None:
            break
        found.append(index)
        end = outline.headings[index].end
        among = [below for below in range(index + 1, len(outline.headings)) if outline.headings[below].start < end]
    return found


def _resolve(outline: Outline, change: FileChange) -> tuple[dict[int, list[Bullet]], list[_Branch]]:
    """The bullets by the heading that they go under, and the branches that the file lacks."""
    found: dict[int, list[Bullet]] = {}
    branches: dict[tuple[int | None, str], dict[Path, list[Bullet]]] = {}
    roots: dict[tuple[int | None, str], Section] = {}
    for path, bullets in change.bullets.items():
        known = find_path(outline, path)
        if len(known) == len(path) or (known and outline.headings[known[-1]].level >= _DEEPEST):
            found.setdefault(known[-1], []).extend(bullets)
            continue
        parent = known[-1] if known else _title(outline, path[0])
        while parent is not None and outline.addresses[parent] is None:
            parent = outline.headings[parent].parent
        root, *below = path[len(known) :]
        key = (parent, root.text)
        roots.setdefault(key, root)
        branches.setdefault(key, {}).setdefault(tuple(below), []).extend(bullets)
    return found, [_Branch(parent, roots[parent, text], below) for (parent, text), below in branches.items()]


def _title(outline: Outline, section: Section) -> int | None:
    """The heading above all sections: the first one of level 1, unless the section has that level itself."""
    if section.level == 1:
        return None
    return next((index for index, heading in enumerate(outline.headings) if heading.level == 1), None)


# Edits of present sections


def _rewrite(
    text: str, outline: Outline, found: Mapping[int, list[Bullet]], removals: Iterable[Removal]
) -> tuple[str, list[int]]:
    """Change right in the text those sections that no address tells apart.

    Returns the new text and the numbers of the notes that it rests on.
    """
    lines: list[str | None] = list(outline.lines)
    added: dict[int, list[str]] = {}
    notes: set[int] = set()
    for index, bullets in found.items():
        if outline.addresses[index] is None:
            notes.update(number for bullet in bullets for number in bullet.notes)
            added[outline.text_end(index)] = ["", *_lines(bullets)]
    for removal in removals:
        if outline.addresses[removal.heading] is None:
            notes.add(removal.note)
            for line in removal.item.span:
                lines[line] = None
    if not notes:
        return text, []
    kept = [
        line
        for number in range(len(lines) + 1)
        for line in (*added.get(number, ()), *([lines[number]] if number < len(lines) else ()))
        if line is not None
    ]
    return "\n".join(kept), sorted(notes)


def _sections(outline: Outline, found: Mapping[int, list[Bullet]], removals: Iterable[Removal]) -> list[Edit]:
    """The edits of the sections that items leave or come to, outer ones first."""
    leaving: dict[int, list[Removal]] = {}
    for removal in removals:
        leaving.setdefault(removal.heading, []).append(removal)
    return [
        edit
        for index in sorted({*found, *leaving})
        if outline.addresses[index] is not None
        for edit in _section(outline, index, leaving.get(index, []), found.get(index, []))
    ]


def _section(outline: Outline, index: int, leaving: Sequence[Removal], bullets: Sequence[Bullet]) -> list[Edit]:
    """The edits of one section: of its lines where they can be named, else of the whole."""
    address = outline.addresses[index]
    old = [removal.item.lines for removal in leaving]
    notes = [*(removal.note for removal in leaving), *_notes(bullets)]
    content = outline.body(index, old, _lines(bullets))
    if old and not content and _is_part_of_day(outline, index):
        # Of a day only those parts stand that have something to say.
        return [_edit("delete_section", address, "", notes)]
    if outline.is_blank(index):
        old = [(NOTHING_HERE,)]
    if len(old) > _LINES_MOST or not all(len(lines) == 1 and outline.names(index, lines[0]) for lines in old):
        return [_edit("replace_section", address, content, notes)]
    edits = []
    rest = list(bullets)
    for lines, removal in zip_longest(old, leaving):
        # What takes the place of a line of the same section stands there.
        new = next((bullet for bullet in rest if removal is None or removal.note in bullet.notes), None)
        if new:
            rest.remove(new)
            edits.append(_edit("replace_line", address, "\n".join(new.lines), new.notes) | {"line": lines[0]})
        else:
            edits.append(_edit("remove_line", address, "", [removal.note]) | {"line": lines[0]})
    return edits + ([_edit("append_to_section", address, "\n".join(_lines(rest)), _notes(rest))] if rest else [])


def _is_part_of_day(outline: Outline, index: int) -> bool:
    parent = outline.headings[index].parent
    return parent is not None and _means(Section(1, "", day=True), outline.headings[parent].text)


# New sections


def _additions(outline: Outline, branches: Sequence[_Branch], spec: FileSpec) -> list[Edit]:
    """Add the branches that the file lacks, each at its place in the order of the rules, newer days first."""
    edits = []
    placed: dict[int | None, list[tuple[tuple[int, int], int, str]]] = {}  # by parent: order, level, address
    for branch in sorted(branches, key=lambda branch: _order(branch.root, spec)):
        siblings = placed.setdefault(branch.parent, _present(outline, branch.parent, spec))
        order = _order(branch.root, spec)
        before = [sibling for sibling in siblings if sibling[0] < order]
        parent = None if branch.parent is None else outline.addresses[branch.parent]
        level = _level(outline, branch, before[-1][1] if before else None)
        heading = f"{'#' * level} {branch.root.text}"
        content = _branch_content(branch, level, spec)
        notes = _notes(bullet for bullets in branch.bullets.values() for bullet in bullets)
        path = heading if parent is None else f"{parent} > {heading}"
        if before:
            edits.append(_edit("add_section", path, content, notes) | {"after": before[-1][2]})
        elif parent is not None:
            edits.append(_edit("prepend_to_section", parent, f"{heading}\n\n{content}", notes))
        else:
            edits.append(_edit("add_section", path, content, notes))
        siblings.append((order, level, path))
        siblings.sort(key=lambda sibling: sibling[0])
    return edits


def _order(section: Section, spec: FileSpec) -> tuple[int, int]:
    """The rank of a section among its siblings: its place in the rules, and for days the newest first."""
    known_sections = _known(spec)
    for rank, known in enumerate(known_sections):
        if known.day and section.day:
            digits = "".join(char for char in section.text if char.isdigit())
            return rank, -int(digits or 0)
        if known.text == section.text and not known.day:
            return rank, 0
    return len(known_sections), 0


def _known(spec: FileSpec) -> tuple[Section, ...]:
    """The sections that the rules name for a file, or those by category where they name none."""
    return spec.sections or tuple(Section(2, heading) for one in (ENGLISH, FRENCH) for heading in one.headings.values())


def _present(outline: Outline, parent: int | None, spec: FileSpec) -> list[tuple[tuple[int, int], int, str]]:
    """The sections already there below a parent which the rules know, in the order of the rules."""
    present = []
    for index in outline.children(parent):
        heading, address = outline.headings[index], outline.addresses[index]
        section = next((known for known in _known(spec) if _means(known, heading.text)), None)
        if section is not None and address is not None:
            named = Section(section.level, heading.text if section.day else section.text, day=section.day)
            present.append((_order(named, spec), heading.level, address))
    return sorted(present)


def _means(section: Section, text: str) -> bool:
    if section.day:
        return text[:4].isdigit() and text[4:5] == "-"
    return all_stems(section.text) == all_stems(text)


def _level(outline: Outline, branch: _Branch, before: int | None) -> int:
    """The level of a new heading: that of its neighbours, so that it neither swallows them nor falls under them."""
    if before is not None:
        return before
    children = outline.children(branch.parent)
    if branch.parent is None:
        return min([branch.root.level, *(outline.headings[index].level for index in children)])
    if children:
        return outline.headings[children[0]].level
    return max(branch.root.level, outline.headings[branch.parent].level + 1)


def _branch_content(branch: _Branch, level: int, spec: FileSpec) -> str:
    """The text below a new heading: its own bullets, then its sub-sections in the order of the rules."""
    lines: list[str] = []
    shown: tuple[str, ...] = ()
    for path, bullets in sorted(
        branch.bullets.items(), key=lambda pair: [_order(section, spec) for section in pair[0]]
    ):
        for depth, section in enumerate(path):
            if shown[: depth + 1] != tuple(above.text for above in path[: depth + 1]):
                lines += ["", f"{'#' * (level + 1 + depth)} {section.text}"] if level + depth < _DEEPEST else []
        shown = tuple(section.text for section in path)
        lines += ["", *_lines(bullets)]
    return "\n".join(lines).strip("\n")


def _edit(op: str, heading: str | None, content: str, notes: Iterable[int]) -> Edit:
    return {"op": op, "heading": heading, "content": content, "notes": sorted(set(notes))}


def _lines(bullets: Iterable[Bullet]) -> list[str]:
    return [line for bullet in bullets for line in bullet.lines]


def _notes(bullets: Iterable[Bullet]) -> list[int]:
    return [number for bullet in bullets for number in bullet.notes]
