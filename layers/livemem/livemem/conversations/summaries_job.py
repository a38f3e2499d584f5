"""Jobs that make summaries: `jobs/{ulid}.json` below the conversation, which is their subject."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from livemem import clock
from livemem.access.principal import Principal
from livemem.conversations import conversation as conversations
from livemem.conversations.conversation import Conversation, parsed
from livemem.conversations.summary_versions import VersionNumber
from livemem.errors import NotFound
from livemem.jobs import describable
from livemem.jobs import job as jobs
from livemem.jobs.describable import Description
from livemem.jobs.job import Job
from livemem.process import Process
from livemem.store import keys, stored
from livemem.store.bucket import SUMMARIES_JOB
from livemem.store.objects import Object
from livemem.store.stored_documents import Count, Finite, LazyModel, Line

Strategy = Literal["incremental", "full", "redo"]


class Redo(LazyModel):
    """One summary that is made again by hand, for the `count`th time."""

    level: Annotated[int, Field(ge=1, le=3)]
    number: Annotated[int, Field(ge=1)]
    count: Count


class SummariesJob(Job):
    """The job's document. `progress` counts summaries. `subject` is the conversation."""

    most_bytes: ClassVar[int] = 256 << 10

    kind: Line = "summaries"
    strategy: Strategy
    generation: VersionNumber
    level: Annotated[int, Field(ge=1, le=3)] | None = None
    """The highest level that is brought up. None: all levels."""
    redo: Redo | None = None
    last_turn: Count = 0
    """The newest turn when the job last looked for blocks."""
    closings: Count = 0
    """How often the conversation had been closed then."""
    leaves_rebuild: bool = False
    """Whether the job left the next version to the job that was ordered for it."""
    sealed: dict[str, Count] = {}
    """New boundaries by level (`1`)."""
    generated: dict[str, Count] = {}
    """Summaries that were made, by level."""
    reused: Count = 0
    """Summaries that an earlier version had of the same input."""
    latency_ms: dict[str, Finite] = {}
    """`mean` and `max` time of a summary, with calls and retries together."""
    dirty_share: Finite | None = None
    """Share of the summaries that was missing when it began."""
    queue_length: Count = 0
    """Summaries that are still missing and could be made."""


def new(
    process: Process,
    space_id: str,
    conversation: Conversation,
    strategy: Strategy,
    version: int,
    *,
    level: int | None = None,
    redo: Redo | None = None,
) -> SummariesJob:
    """A job that is not written yet."""
    return SummariesJob(
        kind="redo_summary" if redo else "summaries",
        job_id=process.new_id(),
        space_id=space_id,
        uid=conversation.uid,
        subject=conversation.conversation_id,
        strategy=strategy,
        generation=version,
        level=level,
        redo=redo,
        created_at=clock.iso_millis(process.clock()),
    )


def find(process: Process, space_id: str, conversation_id: str, job_id: str) -> SummariesJob | None:
    """The job, or None: 1 GET. Raises InvalidName, ObjectUnreadable."""
    item = process.store.get(SUMMARIES_JOB.key(space_id, conversation_id, job_id))
    return _described(process, item) if item else None


def _described(process: Process, item: Object) -> SummariesJob:
    return jobs.described(stored.of(item, lambda entry: parsed(process, SummariesJob, entry)))


def load(process: Process, space_id: str, conversation_id: str, job_id: str) -> SummariesJob:
    """The job: 2 GETs. Raises InvalidName, NotFound."""
    keys.check_ulid("job_id", job_id)
    conversations.load(process, space_id, conversation_id)
    result = find(process, space_id, conversation_id, job_id)
    if not result:
        raise NotFound("job", job_id)
    return result


def name(conversation_id: str, job_id: str) -> str:
    """The id of the job within its kind, `summaries`."""
    return f"{conversation_id}.{job_id}"


def of_summaries(space_id: str, job: SummariesJob) -> Description:
    """The job as one of any kind."""
    job_name = name(job.subject or "", job.job_id)
    return replace(describable.of_job("summaries", job), space_id=space_id, name=job_name, result=job)


def described(process: Process, _: Principal, space_id: str, name: str) -> Description:
    """The job as one of any kind: requests as `load`. Raises InvalidName, NotFound, ObjectUnreadable."""
    conversation_id, _dot, job_id = name.partition(".")
    return of_summaries(space_id, load(process, space_id, conversation_id, job_id))


def item(process: Process, _: Principal, space_id: str, name: str) -> Description:
    """The job as a list of its conversation's jobs shows it: 1 GET."""
    conversation_id, _dot, job_id = name.partition(".")
    job = find(process, space_id, conversation_id, job_id)
    if not job:
        raise NotFound("job", name)
    return of_summaries(space_id, job)


def listing(process: Process, space_id: str, conversation_id: str) -> Iterable[tuple[int, str]]:
    """The jobs of one conversation, the newest first: 1 GET, 1 LIST per 1,000. No list covers all conversations. Raises
    InvalidName, NotFound.
    """
    conversations.load(process, space_id, conversation_id)
    entries = process.store.scan(SUMMARIES_JOB.prefix(space_id, conversation_id))
    ids = describable.by_moment(parsed for entry in entries if (parsed := SUMMARIES_JOB.last(entry.key)))
    return ((moment, name(conversation_id, job_id)) for moment, job_id in ids)
