"""When digests begin (by the clock, by the first message after a missed digest, when a room is full, and by hand), and
how they are carried out. By hand too, the messages of chunks that a digest gave up return to their rooms.

If there is nothing to do, nothing is written and no LLM is asked. The work is the job of the current digest
(jobs/worker.py), one digest after the other.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from livemem import clock
from livemem.errors import Conflict, LiveMemoryError, NotFound, OutOfTime, PreconditionLost, RunError, StoreUnavailable
from livemem.jobs import places, worker
from livemem.jobs.job import Progress
from livemem.jobs.lease import LeasePlace
from livemem.jobs.worker import End, Kind, Work, Worked
from livemem.llm.answering import OUT_OF_TIME
from livemem.llm.usage import Usage
from livemem.memories import similar
from livemem.process import Process
from livemem.rooms import chunks, current_digest, digest_input, digest_progress, digest_reading, digest_times, digested
from livemem.rooms.chunks import DigestTask
from livemem.rooms.current_digest import CurrentDigest
from livemem.rooms.digest_documents import DeadLetter, DigestDone, Extract, StoredFacts, Try
from livemem.rooms.digested import Input
from livemem.spaces import due_index, unreadable
from livemem.spaces import head as heads
from livemem.spaces.due_index import Due
from livemem.spaces.head import Meta
from livemem.store import keys, stored, timing
from livemem.store.bucket import (
    CURRENT_DIGEST,
    DEAD_LETTER,
    DIGEST_DONE,
    DIGEST_INPUT,
    EXTRACT,
    FAILED_TRY,
    IN_DIGEST,
    IN_SPACE,
    STORED_FACTS,
)
from livemem.store.cache import TimedCache
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Object
from livemem.store.stored import Stored

logger = logging.getLogger(__name__)

MOST_SLOTS = 8
"""Digests that one invocation carries out, one after the other."""
MOST_KNOWN = 10_000
AT_REST = ""
"""In place of a slot: no message waits."""
WAIT = timing.LAST_WRITE
"""After the end of a digest. Until then a delayed worker, or the store's client, may still remove messages."""


@dataclass(frozen=True)
class DigestOrder:
    """The digest that an invocation is to do besides those open or asked for.

    Without a slot it is the one due by the clock, or one of now if `forced`.
    """

    slot: str | None = None
    forced: bool = False
    by_hand: bool = False
    delivery: str = ""
    """The id of the invocation that brought the order. A retry has the same id."""

    def payload(self, space_id: str) -> dict[str, Any]:
        """The payload of the invocation that carries it out. An order by hand is the invocation of its job (KIND)."""
        return {"space_id": space_id, "slot": self.slot, "forced": self.forced}

    @classmethod
    def of(cls, payload: Mapping[str, Any], delivery: str = "") -> "DigestOrder":
        """The order in the payload of an invocation. One that continues a job names no slot. Raises InvalidName."""
        by_hand = bool(payload.get("by_hand"))
        slot = payload.get("job_id") if by_hand else payload.get("slot")
        return cls(keys.check_slot(slot) if slot is not None else None, bool(payload.get("forced")), by_hand, delivery)


def carry_out(process: Process, space_id: str, order: DigestOrder, deadline: datetime) -> list[Worked[CurrentDigest]]:
    """Finish the open digest, then those asked for, until shortly before `deadline`. Another invocation does the rest.

    2 GETs. If no digest is open, 1 GET and 1 LIST show whether one is due. Raises InvalidName and StoreUnavailable.
    Raises StillAtWork, so that Lambda tries again, if a digest by hand must wait for another worker, or if nobody can
    tell whether that worker lives (LeaseTaken.fails).
    """
    keys.check_space_id(space_id)
    require_conditional_writes(process.store)
    try:
        meta = heads.refresh(process, space_id).meta
    except NotFound:
        return [Worked("gone")]
    slot_due: str | None = _wanted(process, meta, order)
    current = current_digest.find(process, space_id)
    done: list[Worked[CurrentDigest]] = []
    while len(done) < MOST_SLOTS:
        slot, behind = _next(process, space_id, order, current.value, slot_due)
        if not slot:
            break
        worked = _work(process, space_id, slot, order, deadline, current)
        done.append(worked)
        slot_due = behind if worked.stored else slot_due
        if worked.result in ("gone", "overtaken") and heads.find(process, space_id):
            # Another digest is the current one by now, or a person asked for one.
            current = current_digest.find(process, space_id)
        elif worked.outcome == "done" and worked.stored:
            current = worked.stored
        else:
            break
    return done or [Worked("nothing")]


