"""The lines of a start, each whole, and the order in which they fill it. The order does not depend on the number of
characters there is place for. So a larger start has each section that a smaller one has. Pure functions.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

from livemem.markdown import joints
from livemem.markdown.blocks import SectionError, is_blank, parse, split_lines, tables_of
from livemem.recall import bank_sections
from livemem.recall.bank_sections import StartSection
from livemem.recall.start_outline import StartWords, Why, days, shown_id

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
        table = _table_start(batch) if is_paragraph and "|" in "".join(batch) else None
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


def _table_start(rows: Sequence[str]) -> int | None:
    """The first line of the table that a paragraph ends with. Blank lines may follow."""
    end = len(rows)
    while end and is_blank(rows[end - 1]):
        end -= 1
    starts = [table.start for table in tables_of(rows[:end]) if table.end == end]
    return starts[-1] if starts else None


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


SHORT = 300
"""Characters up to which a section is one piece."""


@dataclass(frozen=True, eq=False)
class SectionText:
    """A section as a start shows it."""

    section: StartSection
    words: StartWords

    @cached_property
    def heading(self) -> str:
        """The headings and the day above its text, where the file stands above it."""
        title = f"{shown_id(self.section.label)} " if self.section.label else ""
        return f"\n#### {title}({days(self.section, self.words)})\n\n"

    @cached_property
    def heading_alone(self) -> str:
        """The id and the day above its text, where it stands alone."""
        return f"\n### {shown_id(self.section.id)} ({days(self.section, self.words)})\n\n"

    @cached_property
    def file(self) -> str:
        """The heading above the sections of its file."""
        return f"\n### {shown_id(bank_sections.file_id(self.section.path))}\n"

    @property
    def whole(self) -> str:
        """All of it, without a heading."""
        return f"{self.section.text}\n"

    @cached_property
    def lines(self) -> list[TextLine]:
        """Its lines in their order."""
        text = self.section.text
        return [TextLine(0, text)] if len(text) <= SHORT else lines_of(text)

    @cached_property
    def count(self) -> int:
        """The number of its lines that hold something."""
        return _count(self.section.text)

    def some(self, lines: Sequence[TextLine]) -> str:
        """Some of its lines, and how many are missing, without a heading."""
        if self.are_all(len(lines)):
            return self.whole
        text = joined(lines)
        return f"{text}\n\n{self._more(self.count - _count(text))}\n"

    def most(self, lines: int, chars: int) -> int:
        """The characters that so many lines take at most, which have so many `chars`."""
        if self.are_all(lines):
            return len(self.whole) + len(self.heading)
        return len(self.heading) + chars + len(self._more(self.count)) + 3 if lines else 0

    def are_all(self, lines: int) -> bool:
        """Whether it has no more than so many lines."""
        return lines == len(self.lines) and len(self.section.text) <= PARSED_MOST

    def _more(self, count: int) -> str:
        return self.words.more_line if count == 1 else self.words.more_lines.format(count=count)

    def passage(self, excerpt: str) -> list[TextLine]:
        """The lines that an excerpt of it touches, else all of them, the newest first."""
        rows = [row.strip() for row in excerpt.splitlines() if row.strip()]
        return [line for line in self.lines if any(row in line.text for row in rows)] or newest_first(self.lines)


class ShownSection:
    """The lines of a section that were taken. `chars`: theirs at most. `used`: those of the section, as it is shown."""

    def __init__(self, text: SectionText) -> None:
        self.text = text
        self.used = self.chars = 0
        self.is_whole = False
        self._lines: dict[int, TextLine] = {}
        self._kins: set[str] = set()

    def shown(self, *, alone: bool) -> str:
        """The text with its heading. `alone`: its file does not stand above it."""
        text = self.text.whole if self.is_whole else self.text.some(list(self._lines.values()))
        return (self.text.heading_alone if alone else self.text.heading) + text

    def has(self, line: TextLine) -> bool:
        """Whether the line was taken."""
        return line.place in self._lines

    def used_with(self, line: TextLine) -> int:
        """The characters of the section with one more line."""
        return self.used if self.has(line) else self.text.most(len(self._lines) + 1, self._chars_with(line))

    def _chars_with(self, line: TextLine) -> int:
        is_first = bool(line.kin) and line.kin not in self._kins
        return self.chars + line.chars + (len(line.head) + 2 if is_first else 0)

    def take(self, line: TextLine) -> None:
        """Take the line."""
        self.used, self.chars = self.used_with(line), self._chars_with(line)
        self._lines[line.place] = line
        self._kins.add(line.kin)
        self.is_whole = self.text.are_all(len(self._lines))

    def take_all(self) -> int:
        """Take all lines. Returns their characters with the heading."""
        self.is_whole = True
        self.used = len(self.shown(alone=False))
        return self.used


def _count(text: str) -> int:
    return sum(not is_blank(row) for row in split_lines(text))


SHARE_OF_QUESTION, SHARE_OF_USER, SHARE_OF_LIVE = 3, 10, 3
"""The part of a start that answers to a question may take: a third; hints about the user: a tenth; and new notes as
long as sections follow: a third. Agents' knowledge of themselves has a tenth then.
"""
SHARES: Mapping[Why, int] = {
    "question": SHARE_OF_QUESTION,
    "user": SHARE_OF_USER,
    "live": SHARE_OF_LIVE,
    "sessions": 3,
    "own": 10,
}
CODE = re.compile(r"`[^`\n]+`")
_PREFIXES = {"live": "notes/", "archive": "notes/", "memory": "memories/"}
BESIDE, BESIDE_MOST = 3, 7
"""Sections that are loaded first leave the others a third, until these have a seventh of their size."""


@dataclass(frozen=True, eq=False)
class StartItem:
    """A line of a list: a note, a memory, a turn, a summary, a hint or a session. `place`: its place in the list."""

    place: int
    kind: Literal["live", "archive", "memory", "turn", "summary", "session"]
    id: str
    text: str
    verified_at: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Its kind and its id."""
        return self.kind, self.id

    @property
    def source(self) -> str:
        """The id by which it can be read."""
        return f"{_PREFIXES.get(self.kind, '')}{self.id}"


