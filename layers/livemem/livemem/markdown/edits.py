"""Edits of single sections of a Markdown file that leave every other line as it was.

An edit is proved by parsing its neighbourhood again: the headings around it must be the same ones at the places
computed beforehand. Content that would swallow or invent a section (an open fence, a stray heading) is refused by that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from livemem.errors import FieldError
from livemem.markdown.blocks import (
    Block,
    Heading,
    SectionError,
    collapse,
    headings_of,
    only_heading,
    parse,
    split_lines,
)
from livemem.markdown.sections import Section, find, heading_line, joined, nest, shown, split_address

Op = Literal["replace_section", "append_to_section", "prepend_to_section", "add_section", "delete_section"]


@dataclass(frozen=True)
class Edit:
    """One change of one section. ``notes`` are the numbers of the notes that it rests on; they are not used here."""

    op: Op
    heading: str
    content: str = ""
    after: str | None = None
    notes: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Document:
    """A text being edited. Each of ``lines`` ends in a line ending; ``open_end``: the last one had none originally."""

    lines: tuple[str, ...]
    sections: tuple[Section, ...]
    line_ending: str
    open_end: bool


@dataclass(frozen=True)
class _Content:
    """The content of an edit as lines of the document, without blank lines around it, and what it is made of."""

    lines: tuple[str, ...]
    blocks: tuple[Block, ...]

    @property
    def headings(self) -> list[Heading]:
        return headings_of(self.blocks)

    @property
    def begins_with_heading(self) -> bool:
        return bool(self.blocks) and self.blocks[0].heading is not None and self.blocks[0].start == 0


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return ``text`` with the edits applied one after the other, each finding its section in the result so far.

    Lines that no edit touches stay byte for byte. Inserted lines take the file's prevailing line ending and are set off
    by a blank line, except where a list goes on. Where the end of the file is touched it ends in exactly one newline.
    The operations, "section" meaning the one that ``heading`` names by its full line or by a path ``# A > ## B``:

    - ``replace_section``: ``content`` instead of all below the heading, child sections included.
    - ``append_to_section``: at the end of the section's own text, in front of its child sections. Content that begins
      with a heading is a new child section and goes behind the present ones.
    - ``prepend_to_section``: below the heading; content that begins with a heading goes in front of the child sections.
    - ``add_section``: a new section, ``heading`` (or the last part of the path) being its ATX heading line, behind the
      section named by ``after``, else at the end of the path's parent, else at the end of the file.
    - ``delete_section``: the section with its child sections; ``content`` is ignored.

    Raises SectionError, whose message names the edit, for a section that is missing, ambiguous or, with
    ``add_section``, exists already, for empty content where there must be some, for content with a heading that is not
    deeper than the section's, and for any edit after which another section would be a different one.
    """
    document = _open(text)
    for number, edit in enumerate(edits, 1):
        try:
            document = _apply(document, edit)
        except SectionError as error:
            where = [FieldError(f"edits.{number - 1}", error.detail)]
            raise SectionError(f"edit {number} ({edit.op} {shown(edit.heading)}): {error}", fields=where) from error
    result = "".join(document.lines)
    return result.removesuffix(document.line_ending) if document.open_end else result


def _apply(document: _Document, edit: Edit) -> _Document:
    if edit.op == "add_section":
        return _add(document, edit)
    section = find(document.sections, edit.heading)
    if edit.op == "replace_section":
        return _put(document, section.body, section.end, _content(document, edit, section.level, section.path[-1]))
    if edit.op == "append_to_section":
        return _append(document, section, _content(document, edit, section.level, section.path[-1]))
    if edit.op == "prepend_to_section":
        return _prepend(document, section, _content(document, edit, section.level, section.path[-1]))
    if edit.op == "delete_section":
        # One of the blank lines above stays as the one between what remains above and below.
        start = min(_end_of_text(document.lines, section.start) + 1, section.start)
        return _put(document, start, section.end, _Content((), ()))
    raise SectionError("unknown op")


def _append(document: _Document, section: Section, content: _Content) -> _Document:
    _require(content)
    at = _end_of_text(document.lines, section.own_end)
    if content.begins_with_heading:
        last_child = _children(document, section)[-1:]
        # Behind a child that its heading is deeper than it would become part of that child.
        if last_child and content.headings[0].level <= last_child[0].level:
            at = _end_of_text(document.lines, section.end)
    above = _own_blocks(document, section)[-1:] if content.blocks and content.blocks[0].tight_list else []
    goes_on = bool(above) and content.blocks[0].start == 0 and above[0].end >= at
    tight = goes_on and above[0].tight_list == content.blocks[0].tight_list
    return _put_new(document, at, content, tight_above=tight)


