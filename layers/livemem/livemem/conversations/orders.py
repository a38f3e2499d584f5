"""Orders of a caller for a conversation's summaries: bring them up, build them again, or forecast the cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from livemem.conversations import conversation as conversations
from livemem.conversations import due, forecast, names, reading, summaries_job, summary_versions, update
from livemem.conversations import summaries as found
from livemem.conversations.forecast import Forecast
from livemem.conversations.parameters import Parameters, Profile
from livemem.conversations.summaries_job import Redo, SummariesJob
from livemem.conversations.summary_versions import At, Standing, SummaryVersion
from livemem.errors import InvalidRequest
from livemem.jobs import worker
from livemem.jobs.job import Status as JobStatus
from livemem.jobs.worker import Worked
from livemem.process import Process
from livemem.store import keys
from livemem.store.capability_check import require_conditional_writes

Status = Literal["planned", "nothing_to_do", JobStatus]


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


@dataclass(frozen=True)
class UpdateOutcome:
    """The outcome: the plan of a dry run, or the job, which another caller may have begun."""

    status: Status
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
        return forecast.forecast(process, at, wish.levels)
    profile, parameters = wanted(known, wish.profile, wish.changes)
    building = known.known.building
    if not building or (building.profile, building.parameters) != (profile, parameters):
        building = SummaryVersion(version=known.known.highest + 1, profile=profile, parameters=parameters)
    anew = At(space_id, at.conversation, building)
    return forecast.forecast(process, anew, earlier=found.read(process, at))


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
