"""Notes that are captured from a conversation: the answer that summarises a block also names notes for the team.

The notes of a block are decided once, in an object of its own under the block's number. The worker writes that object
first, then the notes, then the summary. While the summary is missing, the next worker takes that decision instead of
the model's new answer, and completes the notes. Once the summary is there, no worker looks at the block again. The
names of the notes follow from the block's input. So killed, doubled and late work writes no second note. The records
show which notes were folded meanwhile. A note that is still written after that is a late duplicate
(changes/late_duplicates.py).
"""

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator

from livemem import clock
from livemem.changes import records
from livemem.conversations.conversation import TurnIndex
from livemem.conversations.summaries import Vanished
from livemem.conversations.summary_versions import At
from livemem.conversations.turn import Turn
from livemem.errors import InvalidName
from livemem.llm.contract import Part
from livemem.notes import appending
from livemem.notes import note as notes
from livemem.notes.appending import NoteDraft
from livemem.notes.note import CapturedFrom, Note
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import keys, stored
from livemem.store.bucket import NOTE
from livemem.store.objects import MARKDOWN
from livemem.store.stored_documents import LazyModel, Moment, NoteId, StoredDocument
from livemem.text.code_version import CodeVersion
from livemem.text.redaction import Redaction

logger = logging.getLogger(__name__)

MOST = 5
"""Notes of a block. Further ones in an answer are left out."""
CHARACTERS = 1_000
"""Of a note. A longer text is cut."""
LISTED = 100
"""Items of a list of an answer that are read."""
OTHER_CATEGORY = "observation"
"""The category of a note whose named category does not exist."""


class NamedNote(Part):
    """A note that an answer names. Invalid parts are mapped or left out, so that they do not cost the summary."""

    category: str
    content: str
    turns: list[int]


class WithNotes(Part):
    """The part of an answer that names notes, by the contract. No invalid note makes the answer invalid."""

    notes: list[NamedNote] = []

    @field_validator("notes", mode="before")
    @classmethod
    def _bounded(cls, value: Any) -> list[dict[str, Any]]:
        fit = (_fit(item) for item in value[:LISTED]) if isinstance(value, list) else ()
        return [item for item in fit if item][:MOST]


def _fit(value: Any) -> dict[str, Any] | None:
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, str) or not content.strip():
        return None
    category, turns = value.get("category"), value.get("turns")
    known = category.strip().lower() if isinstance(category, str) else ""
    named = [turn for turn in turns[:LISTED] if type(turn) is int] if isinstance(turns, list) else []
    content = content.strip()
    return {
        "category": known if known in keys.CATEGORIES else OTHER_CATEGORY,
        "content": content if len(content) <= CHARACTERS else f"{content[: CHARACTERS - 1]}…",
        "turns": named,
    }


class CapturedNote(LazyModel):
    """A note that a block names, as it is written."""

    note_id: NoteId
    content: str
    turns: tuple[TurnIndex, TurnIndex]
    """The first and the last turn that it rests on."""
    said_at: Moment | None = None
    """When the last of them was said. None in documents of versions that did not keep it."""
    code: dict[str, str] = {}
    """The version of the code that the turns were about, if all were about one branch."""


class BlockCapture(StoredDocument):
    """`v{version}/captures/{number}.json`: the notes that a block names, decided once."""

    most_bytes: ClassVar[int] = 64 << 10

    turns: tuple[TurnIndex, TurnIndex]
    """The first and the last turn of the block, both at least in part."""
    notes: Annotated[list[CapturedNote], Field(max_length=MOST)] = []


def is_wanted(process: Process, at: At) -> bool:
    """Whether notes are captured from the conversation: it was begun with `capture`, and its space still allows it."""
    wanted = at.conversation.capture == "notes"
    return wanted and heads.load_recent(process, at.space_id).meta.capture_allowed


