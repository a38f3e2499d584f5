"""Bringing the summaries of a conversation up to its log: what events, people and the sweep ask for.

One job at a time by a lease, which only saves money. A look that finds nothing to do writes nothing and asks nobody.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from livemem import clock
from livemem.conversations import conversation as conversations
from livemem.conversations import due, jobs, levels, log, making, names, summary_versions
from livemem.conversations import summaries as found
from livemem.conversations.conversation import Conversation
from livemem.conversations.jobs import Job, Strategy
from livemem.conversations.levels import Done
from livemem.conversations.making import Made
from livemem.conversations.summaries import Vanished
from livemem.conversations.summary_versions import At, Standing
from livemem.errors import LiveMemoryError, ObjectUnreadable, PreconditionLost, RunError, StillAtWork
from livemem.jobs import budget, lease, places
from livemem.jobs.lease import Held, LeaseTaken
from livemem.llm.answering import OUT_OF_TIME
from livemem.process import Process
from livemem.store import conversation_keys as keys
from livemem.store import keys as all_keys
from livemem.store.probe import require_conditional_writes

logger = logging.getLogger(__name__)

Result = Literal["gone", "nothing", "busy", "done", "failed", "unfinished"]

LOOKED_AT_AGAIN = timedelta(minutes=10)
"""After which the sweep looks whether a rebuild still goes on."""
INTERRUPTED = jobs.Problem(code="interrupted", detail="What it worked on was replaced; it is looked at again.")
GIVEN_UP = jobs.Problem(code="interrupted", detail="It was given up after several tries; order it again.")


@dataclass(frozen=True)
class Redo:
    """One summary that is made anew by hand, for the `count`th time."""

    level: int
    number: int
    count: int


@dataclass(frozen=True)
class Order:
    """What a job is asked to do. With `later` the levels above the first are left to another invocation."""

    strategy: Strategy = "incremental"
    job_id: str | None = None
    by_hand: bool = False
    levels: Sequence[int] = keys.LEVELS
    later: bool = False
    redo: Redo | None = None
    delivery: str = ""
    """The invocation that brought it, which a retry has too; empty for a request."""

    def payload(self, space_id: str, conversation_id: str, job_id: str) -> dict[str, Any]:
        """The invocation that carries it out."""
        told: dict[str, Any] = {
            "space_id": space_id,
            "conversation_id": conversation_id,
            "job_id": job_id,
            "strategy": self.strategy,
            "by_hand": self.by_hand,
            "levels": list(self.levels),
        }
        if self.redo:
            told["redo"] = {"level": self.redo.level, "number": self.redo.number, "count": self.redo.count}
        return told

    @classmethod
    def of(cls, payload: Mapping[str, Any], delivery: str = "") -> "Order":
        """The order in the payload of an invocation."""
        redo = payload.get("redo")
        return cls(
            strategy=payload.get("strategy", "incremental"),
            job_id=payload.get("job_id"),
            by_hand=bool(payload.get("by_hand")),
            levels=tuple(payload.get("levels") or keys.LEVELS),
            redo=Redo(redo["level"], redo["number"], redo["count"]) if redo else None,
            delivery=delivery,
        )


@dataclass(frozen=True)
class Outcome:
    """How it ended. `job` is what was done, where anything was; of `busy` the job that is at work; `made` what this
    invocation alone made, or could not make.
    """

    result: Result
    job: Job | None = None
    at_work: str | None = None
    made: Sequence[Made] = ()


@dataclass(frozen=True)
class _Task:
    """A job that is carried out."""

    process: Process
    space_id: str
    conversation: Conversation
    order: Order
    deadline: datetime

    @property
    def conversation_id(self) -> str:
        return self.conversation.conversation_id

    def standing(self) -> Standing:
        return summary_versions.read(self.process, self.space_id, self.conversation)

    def at(self, built: summary_versions.SummaryVersion) -> At:
        return At(self.space_id, self.conversation, built)


def carry_out(process: Process, space_id: str, conversation_id: str, order: Order, deadline: datetime) -> Outcome:
    """Do what is ordered until shortly before `deadline`; what is left then is handed on to another invocation.

    Raises InvalidName; StoreUnavailable, and StillAtWork where the order of a job must wait for another one, or nobody
    can tell whether who is at it lives (Claimed.fails), so that Lambda tries again.
    """
    all_keys.check_space_id(space_id)
    keys.check_conversation_id(conversation_id)
    require_conditional_writes(process.store)
    conversation = conversations.find(process, space_id, conversation_id)
    if not conversation:
        return Outcome("gone")
    task = _Task(process, space_id, conversation, order, deadline)
    try:
        return _carry_out(task)
    except Vanished:
        return Outcome("gone")


def _carry_out(task: _Task) -> Outcome:
    process, order = task.process, task.order
    standing = task.standing()
    job = jobs.find(process, task.space_id, task.conversation_id, order.job_id) if order.job_id else None
    if job and job.ended():
        return Outcome("nothing", job)
    if order.redo and job and job.generation != standing.current().version:
        problem = jobs.Problem(code="replaced", detail="All summaries were made anew in the meantime.")
        return Outcome("failed", _end(task, job, "failed", problem))
    if job and job.strategy == "redo" and not order.redo:
        # Its own invocation was given up, and which summary it was for only that knew.
        _end(task, job, "failed", GIVEN_UP)
        return _carry_out(replace(task, order=replace(order, job_id=None)))
    asked = order.redo or standing.known.building
    if not asked and not levels.is_due(process, task.at(standing.current()), order.levels):
        return Outcome("nothing", _nothing_left(task, job) if job else None)
    job = job or jobs.new(process, task.conversation_id, order.strategy, standing.current().version)
    try:
        place = places.of_conversation(task.space_id, task.conversation_id)
        by_hand = order.by_hand or bool(order.redo)
        held = lease.acquire(
            process, place, job.job_id, "summaries", worker=process.new_id(), delivery=order.delivery, by_hand=by_hand
        )
    except LeaseTaken as error:
        return _beside(task, job, error)
    return _work_under_lease(task, _of_the_dead(task, job, held), held)


def _nothing_left(task: _Task, job: Job) -> Job:
    """The end of a job of which nothing is left to do. Perhaps its worker died when all was made."""
    lease.forget(task.process, places.of_conversation(task.space_id, task.conversation_id), job.job_id)
    return _end(task, job, "done")


def _of_the_dead(task: _Task, job: Job, held: Held) -> Job:
    """The job of a dead worker instead of a new one, where there is one: so it ends as what it was begun for.

    1 GET and 1 PUT where somebody died. A summary that was to be made anew is left to its own invocation.
    """
    dead_id = held.lease.abandoned[-1] if held.lease.abandoned else None
    if dead_id in (None, job.job_id):
        return job
    process = task.process
    dead = jobs.find(process, task.space_id, task.conversation_id, dead_id or "")
    if not dead or dead.ended() or dead.strategy == "redo":
        return job
    if task.order.job_id:
        _end(task, dead, "failed", INTERRUPTED)
        return job
    lease.pass_on(process, held, dead.job_id)
    return dead


def _beside(task: _Task, job: Job, taken: LeaseTaken) -> Outcome:
    """What becomes of an order while another job is at work, or failures are waited out."""
    process, order = task.process, task.order
    if not order.job_id:
        if taken.fails(order.delivery):
            raise StillAtWork(taken.detail) from taken
        return Outcome("busy", None, taken.lease.owner)
    # What it would have made is not forgotten, whatever becomes of the job.
    due.mark_at(process, task.space_id, task.conversation_id, process.clock() + timedelta(minutes=1))
    if order.redo:
        return _redo_beside(task, job, order.redo)
    if taken.lease.kind != "backoff":
        raise StillAtWork(taken.detail) from taken
    problem = jobs.Problem(code=taken.lease.error or taken.code, detail=taken.detail)
    return Outcome("failed", _end(task, job, "failed", problem))


def _redo_beside(task: _Task, job: Job, redo: Redo) -> Outcome:
    """Make the one summary anew although another job is at work: no listing would show later that it was wanted. Those
    above it are missing then, and are made by that job or by the sweep.
    """
    done = Done()
    try:
        _redo(task, task.at(task.standing().current()), redo, done)
    except Vanished:
        return _vanished(task, job, done)
    error = _first_failure(done)
    job = _counted(job, done)
    if error:
        return Outcome("failed", _end(task, job, "failed", jobs.Problem(code=error.code, detail=error.detail)))
    return Outcome("done", _end(task, job, "done"))


def _work_under_lease(task: _Task, job: Job, held: Held) -> Outcome:
    process = task.process
    job = job.model_copy(
        update={"status": "running", "started_at": job.started_at or clock.iso_millis(process.clock())}
    )
    if task.order.by_hand or task.order.job_id:
        # No turn has left a marker for it, should this worker die.
        due.mark_at(process, task.space_id, task.conversation_id, process.clock() + due.LOST_AFTER)
    jobs.note(process, task.space_id, job)
    done = Done(tell=lambda done: _go_on(task, job, done))
    try:
        with lease.kept(process, held):
            finished = _levels(task, done)
            error = _first_failure(done)
    except Vanished:
        lease.quietly_release(process, held)
        return _vanished(task, job, done)
    except ObjectUnreadable as broken:
        # Trying again would meet it again.
        lease.quietly_release(process, held)
        problem = jobs.Problem(code=broken.code, detail=broken.detail)
        return Outcome("failed", _end(task, _counted(job, done), "failed", problem), made=done.made)
    except Exception as failed:
        # Lambda tries again: then the lease must not keep it out.
        _broken_off(task, _counted(job, done), failed)
        lease.quietly_release(process, held)
        raise
    # Who gets nowhere in a whole invocation would get nowhere in the next one.
    going_on = error is not None and error.code == OUT_OF_TIME and (task.order.later or done.anything)
    if not finished and (error is None or going_on):
        so_far = _counted(job, done)
        jobs.note(process, task.space_id, so_far)
        lease.quietly_release(process, held)
        _hand_on(task, task.order.payload(task.space_id, task.conversation_id, so_far.job_id))
        return Outcome("unfinished", so_far, made=done.made)
    if error:
        job = _fail(task, job, done, held, error)
        return Outcome("failed", job, made=done.made)
    job = _end(task, _counted(job, done), "done")
    lease.quietly_release(process, held)
    # An event that came while it was held found the conversation busy: so look once more.
    if log.last_index(process, task.space_id, task.conversation_id) > done.last_turn:
        _hand_on(task, {"space_id": task.space_id, "conversation_id": task.conversation_id})
    logger.info("conversation summarised", extra={"space_id": task.space_id, "job_id": job.job_id})
    return Outcome("done", job, made=done.made)


def _vanished(task: _Task, job: Job, done: Done) -> Outcome:
    """What it worked on was removed, or replaced by another version, under its hands."""
    process = task.process
    if not conversations.find(process, task.space_id, task.conversation_id):
        # The job's own document, for one, is written beside the tombstone by now.
        due.mark_at(process, task.space_id, task.conversation_id, process.clock())
        return Outcome("gone")
    due.mark_at(process, task.space_id, task.conversation_id, process.clock() + due.LOST_AFTER)
    return Outcome("failed", _end(task, _counted(job, done), "failed", INTERRUPTED), made=done.made)


def _broken_off(task: _Task, job: Job, failed: Exception) -> None:
    """Note how far a job came that fails with its invocation. A retry goes on with it only if it knows its id."""
    if task.order.job_id:
        jobs.note(task.process, task.space_id, job)
        return
    # Nothing of what nobody reckoned with: its text may hold data.
    known = failed if isinstance(failed, LiveMemoryError) else LiveMemoryError("Its worker failed.")
    problem = jobs.Problem(code=known.code, detail=f"{known.detail} What is missing is made all the same.")
    _end(task, job, "failed", problem)


def _go_on(task: _Task, job: Job, done: Done) -> None:
    """Between two waves: note how far it is."""
    jobs.note(task.process, task.space_id, _counted(job, done))


def _first_failure(done: Done) -> RunError | None:
    failed = next(iter(done.failures), None)
    return RunError(failed.error or "", failed.detail) if failed else None


def _levels(task: _Task, done: Done) -> bool:
    """Bring the versions up; False where something is left for another invocation, or could not be made."""
    process, order = task.process, task.order
    standing = task.standing()
    at = task.at(standing.current())
    if order.redo and not _redo(task, at, order.redo, done):
        return False
    now = [level for level in order.levels if level == 1 or not order.later]
    if not levels.bring_up(process, at, task.deadline, done, levels=now):
        return False
    building = standing.known.building
    if order.later and (building or levels.is_due(process, at, order.levels)):
        return False
    return _rebuild(task, standing, done) if building else True


def _rebuild(task: _Task, standing: Standing, done: Done) -> bool:
    """Build the next version, and let it count when nothing of it is missing."""
    process, building = task.process, standing.known.building
    assert building
    due.mark_at(process, task.space_id, task.conversation_id, process.clock() + LOOKED_AT_AGAIN)
    at, earlier = task.at(building), found.read(process, task.at(standing.current()))
    before = len(done.failures)
    if not levels.bring_up(process, at, task.deadline, done, earlier=earlier):
        return False
    if len(done.failures) > before:
        return False
    with suppress(PreconditionLost):
        if summary_versions.switch(process, task.standing(), building):
            # What could not be made of the former version is of no account any more: perhaps it was why.
            done.settled = len(done.made)
    return True


def _redo(task: _Task, at: At, redo: Redo, done: Done) -> bool:
    """Make one summary anew, unless an earlier delivery has; False where it could not be made."""
    process, layers = task.process, found.read(task.process, at)
    if redo.number > layers.boundaries[redo.level]:
        return True
    below = found.current(process, layers, redo.level - 1) if redo.level > 1 else {}
    there = found.current(process, layers, redo.level).get(redo.number)
    if there and names.redo_of(there) >= redo.count:
        return True
    if not there and redo.number not in found.missing(process, layers, redo.level):
        # One that it is made of is missing: when that is there, this is made of it.
        return True
    material = making.gather(process, layers, redo.level, redo.number, below)
    made = making.make(process, layers, material, task.deadline, redo=redo.count)
    done.missing += 1
    done.made.append(made)
    return made.name is not None


def _hand_on(task: _Task, payload: Mapping[str, Any]) -> None:
    """Leave the rest to another invocation."""
    # Where it can't be queued the sweep finds it by its marker.
    due.mark_at(task.process, task.space_id, task.conversation_id, task.process.clock() + due.LOST_AFTER)
    with suppress(LiveMemoryError):
        task.process.enqueue("summarize", payload)


def _counted(job: Job, done: Done) -> Job:
    """The job with what was done in this invocation added."""
    generated = dict(job.generated)
    sealed = dict(job.sealed)
    for one in done.generated:
        generated[str(one.level)] = generated.get(str(one.level), 0) + 1
    for level, count in done.boundaries.items():
        sealed[str(level)] = sealed.get(str(level), 0) + count
    millis = [one.seconds * 1_000 for one in done.generated]
    latency = {"mean": round(sum(millis) / len(millis), 1), "max": round(max(millis), 1)} if millis else {}
    whole = done.missing + done.present
    return job.model_copy(
        update={
            "generated": generated,
            "sealed": sealed,
            "reused": job.reused + sum(one.reused for one in done.made),
            "usage": sum((one.usage for one in done.made), job.usage),
            "latency_ms": latency or job.latency_ms,
            "dirty_share": round(done.missing / whole, 4) if whole and job.dirty_share is None else job.dirty_share,
            "queue_length": max(0, done.missing - len([one for one in done.made if one.name])),
        }
    )


def _end(
    task: _Task,
    job: Job,
    status: Literal["done", "failed"],
    problem: jobs.Problem | None = None,
) -> Job:
    """The job as it ended."""
    ended = job.model_copy(
        update={"status": status, "ended_at": clock.iso_millis(task.process.clock()), "error": problem}
    )
    jobs.note(task.process, task.space_id, ended)
    return ended


def _fail(task: _Task, job: Job, done: Done, held: Held, error: RunError) -> Job:
    """End the job with its failure, and see to it that what is missing is tried again, later and later."""
    process = task.process
    wait = budget.pause(process, process.clock()) if error.code == budget.EXHAUSTED else None
    problem = jobs.Problem(code=error.code, detail=error.detail)
    job = _end(task, _counted(job, done), "failed", problem)
    waited = lease.back_off(process, held, error.code, wait)
    due.mark_at(process, task.space_id, task.conversation_id, process.clock() + waited)
    logger.warning(
        "conversation was not summarised",
        extra={"space_id": task.space_id, "job_id": job.job_id, "error_code": error.code},
    )
    return job


def hear(process: Process, event_keys: Sequence[str], deadline: datetime, delivery: str = "") -> list[Outcome]:
    """Bring up the conversations whose turns these keys are of, once each; other keys are ignored.

    Raises as carry_out, when all of them were looked at.
    """
    parsed = (keys.parse_turn(key) for key in event_keys)
    wanted = dict.fromkeys(one[:2] for one in parsed if one)
    done, waits = [], None
    for one in wanted:
        try:
            done.append(carry_out(process, *one, Order(delivery=delivery), deadline))
        except StillAtWork as error:
            waits = error
    if waits:
        raise waits
    return done
