"""The recorded cases, as they stand in `cases/*.json`. A file that does not fit is an error at once."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

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


class Expected(CasePart):
    """What a good answer holds, lacks, and the language that it is in."""

    has: Sequence[Pattern] = ()
    lacks: Sequence[Pattern] = ()
    language: str | None = None


class _Case(CasePart):
    name: str
    about: str


class Consolidation(_Case):
    """Notes that are folded into a bank. `rules` is a template's name, or rules of its own."""

    kind: Literal["consolidation"]
    today: str
    rules: str
    language: str | None = None
    synthesis: str | None = None
    bank: dict[str, str] = {}
    notes: Sequence[NoteGiven]
    expect: Expected


class MemoryExpected(CasePart):
    """A memory that must come out, and the numbers of messages of which it must name one."""

    has: Pattern
    messages: Sequence[int]


class DigestExpected(Expected):
    """`memories` that must come out; no more than `most` of them in all."""

    memories: Sequence[MemoryExpected]
    most: int


class DigestCase(_Case):
    """Messages of a room of which memories are made."""

    kind: Literal["digest"]
    now: str
    room: str
    messages: Sequence[MessageGiven]
    expect: DigestExpected


class PairGiven(CasePart):
    """Two facts, and what they are to each other."""

    new: str
    there: str
    verdict: Literal["same", "contradicts", "different"]


class Verdicts(_Case):
    """Pairs of facts that are judged in one call."""

    kind: Literal["verdicts"]
    pairs: Sequence[PairGiven]


class AnswerExpected(Expected):
    """`sources`: patterns of which each fits a source that the answer names."""

    sources: Sequence[Pattern] = ()


class QuestionAsked(_Case):
    """A question about memories and notes that are stored before."""

    kind: Literal["question"]
    memories: Sequence[str] = ()
    notes: Sequence[NoteGiven] = ()
    message: str
    expect: AnswerExpected


Case = Consolidation | DigestCase | Verdicts | QuestionAsked


class _File(CasePart):
    case: Annotated[Case, Field(discriminator="kind")]


def read(only: str = "") -> list[Case]:
    """The cases whose name or kind holds `only`, in the order of their files."""
    files = sorted(FOLDER.glob("*.json"))
    found = [_File.model_validate_json(b'{"case": ' + file.read_bytes() + b"}").case for file in files]
    return [one for one in found if only in one.name or only == one.kind]


def missing(text: str, expected: Expected) -> list[str]:
    """The faults of a text, in a few words each. The language is not looked at."""
    wrong = [f"lacks /{one}/" for one in expected.has if not fits(one, text)]
    return wrong + [f"has /{one}/" for one in expected.lacks if fits(one, text)]


def fits(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text."""
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None
