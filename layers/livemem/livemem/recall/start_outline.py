"""The outline of the parts that the start of a session omits, so that an agent knows of them and how to read them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from livemem.recall import section_ids
from livemem.recall.start_material import StartMaterial, StartSection
from livemem.recall.start_words import StartWords
from livemem.text.invisible import visible

LONGEST_ID = 200
"""Characters of an id that are shown. A section with a longer one is found by reading its file."""

LeftOutItem = StartSection | tuple[str, str] | None
"""An item to take: a section; or by its kind and id a note (`live` or `archive`), a `memory` or the `synthesis`; or
None.
"""


def shown_id(reference: str) -> str:
    """The id as a text shows it, not longer than LONGEST_ID and a sign."""
    text = visible(reference)
    return text if len(text) <= LONGEST_ID else f"{text[:LONGEST_ID]}…"


def day(moment: str) -> str:
    """The day of a moment in ISO 8601, UTC."""
    return moment[:10]


def days(section: StartSection, words: StartWords) -> str:
    """The day of a section, and that of its last confirmation where it is another one."""
    written, verified = day(section.moment), day(section.verified_at)
    return written if written == verified else words.confirmed.format(day=written, verified=verified)


@dataclass
class _Left:
    """The omitted sections of a file."""

    path: str
    day: str = ""
    sections: int = 0
    chars: int = 0


class LeftOut:
    """The list of omitted parts. It names sections, or files if sections would take more than `most` characters. If
    that is still too much, it names as many files as fit, and the number of the others.

    It updates its counts as items are taken, because a bank may have 10,000 sections.
    """

    def __init__(self, material: StartMaterial, words: StartWords, most: int) -> None:
        """Everything is omitted at first."""
        self._words = words
        self._most = most
        self._lines = {id(one): self._line(one) for one in material.sections}
        self._sections = {id(one): one for one in material.sections}
        self._files: dict[str, _Left] = {}
        for one in material.sections:
            left = self._files.setdefault(one.path, _Left(one.path))
            left.day = max(left.day, day(one.moment))
            left.sections += 1
            left.chars += len(one.text)
        self._by_section = sum(map(len, self._lines.values()))
        self._by_file = sum(len(self._file_line(left)) for left in self._files.values())
        self._synthesis = len(material.synthesis.content.strip()) if material.synthesis else 0
        self._exact = material.live_exact
        self._own = {one.memory_id for one in material.memories}
        self._taken: set[tuple[str, str]] = set()
        self._left = Counter(live=material.live_count, own=len(self._own), synthesis=int(self._synthesis > 0))
        self._longest_more = len(self._more(list(self._files.values())))
        self._folded = False
        self._folded = self._form(None, None)[1]

    def holds(self, item: LeftOutItem) -> bool:
        """Whether the item was not taken yet."""
        return id(item) in self._sections if isinstance(item, StartSection) else item not in self._taken

    def need(self, item: LeftOutItem = None, room: int | None = None) -> int:
        """Characters of the list, once the item is taken as well. It may then name sections again, if that is within
        `room`.
        """
        return self._form(item, room)[0]

    def _form(self, item: LeftOutItem, room: int | None) -> tuple[int, bool]:
        """The same, and whether the list names files."""
        extras = self._extras(item)
        by_section, by_file = self._by_section, self._by_file
        if isinstance(item, StartSection):
            left = self._files[item.path]
            by_section -= len(self._lines[id(item)])
            by_file += len(self._file_line(_without(left, item))) - len(self._file_line(left))
        if not by_section and not extras:
            return 0, False
        rest = len(self._head()) + sum(map(len, extras))
        in_room = room is None or rest + by_section <= room
        if rest + by_section <= self._most and (in_room or not self._folded):
            return rest + by_section, False
        if rest + by_file <= self._most:
            return rest + by_file, True
        return max(self._most, rest + self._longest_more), True

    def take(self, item: LeftOutItem, room: int) -> None:
        """Remove the item from the list, which may take `room` characters."""
        self._folded = self._form(item, room)[1]
        if isinstance(item, StartSection):
            left = self._files[item.path]
            self._by_section -= len(self._lines.pop(id(item)))
            self._files[item.path] = _without(left, item)
            self._by_file += len(self._file_line(self._files[item.path])) - len(self._file_line(left))
            del self._sections[id(item)]
        elif item:
            self._taken.add(item)
            self._left[self._counted(item)] -= 1

    def text(self) -> str:
        """The list with its heading; empty if nothing is omitted."""
        extras = self._extras(None)
        if not self._sections and not extras:
            return ""
        rest = len(self._head()) + sum(map(len, extras))
        lines = self._of_files(self.need(room=0) - rest) if self._folded else list(self._lines.values())
        return "".join([self._head(), *lines, *extras])

    def _of_files(self, most: int) -> list[str]:
        files = [left for left in self._files.values() if left.sections]
        lines = [self._file_line(left) for left in files]
        if sum(map(len, lines)) <= most:
            return lines
        count, used = 0, 0
        while used + len(lines[count]) + len(self._more(files[count + 1 :])) <= most:
            used += len(lines[count])
            count += 1
        return [*lines[:count], self._more(files[count:])]

    def _head(self) -> str:
        return f"\n## {self._words.left_out}\n"

    def _line(self, section: StartSection) -> str:
        reference = visible(section.id)
        long = len(reference) > LONGEST_ID
        template = self._words.long_heading if long else self._words.section
        named = section_ids.file_id(section.path) if long else reference
        return f"{template.format(id=named, chars=len(section.text), day=days(section, self._words))}\n"

    def _file_line(self, left: _Left) -> str:
        if not left.sections:
            return ""
        named = section_ids.file_id(left.path)
        return f"{self._words.file.format(id=named, sections=left.sections, chars=left.chars, day=left.day)}\n"

    def _more(self, files: Sequence[_Left]) -> str:
        chars = sum(left.chars for left in files)
        return f"{self._words.more_files.format(files=len(files), chars=chars)}\n"

    def _extras(self, item: LeftOutItem) -> list[str]:
        """The lines of items that are no sections, once the item is taken as well."""
        words, left = self._words, self._left
        gone = self._counted(item) if isinstance(item, tuple) else ""
        notes, memories = left["live"] - (gone == "live"), left["own"] - (gone == "own")
        lines = [words.synthesis.format(chars=self._synthesis)] * (left["synthesis"] - (gone == "synthesis") > 0)
        lines += [(words.notes if self._exact else words.more_notes).format(count=notes)] * (notes > 0)
        lines += [words.memories.format(count=memories)] * (memories > 0)
        return [f"{line}\n" for line in lines]

    def _counted(self, item: tuple[str, str]) -> str:
        """The name of the count that includes the item. Empty for items that the list never names: facts, and folded
        notes.
        """
        kind, name = item
        if kind == "memory":
            return "own" if name in self._own else ""
        return kind if kind in self._left else ""


def _without(left: _Left, section: StartSection) -> _Left:
    return _Left(left.path, left.day, left.sections - 1, left.chars - len(section.text))
