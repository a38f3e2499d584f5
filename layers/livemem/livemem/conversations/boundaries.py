"""Block boundaries: where blocks of turns and groups of summaries end. Pure functions that scan greedily.

Every worker that sees the same log finds the same ends, independent of what it saw before. Rules:
docs/conversations.md, with the precedence slice, duo (two sides stay together), chars, time. A boundary is written once
(summary_versions.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Literal

from pydantic import ValidationInfo, field_validator

from livemem import clock
from livemem.conversations.conversation import TurnIndex
from livemem.conversations.parameters import LEAST_SLICED, Parameters, Profile
from livemem.store.stored_documents import Count, Line, Moment, Number, StoredDocument

BoundaryReason = Literal["slice", "duo", "chars", "time", "hardcap", "close", "turn"]

HARDCAP = 1.5
"""Windows after which a block ends without an assistant's side."""
LEAST_GROUP, MOST_GROUP, LONGEST_GROUP = 0.8, 1.2, 1.5
"""Shares of `group_chars`. A group usually stays below MOST_GROUP. One below LEAST_GROUP takes the next summary anyway,
as long as it does not exceed LONGEST_GROUP.
"""
LEAST_CHILDREN = 2
"""Summaries of a group that ends by the characters of its turns."""


@dataclass(frozen=True)
class Size:
    """The facts of a turn that the planner needs. `ends`: its last side is the assistant's. `close`: the conversation
    was closed behind it.
    """

    index: int
    chars: int
    ends: bool
    close: bool
    moment: datetime
    late: timedelta = timedelta()
    """How long after its moment it arrived. What arrives more than a pause late was imported."""


@dataclass(frozen=True)
class Place:
    """A place in the log: `offset` characters into turn `index`."""

    index: int
    offset: int


@dataclass(frozen=True)
class Block:
    """Turns from `start` up to `end`, of which it covers `end_offset` characters. The next block begins at `next`."""

    start: Place
    end: int
    end_offset: int
    next: Place
    reason: BoundaryReason
    chars: int
    range_start: datetime
    range_end: datetime


@dataclass(frozen=True)
class _Rules:
    """The bounds of a profile, in characters."""

    window: float
    upper: float
    least: int
    sliced_from: float
    hard: float
    every_turn: bool
    by_chars: bool
    by_time: bool
    any_side: bool
    pause: timedelta


def _rules(profile: Profile, parameters: Parameters) -> _Rules:
    every_turn = profile == "turns"
    window = parameters.window_chars * (LEAST_SLICED if every_turn else 1)
    return _Rules(
        window=window,
        upper=window * (1 + parameters.wiggle),
        least=parameters.min_flush_chars,
        sliced_from=window * (1 + parameters.wiggle),
        hard=HARDCAP * window,
        every_turn=every_turn,
        by_chars=parameters.seal_policy != "time",
        by_time=not every_turn and parameters.seal_policy != "chars",
        any_side=not parameters.ensure_assistant,
        pause=timedelta(milliseconds=parameters.flush_after_ms),
    )


def next_block(
    profile: Profile,
    parameters: Parameters,
    turns: Sequence[Size],
    start: Place,
    now: datetime | None = None,
) -> Block | None:
    """The first block from `start` on, or None while it is still open.

    `turns` are those from `start.index` on, without a gap. With `now` they must reach to the end of the log. A block
    that is old enough by then ends there.
    """
    scan = _Scan(_rules(profile, parameters), start)
    for turn in turns:
        block = scan.take(turn)
        if block:
            return block
    return scan.at_the_end(now) if now else None


