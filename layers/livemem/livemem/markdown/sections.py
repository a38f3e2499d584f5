"""Sections of a Markdown file: their list, their contents, the section that an address names, and the line of one that
a text begins.

Pure functions on text. The callers decide where the text comes from and who may change it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from livemem.markdown.blocks import (
    Effort,
    Heading,
    MarkdownBlock,
    SectionError,
    collapse,
    headings_of,
    is_blank,
    only_heading,
    parse,
    split_lines,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_MAX_LISTED = 20
_MAX_SHOWN = 120
_MAX_READ = 200
"""Characters of a heading whose emphasis and links are looked at: that may take the square of their number."""
_READ_EFFORT = 2
"""Reading a heading takes as long as some lines of text, and is kept for the next address."""
# A heading's own text may hold " > "; only one in front of another run of # separates the parts of a path.
_BETWEEN = " > "
_PATH_SEPARATOR = re.compile(r" > (?=#{1,6}(?: |$))")
SHORTEST = 12
"""Characters that name a line by its beginning (docs/consolidation.md). Whole words that begin one line alone, and a
whole line, may be shorter.
"""
MOST_LISTED = 10
_FORM = re.compile(r"[ \t]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?|>[ \t]?)?")


class Section(NamedTuple):
    """A heading and all up to the next heading of the same or a higher level. Line numbers count from 0.

    ``path``: normalised heading lines ("## Title", also for underlined headings) from the outermost one to its own.
    ``start``: line of the heading; ``body``: first line behind the heading; ``own_end``: where the first child section
    starts, else ``end``; ``end``: first line behind the section.
    """

    path: tuple[str, ...]
    level: int
    start: int
    body: int
    own_end: int
    end: int


class MarkdownText(NamedTuple):
    """A text, parsed: its lines with their endings, the blocks on the top level, and the sections."""

    lines: tuple[str, ...]
    blocks: tuple[MarkdownBlock, ...]
    sections: tuple[Section, ...]


# Callers ask for one section of a text after the other, and edit it then; the last few texts are not parsed each time.
@lru_cache(maxsize=4)
def read(text: str) -> MarkdownText:
    """Parse a text. Raises like list_sections."""
    lines = split_lines(text)
    blocks = parse(lines)
    return MarkdownText(lines, tuple(blocks), tuple(nest(headings_of(blocks), len(lines))))


def list_sections(text: str) -> list[Section]:
    """Return all sections in the order of their headings, children behind their parents.

    Raises SectionError when lists are nested too deeply (20 in each other) to tell where they end.
    """
    return list(read(text).sections)


def addressed(text: str, address: str) -> list[Section]:
    """Return the sections that an edit's ``heading`` matches: one, none, or several if it is ambiguous.

    Raises like list_sections.
    """
    return matching(read(text).sections, address)


def section_text(text: str, section: Section) -> str:
    """Return the section with its heading and its child sections, byte for byte."""
    return "".join(read(text).lines[section.start : section.end])


def nest(headings: Sequence[Heading], line_count: int) -> list[Section]:
    """Return the sections of the headings. They are found from last to first, so each section's end is known."""
    paths: list[tuple[str, ...]] = []
    ancestors: list[tuple[int, tuple[str, ...]]] = []
    for heading in headings:
        while ancestors and ancestors[-1][0] >= heading.level:
            ancestors.pop()
        path = (*(ancestors[-1][1] if ancestors else ()), heading.line)
        ancestors.append((heading.level, path))
        paths.append(path)
    sections: list[Section] = []
    next_start = [line_count] * 7  # by level: where the next heading of this or a higher level starts
    own_end = line_count
    for heading, path in zip(reversed(headings), reversed(paths), strict=True):
        start, body, level, _ = heading
        sections.append(Section(path, level, start, body, own_end, next_start[level]))
        next_start[level:] = [start] * (7 - level)
        own_end = start
    return sections[::-1]


def find(sections: Sequence[Section], address: str, effort: Effort | None = None) -> Section:
    """Return the one section that ``address`` names: by its heading line, by its path, or by the end of its path; and
    where none has these very lines, by headings that read the same.

    Raises SectionError if there is none, or more than one, or if that takes more than ``effort`` (by default
    PARSE_EFFORT).
    """
    candidates = matching(sections, address, effort)
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        paths = dict.fromkeys(joined(section.path) for section in candidates)
        raise SectionError(
            f"{len(candidates)} sections match; address one of them by its path: {_listed(paths)}. Where the path does "
            'not tell them apart either, give the whole file with action "updated"'
        )
    if not sections:
        raise SectionError(f"no section {shown(address)}: the file has no headings")
    lines = dict.fromkeys(section.path[-1] for section in sections)
    raise SectionError(f"no section {shown(address)}; give the full heading line. The file has: {_listed(lines)}")


def matching(sections: Sequence[Section], address: str, effort: Effort | None = None) -> list[Section]:
    """Return the sections that ``address`` names, see find."""
    # As it is listed comes first: the text of a heading may hold the separator of paths, that of an underlined one may
    # end in #. Then closing # signs are taken for decoration, as in a heading line.
    undecorated = joined(heading_line(part) or "" for part in split_address(address))
    for text in (collapse(address), heading_line(address), undecorated):
        matches = [section for section in sections if section.path[-1] == text]
        matches = matches or [section for section in sections if joined(section.path) == text]
        matches = matches or [s for s in sections if any(joined(s.path[i:]) == text for i in range(1, len(s.path)))]
        if matches:
            return matches
    (effort or Effort()).spend(_READ_EFFORT * len(sections))
    texts = dict.fromkeys(text for text in (collapse(address), heading_line(address), undecorated) if text)
    return next((alike for text in texts if (alike := _read_alike(sections, text))), [])


