"""The worker of every kind of job. It takes the job, does its steps, saves, and leaves the rest to another invocation.

A kind brings its steps. A step does a bounded part of the work and may be repeated, because it finds the work that was
done before. So a worker may die anywhere. The next delivery of its invocation continues the job, or the sweep does.
"""

import logging
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Generic, Literal

from livemem import clock
from livemem.errors import (
    Busy,
    LiveMemoryError,
    NotFinished,
    OutOfTime,
    PreconditionLost,
    RunError,
    StillAtWork,
    StoreUnavailable,
)
from livemem.jobs import budget, lease
from livemem.jobs import job as jobs
from livemem.jobs.job import Failure, J, Status
from livemem.jobs.lease import Hold, LeasePlace, LeaseTaken
from livemem.llm.usage import Usage
from livemem.process import Function, Process
from livemem.spaces import unreadable
from livemem.store import stored, timing
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Object
from livemem.store.stored import Stored

logger = logging.getLogger(__name__)

Result = Literal["gone", "nothing", "ended", "busy", "waiting", "unfinished", "overtaken"]
MARGIN = timedelta(seconds=5)
"""The part of a worker's time that is kept for saving its progress."""
PAUSE = 0.5
"""Seconds between two checks whether a lease that a worker waits for is free."""
PUT_ASIDE = timing.ON_ITS_WAY
"""How long no other worker begins with a queued job: its invocation comes before."""
MOST_ATTEMPTS = 12
"""How many workers of a job may die or save nothing, one after the other, before the job is given up."""
LOST = "The workers of the job were interrupted again and again, the last one without an error. Start the job again."
OVERDUE = "The job could not be finished in the time that this kind of job has."


@dataclass(frozen=True)
class End:
    """How a job ended, and the other fields to write into it."""

    status: Status = "done"
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Wait:
    """Until when a worker waits for its lease, and the function that lets the seconds pass."""

    until: datetime
    pause: Callable[[float], None] = time.sleep


@dataclass
class Work(Generic[J]):
    """A job that a worker has taken. A step reads `job`, and saves its cursor."""

    process: Process
    kind: "Kind[J]"
    stored: Stored[J]
    deadline: datetime
    delivery: str = ""
    brief: bool = False
    """Whether a caller waits for an answer: then a step leaves long work to an invocation."""
    nested: bool = False
    """Whether it is a part of another job, which continues the rest: then no invocation is queued for it."""
    hold: Hold | None = None
    saved: bool = False
    """Whether this worker has saved anything. If not, its attempt counts: the next worker would save nothing either."""
    used: Usage = field(default_factory=Usage)
    """What this worker asked of the LLM."""
    counts: Counter[str] = field(default_factory=Counter)
    """Numbers of what this worker did, under the kind's own names, for the metrics."""
    undo: Callable[[], object] = lambda: None
    """Takes back what this worker wrote last, if the job was removed meanwhile, or another one is in its place."""

    @property
    def job(self) -> J:
        """The job as it was last read or written."""
        return self.stored.value

    def save(self, **changes: Any) -> None:
        """Write the job's progress: 1 PUT. Raises PreconditionLost: another worker has the job now."""
        self.write(**{**self.hold_field(), **changes})
        self.saved = True

    def write(self, **changes: Any) -> None:
        """Change the job, and keep what another process has added to it meanwhile. Requests and errors as `save`."""
        self.stored = jobs.amend(self.process, self.stored, self.kind.read(self.process), **changes)

    def hold_field(self) -> dict[str, Any]:
        """The field that says until when this worker holds a job without a lease. Empty where a lease says it."""
        rest = self.deadline - self.process.clock() + MARGIN
        return {} if self.hold else {"held_seconds": max(rest.total_seconds(), 0.0)}

    def in_time(self, spare: timedelta = MARGIN) -> bool:
        """Whether there is more time left than `spare`."""
        return self.deadline - self.process.clock() > spare


@dataclass(frozen=True)
class Worked(Generic[J]):
    """The result of a worker's time, and the job as it is then, None where there is none."""

    result: Result
    stored: Stored[J] | None = None
    owner: str = ""
    """For `busy`: whose work is in progress, or waits."""
    used: Usage = field(default_factory=Usage)
    """What this worker asked of the LLM."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Numbers of what this worker did, under the kind's own names."""

    @property
    def job(self) -> J | None:
        """The job."""
        return self.stored.value if self.stored else None

    @property
    def outcome(self) -> Result | Status:
        """The result in one word: the job's status if it has ended."""
        return self.job.status if self.job and self.result == "ended" else self.result


def payload(kind: str, space_id: str, job_id: str) -> dict[str, Any]:
    """The least payload of an invocation that carries a job out, for callers that can't load the job's kind."""
    return {"kind": kind, "space_id": space_id, "job_id": job_id}


