"""Erasing notes, a memory or a turn: the words go from the space, its backups, archives and former versions; a receipt
tells.

It is done under the lease, and gone on with by whoever comes next: the same request, its next invocation, or the sweep.
While it is under way no backup is taken or restored. Afterwards the space is watched for as long as a write of before
may come late, and looked at once more: then what came back goes as well.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import islice
from typing import Any

from livemem import clock
from livemem.access.principal import Principal
from livemem.changes import direct, records, recovery, reviews, settling
from livemem.erasure import holdings, maintenance, receipts, steps
from livemem.erasure.holdings import Found, Wanted, Watch
from livemem.erasure.receipts import NOT_REACHED, TOOLS
from livemem.errors import Busy, InvalidRequest, LiveMemoryError, NotFound, OutOfTime, StoreUnavailable
from livemem.jobs import counter, lease, places
from livemem.memories import erasing
from livemem.process import Process
from livemem.spaces import directory, due_index
from livemem.spaces import head as heads
from livemem.spaces.head import Head, Meta
from livemem.spaces.head_fields import Decision, Erasing
from livemem.spaces.receipt import Receipt
from livemem.store import conversation_keys, keys, memory_keys
from livemem.store.probe import require_conditional_writes
from livemem.store.stored import Stored

logger = logging.getLogger(__name__)

OTHER_SPACES = 200
"""Spaces whose heads are looked at for one that came from this one."""

ANOTHER = "Something else of this space is being erased; try again when that has ended."


def erase_note(
    process: Process, principal: Principal, space_id: str, note_id: str, deadline: datetime, *, erase: bool
) -> Receipt:
    """Erase a note, live or consolidated, also one that only a backup holds. `running` in the receipt: the rest of it
    is queued. The same request again goes on with it.

    Request counts: steps.erase, and 1 GET for each of up to 200 spaces. Raises InvalidRequest unless `erase`,
    InvalidName, NotFound, Busy, PreconditionLost, StoreUnavailable.
    """
    keys.parse_note_id(note_id)
    _check_meant(erase=erase)
    return _order(process, principal, space_id, Wanted(frozenset({note_id})), deadline)


def erase_agent(
    process: Process, principal: Principal, space_id: str, agent: str, deadline: datetime, *, erase: bool
) -> Receipt:
    """The same for all notes of an agent that there are now. NotFound where there is none."""
    keys.check_agent(agent)
    _check_meant(erase=erase)
    return _order(process, principal, space_id, Wanted(agent=agent), deadline)


def erase_memory(process: Process, principal: Principal, space_id: str, memory_id: str, deadline: datetime) -> Receipt:
    """The same for a memory, also for one that was deleted or has expired, or that only a backup holds; with those that
    were merged into it, or into which it was.

    In a request that has no time it is begun, and nobody finds the memory from then on; the rest of it is queued.
    Raises MemoriesBroken where nobody can tell what the space's memories are.
    """
    memory_keys.check_memory_id(memory_id)
    keys.check_space_id(space_id)
    ids = erasing.joined(process, space_id, memory_id)
    return _order(process, principal, space_id, Wanted(memory_ids=ids), deadline)


def erase_turn(
    process: Process, principal: Principal, space_id: str, conversation_id: str, index: int, deadline: datetime
) -> Receipt:
    """The same for a turn of a conversation, also of one that only a backup holds. Its place, its times and its length
    stay; the summaries that were made of it go, and are made anew without it.
    """
    conversation_keys.check_conversation_id(conversation_id)
    one = conversation_keys.turn_id(conversation_id, index)
    return _order(process, principal, space_id, Wanted(turns=frozenset({one})), deadline)


def _check_meant(*, erase: bool) -> None:
    if not erase:
        raise InvalidRequest.of("erase", "must be true: notes are never deleted, but they can be erased for ever")


def _order(process: Process, principal: Principal, space_id: str, wanted: Wanted, deadline: datetime) -> Receipt:
    keys.check_space_id(space_id)
    require_conditional_writes(process.store)
    heads.load(process, space_id)
    due_index.leave(process, space_id)
    watch = Watch(process, deadline)
    with _leased(process, space_id) as head:
        at_work = _at_work(process, head)
        if at_work and not at_work.value.is_for(wanted.agent, _ids(wanted)):
            raise Busy(ANOTHER)
        if at_work:
            _fence(process, space_id)
            return _go_on(process, at_work, watch)
        # Raises where it can't be gone on with: then nothing is begun.
        has_memory = any(erasing.is_known(process, space_id, one) for one in wanted.memory_ids)
        found = _find(process, space_id, wanted, watch)
        if found and not found.bodies and (earlier := _earlier(process, head, wanted)):
            return earlier
        if found and not found.known and not has_memory:
            for note_id in wanted.note_ids:
                # Raises where it may be in a record that was set aside: nobody could promise that it is gone.
                records.find_note(process, space_id, keys.parse_note_id(note_id))
            raise _unknown(wanted)
        saved = _begin(process, principal, head, wanted, found)
        # Who had lost the lease may have committed before the head was swapped: then the notes are elsewhere by now.
        # Memories are stored under no lease: where they are is told when nobody stores more to one (_go_on).
        same = heads.load(process, space_id).meta.changes == head.meta.changes and not wanted.memory_ids
        return _go_on(process, saved, watch, found if same else None)


def _find(process: Process, space_id: str, wanted: Wanted, watch: Watch) -> Found | None:
    """The notes; None if time runs out: whoever goes on looks for them again."""
    try:
        return holdings.find(process, space_id, wanted, watch)
    except OutOfTime:
        return None


def _ids(wanted: Wanted) -> frozenset[str]:
    return wanted.note_ids | wanted.memory_ids | wanted.turns


def _unknown(wanted: Wanted) -> NotFound:
    if wanted.memory_ids:
        return NotFound("memory", next(iter(wanted.memory_ids)))
    if wanted.turns:
        return NotFound("turn", next(iter(wanted.turns)))
    if wanted.agent is None:
        return NotFound("note", next(iter(wanted.note_ids)))
    error = NotFound("note of agent", wanted.agent)
    error.code = "note_not_found"
    return error


def _earlier(process: Process, head: Head, wanted: Wanted) -> Receipt | None:
    """The receipt of the same request, if it was done a short time ago: perhaps its answer was lost."""
    watched = head.meta.erasing.watched if head.meta.erasing else {}
    for erasure_id in sorted(watched, reverse=True):
        saved = receipts.find(process, head.meta.space_id, erasure_id)
        if saved and saved.value.status == "done" and saved.value.is_for(wanted.agent, _ids(wanted)):
            return saved.value
    return None


@contextmanager
def _leased(process: Process, space_id: str) -> Iterator[Head]:
    """The space's head under the lease, with nothing committed and unwritten: as before any change of the bank."""
    held = lease.acquire(process, places.of_space(space_id), process.new_id(), "erasure", by_hand=True)
    with direct.freed_after_error(process, held), lease.kept(process, held):
        yield direct.settled(process, space_id, held.lease.abandoned)
    lease.quietly_release(process, held)
    # A put event that came meanwhile found the space busy.
    counter.start_if_possible(process, space_id)


