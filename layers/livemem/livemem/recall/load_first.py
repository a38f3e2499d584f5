"""The sections of a bank that an agent must know at its start: those that the rules mark as load first, in their order.

The mark `<!-- load first -->` stands at the end of the line of the rules that names a file or a section, a heading or a
bullet. If there is no mark, or no marked section is in the bank, the usual headings decide (USUAL). Pure.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from livemem.spaces.rules import LOAD_FIRST

USUAL = (
    *("current focus", "focus", "active context", "contexte actif", "contexte actuel", "priorité actuelle", "en cours"),
    *("next steps", "prochaines étapes", "to do", "todo", "todos", "à faire", "reste à faire"),
    *("open questions", "questions ouvertes", "open decisions", "décisions ouvertes", "décisions à prendre"),
    *("known issues", "problèmes connus", "open issues", "problèmes ouverts", "blockers", "points bloquants"),
)
"""Headings, and names of files, of present facts, in the order in which they are given."""

_COMMENT = re.compile(r"<!--.{0,200}?-->")
_LONGEST_LINE = 2_000
"""Characters of a line of rules, and of a heading, that are read."""
_FILE = re.compile(r"(?<![\w/.-])[A-Za-z0-9][A-Za-z0-9._/-]*\.md\b(?![\w/-])")
_LEAD = re.compile(r"^\W*$")
_HEADING = re.compile(r"^ {0,3}(?P<marks>#{1,6})\s+(?P<text>.*)$")
_HEADING_SPAN = re.compile(r"`\s*#{1,6}\s+([^`]+)`")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_BOLD = re.compile(r"^(?:\*\*|__)(.+?)(?:\*\*|__)")
_BEHIND_NAME = re.compile(r"\s*(?::\s|:$|\s[-–—]\s).*$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


Place = Callable[[str, Sequence[str]], int | None]
"""The place of a section among those loaded first, by its file and its headings; None if it is not one."""


@dataclass(frozen=True)
class Mark:
    """The target of a marked line: a section by the words of its heading, of one file or of any; or a whole file."""

    path: str | None
    title: str | None

    def names(self, path: str, titles: Sequence[str]) -> bool:
        """Whether the mark means the section of these headings, in plain words, or one above it."""
        return self.path in (None, path) and (self.title is None or self.title in titles)


def order(rules: str, sections: Iterable[tuple[str, Sequence[str]]]) -> Place:
    """The function that gives each section's place among those loaded first. `sections` are all of the bank."""
    known = {(path, tuple(titles)): [_plain(title) for title in titles] for path, titles in sections}
    result = marks(rules)
    places = {
        (path, titles): _first(mark.names(path, plain) for mark in result) for (path, titles), plain in known.items()
    }
    if not any(place is not None for place in places.values()):
        places = {(path, titles): _usual(path, plain) for (path, titles), plain in known.items()}
    return lambda path, titles: places.get((path, tuple(titles)))


def _usual(path: str, titles: Sequence[str]) -> int | None:
    stem = _plain(_CAMEL.sub(" ", path.rpartition("/")[2].removesuffix(".md")))
    text = f" {' | '.join([stem, *titles])} "
    return _first(f" {phrase} " in text for phrase in _USUAL)


def _first(named: Iterable[bool]) -> int | None:
    return next((number for number, item in enumerate(named) if item), None)


def marks(rules: str) -> list[Mark]:
    """The targets of the marked lines, in their order."""
    marks: list[Mark] = []
    scope: str | None = None
    level = 0
    opening = ""
    for line in rules.splitlines():
        text = _COMMENT.sub("", line[:_LONGEST_LINE]).rstrip()
        heading = _HEADING.match(text)
        # A bullet may continue in further lines. Its target stands in its first one.
        opening = text if heading or not opening or not text or _BULLET.match(text) else opening
        match = [item for item in _FILE.finditer(text) if heading or _LEAD.match(text[: item.start()])]
        if match:
            scope, level = _path(match[0][0]), len(heading["marks"]) if heading else 0
        elif heading and len(heading["marks"]) <= (level or len(heading["marks"])):
            scope = None
        if LOAD_FIRST.search(line[-_LONGEST_LINE:]):
            marks += _named(opening, scope)
    return list(dict.fromkeys(marks))


def files(rules: str) -> list[str]:
    """The paths of the files that the rules name, in their order."""
    lines = (line[:_LONGEST_LINE] for line in rules.splitlines())
    return list(dict.fromkeys(_path(item[0]) for line in lines for item in _FILE.finditer(line)))


def _named(text: str, scope: str | None) -> list[Mark]:
    heading = _HEADING.match(text)
    files = list(_FILE.finditer(text))
    titles = _HEADING_SPAN.findall(text)
    rest = heading["text"] if heading else _BULLET.sub("", text).strip()
    bold, lead = _BOLD.match(rest), _BEHIND_NAME.sub("", rest)
    if titles:
        named = titles
    elif files and (heading or _LEAD.match(text[: files[0].start()]) or (not bold and lead == rest)):
        return [Mark(_path(file[0]), None) for file in files]
    else:
        named = [bold[1] if bold else lead]
    return [Mark(scope, plain) for title in named if (plain := _plain(title))]


def _path(name: str) -> str:
    return name.removeprefix("./").removeprefix("bank/")


def _plain(text: str) -> str:
    """The words of a heading, without case, accents and signs."""
    bare = unicodedata.normalize("NFKD", _COMMENT.sub("", text[:_LONGEST_LINE]).casefold())
    return " ".join(re.sub(r"[\W_]+", " ", "".join(c for c in bare if not unicodedata.combining(c))).split())


_USUAL = tuple(map(_plain, USUAL))
