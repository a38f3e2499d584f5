"""Making one summary of the turns of a block, or of the summaries of a group. The LLM writes it, or it is copied from
an earlier version. It is stored under the hash of its input.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Literal, TypeVar

from livemem import clock
from livemem.conversations import answer, capture, log, names, prompt, user_signals
from livemem.conversations import conversation as conversations
from livemem.conversations.answer import CapturingAnswer, Source, SummaryAnswer, tidy
from livemem.conversations.boundaries import BlockBoundary
from livemem.conversations.conversation import parsed
from livemem.conversations.summaries import (
    WRITERS,
    Covers,
    Layers,
    Summary,
    Vanished,
    block_boundaries,
    group_boundaries,
    load,
    source_of_group,
)
from livemem.conversations.summary_versions import At
from livemem.conversations.turn import Turn
from livemem.errors import ConversationBroken, LiveMemoryError
from livemem.jobs import budget
from livemem.jobs.budget import Meter
from livemem.limits import SPEAKER_BYTES
from livemem.llm.answering import OF_THE_QUESTION, NoAnswer, ask_model
from livemem.llm.client import Messages
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.store import stored
from livemem.text import labels

EXCERPT_CHARACTERS = 300
"""Of the summary of the block before."""
CHAIN = 8
"""A summary may repeat words of the one that it was shown, and so may the next. Every eighth block is shown none. So
the erasure of a turn makes at most so many summaries again.
"""


def block_before(process: Process, layers: Layers, number: int, tokens: Sequence[str]) -> Summary | None:
    """The summary of the block before `number`: 1 GET, none where this process has read it. Its beginning is in the
    prompt, and the text just before the block.

    It is shown where it is stored when the block's wave of calls begins. So a wave waits for no other one, and of an
    import, whose blocks are summarised some at once, the first block of each wave has it. Neither the name of the
    block's summary nor the ids of its notes depend on it: a retry that is shown more makes the same objects.

    None where it is missing or can't be read, where it may hold an erased turn, and where others than the `tokens` of
    the block wrote its turns: their words must not become notes and signals of these.
    """
    existing = names.current(layers.names[1].get(number - 1, ()))
    if not existing or number % CHAIN == 1:
        return None
    try:
        (result,) = load(process, layers, 1, {number - 1: existing})
    except LiveMemoryError:
        return None
    own = result.written_by is not None and set(result.written_by) <= set(tokens)
    return result if own and not any(map(result.says_of, layers.at.conversation.erased_turns)) else None


def excerpt_of(summary: Summary) -> str:
    """The beginning of a summary; of a block that is its own summary the end, which came just before."""
    text = summary.summary
    if len(text) <= EXCERPT_CHARACTERS:
        return text
    return f"…{text[1 - EXCERPT_CHARACTERS :]}" if summary.verbatim else f"{text[: EXCERPT_CHARACTERS - 1]}…"


T = TypeVar("T")
NO_MODEL = "none"
"""Stored instead of a model's name where a block is its own summary."""
STORING = timedelta(seconds=5)
"""Time before the end of the invocation, kept to store the answer."""
LATER = (
    "The turns are stored word for word. They are summarised on the next day, or as soon as more tokens are available."
)
FILE_ARGUMENTS = {"file", "files", "file_name", "file_path", "filename", "notebook_path", "path", "paths"}
"""Names of tools' arguments that hold paths of files, as agents in use name them."""
PATH = re.compile(r"[^\s\"'`<>|]*[^\s\"'`<>|/\\.][/\\.][^\s\"'`<>|]*")


