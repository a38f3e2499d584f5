"""What a memory is, and what is asked to be stored as one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from livemem import limits
from livemem.errors import InvalidRequest
from livemem.store.memory_keys import Kind
from livemem.store.stored_documents import Count, Line, Moment, StoredDocument
from livemem.text.invisible import has_controls
from livemem.text.redaction import Redaction

Origin = Literal["conversation", "chat", "note", "digest", "manual"]
"""Where a memory comes from."""

CATEGORIES: dict[Kind, tuple[str, ...]] = {
    "self": ("context", "capability", "limitation", "preference", "relation"),
    "goal": ("capability_request", "understanding", "connection", "curiosity"),
}
"""Of the kinds that have fixed ones; those of facts are free."""
CONTENT_BYTES = 8_000
CATEGORY_CHARACTERS = 50
SUBJECTS = 10
SUBJECT_CHARACTERS = 50
HISTORY = 20
"""Former contents that a memory carries with it; all others are in the log."""
_SUBJECT = re.compile(r"[^\s,/]+(?:[ -][^\s,/]+)*")


class Provenance(StoredDocument):
    """Who stored it, and what it rests on."""

    author: Line
    user: str | None = None
    """Who said it, of what was stored for a question."""
    digest: Line | None = None
    """The slot of the digest that found it."""
    room: Line | None = None
    messages: list[str] = []
    """Ids of the messages of the room."""
    conversation_id: Line | None = None
    note_id: Line | None = None


class Former(StoredDocument):
    """A content that was replaced, or a restatement that was merged into a more precise one."""

    content: str
    expires_at: Moment | None = None
    at: Moment
    """When it was said."""
    author: Line


class Absorbed(StoredDocument):
    """What was merged into a memory, and has not been split off again."""

    number: int
    """The operation that did so."""
    memory_id: str
    """Of what was merged into it."""
    stood: bool = False
    """Whether that was a memory of its own before."""


class Memory(StoredDocument):
    """One durable fact, as it stands after an operation."""

    memory_id: Line
    kind: Kind
    category: str | None = None
    content: str
    subjects: list[Line] = []
    created_at: Moment
    updated_at: Moment
    expires_at: Moment | None = None
    """None: never."""
    source: Origin = "manual"
    provenance: Provenance
    revision: Count = 1
    history: list[Former] = []
    """The latest first."""
    similar_to: list[str] = []
    """Memories that were there before, are near to it, and of which nobody has said yet whether they say the same."""
    absorbed: list[Absorbed] = []
    """The latest last. Without what said the same in the same words, and what was merged before this was kept."""


@dataclass(frozen=True)
class MemoryDraft:
    """A memory to be stored.

    `replace`: what is most similar is replaced by it, also where it is shorter and where that shortens its life.
    """

    content: str
    kind: Kind = "fact"
    category: str | None = None
    subjects: Sequence[str] = ()
    ttl: str | None = None
    source: Origin = "manual"
    replace: bool = False
    user: str | None = None
    digest: str | None = None
    room: str | None = None
    messages: Sequence[str] = ()
    conversation_id: str | None = None
    note_id: str | None = None

    def provenance(self, author: str) -> Provenance:
        """The same as it is stored."""
        return Provenance(
            author=author,
            user=self.user,
            digest=self.digest,
            room=self.room,
            messages=list(self.messages),
            conversation_id=self.conversation_id,
            note_id=self.note_id,
        )


def check_content(content: str, field: str = "content") -> str:
    """The content without blanks around it; raises InvalidRequest, TooLarge."""
    return limits.check_text(field, content, CONTENT_BYTES).strip()


def check_category(kind: Kind, category: str | None, field: str = "category") -> str | None:
    """The category; raises InvalidRequest where the kind has fixed ones and this is none of them."""
    if category is None:
        return None
    allowed = CATEGORIES.get(kind)
    if allowed and category not in allowed:
        raise InvalidRequest.of(field, f"must be one of {', '.join(allowed)} for the kind {kind}")
    limits.check_text(field, category, CATEGORY_CHARACTERS)
    return category


def without_secrets(subjects: Sequence[str], done: Redaction) -> list[str]:
    """Checked subjects without what looks like a secret, which is looked for before the letters are made small."""
    return list(dict.fromkeys(" ".join(done.text(subject).lower().split()) for subject in subjects))


def check_subjects(subjects: Sequence[str], field: str = "subjects") -> list[str]:
    """The subjects as flat lower-case tags, each once; raises InvalidRequest."""
    if len(subjects) > SUBJECTS:
        raise InvalidRequest.of(field, f"at most {SUBJECTS}")
    found = []
    for place, subject in enumerate(subjects):
        name = f"{field}.{place}"
        tag = " ".join(limits.check_text(name, subject, 4 * SUBJECT_CHARACTERS).lower().split())
        if len(tag) > SUBJECT_CHARACTERS or not _SUBJECT.fullmatch(tag) or has_controls(tag):
            raise InvalidRequest.of(name, f"must be a word or a few, at most {SUBJECT_CHARACTERS} characters")
        found.append(tag)
    return list(dict.fromkeys(found))