def _wanted(process: Process, meta: Meta, order: DigestOrder) -> str:
    now = keys.compact_time(process.clock())
    return order.slot or (now if order.forced else digest_times.latest_slot(process, meta))


def _next(
    process: Process, space_id: str, order: DigestOrder, current: CurrentDigest, slot_due: str | None
) -> tuple[str | None, str | None]:
    """The slot to work on, None if there is nothing to do, and the slot that is still due after it.

    The open slot comes first, then one that a person asked for, then `slot_due`.
    """
    slot = current.open_slot or current.ordered
    if slot or not slot_due:
        return slot, None if slot == slot_due else slot_due
    while digest_progress.is_done(process, space_id, slot_due):
        if order.slot or not order.forced:
            return None, None
        # Another digest was begun in the same second.
        slot_due = current_digest.later(slot_due)
    return slot_due if _is_due(process, space_id, slot_due, order) else None, None


def _is_due(process: Process, space_id: str, slot: str, order: DigestOrder) -> bool:
    """Whether there is a message to digest. For a slot of the clock it must be from before that slot."""
    if order.by_hand:
        return True
    waits = digest_input.waits_since(process, space_id)
    return waits is not None and (order.forced or waits <= keys.slot_moment(slot))


def _work(
    process: Process,
    space_id: str,
    slot: str,
    order: DigestOrder,
    deadline: datetime,
    current: Stored[CurrentDigest],
) -> Worked[CurrentDigest]:
    """Continue the digest if it is the current one, else begin it in place of the ended one."""
    delivery, by_hand = order.delivery, order.by_hand
    if current.value.open_slot:
        return worker.work(process, KIND, space_id, slot, deadline, delivery=delivery, by_hand=by_hand, current=current)
    ordered, over = current.value.ordered, current if current.etag else None
    job = current_digest.new(process, space_id, slot, ordered=None if ordered == slot else ordered)
    try:
        return worker.begin(process, KIND, job, deadline, over=over, delivery=delivery, by_hand=by_hand)
    except PreconditionLost:
        return Worked("overtaken")


def _digest(work: Work[CurrentDigest]) -> End:
    process, space_id, slot = work.process, work.job.space_id, work.job.job_id
    task = DigestTask(work, heads.zone_of(process, heads.load_recent(process, space_id).meta))
    source = digest_input.ensure(process, space_id, slot)
    progress = digest_progress.look(process, space_id, slot)
    done = digest_progress.find_done(process, space_id, slot) if progress.done else None
    if not done:
        if not chunks.settle(task, source, progress):
            raise OutOfTime("Its other chunks are left to another invocation.")
        _settle_similar(task)
        # Exactly the messages of the input: all are in memories by now, or in dead letters.
        process.store.delete_many([IN_SPACE.key(space_id, name) for name in source.names()])
        done = digest_progress.write(process, DIGEST_DONE.key(space_id, slot), _counted(task, source, progress))
    work.counts["more"] += done.more
    return End(changes={"progress": Progress(done=done.chunks, total=done.chunks), "usage": done.usage})


def _settle_similar(task: DigestTask) -> None:
    """Compare similar memories, also those of this digest. A failure does not stop the digest."""
    if task.in_time():
        until = task.work.deadline - chunks.MARGIN
        try:
            settled = similar.settle(task.process, task.space_id, until)
            logger.info("memories compared", extra={"space_id": task.space_id, "merged": settled.merged})
        except LiveMemoryError as error:
            logger.warning("memories were not compared", extra={"space_id": task.space_id, "error_code": error.code})


def _counted(task: DigestTask, source: Input, progress: digest_progress.ChunkProgress) -> DigestDone:
    process, space_id, slot = task.process, task.space_id, task.slot
    answers = [EXTRACT.key(space_id, slot, number) for number in sorted(progress.extracts)]
    tried = [
        FAILED_TRY.key(space_id, slot, number, k + 1)
        for number, most in sorted(progress.tries.items())
        for k in range(most)
    ]
    stored = [STORED_FACTS.key(space_id, slot, number) for number in sorted(progress.stored)]
    facts = digest_progress.counted(process, stored, StoredFacts)
    used = [answer.usage for answer in digest_progress.counted(process, answers, Extract)]
    used += [attempt.usage for attempt in digest_progress.counted(process, tried, Try)]
    return DigestDone(
        slot=slot,
        messages=len(source.names()),
        chunks=len(source.chunks),
        dead_letters=sorted(progress.dead),
        new=sum(chunk.new for chunk in facts),
        merged=sum(chunk.merged for chunk in facts),
        refused=sum(chunk.refused for chunk in facts),
        usage=sum(used, Usage()),
        more=source.more,
        started_at=source.created_at,
        ended_at=clock.iso_millis(process.clock()),
    )


