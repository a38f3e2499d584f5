"""Lines that the service writes around what people said, in Markdown for a model. No author can forge one."""

import re
from collections.abc import Iterable

from livemem.text.invisible import visible

SIDES = ("User", "Assistant")
"""The labels of the sides of a turn."""
_BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_BLANKS = rf"[^\S{_BREAKS}]*"
_SIDE = f"(?:{'|'.join(SIDES)}):"
_OTHERS = r"\[(?:Turn|Level) |(?:System|Tool|Tools|Key findings|Files mentioned|Tools used):"
_HEADING = rf"#|(?:=+|-+){_BLANKS}(?![^{_BREAKS}])"
_FORGED = re.compile(rf"(?<![^{_BREAKS}])({_BLANKS})(?={_HEADING}|{_OTHERS}|(?P<side>{_SIDE}))")
_FORGED_SIDE = re.compile(rf"(?<=[{_BREAKS}])({_BLANKS})(?={_SIDE})")


def escaped(text: str, *, sides: bool = False) -> str:
    """The text with a backslash before each beginning of a line that looks like a heading, or like a line that this
    service writes. So no author can forge a section, an entry or another speaker's words. Invisible characters are
    shown. `sides`: the text is one of `of_sides`, whose labels stay.
    """
    return visible(_FORGED.sub(lambda match: match[0] if sides and match["side"] else f"{match[1]}\\", text))


def of_sides(sides: Iterable[tuple[str, str]]) -> str:
    """The texts, given as (label, text), each behind its label. A line of a text that looks like one is escaped."""
    labelled = ((label, text.strip()) for label, text in sides)
    return "\n\n".join(f"{label}: {_escaped_sides(text)}" for label, text in labelled if text)


def _escaped_sides(text: str) -> str:
    return _FORGED_SIDE.sub(r"\1\\", text)