@dataclass(frozen=True)
class Material:
    """The input of a summary. `source` is the part of the summary's name that stands for it. Lengths in characters."""

    level: Literal[1, 2, 3]
    number: int
    source: str
    text: Source
    chars: int
    covers: Covers
    children: tuple[int, int] | None
    range_start: str
    range_end: str
    tools: Sequence[str]
    files: Sequence[str]
    erased: Sequence[int] = ()
    """Numbers of the turns that were erased."""
    overlaps: bool | None = False
    """Whether the prompt also shows the turn before the first."""
    since: int | None = None
    """The first turn whose words the prompt may show by the summary of the block before. None where it shows none."""
    written_by: Sequence[str] = ()
    written_for: Sequence[tuple[str, str]] = ()
    _turns: Sequence[tuple[Turn, str, str]] = ()
    _before: str = ""
    _children: Sequence[Summary] = ()

    @property
    def asked(self) -> bool:
        """Whether all of it are questions to the memory."""
        return all(turn.asked for turn, _, _ in self._turns) and all(child.asked for child in self._children)

    def verbatim(self) -> str:
        """The text of all turns, each side with its speaker."""
        return labels.of_sides(side for _, *item in self._turns for side in zip(labels.SIDES, item, strict=True))

    @property
    def turns(self) -> list[Turn]:
        """The turns of a block, none for a group."""
        return [turn for turn, *_ in self._turns]

    @property
    def below(self) -> Sequence[Summary]:
        """The summaries of a group, none for a block."""
        return self._children

    def speaker(self) -> str | None:
        """The only user who speaks in a block. None where that is not one user, and for a group."""
        return user_signals.speaker(self.turns)

    def behind(self, summary: Summary, erased: Sequence[int]) -> "Material":
        """The same block, whose prompt also shows the summary of the block before. `erased`: all turns that are."""
        since = summary.first_shown
        gone = [index for index in erased if since <= index < self.covers.turns[0]]
        before = "\n".join(filter(None, (excerpt_of(summary), self._before)))
        return replace(self, since=since, erased=sorted({*self.erased, *gone}), _before=before)

    def messages(self, target: int, *, captures: bool) -> Messages:
        """The prompt. `captures`: it also asks for the notes of the block."""
        if self.level == 1:
            return prompt.of_turns(self._turns, self._before, target, captures=captures)
        return prompt.of_summaries(self._children, target)


def material_of_block(process: Process, at: At, boundary: BlockBoundary, number: int) -> Material:
    """The input of a block's summary: 1 GET for each turn. Raises Vanished."""
    overlaps = at.parameters.overlap_chars and not boundary.start_offset and boundary.start > 1
    first = boundary.start - 1 if overlaps else boundary.start
    turns = log.read(process, at.space_id, at.conversation_id, range(first, boundary.end + 1))
    whole = len(turns) == boundary.end - first + 1
    if not whole or any(turn.turn_index != place for place, turn in enumerate(turns, first)):
        raise Vanished(at.conversation_id)
    inside = [turn for turn in turns if turn.turn_index >= boundary.start]
    parts = []
    for turn in inside:
        start = boundary.start_offset if turn.turn_index == boundary.start else 0
        end = boundary.end_offset if turn.turn_index == boundary.end else None
        parts.append((turn, *turn.sides(start, end)))
    text = "\n".join(side for _, *sides in parts for side in sides if side)
    calls = [call for turn in inside for call in turn.tool_calls]
    arguments = [call.arguments for call in calls]
    return Material(
        level=1,
        number=number,
        source=names.source([[turn.turn_index, user, assistant] for turn, user, assistant in parts]),
        text=Source(text, json.dumps(arguments, ensure_ascii=False)),
        chars=boundary.chars,
        covers=Covers(turns=boundary.covers),
        children=None,
        range_start=boundary.range_start,
        range_end=boundary.range_end,
        tools=tidy([call.name for call in calls]),
        files=tidy([path for value in arguments for path in paths(value)]),
        erased=[turn.turn_index for turn in turns if turn.erased_on],
        overlaps=first < boundary.start,
        written_by=_first(turn.token for turn in turns),
        written_for=_first(item for turn in inside for item in _written_for(turn)),
        _turns=parts,
        _before=_before(at, boundary, turns),
    )


