"""The lines of a section or another text, as a start takes them: each whole, and the newest first. Pure functions."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

from livemem.markdown import joints
from livemem.markdown.blocks import SectionError, is_blank, parse, split_lines, tables_of

LARGE = 1_000
"""Characters above which a line or an item comes behind the smaller ones: it must not keep them out."""
PARSED_MOST = 250_000
"""Characters of a text that are taken apart, of a longer one its newer end: a start has 100,000 at most."""
_DAY = re.compile(r"(?:^\W*|[(\[][^()\[\]]*?\b)(\d{4}-\d{2}-\d{2})\b")
"""A day at the beginning of a line or in brackets. Elsewhere it may be that of a plan."""
ENDS = 2_000
"""Characters of both ends of a long text that show which is the newer one."""


@dataclass(frozen=True)
class TextLine:
    """A line, or several that are read together: an item with all that belongs to it, a paragraph, a block of code, a
    row of a table with the table's `head`. Items of a list and rows of a table have a `kin`; no blank line parts them.
    """

    place: int
    text: str
    blank_before: bool = False
    head: str = ""
    kin: str = ""

    @property
    def chars(self) -> int:
        """Characters that it takes at most, with those in front of it: its head and the blank line above its list or
        table come once.
        """
        return len(self.text) + (1 if self.kin and not self.blank_before else 2)


def lines_of(text: str) -> list[TextLine]:
    """The lines of a text in their order. Of a very long one the newer end is read, without the piece that is cut."""
    near, from_top = text, False
    if len(text) > PARSED_MOST:
        from_top = _is_newest_first(_DAY.findall(text[:ENDS])[:1] + _DAY.findall(text[-ENDS:])[-1:])
        near = text[:PARSED_MOST] if from_top else text[-PARSED_MOST:]
    rows: Sequence[str] = split_lines(near)
    pieces: list[tuple[Sequence[str], str, str]] = []
    for start, end, kin, is_paragraph in _blocks(rows):
        batch = rows[start:end]
        table = _table_start(_stripped(batch)) if is_paragraph and "|" in "".join(batch) else None
        if table is None:
            pieces.append((batch, "", kin))
            continue
        first = table + joints.HEAD_ROWS
        head = "".join(batch[table:first])
        if table:
            pieces.append((batch[:table], "", ""))
        rest = batch[first:]
        pieces += [([row], head.rstrip("\r\n"), f"table {start}") for row in rest if not is_blank(row)]
        if all(map(is_blank, rest)):
            pieces.append((batch[table:], "", ""))
    if len(near) < len(text):
        pieces = pieces[:-1] if from_top else pieces[1:]
    text_lines: list[TextLine] = []
    blank = False
    for batch, head, kin in pieces:
        whole = "".join(batch)
        text_lines.append(TextLine(len(text_lines), whole.rstrip("\r\n \t"), blank, head, kin))
        blank = is_blank(batch[-1])
    return text_lines


def _blocks(rows: Sequence[str]) -> list[tuple[int, int, str, bool]]:
    """The blocks of a text, each up to the beginning of the next one."""
    try:
        blocks = parse(rows)
    except SectionError:
        blocks = []
    if not blocks:
        return [(number, number + 1, "", False) for number, row in enumerate(rows) if not is_blank(row)]
    starts = [0, *(block.start for block in blocks[1:]), len(rows)]
    lists = accumulate(block.begins_list for block in blocks)
    return [
        (start, end, block.item_of and f"list {number}", block.kind == "paragraph_open")
        for block, number, start, end in zip(blocks, lists, starts, starts[1:], strict=False)
    ]


def _table_start(paragraph: Sequence[str]) -> int | None:
    """The first line of the table that a paragraph ends with."""
    starts = [table.start for table in tables_of(paragraph) if table.end == len(paragraph)]
    return starts[-1] if starts else None


def _stripped(rows: Sequence[str]) -> Sequence[str]:
    end = len(rows)
    while end and is_blank(rows[end - 1]):
        end -= 1
    return rows[:end]


def newest_first(lines: Sequence[TextLine]) -> list[TextLine]:
    """The lines, the newest first: by the last day at their beginning or in brackets. A line without one is as new as
    the line above it. Of the same day, or without any, the end of a text is newer, or its beginning where that has the
    later day. Large lines come behind all others.
    """
    days = [max(_DAY.findall(line.text), default="") for line in lines]
    dated = [day for day in days if day]
    from_top = _is_newest_first(dated)
    last = dated[0] if from_top else ""
    of: dict[int, str] = {}
    for line, day in zip(lines, days, strict=True):
        last = of[line.place] = day or last
    batch = sorted(lines, key=lambda item: (of[item.place], -item.place if from_top else item.place), reverse=True)
    return sorted(batch, key=lambda item: len(item.text) > LARGE)


def _is_newest_first(days: Sequence[str]) -> bool:
    return bool(days) and days[0] > days[-1]


def joined(lines: Collection[TextLine]) -> str:
    """Some lines of a text in its order: tables with their heads, and blank lines where lines would run together."""
    text, before = "", None
    for line in sorted(lines, key=lambda item: item.place):
        same = before is not None and before.kin == line.kin
        if before:
            near = before.place + 1 == line.place
            text += "\n" if (near and not line.blank_before) or (same and line.kin) else "\n\n"
        if line.head and not same:
            text += f"{line.head}\n"
        text += line.text
        before = line
    return text
