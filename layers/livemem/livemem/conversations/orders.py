"""Orders of a caller for a conversation's summaries: bring them up, build them again, or forecast the cost.

A forecast has the boundaries and summaries that an update would make. It writes nothing, and does not call the LLM. A
summary that is not made yet counts with its target length.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from livemem.conversations import (
    boundaries,
    capture,
    due,
    levels,
    making,
    names,
    prompt,
    reading,
    summaries,
    summaries_job,
    summary_versions,
    update,
)
from livemem.conversations import conversation as conversations
from livemem.conversations import summaries as found
from livemem.conversations.boundaries import Block, Child
from livemem.conversations.parameters import Parameters, Profile
from livemem.conversations.summaries import Layers
from livemem.conversations.summaries_job import Redo, SummariesJob
from livemem.conversations.summary_versions import At, Standing, SummaryVersion
from livemem.errors import InvalidRequest
from livemem.jobs import worker
from livemem.jobs.job import Status as JobStatus
from livemem.jobs.worker import Worked
from livemem.llm.window import BYTES_PER_TOKEN
from livemem.process import Process
from livemem.store import keys
from livemem.store.capability_check import require_conditional_writes

OrderStatus = Literal["planned", "nothing_to_do", JobStatus]
ANSWER_CHARS = 600
"""Of an answer, in addition to the summary itself."""
SHOWN_CHARS = ANSWER_CHARS // 2
"""The part of these that the next level shows: findings, topics and signals, but no entities and files."""


@dataclass(frozen=True)
class Wish:
    """The order. `level` is the highest that is brought up, None for all; with a `number` it is that of the one summary
    that is made again. `profile` and `changes` of the parameters are for `full` alone.
    """

    strategy: Literal["incremental", "full"] = "incremental"
    level: int | None = None
    number: int | None = None
    dry_run: bool = False
    profile: Profile | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def levels(self) -> Sequence[int]:
        """The levels that are brought up, the lowest first."""
        return tuple(item for item in keys.LEVELS if self.level is None or item <= self.level)

    def check(self) -> None:
        """Raise InvalidRequest, which names the field, where two fields exclude each other."""
        if self.strategy == "full" and self.level is not None:
            raise InvalidRequest.of(
                "level", "is allowed only with the strategy `incremental`: a full update makes all levels"
            )
        if self.number is not None and (self.level is None or self.dry_run):
            raise InvalidRequest.of("number", "is allowed only with a `level` and without `dry_run`")
        given = [*(["profile"] if self.profile else []), *self.changes]
        if self.strategy == "incremental" and given:
            raise InvalidRequest.of(
                given[0], "is allowed only with the strategy `full`: an incremental update does not change it"
            )


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
class UpdateOutcome:
    """The outcome: the plan of a dry run, or the job, which another caller may have begun."""

    status: OrderStatus
    job_id: str | None = None
    plan: Forecast | None = None
    worked: Worked[SummariesJob] | None = None
    """The result of the work before the answer."""

    @property
    def goes_on(self) -> bool:
        """Whether work continues after the answer. Failed work is also tried again."""
        return self.status in ("running", "queued", "failed")


def carry_out(process: Process, space_id: str, conversation_id: str, wish: Wish, deadline: datetime) -> UpdateOutcome:
    """Carry out the order until shortly before `deadline`. Another invocation does the rest.

    Raises NotFound, InvalidRequest, PreconditionLost, Vanished, StoreUnavailable.
    """
    wish.check()
    if wish.dry_run:
        return UpdateOutcome("planned", plan=plan(process, space_id, conversation_id, wish))
    if wish.number is not None and wish.level is not None:
        job = redo(process, space_id, conversation_id, wish.level, wish.number)
        return UpdateOutcome("queued", job.job_id)
    if wish.strategy == "full":
        job = rebuild(process, space_id, conversation_id, wish.profile, wish.changes)
        return UpdateOutcome("queued", job.job_id)
    conversations.load(process, space_id, conversation_id)
    worked = update.look(process, space_id, conversation_id, deadline, level=wish.level, by_hand=True)
    if worked.result == "nothing":
        return UpdateOutcome("nothing_to_do")
    if worked.result == "busy":
        return UpdateOutcome("running", worked.owner)
    made = worked.job
    if not made or made.status == "cancelled":
        # Raises NotFound where it was the whole conversation.
        conversations.load(process, space_id, conversation_id)
        raise found.Vanished(conversation_id)
    return UpdateOutcome(made.status, made.job_id, worked=worked)


def plan(process: Process, space_id: str, conversation_id: str, wish: Wish) -> Forecast:
    """The plan of the order, and its cost. Writes nothing. Raises NotFound, InvalidRequest."""
    known, at = reading.standing(process, space_id, conversation_id)
    if wish.strategy == "incremental":
        return forecast(process, at, wish.levels)
    profile, parameters = wanted(known, wish.profile, wish.changes)
    building = known.known.building
    if not building or (building.profile, building.parameters) != (profile, parameters):
        building = SummaryVersion(version=known.known.highest + 1, profile=profile, parameters=parameters)
    anew = At(space_id, at.conversation, building)
    return forecast(process, anew, earlier=found.read(process, at))


def rebuild(
    process: Process, space_id: str, conversation_id: str, profile: Profile | None, changes: Mapping[str, Any]
) -> SummariesJob:
    """Order a new version with other parameters. Parameters that are not named stay as they are.

    Raises NotFound, InvalidRequest, PreconditionLost, StoreUnavailable.
    """
    conversation = conversations.load(process, space_id, conversation_id)
    require_conditional_writes(process.store)
    standing = summary_versions.read(process, space_id, conversation)
    wanted_profile, parameters = wanted(standing, profile, changes)
    job = summaries_job.new(process, space_id, conversation, "full", standing.known.highest + 1)
    built = summary_versions.begin(process, standing, wanted_profile, parameters, job.job_id)
    job = job.model_copy(update={"generation": built.version})
    due.mark_at(process, space_id, conversation_id, process.clock() + update.LOOKED_AT_AGAIN)
    return worker.order(process, update.KIND, job).value


def wanted(standing: Standing, profile: Profile | None, changes: Mapping[str, Any]) -> tuple[Profile, Parameters]:
    """Profile and parameters of a rebuild. Raises InvalidRequest."""
    now = standing.current()
    return profile or now.profile, Parameters.of({**now.parameters.model_dump(), **changes})


def redo(process: Process, space_id: str, conversation_id: str, level: int, number: int) -> SummariesJob:
    """Order that one summary is made again. The summaries above it follow. Raises NotFound, StoreUnavailable."""
    conversation = conversations.load(process, space_id, conversation_id)
    require_conditional_writes(process.store)
    standing = summary_versions.read(process, space_id, conversation)
    at = At(space_id, conversation, standing.current())
    layers = found.read(process, at)
    existing = found.current(process, layers, level).get(number)
    if not existing:
        raise conversations.no_summary(level, number)
    redone = Redo(level=level, number=number, count=names.redo_of(existing) + 1)
    job = summaries_job.new(process, space_id, conversation, "redo", at.version, redo=redone)
    return worker.order(process, update.REDO, job).value


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
