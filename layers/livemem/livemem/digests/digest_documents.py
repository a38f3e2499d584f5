"""The documents of a digest."""

from typing import ClassVar

from livemem.llm.usage import Usage
from livemem.memories.memory import MemoryDraft
from livemem.rooms.digested import Ending
from livemem.rooms.message import Message, MessageKey
from livemem.store.memory_keys import Kind
from livemem.store.stored_documents import Count, Line, Moment, StoredDocument


class ExtractedFact(StoredDocument):
    """A memory that a chunk gave, and the ids of the messages that it rests on."""

    kind: Kind
    category: str | None = None
    content: str
    subjects: list[str] = []
    ttl: str | None = None
    replace: bool = False
    messages: list[str] = []

    def draft(self, slot: str, room: str) -> MemoryDraft:
        """The same to be stored."""
        return MemoryDraft(
            self.content,
            kind=self.kind,
            category=self.category,
            subjects=tuple(self.subjects),
            ttl=self.ttl,
            source="digest",
            replace=self.replace,
            digest=slot,
            room=room,
            messages=tuple(self.messages),
        )


class GivenUp(StoredDocument):
    """Why nothing more is asked about a chunk."""

    code: str
    detail: str


class Extract(StoredDocument):
    """`extract/{chunk}.json`: what the model answered, as far as it is stored; or that the chunk was given up.

    The first writer of it decides, so that no chunk is given up of which another worker gets an answer.
    """

    most_bytes: ClassVar[int] = 16 << 20

    room: Line
    facts: list[ExtractedFact]
    goals_left_out: Count = 0
    messages: Count
    """How many were there to be read."""
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
    """What the memories did not take: it is in the extract."""


class Try(StoredDocument):
    """`tries/{chunk}-{number}.json`: a try that came to nothing by the chunk itself."""

    most_bytes: ClassVar[int] = 256 << 10

    code: str
    detail: str
    usage: Usage = Usage()
    at: Moment


class DeadMessage(StoredDocument):
    """A message whole, and the name that its key has below the space."""

    name: MessageKey
    message: Message


class DeadLetter(StoredDocument):
    """`dead/{chunk}.json`: a chunk that was given up. What was said is kept here."""

    most_bytes: ClassVar[int] = 64 << 20

    room: Line
    code: str
    detail: str
    at: Moment
    messages: list[DeadMessage]


class DigestDone(Ending):
    """`done.json`: what a digest came to. `dead_letters` are the numbers of the chunks that were given up."""

    most_bytes: ClassVar[int] = 1 << 20

    messages: Count
    chunks: Count
    new: Count
    merged: Count
    refused: Count = 0
    usage: Usage
    more: bool = False
    """Whether rooms held more than one digest takes: another one was begun then."""
    started_at: Moment
    ended_at: Moment
