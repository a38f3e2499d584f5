"""A dry run: the boundaries and summaries that an update would make, and their cost. It writes nothing, and does not
call the LLM.

A summary that is not made yet counts with its target length.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from livemem.conversations import boundaries, capture, levels, making, names, prompt, summaries
from livemem.conversations.boundaries import Block, Child
from livemem.conversations.summaries import Layers
from livemem.conversations.summary_versions import At
from livemem.llm.window import BYTES_PER_TOKEN
from livemem.process import Process
from livemem.store import keys

ANSWER_CHARS = 600
"""Of an answer, in addition to the summary itself."""
SHOWN_CHARS = ANSWER_CHARS // 2
"""The part of these that the next level shows: findings, topics and signals, but no entities and files."""


@dataclass
class Plan:
    """The work on a level: boundaries, and calls of the LLM. Lengths are in characters."""

    level: int
    boundaries: int = 0
    calls: int = 0
    reused: int = 0
    source_chars: int = 0
    parts: int = 0
    """Turns or summaries in the prompts. Each has names of fields, a number and a time around its text."""
    summary_chars: int = 0


@dataclass
class Forecast:
    """The whole plan. Tokens are estimated at four characters each."""

    at: At
    levels: list[Plan] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """Calls of the LLM, if each first answer is usable."""
        return sum(plan.calls for plan in self.levels)

    @property
    def prompt_tokens(self) -> int:
        """Estimated tokens of the prompts: sources, the frame of each of their parts, and each call's instructions."""
        return sum(map(self._prompt_chars, self.levels)) // BYTES_PER_TOKEN

    def _prompt_chars(self, plan: Plan) -> int:
        if plan.level == 1:
            each = prompt.question_chars("turns") + self.at.parameters.overlap_chars
            return plan.source_chars + plan.calls * each + plan.parts * prompt.turn_chars()
        around = prompt.child_chars() + SHOWN_CHARS
        return plan.source_chars + plan.calls * prompt.question_chars("summaries") + plan.parts * around

    @property
    def completion_tokens(self) -> int:
        """Estimated tokens of the answers."""
        chars = sum(plan.summary_chars + plan.calls * ANSWER_CHARS for plan in self.levels)
        return chars // BYTES_PER_TOKEN


@dataclass(frozen=True)
class _Made:
    """A summary that is there, or would be. `fresh`: it would be made."""

    number: int
    chars: int
    raw_chars: int
    fresh: bool


def forecast(process: Process, at: At, levels: Sequence[int] = keys.LEVELS, earlier: Layers | None = None) -> Forecast:
    """The plan of an update of the version. `earlier` is the version from which summaries can be copied.

    1 LIST per 1,000 boundaries and summaries, and 1 GET for each turn that no boundary covers and for each boundary
    and summary that this process has not read before.
    """
    layers, plan = summaries.read(process, at), Forecast(at)
    existing = _first_level(process, layers, earlier, plan)
    for level in (2, 3):
        if level <= max(levels):
            existing = _next_level(process, layers, level, existing, plan)
    plan.levels = [item for item in plan.levels if item.level in levels]
    return plan


def _first_level(process: Process, layers: Layers, earlier: Layers | None, plan: Forecast) -> list[_Made]:
    parameters, level_plan = layers.at.parameters, Plan(1)
    plan.levels.append(level_plan)
    current = summaries.current(process, layers, 1)
    by_number = {item.number: item.chars for item in summaries.load(process, layers, 1, current)}
    numbers = range(1, layers.boundaries[1] + 1)
    fixed = summaries.block_boundaries(process, layers, numbers)
    sizes = [(number, item.chars, item.end - item.start + 1) for number, item in zip(numbers, fixed, strict=True)]
    fresh = list(levels.blocks(process, layers))
    behind = layers.boundaries[1]
    sizes += [(behind + place, item.chars, item.end - item.start.index + 1) for place, item in enumerate(fresh, 1)]
    level_plan.boundaries = len(fresh)
    blocks = [block for block in fresh if block.chars > parameters.verbatim_chars]
    level_plan.reused = _reused(process, layers, earlier, blocks)
    captures = not earlier and capture.is_wanted(process, layers.at)
    made = []
    for number, chars, turns in sizes:
        asks = captures or chars > parameters.verbatim_chars
        length = by_number.get(number, parameters.target(chars) if asks else chars)
        made.append(_Made(number, length, chars, number not in by_number))
        if number not in by_number and asks:
            level_plan.calls += 1
            level_plan.parts += turns
            level_plan.source_chars += chars
            level_plan.summary_chars += length
    level_plan.calls -= level_plan.reused
    return made


def _reused(process: Process, layers: Layers, earlier: Layers | None, fresh: Sequence[Block]) -> int:
    """How many of the blocks an earlier version has a summary of: 1 GET for each turn."""
    if not earlier or not any(earlier.names[1].values()):
        return 0
    maker = making.maker(process, layers.at)
    made = [name for batch in earlier.names[1].values() for name in batch]
    ids = {names.source_of(name) for name in made if names.maker_of(name) == maker}
    if not ids:
        return 0
    found_there = process.store.map(
        lambda block: making.material_of_block(process, layers.at, boundaries.of_block(block), 1).source in ids, fresh
    )
    return sum(found_there)


def _next_level(process: Process, layers: Layers, level: int, below: Sequence[_Made], plan: Forecast) -> list[_Made]:
    parameters, level_plan = layers.at.parameters, Plan(level)
    plan.levels.append(level_plan)
    current = summaries.current(process, layers, level)
    by_number = {item.number: item.chars for item in summaries.load(process, layers, level, current)}
    numbers = range(1, layers.boundaries[level] + 1)
    groups = [
        (number, boundary.children, boundary.chars, boundary.raw_chars)
        for number, boundary in zip(numbers, summaries.group_boundaries(process, layers, level, numbers), strict=True)
    ]
    behind = groups[-1][1][1] if groups else 0
    waiting: Sequence[Child] = [
        Child(item.number, item.chars, item.raw_chars) for item in below if item.number > behind
    ]
    while group := boundaries.next_group(layers.at.built.profile, parameters, level, waiting):
        first, last = group[0].number, group[-1].number
        sizes = sum(child.chars for child in group), sum(child.raw_chars for child in group)
        groups.append((len(groups) + 1, (first, last), *sizes))
        waiting = [child for child in waiting if child.number > last]
        level_plan.boundaries += 1
    fresh_below = {item.number for item in below if item.fresh}
    made = []
    for number, (first, last), chars, raw in groups:
        # A new summary makes all summaries above it new.
        fresh = number not in by_number or any(first <= item <= last for item in fresh_below)
        length = parameters.target(chars) if fresh else by_number[number]
        made.append(_Made(number, length, raw, fresh))
        if fresh:
            level_plan.calls += 1
            level_plan.parts += last - first + 1
            level_plan.source_chars += chars
            level_plan.summary_chars += length
    return made
