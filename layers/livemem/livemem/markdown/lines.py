"""Single lines of a section: the one that a text begins, and new lines in the form of an old one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from livemem.markdown.blocks import SectionError, collapse, is_blank
from livemem.markdown.sections import shown

SHORTEST = 12
"""Characters that name a line by its beginning (docs/consolidation.md). Whole words that begin one line alone, and a
whole line, may be shorter.
"""
MOST_LISTED = 10
_FORM = re.compile(r"[ \t]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?|>[ \t]?)?")


def find(lines: Sequence[str], start: int, stop: int, text: str) -> int:
    """The number of the line between `start` and `stop` that is `text`, or begins with it. The mark of a list may be
    left out.

    Raises SectionError if no line fits, or more than one does. It names those that fit.
    """
    collapsed = collapse(text)
    if not collapsed:
        raise SectionError("line is empty: give the beginning of the line")
    numbers = [number for number in range(start, stop) if not is_blank(lines[number])]
    for target, read in ((collapsed, collapse), (_bare(collapsed), _bare)):
        matches = [number for number in numbers if read(lines[number]) == target]
        fits = matches or [number for number in numbers if target and read(lines[number]).startswith(target)]
        words = len(fits) == 1 and _ends_word(read(lines[fits[0]]), target)
        if fits and not matches and len(collapsed) < SHORTEST and not words:
            raise SectionError(f"line {shown(text)} is too short: give at least {SHORTEST} characters of its beginning")
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise SectionError(f"{len(fits)} lines fit; give more of the line: {_listed(lines, fits)}")
    raise SectionError(f"no line begins with {shown(text)}; the section has: {_listed(lines, numbers)}")


def _ends_word(line: str, beginning: str) -> bool:
    """Whether a beginning of a line has a word, and no part of one at its end."""
    after = line[len(beginning) :][:1]
    return any(map(str.isalnum, beginning)) and not (beginning[-1].isalnum() and after.isalnum())


def formed(old: str, new: Sequence[str]) -> list[str]:
    """New lines for the place of an old one: those of a list, and their texts, begin as it does where they have no mark
    of their own.
    """
    begin = _form(old)
    if not begin.strip() or any(_form(line).strip() for line in new if not is_blank(line)):
        return list(new)
    return [line if is_blank(line) else begin + line.lstrip(" \t") for line in new]


def _form(line: str) -> str:
    """The blanks and the mark of a list or quote at the beginning of a line."""
    form = _FORM.match(line)
    return form[0] if form else ""


def _bare(line: str) -> str:
    return _FORM.sub("", collapse(line), count=1)


def _listed(lines: Sequence[str], numbers: Sequence[int]) -> str:
    names = [shown(lines[number]) for number in numbers[:MOST_LISTED]]
    more = [f"{len(numbers) - MOST_LISTED} more"] if len(numbers) > MOST_LISTED else []
    return ", ".join([*names, *more]) or "no lines"
