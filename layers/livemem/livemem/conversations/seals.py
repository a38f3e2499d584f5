"""Seals: where a block of turns ends, and which summaries are a group. Written once, one behind the other."""

from dataclasses import dataclass
from typing import TypeVar

from livemem import clock
from livemem.conversations.conversation import Conversation, parsed
from livemem.conversations.generations import Built
from livemem.conversations.parameters import Parameters
from livemem.conversations.planner import Block, Place
from livemem.errors import PreconditionLost
from livemem.process import Process
from livemem.store import conversation_keys as keys
from livemem.store import documents
from livemem.store.documents import Document, Moment

S = TypeVar("S", bound=Document)


class BlockSeal(Document):
    """A seal of level 1: characters are counted in what was said, the user's side before the assistant's."""

    start: int
    start_offset: int
    end: int
    end_offset: int
    """Characters of turn `end` up to which it reaches."""
    next: tuple[int, int]
    """Turn and offset at which the next block begins."""
    reason: str
    chars: int
    range_start: Moment
    range_end: Moment

    @property
    def following(self) -> Place:
        """Where the next block begins."""
        return Place(*self.next)

    @property
    def covers(self) -> tuple[int, int]:
        """The first and last turn, both at least in part."""
        return self.start, self.end


class GroupSeal(Document):
    """A seal of level 2 or 3: the summaries from one number to another of the level below."""

    children: tuple[int, int]
    covers: tuple[int, int]
    """The first and last turn."""
    chars: int
    """Of the summaries."""
    raw_chars: int
    """Of the turns."""
    range_start: Moment
    range_end: Moment


@dataclass(frozen=True)
class At:
    """A generation of a conversation, and what it is built with."""

    space_id: str
    conversation: Conversation
    built: Built

    @property
    def conversation_id(self) -> str:
        """The conversation's id."""
        return self.conversation.conversation_id

    @property
    def generation(self) -> int:
        """The generation's number."""
        return self.built.generation

    @property
    def parameters(self) -> Parameters:
        """What it is built with."""
        return self.built.parameters

    def seal_key(self, level: int, number: int) -> str:
        """The key of a seal."""
        return keys.seal(self.space_id, self.conversation_id, self.generation, level, number)

    def summary_key(self, level: int, number: int, name: str) -> str:
        """The key of a summary."""
        return keys.summary(self.space_id, self.conversation_id, self.generation, level, number, name)


def of_block(block: Block) -> BlockSeal:
    """The seal of a block."""
    return BlockSeal(
        start=block.start.index,
        start_offset=block.start.offset,
        end=block.end,
        end_offset=block.end_offset,
        next=(block.next.index, block.next.offset),
        reason=block.reason,
        chars=block.chars,
        range_start=clock.iso_millis(block.range_start),
        range_end=clock.iso_millis(block.range_end),
    )


def write(process: Process, at: At, level: int, number: int, seal: S) -> S:
    """Write the seal, or adopt the one that is there: 1 PUT, and 1 GET where somebody was faster."""
    key = at.seal_key(level, number)
    try:
        process.store.put(key, seal.to_bytes(), if_none_match=True, content_type=documents.JSON)
    except PreconditionLost:
        found = process.store.get(key)
        if not found:
            # Somebody deletes the conversation right now.
            raise
        return parsed(process, type(seal), found)
    return seal