def start_due(process: Process, deadline: datetime) -> dict[str, str]:
    """Queue the digests that are due, and return the slot of each by space. It may run at any time and be repeated.

    1 LIST per 1,000 entries of the due index. For each space with messages 2 GETs, and 1 GET and 1 LIST if no digest is
    open. 1 DeleteObjects for the spaces without messages.
    """
    rooms = due_index.due_now(process).get("room", [])
    looks: list[tuple[Due, str | None]] = due_index.look_at(
        process, rooms, deadline, lambda due: _start(process, due.space_id), at_rest=AT_REST
    )
    return {due.space_id: slot for due, slot in looks if slot}


def _start(process: Process, space_id: str) -> str | None:
    try:
        slot = _due(process, space_id)
        if slot:
            process.enqueue("digest", DigestOrder(slot).payload(space_id))
    except LiveMemoryError as error:
        logger.warning("rooms were not looked at", extra={"space_id": space_id, "error_code": error.code})
        return None
    except Exception as error:  # noqa: BLE001 - an error in one space must not stop the others
        # The text of the error is not logged: it may hold data.
        logger.error("rooms were not looked at", extra={"space_id": space_id, "error": type(error).__name__})  # noqa: TRY400
        return None
    return slot


def _due(process: Process, space_id: str) -> str | None:
    """The slot that has work, AT_REST if no message waits, or None if messages wait for a later slot."""
    head = heads.find(process, space_id)
    if not head:
        return AT_REST
    slot = digest_times.latest_slot(process, head.meta)
    current = current_digest.find(process, space_id).value
    if current.open_slot or current.ordered:
        return slot
    waits = digest_input.waits_since(process, space_id)
    if waits is None:
        return AT_REST
    # Later messages wait for the next digest.
    if waits > keys.slot_moment(slot) or digest_progress.is_done(process, space_id, slot):
        return None
    return slot


def longest_wait(process: Process, deadline: datetime) -> float:
    """Hours that messages wait for a digest, in the space where they wait longest.

    1 LIST per 1,000 entries of the due index, 1 LIST for each space with messages, 2 LISTs and some GETs if any wait.
    Superfluous entries are removed.
    """
    rooms = due_index.due_now(process).get("room", [])
    looks = due_index.look_at(process, rooms, deadline, lambda due: _waits(process, due.space_id), at_rest=-1.0)
    return round(max((hours for _, hours in looks), default=0.0), 2)


def _waits(process: Process, space_id: str) -> float:
    try:
        return (digest_reading.hours_since_done(process, space_id) or 0.0) if heads.find(process, space_id) else 0.0
    except LiveMemoryError as error:
        logger.warning("rooms were not looked at", extra={"space_id": space_id, "error_code": error.code})
        return 0.0


_CAUGHT_UP = partial(TimedCache[str, str], MOST_KNOWN)
"""The last slot of each space that this process has checked."""


def next_at(process: Process, space_id: str) -> datetime:
    """When the next digest of the space is due: 1 GET, none if this process has read the space lately."""
    return digest_times.next_due(process, heads.load_recent(process, space_id).meta)


def catch_up(process: Process, space_id: str) -> None:
    """Queue the latest digest if it was missed: 1 GET, none if this process has checked since it was due.

    It runs after a post. Its failures are logged and do not fail the post.
    """
    try:
        slot = digest_times.latest_slot(process, heads.load_recent(process, space_id).meta)
        if process.cache(_CAUGHT_UP).notes(space_id, slot) and not digest_progress.is_done(process, space_id, slot):
            process.enqueue("digest", DigestOrder(slot).payload(space_id))
    except LiveMemoryError as error:
        # The next scheduled invocation finds it.
        logger.warning("a digest was not queued", extra={"space_id": space_id, "error_code": error.code})


def start(process: Process, space_id: str) -> str:
    """Ask for a digest now, and return its slot, with which `reading.load` shows its progress: 3 GETs, 1 PUT.

    If a digest that was asked for has not begun, its slot is returned. Raises NotFound, StoreUnavailable.
    """
    heads.load(process, space_id)
    require_conditional_writes(process.store)
    slot = current_digest.order(process, space_id, keys.compact_time(process.clock()))
    worker.queue(process, KIND, space_id, slot, by_hand=True)
    return slot


