"""Carrying out digests that the schedule, a full room or a person asks for.

If there is nothing to do, nothing is written and no LLM is asked. The work is the job of the current digest
(jobs/worker.py), one digest after the other.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from livemem import clock
from livemem.errors import LiveMemoryError, NotFound, OutOfTime, PreconditionLost, RunError, StoreUnavailable
from livemem.jobs import places, worker
from livemem.jobs.job import Progress
from livemem.jobs.lease import LeasePlace
from livemem.jobs.worker import End, Kind, Work, Worked
from livemem.llm.answering import OUT_OF_TIME
from livemem.llm.usage import Usage
from livemem.memories import similar
from livemem.process import Process
from livemem.rooms import chunks, current_digest, digest_input, digest_progress, digest_times
from livemem.rooms.chunks import DigestTask
from livemem.rooms.current_digest import CurrentDigest
from livemem.rooms.digest_documents import DigestDone, Extract, StoredFacts, Try
from livemem.rooms.digested import Input
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.store.bucket import CURRENT_DIGEST, DIGEST_DONE, EXTRACT, FAILED_TRY, IN_SPACE, STORED_FACTS
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Stored

logger = logging.getLogger(__name__)

MOST_SLOTS = 8
"""Digests that one invocation carries out, one after the other."""


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


def latest_slot(process: Process, meta: Meta) -> str:
    """The slot of the space that was due last."""
    hours = digest_times.hours(process.settings.digest_hours)
    return keys.compact_time(digest_times.latest(process.clock(), heads.zone_of(process, meta), hours))


def next_due(process: Process, meta: Meta) -> datetime:
    """When the next digest of the space is due."""
    hours = digest_times.hours(process.settings.digest_hours)
    return digest_times.following(process.clock(), heads.zone_of(process, meta), hours)


def _wanted(process: Process, meta: Meta, order: DigestOrder) -> str:
    now = keys.compact_time(process.clock())
    return order.slot or (now if order.forced else latest_slot(process, meta))


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
