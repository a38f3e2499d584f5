"""Erasing notes, a memory or a turn: the words go from the space, its backups, archives and former versions; a receipt
tells.

It is a job under the space's lease. The same request, its next invocation, or the sweep continues it. The head names it
while it is under way: then no backup is taken or restored. Afterwards the space is watched for as long as an earlier
write may come late, and looked at once more. Words that came back then go as well.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime

from livemem import clock
from livemem.access.principal import Principal
from livemem.changes import direct, late_write_repair, records, recovery, reviews
from livemem.erasure import occurrences, receipts, steps
from livemem.erasure.occurrences import ErasureTarget, Occurrences
from livemem.erasure.receipts import NOT_REACHED, TOOLS
from livemem.errors import Busy, LiveMemoryError, NotFound, OutOfTime, StillAtWork
from livemem.jobs import counter, lease, places, worker
from livemem.jobs import job as jobs
from livemem.jobs.receipt import Receipt
from livemem.jobs.worker import End, Kind, Work, Worked
from livemem.memories import erasing
from livemem.process import Process
from livemem.spaces import due_index
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.spaces.head_fields import Decision, Erasing
from livemem.store import keys
from livemem.store.bucket import ERASURE
from livemem.store.capability_check import require_conditional_writes
from livemem.store.stored import Stored

logger = logging.getLogger(__name__)

ANOTHER = "Another erasure of this space is in progress. Try again when it has ended."


def erase(
    process: Process,
    principal: Principal,
    space_id: str,
    ids: Sequence[str],
    deadline: datetime,
    *,
    agent: str | None = None,
) -> Receipt:
    """Erase notes, memories and turns by their ids as `read` takes them, or all notes of an agent that there are now;
    also what was deleted or has expired, or what only a backup holds. With a memory go those that were merged into it,
    or into which it was merged. Of a turn place, times and length stay; the summaries that were made of it go, and are
    made again without it.

    Unless each of them is known, nothing is erased, as far as the time suffices to look for them. A request that has
    no time begins it, and queues the rest: `running` in the receipt. From then on nobody finds the memory; of several
    as many as there was time for. The same request again continues it.

    Request counts: steps.erase, receipts.with_copies, erasing.joined.
    Raises InvalidName, InvalidRequest, TooLarge, NotFound, Busy, PreconditionLost, StoreUnavailable; MemoriesBroken
    where nobody can tell what the space's memories are.
    """
    chosen = ErasureTarget.of(space_id, ids, agent)
    target = chosen.with_merged(process, space_id)
    require_conditional_writes(process.store)
    uid = heads.load(process, space_id).meta.uid
    due_index.leave(process, space_id)
    work = Work(process, KIND, Stored("", new_receipt(process, principal, space_id, uid, target), ""), deadline)
    with _leased(work) as head:
        receipt = _begin_or_continue(work, head, chosen, target)
    return receipts.with_copies(process, principal, receipt)


def _begin_or_continue(work: Work[Receipt], head: Head, chosen: ErasureTarget, target: ErasureTarget) -> Receipt:
    """Erase under the lease, as far as the time suffices. Returns the receipt of the request, or of an equal earlier
    one.
    """
    process, space_id = work.process, work.job.space_id
    # Raises where it can't be continued: then nothing is begun.
    named = head.meta.erasing_now()
    at_work = receipts.find_readable(process, space_id, named) if named else None
    if at_work:
        if not at_work.value.is_for(target.agent, target.ids):
            raise Busy(ANOTHER)
        work.stored = at_work
        return _resume(work, head).job or work.job
    result = None
    with suppress(OutOfTime):
        # The worker that continues looks for them again.
        result = occurrences.find(work, target)
    if result and not result.bodies and (earlier := _earlier(process, head, target)):
        return earlier
    if result:
        _check_known(process, space_id, chosen, result)
    begun = _begin(work, head, target, result)
    # A worker without its lease may have committed before the swap of the head: then the notes are elsewhere now.
    # Memories are stored under no lease: where they are is told when nobody stores more to one (_erase).
    same = begun.meta.changes == head.meta.changes and not target.memory_ids
    return _go_on(work, result if same else None, taken=True).job or work.job


def _check_known(process: Process, space_id: str, chosen: ErasureTarget, occurrences: Occurrences) -> None:
    """Raise NotFound for one that is nowhere: nothing is erased before the caller knows."""
    if chosen.agent is not None and not occurrences.known:
        error = NotFound("note of agent", chosen.agent)
        error.code = "note_not_found"
        raise error
    rest = chosen.ids - occurrences.known
    memories = erasing.known(process, space_id, rest & chosen.memory_ids)
    for item in sorted(rest - memories):
        if item in chosen.turns:
            raise NotFound("turn", item)
        if item in chosen.note_ids:
            # Raises where it may be in a record that cannot be read: nobody could promise that it is gone.
            records.find_note(process, space_id, keys.parse_note_id(item))
            raise NotFound("note", item)
        raise NotFound("memory", item)


def _earlier(process: Process, head: Head, target: ErasureTarget) -> Receipt | None:
    """The receipt of the same request, if it was done a short time ago: perhaps its answer was lost."""
    watched = head.meta.erasing.watched if head.meta.erasing else {}
    for erasure_id in sorted(watched, reverse=True):
        saved = receipts.find(process, head.meta.space_id, erasure_id)
        if saved and saved.value.status == "done" and saved.value.is_for(target.agent, target.ids):
            return saved.value
    return None


@contextmanager
def _leased(work: Work[Receipt]) -> Iterator[Head]:
    """The space's head under the lease, which is the work's: as before any change of the bank."""
    process, space_id, owner = work.process, work.job.space_id, work.job.job_id
    place = places.of_space(space_id)
    hold = lease.acquire_in_turn(process, place, owner, KIND.name, worker=process.new_id())
    work.hold = hold
    with direct.freed_after_error(process, hold), lease.renewal(process, hold):
        yield direct.settled(process, space_id, hold.lease.abandoned)
    if work.hold is hold:
        lease.quietly_release(process, hold)
    # A put event that came meanwhile found the space busy.
    counter.start_if_possible(process, space_id)


def _fence(process: Process, head: Head) -> None:
    """Swap the head: then a worker that has lost its lease can't commit what it read before. 1 PUT."""
    swapped = heads.update(process, head.meta.space_id, lambda meta: {"erasing": meta.erasing}, head=head)
    recovery.recover(process, swapped)


