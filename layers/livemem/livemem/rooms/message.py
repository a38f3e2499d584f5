"""The messages of a room: as a client posts them, and as they are stored."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import AfterValidator

from livemem import clock, limits
from livemem.errors import InvalidRequest
from livemem.store import timing
from livemem.store.bucket import IN_SPACE, MessageName, message_name
from livemem.store.objects import Object
from livemem.store.stored_documents import Line, Moment, StoredDocument
from livemem.text.invisible import has_controls
from livemem.text.redaction import Redaction

AUTHOR_CHARACTERS = 100
CONTENT_BYTES = 16_000
MESSAGE_ID_CHARACTERS = 200
UNKNOWN = "unknown"


def _check_name(name: str) -> str:
    if not message_name(IN_SPACE.key("x", name)):
        raise ValueError("no name of a message")
    return name


MessageKey = Annotated[str, AfterValidator(_check_name)]
"""The name of a message below its space. Objects of such names are moved and removed, so no other name is valid."""


class Message(StoredDocument):
    """The stored document, which is written once."""

    most_bytes: ClassVar[int] = 256 << 10

    message_id: str
    author: Line
    content: str
    timestamp: Moment

    def says(self, other: "Message") -> bool:
        """Whether author and content are the same; the times may differ."""
        return (self.author, self.content) == (other.author, other.content)


@dataclass(frozen=True)
class MessageDraft:
    """A message to be posted. Without a `message_id` a repeat becomes another message.

    `timestamp` is when it was said, in ISO 8601; None means now. `author` is a name as people write it.
    """

    author: str
    content: str
    message_id: str | None = None
    timestamp: str | None = None
    redacted: dict[str, int] = field(default_factory=dict, hash=False)


def check(draft: MessageDraft, now: datetime, where: str = "") -> MessageDraft:
    """The draft with its time in UTC. Raises InvalidRequest or TooLarge, which name the field below `where`."""
    if not 1 <= len(draft.author) <= AUTHOR_CHARACTERS or has_controls(draft.author):
        message = f"must have 1 to {AUTHOR_CHARACTERS} characters and no control characters"
        raise InvalidRequest.of(f"{where}author", message)
    limits.check_text(f"{where}author", draft.author, 4 * AUTHOR_CHARACTERS)
    limits.check_text(f"{where}content", draft.content, CONTENT_BYTES)
    if draft.message_id is not None:
        if not 1 <= len(draft.message_id) <= MESSAGE_ID_CHARACTERS:
            raise InvalidRequest.of(f"{where}message_id", f"must have 1 to {MESSAGE_ID_CHARACTERS} characters")
        limits.check_text(f"{where}message_id", draft.message_id, 4 * MESSAGE_ID_CHARACTERS, blank=True)
    if draft.timestamp is None:
        return draft
    return replace(draft, timestamp=_said_at(draft.timestamp, now, f"{where}timestamp"))


def _said_at(text: str, now: datetime, field: str) -> str:
    try:
        moment = clock.parse(text)
    except ValueError:
        raise InvalidRequest.of(field, "must be a time in ISO 8601") from None
    if moment > now + timing.SKEW:
        raise InvalidRequest.of(field, "is more than 5 minutes ahead of the service's clock")
    return clock.iso_millis(moment)


def redacted(draft: MessageDraft) -> MessageDraft:
    """The draft without what looks like a secret."""
    done = Redaction()
    return replace(
        draft,
        content=done.text(draft.content),
        author=done.text(draft.author),
        message_id=done.identifier(draft.message_id) if draft.message_id is not None else None,
        redacted=done.counted(),
    )


def read(name: MessageName, item: Object) -> Message:
    """The message in an object. A body of another format is taken as the text, cut to 16,000 bytes."""
    try:
        return Message.from_bytes(item.body)
    except ValueError:
        text = item.body[:CONTENT_BYTES].decode(errors="replace")
        return Message(message_id=name.name, author=UNKNOWN, content=text, timestamp=clock.iso_millis(name.moment))
