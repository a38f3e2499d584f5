"""Sections of a Markdown file, and edits of single sections that leave every other line as it was.

Pure functions on text; where the text comes from and who may change it is the callers' business. What counts as a
heading is decided by markdown-it-py's CommonMark block rules, never by a pattern of ours: a `#` line in a code fence,
an indented block, an HTML block, a quote or a list item is text.

An edit is proved by parsing its neighbourhood again: the headings around it must be the same ones at the places
computed beforehand. Content that would swallow or invent a section (an open fence, a stray heading) is refused by that.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from markdown_it import MarkdownIt

Op = Literal["replace_section", "append_to_section", "prepend_to_section", "add_section", "delete_section"]

# Past its limit markdown-it skips the rest of the enclosing block, for a list the rest of the file. Its own limit of 20
# (10 lists in each other) is too near to real files; the higher, the more time do hostile quotes take (once a level).
_MAX_NESTING = 40
_MAX_LISTED = 20
_MAX_SHOWN = 120
# The line endings of CommonMark and of no one else: str.splitlines also splits at form feeds, U+2028 and more.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
# A heading's own text may hold " > "; only one in front of another run of # separates the parts of a path.
_PATH_SEPARATOR = re.compile(r" > (?=#{1,6}(?: |$))")


class SectionError(ValueError):
    """An edit, or the text itself, is refused; the message says why and what to do, in words fit for an LLM."""


@dataclass(frozen=True)
class Edit:
    """One change of one section. ``notes`` are the numbers of the notes that it rests on; they are not used here."""

    op: Op
    heading: str
    content: str = ""
    after: str | None = None
    notes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Section:
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


class _Heading(NamedTuple):
    start: int
    body: int
    level: int
    line: str

    def moved(self, by: int) -> _Heading:
        return self._replace(start=self.start + by, body=self.body + by)


class _Block(NamedTuple):
    """A block on the top level. ``tight_list`` names the kind of a tight list ("bullet_list_open-"), else empty."""

    kind: str
    start: int
    end: int
    heading: _Heading | None
    tight_list: str

    def moved(self, by: int) -> _Block:
        heading = self.heading and self.heading.moved(by)
        return self._replace(start=self.start + by, end=self.end + by, heading=heading)


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
    blocks: tuple[_Block, ...]

    @property
    def headings(self) -> list[_Heading]:
        return [block.heading for block in self.blocks if block.heading]

    @property
    def begins_with_heading(self) -> bool:
        return bool(self.blocks) and self.blocks[0].heading is not None and self.blocks[0].start == 0


# Reading


def split_lines(text: str) -> list[str]:
    r"""Split at ``\n``, ``\r\n`` and ``\r``, endings kept: the lines that ``Section`` counts. ``"".join`` undoes it."""
    return list(_lines(text))


def list_sections(text: str) -> list[Section]:
    """Return all sections in the order of their headings, children behind their parents.

    Raises SectionError when lists are nested too deeply (20 in each other) to tell where they end.
    """
    return list(_sections(text))


def addressed(text: str, address: str) -> list[Section]:
    """Return the sections that an edit's ``heading`` matches: one, none, or several if it is ambiguous.

    Raises like list_sections.
    """
    return _matching(_sections(text), address)


def preamble(text: str) -> str:
    """Return the text in front of the first heading; all of it when there is none. Raises like list_sections."""
    sections = _sections(text)
    return "".join(_lines(text)[: sections[0].start]) if sections else text


def section_text(text: str, section: Section) -> str:
    """Return the section with its heading and its child sections, byte for byte."""
    return "".join(_lines(text)[section.start : section.end])


def own_text(text: str, section: Section) -> str:
    """Return what stands between the section's heading and its first child section, byte for byte."""
    return "".join(_lines(text)[section.body : section.own_end])


# Callers ask for one section of a text after the other; the last few texts are not split and parsed each time.
@lru_cache(maxsize=4)
def _lines(text: str) -> tuple[str, ...]:
    return tuple(_LINE.findall(text))


@lru_cache(maxsize=4)
def _sections(text: str) -> tuple[Section, ...]:
    lines = _lines(text)
    return tuple(_nest(_headings(_parse(lines)), len(lines)))


# Editing


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
            raise SectionError(f"edit {number} ({edit.op} {_shown(edit.heading)}): {error}") from error
    result = "".join(document.lines)
    return result.removesuffix(document.line_ending) if document.open_end else result


def _apply(document: _Document, edit: Edit) -> _Document:
    if edit.op == "add_section":
        return _add(document, edit)
    section = _find(document.sections, edit.heading)
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
            f"the present text of the section would fall under {_shown(content.headings[-1].line)}: "
            "prepend text without headings, or begin the content with the heading of a new child section"
        )
    below = _own_blocks(document, section)[:1] if content.blocks and content.blocks[-1].tight_list else []
    goes_on = bool(below) and below[0].start == at and content.blocks[-1].end >= len(content.lines)
    tight = goes_on and below[0].tight_list == content.blocks[-1].tight_list
    return _put_new(document, at, content, tight_below=tight)