def _prepend(document: _Document, section: Section, content: _Content) -> _Document:
    _require(content)
    at = section.body
    while at < section.own_end and _blank(document.lines[at]):
        at += 1
    if at == section.own_end or content.begins_with_heading:
        return _put_new(document, _end_of_text(document.lines, section.own_end), content)
    if content.headings:
        raise SectionError(
            f"the present text of the section would fall under {shown(content.headings[-1].line)}: "
            "prepend text without headings, or begin the content with the heading of a new child section"
        )
    below = _own_blocks(document, section)[:1] if content.blocks and content.blocks[-1].tight_list else []
    goes_on = bool(below) and below[0].start == at and content.blocks[-1].end >= len(content.lines)
    tight = goes_on and below[0].tight_list == content.blocks[-1].tight_list
    return _put_new(document, at, content, tight_below=tight)


def _add(document: _Document, edit: Edit) -> _Document:
    parent, line, heading = _new_heading(document, edit.heading)
    if parent and heading.level <= parent.level:
        raise SectionError(f"{shown(line)} cannot be a child of {shown(parent.path[-1])}: it needs more # signs")
    at = parent.end if parent else len(document.lines)
    if edit.after and edit.after.strip():
        after = find(document.sections, edit.after)
        if parent and not parent.start <= after.start < parent.end:
            raise SectionError(f"after: {shown(edit.after)} is not a part of {shown(joined(parent.path))}")
        at = after.end
    body = _content(document, edit, heading.level, heading.line)
    first_lines = [line + document.line_ending, *[document.line_ending] * bool(body.lines)]
    blocks = [block.moved(len(first_lines)) for block in body.blocks]
    content = _Content((*first_lines, *body.lines), (Block("heading_open", 0, 1, heading, ""), *blocks))
    result = _put_new(document, _end_of_text(document.lines, at), content)
    if parent and all(section.path != (*parent.path, heading.line) for section in result.sections):
        raise SectionError(f"it would not become a child of {shown(parent.path[-1])} but of a section inside that")
    return result


def _new_heading(document: _Document, address: str) -> tuple[Section | None, str, Heading]:
    """Return the parent that a path names (None for a plain heading), the line to insert and the heading that it is."""
    existing = {section.path[-1] for section in document.sections}
    if existing & {collapse(address), heading_line(address)}:
        raise SectionError(
            "this section exists already: use append_to_section or replace_section, "
            'or name the new one by its path ("# Parent > ## Name") if another parent is meant'
        )
    *parents, line = split_address(address)
    heading = only_heading(line)
    if len(split_lines(address.strip())) > 1 or not heading or not heading.line.strip("# "):
        raise SectionError('heading must be exactly one heading line with a text, like "## Name"')
    if not parents:
        return None, line, heading
    parent = find(document.sections, joined(parents))
    if any(section.path == (*parent.path, heading.line) for section in document.sections):
        raise SectionError("this section exists already: use append_to_section or replace_section")
    return parent, line, heading


def _content(document: _Document, edit: Edit, level: int, heading: str) -> _Content:
    """Return the edit's content, checked on its own, without a first line that repeats the section's heading."""
    lines = _stripped([line.rstrip("\r\n") for line in split_lines(edit.content)])
    blocks = _closed_blocks(lines)
    if blocks and (first := blocks[0].heading) and (first.start, first.level, first.line) == (0, level, heading):
        # Models often repeat the heading though they are asked for the body alone. As a heading of this level is
        # refused below, nothing else can be meant; one is removed, a second one is a mistake that must show.
        lines = _stripped(lines[first.body :])
        blocks = _closed_blocks(lines)
    content = _Content(tuple(line + document.line_ending for line in lines), tuple(blocks))
    for found in content.headings:
        if found.level <= level:
            raise SectionError(
                f"the content holds the heading {shown(found.line)}, which would end the section: use deeper headings "
                "in content, and one edit per section"
            )
    return content


def _closed_blocks(lines: list[str]) -> list[Block]:
    """Return the blocks of lines without endings; raise if a heading behind them would still be a part of one."""
    *blocks, last = parse([line + "\n" for line in [*lines, "", "# end"]])
    if not last.heading or last.start != len(lines) + 1:
        raise SectionError("the content leaves a code fence or an HTML block (comment, tag) open: close it")
    return blocks


def _require(content: _Content) -> None:
    # The notes of an edit count as recorded; an edit without content would lose them.
    if not content.lines:
        raise SectionError("the content is empty")


def _put_new(
    document: _Document, at: int, content: _Content, *, tight_above: bool = False, tight_below: bool = False
) -> _Document:
    """Insert content in front of line ``at``, refused if a section of it would have the path of an existing one."""
    result = _put(document, at, at, content, tight_above=tight_above, tight_below=tight_below)
    present = Counter(section.path for section in document.sections)
    for path in Counter(section.path for section in result.sections) - present:
        if path in present:
            raise SectionError(f"there is a section {shown(joined(path))} already: edit that one by its path")
    return result


