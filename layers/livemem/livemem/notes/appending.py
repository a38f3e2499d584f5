"""Appending live notes: one, or a batch."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from livemem import clock, limits
from livemem.changes import records
from livemem.errors import InvalidName, InvalidRequest, PreconditionLost, TooLarge
from livemem.notes import note as notes
from livemem.notes.note import CapturedFrom, CopiedFrom, Note, checked_source
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store import keys, stored
from livemem.store.bucket import NOTE, PASSED_ON
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import MARKDOWN
from livemem.text.code_version import UNKNOWN, CodeVersion
from livemem.text.invisible import has_controls
from livemem.text.redaction import Redaction
from livemem.text.speakers import check_speaker

logger = logging.getLogger(__name__)

APPEND_TRIES = 5


@dataclass(frozen=True)
class NoteDraft:
    """A note to be appended."""

    category: str
    content: str
    tags: tuple[str, ...] = ()
    said_at: str | None = None
    """When it was said, if that is not now: ISO 8601. A time ahead of the service's clock counts as now."""
    author: str | None = None
    """The speaker, if that is not the agent."""
    source: CopiedFrom | None = None
    """The note or memory of another space that is passed on."""
    code: CodeVersion = UNKNOWN
    redacted: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How many secrets of each kind were taken out of it (text/redaction)."""


def check_draft(draft: NoteDraft, field: str = "") -> None:
    """Raise InvalidRequest or TooLarge, naming the field below `field` (such as `notes.3.`), unless the note is fit."""
    if draft.category not in keys.CATEGORIES:
        raise InvalidRequest.of(f"{field}category", f"must be one of {', '.join(keys.CATEGORIES)}")
    limits.check_text(f"{field}content", draft.content, limits.NOTE_BYTES)
    if len(draft.tags) > limits.TAGS:
        raise InvalidRequest.of(f"{field}tags", f"must have at most {limits.TAGS} tags")
    for tag in draft.tags:
        if not tag.strip() or len(tag) > limits.TAG_CHARACTERS or has_controls(tag):
            raise InvalidRequest.of(
                f"{field}tags", f"each tag must have 1 to {limits.TAG_CHARACTERS} characters and no line breaks"
            )
        limits.check_text(f"{field}tags", tag, 4 * limits.TAG_CHARACTERS)
    if draft.author is not None:
        check_speaker(f"{field}author", draft.author)
    try:
        if draft.said_at is not None:
            clock.parse(draft.said_at)
    except ValueError:
        raise InvalidRequest.of(f"{field}said_at", "must be a time in ISO 8601") from None


def prepare(process: Process, draft: NoteDraft, field: str = "") -> NoteDraft:
    """The note as it is to be stored: checked as it was sent (check_draft), then redacted if the settings say so.

    Every way to write a note begins here, so that neither the note nor what is derived from it holds a secret.
    """
    check_draft(draft, field)
    draft = replace(draft, code=draft.code.checked(field))
    if draft.source:
        draft = replace(draft, source=_source(draft.source, f"{field}source"))
    return _redact(draft) if process.settings.redact_secrets else draft


def _source(source: CopiedFrom, field: str) -> CopiedFrom:
    try:
        return checked_source(source.space_id, source.id)
    except InvalidName as error:
        raise InvalidRequest.of(field, error.message) from None


def _redact(draft: NoteDraft) -> NoteDraft:
    done = Redaction()
    content, tags = done.text(draft.content), tuple(done.text(tag) for tag in draft.tags)
    author = done.identifier(draft.author) if draft.author is not None else None
    return replace(draft, content=content, tags=tags, author=author, redacted=done.counted())


def append(process: Process, space_id: str, agent: str, draft: NoteDraft) -> Note:
    """Append one note: 1 PUT. `new_suffix` makes 8 hex digits. Raises NotFound for an unknown space."""
    return append_batch(process, space_id, agent, [draft], None)[0]


def append_batch(
    process: Process, space_id: str, agent: str, drafts: Sequence[NoteDraft], field: str | None = "items"
) -> list[Note]:
    """Append notes: check all, then write them with one PUT each in parallel.

    If the store fails on the way, some notes are written. The error says so, and the client may list them. `field`: the
    list's name in errors, None for a note alone.
    """
    drafts = prepare_all(process, space_id, drafts, field)
    return process.store.map(lambda note: write(process, note), new_notes(process, space_id, agent, drafts))


def prepare_all(process: Process, space_id: str, drafts: Sequence[NoteDraft], field: str | None) -> list[NoteDraft]:
    """The notes as they are to be stored, for a space that can take them. Raises as `append_batch`."""
    if field and not drafts:
        raise InvalidRequest.of(field, "must have at least one note")
    if field and len(drafts) > limits.BATCH_NOTES:
        raise TooLarge.of(field, len(drafts), limits.BATCH_NOTES, "notes")
    places = [f"{field}.{place}." if field else "" for place in range(len(drafts))]
    prepared = [prepare(process, draft, place) for draft, place in zip(drafts, places, strict=True)]
    heads.load_recent(process, space_id)
    require_conditional_writes(process.store)
    return prepared


def new_notes(process: Process, space_id: str, agent: str, drafts: Sequence[NoteDraft]) -> list[Note]:
    """The notes of a request, not yet written. Names sort by time and then by suffix: counting suffixes keep the order
    of several within their second.
    """
    first = int(process.new_suffix(), 16)
    base = first & ~0x7F if len(drafts) > 1 else first
    return [
        new_note(space_id, agent, draft, process.clock(), f"{base + place:08x}") for place, draft in enumerate(drafts)
    ]


def new_note(
    space_id: str,
    agent: str,
    draft: NoteDraft,
    now: datetime,
    suffix: str,
    source: CapturedFrom | None = None,
) -> Note:
    """A note of `agent`, named by its moment and `suffix` (8 hex digits), not yet written. Raises InvalidName."""
    name = keys.NoteName(now, keys.check_agent(agent), draft.category, suffix)
    moment = clock.parse(draft.said_at) if draft.said_at is not None else now
    return Note(
        note_id=name.note_id,
        space_id=space_id,
        timestamp=clock.iso(now),
        agent=agent,
        category=draft.category,
        tags=draft.tags,
        content=draft.content,
        size=len(draft.content.encode()),
        source=source or draft.source,
        said_at=clock.iso(moment) if moment < now else None,
        author=draft.author,
        code=draft.code,
        redacted=draft.redacted,
    )


def write(process: Process, note: Note) -> Note:
    """Write the note, under another suffix if its name is taken: 1 PUT, and 1 more beside the source that it passes on.
    Returns it as it was written. Raises NotFound.
    """
    written = _write(process, note)
    logger.info("note written", extra={"space_id": written.space_id, "note_id": written.note_id})
    return written


def _write(process: Process, note: Note) -> Note:
    body = notes.format_note(note)
    for _ in range(APPEND_TRIES):
        if isinstance(note.source, CopiedFrom):
            # First, so that an erasure of the source names every note that passes it on.
            marker = PASSED_ON.key(note.source.space_id, note.source.id, note.space_id, note.note_id)
            process.store.put(marker, b"", content_type=MARKDOWN)
        written = stored.write_once(process.store, NOTE.key(note.space_id, note.note_id), body, content_type=MARKDOWN)
        if written.says_so:
            return note
        # A chance of one in four thousand million, or the note was folded since.
        existing = written.other.body if written.other else _folded(process, note)
        if existing == body:
            return note
        if existing is not None:
            note = replace(note, note_id=replace(keys.parse_note_id(note.note_id), suffix=process.new_suffix()).note_id)
    raise PreconditionLost("No free name was found for the note. Try again.")


def _folded(process: Process, note: Note) -> bytes | None:
    """The folded note of this name, as its object's bytes."""
    heads.load(process, note.space_id)
    folded = records.find_note(process, note.space_id, keys.parse_note_id(note.note_id))
    return folded.body if folded else None
