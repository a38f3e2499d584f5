"""The recorded cases, as they stand in `cases/*.json`. A file that does not fit is an error at once."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict

FOLDER = Path(__file__).parent / "cases"


def _pattern(text: str) -> str:
    re.compile(text)
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]
"""A regular expression, searched without regard to case; a line end counts as any sign."""


class CasePart(BaseModel):
    """A part of a case or a key, without other fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoteGiven(CasePart):
    """A live note. `at` is a day and time in UTC."""

    at: str
    agent: str
    category: str
    content: str


class MessageGiven(CasePart):
    """A message of a room."""

    at: str
    author: str
    content: str


class MemoryExpected(CasePart):
    """A memory that must come out, and the numbers of messages of which it must name one."""

    has: Pattern
    messages: Sequence[int]


class PairGiven(CasePart):
    """Two facts, and what they are to each other."""

    new: str
    there: str
    verdict: Literal["same", "contradicts", "different"]


class Expected(CasePart):
    """What a good answer holds, lacks, and its language. `sources`: patterns of which each fits a source that it names.
    Of a digest: the `memories` that must come out, and no more than `most` of them in all.
    """

    has: Sequence[Pattern] = ()
    lacks: Sequence[Pattern] = ()
    language: str | None = None
    sources: Sequence[Pattern] = ()
    memories: Sequence[MemoryExpected] = ()
    most: int = 0


class Case(CasePart):
    """What a model is given, by its kind.

    `consolidation`: `notes` that are folded into a `bank` on the day `today`; `rules` is a template's name, or rules.
    `digest`: `messages` of a `room` of which memories are made, at the time `now`. `verdicts`: `pairs` of facts that
    are judged in one call. `question`: the `message` of a user about `memories` and `notes` that are stored before.
    """

    kind: Literal["consolidation", "digest", "verdicts", "question"]
    name: str
    about: str
    expect: Expected = Expected()
    notes: Sequence[NoteGiven] = ()
    today: str = ""
    rules: str = ""
    language: str | None = None
    synthesis: str | None = None
    bank: dict[str, str] = {}
    now: str = ""
    room: str = ""
    messages: Sequence[MessageGiven] = ()
    pairs: Sequence[PairGiven] = ()
    memories: Sequence[str] = ()
    message: str = ""


def read(only: str = "") -> list[Case]:
    """The cases whose name or kind holds `only`, in the order of their files."""
    found = [Case.model_validate_json(file.read_bytes()) for file in sorted(FOLDER.glob("*.json"))]
    return [one for one in found if only in one.name or only == one.kind]


def missing(text: str, expected: Expected) -> list[str]:
    """The faults of a text, in a few words each. The language is not looked at."""
    wrong = [f"lacks /{one}/" for one in expected.has if not fits(one, text)]
    return wrong + [f"has /{one}/" for one in expected.lacks if fits(one, text)]


def fits(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text."""
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None
