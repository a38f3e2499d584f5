"""How new lines continue a list or a table that stands directly above or below them.

Items of a list get the marker of their list, and rows of a table no blank line, since a blank line would end the table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from livemem.markdown.blocks import MarkdownBlock, is_blank

Side = Literal["begin", "end"]

_MARKER = re.compile(r"(?P<before> {0,3}\d{1,9}(?=[.)])| {0,3})[-+*.)](?=\s|$)")
_PIPE = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
_OUTER = " \t>"
HEAD_ROWS = 2
"""The lines of a table above its first row: the head, and the line that makes it one."""


@dataclass(frozen=True)
class _List:
    """The list at one side of some blocks: its items, and what its markers have in common."""

    items: Sequence[MarkdownBlock]
    lines: Sequence[str]

    @property
    def kind(self) -> str:
        """`bullet` or `ordered`."""
        return self.items[0].item_of.partition("_")[0]

    @property
    def sign(self) -> str:
        """The bullet, or the sign behind the number."""
        return self.items[0].item_of[-1]

    @property
    def indent(self) -> int:
        """Blanks in front of the first marker."""
        line = self.lines[self.items[0].start]
        return len(line) - len(line.lstrip(" "))

    def is_tight(self) -> bool:
        """Whether the next item needs no blank line: unless all items have one between them.

        A blank line behind an item that has blank lines in itself, such as one in front of a code block, says nothing.
        """
        gaps = [
            is_blank(self.lines[item.start - 1])
            for before, item in zip(self.items, self.items[1:], strict=False)
            if not before.spaced
        ]
        return not gaps or not all(gaps)


def with_markers(
    lines: Sequence[str],
    neighbours: Sequence[MarkdownBlock],
    content: Sequence[str],
    blocks: Sequence[MarkdownBlock],
    side: Side,
) -> tuple[Sequence[str], bool]:
    """The lines of a content whose list continues the one at this `side` of the `neighbours`, with its markers; and
    whether they need no blank line there. Any other content stays as it is, and needs one.

    `blocks` are those of the content. `lines` and `content` have line endings.
    """
    present = _list_at(lines, neighbours, side)
    new = _list_at(content, blocks, "begin" if side == "end" else "end")
    if not present or not new or present.kind != new.kind:
        return content, False
    return _marked(content, new, present), present.is_tight() and new.is_tight()


def _list_at(lines: Sequence[str], blocks: Sequence[MarkdownBlock], side: Side) -> _List | None:
    starts = [number for number, block in enumerate(blocks) if block.begins_list or not block.item_of]
    items = blocks[: [*starts, len(blocks)][1]] if side == "begin" else blocks[starts[-1] :]
    return _List(items, lines) if items and items[0].item_of else None


def _marked(content: Sequence[str], new: _List, present: _List) -> list[str]:
    """The content whose list has the markers of another one, and begins as far to the right."""
    marked = list(content)
    shift = present.indent - new.indent
    for item in new.items:
        marked[item.start] = _MARKER.sub(rf"\g<before>{present.sign}", marked[item.start], count=1)
        for number in range(item.start, min(item.end, len(content))):
            line = marked[number]
            blanks = len(line) - len(line.lstrip(" "))
            if not is_blank(line):
                marked[number] = line[min(blanks, -shift) :] if shift < 0 else " " * shift + line
    return marked


def is_rule(line: str) -> bool:
    """Whether a line could be the one below the head of a table."""
    return _RULE.fullmatch(line.strip(f"{_OUTER}\r\n")) is not None


def indent(line: str) -> str:
    """The blanks and the signs of a quote in front of a line of a table."""
    return line[: len(line) - len(line.lstrip(_OUTER))]


def further_rows(table: Sequence[str], content: Sequence[str]) -> list[str] | None:
    """The lines of a content that are further rows of a table, without a head that repeats the table's. None if they
    are anything else.

    Below a table any line is a row (GitHub Flavored Markdown 0.29, 4.10), so the lines must look like rows: with pipes
    at both ends, or at one end and as many cells as the table has. A row of a table without pipes at its ends has any
    pipe. Single dashes fill cells, but in the second line, where they make the first one a head.
    """
    rule = table[1].strip(f"{_OUTER}\r\n")
    rows = list(content)
    head = _cells(table[0].lstrip(_OUTER))
    if len(rows) > HEAD_ROWS and _RULE.fullmatch(rows[1].strip()) and _cells(rows[0]) == head:
        rows = rows[HEAD_ROWS:]
    for place, line in enumerate(rows):
        row, cells = line.strip(), len(_cells(line))
        ends = row.startswith("|") + (len(row) > 1 and _PIPE.search(row[-2:]) is not None and row.endswith("|"))
        alike = ends == len("||") or (ends and 1 < cells == len(_cells(rule)))
        if not rule.startswith("|"):
            alike = _PIPE.search(row) is not None
        if not alike or (_RULE.fullmatch(row) and (place == 1 or "--" in row)):
            return None
    return rows or None


def is_whole(table: Sequence[str], row: str) -> bool:
    """Whether a row has all cells of the table, and pipes at both ends."""
    return row.strip()[:1] == row.strip()[-1:] == "|" and len(_cells(row)) == len(_cells(table[1].strip(_OUTER)))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _PIPE.split(line.strip().strip("|"))]
