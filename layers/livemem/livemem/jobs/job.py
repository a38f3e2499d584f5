"""A job: long work as a document in the bucket, which its worker updates and users poll.

It names the worker, the start, the progress and the cost. Correctness never depends on it: each step reads from the
bucket which work remains, so nothing is lost or done twice. Each write is a compare-and-swap over exactly the version
that was read. So an end is final, and of several workers of one job the last one that took it continues.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, ClassVar, Literal, Self, TypeVar

from livemem import clock
from livemem.errors import PreconditionLost
from livemem.jobs.lease import BACKOFF_LONGEST
from livemem.llm.usage import Usage
from livemem.process import Process
from livemem.store import stored, timing
from livemem.store.stored import Read, Revised, Stored
from livemem.store.stored_documents import Count, Held, LazyModel, Line, Moment

Status = Literal["queued", "running", "waiting", "done", "failed", "cancelled"]
"""`queued`: its next worker is called, or comes after the wait for a failure. `waiting`: it waits for a person."""
ENDED: tuple[Status, ...] = ("done", "failed", "cancelled")
TRIES = 20
SILENT = BACKOFF_LONGEST + timing.SWEEPS + timing.SWEEPING + timing.DELIVERED + timing.DEAD_AFTER
"""Age of a job's last write after which no other comes. It is the longest wait after a failure, plus the time until a
sweep finds the job, plus the time until the invocation that the sweep queues is delivered and dead."""


class Failure(LazyModel):
    """Why a job failed: a code of docs/errors.md, and a sentence for the user."""

    code: Line
    detail: str


class Progress(LazyModel):
    """How many parts are done, of how many. None: not known yet."""

    done: Count = 0
    total: Count | None = None


class Job(Held, Revised):
    """The fields of every job, `held_seconds` for those without a lease. A kind adds the cursor that its steps need to
    continue, and the other fields that its users see.
    """

    most_bytes: ClassVar[int] = 64 << 20

    kind: Line
    job_id: Line
    """Unique in its space and kind."""
    space_id: Line
    uid: Line = ""
    """The uid of the space. A later space of the same name does not have the job."""
    subject: Line | None = None
    """The object of the work within the space, such as a conversation or a backup."""
    status: Status = "queued"
    attempt: Count = 0
    """How often a worker took the job."""
    worker: Line = ""
    """The last worker that took the job."""
    progress: Progress = Progress()
    usage: Usage = Usage()
    requested_by: Line | None = None
    created_at: Moment
    started_at: Moment | None = None
    ended_at: Moment | None = None
    error: Failure | None = None

    def ended(self) -> bool:
        """Whether the job has ended: nothing more happens to it."""
        return self.status in ENDED

    def is_of(self, worker: str) -> bool:
        """Whether this worker took the job last. False where the document does not name the worker."""
        return bool(worker) and self.worker == worker

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """The job with `changes`, and with the fields that its kind derives from them."""
        return self.model_copy(update=changes)


J = TypeVar("J", bound=Job)


def is_held(current: Stored[J]) -> bool:
    """Whether a worker is at work on the job, or will be, by its own document."""
    return not current.value.ended() and current.age < timedelta(seconds=current.value.held_seconds)


def described(current: Stored[J], silent: timedelta = SILENT) -> J:
    """The job as its users see it. A job that wrote nothing for longer than `silent` is shown as failed."""
    if current.value.ended() or current.age <= silent:
        return current.value
    lost = Failure(code="interrupted", detail="The job made no progress for some hours. Start it again.")
    return current.value.model_copy(update={"status": "failed", "error": lost})


def find(process: Process, key: str, read: Read[J | None], space_id: str, job_id: str) -> Stored[J] | None:
    """The job, or None: 1 GET. None also for a document that names another space, as in a copied folder."""
    current = stored.find(process.store, key, read)
    if not current or not current.value or (current.value.space_id, current.value.job_id) != (space_id, job_id):
        return None
    return Stored(current.key, current.value, current.etag, current.age, current.seen_at)


def create(process: Process, key: str, job: J) -> Stored[J]:
    """Write a new job: 1 PUT. Raises PreconditionLost where a job with this id exists."""
    return stored.create(process.store, key, job, process.new_id)


def change(process: Process, current: Stored[J], **changes: Any) -> Stored[J]:
    """Write `changes` over exactly the job that was read: 1 PUT. Raises PreconditionLost: another process has it."""
    return stored.swap(process.store, current, current.value.changed(changes), process.new_id)


def amend(process: Process, current: Stored[J], read: Read[J | None], **changes: Any) -> Stored[J]:
    """Write `changes` for the job's worker, also over later changes by a process that is not a worker."""
    for _ in range(TRIES):
        try:
            return change(process, current, **changes)
        except PreconditionLost:
            newer = find(process, current.key, read, current.value.space_id, current.value.job_id)
            if not newer or newer.value.ended() or not newer.value.is_of(current.value.worker):
                raise
            current = newer
    raise PreconditionLost("The job was changed too often at the same time. Try again.")


def finish(
    process: Process,
    current: Stored[J],
    status: Status,
    *,
    read: Read[J | None],
    anyway: Callable[[J], bool] | None = None,
    **changes: Any,
) -> Stored[J] | None:
    """Write the job's end, and return the job as it stands then: 1 PUT.

    A job that is gone stays gone: None. A job that has ended stays as it is. So does a job that was changed since, such
    as by another worker, unless `anyway` returns true for it.
    """
    end = {"status": status, "ended_at": clock.iso_millis(process.clock()), "held_seconds": 0, **changes}
    for _ in range(TRIES):
        try:
            return change(process, current, **end)
        except PreconditionLost:
            newer = find(process, current.key, read, current.value.space_id, current.value.job_id)
        if not newer:
            return None
        current = newer
        if current.value.ended() or not (anyway and anyway(current.value)):
            return current
    raise PreconditionLost("The job was changed too often at the same time. Try again.")
