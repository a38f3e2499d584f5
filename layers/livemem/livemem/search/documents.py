"""The documents that a search looks through."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from livemem.search import passages
from livemem.text.speakers import all_said_by, said_by

PERSON = "person"
"""The role of a note that says whose words it holds."""
LIVE, ARCHIVE, BANK, MEMORY, MESSAGE = "note", "archive", "bank", "memory", "message"
"""Kinds of documents: a live note, one that a record holds, a section of a bank file; a durable fact, or an agent's
knowledge of itself, or its goal; a message in a room.
"""
TURN, SUMMARY = "turn", "summary"
"""The words of one side of a turn, or of its tools; a summary of any level."""
CONVERSATION_KINDS = frozenset((TURN, SUMMARY))
SPOKEN = {TURN, MESSAGE}
"""The kinds of documents that were said: in a conversation, in a room."""
TALK = SPOKEN | CONVERSATION_KINDS
"""These, and what sums them up."""
LISTS = {BANK}
"""The kinds of documents whose lines are statements of their own: sections of the bank. Their passages are those lines,
and the nearest one stands for the document.
"""
TOOLS, QUESTIONS, WORDLESS = "tools", "questions", "wordless"
"""Names of documents that are aside: calls of tools, questions to the memory with their answers, texts without a word
to look for. Nobody finds the last. Documents that are aside have no part in the ranking of all others.
"""


@dataclass(frozen=True)
class Document:
    """One thing that a search can find.

    `id` is unique in its space. `group` and `position` define neighbours: the documents of a group stand in the order
    of their positions.
    """

    id: str
    kind: str
    text: str
    group: str
    position: str
    title: str = ""
    time: str = ""
    """ISO 8601, UTC; empty where it has none."""
    expires: str = ""
    """The moment from which no search finds it: ISO 8601, UTC, in milliseconds; empty: never."""
    author: str = ""
    role: str = ""
    """Of a turn of a conversation: `user` for a person's words, `assistant` for a model's answer; `tool` and `system`
    for text that nobody said. Of a note: PERSON, or empty.
    """
    category: str = ""
    tags: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    """Of a summary, both as items.folded gives them. A document that was read back from an index has none."""
    source: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The values that a request needs to get the whole, by the names of the API's parameters."""
    aside: str = ""
    """The name under which alone it is found (TOOLS, QUESTIONS, WORDLESS), and by its words alone. Empty: it is found
    with all others, and has vectors.
    """
    more: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Further values that are needed to show it, as JSON."""

    @cached_property
    def passages(self) -> list[tuple[int, int]]:
        """The ranges of characters of its passages."""
        return (passages.split_lines if self.kind in LISTS else passages.split)(self.text)

    @property
    def written_by(self) -> str | None:
        """The token that wrote it, where its author is another speaker."""
        token = self.more.get("written_by") or self.more.get("author")
        return token if token and token != self.author else None

    @property
    def said_by(self) -> str:
        """Its author as texts name it. Of a summary the speakers whose words another token wrote (speakers.said_by)."""
        return said_by(self.author, self.written_by or self.author) or all_said_by(self.more.get("written_for") or ())


@dataclass(frozen=True)
class Reading:
    """The documents that one object of the bucket holds, as it was read.

    Several objects may hold the same document: the one of the highest `rank` counts. `gives_back`: ids of documents
    that the object gives up. No object of a lower rank counts for them, except those of rank 0 (an undo gives notes
    back). `confirmed`: by group, when its documents were last confirmed, by their titles, and what else is told of
    it by other names. The object of the highest rank tells it of all documents of a group.
    """

    key: str
    mark: str
    """It distinguishes this version of the object from others (view.DocumentSource)."""
    documents: tuple[Document, ...] = ()
    rank: int = 0
    gives_back: tuple[str, ...] = ()
    confirmed: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)


def storable(text: str) -> str:
    """Text that any store of text takes: no half surrogate pairs, which JSON can hold."""
    return text.encode(errors="replace").decode()
