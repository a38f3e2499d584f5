"""A summary as it is stored, under the hash of its input."""

from typing import ClassVar, Literal

from livemem.conversations.turn import TurnIndex
from livemem.llm.usage import Usage
from livemem.store.documents import Count, Document, Line, Moment, Number


class Entities(Document):
    """What is named in the source."""

    persons: list[str] = []
    organisations: list[str] = []
    artifacts: list[str] = []
    places: list[str] = []
    times: list[str] = []
    other: list[str] = []


ENTITIES = tuple(Entities.model_fields)


class Covers(Document):
    """The first and the last turn, at least in part."""

    turns: tuple[TurnIndex, TurnIndex]


class Summary(Document):
    """`g{generation}/summaries/l{level}/{number}/{hash}.json`."""

    most_bytes: ClassVar[int] = 16 << 20
    most_values: ClassVar[int] = 100_000

    level: Literal[1, 2, 3]
    number: Number
    covers: Covers
    children: tuple[Number, Number] | None = None
    """From level 2 on the summaries of the level below."""
    range_start: Moment
    range_end: Moment
    """When the turns were written that it covers."""
    created_at: Moment
    """That of the newest turn."""
    generated_at: Moment
    summary: str
    key_findings: list[str] = []
    files_mentioned: list[str] = []
    topics: list[str] = []
    entities: Entities = Entities()
    signals: list[str] = []
    tools_used: list[str] = []
    chars: Count
    """Of `summary`."""
    source_chars: Count
    model: Line
    prompt_version: Line
    usage: Usage = Usage()
    redo: Count = 0
    """How often it was made anew by hand."""
    erased: list[int] = []
    """Numbers of those turns it was made of that were erased already."""
    overlaps: bool | None = None
    """Whether the turn before the first was shown to the model; None where that was not noted yet."""
    flaws: list[str] = []
    """What is not as it was asked for, where even the second answer was so."""

    def says_of(self, index: int) -> bool:
        """Whether it may say what a turn said: it was made of it, before that was erased."""
        first, last = self.covers.turns
        return first - (self.overlaps is not False) <= index <= last and index not in self.erased
