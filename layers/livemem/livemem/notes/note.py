"""Live notes: immutable Markdown objects with front matter, one object each, named so that names sort by time."""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import yaml
from frontmatter.default_handlers import YAMLHandler

from livemem import clock
from livemem.store import keys


class _Handler(YAMLHandler):
    # The library's pattern also swallows blank lines and takes any number of dashes, which would change bodies.
    FM_BOUNDARY = re.compile(r"^---[ \t]*\r?\n", re.MULTILINE)


_HANDLER = _Handler()


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


def format_note(note: Note) -> bytes:
    """The object of a note (data-model.md): quoted YAML front matter, a blank line, the content byte for byte."""
    fields: dict[str, Any] = {
        "timestamp": note.timestamp,
        "agent": note.agent,
        "category": note.category,
        "tags": list(note.tags),
        "space_id": note.space_id,
    }
    lines = [
        f"{name}: {_HANDLER.export(value, default_style=chr(34), default_flow_style=True, width=10**9)}\n"
        for name, value in fields.items()
    ]
    return f"---\n{''.join(lines)}---\n\n{note.content}".encode()


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
        if not _HANDLER.detect(text):
            return fallback
        head, content = _HANDLER.split(text)
        fields = _HANDLER.load(head)
        tags = fields.get("tags") or []
        moment = fields["timestamp"]
        timestamp = clock.iso(clock.parse(moment.isoformat() if isinstance(moment, datetime) else moment))
        agent, category = keys.check_agent(fields["agent"]), fields["category"]
        if category not in keys.CATEGORIES or not isinstance(tags, list) or not all(isinstance(t, str) for t in tags):
            return fallback
    except (ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError, RecursionError):
        return fallback
    content = re.sub(r"\A\r?\n", "", content)
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