def _add(document: _Document, edit: Edit) -> _Document:
    parent, line, heading = _new_heading(document, edit.heading)
    if parent and heading.level <= parent.level:
        raise SectionError(f"{_shown(line)} cannot be a child of {_shown(parent.path[-1])}: it needs more # signs")
    at = parent.end if parent else len(document.lines)
    if edit.after and edit.after.strip():
        after = _find(document.sections, edit.after)
        if parent and not parent.start <= after.start < parent.end:
            raise SectionError(f"after: {_shown(edit.after)} is not a part of {_shown(_joined(parent.path))}")
        at = after.end
    body = _content(document, edit, heading.level, heading.line)
    first_lines = [line + document.line_ending, *[document.line_ending] * bool(body.lines)]
    blocks = [block.moved(len(first_lines)) for block in body.blocks]
    content = _Content((*first_lines, *body.lines), (_Block("heading_open", 0, 1, heading, ""), *blocks))
    result = _put_new(document, _end_of_text(document.lines, at), content)
    if parent and all(section.path != (*parent.path, heading.line) for section in result.sections):
        raise SectionError(f"it would not become a child of {_shown(parent.path[-1])} but of a section inside that")
    return result


def _new_heading(document: _Document, address: str) -> tuple[Section | None, str, _Heading]:
    """Return the parent that a path names (None for a plain heading), the line to insert and the heading that it is."""
    existing = {section.path[-1] for section in document.sections}
    if existing & {_collapsed(address), _heading_line(address)}:
        raise SectionError(
            "this section exists already: use append_to_section or replace_section, "
            'or name the new one by its path ("# Parent > ## Name") if another parent is meant'
        )
    *parents, line = _parts(address)
    heading = _only_heading(line)
    if len(split_lines(address.strip())) > 1 or not heading or not heading.line.strip("# "):
        raise SectionError('heading must be exactly one heading line with a text, like "## Name"')
    if not parents:
        return None, line, heading
    parent = _find(document.sections, _joined(parents))
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
                f"the content holds the heading {_shown(found.line)}, which would end the section: use deeper headings "
                "in content, and one edit per section"
            )
    return content


def _closed_blocks(lines: list[str]) -> list[_Block]:
    """Return the blocks of lines without endings; raise if a heading behind them would still be a part of one."""
    *blocks, last = _parse([line + "\n" for line in [*lines, "", "# end"]])
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
            raise SectionError(f"there is a section {_shown(_joined(path))} already: edit that one by its path")
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
    document: _Document, start: int, stop: int, block: list[str], inside: list[_Heading], first: int
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
    blocks = _parse(lines[low:high])
    if any(b.kind in ("fence", "html_block") and b.start < first - low < b.end for b in blocks):
        raise SectionError(
            "the text above ends in a code fence or an HTML block that is not closed: close it with replace_section, "
            'or give the whole file with action "updated"'
        )
    expected = [*before[-1:], *inside, *after[:1]]
    found = [heading.moved(low) for heading in _headings(blocks)]
    if found != expected:
        odd = next((h for h in [*expected, *found] if (h in expected) != (h in found)), expected[0])
        raise SectionError(f"{_shown(odd.line)} would gain or lose its place as a heading: check indentation and lists")

    sections = _nest([*before, *inside, *after], len(lines))
    for was, now in zip(old[tail:], sections[head + len(inside) :], strict=True):
        if was.path != now.path:
            raise SectionError(
                f"the section {_shown(_joined(was.path))} would become {_shown(_joined(now.path))}: "
                "choose another place or another level"
            )
    open_end = document.open_end and stop < len(document.lines)
    return replace(document, lines=lines, sections=tuple(sections), open_end=open_end)


# Addresses


def _find(sections: Sequence[Section], address: str) -> Section:
    """Return the one section that ``address`` names: by its heading line, by its path, or by the end of its path."""
    found = _matching(sections, address)
    if len(found) == 1:
        return found[0]
    if found:
        paths = dict.fromkeys(_joined(section.path) for section in found)
        raise SectionError(
            f"{len(found)} sections match; address one of them by its path: {_listed(paths)}. Where the path does not "
            'tell them apart either, give the whole file with action "updated"'
        )
    if not sections:
        raise SectionError(f"no section {_shown(address)}: the file has no headings")
    lines = dict.fromkeys(section.path[-1] for section in sections)
    raise SectionError(f"no section {_shown(address)}; give the full heading line. The file has: {_listed(lines)}")


