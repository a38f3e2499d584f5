"""The worker of every kind of job: it takes the job, does its steps, saves, and leaves the rest to another invocation.

A kind brings its steps. A step does a bounded part of the work, and may be repeated: it finds what was done before. So
 a worker may die anywhere. Its job is gone on with by the next delivery of its invocation, or by the sweep.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Generic, Literal

from livemem import clock
from livemem.errors import LiveMemoryError, NotFinished, PreconditionLost, RunError, StillAtWork, StoreUnavailable
from livemem.jobs import job as jobs
from livemem.jobs import lease
from livemem.jobs.job import Failure, J, Status
from livemem.jobs.lease import Held, LeaseTaken, Place
from livemem.process import Function, Process
from livemem.spaces import unreadable
from livemem.store import stored
from livemem.store.objects import Object
from livemem.store.probe import require_conditional_writes
from livemem.store.stored import Stored

logger = logging.getLogger(__name__)

Result = Literal["gone", "ended", "busy", "waiting", "unfinished", "overtaken"]
MARGIN = timedelta(seconds=5)
"""Of a worker's time, which is kept to say how far it is."""
PUT_ASIDE = timedelta(minutes=5)
"""For how long nobody else begins with what is queued: its invocation comes before."""
MOST_ATTEMPTS = 12
"""Workers of a job that may die one after the other, or get nowhere, before it is given up."""
LOST = "Its workers were interrupted again and again, the last one without a word. Order it anew."
OVERDUE = "It could not be finished in the time that such a job has."


@dataclass(frozen=True)
class End:
    """How a job ended, and what else is to be said of it."""

    status: Status = "done"
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Work(Generic[J]):
    """A job that a worker has taken. A step reads `job`, and saves its cursor."""

    process: Process
    kind: "Kind[J]"
    stored: Stored[J]
    deadline: datetime
    delivery: str = ""
    held: Held | None = None
    saved: bool = False
    """Whether this worker has saved anything: who gets nowhere in a whole invocation would get nowhere in the next."""

    @property
    def job(self) -> J:
        """The job as it was last read or written."""
        return self.stored.value

    def save(self, **changes: Any) -> None:
        """Write how far the job is: 1 PUT. Raises PreconditionLost: another worker has it now."""
        self.stored = jobs.change(self.process, self.stored, **{**self.hold(), **changes})
        self.saved = True

    def hold(self) -> dict[str, Any]:
        """What the job says while this worker is at it: until when, where no lease does."""
        return (
            {}
            if self.held
            else {"held_seconds": max((self.deadline - self.process.clock() + MARGIN).total_seconds(), 0.0)}
        )

    def in_time(self, spare: timedelta = MARGIN) -> bool:
        """Whether there is more time left than `spare`."""
        return self.deadline - self.process.clock() > spare


@dataclass(frozen=True)
class Worked(Generic[J]):
    """What came of a worker's time: the job as it stands, None where there is none."""

    result: Result
    stored: Stored[J] | None = None

    @property
    def job(self) -> J | None:
        """The job."""
        return self.stored.value if self.stored else None


Step = Callable[[Work[J]], End | None]


def _is_final(error: LiveMemoryError) -> bool:
    """Whether trying again is of no use after this error."""
    return error.status < HTTPStatus.INTERNAL_SERVER_ERROR and error.retry_after is None


def _nothing(_: Work[Any], __: LiveMemoryError) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Kind(Generic[J]):
    """A kind of job.

    `key` makes the key of a job of a space from the job's id; `step` does one part of the work, and returns its end or
    None: more is to be done. `place` is where the lease lies under which it works; without one the job's own document
    says until when it is held. A job that has not ended after `lasts` is given up. `is_final` tells whether an error
    ends the job. `on_failure` clears up before it does, and returns what the job says then.
    """

    name: str
    function: Function
    document: type[J]
    key: Callable[[str, str], str]
    step: Step[J]
    place: Callable[[J], Place] | None = None
    lasts: timedelta | None = None
    is_final: Callable[[LiveMemoryError], bool] = _is_final
    on_failure: Callable[[Work[J], LiveMemoryError], Mapping[str, Any]] = _nothing

    def payload(self, space_id: str, job_id: str) -> dict[str, str]:
        """What an invocation gets that carries the job out."""
        return {"kind": self.name, "space_id": space_id, "job_id": job_id}

    def read(self, process: Process, missing: list[str] | None = None) -> Callable[[Object], J | None]:
        """Reads a job of this kind; None for one that can't be read, whose key is added to `missing`."""
        return lambda found: unreadable.tolerated(process, self.document, found, missing)

    def find(self, process: Process, space_id: str, job_id: str, missing: list[str] | None = None) -> Stored[J] | None:
        """The job, or None: 1 GET. In a copied folder it may name another space, which must not be written to."""
        found = stored.find(process.store, self.key(space_id, job_id), self.read(process, missing))
        if not found or not found.value or (found.value.space_id, found.value.job_id) != (space_id, job_id):
            return None
        return Stored(found.key, found.value, found.etag, found.age, found.seen_at)


def queue(process: Process, kind: Kind[Any], space_id: str, job_id: str) -> None:
    """Let an invocation carry the job out. Raises StoreUnavailable."""
    process.enqueue(kind.function, kind.payload(space_id, job_id))