class _Scan:
    """One greedy scan. `acc` is the number of characters so far, `ok` the last place behind an assistant's side."""

    def __init__(self, rules: _Rules, start: Place) -> None:
        self.rules, self.start = rules, start
        self.acc = 0
        self.last: Size | None = None
        self.first: Size | None = None
        self.ok: tuple[Size, int] | None = None
        self.waiting = False
        """Whether a pause was seen, so that the block ends behind the next assistant's side."""

    def take(self, turn: Size) -> Block | None:
        """The block that ends before, within or behind this turn."""
        rules = self.rules
        self.first = self.first or turn
        size = turn.chars - (self.start.offset if turn.index == self.start.index else 0)
        if self.last and self._paused(turn.moment):
            if self._may_end(self.last):
                return self._behind(self.last, self.acc, "time")
            self.waiting = True
        # Precedence: a turn that is too long for any block comes first.
        if size > rules.sliced_from:
            return self._slice(turn, size)
        if self.last and self.ok and self.acc + size > rules.upper and self.ok[1] >= rules.least and rules.by_chars:
            return self._behind(*self.ok, "duo")
        self.acc += size
        self.last = turn
        return self._after(turn)

    def _after(self, turn: Size) -> Block | None:
        rules = self.rules
        if self._may_end(turn):
            self.ok = (turn, self.acc)
            if rules.every_turn and self.acc and turn.ends:
                return self._behind(turn, self.acc, "turn")
            if rules.by_chars and self.acc >= rules.window:
                return self._behind(turn, self.acc, "chars")
            if self.waiting:
                return self._behind(turn, self.acc, "time")
        # The policy `time` has no size limit, but a model has one: the cap holds for all policies.
        if self.acc >= rules.hard:
            return self._behind(turn, self.acc, "hardcap")
        if turn.close and self.acc:
            return self._behind(turn, self.acc, "close")
        return None

    def _slice(self, turn: Size, size: int) -> Block:
        """The block that ends before a turn which is too long, or within it."""
        if self.last and self.acc >= self.rules.least and self._may_end(self.last):
            return self._behind(self.last, self.acc, "slice")
        taken = int(self.rules.window) - self.acc
        if self.last and taken <= 0:
            return self._behind(self.last, self.acc, "hardcap")
        offset = turn.chars - size + taken
        return self._block(turn, offset, Place(turn.index, offset), "slice", self.acc + taken)

    def at_the_end(self, now: datetime) -> Block | None:
        """The block that ends at `now` by its age, or None.

        An import has its pauses within it: when a worker looks tells nothing of them, and more of it may come. So its
        open end waits for the next turn, or for the closing.
        """
        if self.last and self.last.late <= self.rules.pause and self._paused(now) and self._may_end(self.last):
            return self._behind(self.last, self.acc, "time")
        return None

    def _paused(self, moment: datetime) -> bool:
        assert self.last
        # A clock that ran backwards makes no pause.
        return self.rules.by_time and self.acc >= self.rules.least and moment - self.last.moment > self.rules.pause

    def _may_end(self, turn: Size) -> bool:
        return turn.ends or self.rules.any_side

    def _behind(self, turn: Size, chars: int, reason: BoundaryReason) -> Block:
        return self._block(turn, turn.chars, Place(turn.index + 1, 0), reason, chars)

    def _block(self, turn: Size, end_offset: int, following: Place, reason: BoundaryReason, chars: int) -> Block:
        assert self.first
        # The times of turns may run backwards.
        begun, ended = sorted((self.first.moment, turn.moment))
        return Block(self.start, turn.index, end_offset, following, reason, chars, begun, ended)


@dataclass(frozen=True)
class Child:
    """A summary of the level below: its number, its characters, and those of the turns that it covers."""

    number: int
    chars: int
    raw_chars: int


def next_group(
    profile: Profile, parameters: Parameters, level: int, children: Sequence[Child]
) -> Sequence[Child] | None:
    """The first group of these adjacent summaries, or None while it is still open.

    `children` are those behind the last group of the level, without a gap.
    """
    if profile == "turns" and level == 2:
        return _by_turns(parameters, children)
    acc = 0
    for count, child in enumerate(children):
        longer = acc + child.chars
        short = acc < parameters.group_chars * LEAST_GROUP and longer <= parameters.group_chars * LONGEST_GROUP
        if count and longer > parameters.group_chars * MOST_GROUP and not short:
            return children[:count]
        acc = longer
        if acc >= parameters.group_chars:
            return children[: count + 1]
    return None


def _by_turns(parameters: Parameters, children: Sequence[Child]) -> Sequence[Child] | None:
    """The first group by the characters of its turns.

    The published rule counts turns without a summary. In this profile every turn has one, so that rule would never end
    a group.
    """
    acc = 0
    for count, child in enumerate(children, 1):
        acc += child.raw_chars
        if acc > parameters.group_raw_chars and count >= LEAST_CHILDREN:
            return children[:count]
    return None


MOST_CHILDREN = 1_000_001
"""Summaries of a group: `group_raw_chars` is at most a million, and a summary covers at least one character."""


class BlockBoundary(StoredDocument):
    """A boundary of level 1. Offsets count characters of both sides, the user's side before the assistant's."""

    most_bytes: ClassVar[int] = 4 << 10

    start: TurnIndex
    start_offset: Count
    end: TurnIndex
    end_offset: Count
    """How many characters of turn `end` the block covers."""
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


class GroupBoundary(StoredDocument):
    """A boundary of level 2 or 3: the summaries from one number to another of the level below."""

    most_bytes: ClassVar[int] = 4 << 10

    children: tuple[Number, Number]
    covers: tuple[TurnIndex, TurnIndex]
    """The first and last turn."""
    chars: Count
    """Characters of the summaries."""
    raw_chars: Count
    """Characters of the turns."""
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


def of_block(block: Block) -> BlockBoundary:
    """The boundary of a block."""
    return BlockBoundary(
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