def _before(at: At, boundary: BlockBoundary, turns: Sequence[Turn]) -> str:
    """The text just before the block, up to `overlap_chars` characters."""
    most = at.parameters.overlap_chars
    if not most or not turns:
        return ""
    said = turns[0].said()[: boundary.start_offset] if boundary.start_offset else turns[0].said()
    return "" if turns[0].turn_index == boundary.start and not boundary.start_offset else said[-most:]


def paths(value: Any) -> Iterator[str]:
    """The paths of files in a tool's arguments: values of arguments with known names that look like paths."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if str(name).lower() in FILE_ARGUMENTS:
                yield from (text for text in _texts(inner) if len(text) <= 500 and PATH.fullmatch(text))
            elif isinstance(inner, (Mapping, list)):
                yield from paths(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def material_of_group(
    process: Process, layers: Layers, level: Literal[2, 3], number: int, below: Mapping[int, str]
) -> Material:
    """The input of a group's summary. `below` holds the summaries that count of the level below. Raises Vanished."""
    boundary = group_boundaries(process, layers, level, [number])[0]
    source = source_of_group(below, boundary)
    if source is None:
        raise Vanished(layers.at.conversation_id)
    first, last = boundary.children
    children = load(process, layers, level - 1, {item: below[item] for item in range(first, last + 1)})
    _take_back_erased(process, layers.at, children, [(level - 1, item, below[item]) for item in range(first, last + 1)])
    text = "\n".join(text for child in children for text in (child.summary, *child.key_findings))
    return Material(
        level=level,
        number=number,
        source=source,
        text=Source(text, {file for child in children for file in child.files_mentioned}),
        chars=sum(child.chars for child in children),
        covers=Covers(turns=boundary.covers),
        children=boundary.children,
        range_start=boundary.range_start,
        range_end=boundary.range_end,
        tools=tidy([tool for child in children for tool in child.tools_used]),
        files=(),
        erased=sorted(_erased_in(children)),
        overlaps=children[0].overlaps,
        since=children[0].since,
        written_by=_first(token for child in children for token in child.written_by or ()),
        written_for=_first(item for child in children for item in child.written_for),
        _children=children,
    )


def _written_for(turn: Turn) -> Iterator[tuple[str, str]]:
    for side, statement in zip(("user", "assistant"), (turn.user_message, turn.assistant_message), strict=True):
        speaker = turn.speaker(side)
        if statement.strip() and speaker != turn.token:
            yield turn.token, speaker[:SPEAKER_BYTES]


def _first(names: Iterable[T]) -> list[T]:
    """The first names, each once."""
    return list(islice(dict.fromkeys(names), WRITERS))


def _erased_in(children: Sequence[Summary]) -> Iterator[int]:
    """The erased turns of which no child may hold words. A turn may be in several children, and a child that was made
    before the erasure still holds its words.
    """
    for index in {index for child in children for index in child.erased}:
        if not any(child.says_of(index) for child in children):
            yield index


def _take_back_erased(
    process: Process, at: At, children: Sequence[Summary], pairs: Sequence[tuple[int, int, str]]
) -> None:
    """Remove the children that may hold erased words, and raise Vanished if there are any. A late write has brought
    them back, and the prompt must not show them. They are missing then, and made again.
    """
    gone = at.conversation.erased_turns
    late = [
        at.summary_key(*name)
        for child, name in zip(children, pairs, strict=True)
        if any(child.says_of(index) for index in gone)
    ]
    if late:
        process.store.delete_many(late)
        raise Vanished(at.conversation_id)


def gather(process: Process, layers: Layers, level: int, number: int, below: Mapping[int, str]) -> Material:
    """The input of a summary of any level. `below` holds the summaries that count of the level below."""
    if level == 1:
        return material_of_block(process, layers.at, block_boundaries(process, layers, [number])[0], number)
    return material_of_group(process, layers, 2 if level == 2 else 3, number, below)


