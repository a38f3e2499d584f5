"""Edits of single sections of a Markdown file that leave every other line as it was.

An edit is proved by parsing its neighbourhood again: the headings around it must be the same ones at the places
computed beforehand. Content that would swallow or invent a section (an open fence, a stray heading) is refused by that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from livemem.errors import FieldError
from livemem.markdown import joints, sections
from livemem.markdown.blocks import (
    Effort,
    Heading,
    MarkdownBlock,
    SectionError,
    headings_of,
    is_blank,
    only_heading,
    parse,
    split_lines,
    tables_of,
)
from livemem.markdown.sections import Section, alike, find, joined, matching, nest, read, shown, split_address

Op = Literal[
    "replace_section",
    "append_to_section",
    "prepend_to_section",
    "add_section",
    "delete_section",
    "confirm_section",
    "replace_line",
    "remove_line",
    "insert_after_line",
]
OF_LINES = ("replace_line", "remove_line", "insert_after_line")

EDITS_EFFORT = 1_000_000
"""The effort that the edits of one file may take together, see Effort: up to ten seconds of CPU (measured, one core).
An edit of a file of 8,000 list items takes 1,000. So it allows 1,000 such edits: as many as an answer may have."""
# An edit moves all blocks and sections behind it, and looks at blank lines; so many take as long as a line to parse.
_MOVED_PER_EFFORT = 10
_LINES_PER_EFFORT = 50
_OPAQUE = ("fence", "html_block")


@dataclass(frozen=True)
class Edit:
    """One change of one section, or of the line of it that begins with ``line``. ``notes`` are the numbers of the notes
    that it rests on. They are not used here.
    """

    op: Op
    heading: str
    content: str = ""
    after: str | None = None
    notes: tuple[int, ...] = ()
    line: str = ""


@dataclass(frozen=True)
class _Document:
    """A text being edited. Each of ``lines`` ends in a line ending. ``open_end``: the last one had none originally.

    ``blocks`` and ``sections`` are those of all lines. ``effort`` is the effort that the edits may still take.
    """

    lines: tuple[str, ...]
    blocks: tuple[MarkdownBlock, ...]
    sections: tuple[Section, ...]
    line_ending: str
    open_end: bool
    effort: Effort


@dataclass(frozen=True)
class _Content:
    """The content of an edit as lines of the document, without blank lines around it, and its blocks."""

    lines: tuple[str, ...]
    blocks: tuple[MarkdownBlock, ...]

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
    - ``delete_section``: the section with its child sections. ``content`` is ignored.
    - ``replace_line``, ``remove_line``, ``insert_after_line``: the line of the section that begins with ``line``. New
      lines without a mark of a list get that of the line.
    - ``confirm_section``: nothing changes. The section must be there, with a text of its own or in a child section.
      ``content`` is ignored.

    Raises SectionError, whose message names the edit, for a section that is missing, ambiguous or, with
    ``add_section``, exists already, for empty content where there must be some, for content with a heading that is not
    deeper than the section's, and for any edit after which another section would be a different one.
    """
    document = _open(text)
    for number, edit in enumerate(edits, 1):
        try:
            moved = len(document.blocks) + len(document.sections)
            document.effort.spend(moved // _MOVED_PER_EFFORT + len(document.lines) // _LINES_PER_EFFORT)
            document = _apply(document, edit)
        except SectionError as error:
            where = [FieldError(f"edits.{number - 1}", error.detail)]
            raise SectionError(f"edit {number} ({edit.op} {shown(edit.heading)}): {error}", fields=where) from error
    result = "".join(document.lines)
    return result.removesuffix(document.line_ending) if document.open_end else result


def _apply(document: _Document, edit: Edit) -> _Document:
    if edit.op == "add_section":
        return _add(document, edit)
    section = find(document.sections, edit.heading, document.effort)
    if edit.op == "confirm_section":
        if not _says_something(document, section):
            raise SectionError(
                "the section has no text, so there is nothing to confirm: use append_to_section, or leave the edit out"
            )
        return document
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
    if edit.op in OF_LINES:
        return _edit_line(document, section, edit)
    raise SectionError("unknown op")


def _edit_line(document: _Document, section: Section, edit: Edit) -> _Document:
    at = sections.find_line(document.lines, section.body, section.end, edit.line)
    if any(section.start <= other.start <= at < other.body for other in document.sections):
        raise SectionError(f"{shown(document.lines[at])} is a heading: use the edits of sections")
    block = _block_at(document, at)
    new = _new_lines(document, edit, document.lines[at], is_code=block is not None and block.kind in _OPAQUE)
    below_head = _is_head(document, at)
    if edit.op == "insert_after_line":
        start = stop = at + (joints.HEAD_ROWS if below_head else 1)
    else:
        start, stop = at, at + 1
        if below_head and len(new) != 1:
            raise SectionError("the line is the head of a table: give the whole section with replace_section")
    alone = all(edge < 0 or edge >= len(document.lines) or is_blank(document.lines[edge]) for edge in (at - 1, at + 1))
    if not new and alone:
        stop = min(stop + 1, len(document.lines))
    return _spliced(document, start, stop, new, [], start, of_lines=True)


def _new_lines(document: _Document, edit: Edit, old: str, *, is_code: bool) -> list[str]:
    """The content of an edit of a line, as lines of the document in the form of the old one."""
    if edit.op == "remove_line":
        return []
    lines = _stripped([line.rstrip("\r\n") for line in split_lines(edit.content)])
    if not lines:
        raise SectionError("the content is empty: use remove_line to take a line out")
    if not is_code and headings_of(_closed_blocks(lines, document.effort)):
        raise SectionError("the content holds a heading: use the edits of sections for it")
    return [line + document.line_ending for line in sections.formed(old, lines)]


def _block_at(document: _Document, at: int) -> MarkdownBlock | None:
    """The block that begins last up to a line."""
    number = bisect_left(document.blocks, at + 1, key=_start_of) - 1
    return document.blocks[number] if number >= 0 else None


def _is_head(document: _Document, at: int) -> bool:
    """Whether a line is the head of a table, or the line below it that makes it one."""
    block = _block_at(document, at)
    table = _table(document, None, [block], -1) if block else None
    return table is not None and table.start <= at < table.start + joints.HEAD_ROWS


def _says_something(document: _Document, section: Section) -> bool:
    """Whether there is text in the section or below it: what readers are shown, and what can be confirmed."""
    within = [part for part in document.sections if section.start <= part.start < section.end]
    return any(line.strip() for part in within for line in document.lines[part.body : part.own_end])


def _append(document: _Document, section: Section, content: _Content) -> _Document:
    _require(content)
    at = _end_of_text(document.lines, section.own_end)
    if content.begins_with_heading:
        last_child = _children(document, section)[-1:]
        # Behind a child that its heading is deeper than it would become part of that child.
        if last_child and content.headings[0].level <= last_child[0].level:
            at = _end_of_text(document.lines, section.end)
    above = _own_blocks(document, section)
    joins = bool(above and content.blocks) and content.blocks[0].start == 0 and above[-1].end >= at
    if not joins:
        return _put_new(document, at, content)
    table = _table(document, content, above[-1:], -1)
    if table and table.end == at and (rows := _rows(document, content, table, table.lines[-1])):
        return _put_new(document, at, rows, tight_above=True)
    content, tight = _with_markers(document, content, above, "end")
    return _put_new(document, at, content, tight_above=tight)


def _prepend(document: _Document, section: Section, content: _Content) -> _Document:
    _require(content)
    at = section.body
    while at < section.own_end and is_blank(document.lines[at]):
        at += 1
    if at == section.own_end or content.begins_with_heading:
        return _put_new(document, _end_of_text(document.lines, section.own_end), content)
    if content.headings:
        raise SectionError(
            f"the present text of the section would fall under {shown(content.headings[-1].line)}: "
            "prepend text without headings, or begin the content with the heading of a new child section"
        )
    below = _own_blocks(document, section)
    table = _table(document, content, below, 0) if len(content.blocks) == 1 else None
    rows = _rows(document, content, table, table.lines[1]) if table else None
    # Text may stand above the table. Then a line with all its cells and pipes can only be a row.
    if table and rows and (table.start == at or all(joints.is_whole(table.lines, row) for row in rows.lines)):
        more = len(table.lines) > joints.HEAD_ROWS
        return _put_new(document, table.start + joints.HEAD_ROWS, rows, tight_above=True, tight_below=more)
    joins = bool(below and content.blocks) and below[0].start == at and content.blocks[-1].end >= len(content.lines)
    if not joins:
        return _put_new(document, at, content)
    content, tight = _with_markers(document, content, below, "begin")
    return _put_new(document, at, content, tight_below=tight)


class _Table(NamedTuple):
    """A table in the document: its first line, the line behind it, and its lines."""

    start: int
    end: int
    lines: tuple[str, ...]


def _table(
    document: _Document, content: _Content | None, blocks: Sequence[MarkdownBlock], which: Literal[0, -1]
) -> _Table | None:
    """The first (0) or last table in the blocks, if the content could be rows of one."""
    if content and (not content.lines or "|" not in content.lines[0]):
        return None
    for block in blocks if which == 0 else blocks[::-1]:
        lines = document.lines[block.start : block.end]
        if any(map(joints.is_rule, lines)) and (tables := tables_of(lines, document.effort)):
            start, end = tables[which]
            return _Table(start + block.start, end + block.start, lines[start:end])
    return None


def _rows(document: _Document, content: _Content, table: _Table, beside: str) -> _Content | None:
    """The content if it begins with rows of the table, indented as its line `beside` them. None if it does not."""
    first, indent = content.blocks[0], joints.indent(beside)
    # In a table that is indented as far as code, rows look like code.
    fits = first.kind == "paragraph_open" or (first.kind == "code_block" and parse([beside])[0].kind == "code_block")
    rows = joints.further_rows(table.lines, content.lines[: first.end]) if fits else None
    if not rows:
        return None
    lines = (*(indent + row.lstrip(" \t") for row in rows), *content.lines[first.end :])
    return _Content(lines, tuple(_closed_blocks([line.rstrip("\r\n") for line in lines], document.effort)))


def _with_markers(
    document: _Document, content: _Content, neighbours: Sequence[MarkdownBlock], side: joints.Side
) -> tuple[_Content, bool]:
    """The content with the markers of the list that it continues, and whether they need no blank line between them."""
    lines, tight = joints.with_markers(document.lines, neighbours, content.lines, content.blocks, side)
    blocks = _closed_blocks([line.rstrip("\r\n") for line in lines], document.effort)
    # `- * *` are items in each other, `* * *` is a break.
    same = [(block.kind, block.start, block.end) for block in blocks]
    if same != [(block.kind, block.start, block.end) for block in content.blocks]:
        return content, False
    return replace(content, lines=tuple(lines)), tight


def _add(document: _Document, edit: Edit) -> _Document:
    parent, line, heading = _new_heading(document, edit.heading)
    if parent and heading.level <= parent.level:
        raise SectionError(f"{shown(line)} cannot be a child of {shown(parent.path[-1])}: it needs more # signs")
    at = parent.end if parent else len(document.lines)
    if edit.after and edit.after.strip():
        after = find(document.sections, edit.after, document.effort)
        if parent and not parent.start <= after.start < parent.end:
            raise SectionError(f"after: {shown(edit.after)} is not a part of {shown(joined(parent.path))}")
        at = after.end
    body = _content(document, edit, heading.level, heading.line)
    first_lines = [line + document.line_ending, *[document.line_ending] * bool(body.lines)]
    blocks = [block.moved(len(first_lines)) for block in body.blocks]
    content = _Content((*first_lines, *body.lines), (MarkdownBlock("heading_open", 0, 1, heading), *blocks))
    result = _put_new(document, _end_of_text(document.lines, at), content)
    if parent and all(section.path != (*parent.path, heading.line) for section in result.sections):
        raise SectionError(f"it would not become a child of {shown(parent.path[-1])} but of a section inside that")
    return result


def _new_heading(document: _Document, address: str) -> tuple[Section | None, str, Heading]:
    """Return the parent that a path names (None for a plain heading), the line to insert and the heading that it is."""
    if existing := _with_heading(document, document.sections, address):
        raise SectionError(
            f"this section exists already, as {existing}: use append_to_section or replace_section, "
            'or name the new one by its path ("# Parent > ## Name") if another parent is meant'
        )
    *parents, line = split_address(address)
    heading = only_heading(line)
    if len(split_lines(address.strip())) > 1 or not heading or not heading.line.strip("# "):
        raise SectionError('heading must be exactly one heading line with a text, like "## Name"')
    if not parents:
        return None, line, heading
    parent = find(document.sections, joined(parents), document.effort)
    if existing := _with_heading(document, _children(document, parent), heading.line):
        raise SectionError(f"this section exists already, as {existing}: use append_to_section or replace_section")
    return parent, line, heading


def _with_heading(document: _Document, sections: Sequence[Section], heading: str) -> str:
    """The heading line of the first of the sections that has this heading, in quotes; else ""."""
    alone = [section._replace(path=section.path[-1:]) for section in sections]
    existing = matching(alone, heading, document.effort)
    return shown(existing[0].path[-1]) if existing else ""


def _content(document: _Document, edit: Edit, level: int, heading: str) -> _Content:
    """Return the edit's content, checked on its own, without a first line that repeats the section's heading."""
    lines = _stripped([line.rstrip("\r\n") for line in split_lines(edit.content)])
    blocks = _closed_blocks(lines, document.effort)
    if blocks and (first := blocks[0].heading) and first.start == 0 and alike(first.line, heading):
        # Models often repeat the heading though they are asked for the body alone. As a heading of this level is
        # refused below, nothing else can be meant; one is removed, a second one is a mistake that must show.
        lines = _stripped(lines[first.body :])
        blocks = _closed_blocks(lines, document.effort)
    content = _Content(tuple(line + document.line_ending for line in lines), tuple(blocks))
    for inner in content.headings:
        if inner.level <= level:
            raise SectionError(
                f"the content holds the heading {shown(inner.line)}, which would end the section: use deeper headings "
                "in content, and one edit per section"
            )
    return content


def _closed_blocks(lines: list[str], effort: Effort) -> list[MarkdownBlock]:
    """Return the blocks of lines without endings. Raise if a heading behind them would still be a part of one."""
    *blocks, last = parse([line + "\n" for line in [*lines, "", "# end"]], effort)
    if not last.heading or last.start != len(lines) + 1:
        raise SectionError("the content leaves a code fence or an HTML block (comment, tag) open: close it")
    return blocks


def _require(content: _Content) -> None:
    # The notes of an edit count as recorded. An edit without content would lose them.
    if not content.lines:
        raise SectionError("the content is empty")


def _put_new(
    document: _Document, at: int, content: _Content, *, tight_above: bool = False, tight_below: bool = False
) -> _Document:
    """Insert content in front of line ``at``, refused if a section of it would have the path of an existing one."""
    result = _put(document, at, at, content, tight_above=tight_above, tight_below=tight_below)
    present = {section.path for section in document.sections}
    first = bisect_left(document.sections, at, key=_start_of)
    for section in result.sections[first : first + len(content.headings)]:
        if section.path in present:
            raise SectionError(f"there is a section {shown(joined(section.path))} already: edit that one by its path")
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
    if all(is_blank(line) for line in lines[stop:]):
        stop = len(lines)
        if not content.lines:
            start = _end_of_text(lines, start)
    above = start > 0 and not tight_above and not is_blank(lines[start - 1])
    below = stop < len(lines) and not tight_below and not is_blank(lines[stop])
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
    document: _Document,
    start: int,
    stop: int,
    block: list[str],
    inside: list[Heading],
    first: int,
    *,
    of_lines: bool = False,
) -> _Document:
    """Replace lines by ``block``, whose content starts at line ``first``, and prove that the rest means the same.

    ``of_lines``: lines inside of a code block may change, if it begins and ends as before.
    """
    old, shift = document.blocks, len(block) - (stop - start)
    lines = (*document.lines[:start], *block, *document.lines[stop:])
    head, tail = bisect_left(old, start, key=_start_of), bisect_left(old, stop, key=_start_of)
    # Block structure depends on what stands above, and every block on the top level, every item of a list there too,
    # starts afresh: from the last one that begins above the change to the first one that begins below it as before,
    # all others are as they were.
    unchanged = max(head - 1, 0)
    low = old[unchanged].start if head else 0
    fresh, rest = _parse_until_as_before(document, lines, low, tail, shift)
    if of_lines:
        above = [block._replace(end=block.end + shift * (block.end > start)) for block in old[unchanged:tail]]
        if _opaque(fresh) != _opaque([*above, *(block.moved(shift) for block in old[tail:rest])]):
            raise SectionError("the line would open, close or move a code fence or an HTML block: use replace_section")
    elif any(b.kind in _OPAQUE and b.start < first < b.end for b in fresh):
        raise SectionError(
            "the text above ends in a code fence or an HTML block that is not closed: close it with replace_section, "
            'or give the whole file with action "updated"'
        )
    after = [heading.moved(shift) for heading in headings_of(old[tail:rest])]
    expected, actual = [*headings_of(old[unchanged:head]), *inside, *after], headings_of(fresh)
    if actual != expected:
        odd = next((h for h in [*expected, *actual] if (h in expected) != (h in actual)), (expected or actual)[0])
        raise SectionError(f"{shown(odd.line)} would gain or lose its place as a heading: check indentation and lists")
    if head and fresh:
        fresh[0] = fresh[0]._replace(begins_list=old[unchanged].begins_list)
    blocks = (*old[:unchanged], *fresh, *([block.moved(shift) for block in old[rest:]] if shift else old[rest:]))

    sections = nest(headings_of(blocks), len(lines))
    was_behind = document.sections[bisect_left(document.sections, stop, key=_start_of) :]
    for was, now in zip(was_behind, sections[len(sections) - len(was_behind) :], strict=True):
        if was.path != now.path:
            raise SectionError(
                f"the section {shown(joined(was.path))} would become {shown(joined(now.path))}: "
                "choose another place or another level"
            )
    open_end = document.open_end and stop < len(document.lines)
    return replace(document, lines=lines, blocks=blocks, sections=tuple(sections), open_end=open_end)


