"""The change of one bank file, as an entry of the answer: section edits where they can express it.

The words of the contract are those of docs/consolidation.md; a heading is named by its line or by its path. A whole
file is sent only when it is new, or where its headings cannot be told apart or its text ends in an open code fence.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from local.offline_llm.outline import Item, Outline, heal, read_outline
from local.offline_llm.rules import FileSpec, Path
from local.offline_llm.words import all_stems

Edit = dict[str, Any]

_DEEPEST = 6  # Markdown's last heading level
_LINES_MOST = 20  # lines of one section that are edited one by one


class Bullet(NamedTuple):
    """An entry to add: its lines and the numbers of the notes that it rests on."""

    lines: tuple[str, ...]
    notes: list[int]


@dataclass
class FileChange:
    """All changes of one file: bullets by section, and by heading the items that leave, with the note that closes each,
    and the notes that repeat an entry. `text` None: the file does not exist yet.
    """

    spec: FileSpec
    text: str | None
    bullets: dict[Path, list[Bullet]] = field(default_factory=dict)
    removals: dict[int, list[tuple[Item, int]]] = field(default_factory=dict)
    confirmed: dict[int, list[int]] = field(default_factory=dict)


_Missing = dict[tuple[int | None, str], dict[Path, list[Bullet]]]
"""What goes below headings that the file lacks, by their parents and texts."""


def write_change(change: FileChange) -> dict[str, Any] | None:
    """The answer's entry for one file; None if nothing changes."""
    entry: dict[str, Any] = {"filename": change.spec.name, "action": "edited"}
    if change.text is None:
        text = _skeleton(change.spec)
        entry |= {"action": "created", "content": text}
    elif not change.bullets and not change.removals and not change.confirmed:
        return None
    else:
        text = change.text
        if (whole := heal(text)) != text and change.bullets:
            text = whole
            entry |= {"action": "updated", "content": text}
    outline = read_outline(text)
    here, missing = _places(outline, change.bullets)
    if unnamed := {index: here.pop(index) for index in list(here) if outline.addresses[index] is None}:
        # Where no address tells a heading apart, its entries are put into the whole file.
        lines = list(outline.lines)
        for index in sorted(unnamed, reverse=True):
            lines[outline.text_end(index) : outline.text_end(index)] = ["", *_lines(unnamed[index])]
        entry |= {"notes": sorted({number for bullets in unnamed.values() for number in _numbers(bullets)})}
        entry |= {"action": "created" if change.text is None else "updated", "content": "\n".join(lines)}
    edits = [
        _edit("confirm_section", outline.addresses[index], "", numbers)
        for index, numbers in sorted(change.confirmed.items())
    ]
    for index in sorted({*here, *change.removals}):
        edits += _edit_section(outline, index, change.removals.get(index, []), here.get(index, []))
    edits += _add_sections(outline, missing, change.spec)
    if change.removals:
        entry["reason"] = "Notes say that the entries which leave are done."
    return entry | ({"edits": edits} if edits else {})


def _places(outline: Outline, new: Mapping[Path, list[Bullet]]) -> tuple[dict[int, list[Bullet]], _Missing]:
    """The bullets by the heading that they go under, and those whose heading the file lacks."""
    here: dict[int, list[Bullet]] = {}
    missing: _Missing = {}
    for path, bullets in new.items():
        known = _find_path(outline, path)
        if len(known) == len(path) or (known and outline.headings[known[-1]].level >= _DEEPEST):
            here.setdefault(known[-1], []).extend(bullets)
            continue
        parent = known[-1] if known else _title(outline)
        while parent is not None and outline.addresses[parent] is None:
            parent = outline.headings[parent].parent
        below = path[len(known) :]
        missing.setdefault((parent, below[0].text), {}).setdefault(below, []).extend(bullets)
    return here, missing


def _skeleton(spec: FileSpec) -> str:
    """A new file: its title and those headings that neither stand for a date nor below one."""
    lines = [f"# {spec.title}"]
    day_level = _DEEPEST + 1
    for section in spec.sections:
        day_level = section.level if section.day else day_level if section.level > day_level else _DEEPEST + 1
        if day_level > _DEEPEST:
            lines += ["", f"{'#' * section.level} {section.text}"]
    return "\n".join(lines) + "\n"


def _find_path(outline: Outline, path: Path) -> list[int]:
    """The headings of a path as far as the file has them: with the same text, else with the same words."""
    found: list[int] = []
    among: Sequence[int] = range(len(outline.headings))
    for section in path:
        same = [index for index in among if outline.headings[index].text == section.text]
        words = all_stems(section.text)
        same = same or [index for index in among if all_stems(outline.headings[index].text) == words]
        # A title may have the words of a section below it.
        index = min(same, key=lambda index: abs(outline.headings[index].level - section.level), default=None)
        if index is None:
            break
        found.append(index)
        end = outline.headings[index].end
        among = [below for below in range(index + 1, len(outline.headings)) if outline.headings[below].start < end]
    return found