@dataclass(frozen=True)
class Made:
    """The result of making one summary: its name where it is stored now, else the error. Also its tokens and time."""

    level: int
    number: int
    name: str | None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    reused: bool = False
    verbatim: bool = False
    """Whether it is the block's own text, and no model was asked."""
    error: str | None = None
    detail: str = ""

    @property
    def ends_job(self) -> bool:
        """Whether the failure shows that other summaries would fail too."""
        return self.error is not None and self.error not in (*OF_THE_QUESTION, ConversationBroken.code)


def maker(process: Process, at: At) -> str:
    """The part of a summary's name that stands for prompt, model and ratio."""
    return names.maker(prompt.version(), process.settings.llmaas_model, at.parameters)


def make(
    process: Process,
    layers: Layers,
    material: Material,
    deadline: datetime,
    *,
    redo: int = 0,
    earlier: Layers | None = None,
) -> Made:
    """Make a summary and store it: 1 or 2 calls of the LLM, 2 GETs, 1 PUT. With signals about one user 1 GET and 1 PUT
    more. Raises Vanished.

    1 GET more where the block before has a summary that this process has not read.

    Where an `earlier` version has one of the same input: 2 GETs and 1 PUT instead. Where a block is its own summary:
    1 GET, 1 PUT. The first summary of a block in the version that counts also captures notes (capture.append).
    """
    at, level, number = layers.at, material.level, material.number
    name = names.name(material.source, redo, maker(process, at))
    started = process.timer()
    copied = _copied(process, layers, earlier, material, name)
    if copied:
        return Made(level, number, copied, reused=True)
    captures = redo == 0 and not earlier and _captures(process, at, material)
    if is_verbatim(at, material) and not captures:
        _store(process, at, _verbatim(process, material, redo), name)
        return Made(level, number, name, verbatim=True)
    with budget.metered(process, at.space_id, LATER) as meter:
        made = _make(process, layers, material, name, redo, meter, deadline, captures=captures)
        return replace(made, usage=meter.used, seconds=process.timer() - started if made.name else 0.0)


def is_verbatim(at: At, material: Material) -> bool:
    """Whether the block is so small that it is its own summary."""
    return material.level == 1 and len(material.text.text) <= at.parameters.verbatim_chars


def _verbatim(process: Process, material: Material, redo: int) -> Summary:
    """A summary that holds the block's own text."""
    own = SummaryAnswer(summary=material.verbatim() or "-")
    return _summary(process, material, own, redo, model=NO_MODEL, verbatim=True)


def _summary(
    process: Process,
    material: Material,
    summary_answer: SummaryAnswer,
    redo: int,
    *,
    model: str,
    used: Usage | None = None,
    flaws: Sequence[str] = (),
    verbatim: bool = False,
) -> Summary:
    return Summary(
        level=material.level,
        number=material.number,
        covers=material.covers,
        children=material.children,
        range_start=material.range_start,
        range_end=material.range_end,
        created_at=material.range_end,
        generated_at=clock.iso_millis(process.clock()),
        summary=summary_answer.summary,
        key_findings=summary_answer.key_findings,
        files_mentioned=answer.tidy([*summary_answer.files_mentioned, *material.files]),
        topics=summary_answer.topics,
        entities=answer.entities([summary_answer.entities, *(child.entities for child in material.below)]),
        signals=summary_answer.signals,
        tools_used=list(material.tools),
        chars=len(summary_answer.summary),
        source_chars=material.chars,
        model=model,
        prompt_version=prompt.version(),
        usage=used or Usage(),
        redo=redo,
        erased=list(material.erased),
        overlaps=material.overlaps,
        since=material.since,
        written_by=list(material.written_by),
        written_for=list(material.written_for),
        asked=material.asked,
        flaws=list(flaws),
        verbatim=verbatim,
    )