def _matching(sections: Sequence[Section], address: str) -> list[Section]:
    # As it is listed comes first: the text of a heading may hold the separator of paths, that of an underlined one may
    # end in #. Then closing # signs are taken for decoration, as in a heading line.
    undecorated = _joined(_heading_line(part) or "" for part in _parts(address))
    for text in (_collapsed(address), _heading_line(address), undecorated):
        found = [section for section in sections if section.path[-1] == text]
        found = found or [section for section in sections if _joined(section.path) == text]
        found = found or [s for s in sections if any(_joined(s.path[i:]) == text for i in range(1, len(s.path)))]
        if found:
            return found
    return []


def _heading_line(text: str) -> str | None:
    heading = _only_heading(text)
    return heading.line if heading else None


def _only_heading(text: str) -> _Heading | None:
    """Return the heading that ``text`` is, if it is one heading and nothing else."""
    lines = split_lines(text.strip())
    blocks = _parse(lines)
    # A link definition is no block; only the line numbers tell that there is one.
    return blocks[0].heading if blocks and (blocks[0].start, blocks[0].end) == (0, len(lines)) else None


def _parts(address: str) -> list[str]:
    return _PATH_SEPARATOR.split(_collapsed(address))


def _collapsed(text: str) -> str:
    # Models write NBSP as space and decomposed letters composed; neither may hide a section from its address.
    return unicodedata.normalize("NFC", " ".join(text.split()))


def _joined(path: Iterable[str]) -> str:
    return " > ".join(path)


def _shown(text: str) -> str:
    text = _collapsed(text[: _MAX_SHOWN + 1])
    return f'"{text}"' if len(text) <= _MAX_SHOWN else f'"{text[:_MAX_SHOWN]}..."'


def _listed(texts: Iterable[str]) -> str:
    shown = [_shown(text) for text in texts]
    more = len(shown) - _MAX_LISTED
    return ", ".join(shown[:_MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


# Structure


def _open(text: str) -> _Document:
    lines = split_lines(text)
    endings = [line[len(line.rstrip("\r\n")) :] for line in lines]
    line_ending = max(("\n", "\r\n", "\r"), key=endings.count)
    open_end = bool(lines) and not endings[-1]
    if open_end:
        lines[-1] += line_ending
    try:
        sections = _nest(_headings(_parse(lines)), len(lines))
    except SectionError as error:
        raise SectionError(f'{error} in the file itself: give the whole file with action "updated"') from error
    return _Document(tuple(lines), tuple(sections), line_ending, open_end)


def _nest(headings: Sequence[_Heading], line_count: int) -> list[Section]:
    """Return the sections of the headings, found from the last to the first: a section's end is known by then."""
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


def _start_of(section: Section) -> int:
    return section.start


def _heading_of(section: Section) -> _Heading:
    return _Heading(section.start, section.body, section.level, section.path[-1])


def _children(document: _Document, section: Section) -> list[Section]:
    depth = len(section.path) + 1
    inside = [other for other in document.sections if section.start < other.start < section.end]
    return [other for other in inside if len(other.path) == depth]


def _own_blocks(document: _Document, section: Section) -> list[_Block]:
    blocks = _parse(document.lines[section.start : section.own_end])[1:]
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


# Parsing


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING})
    # Sections need no inline parsing, which takes most of the time.
    markdown.core.ruler.enableOnly(["normalize", "block"])
    return markdown


def _headings(blocks: Iterable[_Block]) -> list[_Heading]:
    return [block.heading for block in blocks if block.heading]


def _parse(lines: Iterable[str]) -> list[_Block]:
    """Return the blocks on the top level. Raises SectionError if lists are nested too deeply to see all of them."""
    try:
        tokens = _markdown().parse("".join(lines))
    except RecursionError:
        raise SectionError("quotes or lists are nested too deeply") from None
    blocks: list[_Block] = []
    for index, token in enumerate(tokens):
        if token.type == "list_item_open" and token.level >= _MAX_NESTING - 1:
            # Here markdown-it has skipped to the end of the file: headings behind the list would be missing.
            raise SectionError("lists are nested too deeply")
        if token.type == "paragraph_open" and token.level == 2 and not token.hidden:
            # A list is loose if a paragraph right in one of its items is shown as one.
            blocks[-1] = blocks[-1]._replace(tight_list="")
        if token.level or token.nesting < 0 or token.map is None:
            continue
        start, end = token.map
        heading = None
        if token.type == "heading_open":
            level = int(token.tag[1:])
            heading = _Heading(start, end, level, _collapsed("#" * level + " " + tokens[index + 1].content))
        tight_list = token.type + token.markup if token.type in ("bullet_list_open", "ordered_list_open") else ""
        blocks.append(_Block(token.type, start, end, heading, tight_list))
    return blocks