def _at_work(process: Process, head: Head) -> Stored[Receipt] | None:
    """The erasure that is under way. One without a receipt has died before it began. Raises ObjectUnreadable."""
    erasure_id = head.meta.erasing_now()
    return receipts.find_readable(process, head.meta.space_id, erasure_id) if erasure_id else None


def _fence(process: Process, space_id: str) -> None:
    """Swap the head: who holds a lease no more that was his can't commit now what he read before."""
    head = heads.update(process, space_id, lambda meta: {"erasing": meta.erasing})
    recovery.recover(process, head)


def _begin(process: Process, principal: Principal, head: Head, wanted: Wanted, found: Found | None) -> Stored[Receipt]:
    """Say in the head that an erasure is under way, and write its receipt: 2 PUT."""
    space_id, erasure_id = head.meta.space_id, process.new_id()
    receipt = Receipt(
        erasure_id=erasure_id,
        space_id=space_id,
        uid=head.meta.uid,
        requested_by=principal.name,
        agent=wanted.agent,
        note_ids=sorted(found.known if found and wanted.has_notes else wanted.note_ids),
        memory_ids=sorted(wanted.memory_ids),
        turns=sorted(wanted.turns),
        started_at=clock.iso(process.clock()),
        not_reached=[*NOT_REACHED, *([TOOLS] if wanted.turns else []), *_copies(process, principal, space_id)],
    )
    head = heads.update(process, space_id, lambda meta: _begun(meta, erasure_id))
    recovery.recover(process, head)
    return receipts.create(process, receipt)


def _begun(meta: Meta, erasure_id: str) -> dict[str, object]:
    """What the head says from then on. A plan that waits may quote what goes, and nobody may approve it any more."""
    given_up = Decision(status="superseded", message=reviews.ERASED)
    return {"erasing": _erasing(meta, at_work=erasure_id), **meta.decided(given_up)}


def _copies(process: Process, principal: Principal, space_id: str) -> list[str]:
    """The spaces, of those that the caller may see, that came from this one: 1 LIST, 1 GET each."""
    others = (other for other in directory.ids(process) if other != space_id and principal.may_see(other))
    found = process.store.map(lambda other: _came_from(process, other), list(islice(others, OTHER_SPACES)))
    named = [other for other, source in found if source == space_id]
    return [f"The space {other!r} came from this one: erase there as well." for other in named]


def _came_from(process: Process, space_id: str) -> tuple[str, str | None]:
    try:
        head = heads.find_any(process, space_id)
    except LiveMemoryError:
        return space_id, None
    return space_id, head.meta.arrival.space_id if head and head.meta.arrival else None


def _erasing(meta: Meta, **changes: object) -> Erasing:
    return (meta.erasing or Erasing()).model_copy(update=changes)