def _put(
    document: _Document,
    start: int,
    stop: int,
    content: _Content,
    *,
    tight_above: bool = False,
    tight_below: bool = False,
) -> _Document:
    """Put content in place of the lines from ``start`` to ``stop``, with a blank line on each side unless there is one.

    Raises SectionError if any heading outside would not stay what and where it is.
    """
    lines, ending = document.lines, document.line_ending
    if all(_blank(line) for line in lines[stop:]):
        stop = len(lines)
        if not content.lines:
            start = _end_of_text(lines, start)
    above = start > 0 and not tight_above and not _blank(lines[start - 1])
    below = stop < len(lines) and not tight_below and not _blank(lines[stop])
    if content.lines:
        block = [*[ending] * above, *content.lines, *[ending] * below]
    else:
        block = [ending] * (above and below)
    # A lone \r and a \n that come to stand next to each other would be one line ending instead of two.
    if block and start and lines[start - 1].endswith("\r") and block[0] == "\n":
        block[0] = "\r\n"
    if block and stop < len(lines) and lines[stop] == "\n" and block[-1].endswith("\r"):
        block[-1] += "\n"
    first = start + (above if content.lines else 0)
    return _spliced(document, start, stop, block, [heading.moved(first) for heading in content.headings], first)


def _spliced(
    document: _Document, start: int, stop: int, block: list[str], inside: list[Heading], first: int
) -> _Document:
    """Replace lines by ``block``, whose content starts at line ``first``, and prove that the rest means the same."""
    old = document.sections
    head = bisect_left(old, start, key=_start_of)
    tail = bisect_left(old, stop, key=_start_of)
    shift = len(block) - (stop - start)
    before = [_heading_of(section) for section in old[:head]]
    after = [_heading_of(section).moved(shift) for section in old[tail:]]
    lines = (*document.lines[:start], *block, *document.lines[stop:])

    # Block structure depends on what stands above, and every heading on the top level starts afresh: if the headings
    # from the last one above to the first one below are as computed, so are all others.
    low = before[-1].start if before else 0
    high = after[0].body if after else len(lines)
    blocks = parse(lines[low:high])
    if any(b.kind in ("fence", "html_block") and b.start < first - low < b.end for b in blocks):
        raise SectionError(
            "the text above ends in a code fence or an HTML block that is not closed: close it with replace_section, "
            'or give the whole file with action "updated"'
        )
    expected = [*before[-1:], *inside, *after[:1]]
    found = [heading.moved(low) for heading in headings_of(blocks)]
    if found != expected:
        odd = next((h for h in [*expected, *found] if (h in expected) != (h in found)), expected[0])
        raise SectionError(f"{shown(odd.line)} would gain or lose its place as a heading: check indentation and lists")

    sections = nest([*before, *inside, *after], len(lines))
    for was, now in zip(old[tail:], sections[head + len(inside) :], strict=True):
        if was.path != now.path:
            raise SectionError(
                f"the section {shown(joined(was.path))} would become {shown(joined(now.path))}: "
                "choose another place or another level"
            )
    open_end = document.open_end and stop < len(document.lines)
    return replace(document, lines=lines, sections=tuple(sections), open_end=open_end)


def _open(text: str) -> _Document:
    lines = list(split_lines(text))
    endings = [line[len(line.rstrip("\r\n")) :] for line in lines]
    line_ending = max(("\n", "\r\n", "\r"), key=endings.count)
    open_end = bool(lines) and not endings[-1]
    if open_end:
        lines[-1] += line_ending
    try:
        sections = nest(headings_of(parse(lines)), len(lines))
    except SectionError as error:
        raise SectionError(f'{error} in the file itself: give the whole file with action "updated"') from error
    return _Document(tuple(lines), tuple(sections), line_ending, open_end)


def _start_of(section: Section) -> int:
    return section.start


def _heading_of(section: Section) -> Heading:
    return Heading(section.start, section.body, section.level, section.path[-1])


def _children(document: _Document, section: Section) -> list[Section]:
    depth = len(section.path) + 1
    inside = [other for other in document.sections if section.start < other.start < section.end]
    return [other for other in inside if len(other.path) == depth]


def _own_blocks(document: _Document, section: Section) -> list[Block]:
    blocks = parse(document.lines[section.start : section.own_end])[1:]
    return [block.moved(section.start) for block in blocks]


def _blank(line: str) -> bool:
    return not line.strip(" \t\r\n")


def _end_of_text(lines: Sequence[str], before: int) -> int:
    """Return the line behind the last one that is not blank, at most ``before``."""
    while before > 0 and _blank(lines[before - 1]):
        before -= 1
    return before


def _stripped(lines: list[str]) -> list[str]:
    lines = lines[: _end_of_text(lines, len(lines))]
    while lines and _blank(lines[0]):
        lines = lines[1:]
    return lines