def _title(outline: Outline) -> int | None:
    return next((index for index, heading in enumerate(outline.headings) if heading.level == 1), None)


def _edit_section(
    outline: Outline,
    index: int,
    leaving: Sequence[tuple[Item, int]],
    bullets: Sequence[Bullet],
) -> list[Edit]:
    """The edits of a present section: of its lines where they can be named, else of the whole."""
    address = outline.addresses[index]
    by_line = len(leaving) <= _LINES_MOST and all(
        len(item.lines) == 1 and outline.names(index, item.lines[0]) for item, _ in leaving
    )
    if leaving and not by_line:
        rest = outline.body(index, [item for item, _ in leaving])
        edits = [_edit("replace_section", address, rest, [number for _, number in leaving])]
    else:
        edits = [_edit("remove_line", address, "", [number]) | {"line": item.lines[0]} for item, number in leaving]
    return edits + (
        [_edit("append_to_section", address, "\n".join(_lines(bullets)), _numbers(bullets))] if bullets else []
    )


def _add_sections(
    outline: Outline,
    missing: _Missing,
    spec: FileSpec,
) -> list[Edit]:
    """Add the sections that the file lacks, each at its place in the order of the rules, newer days first."""
    edits = []
    placed: dict[int | None, list[tuple[tuple[int, int], int, str]]] = {}  # by parent: rank, level, address
    for (parent, text), branch in sorted(missing.items(), key=lambda pair: _rank(pair[0][1], spec)):
        siblings = placed.setdefault(parent, _siblings(outline, parent, spec))
        rank = _rank(text, spec)
        before = [sibling for sibling in siblings if sibling[0] < rank]
        above = None if parent is None else outline.addresses[parent]
        children = outline.children(parent)
        level = before[-1][1] if before else outline.headings[children[0]].level if children else 0
        level = level or max(
            next(iter(branch))[0].level, outline.headings[parent].level + 1 if parent is not None else 1
        )
        heading = f"{'#' * level} {text}"
        content = _branch_content(branch, level, spec)
        numbers = _numbers(bullet for bullets in branch.values() for bullet in bullets)
        address = heading if above is None else f"{above} > {heading}"
        if before:
            edits.append(_edit("add_section", address, content, numbers) | {"after": before[-1][2]})
        elif above is not None and rank[0] < len(spec.sections):
            edits.append(_edit("prepend_to_section", above, f"{heading}\n\n{content}", numbers))
        else:
            edits.append(_edit("add_section", address, content, numbers))
        siblings.append((rank, level, address))
        siblings.sort()
    return edits


def _rank(text: str, spec: FileSpec) -> tuple[int, int]:
    """The rank of a section among its siblings: its place in the rules, and for days the newest first."""
    day = int("".join(char for char in text[:10] if char.isdigit()) or 0) if re.match(r"\d{4}-|Undated", text) else None
    for place, section in enumerate(spec.sections):
        if section.day and day is not None:
            return place, -day
        if not section.day and all_stems(section.text) == all_stems(text):
            return place, 0
    return len(spec.sections), 0


def _siblings(outline: Outline, parent: int | None, spec: FileSpec) -> list[tuple[tuple[int, int], int, str]]:
    """The sections below a parent which the rules know, in the order of the rules."""
    known = []
    for index in outline.children(parent):
        address, rank = outline.addresses[index], _rank(outline.headings[index].text, spec)
        if address is not None and rank[0] < len(spec.sections):
            known.append((rank, outline.headings[index].level, address))
    return sorted(known)


def _branch_content(branch: Mapping[Path, list[Bullet]], level: int, spec: FileSpec) -> str:
    """The text below a new heading: its own bullets, then its sub-sections in the order of the rules."""
    lines: list[str] = []
    shown: Path = ()
    for path, bullets in sorted(branch.items(), key=lambda pair: [_rank(part.text, spec) for part in pair[0]]):
        for depth, section in enumerate(path[1:], 1):
            if shown[: depth + 1] != path[: depth + 1] and level + depth <= _DEEPEST:
                lines += ["", f"{'#' * (level + depth)} {section.text}"]
        shown = path
        lines += ["", *_lines(bullets)]
    return "\n".join(lines).strip("\n")


def _edit(op: str, heading: str | None, content: str, notes: Iterable[int]) -> Edit:
    edit: Edit = {"op": op, "heading": heading, "notes": sorted(set(notes))}
    return edit | ({"content": content} if op != "confirm_section" else {})


def _lines(bullets: Iterable[Bullet]) -> list[str]:
    return [line for lines, _ in bullets for line in lines]


def _numbers(bullets: Iterable[Bullet]) -> list[int]:
    return [number for _, numbers in bullets for number in numbers]
