"""Summaries as they are stored under the hash of their input. A listing shows which of them a version has, and which
are missing.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import Field

from livemem.conversations import names
from livemem.conversations.boundaries import BlockBoundary, GroupBoundary
from livemem.conversations.conversation import TurnIndex, parsed
from livemem.conversations.summary_versions import At
from livemem.errors import LiveMemoryError
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.store import keys, listing
from livemem.store.bucket import BOUNDARY, IN_VERSION, SUMMARY, BoundaryKey, SummaryKey
from livemem.store.cache import TimedCache
from livemem.store.objects import Entry
from livemem.store.stored_documents import Count, Line, Moment, NoteId, Number, StoredDocument
from livemem.text.speakers import all_said_by

D = TypeVar("D", bound=StoredDocument)
KNOWN_PREFIXES = 1_000
WRITERS = 20
"""Tokens, and speakers that others wrote for, that a summary names at most."""


class Entities(StoredDocument):
    """The names in the source, by kind."""

    persons: list[str] = []
    organisations: list[str] = []
    artifacts: list[str] = []
    places: list[str] = []
    times: list[str] = []
    other: list[str] = []


ENTITIES = tuple(Entities.model_fields)


class Covers(StoredDocument):
    """The first and the last turn, at least in part."""

    turns: tuple[TurnIndex, TurnIndex]


class Summary(StoredDocument):
    """`v{version}/summaries/l{level}/{number}/{hash}.json`."""

    most_bytes: ClassVar[int] = 16 << 20
    most_values: ClassVar[int] = 100_000

    level: Literal[1, 2, 3]
    number: Number
    covers: Covers
    children: tuple[Number, Number] | None = None
    """From level 2 on, the first and the last summary of the level below that it covers."""
    range_start: Moment
    range_end: Moment
    """`range_start` and `range_end`: when the turns that it covers were written."""
    created_at: Moment
    """The time of the newest turn."""
    generated_at: Moment
    summary: str
    key_findings: list[str] = []
    files_mentioned: list[str] = []
    topics: list[str] = []
    entities: Entities = Entities()
    signals: list[str] = []
    notes: list[NoteId] = []
    """Ids of the notes that were captured from its block (capture.py)."""
    tools_used: list[str] = []
    chars: Count
    """Of `summary`."""
    source_chars: Count
    model: Line
    prompt_version: Line
    usage: Usage = Usage()
    redo: Count = 0
    """How often it was made again by hand."""
    erased: list[int] = []
    """Numbers of the turns in its source that were erased already."""
    overlaps: bool | None = None
    """Whether the prompt showed the turn before the first. None in documents that do not record it."""
    since: TurnIndex | None = None
    """The first turn whose words the prompt may have shown by the summary of the block before. None: it showed none."""
    written_by: Annotated[list[Line], Field(max_length=WRITERS)] | None = None
    """The tokens that wrote its turns, also the turn before the first. None in documents that do not record it."""
    written_for: Annotated[list[tuple[Line, str]], Field(max_length=WRITERS)] = []
    """The tokens that wrote for speakers whose own they are not, with those speakers."""
    asked: bool = False
    """Whether it is of questions to the memory alone (Turn.asked)."""
    flaws: list[str] = []
    """Names of flaws that the model's second answer still had."""
    verbatim: bool = False
    """Whether `summary` is the block's own text (text/labels.py): all its labels are the service's."""

    @property
    def said_by(self) -> str:
        """The speakers whose words another token wrote, as texts name them. Empty where there are none."""
        return all_said_by(self.written_for)

    def says_of(self, index: int) -> bool:
        """Whether it may hold words of a turn: the turn is in its source, and was not erased yet."""
        return self.first_shown <= index <= self.covers.turns[1] and index not in self.erased

    @property
    def first_shown(self) -> int:
        """The first turn of which it may hold words."""
        first = self.covers.turns[0] - (self.overlaps is not False)
        return min(first, self.since or first)


@dataclass
class Layers:
    """The boundaries and summaries of a version. `boundaries` holds by level how many there are without a gap."""

    at: At
    boundaries: dict[int, int]
    names: dict[int, dict[int, list[str]]]
    """By level and number, the names of all summaries that were ever made of it."""
    etags: Mapping[str, str] = field(default_factory=dict)

    def add(self, level: int, number: int, name: str) -> None:
        """Add a summary that was made just now."""
        existing = self.names[level].setdefault(number, [])
        if name not in existing:
            existing.append(name)


_BOUNDS = partial(TimedCache[str, list[str]], KNOWN_PREFIXES)
"""Every thousandth key below a prefix, as this process last saw them. It is a guess: no result depends on it."""


def _listed(process: Process, prefix: str) -> list[Entry]:
    """All objects below a prefix: 1 LIST per 1,000, in parallel where this process has listed them before."""
    bounds = process.cache(_BOUNDS)
    parts = listing.between(bounds.get(prefix) or [])
    pages = process.store.map(lambda part: listing.entries(process.store, prefix, part), parts)
    entries = [entry for page in pages for entry in page]
    bounds.put(prefix, listing.bounds([entry.key for entry in entries]))
    return entries


