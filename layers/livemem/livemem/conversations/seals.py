"""Seals: where a block of turns ends, and which summaries are a group. Written once, one behind the other."""

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from pydantic import ValidationInfo, field_validator

from livemem import clock
from livemem.conversations.conversation import Conversation, parsed
from livemem.conversations.generations import Built
from livemem.conversations.parameters import Parameters
from livemem.conversations.planner import Block, Place
from livemem.conversations.turn import TurnIndex
from livemem.errors import NotFound
from livemem.process import Process
from livemem.store import conversation_keys as keys
from livemem.store import stored
from livemem.store.documents import Count, Document, Line, Moment, Number

S = TypeVar("S", bound=Document)
MOST_CHILDREN = 1_000_001
"""Of a group: `group_raw_chars` is at most a million, and a summary stands for a character at least."""


class BlockSeal(Document):
    """A seal of level 1: characters are counted in what was said, the user's side before the assistant's."""

    most_bytes: ClassVar[int] = 4 << 10

    start: TurnIndex
    start_offset: Count
    end: TurnIndex
    end_offset: Count
    """Characters of turn `end` up to which it reaches."""
    next: tuple[TurnIndex, Count]
    """Turn and offset at which the next block begins."""
    reason: Line
    chars: Count
    range_start: Moment
    range_end: Moment

    @field_validator("end")
    @classmethod
    def _behind_its_start(cls, end: int, info: ValidationInfo) -> int:
        if end < info.data.get("start", end):
            raise ValueError("before the beginning")
        return end

    @field_validator("next")
    @classmethod
    def _behind_its_end(cls, following: tuple[int, int], info: ValidationInfo) -> tuple[int, int]:
        end = info.data.get("end", following[0])
        if not (end, info.data.get("end_offset", 0)) <= following <= (end + 1, 0):
            raise ValueError("not where the block ends")
        return following

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

    most_bytes: ClassVar[int] = 4 << 10

    children: tuple[Number, Number]
    covers: tuple[TurnIndex, TurnIndex]
    """The first and last turn."""
    chars: Count
    """Of the summaries."""
    raw_chars: Count
    """Of the turns."""
    range_start: Moment
    range_end: Moment

    @field_validator("children", "covers")
    @classmethod
    def _in_order(cls, ends: tuple[int, int]) -> tuple[int, int]:
        if ends[0] > ends[1]:
            raise ValueError("not in order")
        return ends

    @field_validator("children")
    @classmethod
    def _not_too_many(cls, ends: tuple[int, int]) -> tuple[int, int]:
        if ends[1] - ends[0] >= MOST_CHILDREN:
            raise ValueError("too many")
        return ends


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
    """Write the seal, or adopt the one that is there: 1 PUT, and 1 GET where somebody was faster. Raises NotFound."""
    key = at.seal_key(level, number)
    written = stored.write_once(process.store, key, seal.to_bytes())
    if written.gone:
        # Somebody deletes the conversation right now.
        raise NotFound("conversation", at.conversation_id)
    return parsed(process, type(seal), written.other) if written.other else seal