def new_receipt(process: Process, principal: Principal, space_id: str, uid: str, target: ErasureTarget) -> Receipt:
    """The receipt of an erasure that begins now. It is not stored yet."""
    now = clock.iso_millis(process.clock())
    return Receipt(
        job_id=process.new_id(),
        space_id=space_id,
        uid=uid,
        subject=target.agent or (next(iter(target.ids)) if len(target.ids) == 1 else None),
        requested_by=principal.name,
        agent=target.agent,
        note_ids=sorted(target.note_ids),
        memory_ids=sorted(target.memory_ids),
        turns=sorted(target.turns),
        not_reached=[*NOT_REACHED, *([TOOLS] if target.turns else [])],
        status="running",
        attempt=1,
        created_at=now,
        started_at=now,
    )


def _begin(work: Work[Receipt], head: Head, target: ErasureTarget, occurrences: Occurrences | None) -> Head:
    """Write the receipt, and say in the head that the erasure is under way: 2 PUT. Returns the head after it.

    A receipt that the head has never named does not count: nothing was erased for it.
    """
    process, receipt = work.process, work.job
    if occurrences and target.has_notes:
        receipt = receipt.changed({"note_ids": sorted(occurrences.known - target.memory_ids - target.turns)})
    key = KIND.key(receipt.space_id, receipt.job_id)
    work.stored = jobs.create(process, key, receipt)
    swapped = heads.update(process, receipt.space_id, lambda meta: _begun(meta, head, receipt.job_id), head=head)
    return recovery.recover(process, swapped)


