"""Live notes: immutable Markdown objects with front matter, one object each, named so that names sort by time."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from livemem import clock
from livemem.markdown import front_matter
from livemem.store import keys


@dataclass(frozen=True)
class Note:
    """A note as users see it; `size` is the content's in bytes of UTF-8."""

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
    redacted: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Of a note that was just written: how many secrets of each kind were taken out (redaction.py). Not stored."""


def format_note(note: Note) -> bytes:
    """The object of a note (docs/bucket.md): quoted YAML front matter, a blank line, the content byte for byte."""
    fields = {
        "timestamp": note.timestamp,
        "agent": note.agent,
        "category": note.category,
        "tags": list(note.tags),
        "space_id": note.space_id,
    }
    head = "".join(front_matter.format_field(name, value) for name, value in fields.items())
    return f"---\n{head}---\n\n{note.content}".encode()


def parse_note(space_id: str, name: keys.NoteName, body: bytes) -> Note:
    """The note in an object. What does not parse is read with what its name tells and marked `malformed`."""
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
        timestamp = clock.iso(clock.parse(moment.isoformat() if isinstance(moment, datetime) else moment))
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
    )
