"""A section of the bank in a start: whole, or some of its lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from livemem.markdown.blocks import is_blank, split_lines
from livemem.recall import section_ids
from livemem.recall.start_lines import PARSED_MOST, TextLine, joined, lines_of, newest_first
from livemem.recall.start_material import StartSection
from livemem.recall.start_outline import days, shown_id
from livemem.recall.start_words import StartWords

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
        return f"\n### {shown_id(section_ids.file_id(self.section.path))}\n"

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