def _begun(meta: Meta, head: Head, erasure_id: str) -> dict[str, object]:
    """The head's fields from then on. A plan that waits may quote erased words, so nobody may approve it any more."""
    given_up = Decision(code="superseded", message=reviews.ERASED)
    return {**_at_work(meta, head, erasure_id), **meta.decided(given_up)}


def _at_work(meta: Meta, head: Head, erasure_id: str) -> dict[str, object]:
    """The field of the erasure alone. Raises Busy if another one is under way that `head` did not name. The one that it
    named has no receipt.
    """
    if meta.erasing_now() not in (None, erasure_id, head.meta.erasing_now()):
        # A worker that stood still and lost the lease must not remove another's from the head.
        raise Busy(ANOTHER)
    return {"erasing": (meta.erasing or Erasing()).model_copy(update={"at_work": erasure_id})}


def _resume(work: Work[Receipt], head: Head) -> Worked[Receipt]:
    """Continue the erasure that the head names as under way, or let the space be watched where it died at its end."""
    if work.job.ended():
        KIND.on_end(work)
        return Worked("ended", work.stored)
    _fence(work.process, head)
    return _go_on(work)


def _go_on(work: Work[Receipt], occurrences: Occurrences | None = None, *, taken: bool = False) -> Worked[Receipt]:
    """Erase in the time that there is, after the head was swapped under the lease; the rest is queued."""
    work.kind = _Erasures(head_is_read=True, occurrences=occurrences)
    return worker.go_on(work, taken=taken)


def _erase(work: Work[Receipt], found: Occurrences | None = None) -> End:
    """Erase what the receipt says. Raises OutOfTime."""
    _close_logs(work)
    found = found or occurrences.find(work, _wanted(work.job))
    if not work.job.ids:
        work.save(note_ids=sorted(found.known))
    # Notes that were captured from a turn are found by it, also those that a late worker wrote.
    captured = found.known - work.job.ids if work.job.turns else set()
    if captured:
        work.save(note_ids=sorted({*work.job.note_ids, *captured}))
    steps.erase(work, found)
    return End(changes={"sections": list(steps.sections(work.process, work.job))})


def _watched(meta: Meta, erasure_id: str, until: str) -> dict[str, object]:
    if not meta.erasing or meta.erasing.at_work != erasure_id:
        return {}
    return {"erasing": Erasing(watched={**meta.erasing.watched, erasure_id: until})}


def _close_logs(work: Work[Receipt]) -> None:
    """From now on nobody stores anything to the memories, or brings them back. Without time to one of them alone."""
    receipt = work.job
    day = clock.parse(receipt.created_at).date()
    for _ in erasing.close(work.process, receipt.space_id, receipt.requested_by, receipt.memory_ids, day):
        occurrences.check_time(work)


def _wanted(receipt: Receipt) -> ErasureTarget:
    """The target of the search: only the notes that existed when the erasure began, so that it ends."""
    agent = None if receipt.ids else receipt.agent
    return ErasureTarget(frozenset(receipt.note_ids), agent, frozenset(receipt.memory_ids), frozenset(receipt.turns))


def carry_out(process: Process, space_id: str, erasure_id: str, deadline: datetime) -> Worked[Receipt]:
    """Continue an erasure in an invocation of its own, or look once more at one that was watched.

    Raises StillAtWork, Busy, PreconditionLost, StoreUnavailable, ObjectUnreadable, so that it is tried again.
    """
    require_conditional_writes(process.store)
    try:
        result = receipts.find_readable(process, space_id, erasure_id)
        if not result:
            # It is written before the head names it: so somebody has removed it.
            receipts.forget(process, space_id, erasure_id)
            return Worked("gone")
        if result.value.ended():
            return _go_on_after_end(Work(process, KIND, result, deadline))
        return worker.work(process, KIND, space_id, erasure_id, deadline, by_hand=True, current=result)
    except NotFound:
        # The space was deleted meanwhile, which it can't be while an erasure is under way.
        return Worked("gone")


