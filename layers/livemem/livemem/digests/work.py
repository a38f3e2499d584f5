"""Carrying out digests: what the schedule, a full room and people ask for.

One worker at a time by a lease, which only saves money. A look that finds nothing to do writes nothing and asks nobody.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

from livemem import clock
from livemem.digests import chunks, intake, opening, progress
from livemem.digests.chunks import Task
from livemem.digests.papers import Done, Extract, StoredFacts, Try
from livemem.digests.progress import Progress
from livemem.errors import LiveMemoryError, NotFound, StillAtWork, StoreUnavailable
from livemem.jobs import budget, lease, places
from livemem.jobs.lease import BACKOFF_FIRST, Held, LeaseTaken
from livemem.llm.answering import OUT_OF_TIME, NoAnswer
from livemem.llm.usage import Usage
from livemem.memories import similar
from livemem.process import Process
from livemem.rooms.digested import Input
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import keys as all_keys
from livemem.store import room_keys as keys
from livemem.store.probe import require_conditional_writes

logger = logging.getLogger(__name__)

Result = Literal["gone", "nothing", "busy", "done", "waiting", "unfinished"]
LONGEST_WAIT = timedelta(minutes=50)
"""After failures: less than the hour after which the next one looks."""
MOST_SLOTS = 8
"""That one invocation works off, one behind the other."""


@dataclass(frozen=True)
class Order:
    """What an invocation is to do besides what is open or asked for. `forced` without a slot: now."""

    slot: str | None = None
    forced: bool = False
    by_hand: bool = False
    delivery: str = ""
    """The invocation that brought it, which a retry has too."""

    def payload(self, space_id: str) -> dict[str, Any]:
        """The invocation that carries it out."""
        told: dict[str, Any] = {"space_id": space_id, "slot": self.slot, "forced": self.forced}
        return told | ({"by_hand": True} if self.by_hand else {})

    @classmethod
    def of(cls, payload: Mapping[str, Any], delivery: str = "") -> "Order":
        """The order in the payload of an invocation. Raises InvalidName."""
        slot = payload.get("slot")
        return cls(
            keys.check_slot(slot) if slot is not None else None,
            bool(payload.get("forced")),
            bool(payload.get("by_hand")),
            delivery,
        )


@dataclass(frozen=True)
class Outcome:
    """How one digest went on. `waiting`: after a failure, whose code is `error`; `used` and `dead` (chunks that were
    given up) are this invocation's.
    """

    result: Result
    slot: str | None = None
    done: Done | None = None
    error: str | None = None
    used: Usage = field(default_factory=Usage)
    dead: int = 0


def carry_out(process: Process, space_id: str, order: Order, deadline: datetime) -> list[Outcome]:
    """Finish the digest that is open, then those that are asked for, until shortly before `deadline`; what is left then
    is handed on to another invocation.

    Raises InvalidName; StoreUnavailable, and StillAtWork where what is asked for by hand must wait for another worker,
    or nobody can tell whether that lives (Claimed.fails), so that Lambda tries again.
    """
    all_keys.check_space_id(space_id)
    require_conditional_writes(process.store)
    head = heads.find(process, space_id)
    if not head:
        return [Outcome("gone")]
    done: list[Outcome] = []
    wanted: str | None = order.slot
    if order.forced and not wanted:
        wanted = all_keys.compact_time(process.clock())
    while len(done) < MOST_SLOTS:
        slot, is_wanted = _next(process, space_id, order, wanted)
        if not slot:
            break
        if is_wanted:
            wanted = None
        task = Task(process, space_id, slot, zone_of(process, head.meta), deadline, job_id=process.new_id())
        done.append(_carry_out(task, order))
        if done[-1].result != "done":
            break
        if done[-1].done and done[-1].done.more:
            # Another invocation has time of its own.
            _hand_on(process, space_id, Order(forced=True))
    return done or [Outcome("nothing")]


def zone_of(process: Process, meta: Meta) -> ZoneInfo:
    """The time zone in which the digests of a space have their hours."""
    try:
        return clock.zone(meta.timezone or process.settings.default_timezone)
    except ValueError:
        # Somebody wrote it into the bucket, or its name is no more.
        return clock.zone(process.settings.default_timezone)


def _next(process: Process, space_id: str, order: Order, wanted: str | None) -> tuple[str | None, bool]:
    """The slot to work on: the open one, else one that is asked for, which is open then; None: nothing is to do. And
    whether it is what was wanted.
    """
    for _ in range(opening.TRIES):
        seen = opening.look(process, space_id)
        slot = seen.slot or seen.ordered or wanted
        if not slot or seen.slot:
            return slot, slot == wanted
        is_over = progress.is_done(process, space_id, slot)
        if not seen.ordered:
            if is_over and order.slot:
                return None, True
            if is_over:
                # Another one was begun in the same second.
                wanted = opening.later(slot)
                continue
            if not _is_due(process, space_id, slot, order):
                return None, True
        if opening.take(process, space_id, slot, seen):
            return slot, slot == wanted
    return None, False


def _is_due(process: Process, space_id: str, slot: str, order: Order) -> bool:
    """Whether there is anything to digest: for a slot of the clock, anything that was there by then."""
    if order.by_hand:
        return True
    waits = intake.waits_since(process, space_id)
    return waits is not None and (order.forced or waits <= keys.slot_moment(slot))


def _carry_out(task: Task, order: Order) -> Outcome:
    """Work on the open slot under its lease."""
    process, slot = task.process, task.slot
    try:
        place = places.of_digest(task.space_id, slot)
        held = lease.acquire(
            process,
            place,
            task.job_id,
            "digest",
            worker=process.new_id(),
            delivery=order.delivery,
            by_hand=order.by_hand,
        )
    except LeaseTaken as error:
        if order.by_hand or error.fails(order.delivery):
            raise StillAtWork(error.detail) from error
        return Outcome("busy", slot, error=error.lease.error)
    try:
        with lease.kept(process, held):
            given = intake.ensure(process, task.space_id, slot)
            seen = progress.look(process, task.space_id, slot)
            finished = seen.done or (chunks.settle(task, given, seen) and _settle_similar(task))
            done = _end(task, given, seen) if finished else None
    except NotFound:
        # The space was deleted under our hands.
        lease.quietly_release(process, held)
        return Outcome("gone", slot, used=task.used)
    except StoreUnavailable:
        # Lambda tries again: then the lease must not keep it out.
        lease.quietly_release(process, held)
        raise
    except LiveMemoryError as error:
        return _failed(task, order, held, error)
    except Exception:
        # Likewise, whatever it was.
        lease.quietly_release(process, held)
        raise
    lease.quietly_release(process, held)
    if not done:
        return _unfinished(task, order)
    logger.info("rooms digested", extra={"space_id": task.space_id, "slot": slot})
    return Outcome("done", slot, done, used=task.used, dead=len(task.dead))


def _settle_similar(task: Task) -> bool:
    """Look at the memories that may say the same, those of this digest among them. It holds nothing up."""
    if task.in_time():
        until = task.deadline - chunks.MARGIN
        try:
            settled = similar.settle(task.process, task.space_id, until)
            logger.info("memories compared", extra={"space_id": task.space_id, "merged": settled.merged})
        except LiveMemoryError as error:
            logger.warning("memories were not compared", extra={"space_id": task.space_id, "error_code": error.code})
    return True


def _unfinished(task: Task, order: Order) -> Outcome:
    _hand_on(task.process, task.space_id, order)
    return Outcome("unfinished", task.slot, used=task.used, dead=len(task.dead))


def _failed(task: Task, order: Order, held: Held, error: LiveMemoryError) -> Outcome:
    """The model is out, or the day's tokens are used up: the slot stays open, and automatic work waits."""
    process = task.process
    if isinstance(error, NoAnswer) and error.code == OUT_OF_TIME and task.anything:
        lease.quietly_release(process, held)
        return _unfinished(task, order)
    wait = min(BACKOFF_FIRST * 2 ** min(held.lease.failures, 10), LONGEST_WAIT)
    if isinstance(error, NoAnswer) and error.code == budget.EXHAUSTED:
        wait = min(budget.pause(process, process.clock()) or wait, LONGEST_WAIT)
    lease.back_off(process, held, error.code, wait)
    logger.warning(
        "rooms were not digested",
        extra={"space_id": task.space_id, "slot": task.slot, "error_code": error.code},
    )
    return Outcome("waiting", task.slot, error=error.code, used=task.used, dead=len(task.dead))


