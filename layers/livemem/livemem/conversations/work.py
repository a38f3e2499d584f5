"""The work on one generation: seals that are due are written, and what is missing is made, level by level.

All of it is derived from the log and from a listing, each time anew. So it can be done twice, by several at once, be
broken off anywhere, and be repeated: what is there costs nothing again.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from livemem.conversations import layers as found
from livemem.conversations import log, making, planner, seals, sources
from livemem.conversations.layers import Layers
from livemem.conversations.making import Made
from livemem.conversations.planner import Block, Child, Place, Size
from livemem.conversations.seals import At, BlockSeal, GroupSeal
from livemem.errors import NotFound
from livemem.process import Process
from livemem.store import conversation_keys as keys

TURNS_AT_ONCE = 256
"""Turns that are read at once to look for the end of blocks."""


@dataclass
class Done:
    """What was done so far, and what failed last."""

    sealed: Counter[int] = field(default_factory=Counter)
    made: list[Made] = field(default_factory=list)
    missing: int = 0
    """Summaries that were missing when they were looked for."""
    present: int = 0
    """Summaries that were there then."""
    last_turn: int = 0
    """The newest turn when blocks were last looked for."""
    tell: Callable[["Done"], None] = lambda _: None
    """Called between two waves of calls, on whatever levels; what it raises ends the work."""
    settled: int = 0
    """How many of `made` are of a generation that counts no more."""

    @property
    def generated(self) -> list[Made]:
        """The summaries that were asked of the LLM and stored."""
        return [one for one in self.made if one.name and not one.reused]

    @property
    def failures(self) -> list[Made]:
        """Those that could not be made."""
        return [one for one in self.made[self.settled :] if one.error]

    @property
    def anything(self) -> bool:
        """Whether anything was brought about."""
        return bool(self.sealed or any(one.name for one in self.made))


def blocks(process: Process, layers: Layers) -> Iterator[Block]:
    """The blocks that are due behind the last seal, also one that is old enough by now: 1 LIST for the newest turn, 1
    GET for each turn that is open.
    """
    yield from _blocks(process, layers, *_end_of_log(process, layers.at))


def _end_of_log(process: Process, at: At) -> tuple[datetime, int]:
    """A moment, and the newest turn after it: what comes later has a later time, so whoever sees the whole log sees the
    pause that is seen here.
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
        block = planner.next_block(at.built.profile, at.parameters, sizes, start, now)
        if block:
            yield block
            start = block.next
        elif whole:
            return
        else:
            further = range(read_to + 1, min(read_to + TURNS_AT_ONCE, last) + 1)
            some = log.read(process, at.space_id, at.conversation_id, further)
            if len(some) != len(further):
                raise found.Vanished(at.conversation_id)
            sizes += [turn.size() for turn in some]
            read_to = further[-1]


def _behind_last(process: Process, layers: Layers) -> Place:
    count = layers.sealed[1]
    return found.block_seals(process, layers, [count])[0].following if count else Place(1, 0)


def seal_blocks(process: Process, layers: Layers, done: Done | None = None) -> int:
    """Seal all blocks that are due, one behind the other; returns how many there are now that were not before.

    Who meets another's seal goes on behind it.
    """
    before = layers.sealed[1]
    seen_at, last = _end_of_log(process, layers.at)
    if done:
        done.last_turn = last
    going_on = True
    while going_on:
        going_on = False
        for block in _blocks(process, layers, seen_at, last):
            number = layers.sealed[1] + 1
            wanted = seals.of_block(block)
            written = seals.write(process, layers.at, 1, number, wanted)
            layers.sealed[1] = number
            if written != wanted:
                # Somebody saw another end of the log: from here on by what stands.
                going_on = True
                break
    return layers.sealed[1] - before


def children(process: Process, layers: Layers, level: int, there: Mapping[int, str]) -> list[Child]:
    """The summaries of the level below that are in no group yet, up to the first one that is missing."""
    count = layers.sealed[level]
    first = found.group_seals(process, layers, level, [count])[0].children[1] + 1 if count else 1
    some = {}
    for number in range(first, layers.sealed[level - 1] + 1):
        if number not in there:
            break
        some[number] = there[number]
    summaries = found.summaries(process, layers, level - 1, some)
    raw: Sequence[BlockSeal | GroupSeal]
    if level == 2:
        raw = found.block_seals(process, layers, list(some))
        sizes = [seal.chars for seal in raw]
    else:
        sizes = [seal.raw_chars for seal in found.group_seals(process, layers, level - 1, list(some))]
    return [Child(one.number, one.chars, size) for one, size in zip(summaries, sizes, strict=True)]


def seal_groups(process: Process, layers: Layers, level: int) -> int:
    """Seal all groups of a level that are due; returns how many."""
    before = layers.sealed[level]
    there = found.current(process, layers, level - 1)
    waiting: Sequence[Child] = children(process, layers, level, there)
    while True:
        group = planner.next_group(layers.at.built.profile, layers.at.parameters, level, waiting)
        if not group:
            return layers.sealed[level] - before
        wanted = _group_seal(process, layers, level, group, there)
        written = seals.write(process, layers.at, level, layers.sealed[level] + 1, wanted)
        layers.sealed[level] += 1
        # Who made another summary in the meantime may have found another end; what stands counts.
        waiting = [child for child in waiting if child.number > written.children[1]]


def _group_seal(
    process: Process, layers: Layers, level: int, group: Sequence[Child], there: Mapping[int, str]
) -> GroupSeal:
    ends = {number: there[number] for number in (group[0].number, group[-1].number)}
    summaries = found.summaries(process, layers, level - 1, ends)
    first, last = summaries[0], summaries[-1]
    return GroupSeal(
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
    """Make the summaries of a level that are missing, in waves; False where a failure says that no more can be made.

    What was made is stored before the next wave is asked for.
    """
    parameters = layers.at.parameters
    missing = found.missing(process, layers, level)
    done.missing += len(missing)
    done.present += layers.sealed[level] - len(missing)
    below = found.current(process, layers, level - 1) if level > 1 and missing else {}

    def one(number: int) -> Made:
        material = sources.gather(process, layers, level, number, below)
        return making.make(process, layers, material, deadline, earlier=earlier)

    while missing:
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
        if missing and any(not each.reused for each in made):
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
    """Seal what is due and make what is missing on these levels, the lowest first; False where more could not be made.

    1 LIST per 1,000 seals and summaries of the generation. Raises Vanished.
    """
    layers = found.read(process, at)
    for level in levels:
        try:
            count = seal_blocks(process, layers, done) if level == 1 else seal_groups(process, layers, level)
        except NotFound:
            raise found.Vanished(at.conversation_id) from None
        if count:
            done.sealed[level] += count
        if not make_missing(process, layers, level, deadline, done, earlier):
            return False
    return True


def is_due(process: Process, at: At, levels: Sequence[int] = keys.LEVELS) -> bool:
    """Whether there is anything to do on these levels: what a look costs, and no write."""
    layers = found.read(process, at)
    for level in levels:
        if level == 1:
            due = next(blocks(process, layers), None) is not None
        else:
            there = found.current(process, layers, level - 1)
            waiting = children(process, layers, level, there)
            due = bool(planner.next_group(at.built.profile, at.parameters, level, waiting))
        if due or found.missing(process, layers, level):
            return True
    return False
