"""The fields of a memory, and of a draft that is to be stored as one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from livemem import clock, limits
from livemem.errors import InvalidRequest
from livemem.store.keys import MemoryKind
from livemem.store.stored_documents import Count, Line, Moment, StoredDocument
from livemem.text.invisible import has_controls
from livemem.text.redaction import Redaction
from livemem.text.speakers import said_by

Origin = Literal["conversation", "chat", "note", "digest", "manual"]
"""Where a memory comes from."""

CATEGORIES: dict[MemoryKind, tuple[str, ...]] = {
    "self": ("context", "capability", "limitation", "preference", "relation"),
    "goal": ("capability_request", "understanding", "connection", "curiosity"),
}
"""The allowed categories of the kinds that have fixed ones. Categories of facts are free."""
CONTENT_BYTES = 8_000
CATEGORY_CHARACTERS = 50
SUBJECTS = 10
SUBJECT_CHARACTERS = 50
HISTORY = 20
"""Former contents that a memory holds, at most. Older ones are in the log."""
_SUBJECT = re.compile(r"[^\s,/]+(?:[ -][^\s,/]+)*")


class Provenance(StoredDocument):
    """The author of a memory, and the sources that it rests on."""

    author: Line
    user: str | None = None
    """The user who said it, for a memory from a question."""
    digest: Line | None = None
    """The slot of the digest that extracted it."""
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
    """When the content was stored or last changed."""
    author: Line


class Absorbed(StoredDocument):
    """A memory or draft that was merged into a memory, and was not split off again."""

    number: int
    """The number of the operation that merged it."""
    memory_id: str
    """The id of the merged one."""
    stood: bool = False
    """Whether it was a memory of its own before."""


class Memory(StoredDocument):
    """One durable fact, as it stands after an operation."""

    memory_id: Line
    kind: MemoryKind
    category: str | None = None
    content: str
    subjects: list[Line] = []
    created_at: Moment
    updated_at: Moment
    expires_at: Moment | None = None
    """None: never."""
    source: Origin = "manual"
    said_at: Moment | None = None
    """When its content was said, if that is not when it was stored."""
    author: Line | None = None
    """The named speaker of its content, if that is not the token."""
    provenance: Provenance
    revision: Count = 1
    history: list[Former] = []
    """Former contents, the latest first."""
    similar_to: list[str] = []
    """Earlier memories near to it, of which the LLM has not said yet whether they say the same."""
    absorbed: list[Absorbed] = []
    """The latest last. Without merges of the same words."""

    @property
    def moment(self) -> str:
        """When it was said, else when it was last stored."""
        return self.said_at or self.updated_at

    @property
    def speaker(self) -> str:
        """The named speaker, else the user of the question that it is from, else the token."""
        return self.author or self.provenance.user or self.provenance.author

    @property
    def said_by(self) -> str:
        """The speaker as texts name it (speakers.said_by)."""
        return said_by(self.speaker, self.provenance.author)


@dataclass(frozen=True)
class MemoryDraft:
    """A memory to be stored.

    `replace`: it replaces the most similar memory, even if it is shorter or lives for less time.
    """

    content: str
    kind: MemoryKind = "fact"
    category: str | None = None
    subjects: Sequence[str] = ()
    ttl: str | None = None
    source: Origin = "manual"
    replace: bool = False
    said_at: str | None = None
    """When it was said, if that is not now: ISO 8601. A time ahead of the service's clock counts as now."""
    author: str | None = None
    """The speaker, if that is not the token."""
    user: str | None = None
    digest: str | None = None
    room: str | None = None
    messages: Sequence[str] = ()
    conversation_id: str | None = None
    note_id: str | None = None
    memory_id: str | None = None
    """Its id if it stands alone. None: a new one."""
    expires_at: str | None = None
    """When it expires, in place of `ttl`."""

    def provenance(self, author: str) -> Provenance:
        """The provenance of the stored memory."""
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
    """The content without surrounding blanks. Raises InvalidRequest, TooLarge."""
    return limits.check_text(field, content, CONTENT_BYTES).strip()


def check_category(kind: MemoryKind, category: str | None, field: str = "category") -> str | None:
    """The category. Raises InvalidRequest if the kind has fixed ones and this is none of them."""
    if category is None:
        return None
    allowed = CATEGORIES.get(kind)
    if allowed and category not in allowed:
        raise InvalidRequest.of(field, f"must be one of {', '.join(allowed)} for the kind {kind}")
    limits.check_text(field, category, CATEGORY_CHARACTERS)
    return category


def check_said_at(said_at: str, now: datetime, field: str = "said_at") -> str | None:
    """When it was said, in the stored form; None if that is not before `now`. Raises InvalidRequest."""
    try:
        moment = clock.parse(said_at)
    except ValueError:
        raise InvalidRequest.of(field, "must be a time in ISO 8601") from None
    return clock.iso(moment) if moment < now else None


def without_secrets(subjects: Sequence[str], done: Redaction) -> list[str]:
    """Checked subjects without apparent secrets, which are detected before the letters become lower-case."""
    return list(dict.fromkeys(" ".join(done.text(subject).lower().split()) for subject in subjects))


def check_subjects(subjects: Sequence[str], field: str = "subjects") -> list[str]:
    """The subjects as flat lower-case tags, each once. Raises InvalidRequest."""
    if len(subjects) > SUBJECTS:
        raise InvalidRequest.of(field, f"must have at most {SUBJECTS} subjects")
    names = []
    for place, subject in enumerate(subjects):
        name = f"{field}.{place}"
        tag = " ".join(limits.check_text(name, subject, 4 * SUBJECT_CHARACTERS).lower().split())
        if len(tag) > SUBJECT_CHARACTERS or not _SUBJECT.fullmatch(tag) or has_controls(tag):
            raise InvalidRequest.of(name, f"must be a word or a few, at most {SUBJECT_CHARACTERS} characters")
        names.append(tag)
    return list(dict.fromkeys(names))
