"""The work on one version: write the boundaries that are due, and make the missing summaries, level by level.

Each run derives the work from the log and from a listing. So several workers can do it at once, and it can be
interrupted anywhere and repeated. Boundaries and summaries that exist are not made again.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from livemem.conversations import boundaries, log, making, summaries, summary_versions
from livemem.conversations.boundaries import Block, BlockBoundary, Child, GroupBoundary, Place, Size
from livemem.conversations.making import Made
from livemem.conversations.summaries import Layers
from livemem.conversations.summary_versions import At
from livemem.errors import ConversationBroken, NotFound
from livemem.process import Process
from livemem.store import keys

TURNS_AT_ONCE = 256
"""Turns that are read at once to find the ends of blocks."""


@dataclass
class Done:
    """The progress of a worker, and its last failures."""

    boundaries: Counter[int] = field(default_factory=Counter)
    made: list[Made] = field(default_factory=list)
    missing: int = 0
    """Summaries that were missing when the worker looked for them."""
    present: int = 0
    """Summaries that were there then."""
    last_turn: int = 0
    """The newest turn when the worker last looked for blocks."""
    closings: int = 0
    """How often the conversation had been closed then."""
    leaves_rebuild: bool = False
    """Whether the worker left the next version to the job that was ordered for it."""
    tell: Callable[["Done"], None] = lambda _: None
    """Called between two waves of calls, on any level. An exception from it ends the work."""
    settled: int = 0
    """How many of `made` belong to a version that counts no more."""
    damage: ConversationBroken | None = None
    """The error of an object that cannot be read. What does not need it was made."""

    @property
    def generated(self) -> list[Made]:
        """The summaries that were made and stored, not copied."""
        return [item for item in self.made if item.name and not item.reused]

    @property
    def failures(self) -> list[Made]:
        """The summaries that could not be made, of the version that counts."""
        return [item for item in self.made[self.settled :] if item.error]

    @property
    def anything(self) -> bool:
        """Whether any boundary or summary was written."""
        return bool(self.boundaries or any(item.name for item in self.made))


def blocks(process: Process, layers: Layers) -> Iterator[Block]:
    """The blocks that are due behind the last boundary, also one that ends by its age: 1 LIST for the newest turn,
    1 GET for each turn that is open.
    """
    yield from _blocks(process, layers, *_end_of_log(process, layers.at))


def _end_of_log(process: Process, at: At) -> tuple[datetime, int]:
    """The time now, and the index of the last turn, read in this order.

    A turn that is written later has a later time. So every worker that sees the whole log sees the same pause.
    """
    seen_at = process.clock()
    return seen_at, log.last_index(process, at.space_id, at.conversation_id)


def _blocks(process: Process, layers: Layers, seen_at: datetime, last: int) -> Iterator[Block]:
    at = layers.at
    start = _behind_last(process, layers)
    sizes: list[Size] = []
    read_to = start.index - 1
    while start.index <= last:
        sizes = [size for size in sizes if size.index >= start.index]
        whole = read_to >= last
        now = seen_at if whole else None
        block = boundaries.next_block(at.built.profile, at.parameters, sizes, start, now)
        if block:
            yield block
            start = block.next
        elif whole:
            return
        else:
            further = range(read_to + 1, min(read_to + TURNS_AT_ONCE, last) + 1)
            # Blocks that end before a damaged turn do not need it.
            batch = log.read_on(process, at.space_id, at.conversation_id, further)
            if not batch or batch[-1].turn_index != further[len(batch) - 1]:
                raise summaries.Vanished(at.conversation_id)
            sizes += [turn.size(at.conversation.closings) for turn in batch]
            read_to = batch[-1].turn_index


def _behind_last(process: Process, layers: Layers) -> Place:
    count = layers.boundaries[1]
    return summaries.block_boundaries(process, layers, [count])[0].following if count else Place(1, 0)


def covered(process: Process, layers: Layers) -> int:
    """The last turn that blocks cover as a whole."""
    return _behind_last(process, layers).index - 1


def _is_over(process: Process, deadline: datetime) -> bool:
    return process.clock() >= deadline - making.STORING


def fix_block_boundaries(process: Process, layers: Layers, deadline: datetime, done: Done) -> None:
    """Fix the ends of the blocks that are due, in their order, while there is time.

    A worker that meets another worker's boundary continues behind it.
    """
    seen_at, last = _end_of_log(process, layers.at)
    done.last_turn, done.closings = last, len(layers.at.conversation.closings)
    going_on = True
    while going_on:
        going_on = False
        for block in _blocks(process, layers, seen_at, last):
            number = layers.boundaries[1] + 1
            wanted = boundaries.of_block(block)
            written = summary_versions.write_boundary(process, layers.at, 1, number, wanted)
            layers.boundaries[1] = number
            if written != wanted:
                # Another worker saw another end of the log: continue behind the stored boundary.
                going_on = True
                break
            if _is_over(process, deadline):
                break


def children(process: Process, layers: Layers, level: int, existing: Mapping[int, str]) -> list[Child]:
    """The summaries of the level below that are in no group yet, up to the first one that is missing."""
    ids = {}
    for number in range(summaries.last_grouped(process, layers, level) + 1, layers.boundaries[level - 1] + 1):
        if number not in existing:
            break
        ids[number] = existing[number]
    loaded = summaries.load(process, layers, level - 1, ids)
    raw: Sequence[BlockBoundary | GroupBoundary]
    if level == 2:
        raw = summaries.block_boundaries(process, layers, list(ids))
        sizes = [boundary.chars for boundary in raw]
    else:
        sizes = [boundary.raw_chars for boundary in summaries.group_boundaries(process, layers, level - 1, list(ids))]
    return [Child(item.number, item.chars, size) for item, size in zip(loaded, sizes, strict=True)]


def fix_group_boundaries(process: Process, layers: Layers, level: int) -> None:
    """Fix the ends of all groups of a level that are due."""
    existing = summaries.current(process, layers, level - 1)
    waiting: Sequence[Child] = children(process, layers, level, existing)
    while True:
        group = boundaries.next_group(layers.at.built.profile, layers.at.parameters, level, waiting)
        if not group:
            return
        wanted = _group_boundary(process, layers, level, group, existing)
        written = summary_versions.write_boundary(process, layers.at, level, layers.boundaries[level] + 1, wanted)
        layers.boundaries[level] += 1
        # A worker that made another summary in the meantime may have found another end. The stored boundary counts.
        waiting = [child for child in waiting if child.number > written.children[1]]


def _group_boundary(
    process: Process, layers: Layers, level: int, group: Sequence[Child], existing: Mapping[int, str]
) -> GroupBoundary:
    ends = {number: existing[number] for number in (group[0].number, group[-1].number)}
    loaded = summaries.load(process, layers, level - 1, ends)
    first, last = loaded[0], loaded[-1]
    return GroupBoundary(
        children=(first.number, last.number),
        covers=(first.covers.turns[0], last.covers.turns[1]),
        chars=sum(child.chars for child in group),
        raw_chars=sum(child.raw_chars for child in group),
        range_start=first.range_start,
        range_end=last.range_end,
    )


def make_missing(
    process: Process, layers: Layers, level: int, deadline: datetime, done: Done, earlier: Layers | None = None
) -> bool:
    """Make the missing summaries of a level, in waves. Returns False where a failure shows that no more can be made,
    or the time is over.

    The summaries of a wave are stored before the next wave begins.
    """
    parameters = layers.at.parameters
    missing = summaries.missing(process, layers, level)
    done.missing += len(missing)
    done.present += layers.boundaries[level] - len(missing)
    below = summaries.current(process, layers, level - 1) if level > 1 and missing else {}

    def one(number: int) -> Made:
        try:
            material = making.gather(process, layers, level, number, below)
        except ConversationBroken as error:
            done.damage = error
            return Made(level, number, None, error=error.code, detail=error.detail)
        return making.make(process, layers, material, deadline, earlier=earlier)

    while missing:
        if _is_over(process, deadline):
            return False
        if done.made:
            done.tell(done)
        wave, missing = missing[: parameters.concurrency], missing[parameters.concurrency :]
        made = process.store.map(one, wave)
        done.made += made
        for each in made:
            if each.name:
                layers.add(level, each.number, each.name)
        if any(each.ends_job for each in made):
            return False
        if missing and any(not (each.reused or each.verbatim) for each in made):
            process.store.sleep(parameters.batch_delay_ms / 1_000)
    return True


def bring_up(
    process: Process,
    at: At,
    deadline: datetime,
    done: Done,
    *,
    levels: Sequence[int] = keys.LEVELS,
    earlier: Layers | None = None,
) -> bool:
    """Fix the ends that are due and make the missing summaries on these levels, the lowest first. Returns False where
    more could not be made.

    1 LIST per 1,000 boundaries and summaries of the version. Raises Vanished; at the end ConversationBroken, if an
    object cannot be read.
    """
    layers = summaries.read(process, at)
    for level in levels:
        try:
            _fix_boundaries(process, layers, level, deadline, done)
            if _is_over(process, deadline) or not make_missing(process, layers, level, deadline, done, earlier):
                return False
        except ConversationBroken as error:
            done.damage = error
        except NotFound:
            raise summaries.Vanished(at.conversation_id) from None
    if done.damage:
        raise done.damage
    return True


def _fix_boundaries(process: Process, layers: Layers, level: int, deadline: datetime, done: Done) -> None:
    before = layers.boundaries[level]
    try:
        if level == 1:
            fix_block_boundaries(process, layers, deadline, done)
        else:
            fix_group_boundaries(process, layers, level)
    except ConversationBroken as error:
        # The blocks before it have their ends now: their summaries can be made.
        done.damage = error
    if layers.boundaries[level] > before:
        done.boundaries[level] += layers.boundaries[level] - before


def is_due(process: Process, at: At, levels: Sequence[int] = keys.LEVELS) -> bool:
    """Whether there is anything to do on these levels, as far as they can be read. It only reads: the requests of a
    look, no write.
    """
    layers = summaries.read(process, at)
    for level in levels:
        for due in (_has_boundary, summaries.missing):
            with suppress(ConversationBroken):
                if due(process, layers, level):
                    return True
    return False


def _has_boundary(process: Process, layers: Layers, level: int) -> bool:
    """Whether the end of a block or a group is due."""
    if level == 1:
        return next(blocks(process, layers), None) is not None
    waiting = children(process, layers, level, summaries.current(process, layers, level - 1))
    return bool(boundaries.next_group(layers.at.built.profile, layers.at.parameters, level, waiting))