def _read_alike(sections: Sequence[Section], address: str) -> list[Section]:
    """The sections whose headings read like those of the address: without emphasis, links and capitals, and where the
    address has no # signs, of any level. The address may be the end of a path, also as search joins titles.
    """
    for lines in dict.fromkeys((tuple(split_address(address)), tuple(collapse(address).split(_BETWEEN)))):
        parts = [_read_aloud(line) for line in lines]
        matches = (
            [section for section in sections if _reads_as(section, parts)] if all(text for _, text in parts) else []
        )
        if matches:
            return matches
    return []


def alike(text: str, other: str) -> bool:
    """Whether two heading lines are the same, or read the same."""
    return text == other or (_read_aloud(text)[1] != "" and _read_aloud(text) == _read_aloud(other))


def _reads_as(section: Section, parts: Sequence[tuple[int, str]]) -> bool:
    read = [_read_aloud(line) for line in section.path[-len(parts) :]]
    if len(read) < len(parts):
        return False
    return all(
        text == part and address_level in (0, level)
        for (address_level, part), (level, text) in zip(parts, read, strict=True)
    )


@lru_cache(maxsize=4096)
def _read_aloud(line: str) -> tuple[int, str]:
    """The level of a heading line, 0 for a text without # signs, and its words as they are read."""
    text = line.lstrip("#")
    if len(line) > _MAX_READ:
        return len(line) - len(text), text.strip().casefold()
    children = _inline().parseInline(text.strip())[0].children or []
    words = "".join(child.content for child in children if child.type in ("text", "code_inline"))
    return len(line) - len(text), collapse(words).casefold()


@lru_cache(maxsize=1)
def _inline() -> MarkdownIt:
    # Loaded where Markdown is taken apart: most functions begin with something else.
    from markdown_it import MarkdownIt  # noqa: PLC0415

    inline = MarkdownIt("commonmark").enable("strikethrough")
    # As in blocks.py.
    inline.parseInline("")
    return inline


def heading_line(text: str) -> str | None:
    """Return the text as a normalised heading line, None if it is none."""
    heading = only_heading(text)
    return heading.line if heading else None


def split_address(address: str) -> list[str]:
    """Return the heading lines of a path ``# A > ## B``; of a plain heading just that."""
    return _PATH_SEPARATOR.split(collapse(address))


def joined(path: Iterable[str]) -> str:
    """Return a path as an address."""
    return " > ".join(path)


def shown(text: str) -> str:
    """Return the text in quotes for a message, cut at 120 characters."""
    text = collapse(text[: _MAX_SHOWN + 1])
    return f'"{text}"' if len(text) <= _MAX_SHOWN else f'"{text[:_MAX_SHOWN]}..."'


def _listed(texts: Iterable[str]) -> str:
    names = [shown(text) for text in texts]
    more = len(names) - _MAX_LISTED
    return ", ".join(names[:_MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def find_line(lines: Sequence[str], start: int, stop: int, text: str) -> int:
    """The number of the line between `start` and `stop` that is `text`, or begins with it. The mark of a list may be
    left out.

    Raises SectionError if no line fits, or more than one does. It names those that fit.
    """
    collapsed = collapse(text)
    if not collapsed:
        raise SectionError("line is empty: give the beginning of the line")
    numbers = [number for number in range(start, stop) if not is_blank(lines[number])]
    for target, read in ((collapsed, collapse), (_bare(collapsed), _bare)):
        matches = [number for number in numbers if read(lines[number]) == target]
        fits = matches or [number for number in numbers if target and read(lines[number]).startswith(target)]
        words = len(fits) == 1 and _ends_word(read(lines[fits[0]]), target)
        if fits and not matches and len(collapsed) < SHORTEST and not words:
            raise SectionError(f"line {shown(text)} is too short: give at least {SHORTEST} characters of its beginning")
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise SectionError(f"{len(fits)} lines fit; give more of the line: {_listed_lines(lines, fits)}")
    raise SectionError(f"no line begins with {shown(text)}; the section has: {_listed_lines(lines, numbers)}")


def _ends_word(line: str, beginning: str) -> bool:
    """Whether a beginning of a line has a word, and no part of one at its end."""
    after = line[len(beginning) :][:1]
    return any(map(str.isalnum, beginning)) and not (beginning[-1].isalnum() and after.isalnum())


def formed(old: str, new: Sequence[str]) -> list[str]:
    """New lines for the place of an old one: those of a list, and their texts, begin as it does where they have no mark
    of their own.
    """
    begin = _form(old)
    if not begin.strip() or any(_form(line).strip() for line in new if not is_blank(line)):
        return list(new)
    return [line if is_blank(line) else begin + line.lstrip(" \t") for line in new]


def _form(line: str) -> str:
    """The blanks and the mark of a list or quote at the beginning of a line."""
    form = _FORM.match(line)
    return form[0] if form else ""


def _bare(line: str) -> str:
    return _FORM.sub("", collapse(line), count=1)


def _listed_lines(lines: Sequence[str], numbers: Sequence[int]) -> str:
    names = [shown(lines[number]) for number in numbers[:MOST_LISTED]]
    more = [f"{len(numbers) - MOST_LISTED} more"] if len(numbers) > MOST_LISTED else []
    return ", ".join([*names, *more]) or "no lines"