def _opaque(blocks: Sequence[MarkdownBlock]) -> list[tuple[str, int, int]]:
    """The code fences and HTML blocks, with their first lines and the lines behind them."""
    return [(block.kind, block.start, block.end) for block in blocks if block.kind in _OPAQUE]


def _parse_until_as_before(
    document: _Document, lines: tuple[str, ...], low: int, tail: int, shift: int
) -> tuple[list[MarkdownBlock], int]:
    """Parse ``lines`` from ``low`` on until a block behind the change begins as it did before.

    Returns the blocks, the last one as long as it was, and how many of the document's blocks they reach to. That is the
    first one behind the change (number ``tail``) or, where the change takes that one into itself, the first heading.
    """
    old = document.blocks
    next_heading = next((number for number in range(tail, len(old)) if old[number].heading), len(old))
    for number in dict.fromkeys((tail, next_heading)):
        if number == len(old):
            return [block.moved(low) for block in parse(lines[low:], document.effort)], number
        before = old[number].moved(shift)
        fresh = [block.moved(low) for block in parse(lines[low : before.end], document.effort)]
        if fresh and _begin_alike(fresh[-1], before):
            return [*fresh[:-1], before._replace(begins_list=fresh[-1].begins_list)], number + 1
    return fresh, number + 1


