"""The text that an agent gets at the start of a session, within an exact number of characters.

The whole bank is given if it fits. Else the start is filled by lines, in the order of `start_lines`. At its end stands
the outline, which names all omitted parts. docs/start.md gives the order and its reasons.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from livemem import clock
from livemem.bank.time_travel import RecordedMoment
from livemem.conversations.user_signals import Heard
from livemem.errors import InvalidRequest
from livemem.jobs.describable import job_id
from livemem.limits import SPEAKER_BYTES
from livemem.memories.memory import Memory
from livemem.notes.note import Note
from livemem.process import Process
from livemem.recall import code_marks, start_material
from livemem.recall.start_lines import (
    SHARE_OF_QUESTION,
    SHARE_OF_USER,
    SectionText,
    ShownSection,
    StartItem,
    TextLine,
    Unit,
    in_order,
    joined,
    lines_of,
    of_answers,
    of_items,
    of_sections,
)
from livemem.recall.start_material import PastSession, StartMaterial
from livemem.recall.start_outline import WORDS, LeftOut, StartWords, Why, day
from livemem.text import similarity, text_tokens
from livemem.text.code_version import UNKNOWN, CodeVersion
from livemem.text.invisible import visible
from livemem.text.items import within_item
from livemem.text.language import LANGUAGES, Lang, language_of
from livemem.text.redaction import identifier
from livemem.text.speakers import check_speaker

CHARS_DEFAULT, CHARS_LEAST, CHARS_MOST = 9_500, 2_000, 100_000
"""Claude Code cuts what a hook prints at 10,000 characters, and the hook has its own words around it."""
LIMITED: Mapping[Why, int] = {"question": SHARE_OF_QUESTION, "user": SHARE_OF_USER}
"""The shares that hold even if nothing else follows."""
SHARE_OF_OUTLINE = 5
"""The part of a start that the outline may take: a fifth."""
OWN_WORDS = 3
"""A line of the synthesis says more if a larger part than this of its words stands nowhere above: a third."""
DECISIONS = 50
"""Decisions among new notes that are compared with each other."""
SIGNAL = 200
"""Characters of a hint that are shown."""
SESSION = 600
"""Characters of a session's summary that are shown: what a summary of up to 6,000 characters has."""
OF_A_CLIENT = re.compile(r"(?:.+ \()?([^\s()]+) session [^\s()]+\)?")
"""The title that hooks give: perhaps the first prompt, then the client, and an id that says nothing."""
SENTENCE = 20
"""Characters from which a sentence of a session is not told again. A shorter one alone tells nothing."""
_SENTENCES = re.compile(r"(?<=[.!?])\s+")
DESCRIPTION = 200
"""Characters of the space's description that are shown."""
SYNTHESIS = ("synthesis", "synthesis")
FOLD = "`fold_begin`, then `fold_end` (MCP with `toolset=full`)"

PartKind = Literal["guide", "section", "note", "memory", "turn", "summary", "synthesis", "outline"]
PART_KINDS: Mapping[str, PartKind] = {"memory": "memory", "turn": "turn", "summary": "summary", "session": "summary"}
WHYS: tuple[Why, ...] = get_args(Why)


@dataclass(frozen=True)
class StartPart:
    """A piece of the Markdown: the id by which its source can be read, its characters with the heading above it, and
    the reason why it is there. `verified_at`: when a section or a memory was last confirmed.
    """

    kind: PartKind
    source: str | None
    chars: int
    why: Why
    verified_at: str | None = None


@dataclass(frozen=True)
class Start:
    """The Markdown, its parts in their order, whose characters add up, and the sources that failed or were late."""

    space_id: str
    markdown: str
    parts: list[StartPart]
    degraded: tuple[str, ...]
    unread: int = 0
    """New objects that the search for the question left unread (SpaceHits)."""
    then: RecordedMoment | None = None
    """The earlier moment that is shown. None: it is what holds now."""


