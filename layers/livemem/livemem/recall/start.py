"""The text that an agent gets at the start of a session, within an exact number of characters.

First come the present facts, then answers to a question, then news, then parts that may matter. At its end stands the
outline, which names all omitted parts. A section is given whole or named there. docs/start.md gives the order and its
reasons.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, get_args

from livemem import clock
from livemem.bank.time_travel import RecordedMoment
from livemem.conversations.user_signals import Heard
from livemem.errors import InvalidRequest
from livemem.limits import SPEAKER_BYTES
from livemem.markdown.blocks import SectionError, parse, split_lines
from livemem.memories.memory import Memory
from livemem.notes.note import Note
from livemem.process import Process
from livemem.recall import start_material
from livemem.recall.render_memory import LANGUAGES, Lang, language_of
from livemem.recall.start_material import StartMaterial, StartSection
from livemem.recall.start_outline import LeftOut, LeftOutItem, day, days, shown_id
from livemem.recall.start_words import WORDS, StartWords
from livemem.text.invisible import visible
from livemem.text.items import within_item
from livemem.text.redaction import identifier
from livemem.text.speakers import check_speaker

CHARS_DEFAULT, CHARS_LEAST, CHARS_MOST = 8_000, 2_000, 100_000
SHARE_OF_QUESTION = 3
"""The part of the budget that answers to a question may take: a third."""
SHARE_OF_OUTLINE = 5
"""The part above which the outline names files in the place of sections: a fifth."""
SHARE_OF_USER = 10
"""The part that hints about the user may take: a tenth."""
SIGNAL = 200
"""Characters of a hint that are shown."""
PARTIAL_MOST = 8
"""Sections larger than the budget whose newest lines are shown: each takes half of the rest."""
PARSED_MOST, ENDS = 100_000, 2_000
"""Characters of such a section that are parsed, and of both its ends that show which is the newer one."""
DESCRIPTION = 200
"""Characters of the space's description that are shown."""

Kind = Literal["guide", "section", "note", "memory", "summary", "synthesis", "outline"]
Why = Literal["guide", "load_first", "question", "user", "live", "synthesis", "changed_last", "own", "outline"]
WHYS: tuple[Why, ...] = get_args(Why)
"""In the order in which parts are given."""
_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")


@dataclass(frozen=True)
class StartPart:
    """A piece of the Markdown: the id by which its source can be read, its characters with the heading above it, and
    the reason why it is there. `verified_at`: when a section or a memory was last confirmed.
    """

    kind: Kind
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
class _Piece:
    """A part before its characters are counted with the heading above it."""

    kind: Kind
    source: str | None
    text: str
    verified_at: str | None = None


@dataclass(frozen=True)
class StartRequest:
    """The checked values of a request. `lang` None is the language of the space. `user`: the person whom the agent
    works with; None for nobody. `at`: an earlier moment (time_travel.then).
    """

    max_chars: int = CHARS_DEFAULT
    q: str | None = None
    lang: Lang | None = None
    user: str | None = None
    at: str | None = None

    @classmethod
    def of(
        cls,
        *,
        max_chars: int = CHARS_DEFAULT,
        q: str | None = None,
        lang: Lang | None = None,
        user: str | None = None,
        at: str | None = None,
    ) -> "StartRequest":
        """The request's values. Raises InvalidRequest, naming the field and its bounds."""
        if not CHARS_LEAST <= max_chars <= CHARS_MOST:
            raise InvalidRequest.of("max_chars", f"must be from {CHARS_LEAST} to {CHARS_MOST}")
        if lang is not None and lang not in LANGUAGES:
            raise InvalidRequest.of("lang", f"must be one of {', '.join(LANGUAGES)}")
        if user is not None and len(user.encode(errors="replace")) > SPEAKER_BYTES:
            raise InvalidRequest.of("user", f"must have at most {SPEAKER_BYTES} bytes")
        # Users are stored without what looks like a secret.
        name = None if user is None else identifier(check_speaker("user", user))
        return cls(max_chars, q if q and q.strip() else None, lang, name, at)


def start(process: Process, space_id: str, wanted: StartRequest) -> Start:
    """The start of a session in a space: the requests of `start_material.load`. Raises NotFound, StoreUnavailable, and
    for an earlier moment InvalidRequest, Conflict.
    """
    material = start_material.load(
        process, space_id, characters=wanted.max_chars, question=wanted.q, user=wanted.user, at=wanted.at
    )
    return render(material, wanted.max_chars, wanted.lang or language_of(material.meta.language))


def render(material: StartMaterial, max_chars: int, lang: Lang) -> Start:
    """The start made of some material. Pure."""
    page = _Page(material, max_chars, WORDS[lang])
    if page.load_first():
        page.answers()
    else:
        # The present facts do not fit in any case, so they leave the question its third.
        page = _Page(material, max_chars, WORDS[lang])
        page.answers()
        page.load_first()
    page.user()
    page.live()
    page.synthesis()
    page.changed_last()
    page.own()
    return page.finished()


