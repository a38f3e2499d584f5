"""The worker of every kind of job: it takes the job, does its steps, saves, and leaves the rest to another invocation.

A kind brings its steps. A step does a bounded part of the work, and may be repeated: it finds what was done before. So
a worker may die anywhere. Its job is gone on with by the next delivery of its invocation, or by the sweep.
"""

import logging
import time
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
from livemem.jobs.lease import Held, LeasePlace, LeaseTaken
from livemem.llm.usage import Usage
from livemem.process import Function, Process
from livemem.spaces import unreadable
from livemem.store import stored
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Object
from livemem.store.stored import Stored

logger = logging.getLogger(__name__)

Result = Literal["gone", "nothing", "ended", "busy", "waiting", "unfinished", "overtaken"]
MARGIN = timedelta(seconds=5)
"""Of a worker's time, which is kept to say how far it is."""
PAUSE = 0.5
"""Seconds between two looks whether a lease that is waited for is free."""
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


@dataclass(frozen=True)
class Wait:
    """For how long a worker waits for its lease, and how it lets the seconds pass."""

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
    """Whether somebody waits for an answer: then a step leaves what takes long to an invocation."""
    nested: bool = False
    """Whether it is a part of another job, which goes on with what is left: then no invocation is queued for it."""
    held: Held | None = None
    saved: bool = False
    """Whether this worker has saved anything: who gets nowhere in a whole invocation would get nowhere in the next."""
    used: Usage = field(default_factory=Usage)
    """What this worker asked of the LLM."""
    counts: Counter[str] = field(default_factory=Counter)
    """What this worker did, by names of the kind's own: for the metrics."""

    @property
    def job(self) -> J:
        """The job as it was last read or written."""
        return self.stored.value

    def save(self, **changes: Any) -> None:
        """Write how far the job is: 1 PUT. Raises PreconditionLost: another worker has it now."""
        self.write(**{**self.hold(), **changes})
        self.saved = True

    def write(self, **changes: Any) -> None:
        """Change the job, and keep what somebody else has added to it meanwhile. As `save`."""
        self.stored = jobs.amend(self.process, self.stored, self.kind.read(self.process), **changes)

    def hold(self) -> dict[str, Any]:
        """What the job says while this worker is at it: until when, where no lease does."""
        left = self.deadline - self.process.clock() + MARGIN
        return {} if self.held else {"held_seconds": max(left.total_seconds(), 0.0)}

    def in_time(self, spare: timedelta = MARGIN) -> bool:
        """Whether there is more time left than `spare`."""
        return self.deadline - self.process.clock() > spare


@dataclass(frozen=True)
class Worked(Generic[J]):
    """What came of a worker's time: the job as it stands, None where there is none."""

    result: Result
    stored: Stored[J] | None = None
    at_work: str = ""
    """Of `busy`: whose work it is that goes on, or waits."""
    used: Usage = field(default_factory=Usage)
    """What this worker asked of the LLM."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """What this worker did, by names of the kind's own."""

    @property
    def job(self) -> J | None:
        """The job."""
        return self.stored.value if self.stored else None

    @property
    def outcome(self) -> Result | Status:
        """The same in one word: how the job ended, if it has."""
        return self.job.status if self.job and self.result == "ended" else self.result


Step = Callable[[Work[J]], End | None]


def payload(kind: str, space_id: str, job_id: str) -> dict[str, Any]:
    """What an invocation gets at least that carries a job out; for who can't load what its kind works with."""
    return {"kind": kind, "space_id": space_id, "job_id": job_id}


def is_final(error: LiveMemoryError) -> bool:
    """Whether trying again is of no use after this error."""
    return error.status < HTTPStatus.INTERNAL_SERVER_ERROR and error.retry_after is None


def _nothing(_: Work[Any], __: LiveMemoryError) -> Mapping[str, Any]:
    return {}


def _leave_no_word(_: Work[Any], __: timedelta) -> None:
    pass


def _nothing_more(_: Work[Any]) -> Mapping[str, Any]:
    return {}


def _tell_nobody(_: Work[Any]) -> None:
    pass