def _make(
    process: Process,
    layers: Layers,
    material: Material,
    name: str,
    redo: int,
    meter: Meter,
    deadline: datetime,
    *,
    captures: bool,
) -> Made:
    """Ask the model for the summary and store it, after the notes that its block names. `meter` counts the tokens."""
    at, level, number = layers.at, material.level, material.number
    shown = block_before(process, layers, number, material.written_by) if level == 1 else None
    if shown:
        material = material.behind(shown, at.conversation.erased_turns)
    target = at.parameters.target(material.chars)
    kind = CapturingAnswer if captures else SummaryAnswer
    wanted = answer.wanted(material.text, target, at.parameters, kind)
    try:
        messages = material.messages(target, captures=captures)
        answered = ask_model(process, meter, messages, wanted, deadline - STORING)
    except NoAnswer as error:
        return Made(level, number, None, error=error.code, detail=error.detail)
    flaws = [flaw.name for flaw in answered.flaws]
    model = process.settings.llmaas_model
    summary = _summary(process, material, answered.value, redo, model=model, used=answered.used, flaws=flaws)
    # The model takes long: the conversation may be deleted meanwhile.
    _check_source(process, at, summary)
    value = answered.value
    if isinstance(value, CapturingAnswer):
        note_ids = capture.append(process, at, number, material.source, material.turns, material.range_end, value.notes)
        summary = summary.model_copy(update={"notes": note_ids})
    _name_signals(process, at, material, summary, name)
    _store(process, at, summary, name)
    return Made(level, number, name)


def _name_signals(process: Process, at: At, material: Material, summary: Summary, name: str) -> None:
    """Name the summary among those of its user, if it has signals: 1 GET, 1 PUT (user_signals.note)."""
    user = material.speaker() if summary.signals else None
    if user:
        own = summary.written_by == [user]
        user_signals.note(process, at, user, material.number, name, material.range_end, own=own)


def _captures(process: Process, at: At, material: Material) -> bool:
    """Whether the block names notes. It does not where an earlier version has named them."""
    fresh = material.level == 1 and material.covers.turns[1] > at.built.captured_until
    return fresh and capture.is_wanted(process, at)


def _check_source(process: Process, at: At, summary: Summary) -> None:
    """Raise Vanished if the conversation was deleted, or a turn of the summary's source was erased: 1 GET."""
    existing = conversations.find(process, at.space_id, at.conversation_id)
    if not existing or any(summary.says_of(index) for index in existing.erased_turns):
        raise Vanished(at.conversation_id)


def _store(process: Process, at: At, summary: Summary, name: str) -> None:
    """Write the summary, and remove it if the conversation was deleted, or one of its turns erased, at that moment:
    1 PUT, 1 GET.

    If the worker dies in between, the sweep removes it. A search does not find it (recall/conversation_documents.py).
    """
    _write(process, at, summary, name)
    try:
        _check_source(process, at, summary)
    except Vanished:
        process.store.delete(at.summary_key(summary.level, summary.number, name))
        raise


def _write(process: Process, at: At, summary: Summary, name: str) -> None:
    key = at.summary_key(summary.level, summary.number, name)
    # Another one there was made of the same input and is as good, unless it is removed right now.
    if stored.write_once(process.store, key, summary.to_bytes()).gone:
        raise Vanished(key)


def _copied(process: Process, layers: Layers, earlier: Layers | None, material: Material, name: str) -> str | None:
    """Copy a summary of the same input from an earlier version, and return its name. None where that has none.

    It may have another number there. Of several, the one that was made again by hand most often is taken.
    """
    if not earlier:
        return None
    wanted = names.source_of(name), names.maker_of(name)
    same = [
        (names.redo_of(item), item, number)
        for number, batch in earlier.names[material.level].items()
        for item in batch
        if (names.source_of(item), names.maker_of(item)) == wanted
    ]
    if not same:
        return None
    _, existing, number = max(same)
    found = process.store.get(earlier.at.summary_key(material.level, number, existing))
    if not found:
        return None
    copy = parsed(process, Summary, found).model_copy(
        update={
            "number": material.number,
            "children": material.children,
            "covers": material.covers,
            "written_by": list(material.written_by),
            "written_for": list(material.written_for),
        }
    )
    _name_signals(process, layers.at, material, copy, existing)
    _store(process, layers.at, copy, existing)
    return existing
