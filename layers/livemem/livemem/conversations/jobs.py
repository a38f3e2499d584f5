"""Jobs: what one run that makes summaries did, for people and for the budget of the day."""

import logging
from contextlib import suppress
from typing import ClassVar, Literal

from livemem import clock
from livemem.conversations import conversation as conversations
from livemem.conversations.conversation import parsed
from livemem.conversations.summary_versions import VersionNumber
from livemem.errors import LiveMemoryError, NotFound, ObjectUnreadable, PreconditionLost
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store import conversation_keys as keys
from livemem.store import documents, timing
from livemem.store import keys as all_keys
from livemem.store.documents import Count, Document, Finite, Line, Moment
from livemem.store.objects import Object

logger = logging.getLogger(__name__)

Strategy = Literal["incremental", "full", "redo"]
Status = Literal["queued", "running", "done", "failed"]
FINAL = ("done", "failed")
SILENT = timing.DELIVERED + timing.DEAD_AFTER
"""After which nothing of a job can come any more that was not written in the meantime."""


class Problem(Document):
    """Why a job did not do all: what is missing is tried again by itself."""

    code: str
    detail: str


class Job(Document):
    """`jobs/{ulid}.json`."""

    most_bytes: ClassVar[int] = 256 << 10

    job_id: Line
    conversation_id: Line
    strategy: Strategy
    status: Status
    generation: VersionNumber
    created_at: Moment
    started_at: Moment | None = None
    ended_at: Moment | None = None
    sealed: dict[str, Count] = {}
    """New boundaries by level (`1`)."""
    generated: dict[str, Count] = {}
    """Summaries that were made by level."""
    reused: Count = 0
    """Summaries that an earlier generation had of the same input."""
    usage: Usage = Usage()
    latency_ms: dict[str, Finite] = {}
    """`mean` and `max` of the summaries, calls and retries together."""
    dirty_share: Finite | None = None
    """Share of the summaries that was missing when it began."""
    queue_length: Count = 0
    """Summaries that are still missing and could be made."""
    error: Problem | None = None

    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.status in FINAL


def new(process: Process, conversation_id: str, strategy: Strategy, generation: int) -> Job:
    """A job that is not written yet."""
    return Job(
        job_id=process.new_id(),
        conversation_id=conversation_id,
        strategy=strategy,
        status="queued",
        generation=generation,
        created_at=clock.iso_millis(process.clock()),
    )


def write(process: Process, space_id: str, job: Job) -> None:
    """Write the job as it is now, unless it has ended: what comes late changes nothing. 1 GET, 1 PUT."""
    key = keys.job(space_id, job.conversation_id, job.job_id)
    found = process.store.get(key)
    if found and (there := unreadable.tolerated(process, Job, found)) and there.ended():
        return
    # A lost race is our own first try, whose answer was lost, or another delivery of the job.
    with suppress(PreconditionLost):
        process.store.put(
            key,
            job.to_bytes(),
            if_match=found.etag if found else None,
            if_none_match=not found,
            content_type=documents.JSON,
        )


def note(process: Process, space_id: str, job: Job) -> None:
    """Write the job: 1 GET, 1 PUT. It fails nothing."""
    with suppress(LiveMemoryError):
        write(process, space_id, job)


def _shown(process: Process, found: Object) -> Job:
    """The job as it is told: one that was not heard of for long has ended, though nobody could write that down."""
    job = parsed(process, Job, found)
    if job.ended() or found.age <= SILENT:
        return job
    lost = Problem(code="interrupted", detail="Nothing was heard of it for more than an hour; what is missing is made.")
    return job.model_copy(update={"status": "failed", "error": lost})


def _tolerated(process: Process, found: Object, missing: list[str] | None) -> Job | None:
    """The same, None for one that cannot be read, whose key is added to `missing`."""
    try:
        return _shown(process, found)
    except ObjectUnreadable:
        if missing is not None:
            missing.append(found.key)
        return None


def find(process: Process, space_id: str, conversation_id: str, job_id: str) -> Job | None:
    """The job, or None: 1 GET. Raises InvalidName."""
    found = process.store.get(keys.job(space_id, conversation_id, job_id))
    return parsed(process, Job, found) if found else None


def load(process: Process, space_id: str, conversation_id: str, job_id: str) -> Job:
    """The job: 2 GETs. Raises InvalidName, NotFound."""
    all_keys.check_ulid("job_id", job_id)
    conversations.load(process, space_id, conversation_id)
    found = process.store.get(keys.job(space_id, conversation_id, job_id))
    if not found:
        raise NotFound("job", job_id)
    return _shown(process, found)


def page(
    process: Process,
    space_id: str,
    conversation_id: str,
    *,
    limit: int,
    after: str | None,
    missing: list[str] | None = None,
) -> tuple[list[Job], str | None]:
    """The newest jobs first, and the id after which the next page begins: 1 LIST per 1,000, 1 GET each.

    One that cannot be read is left out, and its key is added to `missing`.

    Raises InvalidName, NotFound.
    """
    conversations.load(process, space_id, conversation_id)
    listed = process.store.scan(keys.jobs_prefix(space_id, conversation_id))
    ids = sorted((found for entry in listed if (found := keys.parse_job(entry.key))), reverse=True)
    ids = [one for one in ids if after is None or one < after]
    some = ids[:limit]
    items = process.store.get_many([keys.job(space_id, conversation_id, one) for one in some])
    jobs = [_tolerated(process, item, missing) for item in items if item]
    return [one for one in jobs if one], some[-1] if len(ids) > limit else None
