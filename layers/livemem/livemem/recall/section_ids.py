"""Sections of bank files as an agent gets them: each with its own text, under an id by which it can be read.

The id is `bank/{path}#{headings joined by " > "}`, that of a whole file `bank/{path}`. Pure functions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from livemem.changes.section_sources import PREAMBLE, SectionPath, own_texts
from livemem.markdown import sections
from livemem.markdown.blocks import SectionError
from livemem.text.invisible import visible

BANK = "bank/"
BETWEEN = " > "


@dataclass(frozen=True)
class OwnText:
    """The text right below a heading, without its sub-sections. `path` and `titles` are the headings that lead to it,
    as edits name them and without their signs. Both are empty for the text before the first heading.
    """

    path: SectionPath
    titles: tuple[str, ...]
    text: str
    whole: bool = False
    """Whether it is all of its file."""


def file_id(path: str) -> str:
    """The id of a whole file."""
    return f"{BANK}{path}"


def section_id(path: str, titles: Sequence[str]) -> str:
    """The id of a section; without headings that of the text before the first one."""
    return f"{file_id(path)}#{BETWEEN.join(titles)}"


def shared(titles: Iterable[Sequence[str]]) -> int:
    """How many headings the sections of a file need not name: 1 where all are below one title, else 0."""
    below = {title[0] for title in titles if title}
    return int(len(below) == 1)


def split(reference: str) -> tuple[str, str | None]:
    """The file's path in an id, and the headings behind it as they were joined; None for the whole file."""
    name = reference.removeprefix(BANK)
    path, sign, headings = name.partition(".md#")
    return (f"{path}.md", headings) if sign else (name, None)


def title(line: str) -> str:
    """A heading line without its signs."""
    return line.partition(" ")[2]


def with_text(content: str, *, whole: bool = False) -> list[OwnText]:
    """The sections that have a text of their own, in their order. A file that can't be parsed, or one that is to be
    taken as a `whole`, is one piece.
    """
    result = {PREAMBLE: content} if whole else own_texts(content)
    alone = result.keys() == {PREAMBLE}
    return [
        OwnText(path, tuple(map(title, path)), text.strip("\r\n").rstrip(), alone)
        for path, text in result.items()
        if text.strip()
    ]


def find(content: str, headings: str) -> str | None:
    """The sections of such headings whole, with their sub-sections; None if there is none.

    Headings that occur more than once have one id. Then the result is all of them, one behind the other.
    """
    if not headings:
        return next((item.text for item in with_text(content) if item.path == PREAMBLE), None)
    try:
        listed = sections.list_sections(content)
    except SectionError:
        return None
    batch = [list_section for list_section in listed if headings in _names(list_section.path)]
    # Below the file's only title, the headings without it are enough.
    batch = batch or [list_section for list_section in listed if headings in _names(list_section.path[1:])]
    return "\n".join(sections.section_text(content, item).strip("\r\n") for item in batch) or None


def is_within(path: SectionPath, headings: str) -> bool:
    """Whether the section of a path is the one of such headings (find), or below it."""
    if not headings:
        return path == PREAMBLE
    starts = [path[:length] for length in range(1, len(path) + 1)]
    return any(headings in (*_names(start), *_names(start[1:])) for start in starts)


def _names(path: SectionPath) -> tuple[str, ...]:
    """The names by which a request may name a section: its headings as in an id, as in a text, and as in edits."""
    name = BETWEEN.join(map(title, path))
    return name, visible(name), sections.joined(path)
