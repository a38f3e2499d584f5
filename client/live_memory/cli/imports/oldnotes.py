"""Converts notes and names of chrlesur/live-memory (checked against its version 1.2.0) to those of a space here.

There a note is `live/{YYYYMMDD}T{HHMMSS}_{agent}_{category}_{8 hex digits}.md`, with the fields `timestamp`, `agent`,
`category`, `tags` (JSON) and `space_id` in its front matter. Here the form is the same, but an agent's name has no
underscore, and the size of a note is limited.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from live_memory.cli.imports import chats, heads
from live_memory.cli.imports.unfit import BadPart
from live_memory.operations import OPERATIONS

CATEGORIES = OPERATIONS["append_note"].body["category"].choices
NOTE_BYTES = 100_000
PIECE = 80_000
"""Bytes of a part of a note that is too large; lines stay whole where they can."""
TAGS = 20
TAG_CHARACTERS = 50

_NAME = re.compile(
    rf"(?P<time>[0-9]{{8}}T[0-9]{{6}})_(?P<agent>.+)_(?P<category>{'|'.join(CATEGORIES)})_(?P<suffix>[0-9a-f]{{8}})"
)
_TAKEN = ("timestamp", "agent", "category", "tags", "space_id")
_NO_AGENT = re.compile(r"[^A-Za-z0-9]+")
_NO_PATH = re.compile(r"[^A-Za-z0-9._/-]+")


@dataclass(frozen=True)
class OldNote:
    """A note, ready to be written. `changed` names the parts that are not as they were."""

    moment: datetime
    agent: str
    category: str
    suffix: str
    timestamp: str
    tags: Sequence[str]
    content: str
    changed: Sequence[str] = ()
    others: Mapping[str, Any] = field(default_factory=dict)
    """Fields that no note here has."""

    @property
    def note_id(self) -> str:
        return f"{self.moment:%Y%m%dT%H%M%S}_{self.agent}_{self.category}_{self.suffix}"

    def body(self, space_id: str) -> bytes:
        """The object of the note."""
        fields = {"timestamp": self.timestamp, "agent": self.agent, "category": self.category}
        tags = f"[{', '.join(_quoted(tag) for tag in self.tags)}]"
        head = "".join(f"{name}: {_quoted(value)}\n" for name, value in fields.items())
        return f'---\n{head}tags: {tags}\nspace_id: "{space_id}"\n---\n\n{self.content}'.encode()

    def later(self) -> "OldNote":
        """The same with the next suffix, as notes of one second are ordered by it."""
        return replace(self, suffix=f"{(int(self.suffix, 16) + 1) % 16**8:08x}")

    def parts(self) -> Iterator["OldNote"]:
        """The note, or several notes if one can't hold its content."""
        if len(self.content.encode()) <= NOTE_BYTES:
            yield self
            return
        note = replace(self, changed=[*self.changed, "was split into several notes: it was too large for one"])
        for piece in _pieces(self.content):
            # The caller that writes them gives each a name of its own.
            yield replace(note, content=piece)
            note = replace(note, changed=())


def read(name: str, raw: bytes) -> OldNote:
    """The note in a file of this name, without `.md`. Raises BadPart."""
    text = raw.decode(errors="replace").removeprefix("\ufeff")
    fields, content = heads.read(text) or ({}, text)
    if not content.strip():
        raise BadPart("is empty")
    match = _NAME.fullmatch(name)
    moment, timestamp = _times(match["time"] if match else "", _value(fields, "timestamp"))
    agent_was = _value(fields, "agent") or (match["agent"] if match else "")
    agent, category = agent_of(agent_was), _value(fields, "category") or (match["category"] if match else "")
    changed = ["was not UTF-8"] if "\ufffd" in text and b"\xef\xbf\xbd" not in raw else []
    if category not in CATEGORIES:
        changed.append(f"had the category {category[:40]!a}, which became observation")
        category = "observation"
    if not fields and heads.begins(text):
        changed.append(heads.UNREADABLE)
    tags, kept = _tags(fields.get("tags"))
    changed += [] if kept else ["lost tags, or got shorter ones"]
    suffix = match["suffix"] if match else hashlib.sha256(name.encode(errors="replace")).hexdigest()[:8]
    others = {name: value for name, value in fields.items() if name not in _TAKEN}
    return OldNote(moment, agent, category, suffix, timestamp, tags, content, changed, others)


def _times(compact: str, timestamp: str) -> tuple[datetime, str]:
    """The time of its writing: in its name (whole seconds), and in its front matter."""
    told = chats.moment(timestamp)
    try:
        named = datetime.strptime(compact, "%Y%m%dT%H%M%S").replace(tzinfo=UTC) if compact else None
    except ValueError:
        named = None
    if named is None and told is None:
        raise BadPart("does not say when it was written")
    if named is None:
        assert told
        named = datetime.fromisoformat(told).replace(microsecond=0)
    if named.year < 1970:
        raise BadPart("is older than 1970")
    return named, told or chats.moment(named.isoformat()) or ""


def _value(fields: Mapping[str, Any], name: str) -> str:
    return chats.text_of(fields.get(name)).strip()


def _tags(value: object) -> tuple[list[str], bool]:
    """The tags, and whether all of them are unchanged."""
    was = heads.words(value)
    tags = list(dict.fromkeys(" ".join(tag.split())[:TAG_CHARACTERS] for tag in was))[:TAGS]
    return tags, tags == was


def agent_of(name: str) -> str:
    """An agent's name in the form that is allowed here: letters, digits and hyphens."""
    return _NO_AGENT.sub("-", name).strip("-")[:64].strip("-") or "agent"


def _quoted(text: str) -> str:
    """A YAML text in double quotes, with escapes for characters that could end it (YAML 1.2, 5.7)."""
    return f'"{"".join(_escaped(character) for character in text)}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _pieces(content: str) -> Iterator[str]:
    """The content in parts, cut after lines where possible. No part is blank."""
    left = content.encode()
    while left:
        end = len(left) if len(left) <= PIECE else left.rfind(b"\n", PIECE // 2, PIECE) + 1 or PIECE
        while end < len(left) and left[end] & 0xC0 == 0x80:
            end -= 1
        piece, left = left[:end].decode(), left[end:]
        if piece.strip():
            yield piece


def bank_path(path: str, taken: Mapping[str, str]) -> str:
    """The path of a bank file in the form that is allowed here, different from those in use. Raises BadPart."""
    text = unicodedata.normalize("NFKC", path)
    text = "".join(character for character in text if unicodedata.category(character) != "Cf")
    text = _NO_PATH.sub("-", text).lstrip("_")
    parts = [part for part in text.split("/") if part not in ("", ".", "..")]
    text = "/".join([*(part.removesuffix(".md") for part in parts[:-1]), *parts[-1:]]).lstrip("_")
    if not text.endswith(".md") or len(text) > 200 or text == ".md":
        raise BadPart("has a name that a bank file can't have")
    if text in taken:
        raise BadPart(f"would have the same name as {taken[text]!a}")
    return text