@dataclass(frozen=True)
class Kind(Generic[J]):
    """A kind of job.

    `key` makes the key of a job of a space from the job's id; with `below_subject` from its subject, too. `step` does
    one part of the work, and returns its end or None: more is to be done. It raises OutOfTime where it needs more time
    than is left. `place` is where the lease lies under which it works; without one the job's own document says until
    when it is held. A job that has not ended after `lasts` is given up, and if it `gives_up` also one whose workers die
    again and again. `is_final` tells whether an error ends the job. `on_failure` clears up before it does, and returns
    what the job says then. `look_again` leaves word for the sweep that the job is to be looked at after so long: before
    it is taken anew, left to another invocation, or waits. After failures it waits for at most `longest_wait`.
    `on_take` returns what else is written when the job is taken. `on_end` gives back what the job had until its end.
    Unless it `keeps_place` its lease is free while an invocation of it is still to come, and nothing says that it is.
    `swept`: the sweep finds a job of this kind that nobody goes on with. If it does not, a rest that can't be queued is
    an error: then the invocation is tried again.
    """

    name: str
    function: Function
    document: type[J]
    key: Callable[..., str]
    step: Step[J]
    below_subject: bool = False
    place: Callable[[J], LeasePlace] | None = None
    lasts: timedelta | None = None
    gives_up: bool = True
    is_final: Callable[[LiveMemoryError], bool] = is_final
    on_failure: Callable[[Work[J], LiveMemoryError], Mapping[str, Any]] = _nothing
    look_again: Callable[[Work[J], timedelta], None] = _leave_no_word
    longest_wait: timedelta = lease.BACKOFF_LONGEST
    on_take: Callable[[Work[J]], Mapping[str, Any]] = _nothing_more
    on_end: Callable[[Work[J]], None] = _tell_nobody
    keeps_place: bool = True
    swept: bool = False

    def key_of(self, space_id: str, job_id: str, subject: str | None = None) -> str:
        """The key of a job."""
        return self.key(space_id, subject, job_id) if self.below_subject else self.key(space_id, job_id)

    def payload(
        self, space_id: str, job_id: str, subject: str | None = None, *, by_hand: bool = False
    ) -> dict[str, Any]:
        """What an invocation gets that carries the job out. Who asks `by_hand` does not wait for failures."""
        told = payload(self.name, space_id, job_id)
        return told | ({"subject": subject} if self.below_subject else {}) | ({"by_hand": True} if by_hand else {})

    def read(self, process: Process, missing: list[str] | None = None) -> Callable[[Object], J | None]:
        """Reads a job of this kind; None for one that can't be read, whose key is added to `missing`."""
        return lambda found: unreadable.tolerated(process, self.document, found, missing)

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
        return jobs.find(process, self.key_of(space_id, job_id, subject), self.read(process, missing), space_id, job_id)


def queue(
    process: Process,
    kind: Kind[Any],
    space_id: str,
    job_id: str,
    subject: str | None = None,
    *,
    by_hand: bool = False,
) -> None:
    """Let an invocation carry the job out. Raises StoreUnavailable."""
    process.enqueue(kind.function, kind.payload(space_id, job_id, subject, by_hand=by_hand))


def order(process: Process, kind: Kind[J], job: J) -> Stored[J]:
    """Write a new job that somebody asked for by hand, and let an invocation carry it out: 1 PUT.

    Where it can't be queued it says so, and StoreUnavailable is raised.
    """
    written = jobs.create(process, kind.key_of(job.space_id, job.job_id, job.subject), job)
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
    found: Stored[J] | None = None,
    wait: Wait | None = None,
) -> Worked[J]:
    """Carry a job out until shortly before `deadline`; what is left then is queued.

    1 GET, 1 PUT to take it, 1 PUT at its end, and what its lease takes (1 GET, 1 PUT, 1 DELETE) and its steps. `found`:
    the job as it was just read, which saves the GET. `wait`: for its lease, then 1 GET for what became of the job
    meanwhile. `brief`: somebody waits for the answer. `nested`: it is a part of another job, which goes on with what is
    left. Raises StoreUnavailable and StillAtWork, so that the invocation is tried again.
    """
    require_conditional_writes(process.store)
    found = found or kind.find(process, space_id, job_id, subject=subject)
    if not found or found.value.ended():
        return Worked("ended" if found else "gone", found)
    task = Work(process, kind, found, deadline, delivery, brief, nested)
    try:
        with _leased(task, by_hand=by_hand, wait=wait) as at_once:
            newer = found if at_once else kind.find(process, space_id, job_id, subject=subject)
            if not newer or newer.value.ended():
                return Worked("ended" if newer else "gone", newer)
            task.stored = newer
            return go_on(task)
    except LeaseTaken as taken:
        # While another job is at work nobody else comes back for this one.
        beside = taken.lease.kind != "backoff" and taken.lease.owner != job_id
        if by_hand or beside or taken.fails(delivery):
            raise StillAtWork(taken.detail) from taken
        return Worked("busy", found, taken.lease.owner)


@contextmanager
def _leased(task: Work[J], *, by_hand: bool, wait: Wait | None = None) -> Iterator[bool]:
    """The job's lease, if it works under one, and whether it was there at once."""
    process, kind = task.process, task.kind
    if not kind.place:
        yield True
        return
    held, at_once = _acquired(task, kind.place(task.job), wait, by_hand=by_hand)
    task.held = held
    try:
        with lease.kept(process, held):
            yield at_once
    except Exception:
        # It is tried again: then the lease must not keep it out, and says whose work lies about.
        lease.let_go(process, held)
        raise
    if task.held is held and held.lease.kind not in ("backoff", "queued"):
        lease.quietly_release(process, held)