class Kind(ABC, Generic[J]):
    """A kind of job: how it works, and in what it differs from others. It has no state of its own."""

    name: str
    function: Function
    document: type[J]
    lasts: timedelta | None = None
    """A job that has not ended after this time is given up."""
    gives_up: bool = True
    """Whether a job is given up whose workers die again and again."""
    longest_wait: timedelta = lease.BACKOFF_LONGEST
    """The longest wait after failures."""
    keeps_place: bool = True
    """Whether the lease is kept while an invocation is still to come. If not, no document says that it is."""
    swept: bool = False
    """Whether the sweep finds a job that no worker continues. If not, a failure to queue the rest is an error, so that
    the invocation is tried again.
    """

    @abstractmethod
    def key(self, space_id: str, job_id: str, subject: str | None = None) -> str:
        """The key of a job of a space. Only some kinds need its subject."""

    @abstractmethod
    def step(self, work: Work[J]) -> End | None:
        """Do one part of the work, and return the job's end, or None if there is more to do. Raises OutOfTime where it
        needs more time than remains.
        """

    def place(self, _job: J) -> LeasePlace | None:
        """The lease under which the job works. None: the job's own document says until when it is held."""
        return None

    def is_final(self, error: LiveMemoryError) -> bool:
        """Whether an error ends the job, because trying again is of no use."""
        return error.status < HTTPStatus.INTERNAL_SERVER_ERROR and error.retry_after is None

    def on_take(self, _work: Work[J]) -> Mapping[str, Any]:
        """Further fields to write when the job is taken."""
        return {}

    def on_failure(self, _work: Work[J], _error: LiveMemoryError) -> Mapping[str, Any]:
        """Clear up before an error ends the job. Returns fields of the job to write."""
        return {}

    def on_end(self, _work: Work[J]) -> None:
        """Give back what the job had until its end."""

    def after(self, _process: Process, _space_id: str, _worked: Worked[J]) -> None:
        """What follows when a worker has done its part, and its lease is free again."""

    def look_again(self, _work: Work[J], _after: timedelta) -> None:
        """Ask the sweep to look at the job after a time. It is called before the job is taken, left to another
        invocation, or waits.
        """

    def payload(
        self, space_id: str, job_id: str, subject: str | None = None, *, by_hand: bool = False
    ) -> dict[str, Any]:
        """The payload of an invocation that carries the job out. With `by_hand` it does not wait out failures."""
        least = payload(self.name, space_id, job_id)
        return least | ({"subject": subject} if subject else {}) | ({"by_hand": True} if by_hand else {})

    def read(self, process: Process, missing: list[str] | None = None) -> Callable[[Object], J | None]:
        """A reader of jobs of this kind. For a job that can't be read: None, and its key is added to `missing`."""
        return lambda item: unreadable.tolerated(process, self.document, item, missing)

    def find(
        self,
        process: Process,
        space_id: str,
        job_id: str,
        missing: list[str] | None = None,
        *,
        subject: str | None = None,
    ) -> Stored[J] | None:
        """The job, or None: 1 GET."""
        return jobs.find(process, self.key(space_id, job_id, subject), self.read(process, missing), space_id, job_id)


def queue(
    process: Process,
    kind: Kind[Any],
    space_id: str,
    job_id: str,
    subject: str | None = None,
    *,
    by_hand: bool = False,
) -> None:
    """Queue an invocation that carries the job out. Raises StoreUnavailable."""
    process.enqueue(kind.function, kind.payload(space_id, job_id, subject, by_hand=by_hand))


def order(process: Process, kind: Kind[J], job: J) -> Stored[J]:
    """Write a new job that a user ordered, and queue an invocation that carries it out: 1 PUT.

    If it can't be queued, the job is written as failed and StoreUnavailable is raised.
    """
    written = jobs.create(process, kind.key(job.space_id, job.job_id, job.subject), job)
    try:
        queue(process, kind, job.space_id, job.job_id, job.subject, by_hand=True)
    except LiveMemoryError as error:
        failure = Failure(code="not_started", detail=error.detail)
        jobs.finish(process, written, "failed", read=kind.read(process), error=failure)
        raise
    return written


