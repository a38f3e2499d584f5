"""Rooms and digests as requests and answers."""

from typing import Annotated

from livemem.digests import reading
from livemem.digests.digest_documents import DigestDone
from livemem.jobs.describable import job_id
from livemem.jobs.job import Status
from livemem.rooms.message import AUTHOR_CHARACTERS, CONTENT_BYTES, MESSAGE_ID_CHARACTERS, Message, MessageDraft
from livemem.rooms.posting import BATCH, Posted, RefusedMessage
from livemem.rooms.reading import MessagesPage, RoomInfo
from livemem.store import room_keys as keys
from livemem_http.views.fields import (
    Body,
    LlmUsage,
    Moment,
    NextCursor,
    Redacted,
    Unreadable,
    View,
    described,
    job_described,
)

Room = Annotated[
    str,
    described(
        "The name of the room; it is there as soon as something is said in it.",
        "general",
        pattern=f"^{keys.ROOM.pattern}$",
    ),
]
Slot = Annotated[
    str,
    described(
        "The digest: the time (UTC) at which it was due, or asked for.",
        "20260220T170000",
        pattern=f"^{keys.SLOT.pattern}$",
    ),
]
Author = Annotated[
    str,
    described("Who says it: a name as people write it.", "Zoé Martin", minLength=1, maxLength=AUTHOR_CHARACTERS),
]
Content = Annotated[
    str,
    described(
        "What is said, in at most 16,000 bytes.",
        "We decided to move the import to the new API.",
        minLength=1,
        maxLength=CONTENT_BYTES,
    ),
]
MessageId = Annotated[
    str,
    described(
        "A name of your own for the message, unique in its room: a repeat of it answers with the message that is there "
        "or was digested and writes nothing; with other words it is refused (422).",
        "chat-4711",
        minLength=1,
        maxLength=MESSAGE_ID_CHARACTERS,
    ),
]
SaidAt = Annotated[
    Moment,
    described(
        "When it was said, if not now: any past time, at most 5 minutes ahead of the service's clock.",
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

    messages: Annotated[list[NewRoomMessage], described("One to 100 messages.", minItems=1, maxItems=BATCH)]

    def drafts(self) -> list[MessageDraft]:
        """The messages for the domain."""
        return [message.draft() for message in self.messages]


class RoomMessageView(View):
    """A message that waits for a digest."""

    message_id: Annotated[str, described("The message's own id, or the one that the service gave it.", "chat-4711")]
    author: Author
    content: Content
    timestamp: Annotated[Moment, described("When it was said, UTC.", "2026-02-20T14:05:00.250Z")]

    @classmethod
    def of(cls, message: Message) -> "RoomMessageView":
        return cls.model_validate(message, from_attributes=True)


class MessagePosted(View):
    """The result for a message."""

    message_id: Annotated[str, described("The message's own id, or the one that the service gave it.", "chat-4711")]
    timestamp: Annotated[Moment | None, described("When it was said, UTC.", "2026-02-20T14:05:00.250Z")] = None
    repeated: Annotated[bool | None, described("Whether it came before: then nothing was written.", False)] = None
    digested: Annotated[bool | None, described("True if a digest has taken it since it came first.")] = None
    redacted: Redacted = None
    error: Annotated[
        dict[str, str] | None, described("Why it was not written, in a batch: `code` and `detail` of the error.")
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

    items: Annotated[list[MessagePosted], described("One for each message that was sent.")]


class RoomView(View):
    """A room."""

    room: Room
    has_messages: Annotated[bool, described("Whether messages wait in it for a digest.", True)]
    newest: Annotated[
        Moment | None, described("When the newest of them was said, UTC.", "2026-02-20T14:05:00.250Z")
    ] = None

    @classmethod
    def of(cls, info: RoomInfo) -> "RoomView":
        return cls.model_validate(info, from_attributes=True)


class RoomList(View):
    """The rooms of a space."""

    items: Annotated[list[RoomView], described("Those in which messages wait, or were said in the last days; by name.")]

    @classmethod
    def of(cls, rooms: list[RoomInfo]) -> "RoomList":
        return cls(items=[RoomView.of(one) for one in rooms])


class RoomMessagePage(View):
    """A page of messages."""

    items: Annotated[
        list[RoomMessageView], described("The messages. A page may hold fewer than `limit` and not be the last one.")
    ]
    next_cursor: NextCursor = None

    @classmethod
    def of(cls, page: MessagesPage, cursor: str | None) -> "RoomMessagePage":
        return cls(items=[RoomMessageView.of(one) for one in page.items], next_cursor=cursor)


DigestJob = Annotated[str, job_described("digest", "20260220T170000")]


class DigestQueued(View):
    """A digest that was requested."""

    slot: Slot
    status: Annotated[str, described("Poll the digest under its slot to see how it goes.", "queued")] = "queued"
    job: DigestJob


class DigestCounts(View):
    """The results of a digest."""

    messages: Annotated[int, described("Messages that it took.", 42)]
    chunks: Annotated[int, described("Questions to the LLM that they were cut into.", 1)]
    dead_letters: Annotated[list[int], described("Numbers of the chunks that were given up after three tries.", [])]
    new: Annotated[int, described("New memories.", 5)]
    merged: Annotated[int, described("Memories that were there already, or were brought up to date.", 1)]
    refused: Annotated[int, described("Facts that could not be stored.", 0)]
    usage: Annotated[LlmUsage, described("What it asked of the LLM.")]
    started_at: Annotated[Moment, described("When it began, UTC.", "2026-02-20T17:00:04.120Z")]
    ended_at: Annotated[Moment, described("When it ended, UTC.", "2026-02-20T17:00:31.580Z")]

    @classmethod
    def of(cls, done: DigestDone) -> "DigestCounts":
        return cls(**done.model_dump(include=set(cls.model_fields)))


class ChunkGivenUp(View):
    """A chunk for which the model gave no usable answer three times. Its messages are kept."""

    chunk: Annotated[int, described("Its number.", 3)]
    room: Room
    messages: Annotated[int, described("How many messages it holds.", 17)]
    code: Annotated[str, described("Why, as a code.", "llm_contract")]
    detail: Annotated[str, described("Why, as a sentence.", "The LLM's answer could not be used.")]
    at: Annotated[Moment, described("When it was given up, UTC.", "2026-02-20T17:00:31.580Z")]


class DigestView(View):
    """A digest."""

    slot: Slot
    status: Annotated[
        Status,
        described(
            "`queued`, `running` or `done`. With an `error` it waits after a failure of the LLM, and goes on every "
            "hour, or when a digest is started by hand.",
            "done",
        ),
    ]
    job: DigestJob
    error: Annotated[str | None, described("The code of the failure after which it waits.")] = None
    messages: Annotated[int, described("Messages that it takes.", 42)]
    chunks: Annotated[int, described("Questions to the LLM that they are cut into.", 1)]
    settled: Annotated[int, described("Those that need no more work.", 1)]
    counts: Annotated[DigestCounts | None, described("What it came to, once it has ended.")] = None
    given_up: Annotated[
        list[ChunkGivenUp] | None, described("Chunks that may be tried anew (`POST .../retry`). In a list left out.")
    ] = None
    unreadable: Unreadable = None

    @classmethod
    def of(cls, space_id: str, digest: reading.Digest) -> "DigestView":
        given_up = [ChunkGivenUp.model_validate(one, from_attributes=True) for one in digest.given_up]
        return cls(
            slot=digest.slot,
            status=digest.status,
            job=job_id(space_id, "digest", digest.slot),
            error=digest.error,
            messages=digest.messages,
            chunks=digest.chunks,
            settled=digest.settled,
            counts=DigestCounts.of(digest.done) if digest.done else None,
            given_up=given_up or None,
            unreadable=list(digest.missing) or None,
        )


class DigestPage(View):
    """A page of digests."""

    items: Annotated[list[DigestView], described("The digests, the newest first.")]
    next_cursor: NextCursor = None

    @classmethod
    def of(cls, space_id: str, digests: list[reading.Digest], cursor: str | None) -> "DigestPage":
        return cls(items=[DigestView.of(space_id, one) for one in digests], next_cursor=cursor)


class DigestRetried(View):
    """The messages that were put back."""

    messages: Annotated[int, described("Messages that are in their rooms again; the next digest takes them.", 17)]