def work(
    process: Process,
    kind: Kind[J],
    space_id: str,
    job_id: str,
    deadline: datetime,
    *,
    delivery: str = "",
    by_hand: bool = False,
) -> Worked[J]:
    """Carry a job out until shortly before `deadline`; what is left then is queued.

    1 GET, 1 PUT to take it, 1 PUT at its end, and what its lease takes (1 GET, 1 PUT, 1 DELETE) and its steps. Raises
    StoreUnavailable and StillAtWork, so that the invocation is tried again.
    """
    require_conditional_writes(process.store)
    found = kind.find(process, space_id, job_id)
    if not found:
        return Worked("gone")
    if found.value.ended():
        return Worked("ended", found)
    task = Work(process, kind, found, deadline, delivery)
    try:
        with _leased(task, by_hand=by_hand):
            return go_on(task)
    except LeaseTaken as taken:
        if by_hand or taken.fails(delivery):
            raise StillAtWork(taken.detail) from taken
        return Worked("busy", found)


@contextmanager
def _leased(task: Work[J], *, by_hand: bool) -> Iterator[None]:
    """The job's lease, if it works under one; what another worker did until then is taken in."""
    process, kind = task.process, task.kind
    if not kind.place:
        yield
        return
    job = task.job
    task.held = lease.acquire(
        process,
        kind.place(job),
        job.job_id,
        kind.name,
        worker=process.new_id(),
        delivery=task.delivery,
        by_hand=by_hand,
    )
    try:
        with lease.kept(process, task.held):
            yield
    except StoreUnavailable:
        # It is tried again: then the lease must not keep it out.
        lease.let_go(process, task.held)
        raise
    except BaseException:
        lease.quietly_release(process, task.held)
        raise
    if task.held.lease.kind != "backoff":
        lease.quietly_release(process, task.held)


def begin(process: Process, kind: Kind[J], job: J, deadline: datetime, *, over: Stored[J] | None = None) -> Worked[J]:
    """Write a new job that works without a lease, and do its steps as `work`: 1 PUT, and none to take it.

    `over`: a job of the same id that has ended. Raises PreconditionLost where another one stands by now.
    """
    moment = clock.iso_millis(process.clock())
    task = Work(process, kind, Stored("", job, ""), deadline)
    taken = {"status": "running", "attempt": 1, "worker": process.new_id(), "started_at": moment, **task.hold()}
    key = kind.key(job.space_id, job.job_id)
    task.stored = stored.create(process.store, key, job.model_copy(update=taken), process.new_id, over=over)
    return go_on(task, taken=True)


def go_on(task: Work[J], *, taken: bool = False) -> Worked[J]:
    """Take the job and do its steps, under its lease if it has one. Of several that do so the last one goes on."""
    process = task.process
    try:
        if not taken:
            _take(task)
        _check_age(task)
        while not (end := task.kind.step(task)):
            if not task.in_time():
                return _hand_over(task)
        return Worked("ended", _end(task, end))
    except PreconditionLost:
        return Worked("overtaken", task.kind.find(process, task.job.space_id, task.job.job_id))
    except StoreUnavailable:
        raise
    except LiveMemoryError as error:
        return _failed(task, error)


def _take(task: Work[J]) -> None:
    process, job = task.process, task.job
    task.stored = jobs.change(
        process,
        task.stored,
        status="running",
        attempt=job.attempt + 1,
        worker=task.held.lease.worker if task.held else process.new_id(),
        **task.hold(),
        started_at=job.started_at or clock.iso_millis(process.clock()),
    )


def _check_age(task: Work[J]) -> None:
    """Raise NotFinished where it is to be given up."""
    job, lasts = task.job, task.kind.lasts
    if job.attempt > MOST_ATTEMPTS:
        raise NotFinished(LOST)
    if lasts and task.process.clock() - clock.parse(job.created_at) > lasts:
        raise NotFinished(OVERDUE)


def _hand_over(task: Work[J]) -> Worked[J]:
    process, job = task.process, task.job
    attempt = 0 if task.saved else job.attempt
    task.stored = jobs.change(process, task.stored, attempt=attempt, held_seconds=PUT_ASIDE.total_seconds())
    # Where it can't be queued the sweep finds it.
    with suppress(StoreUnavailable):
        queue(process, task.kind, job.space_id, job.job_id)
    return Worked("unfinished", task.stored)


def _end(task: Work[J], end: End) -> Stored[J]:
    read = task.kind.read(task.process)
    ended = jobs.finish(task.process, task.stored, end.status, read=read, **end.changes)
    job = ended.value
    logger.info("job ended", extra={"space_id": job.space_id, "kind": job.kind, "status": job.status})
    return ended


def _failed(task: Work[J], error: LiveMemoryError) -> Worked[J]:
    """End the job, or let it wait: after a failure of the LLM, or of what may be over by itself."""
    extra = {"space_id": task.job.space_id, "kind": task.kind.name, "error_code": error.code}
    failure = Failure(code=error.code, detail=error.detail)
    if isinstance(error, NotFinished) or task.kind.is_final(error):
        cleared = task.kind.on_failure(task, error)
        logger.warning("job failed", extra=extra)
        return Worked("ended", _end(task, End("failed", {**cleared, "error": failure})))
    logger.warning("job waits after a failure", extra=extra)
    if not (task.held and isinstance(error, RunError)):
        raise error
    lease.back_off(task.process, task.held, error.code)
    # It waits through no fault of its own.
    task.stored = jobs.change(task.process, task.stored, status="queued", attempt=0, error=failure)
    return Worked("waiting", task.stored)