def _go_on(process: Process, saved: Stored[Receipt], watch: Watch, found: Found | None = None) -> Receipt:
    """Erase what the receipt says, and let the space be watched from then on."""
    receipt = saved.value
    space_id, erasure_id = receipt.space_id, receipt.erasure_id
    if receipt.status == "running":
        _close_logs(process, receipt)
        try:
            found = found or holdings.find(process, space_id, _wanted(receipt), watch)
            if not receipt.ids:
                saved = receipts.save(process, saved, note_ids=sorted(found.known))
            saved = steps.erase(process, saved, found, watch)
        except OutOfTime:
            # If this fails the sweep goes on with it.
            with suppress(StoreUnavailable):
                maintenance.queue(process, space_id, erasure_id)
            return _newest(process, receipt)
    until = clock.iso(process.clock() + settling.WATCHED_FOR)
    heads.update(process, space_id, lambda meta: {"erasing": _watched(meta, erasure_id, until)})
    logger.info("erased", extra={"space_id": space_id, "erasure_id": erasure_id})
    return saved.value


def _close_logs(process: Process, receipt: Receipt) -> None:
    """From now on nobody stores anything to the memories, or brings them back."""
    day = clock.parse(receipt.started_at).date()
    for memory_id in receipt.memory_ids:
        erasing.close(process, receipt.space_id, receipt.requested_by, memory_id, day)


def _wanted(receipt: Receipt) -> Wanted:
    """What is looked for: the notes that there were when it began, so that it ends."""
    agent = None if receipt.ids else receipt.agent
    return Wanted(frozenset(receipt.note_ids), agent, frozenset(receipt.memory_ids), frozenset(receipt.turns))


def _newest(process: Process, receipt: Receipt) -> Receipt:
    saved = receipts.find(process, receipt.space_id, receipt.erasure_id)
    return saved.value if saved else receipt


def _watched(meta: Meta, erasure_id: str, until: str) -> Erasing:
    watched = meta.erasing.watched if meta.erasing else {}
    return Erasing(watched={**watched, erasure_id: until})


def work(process: Process, payload: Mapping[str, Any], deadline: datetime) -> dict[str, Any]:
    """Go on with an erasure in an invocation of its own, or look once more at one that was watched.

    Raises Busy, PreconditionLost, StoreUnavailable, so that it is tried again.
    """
    space_id, erasure_id = payload["space_id"], payload["erasure_id"]
    require_conditional_writes(process.store)
    watch = Watch(process, deadline)
    try:
        head = heads.load(process, space_id)
        if not _is_due(process, head, erasure_id):
            return {"status": "ended"}
        with _leased(process, space_id) as head:
            if not _is_due(process, head, erasure_id):
                return {"status": "ended"}
            if head.meta.erasing_now() == erasure_id:
                return {"status": _resume(process, head, erasure_id, watch)}
            return {"status": _look_once_more(process, head, erasure_id, watch)}
    except NotFound:
        # The space was deleted meanwhile, which it can't be while an erasure is under way.
        return {"status": "gone"}


def _is_due(process: Process, head: Head, erasure_id: str) -> bool:
    return erasure_id in maintenance.due(head.meta, process.clock())


def _resume(process: Process, head: Head, erasure_id: str, watch: Watch) -> str:
    saved = _at_work(process, head)
    if not saved:
        heads.update(process, head.meta.space_id, lambda meta: {"erasing": _ended(meta, erasure_id)})
        return "never_began"
    _fence(process, head.meta.space_id)
    return _go_on(process, saved, watch).status


def _look_once_more(process: Process, head: Head, erasure_id: str, watch: Watch) -> str:
    """Remove what a late request has brought back; then the space is watched no more, else from now on again."""
    space_id = head.meta.space_id
    saved = receipts.find_readable(process, space_id, erasure_id)
    if saved:
        _fence(process, space_id)
        try:
            found = holdings.find(process, space_id, _wanted(saved.value), watch)
            if found.bodies:
                logger.warning("something erased came back", extra={"space_id": space_id, "erasure_id": erasure_id})
                heads.update(process, space_id, lambda meta: {"erasing": _erasing(meta, at_work=erasure_id)})
                saved = receipts.save(process, saved, status="running", finished_at=None)
                return _go_on(process, saved, watch).status
            steps.erase(process, saved, found, watch)
        except OutOfTime:
            maintenance.queue(process, space_id, erasure_id)
            return "unfinished"
    heads.update(process, space_id, lambda meta: {"erasing": _ended(meta, erasure_id)})
    return "ended"


def _ended(meta: Meta, erasure_id: str) -> Erasing | None:
    erasing = meta.erasing or Erasing()
    watched = {known: until for known, until in erasing.watched.items() if known != erasure_id}
    at_work = erasing.at_work if erasing.at_work != erasure_id else None
    return Erasing(at_work=at_work, watched=watched) if at_work or watched else None
