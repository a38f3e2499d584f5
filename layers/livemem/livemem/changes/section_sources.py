"""The notes on which each section of a bank file rests, as a record keeps them. They are stored, so that a reader need
not replay all changes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from typing import Self

from pydantic import model_validator

from livemem import clock
from livemem.errors import InvalidName
from livemem.markdown import sections
from livemem.markdown.blocks import SectionError, split_lines
from livemem.store import keys
from livemem.store.stored_documents import Count, LazyModel, Moment, Number
from livemem.text.code_version import CodeVersion

MOST_NOTES = 20_000
"""Notes kept for a file: about 1 MB of a record. Beyond that the oldest are left out, and counted."""

MOST_LINKS = 50_000
"""Times that a note is named by a section of a file: an answer that names them all is about 5 MB."""

PREAMBLE: tuple[str, ...] = ()
"""The path of the text before a file's first heading."""

SectionPath = tuple[str, ...]


@dataclass
class Trace:
    """The sources of a section: note id -> the consolidation that brought it in, oldest first; its manual corrections;
    how many older notes were left out; when a caller last corrected or confirmed it by hand; and of which version of
    the code its lines are, by their keys (code_lines.py).
    """

    sources: dict[str, int] = field(default_factory=dict)
    corrections: list[int] = field(default_factory=list)
    omitted: int = 0
    by_hand_at: str | None = None
    lines: Mapping[str, CodeVersion] = field(default_factory=dict)

    def copy(self) -> "Trace":
        return Trace(dict(self.sources), list(self.corrections), self.omitted, self.by_hand_at, self.lines)

    def newest_note(self) -> str | None:
        """When the newest of its notes was written, ISO 8601 in UTC. None if it rests on none."""
        try:
            # Ids begin with their time.
            return clock.iso(keys.parse_note_id(max(self.sources)).timestamp) if self.sources else None
        except InvalidName:
            return None

    def verified_at(self) -> str | None:
        """When a note or a caller last confirmed the section, ISO 8601 in UTC. None where nobody knows."""
        return max(filter(None, (self.newest_note(), self.by_hand_at)), default=None)


State = dict[SectionPath, Trace]


class StoredSectionSources(LazyModel):
    """One section. `notes` are positions in the file's notes, such as `0-12,15`, those of `lines` in its `codes`."""

    path: list[str]
    notes: str = ""
    corrections: list[Number] = []
    omitted: Count = 0
    by_hand_at: Moment | None = None
    lines: dict[str, Count] = {}


class Sources(LazyModel):
    """A file's sections after a change. Each note is listed once: id -> the consolidation that brought it in."""

    notes: dict[str, Number] = {}
    sections: list[StoredSectionSources] = []
    codes: list[dict[str, str]] = []
    """Versions of the code, each once."""

    @model_validator(mode="after")
    def _within_the_limits(self) -> Self:
        # Checked before the ranges are expanded: a few characters may name a billion positions.
        links = 0
        for section in self.sections:
            for first, last in _ranges(section.notes):
                links += last - first + 1
                if not first <= last < len(self.notes) or links > MOST_LINKS:
                    raise ValueError("positions of notes that are not there, or too many of them")
            if any(place >= len(self.codes) for place in section.lines.values()):
                raise ValueError("positions of versions that are not there")
        return self

    @classmethod
    def of(cls, state: Mapping[SectionPath, Trace]) -> "Sources":
        """The state as it is stored, without sections that rest on nothing."""
        numbered: dict[str, int] = {}
        links: Counter[str] = Counter()
        for trace in state.values():
            numbered |= trace.sources
            links.update(trace.sources.keys())
        newest = _fitting(sorted(numbered, key=lambda note_id: (numbered[note_id], note_id)), links)
        positions = {note_id: index for index, note_id in enumerate(newest)}
        versions = dict.fromkeys(code for trace in state.values() for code in trace.lines.values())
        codes = {code: place for place, code in enumerate(versions)}
        traces = []
        for path, trace in state.items():
            numbers = [positions[note_id] for note_id in trace.sources if note_id in positions]
            omitted = trace.omitted + len(trace.sources) - len(numbers)
            if numbers or omitted or trace.corrections or trace.by_hand_at or trace.lines:
                traces.append(
                    StoredSectionSources(
                        path=list(path),
                        notes=_packed(numbers),
                        corrections=trace.corrections,
                        omitted=omitted,
                        by_hand_at=trace.by_hand_at,
                        lines={key: codes[code] for key, code in trace.lines.items()},
                    )
                )
        return cls(
            notes={note_id: numbered[note_id] for note_id in newest},
            sections=traces,
            codes=[code.fields() for code in codes],
        )

    def state(self) -> State:
        """The traces by section path."""
        notes, codes = list(self.notes.items()), list(map(CodeVersion.read, self.codes))
        return {
            tuple(section.path): Trace(
                dict(notes[index] for index in _unpacked(section.notes)),
                list(section.corrections),
                section.omitted,
                section.by_hand_at,
                {key: codes[place] for key, place in section.lines.items()},
            )
            for section in self.sections
        }


def own_parts(content: str) -> list[tuple[SectionPath, str]]:
    """The text before the first heading, and each section's own text, in their order. The text is parsed once."""
    try:
        headings = sections.list_sections(content)
    except SectionError:
        # Nested deeper than the parser follows: the file counts as one piece of text.
        return [(PREAMBLE, content)]
    lines = split_lines(content)
    parts = [(PREAMBLE, lines[: headings[0].start] if headings else lines)]
    parts += [(section.path, lines[section.body : section.own_end]) for section in headings]
    return [(path, "".join(part)) for path, part in parts]


def own_texts(content: str) -> dict[SectionPath, str]:
    """Each section's own text. Sections of the same path are taken together."""
    texts: dict[SectionPath, str] = {}
    for path, part in own_parts(content):
        texts[path] = texts.get(path, "") + part
    return texts


def _fitting(oldest_first: list[str], links: Mapping[str, int]) -> list[str]:
    """The newest notes that are within the limits."""
    ends = accumulate(links[note_id] for note_id in reversed(oldest_first))
    count = min(sum(end <= MOST_LINKS for end in ends), MOST_NOTES)
    return oldest_first[len(oldest_first) - count :]


def _packed(positions: Iterable[int]) -> str:
    """`0-2,5` for 0, 1, 2, 5. Their order is kept."""
    parts = []
    for _, run in groupby(enumerate(positions), key=lambda item: item[1] - item[0]):
        numbers = [number for _, number in run]
        parts.append(f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0]))
    return ",".join(parts)


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    """The first and the last position of each part. Raises ValueError."""
    for part in text.split(",") if text else []:
        first, _, last = part.partition("-")
        yield int(first), int(last or first)


def _unpacked(text: str) -> Iterator[int]:
    for first, last in _ranges(text):
        yield from range(first, last + 1)
