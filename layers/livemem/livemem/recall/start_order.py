"""The order in which the lines of a memory fill a start. It does not depend on the number of characters there is place
for. So a larger start has each section that a smaller one has. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from livemem.recall.start_lines import LARGE, TextLine, newest_first
from livemem.recall.start_sections import SectionText
from livemem.recall.start_words import Why

SHARE_OF_QUESTION, SHARE_OF_USER, SHARE_OF_LIVE = 3, 10, 3
"""The part of a start that answers to a question may take: a third; hints about the user: a tenth; and new notes as
long as sections follow: a third. Agents' knowledge of themselves has a tenth then.
"""
SHARES: Mapping[Why, int] = {"question": SHARE_OF_QUESTION, "user": SHARE_OF_USER, "live": SHARE_OF_LIVE, "own": 10}
CODE = re.compile(r"`[^`\n]+`")
BESIDE, BESIDE_MOST = 3, 7
"""Sections that are loaded first leave the others a third, until these have a seventh of their size."""


@dataclass(frozen=True, eq=False)
class StartItem:
    """A line of a list: a note, a memory, a turn, a summary or a hint. `place`: its place in the list. `key` has its
    kind and its id.
    """

    place: int
    kind: Literal["note", "memory", "turn", "summary"]
    key: tuple[str, str]
    source: str
    text: str
    verified_at: str | None = None


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