def append(
    process: Process,
    at: At,
    number: int,
    source: str,
    turns: Sequence[Turn],
    until: str,
    named_notes: Sequence[NamedNote],
) -> list[str]:
    """Decide which notes the block `number` names, append them, and return their ids: 1 PUT, and 1 PUT for each note.
    An earlier decision counts instead: 1 GET more, and the requests of records.find_notes.

    `source` is the hash of the block's input, `turns` its turns, `until` when its last one was written. Raises
    Vanished.
    """
    block = turns[0].turn_index, turns[-1].turn_index
    capture = BlockCapture(turns=block, notes=_captured(at, source, turns, clock.parse(until), named_notes))
    key = at.capture_key(number)
    fresh = stored.write_if(process.store, key, capture.to_bytes())
    if not fresh:
        # Also where the bytes are the same: the worker that wrote them may have written the notes, too.
        item = process.store.get(key)
        if not item:
            raise Vanished(at.conversation_id)
        # A decision that can't be read names no notes. The summary is made all the same.
        capture = stored.or_none(BlockCapture)(item) or BlockCapture(turns=block)
    made = [_note(at, note) for note in capture.notes]
    if not fresh:
        made = _not_folded(process, at.space_id, made)
    process.store.map(lambda note: _write(process, note), made)
    if made:
        logger.info("notes captured", extra={"space_id": at.space_id, "notes": len(made)})
    return [note.note_id for note in capture.notes]


def _captured(
    at: At, source: str, turns_of_block: Sequence[Turn], until: datetime, named_notes: Sequence[NamedNote]
) -> list[CapturedNote]:
    """The notes in the order of the turns that they rest on, so that of two values the later one is the newer note.

    Their ids have the time of the block's end, because who follows the notes does not look further back. Within that
    second the suffix, which begins with the millisecond, counts up.
    """
    by_index = {turn.turn_index: turn for turn in turns_of_block}
    writers = {index: turn.token for index, turn in by_index.items()}
    block = min(by_index), max(by_index)
    ranges = []
    for named_note in named_notes:
        inside = [turn for turn in named_note.turns if turn in by_index]
        ranges.append((min(inside), max(inside)) if inside else block)
    in_order = sorted(enumerate(zip(ranges, named_notes, strict=True)), key=lambda item: item[1][0][::-1])
    made = []
    for rank, (place, (turns, named_note)) in enumerate(in_order):
        if turns[1] <= at.built.captured_until:
            # A version before the rebuild has named the notes of these turns.
            continue
        digest = hashlib.sha256(json.dumps([at.conversation_id, source, place]).encode()).hexdigest()
        try:
            keys.check_agent(at.conversation.author)
            agent = keys.check_agent(_writer(at, turns, writers))
            suffix = f"{until.microsecond // 1_000 + rank:03x}{digest[:5]}"
            name = keys.NoteName(until.replace(microsecond=0), agent, named_note.category, suffix)
        except InvalidName:
            # An author is no name of an agent: the conversation came with a foreign archive.
            return []
        content = Redaction().text(named_note.content)
        said_at = clock.iso_millis(by_index[turns[1]].said_at())
        code = _code(turn for index, turn in by_index.items() if turns[0] <= index <= turns[1])
        made.append(CapturedNote(note_id=name.note_id, content=content, turns=turns, said_at=said_at, code=code))
    return made


def _code(turns: Iterable[Turn]) -> dict[str, str]:
    found = [turn.code for turn in sorted(turns, key=lambda turn: turn.turn_index)]
    return found[-1].fields() if len({(code.repository, code.branch) for code in found}) == 1 else {}


def _writer(at: At, turns: tuple[int, int], writers: Mapping[int, str]) -> str:
    """The token that a note of these turns is of: the conversation's, unless another one wrote some of them.

    Each token that may `write` may add turns to any conversation, and the note must not be of the one that began it.
    """
    tokens = [writers[index] for index in range(turns[0], turns[1] + 1) if index in writers]
    rest = [token for token in tokens if token != at.conversation.author]
    return rest[-1] if rest else at.conversation.author


def _note(at: At, captured_note: CapturedNote) -> Note:
    name = keys.parse_note_id(captured_note.note_id)
    source = CapturedFrom(at.conversation_id, captured_note.turns)
    code = CodeVersion.read(captured_note.code)
    draft = NoteDraft(name.category, captured_note.content, said_at=captured_note.said_at, code=code)
    return appending.new_note(at.space_id, name.agent, draft, name.timestamp, name.suffix, source)


def _not_folded(process: Process, space_id: str, made: Sequence[Note]) -> list[Note]:
    """The notes that are in no record. Another worker may have written them, and a consolidation folded them."""
    parsed = records.find_notes(process, space_id, [keys.parse_note_id(note.note_id) for note in made])
    return [note for note in made if note.note_id not in parsed]


def _write(process: Process, note: Note) -> None:
    """Write the note unless it is there. An object under its name is this note."""
    key = NOTE.key(note.space_id, note.note_id)
    stored.write_if(process.store, key, notes.format_note(note), content_type=MARKDOWN)