class _Page:
    """A start while it is filled. At any time the taken parts and the outline of the rest are within the budget."""

    def __init__(self, material: StartMaterial, max_chars: int, words: StartWords) -> None:
        self._material = material
        self._words = words
        self._max = max_chars
        self._taken: dict[Why, list[_Piece]] = defaultdict(list)
        self._outline = LeftOut(material, words, max_chars // SHARE_OF_OUTLINE)
        self._rested_on: set[str] = set()
        self._used = 0
        self._add("guide", _Piece("guide", None, _guide(material, words)))
        self._room = self._max - self._used - self._outline.need()
        """The characters for all parts together."""

    def answers(self) -> None:
        """Take the answers to the question: documents in the order of the search."""
        by_address = {(one.path, one.address): one for one in self._material.sections}
        most = self._used + self._max // SHARE_OF_QUESTION
        for found in self._material.found:
            if found.kind == "section":
                section = by_address.get((found.path, found.address))
                if section:
                    self._take_section(section, "question", most)
            elif found.id not in self._rested_on:
                line = _line(found.told, found.text)
                self._take_item(found.kind, found.id, line, "question", most, verified_at=found.verified_at)

    def load_first(self) -> bool:
        """Take the present facts: whole sections, then the newest lines of those that are larger than the budget.
        Returns whether all of them are given whole.
        """
        some = [one for one in self._material.sections if one.first is not None]
        some.sort(key=lambda one: one.first or 0)
        for section in some:
            self._take_section(section, "load_first")
        too_large = [one for one in some if self._outline.holds(one) and len(_whole(one, self._words)) > self._room]
        for section in too_large[:PARTIAL_MOST]:
            self._take_newest(section)
        return not any(self._outline.holds(section) for section in some)

    def user(self) -> None:
        """Take the hints on how to work with the user."""
        most = self._used + self._max // SHARE_OF_USER
        for heard in self._material.heard:
            piece = _Piece("summary", heard.summary_id, _heard_line(heard))
            self._take("user", piece, ("summary", heard.summary_id), most)

    def live(self) -> None:
        """Take the notes that are not folded yet, of each author a share (start_material.share_out)."""
        lines = {note.note_id: _note_line(note) for note in self._material.live}

        def take(note: Note) -> bool:
            return self._take_item("live", note.note_id, lines[note.note_id], "live")

        start_material.share_out(
            self._material.live,
            self._max - self._used - self._outline.need(),
            author=lambda note: note.agent,
            size=lambda note: len(lines[note.note_id]),
            take=take,
        )
        places = {f"notes/{note_id}": place for place, note_id in enumerate(lines)}
        self._taken["live"].sort(key=lambda piece: places[piece.source or ""])

    def synthesis(self) -> None:
        """Take the text of the last consolidation."""
        there = self._material.synthesis
        if there and there.content.strip():
            piece = _Piece("synthesis", "synthesis", f"\n{visible(there.content.strip())}\n")
            self._take("synthesis", piece, ("synthesis", "synthesis"))

    def changed_last(self) -> None:
        """Take the other sections, those that rest on the newest notes first."""
        for section in sorted(self._material.sections, key=lambda one: one.moment, reverse=True):
            if section.first is None:
                self._take_section(section, "changed_last")

    def own(self) -> None:
        """Take the agents' knowledge of themselves and their goals."""
        for memory in self._material.memories:
            line = _memory_line(memory)
            self._take_item("memory", memory.memory_id, line, "own", verified_at=memory.updated_at)

    def finished(self) -> Start:
        """The text and its parts."""
        outline = self._outline.text()
        if outline:
            self._taken["outline"].append(_Piece("outline", None, outline))
        texts: list[str] = []
        parts: list[StartPart] = []
        for why in WHYS:
            # An item behind a section would be one of its list.
            for place, piece in enumerate(sorted(self._taken[why], key=lambda one: one.kind == "section")):
                texts.append(f"{'' if place else self._heading(why)}{piece.text}")
                parts.append(StartPart(piece.kind, piece.source, len(texts[-1]), why, piece.verified_at))
        of = self._material
        return Start(of.meta.space_id, "".join(texts), parts, of.degraded, of.unread, of.then)

    def _heading(self, why: Why) -> str:
        title = self._words.headings.get(why)
        return f"\n## {title}\n" if title else ""

    def _cost(self, why: Why, text: str) -> int:
        return len(text) + (0 if self._taken[why] else len(self._heading(why)))

    def _add(self, why: Why, piece: _Piece) -> None:
        self._used += self._cost(why, piece.text)
        self._taken[why].append(piece)

    def _take(self, why: Why, piece: _Piece, item: LeftOutItem, most: int | None = None) -> bool:
        """Take an omitted item if it fits beside the outline of the remaining ones. `most`: the limit of characters."""
        used = self._used + self._cost(why, piece.text)
        if not self._outline.holds(item) or used > (self._max if most is None else most):
            return False
        if self._outline.need(item, self._max - used) > self._max - used:
            return False
        self._outline.take(item, self._max - used)
        self._add(why, piece)
        return True

    def _take_section(self, section: StartSection, why: Why, most: int | None = None) -> None:
        piece = _Piece("section", section.id, _whole(section, self._words), section.verified_at)
        if self._take(why, piece, section, most):
            self._rested_on |= section.notes

    def _take_item(
        self,
        kind: Literal["live", "archive", "memory"],
        name: str,
        line: str,
        why: Why,
        most: int | None = None,
        *,
        verified_at: str | None = None,
    ) -> bool:
        if kind == "memory":
            piece = _Piece("memory", f"memories/{name}", line, verified_at)
        else:
            piece = _Piece("note", f"notes/{name}", line)
        return self._take(why, piece, (kind, name), most)

    def _take_newest(self, section: StartSection) -> None:
        """Take the newest lines of a section that is larger than the budget, in up to half of the remaining characters,
        because others follow. It stays in the outline.
        """
        shown, told = shown_id(section.id), days(section, self._words)
        frame = self._words.newest.format(id=shown, day=told, chars=len(section.text))
        left = (self._max - self._used - self._outline.need(room=0)) // 2
        text = newest_lines(section.text, left - self._cost("load_first", f"\n{frame}\n\n\n"))
        if text:
            self._add("load_first", _Piece("section", section.id, f"\n{frame}\n\n{text}\n", section.verified_at))


def _guide(material: StartMaterial, words: StartWords) -> str:
    meta = material.meta
    title = words.title.format(space_id=meta.space_id)
    about = " ".join(visible(meta.description).split())
    lines = [f"{title}: {about[:DESCRIPTION]}" if about else title, "", words.guide]
    if material.then:
        lines.append(words.then.format(number=material.then.number, time=clock.iso(material.then.time)))
    elif meta.pending_plan:
        lines.append(words.plan.format(since=meta.pending_plan.planned_at, run=meta.pending_plan.run_id))
    if not (material.sections or material.synthesis or material.live_count or material.memories):
        lines.append(words.nothing)
    if material.unread:
        lines.append(words.unread.format(count=material.unread))
    return "".join(f"{line}\n" for line in lines)


def _whole(section: StartSection, words: StartWords) -> str:
    return f"\n### {shown_id(section.id)} ({days(section, words)})\n\n{section.text}\n"


def _note_line(note: Note) -> str:
    tags = [f"#{tag}" for tag in note.tags]
    # Nobody wrote a captured note, and a promoted one is of another space: the model that reads it has to know.
    source = note.source.mark if note.source else ""
    return _line([note.moment[:16], note.said_by, note.category, *tags, source], note.content)


def _memory_line(memory: Memory) -> str:
    other = memory.said_by if memory.author else ""
    return _line([day(memory.moment), other, memory.kind, memory.category or ""], memory.content)


def _heard_line(heard: Heard) -> str:
    told = (one if len(one) <= SIGNAL else f"{one[: SIGNAL - 1]}…" for one in heard.signals)
    return _line([day(heard.until), heard.summary_id, heard.said_by], "; ".join(told))


def _line(told: Iterable[str], text: str) -> str:
    return visible(f"- [{' '.join(word for word in told if word)}] {within_item(text)}") + "\n"


def newest_lines(text: str, most: int) -> str:
    """The newest entries of a text that together have at most so many characters: those at its end, or at its beginning
    if that bears the later day. Entries are whole. The result is empty if not even one fits. Only the nearer part of a
    very long text is parsed.
    """
    first, last = _DAY.findall(text[:ENDS]), _DAY.findall(text[-ENDS:])
    from_top = bool(first and last) and first[0] > last[-1]
    near = text[:PARSED_MOST] if from_top else text[-PARSED_MOST:]
    lines = split_lines(near)
    try:
        blocks = [(one.start, one.end) for one in parse(lines)]
    except SectionError:
        blocks = [(number, number + 1) for number in range(len(lines))]
    if len(near) < len(text):
        # The entry at which the text was cut off is not whole.
        blocks = blocks[:-1] if from_top else blocks[1:]
    at = [0, *accumulate(map(len, lines))]
    if from_top:
        kept = max(
            (
                at[end]
                for _, end in blocks
                if at[end] - len(lines[end - 1]) + len(lines[end - 1].rstrip("\r\n")) <= most
            ),
            default=0,
        )
        return near[:kept].rstrip("\r\n")
    kept = min((at[start] for start, _ in blocks if len(near) - at[start] <= most), default=len(near))
    return near[kept:]