def _begin_alike(first: MarkdownBlock, other: MarkdownBlock) -> bool:
    return (first.kind, first.start, first.item_of, first.heading) == (
        other.kind,
        other.start,
        other.item_of,
        other.heading,
    )


def _open(text: str) -> _Document:
    try:
        lines, blocks, sections = read(text)
    except SectionError as error:
        raise SectionError(f'{error} in the file itself: give the whole file with action "updated"') from error
    endings = [line[len(line.rstrip("\r\n")) :] for line in lines]
    line_ending = max(("\n", "\r\n", "\r"), key=endings.count)
    open_end = bool(lines) and not endings[-1]
    if open_end:
        lines = (*lines[:-1], lines[-1] + line_ending)
    effort = Effort(EDITS_EFFORT, 'too many edits for a file like this: give the whole file with action "updated"')
    return _Document(lines, blocks, sections, line_ending, open_end, effort)


def _start_of(part: Section | MarkdownBlock) -> int:
    return part.start


def _children(document: _Document, section: Section) -> list[Section]:
    depth = len(section.path) + 1
    inside = [other for other in document.sections if section.start < other.start < section.end]
    return [other for other in inside if len(other.path) == depth]


def _own_blocks(document: _Document, section: Section) -> tuple[MarkdownBlock, ...]:
    first, stop = (bisect_left(document.blocks, line, key=_start_of) for line in (section.body, section.own_end))
    return document.blocks[first:stop]


def _end_of_text(lines: Sequence[str], before: int) -> int:
    """Return the line behind the last one that is not blank, at most ``before``."""
    while before > 0 and is_blank(lines[before - 1]):
        before -= 1
    return before


def _stripped(lines: list[str]) -> list[str]:
    first = next((number for number, line in enumerate(lines) if not is_blank(line)), len(lines))
    return lines[first : _end_of_text(lines, len(lines))]