def _end(task: Task, given: Input, seen: Progress) -> Done:
    """Remove exactly what was taken, and write down the counts: all of it is in memories by now, or kept apart."""
    process, space_id, slot = task.process, task.space_id, task.slot
    there = progress.find_done(process, space_id, slot) if seen.done else None
    if not there:
        process.store.delete_many([keys.named(space_id, name) for name in given.names()])
        there = progress.write(process, keys.done(space_id, slot), _counted(task, given, seen))
    opening.close(process, space_id, slot)
    return there


def _counted(task: Task, given: Input, seen: Progress) -> Done:
    process, space_id, slot = task.process, task.space_id, task.slot
    extracts = progress.extracts(process, space_id, slot, sorted(seen.extracts))
    stored = progress.stored(process, space_id, slot, sorted(seen.stored))
    tries = progress.tries(process, space_id, slot, seen.tries)
    used: list[Extract | Try] = [*(one for one in extracts if one), *tries]
    kept: list[StoredFacts] = [one for one in stored if one]
    return Done(
        slot=slot,
        messages=len(given.names()),
        chunks=len(given.chunks),
        dead=sorted(seen.dead),
        new=sum(one.new for one in kept),
        merged=sum(one.merged for one in kept),
        refused=sum(one.refused for one in kept),
        usage=sum((one.usage for one in used), Usage()),
        more=given.more,
        started_at=given.created_at,
        ended_at=clock.iso_millis(process.clock()),
    )


def _hand_on(process: Process, space_id: str, order: Order) -> None:
    """Leave the rest to another invocation. Where it can't be queued the next hour finds it open."""
    with suppress(LiveMemoryError):
        process.enqueue("digest", order.payload(space_id))