def read(process: Process, at: At) -> Layers:
    """The boundaries and summaries of a version: 1 LIST per 1,000 of them, in parallel where it was listed before."""
    numbers: dict[int, set[int]] = {level: set() for level in keys.LEVELS}
    found: dict[int, dict[int, list[str]]] = {level: defaultdict(list) for level in keys.LEVELS}
    etags = {}
    for entry in _listed(process, IN_VERSION.prefix(at.space_id, at.conversation_id, at.version)):
        etags[entry.key] = entry.etag
        boundary, summary = BOUNDARY.parse_as(BoundaryKey, entry.key), SUMMARY.parse_as(SummaryKey, entry.key)
        if boundary:
            numbers[boundary.level].add(boundary.number)
        elif summary:
            found[summary.level][summary.number].append(summary.name)
    in_a_row = {level: _in_a_row(number) for level, number in numbers.items()}
    return Layers(at, in_a_row, {level: dict(batch) for level, batch in found.items()}, etags)


def _in_a_row(numbers: set[int]) -> int:
    count = 0
    while count + 1 in numbers:
        count += 1
    return count


def block_boundaries(process: Process, layers: Layers, numbers: Sequence[int]) -> list[BlockBoundary]:
    """These boundaries of level 1, which must be there: 1 GET for each that this process has not read before."""
    return _read(process, layers, BlockBoundary, [layers.at.boundary_key(1, number) for number in numbers])


def group_boundaries(process: Process, layers: Layers, level: int, numbers: Sequence[int]) -> list[GroupBoundary]:
    """These boundaries of level 2 or 3, with the same requests."""
    return _read(process, layers, GroupBoundary, [layers.at.boundary_key(level, number) for number in numbers])


def last_grouped(process: Process, layers: Layers, level: int) -> int:
    """The last child that is in a group of level 2 or 3, 0 where there is no group: 1 GET at most."""
    count = layers.boundaries[level]
    return group_boundaries(process, layers, level, [count])[0].children[1] if count else 0


def load(process: Process, layers: Layers, level: int, named: Mapping[int, str]) -> list[Summary]:
    """These summaries of a level. `named` holds their names by number. The same requests."""
    return _read(process, layers, Summary, [layers.at.summary_key(level, *item) for item in named.items()])


def _read(process: Process, layers: Layers, kind: type[D], texts: Sequence[str]) -> list[D]:
    def one(key: str) -> D:
        etag = layers.etags.get(key, "")
        known = process.reads.get(kind, key, etag) if etag else None
        if known:
            return known
        item = process.store.get(key)
        if not item:
            raise Vanished(key)
        document = parsed(process, kind, item)
        return process.reads.put(key, item.etag, document, [item.body])

    return process.store.map(one, texts)


class Vanished(LiveMemoryError):
    """A listed object is gone: the conversation, a part of it, or its version of summaries is removed right now. Both
    workers and readers meet it. The request can be sent again.
    """

    status = 409
    code = "conflict"
    retry_after = 1

    def __init__(self, key: str) -> None:
        super().__init__("The conversation, or a part of it, is removed or replaced right now. Try again.")
        self.key = key


def current(process: Process, layers: Layers, level: int) -> dict[int, str]:
    """The names of the summaries of a level that count, by number. Numbers without one are missing."""
    numbers = range(1, layers.boundaries[level] + 1)
    existing = layers.names[level]
    if level == 1:
        # A block's text never changes, so all its summaries have the same source.
        by_number = {number: names.current(existing.get(number, ())) for number in numbers}
    else:
        below = current(process, layers, level - 1)
        groups = group_boundaries(process, layers, level, numbers)
        sources = [source_of_group(below, boundary) for boundary in groups]
        by_number = {
            number: names.current(existing.get(number, ()), source)
            for number, source in zip(numbers, sources, strict=True)
            if source
        }
    return {number: name for number, name in by_number.items() if name}


def source_of_group(below: Mapping[int, str], boundary: GroupBoundary) -> str | None:
    """The source of a group's summary, or None while one of its children is missing."""
    first, last = boundary.children
    if last - first >= len(below):
        # At least one is missing: no need to check each.
        return None
    children = [below.get(number) for number in range(first, last + 1)]
    return names.source(children) if all(children) else None


def missing(process: Process, layers: Layers, level: int) -> list[int]:
    """The numbers of a level whose summary is missing and can be made, because its whole source is there."""
    existing = current(process, layers, level)
    numbers = [number for number in range(1, layers.boundaries[level] + 1) if number not in existing]
    if level == 1 or not numbers:
        return numbers
    below = current(process, layers, level - 1)
    groups = group_boundaries(process, layers, level, numbers)
    return [
        number for number, boundary in zip(numbers, groups, strict=True) if source_of_group(below, boundary) is not None
    ]
