"""The documents of a digest."""

from typing import ClassVar

from livemem.llm.usage import Usage
from livemem.memories.memory import MemoryDraft
from livemem.rooms.digested import Ending
from livemem.rooms.message import Message, MessageKey
from livemem.store.keys import MemoryKind
from livemem.store.stored_documents import Count, Line, Moment, StoredDocument


class ExtractedFact(StoredDocument):
    """A memory of a chunk, and the ids of the messages that it rests on."""

    kind: MemoryKind
    category: str | None = None
    content: str
    subjects: list[str] = []
    ttl: str | None = None
    replace: bool = False
    messages: list[str] = []
    said_at: Moment | None = None
    """When the last of its messages was said."""
    author: Line | None = None
    """The speaker, if all of its messages are of one."""

    def draft(self, slot: str, room: str) -> MemoryDraft:
        """The draft of the memory, to be stored."""
        return MemoryDraft(
            self.content,
            kind=self.kind,
            category=self.category,
            subjects=tuple(self.subjects),
            ttl=self.ttl,
            source="digest",
            replace=self.replace,
            said_at=self.said_at,
            author=self.author,
            digest=slot,
            room=room,
            messages=tuple(self.messages),
        )


class GivenUp(StoredDocument):
    """Why a chunk was given up."""

    code: str
    detail: str


class Extract(StoredDocument):
    """`extract/{chunk}.json`: the facts of the model's answer that are to be stored, or that the chunk was given up.

    The first writer decides. So no worker gives up a chunk after another one has stored an answer.
    """

    most_bytes: ClassVar[int] = 16 << 20

    room: Line
    facts: list[ExtractedFact]
    goals_left_out: Count = 0
    messages: Count
    """How many messages could be read."""
    usage: Usage = Usage()
    at: Moment
    given_up: GivenUp | None = None

    @property
    def goals(self) -> int:
        return len([fact for fact in self.facts if fact.kind == "goal"])


class StoredFacts(StoredDocument):
    """`stored/{chunk}.json`: all memories of the chunk are stored."""

    most_bytes: ClassVar[int] = 16 << 10

    new: Count
    merged: Count
    refused: Count = 0
    """Facts that were refused as memories. They are in the extract."""


class Try(StoredDocument):
    """`tries/{chunk}-{number}.json`: a try that failed because of the chunk itself."""

    most_bytes: ClassVar[int] = 256 << 10

    code: str
    detail: str
    usage: Usage = Usage()
    at: Moment


class DeadMessage(StoredDocument):
    """A whole message, and its key below the space."""

    name: MessageKey
    message: Message


class DeadLetter(StoredDocument):
    """`dead/{chunk}.json`: a chunk that was given up, with its messages."""

    most_bytes: ClassVar[int] = 64 << 20

    room: Line
    code: str
    detail: str
    at: Moment
    messages: list[DeadMessage]


class DigestDone(Ending):
    """`done.json`: the result of a digest. `dead_letters` are the numbers of the chunks that were given up."""

    most_bytes: ClassVar[int] = 1 << 20

    messages: Count
    chunks: Count
    new: Count
    merged: Count
    refused: Count = 0
    usage: Usage
    more: bool = False
    """Whether the rooms held more than one digest takes. Then another digest was begun."""
    started_at: Moment
    ended_at: Moment
