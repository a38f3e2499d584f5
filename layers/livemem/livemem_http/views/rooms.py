"""Rooms and digests as requests and answers."""

from datetime import datetime
from typing import Annotated

from livemem import clock
from livemem.rooms.message import AUTHOR_CHARACTERS, CONTENT_BYTES, MESSAGE_ID_CHARACTERS, Message, MessageDraft
from livemem.rooms.posting import BATCH, Posted, RefusedMessage
from livemem.rooms.reading import MessagesPage, RoomInfo
from livemem.store import keys
from livemem_http.views.fields import (
    ALONE,
    BY_ITEMS,
    SEVERAL,
    Body,
    JobState,
    Moment,
    Page,
    Redacted,
    View,
    described,
)

Room = Annotated[
    str,
    described(
        "The name of the room. A room exists as soon as it has a message.",
        "general",
        pattern=f"^{keys.ROOM.pattern}$",
    ),
]
Slot = Annotated[
    str,
    described(
        "The id of the digest: the time (UTC) at which it was due or requested.",
        "20260220T170000",
        pattern=f"^{keys.SLOT.pattern}$",
    ),
]
Author = Annotated[
    str,
    described("The author's name, as people write it.", "Zoé Martin", minLength=1, maxLength=AUTHOR_CHARACTERS),
]
Content = Annotated[
    str,
    described(
        "The text, in at most 16,000 bytes.",
        "We decided to move the import to the new API.",
        minLength=1,
        maxLength=CONTENT_BYTES,
    ),
]
MessageId = Annotated[
    str,
    described(
        "A name of your own for the message, unique in its room. A repeat returns the message that is "
        "waiting or was digested, and writes nothing. The same name with another text is refused (422).",
        "chat-4711",
        minLength=1,
        maxLength=MESSAGE_ID_CHARACTERS,
    ),
]
SaidAt = Annotated[
    Moment,
    described(
        "The time when it was said: in the past, or at most 5 minutes ahead of the service's clock. Default: now.",
        "2026-02-20T14:05:00.250Z",
    ),
]


class NewRoomMessage(Body):
    """A message to post."""

    author: Author
    content: Content
    message_id: MessageId | None = None
    timestamp: SaidAt | None = None

    def draft(self) -> MessageDraft:
        """The message for the domain."""
        return MessageDraft(self.author, self.content, self.message_id, self.timestamp)


class NewRoomMessages(Body):
    """Messages to post in one request."""

    items: Annotated[list[NewRoomMessage], described("The messages, from 1 to 100.", minItems=1, maxItems=BATCH)]


MessageOrMessages = Annotated[Annotated[NewRoomMessage, ALONE] | Annotated[NewRoomMessages, SEVERAL], BY_ITEMS]


class RoomMessageView(View):
    """A message that waits for a digest."""

    message_id: Annotated[str, described("The id of the message: yours, or one that the service made.", "chat-4711")]
    author: Author
    content: Content
    timestamp: Annotated[Moment, described("The time when it was said, UTC.", "2026-02-20T14:05:00.250Z")]

    @classmethod
    def of(cls, message: Message) -> "RoomMessageView":
        return cls.model_validate(message, from_attributes=True)


class MessagePosted(View):
    """The result for a message."""

    message_id: Annotated[str, described("The id of the message: yours, or one that the service made.", "chat-4711")]
    timestamp: Annotated[Moment | None, described("The time when it was said, UTC.", "2026-02-20T14:05:00.250Z")] = None
    repeated: Annotated[
        bool | None, described("True if the message was posted before. Nothing was written.", False)
    ] = None
    digested: Annotated[bool | None, described("True if a digest has taken the message since it was first posted.")] = (
        None
    )
    redacted: Redacted = None
    error: Annotated[
        dict[str, str] | None,
        described("`code` and `detail` of the error. Only in a batch, for a message that was not written."),
    ] = None

    @classmethod
    def of(cls, posted: Posted | RefusedMessage, message_id: str | None = None) -> "MessagePosted":
        """`message_id` is that of the request, for a message that was refused."""
        if isinstance(posted, RefusedMessage):
            return cls(message_id=message_id or "", error={"code": posted.error.code, "detail": posted.error.detail})
        return cls(
            message_id=posted.message.message_id,
            timestamp=posted.message.timestamp,
            repeated=not posted.fresh,
            digested=posted.digested or None,
            redacted=posted.redacted or None,
        )


class MessagesPosted(View):
    """The result for each message, in their order."""

    items: Annotated[list[MessagePosted], described("One result for each message of the request.")]


class RoomView(View):
    """A room."""

    room: Room
    has_messages: Annotated[bool, described("Whether messages in the room wait for a digest.", True)]
    newest: Annotated[
        Moment | None, described("The time of the newest waiting message, UTC.", "2026-02-20T14:05:00.250Z")
    ] = None

    @classmethod
    def of(cls, info: RoomInfo) -> "RoomView":
        return cls.model_validate(info, from_attributes=True)


class RoomList(View):
    """The rooms of a space."""

    items: Annotated[
        list[RoomView],
        described("The rooms with messages that wait, or that were posted in the last days; sorted by name."),
    ]
    next_digest_at: Annotated[
        Moment,
        described(
            "The time at which the next digest is due, UTC. It takes the messages that wait then.",
            "2026-02-20T17:00:00Z",
        ),
    ]

    @classmethod
    def of(cls, rooms: list[RoomInfo], next_digest: datetime) -> "RoomList":
        return cls(items=[RoomView.of(one) for one in rooms], next_digest_at=clock.iso(next_digest))


class RoomMessagePage(Page):
    """A page of messages."""

    items: Annotated[
        list[RoomMessageView], described("The messages. A page that is not the last one may hold fewer than `limit`.")
    ]

    @classmethod
    def of(cls, page: MessagesPage, cursor: str | None) -> "RoomMessagePage":
        return cls(items=[RoomMessageView.of(one) for one in page.items], next_cursor=cursor)


class NewDigest(Body):
    """The digest to start."""

    slot: Annotated[
        Slot | None, described("A digest whose dead letters are put back into their rooms before (admin).")
    ] = None


class DigestQueued(JobState):
    """A digest that was requested."""

    messages: Annotated[
        int | None, described("Number of messages of dead letters that are in their rooms again. Only with a `slot`.")
    ] = None
