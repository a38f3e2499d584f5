"""What other memories and rules files hold, as notes and memories for a space that exists."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from live_memory._redaction import Redaction
from live_memory.cli.transcripts.private_words import PrivateWords

NOTE_BYTES = 80_000
"""Bytes of a note: the service takes 100,000. A longer text becomes several, at the ends of lines."""
MEMORY_BYTES = 8_000
TAGS, TAG_CHARACTERS = 20, 50
SPEAKER_CHARACTERS = 100
Kind = Literal["note", "memory"]

_NO_WORD = re.compile(r"[,/\s]+")


@dataclass(frozen=True)
class FoundItem:
    """A note or a memory to be. `name` is its name in the source, `tags` are the subjects of a memory."""

    kind: Kind
    name: str
    content: str
    category: str | None = None
    tags: Sequence[str] = ()
    said_at: str | None = None
    author: str | None = None
    until: str | None = None
    """The end of a memory, as the source has it."""
    ttl: str | None = None
    """The time until then, from the moment of the import."""

    @property
    def key(self) -> str:
        """The name under which this machine sends it once: the same for the same content and end."""
        parts = [self.kind, self.name, self.content, *([self.until] if self.until else [])]
        return "import-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]

    @property
    def idempotency_key(self) -> str:
        """The name for the service, which takes a key only with the same `ttl` again. Two memories of the same words
        become one there anyway.
        """
        return f"{self.key}-{self.ttl}" if self.ttl else self.key

    def body(self) -> dict[str, Any]:
        """The fields of the request."""
        said: Mapping[str, Any] = {"said_at": self.said_at, "author": self.author}
        if self.kind == "note":
            told = {"category": self.category or "observation", "content": self.content}
            return told | _given({"tags": list(self.tags), **said})
        return {"content": self.content} | _given(
            {"subjects": list(self.tags), "category": self.category, "ttl": self.ttl, **said}
        )


@dataclass
class Found:
    """The items of a source. `left_out` names content that should have come, `not_taken` counts kinds that never
    come, `changed` says what is not as it was.
    """

    service: str
    items: list[FoundItem] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    not_taken: Counter[str] = field(default_factory=Counter)
    changed: list[str] = field(default_factory=list)
    redacted: int = 0

    def add(self, item: FoundItem) -> None:
        """Take an item up without secrets and private words, in parts where it is too long."""
        redaction, private = Redaction(), PrivateWords()
        content = private.cut(item.content)
        tags = _tags(redaction.text(private.again(private.cut(tag))) for tag in item.tags)
        self.not_taken += Counter({f"tags beyond the first {TAGS}": len(tags) - TAGS})
        clean = replace(
            item,
            name=private.again(private.cut(item.name)),
            content=redaction.text(private.again(content)).strip(),
            tags=tags[:TAGS],
            author=redaction.text(private.again(private.cut(item.author)))[:SPEAKER_CHARACTERS]
            if item.author
            else None,
        )
        self.redacted += redaction.found.total()
        if not clean.content:
            self.left_out.append(f"{clean.name} is empty.")
        elif item.kind == "memory" and len(clean.content.encode()) > MEMORY_BYTES:
            self.left_out.append(f"{clean.name} has more than {MEMORY_BYTES} bytes.")
        else:
            self.items += [replace(clean, content=part) for part in _parts(clean.content)]


def titled(text: str, title: str) -> str:
    """The text with its title as its heading, unless it begins with one."""
    return text if not text.strip() or text.lstrip().startswith("# ") else f"# {title}\n\n{text}"


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def _tags(words: Iterator[str]) -> list[str]:
    tidy = (_NO_WORD.sub("-", word.strip())[:TAG_CHARACTERS].strip("-") for word in words)
    return list(dict.fromkeys(word for word in tidy if word.isprintable() and word))


def _parts(text: str) -> Iterator[str]:
    part, size = "", 0
    for line in text.splitlines(keepends=True):
        for at in range(0, len(line), NOTE_BYTES // 4):
            piece = line[at : at + NOTE_BYTES // 4]
            length = len(piece.encode())
            if part and size + length > NOTE_BYTES:
                yield part.strip("\n")
                part, size = "", 0
            part, size = part + piece, size + length
    if part.strip():
        yield part.strip("\n")