@dataclass(frozen=True)
class StartRequest:
    """The values of a request, checked. `lang` None is the language of the space. `user`: the person whom the agent
    works with; None for nobody. `at`: an earlier moment (time_travel.then). `reader`: the version of the code that the
    agent works on.
    """

    max_chars: int = CHARS_DEFAULT
    q: str | None = None
    lang: Lang | None = None
    user: str | None = None
    at: str | None = None
    reader: CodeVersion = UNKNOWN

    def __post_init__(self) -> None:
        """Raise InvalidRequest, naming the field and its bounds."""
        if not CHARS_LEAST <= self.max_chars <= CHARS_MOST:
            raise InvalidRequest.of("max_chars", f"must be from {CHARS_LEAST} to {CHARS_MOST}")
        if self.lang is not None and self.lang not in LANGUAGES:
            raise InvalidRequest.of("lang", f"must be one of {', '.join(LANGUAGES)}")
        if self.user is not None:
            if len(self.user.encode(errors="replace")) > SPEAKER_BYTES:
                raise InvalidRequest.of("user", f"must have at most {SPEAKER_BYTES} bytes")
            check_speaker("user", self.user)


def start(process: Process, space_id: str, request: StartRequest) -> Start:
    """The start of a session in a space: the requests of `start_material.load`. Raises NotFound, StoreUnavailable, and
    for an earlier moment InvalidRequest, Conflict.
    """
    material = start_material.load(
        process,
        space_id,
        characters=request.max_chars,
        question=request.q if request.q and request.q.strip() else None,
        # Users are stored without what looks like a secret.
        user=None if request.user is None else identifier(request.user),
        at=request.at,
        reader=request.reader,
    )
    return render(material, request.max_chars, request.lang or language_of(material.language))


def render(material: StartMaterial, max_chars: int, lang: Lang) -> Start:
    """The start made of some material. Pure."""
    words = WORDS[lang]
    sections = [SectionText(section, words) for section in material.sections]
    page = _Page(material, max_chars, words)
    units: list[Unit] = []
    first = 0
    if page.takes_all(sections):
        units = list(in_order(page.used, _queues(material, [])))
    else:
        page = _Page(material, max_chars, words)
        units = list(in_order(page.used, _queues(material, sections)))
        first = _fitting(_Page(material, max_chars, words), units)
    for unit in units[:first]:
        page.take(unit)
    for unit in units[first:]:
        # A section that came here for the first time could be missing in a larger start.
        if unit.section is None or page.shows(unit.section):
            page.take_if_it_fits(unit)
    page.take_synthesis()
    return page.finished()


def _queues(material: StartMaterial, sections: Sequence[SectionText]) -> dict[Why, list[Unit]]:
    """All that fills a start before the synthesis, the important queues first."""
    by_address = {(item.section.path, item.section.address): item for item in sections}
    answers: list[StartItem | tuple[SectionText, str]] = []
    for place, hit in enumerate(material.found):
        if hit.kind != "section":
            # What was said in a conversation may be long. It can be read whole.
            text = hit.excerpt if hit.kind in ("turn", "summary") else hit.text
            answers.append(StartItem(place, hit.kind, hit.id, _line(hit.told, text), hit.verified_at))
        elif section := by_address.get((hit.path, hit.address)):
            answers.append((section, hit.excerpt))
    live: list[StartItem] = []
    doubts = _contradictions(material.live)

    def line(note: Note) -> str:
        return _note_line(note, doubts.get(note.note_id, ""), code_marks.mark(note.code, material.reader))

    def take(pair: tuple[str, StartItem]) -> bool:
        live.append(pair[1])
        return True

    # Without room of its own each author has the next turn who has least, whatever the start has place for.
    start_material.share_out(
        [(item.agent, StartItem(place, "live", item.note_id, line(item))) for place, item in enumerate(material.live)],
        0,
        author=lambda item: item[0],
        size=lambda item: len(item[1].text),
        take=take,
    )
    # Those that answer the question come as answers, unless these have their share.
    answering = {answer.key for answer in answers if isinstance(answer, StartItem)}
    live.sort(key=lambda item: item.key in answering)
    heard = [
        StartItem(place, "summary", item.summary_id, _heard_line(item)) for place, item in enumerate(material.heard)
    ]
    sessions = [
        StartItem(place, "session", item.summary_id, _session_line(item, code_marks.mark(code, material.reader)))
        for place, (item, code) in enumerate(_new_sessions(material))
    ]
    own = [
        StartItem(place, "memory", item.memory_id, _memory_line(item), item.updated_at)
        for place, item in enumerate(material.memories)
    ]
    return {
        "load_first": of_sections("load_first", [item for item in sections if item.section.first is not None]),
        "question": of_answers(answers),
        "user": of_items("user", heard),
        "live": of_items("live", live),
        "sessions": of_items("sessions", sessions),
        "own": of_items("own", own),
        "other": of_sections("other", [item for item in sections if item.section.first is None]),
    }