def _acquired(task: Work[J], place: LeasePlace, wait: Wait | None, *, by_hand: bool) -> tuple[Held, bool]:
    process, owner, at_once = task.process, task.job.job_id, True
    while True:
        worker = process.new_id()
        try:
            held = lease.acquire(
                process, place, owner, task.kind.name, worker=worker, delivery=task.delivery, by_hand=by_hand
            )
        except Busy:
            if not wait or process.clock() + timedelta(seconds=PAUSE) >= wait.until:
                raise
            wait.pause(PAUSE)
            at_once = False
        else:
            return held, at_once


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
    """Write a new job and do its steps as `work`, for who has seen that there is something to do: 1 PUT, and none to
    take it. If under its lease somebody died, waits or was handed over, that job is gone on with instead.

    `over`: a job that has ended, in whose place it is written. `brief`: somebody waits for the answer. Raises
    StoreUnavailable, StillAtWork, and PreconditionLost where another job stands there by now.
    """
    task = Work(process, kind, Stored("", job, ""), deadline, delivery, brief)
    try:
        with _leased(task, by_hand=by_hand):
            left = _left_behind(task)
            if left:
                task.stored = left
                return go_on(task)
            key = kind.key_of(job.space_id, job.job_id, job.subject)
            begun = job.model_copy(update=_as_taken(task))
            task.stored = stored.create(process.store, key, begun, process.new_id, over=over)
            return go_on(task, taken=True)
    except LeaseTaken as taken:
        if taken.fails(delivery):
            raise StillAtWork(taken.detail) from taken
        return Worked("busy", None, taken.lease.owner)


def _left_behind(task: Work[J]) -> Stored[J] | None:
    """The job that the lease was left with, if it has not ended; the lease is that job's now: no request where none was
    left, else 1 GET and 1 PUT.
    """
    process, job, held = task.process, task.job, task.held
    before = held.before if held else None
    if not held or not before or before.owner == job.job_id or before.kind not in (job.kind, "queued", "backoff"):
        return None
    found = task.kind.find(process, job.space_id, before.owner, subject=job.subject)
    if not found or found.value.ended():
        return None
    lease.pass_on(process, held, before.owner)
    return found


def go_on(task: Work[J], *, taken: bool = False) -> Worked[J]:
    """Take the job and do its steps, under its lease if it has one. Of several that do so the last one goes on."""
    try:
        worked = _go_on(task, taken=taken)
    except PreconditionLost:
        job = task.job
        worked = Worked("overtaken", task.kind.find(task.process, job.space_id, job.job_id, subject=job.subject))
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
        "worker": task.held.lease.worker if task.held else process.new_id(),
        **task.hold(),
        "started_at": job.started_at or clock.iso_millis(process.clock()),
        **task.kind.on_take(task),
    }


def _check_age(task: Work[J]) -> None:
    """Raise NotFinished where it is to be given up."""
    job, lasts = task.job, task.kind.lasts
    if task.kind.gives_up and job.attempt > MOST_ATTEMPTS:
        raise NotFinished(LOST)
    if lasts and task.process.clock() - clock.parse(job.created_at) > lasts:
        raise NotFinished(f"{OVERDUE} {job.error.detail}" if job.error else OVERDUE)


def _steps(task: Work[J]) -> End | None:
    """The end of the job; None if there is no more time."""
    with suppress(OutOfTime):
        while not (end := task.kind.step(task)):
            if not task.in_time():
                return None
        return end
    return None


def _hand_over(task: Work[J]) -> Worked[J]:
    process, job, held = task.process, task.job, task.held
    if task.kind.keeps_place:
        task.kind.look_again(task, PUT_ASIDE)
        task.write(attempt=0 if task.saved else job.attempt, held_seconds=PUT_ASIDE.total_seconds())
    # Before it is queued: its invocation may come at once.
    if held and task.kind.keeps_place:
        lease.put_aside(process, held, PUT_ASIDE)
    elif held:
        lease.quietly_release(process, held)
        task.held = None
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
    # What it waited for once is over.
    changes = {"error": None, **end.changes}
    mine = task.job.worker
    # As `Work.write`.
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
    """End the job, or let it wait: after a failure of the LLM, or of what may be over by itself."""
    extra = {"space_id": task.job.space_id, "kind": task.kind.name, "error_code": error.code}
    failure = Failure(code=error.code, detail=error.detail)
    if isinstance(error, NotFinished) or task.kind.is_final(error):
        cleared = task.kind.on_failure(task, error)
        logger.warning("job failed", extra=extra)
        return _end(task, End("failed", {**cleared, "error": failure}))
    logger.warning("job waits after a failure", extra=extra)
    if not (task.held and isinstance(error, RunError)):
        raise error
    # The tokens of a day are there again on the next one.
    exhausted = error.code == budget.EXHAUSTED
    pause = budget.pause(task.process, task.process.clock()) if exhausted else None
    waited = lease.back_off(task.process, task.held, error.code, pause, longest=task.kind.longest_wait)
    task.kind.look_again(task, waited)
    # It waits through no fault of its own.
    task.write(status="queued", attempt=0, error=failure)
    return Worked("waiting", task.stored)