def work(
    process: Process,
    kind: Kind[J],
    space_id: str,
    job_id: str,
    deadline: datetime,
    *,
    subject: str | None = None,
    delivery: str = "",
    by_hand: bool = False,
    brief: bool = False,
    nested: bool = False,
    current: Stored[J] | None = None,
    wait: Wait | None = None,
) -> Worked[J]:
    """Carry a job out until shortly before `deadline`, and queue the rest.

    1 GET, 1 PUT to take it, 1 PUT at its end, and the requests of its lease (1 GET, 1 PUT, 1 DELETE) and of its steps.
    `current`: the job as it was just read, which saves the GET. `wait`: the worker waits for the lease, then reads the
    job again with 1 GET. `brief`: a caller waits for the answer. `nested`: it is a part of another job, which continues
    the rest. Raises StoreUnavailable and StillAtWork, so that the invocation is tried again.
    """
    require_conditional_writes(process.store)
    current = current or kind.find(process, space_id, job_id, subject=subject)
    if not current or current.value.ended():
        return Worked("ended" if current else "gone", current)
    task = Work(process, kind, current, deadline, delivery, brief, nested)
    worked = _worked(task, by_hand=by_hand, wait=wait)
    kind.after(process, space_id, worked)
    return worked


def _worked(task: Work[J], *, by_hand: bool, wait: Wait | None) -> Worked[J]:
    process, kind, job = task.process, task.kind, task.job
    try:
        with _leased(task, by_hand=by_hand, wait=wait) as at_once:
            newer = task.stored if at_once else kind.find(process, job.space_id, job.job_id, subject=job.subject)
            if not newer or newer.value.ended():
                return Worked("ended" if newer else "gone", newer)
            task.stored = newer
            return go_on(task)
    except LeaseTaken as taken:
        # While another job is at work no other invocation comes for this one.
        beside = taken.lease.kind != "backoff" and taken.lease.owner != job.job_id
        if by_hand or beside or taken.fails(task.delivery):
            raise StillAtWork(taken.detail) from taken
        return Worked("busy", task.stored, taken.lease.owner)


@contextmanager
def _leased(task: Work[J], *, by_hand: bool, wait: Wait | None = None) -> Iterator[bool]:
    """Hold the job's lease, if it works under one. Yields whether the lease was free at once."""
    process, kind = task.process, task.kind
    place = kind.place(task.job)
    if not place:
        yield True
        return
    hold, at_once = _acquired(task, place, wait, by_hand=by_hand)
    task.hold = hold
    try:
        with lease.renewal(process, hold):
            yield at_once
    except Exception:
        # The retry must find the lease free, and the lease names the owner whose work may be orphaned.
        lease.let_go(process, hold)
        raise
    if task.hold is hold and hold.lease.kind not in ("backoff", "queued"):
        lease.quietly_release(process, hold)


def _acquired(task: Work[J], place: LeasePlace, wait: Wait | None, *, by_hand: bool) -> tuple[Hold, bool]:
    process, owner, at_once = task.process, task.job.job_id, True
    while True:
        worker = process.new_id()
        try:
            hold = lease.acquire(
                process, place, owner, task.kind.name, worker=worker, delivery=task.delivery, by_hand=by_hand
            )
        except Busy:
            if not wait or process.clock() + timedelta(seconds=PAUSE) >= wait.until:
                raise
            wait.pause(PAUSE)
            at_once = False
        else:
            return hold, at_once


def begin(
    process: Process,
    kind: Kind[J],
    job: J,
    deadline: datetime,
    *,
    over: Stored[J] | None = None,
    delivery: str = "",
    by_hand: bool = False,
    brief: bool = False,
) -> Worked[J]:
    """Write a new job and do its steps as `work`, for a caller that has seen that there is work: 1 PUT, and none to
    take it. If the lease was left by another job that died, waits or was handed over, that job is continued instead.

    `over`: a job that has ended, which the new one replaces. `brief`: a caller waits for the answer. Raises
    StoreUnavailable, StillAtWork, and PreconditionLost where another job is stored there by now.
    """
    task = Work(process, kind, Stored("", job, ""), deadline, delivery, brief)
    try:
        with _leased(task, by_hand=by_hand):
            orphan = _left_behind(task)
            if orphan:
                task.stored = orphan
                return go_on(task)
            key = kind.key(job.space_id, job.job_id, job.subject)
            begun = job.model_copy(update=_as_taken(task))
            task.stored = stored.create(process.store, key, begun, process.new_id, over=over)
            return go_on(task, taken=True)
    except LeaseTaken as taken:
        if taken.fails(delivery):
            raise StillAtWork(taken.detail) from taken
        return Worked("busy", None, taken.lease.owner)


def _left_behind(task: Work[J]) -> Stored[J] | None:
    """The job that last held the lease, if it has not ended. The lease is given to that job. No request where there is
    none, else 1 GET and 1 PUT.
    """
    process, job, hold = task.process, task.job, task.hold
    before = hold.before if hold else None
    if not hold or not before or before.owner == job.job_id or before.kind not in (job.kind, "queued", "backoff"):
        return None
    orphan = task.kind.find(process, job.space_id, before.owner, subject=job.subject)
    if not orphan or orphan.value.ended():
        return None
    lease.pass_on(process, hold, before.owner)
    return orphan


