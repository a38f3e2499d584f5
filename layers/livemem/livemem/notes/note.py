"""Live notes: immutable Markdown objects with front matter, one object each, named so that names sort by time."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from livemem import clock
from livemem.markdown import front_matter
from livemem.store import keys
from livemem.text.code_version import UNKNOWN, CodeVersion
from livemem.text.speakers import said_by

_TURNS = re.compile(r"([1-9][0-9]{0,9})-([1-9][0-9]{0,9})")


@dataclass(frozen=True)
class CapturedFrom:
    """The source of a captured note, which nobody wrote: the first and the last turn of a conversation."""

    conversation: str
    turns: tuple[int, int]

    @property
    def mark(self) -> str:
        """The source in a word or two, for lists."""
        return "captured"

    def says(self) -> str:
        """The source in words, for a model."""
        return "captured by a model from turns {}-{} of a conversation".format(*self.turns)


@dataclass(frozen=True)
class CopiedFrom:
    """The source of a note that was passed on from another space: the note or memory there."""

    space_id: str
    id: str

    @property
    def mark(self) -> str:
        """The source in a word or two, for lists."""
        return f"from {self.space_id}"

    def says(self) -> str:
        """The source in words, for a model."""
        return f"passed on from the space {self.space_id}"


@dataclass(frozen=True)
class Note:
    """A note as users see it. `size`: of the content, in bytes of UTF-8."""

    note_id: str
    space_id: str
    timestamp: str
    agent: str
    category: str
    tags: tuple[str, ...]
    content: str
    size: int
    status: str = "live"
    consolidation: int | None = None
    malformed: bool = False
    source: CapturedFrom | CopiedFrom | None = None
    said_at: str | None = None
    """When it was said, if that is not when it was written: ISO 8601, UTC."""
    author: str | None = None
    """The named speaker, if that is not the agent."""
    code: CodeVersion = UNKNOWN
    redacted: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How many secrets of each kind were taken out (text/redaction). Set for a note that was just written, and not
    stored."""

    @property
    def moment(self) -> str:
        """When it was said, else when it was written."""
        return self.said_at or self.timestamp

    @property
    def speaker(self) -> str:
        """The named speaker, else the agent."""
        return self.author or self.agent

    @property
    def said_by(self) -> str:
        """The speaker as texts name it (speakers.said_by)."""
        return said_by(self.speaker, self.agent)


def format_note(note: Note) -> bytes:
    """The object of a note (docs/bucket.md): quoted YAML front matter, a blank line, the content byte for byte."""
    fields: dict[str, Any] = {
        "timestamp": note.timestamp,
        "agent": note.agent,
        "category": note.category,
        "tags": note.tags,
        "space_id": note.space_id,
    }
    if note.source:
        fields["source"] = _source_fields(note.source)
    fields |= {name: value for name, value in (("said_at", note.said_at), ("author", note.author)) if value}
    fields |= note.code.fields()
    head = "".join(front_matter.format_field(name, value) for name, value in fields.items())
    return f"---\n{head}---\n\n{note.content}".encode()


def _source_fields(source: CapturedFrom | CopiedFrom) -> dict[str, str]:
    """Texts alone: the front matter holds no number without quotes."""
    if isinstance(source, CapturedFrom):
        first, last = source.turns
        return {"conversation": source.conversation, "turns": f"{first}-{last}"}
    return {"space": source.space_id, "id": source.id}


def parse_note(space_id: str, name: keys.NoteName, body: bytes) -> Note:
    """The note in an object. One that does not parse takes its fields from its name, and is marked `malformed`."""
    text = body.decode("utf-8", errors="replace")
    fallback = Note(
        note_id=name.note_id,
        space_id=space_id,
        timestamp=clock.iso(name.timestamp),
        agent=name.agent,
        category=name.category,
        tags=(),
        content=text,
        size=len(text.encode()),
        malformed=True,
    )
    try:
        body.decode("utf-8")
        fields, content = front_matter.read(text)
        tags = fields.get("tags") or []
        moment = fields["timestamp"]
        timestamp = _moment(moment)
        said_at, author = fields.get("said_at"), fields.get("author")
        source = _source(fields.get("source"))
        agent, category = keys.check_agent(fields["agent"]), fields["category"]
        if category not in keys.CATEGORIES or not isinstance(tags, list) or not all(isinstance(t, str) for t in tags):
            return fallback
    except (ValueError, KeyError, TypeError, AttributeError):
        return fallback
    return replace(
        fallback,
        timestamp=timestamp,
        agent=agent,
        category=category,
        tags=tuple(tags),
        content=content,
        size=len(content.encode()),
        malformed=False,
        source=source,
        said_at=None if said_at is None else _moment(said_at),
        author=author if isinstance(author, str) and author.strip() else None,
        code=CodeVersion.read(fields),
    )


def _moment(field: Any) -> str:
    """A time in front matter as text. Raises ValueError, TypeError, AttributeError."""
    return clock.iso(clock.parse(field.isoformat() if isinstance(field, datetime) else field))


def _source(field: Any) -> CapturedFrom | CopiedFrom | None:
    """The source of a note. None if the field is not in the form that the service writes."""
    if not isinstance(field, dict):
        return None
    return _copied(field) if "space" in field else _captured(field)


def _copied(field: dict[str, Any]) -> CopiedFrom | None:
    # Before a note named its source, a promotion wrote one, with the note as `note`.
    space_id, source_id = field.get("space"), field.get("id", field.get("note"))
    if not isinstance(space_id, str) or not isinstance(source_id, str):
        return None
    try:
        return checked_source(space_id, source_id)
    except ValueError:
        return None


def checked_source(space_id: str, source_id: str) -> CopiedFrom:
    """The source with these ids, also as start and search give them (`notes/…`). Raises InvalidName."""
    source_id = source_id.removeprefix("notes/").removeprefix("memories/")
    if not keys.RUN_ID.fullmatch(source_id):
        keys.parse_note_id(source_id)
    return CopiedFrom(keys.check_space_id(space_id), source_id)


def _captured(field: dict[str, Any]) -> CapturedFrom | None:
    conversation, turns = field.get("conversation"), field.get("turns")
    match = _TURNS.fullmatch(turns) if isinstance(turns, str) else None
    if not match or not isinstance(conversation, str) or not keys.RUN_ID.fullmatch(conversation):
        return None
    return CapturedFrom(conversation, (int(match[1]), int(match[2])))