@dataclass(frozen=True, eq=False)
class Unit:
    """The smallest piece of a start: an item, or a line of a section. `size`: about the characters that it takes."""

    why: Why
    size: int
    item: StartItem | None = None
    section: SectionText | None = None
    line: TextLine | None = None


def of_items(why: Why, items: Iterable[StartItem]) -> list[Unit]:
    """Items, those that are large last."""
    return _large_last([Unit(why, len(item.text), item) for item in items])


def of_answers(answers: Iterable[StartItem | tuple[SectionText, str]]) -> list[Unit]:
    """The answers to a question: items, and sections with the excerpts of them that answer it."""
    units: list[Unit] = []
    for answer in answers:
        if isinstance(answer, StartItem):
            units.append(Unit("question", len(answer.text), answer))
        else:
            section, excerpt = answer
            units += [
                Unit("question", size, None, section, line) for line, size in _sized(section, section.passage(excerpt))
            ]
    return _large_last(units)


def of_sections(why: Why, sections: Iterable[SectionText]) -> list[Unit]:
    """The lines of sections that fill up evenly, the newest of each first: short ones are whole soon, and the long ones
    have equal shares at any time. Beside what is loaded first, a line with code (a command, a setting, a path: nobody
    can guess it) comes before the others of its section, and counts half.
    """
    levels: list[tuple[int, int, Unit]] = []
    for place, section in enumerate(sections):
        level = 0
        coded = {line.place for line in section.lines if why == "other" and CODE.search(line.text)}
        lines = sorted(newest_first(section.lines), key=lambda line: (len(line.text) > LARGE, line.place not in coded))
        for line, size in _sized(section, lines):
            level += line.chars // 2 if line.place in coded else line.chars
            levels.append((level, place, Unit(why, size, None, section, line)))
    return [unit for *_, unit in sorted(levels, key=lambda item: item[:2])]


def _sized(section: SectionText, lines: Sequence[TextLine]) -> Iterator[tuple[TextLine, int]]:
    for place, line in enumerate(lines):
        yield line, line.chars + (0 if place else len(section.heading))


def _large_last(units: list[Unit]) -> list[Unit]:
    return sorted(units, key=lambda unit: unit.size > LARGE)


def in_order(guide: int, queues: Mapping[Why, Sequence[Unit]]) -> Iterator[Unit]:
    """The units of several queues, the important ones first, each queue within its share of what was given before. The
    guide has so many characters.
    """
    first = sum(unit.size for unit in queues.get("load_first", ()))
    at, given, total = dict.fromkeys(queues, 0), dict.fromkeys(queues, 0), guide

    def fits(why: Why, size: int) -> bool:
        if why == "load_first":
            beside = total - guide - given[why]
            return beside * BESIDE_MOST >= first or (given[why] + size) * BESIDE <= (total + size) * (BESIDE - 1)
        return (given[why] + size) * SHARES.get(why, 1) <= total + size

    while item := [why for why in queues if at[why] < len(queues[why])]:
        why = next((one for one in item if fits(one, queues[one][at[one]].size)), item[0])
        unit = queues[why][at[why]]
        at[why] += 1
        given[why] += unit.size
        total += unit.size
        yield unit