def _go_on_after_end(work: Work[Receipt]) -> Worked[Receipt]:
    """Continue where a worker died at its end, before it let the space be watched, or look at a watched erasure."""
    process, space_id = work.process, work.job.space_id
    if not _is_due(heads.load(process, space_id), work):
        return Worked("ended", work.stored)
    with _leased(work) as head:
        if not _is_due(head, work):
            return Worked("ended", work.stored)
        if not head.meta.erasing_now():
            return _look_once_more(work, head)
        # Perhaps somebody has looked once more since it was read, and it is at work again.
        work.stored = receipts.find_readable(process, space_id, work.job.job_id) or work.stored
        return _resume(work, head)


def _is_due(head: Head, work: Work[Receipt]) -> bool:
    return work.job.job_id in receipts.due(head.meta, work.process.clock())


def _look_once_more(work: Work[Receipt], head: Head) -> Worked[Receipt]:
    """Remove the objects that a late request has brought back. Without any the watch ends, else the erasure is at work
    again.
    """
    process, space_id, erasure_id = work.process, work.job.space_id, work.job.job_id
    _fence(process, head)
    try:
        result = occurrences.find(work, _wanted(work.job))
        if result.bodies:
            logger.warning("something erased came back", extra={"space_id": space_id, "erasure_id": erasure_id})
            heads.update(process, space_id, lambda meta: _at_work(meta, head, erasure_id))
            work.stored = jobs.change(process, work.stored, status="running", ended_at=None)
            return _go_on(work, result, taken=True)
        steps.erase(work, result)
    except OutOfTime:
        worker.queue(process, KIND, space_id, erasure_id)
        return Worked("unfinished", work.stored)
    receipts.forget(process, space_id, erasure_id)
    return Worked("ended", work.stored)


class _Erasures(Kind[Receipt]):
    """An erasure. `head_is_read`: the worker has just read and settled the head under the lease. `occurrences`: what
    it saw there that is to be erased.
    """

    name = "erasure"
    function = "backup"
    document = Receipt
    # An erasure that was begun is always finished.
    gives_up = False
    keeps_place = False
    swept = True

    def __init__(self, *, head_is_read: bool = False, occurrences: Occurrences | None = None) -> None:
        self._head_is_read, self._found = head_is_read, occurrences

    def key(self, space_id: str, job_id: str, _subject: str | None = None) -> str:
        return ERASURE.key(space_id, job_id)

    def place(self, job: Receipt) -> lease.LeasePlace:
        return places.of_space(job.space_id)

    def is_final(self, _error: LiveMemoryError) -> bool:
        return False

    def step(self, work: Work[Receipt]) -> End:
        """Erase, in an invocation of its own after a look at the head. Raises NotFound where the head does not name
        the erasure.
        """
        if self._head_is_read:
            return _erase(work, self._found)
        process, receipt = work.process, work.job
        assert work.hold
        head = direct.settled(process, receipt.space_id, work.hold.lease.abandoned)
        if not _is_due(head, work):
            raise NotFound("job", receipt.job_id)
        _fence(process, head)
        return _erase(work)

    def after(self, process: Process, space_id: str, worked: Worked[Receipt]) -> None:
        # A put event that came meanwhile found the space busy.
        counter.start_if_possible(process, space_id)
        if worked.result == "overtaken" and worked.job and not worked.job.ended():
            raise StillAtWork("Another worker continues the erasure.")

    def on_end(self, work: Work[Receipt]) -> None:
        """Let the space be watched from now on: 1 GET, 1 PUT."""
        space_id, erasure_id = work.job.space_id, work.job.job_id
        until = clock.iso(work.process.clock() + late_write_repair.WATCHED_FOR)
        heads.update(work.process, space_id, lambda meta: _watched(meta, erasure_id, until))


KIND = _Erasures()