def retry(process: Process, space_id: str, slot: str) -> int:
    """Put the messages of given-up chunks back into their rooms, and return how many. It may be repeated.

    Some GETs, 2 LISTs, 1 PUT for each message, 1 DeleteObjects. Raises NotFound, InvalidName, ObjectUnreadable, and
    Conflict if the digest has not ended, or ended less than WAIT ago.
    """
    keys.check_slot(slot)
    heads.load(process, space_id)
    require_conditional_writes(process.store)
    done = _ended(process, space_id, slot)
    missing: list[str] = []
    dead = digest_reading.dead_letters(process, space_id, slot, missing)
    if missing:
        raise unreadable.error(missing[0])
    if not dead:
        return 0
    _check_age(done)
    due_index.leave_now(process, space_id, "room")
    count = sum(_put_back(process, space_id, slot, list(dead.values())))
    # The dead letters are removed last, so that an error before loses nothing.
    process.store.delete_many([DEAD_LETTER.key(space_id, slot, number) for number in dead])
    return count


def _ended(process: Process, space_id: str, slot: str) -> Object:
    done = process.store.get(DIGEST_DONE.key(space_id, slot))
    if not done:
        if not next(iter(process.store.scan(IN_DIGEST.prefix(space_id, slot), limit=1)), None):
            raise NotFound("digest", slot)
        raise Conflict("The digest has not ended: it continues by itself.", retry_after=600)
    return done


def _check_age(done: Object) -> None:
    if done.age < WAIT:
        rest = WAIT - done.age
        raise Conflict(
            "The digest ended a short time ago. Its dead letters can be tried again from "
            f"{clock.iso(done.seen_at + rest)} on.",
            retry_after=math.ceil(rest.total_seconds()),
        )


def _put_back(process: Process, space_id: str, slot: str, dead: Sequence[DeadLetter]) -> list[bool]:
    """Whether each message is in its room now. It is not if a later digest took it after an earlier try died."""
    source = digest_progress.read(process, DIGEST_INPUT.key(space_id, slot), Input)
    began = clock.parse(source.created_at) if source else process.clock()
    taken = digested.since(process, space_id, began)

    def one(place: tuple[str, bytes]) -> bool:
        name, body = place
        if any(taker.slot != slot and taker.created_at > began for taker in taken.get(name, ())):
            return False
        # An existing message was written by an earlier try. If none exists, the dead letter must stay.
        if not stored.write_once(process.store, IN_SPACE.key(space_id, name), body).etag:
            raise Conflict("A message is being moved: try again.", retry_after=60)
        return True

    todo = [(message.name, message.message.to_bytes()) for chunk in dead for message in chunk.messages]
    return process.store.map(one, todo)


class _Digests(Kind[CurrentDigest]):
    """The current digest of a space. No other digest takes its messages, so that it is never given up."""

    name = "digest"
    function = "digest"
    document = CurrentDigest
    gives_up = False
    longest_wait = timedelta(minutes=50)
    """Less than the hour until the next scheduled invocation."""
    keeps_place = False
    swept = True

    def key(self, space_id: str, _job_id: str, _subject: str | None = None) -> str:
        return CURRENT_DIGEST.key(space_id)

    def place(self, job: CurrentDigest) -> LeasePlace:
        return places.of_digest(job.space_id, job.job_id)

    def is_final(self, _error: LiveMemoryError) -> bool:
        return False

    def step(self, work: Work[CurrentDigest]) -> End:
        """Settle every chunk, and remove the digested messages. Raises RunError, OutOfTime, PreconditionLost."""
        try:
            return _digest(work)
        except NotFound as error:
            raise PreconditionLost("The space was deleted in the meantime.") from error
        except (OutOfTime, StoreUnavailable):
            raise
        except LiveMemoryError as error:
            if error.code == OUT_OF_TIME and work.saved:
                raise OutOfTime(error.detail) from error
            # The digest waits after any error, because no other digest takes its messages.
            raise RunError(error.code, error.detail) from error

    def on_end(self, work: Work[CurrentDigest]) -> None:
        """Queue another digest if the rooms held more than one digest takes. Its invocation has its own time."""
        if work.counts["more"]:
            # If it can't be queued, the next scheduled invocation finds the messages.
            with suppress(LiveMemoryError):
                work.process.enqueue("digest", DigestOrder(forced=True).payload(work.job.space_id))


KIND = _Digests()