def _fitting(page: "_Page", units: Sequence[Unit]) -> int:
    """The largest number of units from the first one on that fit. It never falls where the characters become more.

    More units may fit where fewer do not: a section that is given whole needs no words on missing lines.
    """
    best = 0
    for number, unit in enumerate(units, 1):
        page.take(unit)
        if page.least > page.max:
            break
        best = number if page.fits() else best
    return best


class _Page:
    """A start while it is filled. `used`: the characters of all but the outline, at most. `least`: without the words on
    missing lines.
    """

    def __init__(self, material: StartMaterial, max_chars: int, words: StartWords) -> None:
        self.max = max_chars
        self._material = material
        self._words = words
        self._outline = LeftOut(material, words, max_chars // SHARE_OF_OUTLINE)
        self._guide = _guide(material, words)
        self._items: dict[Why, list[StartItem]] = defaultdict(list)
        self._sections: dict[SectionText, ShownSection] = {}
        self._answers: dict[SectionText, None] = {}
        self._headings: set[Why] = set()
        self._files: set[tuple[str, int | None]] = set()
        self._given: Counter[Why] = Counter()
        self._keys: set[tuple[str, str]] = set()
        self._rested_on: set[str] = set()
        self._synthesis = ""
        self.used = self.least = len(self._guide)

    def fits(self) -> bool:
        """Whether it has at most the characters that it may have, and answers and hints have theirs."""
        return self.used + self._outline.need() <= self.max and all(self._has_share(why) for why in LIMITED)

    def _has_share(self, why: Why, more: int = 0) -> bool:
        return self._given[why] + more + len(self._heading(why)) <= self.max // LIMITED.get(why, 1)

    def shows(self, section: SectionText) -> bool:
        """Whether lines of the section were taken."""
        return section in self._sections

    def takes_all(self, sections: Sequence[SectionText]) -> bool:
        """Take all sections whole. Returns whether they fit."""
        for section in sections:
            shown_section = self._sections[section] = ShownSection(section)
            self.used += shown_section.take_all()
            self._open(_group(section))
            self._open_file(section)
            self._outline.take(section.section)
            self._rested_on |= section.section.notes
            if self.used > self.max:
                return False
        if not self._new_of_synthesis():
            self._outline.take(SYNTHESIS)
        return self.fits()

    def take_if_it_fits(self, unit: Unit) -> None:
        """Take a unit if the characters suffice."""
        new = 0 if unit.why in self._headings else len(self._heading(unit.why))
        if unit.item:
            new += len(unit.item.text)
        elif unit.section and unit.line:
            shown = self._sections[unit.section]
            new += shown.used_with(unit.line) - shown.used
        need = self._outline.need(unit.item.key if unit.item else None)
        if self.used + new + need <= self.max and self._has_share(unit.why, unit.size):
            self.take(unit)

    def take(self, unit: Unit) -> None:
        """Take a unit, unless it is there."""
        if unit.item and not self._knows(unit.item):
            self._take_item(unit.why, unit.item)
        elif unit.section and unit.line and not self._has(unit.section, unit.line):
            self._take_line(unit.section, unit.line)
            if unit.why == "question" and unit.section not in self._answers:
                self._answers[unit.section] = None
                self.used += len(unit.section.heading_alone) - len(unit.section.heading)
        else:
            return
        self._given[unit.why] += unit.size
        self._open(unit.why)

    def _has(self, section: SectionText, line: TextLine) -> bool:
        return section in self._sections and self._sections[section].has(line)

    def _knows(self, item: StartItem) -> bool:
        kind, name = item.key
        return item.key in self._keys or (kind == "archive" and name in self._rested_on)

    def _take_item(self, why: Why, item: StartItem) -> None:
        self._items[why].append(item)
        self._keys.add(item.key)
        self._outline.take(item.key)
        self.used += len(item.text)
        self.least += len(item.text)

    def _take_line(self, section: SectionText, line: TextLine) -> None:
        shown = self._sections.setdefault(section, ShownSection(section))
        used, chars = shown.used, shown.chars
        shown.take(line)
        self.used += shown.used - used
        self.least += shown.chars - chars
        self._outline.take(section.section)
        # An answer that becomes longer than answers may be is shown among the others.
        self._open(_group(section))
        self._open_file(section)
        if shown.is_whole:
            self._rested_on |= section.section.notes

    def _open(self, why: Why) -> None:
        if why not in self._headings:
            self._headings.add(why)
            self.used += len(self._heading(why))
            self.least += len(self._heading(why))

    def _open_file(self, section: SectionText) -> None:
        """Count the heading of its file. Sections that are loaded first stand in the order of the rules, so a file
        may come several times.
        """
        item = (section.section.path, section.section.first)
        if item not in self._files:
            self._files.add(item)
            self.used += len(section.file)

    def take_synthesis(self) -> None:
        """Take the lines of the synthesis that say something new, as far as they fit."""
        new = self._new_of_synthesis()
        text_lines: list[TextLine] = []
        for line in new:
            text = f"\n{joined([*text_lines, line])}\n"
            if self.used + len(self._heading("synthesis")) + len(text) + self._outline.need() <= self.max:
                text_lines.append(line)
                self._synthesis = text
        if text_lines:
            self.used += len(self._heading("synthesis")) + len(self._synthesis)
        if len(text_lines) == len(new):
            self._outline.take(SYNTHESIS)

    def _new_of_synthesis(self) -> list[TextLine]:
        """The lines of the synthesis that say something that the rest does not say."""
        synthesis = self._material.synthesis
        if not synthesis or not synthesis.content.strip():
            return []
        words = text_tokens.read("".join(self._parts()[1][1:])).words
        return [line for line in lines_of(visible(synthesis.content.strip())) if _says_more(line.text, words)]

    def finished(self) -> Start:
        """The text and its parts."""
        parts, texts = self._parts()
        outline = self._outline.text(self.max - sum(map(len, texts)))
        if outline:
            texts.append(outline)
            parts.append(StartPart("outline", None, len(outline), "outline"))
        of = self._material
        return Start(of.meta.space_id, "".join(texts), parts, of.degraded, of.unread, of.then)

    def _parts(self) -> tuple[list[StartPart], list[str]]:
        """All but the outline."""
        parts: list[StartPart] = []
        texts: list[str] = []

        def add(why: Why, kind: PartKind, source: str | None, text: str, verified_at: str | None = None) -> None:
            heading = "" if any(part.why == why for part in parts[-1:]) else self._heading(why)
            texts.append(f"{heading}{text}")
            parts.append(StartPart(kind, source, len(texts[-1]), why, verified_at))

        groups = self._groups()
        add("guide", "guide", None, self._guide)
        for why in WHYS:
            # An item behind a section would be one of its list.
            for item in sorted(self._items[why], key=lambda entry: entry.place):
                add(why, PART_KINDS.get(item.kind, "note"), item.source, item.text, item.verified_at)
            above = ""
            for group in groups[why]:
                section, alone = group.text.section, why == "question"
                file = "" if alone or section.path == above else group.text.file
                above = section.path
                add(why, "section", section.id, f"{file}{group.shown(alone=alone)}", section.verified_at)
            if why == "synthesis" and self._synthesis:
                add(why, "synthesis", "synthesis", self._synthesis)
        return parts, texts

    def _groups(self) -> dict[Why, list[ShownSection]]:
        """The sections in their order. Answers are those that have place in the share of answers."""
        groups: dict[Why, list[ShownSection]] = defaultdict(list)
        rest = self.max // SHARE_OF_QUESTION - len(self._heading("question"))
        rest -= sum(len(item.text) for item in self._items["question"])
        answers: set[SectionText] = set()
        for section in self._answers:
            chars = len(self._sections[section].shown(alone=True))
            if section.section.first is None and chars <= rest:
                rest -= chars
                answers.add(section)
                groups["question"].append(self._sections[section])
        places = {id(item): place for place, item in enumerate(self._material.sections)}
        for section in sorted(self._sections, key=lambda item: (item.section.first or 0, places[id(item.section)])):
            if section not in answers:
                groups[_group(section)].append(self._sections[section])
        return groups

    def _heading(self, why: Why) -> str:
        title = self._words.headings.get(why)
        return f"\n## {title}\n" if title else ""


def _group(section: SectionText) -> Why:
    return "other" if section.section.first is None else "load_first"


_HEADING = re.compile(r"#.*|\*\*[^*\n]+\*\*:?")
"""A heading, or a line in bold that stands for one."""


def _says_more(line: str, words: frozenset[str]) -> bool:
    """Whether a line has a number, date, name or identifier of its own, or many other words."""
    if _HEADING.fullmatch(line.strip()):
        return False
    tokens = text_tokens.read(line)
    return bool(tokens.details - words) or len(tokens.words - words) * OWN_WORDS > len(tokens.words)


def _guide(material: StartMaterial, words: StartWords) -> str:
    meta = material.meta
    title = words.title.format(space_id=meta.space_id)
    about = " ".join(visible(meta.description).split())
    lines = [f"{title}: {about[:DESCRIPTION]}" if about else title, "", words.guide]
    if material.then:
        lines.append(words.then.format(number=material.then.number, time=clock.iso(material.then.time)))
    elif meta.pending_plan:
        lines.append(
            words.plan.format(
                since=meta.pending_plan.planned_at, job=job_id(meta.space_id, "consolidation", meta.pending_plan.run_id)
            )
        )
    if not (material.sections or material.synthesis or material.live_count or material.memories):
        lines.append(words.nothing)
    if meta.agent_folds and not material.then:
        waits = material.by_rules and material.live_count
        lines.append((words.nobody if waits else words.agents).format(count=material.live_count, how=FOLD))
    elif material.by_rules:
        lines.append(words.by_rules)
    if material.unread:
        lines.append(words.unread.format(count=material.unread))
    return "".join(f"{line}\n" for line in lines)


def _contradictions(notes: Sequence[Note]) -> dict[str, str]:
    """The words for the head of a decision that another one may be against: which of both is the newer one."""
    decisions = sorted((note for note in notes if note.category == "decision"), key=lambda note: note.moment)
    doubts: dict[str, str] = {}
    for place, newer in enumerate(decisions[:DECISIONS]):
        for older in decisions[:place]:
            if similarity.contradicts(newer.content, older.content):
                doubts[newer.note_id] = f"against {older.moment[:16]}?"
                doubts[older.note_id] = f"replaced {newer.moment[:16]}?"
    return doubts


def _note_line(note: Note, doubt: str = "", mark: str = "") -> str:
    tags = [f"#{tag}" for tag in note.tags]
    # Nobody wrote a captured note, and one that was passed on is of another space: the model that reads it has to know.
    source = note.source.mark if note.source else ""
    return _line([note.moment[:16], note.said_by, note.category, *tags, source, doubt], f"{note.content}{mark}")


def _memory_line(memory: Memory) -> str:
    other = memory.said_by if memory.author else ""
    return _line([day(memory.moment), other, memory.kind, memory.category or ""], memory.content)


def _new_sessions(material: StartMaterial) -> Iterator[tuple[PastSession, CodeVersion]]:
    """The sessions without the sentences that the bank or a new note says, and the version of the code of their notes.
    One that says nothing else is left out.
    """
    texts = (*(item.text for item in material.sections), *(note.content for note in material.live))
    above = " ".join(" ".join(texts).split())
    for session in material.sessions:
        told = _SENTENCES.split(" ".join(session.summary.split()))
        left = [item for item in told if len(item) < SENTENCE or item.rstrip(".!?") not in above]
        rest = " ".join(left)
        if left == told or len(rest) >= SENTENCE:
            codes = (note.code for note in material.live if note.note_id in session.notes)
            yield replace(session, summary=rest), next(codes, UNKNOWN)


def _session_line(session: PastSession, mark: str) -> str:
    told = " ".join(session.summary.split())
    client = OF_A_CLIENT.fullmatch(session.title)
    title = client[1] if client else session.title
    told = told if len(told) <= SESSION else f"{told[: SESSION - 1]}…"
    # The token of a client on its own machine has its name.
    heads = (" ".join(word.split())[:SIGNAL] for word in (session.until[:16], session.author, title))
    return _line(dict.fromkeys(heads), f"{told}{mark}")


def _heard_line(heard: Heard) -> str:
    told = (signal if len(signal) <= SIGNAL else f"{signal[: SIGNAL - 1]}…" for signal in heard.signals)
    return _line([day(heard.until), heard.summary_id, heard.said_by], "; ".join(told))


def _line(heads: Iterable[str], text: str) -> str:
    return visible(f"- [{' '.join(word for word in heads if word)}] {within_item(text)}") + "\n"