def go_on(task: Work[J], *, taken: bool = False) -> Worked[J]:
    """Take the job and do its steps, under its lease if it has one. Of several workers the last one continues."""
    before = task.stored
    try:
        worked = _go_on(task, taken=taken)
    except PreconditionLost:
        job = task.job
        worked = Worked("overtaken", task.kind.find(task.process, job.space_id, job.job_id, subject=job.subject))
    at_work = taken or task.stored is not before
    if at_work and (not worked.job or worked.job.created_at != task.job.created_at):
        task.undo()
    return replace(worked, used=task.used, counts=task.counts)


def _go_on(task: Work[J], *, taken: bool) -> Worked[J]:
    try:
        if not taken:
            task.kind.look_again(task, PUT_ASIDE)
            task.stored = jobs.change(task.process, task.stored, **_as_taken(task))
        _check_age(task)
        end = _steps(task)
    except (PreconditionLost, StoreUnavailable):
        raise
    except LiveMemoryError as error:
        return _failed(task, error)
    return _end(task, end) if end else _hand_over(task)


def _as_taken(task: Work[J]) -> dict[str, Any]:
    process, job = task.process, task.job
    return {
        "status": "running",
        "attempt": job.attempt + 1,
        "worker": task.hold.lease.worker if task.hold else process.new_id(),
        **task.hold_field(),
        "started_at": job.started_at or clock.iso_millis(process.clock()),
        **task.kind.on_take(task),
    }


def _check_age(task: Work[J]) -> None:
    """Raise NotFinished where the job is to be given up."""
    job, lasts = task.job, task.kind.lasts
    if task.kind.gives_up and job.attempt > MOST_ATTEMPTS:
        raise NotFinished(LOST)
    if lasts and task.process.clock() - clock.parse(job.created_at) > lasts:
        raise NotFinished(f"{OVERDUE} {job.error.detail}" if job.error else OVERDUE)


def _steps(task: Work[J]) -> End | None:
    """Do steps until the job ends, and return its end. None if there is no more time."""
    with suppress(OutOfTime):
        while not (end := task.kind.step(task)):
            if not task.in_time():
                return None
        return end
    return None


def _hand_over(task: Work[J]) -> Worked[J]:
    process, job, hold = task.process, task.job, task.hold
    if task.kind.keeps_place:
        task.kind.look_again(task, PUT_ASIDE)
        task.write(attempt=0 if task.saved else job.attempt, held_seconds=PUT_ASIDE.total_seconds())
    # Before the job is queued, because its invocation may come at once.
    if hold and task.kind.keeps_place:
        lease.put_aside(process, hold, PUT_ASIDE)
    elif hold:
        lease.quietly_release(process, hold)
        task.hold = None
    if task.nested:
        return Worked("unfinished", task.stored)
    try:
        queue(process, task.kind, job.space_id, job.job_id, job.subject)
    except StoreUnavailable:
        if not task.kind.swept:
            raise
    return Worked("unfinished", task.stored)


def _end(task: Work[J], end: End) -> Worked[J]:
    read = task.kind.read(task.process)
    # The failure that the job waited out is over.
    changes = {"error": None, **end.changes}
    mine = task.job.worker
    # The same rule as in `Work.write`.
    ended = jobs.finish(
        task.process, task.stored, end.status, read=read, anyway=lambda newer: newer.is_of(mine), **changes
    )
    if not ended:
        return Worked("gone")
    job = ended.value
    logger.info("job ended", extra={"space_id": job.space_id, "kind": job.kind, "status": job.status})
    if job.ended():
        task.kind.on_end(task)
    return Worked("ended" if job.ended() else "overtaken", ended)


def _failed(task: Work[J], error: LiveMemoryError) -> Worked[J]:
    """End the job, or let it wait after a failure that may pass, such as one of the LLM."""
    extra = {"space_id": task.job.space_id, "kind": task.kind.name, "error_code": error.code}
    failure = Failure(code=error.code, detail=error.detail)
    if isinstance(error, NotFinished) or task.kind.is_final(error):
        cleared = task.kind.on_failure(task, error)
        logger.warning("job failed", extra=extra)
        return _end(task, End("failed", {**cleared, "error": failure}))
    logger.warning("job waits after a failure", extra=extra)
    if not (task.hold and isinstance(error, RunError)):
        raise error
    # The budget of tokens begins again on the next day.
    exhausted = error.code == budget.EXHAUSTED
    pause = budget.pause(task.process, task.process.clock()) if exhausted else None
    waited = lease.back_off(task.process, task.hold, error.code, pause, longest=task.kind.longest_wait)
    task.kind.look_again(task, waited)
    # The job does not cause the wait, so the attempts start again from 0.
    task.write(status="queued", attempt=0, error=failure)
    return Worked("waiting", task.stored)
