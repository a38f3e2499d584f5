"""The sweep: what events and retries did not finish. Every 15 minutes in the spaces that are marked, once a day in all.

Each package maintains its own part of a space; here is only the way through the spaces, their markers
(spaces/markers.py), the remains of spaces whose deletion or creation was interrupted, and spaces that are being brought
here.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from livemem.archives import expiry
from livemem.arrivals import bringing
from livemem.conversations import maintenance as conversations
from livemem.errors import LiveMemoryError, ObjectUnreadable, PreconditionLost
from livemem.jobs import maintainable, retention
from livemem.jobs.maintainable import MORE_WORK, OLDEST
from livemem.memories import expiry as memories
from livemem.memories.maintenance import EXPIRED
from livemem.process import Process
from livemem.spaces import directory, life, markers, pending
from livemem.spaces import head as heads
from livemem.spaces.life import TOMBSTONE_LIFE
from livemem.spaces.markers import Marks
from livemem.spaces.unreadable import objects
from livemem.store import keys, timing
from livemem.store.probe import require_conditional_writes
from livemem.upkeep import packages, sweep_order, unreadable
from livemem.upkeep.sweep_order import Kind

logger = logging.getLogger(__name__)

SPACES_AT_ONCE = 64
SHORTEST_ROUND = timedelta(seconds=30)
"""Time that must be left to begin with further spaces."""
SHARE = timedelta(minutes=1)
"""Of one space, however much there is to do in it: what is left is gone on with by the next sweep."""
DUE_SHARE = 0.25
"""Of the time that is left, for the conversations that are due, and for the memories that have expired."""
LAST_ROUND = timedelta(seconds=10)
"""The same, to mark those that were not reached."""


@dataclass
class Report:
    """What a sweep did: `done` by what it was and by space, with how many or how old (in seconds) where that tells."""

    spaces: int = 0
    done: dict[str, dict[str, float]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    unreadable: dict[str, list[str]] = field(default_factory=dict)
    """Keys of the objects that cannot be read, by space."""

    def did(self, what: str) -> list[str]:
        """The spaces in which it was done."""
        return list(self.done.get(what, {}))

    def most(self, what: str) -> float:
        """The largest number of it in one space."""
        return max(self.done.get(what, {}).values(), default=0.0)

    def add(self, space_id: str, done: Mapping[str, float]) -> None:
        """Take in what was done for one space."""
        for what, number in done.items():
            self.done.setdefault(what, {})[space_id] = number


def sweep(process: Process, *, deadline: datetime, everything: bool = False) -> Report:
    """Look at every marked space once, or at all there are (`everything`), until shortly before `deadline`.

    1 LIST per 1,000 markers where none asks for a look. One space's failure does not stop the others.
    """
    others: list[str] = []
    marked = markers.listed(process, others)
    # Without put events nobody hears of a note, so nobody marks its space.
    everything = everything or not process.settings.put_events
    if everything:
        left = sorted({*directory.ids(process), *marked})
    else:
        left = sorted(space_id for space_id, marks in marked.items() if marks.plain)
    if left:
        require_conditional_writes(process.store)
    # Before the spaces: neither waits for what lies in them, and each has its share.
    started = _start_due_conversations(process, _share(process, deadline))
    expired = _delete_expired_memories(process, _share(process, deadline))
    unreadable_objects = _check_unreadable(process, objects(others), _share(process, deadline))
    report = Report()
    resting = dict(marked)
    kind: Kind | None = ("all" if everything else "marked") if len(left) > SPACES_AT_ONCE else None
    left = sweep_order.ordered(process, kind, left) if kind else left
    end = deadline - LAST_ROUND
    while left and deadline - process.clock() > SHORTEST_ROUND:
        some, left = left[:SPACES_AT_ONCE], left[SPACES_AT_ONCE:]
        if kind:
            sweep_order.begin(process, kind, some)
        outcomes = process.store.map(
            lambda space_id: _look_after(process, space_id, marked.get(space_id, Marks()), end, daily=everything),
            some,
        )
        for space_id, done in zip(some, outcomes, strict=True):
            report.spaces += 1
            if done is None:
                report.failed.append(space_id)
            else:
                report.add(space_id, done)
                resting.pop(space_id, None)
    report.done |= started
    report.unreadable = unreadable_objects
    _add_expired(report, expired)
    if left:
        logger.warning("sweep ran out of time", extra={"spaces": report.spaces, "left": len(left)})
        _leave_to_the_next(
            process, [space_id for space_id in left if not marked.get(space_id, Marks()).plain], deadline
        )
    else:
        if kind:
            sweep_order.end(process, kind)
        if everything:
            _remove_old_days(process)
            _remove_old_archives(process)
    _add_oldest(report, resting, process.clock())
    return report


def _start_due_conversations(process: Process, deadline: datetime) -> dict[str, dict[str, float]]:
    """Start the summaries that are due (conversations/maintenance.py)."""
    try:
        started = conversations.start_due(process, deadline)
    except LiveMemoryError as error:
        logger.warning("conversations were not looked at", extra={"error_code": error.code})
        return {}
    return {"conversations_started": started} if started else {}


def _check_unreadable(process: Process, marked: Iterable[str], deadline: datetime) -> dict[str, list[str]]:
    """Which of the objects with a marker still cannot be read (upkeep/unreadable.py)."""
    try:
        return dict(unreadable.check(process, marked, deadline))
    except LiveMemoryError as error:
        logger.warning("unreadable objects were not looked at", extra={"error_code": error.code})
        return {}


def _share(process: Process, deadline: datetime) -> datetime:
    """Until when something may go on that is not all there is to do."""
    now = process.clock()
    return now + DUE_SHARE * (deadline - now)


def _delete_expired_memories(process: Process, deadline: datetime) -> Mapping[str, float]:
    """Delete the memories that have expired (memories/expiry.py): how many by space."""
    try:
        return memories.sweep(process, deadline)
    except LiveMemoryError as error:
        logger.warning("memories were not looked at", extra={"error_code": error.code})
        return {}


def _add_expired(report: Report, expired: Mapping[str, float]) -> None:
    # The look of once a day has deleted some too.
    before = report.done.get(EXPIRED, {})
    for space_id, count in expired.items():
        report.add(space_id, {EXPIRED: before.get(space_id, 0) + count})


def _remove_old_days(process: Process) -> None:
    """Remove the index of days whose runs are kept no longer: 1 LIST, and 1 DeleteObjects if there are any."""
    try:
        retention.remove_days(process)
    except LiveMemoryError as error:
        logger.warning("old days of runs were not removed", extra={"error_code": error.code})


def _remove_old_archives(process: Process) -> None:
    """Remove archives that are kept no longer (archives/expiry.py)."""
    try:
        expiry.expire(process)
    except LiveMemoryError as error:
        logger.warning("old archives were not removed", extra={"error_code": error.code})


def _leave_to_the_next(process: Process, unmarked: Sequence[str], deadline: datetime) -> None:
    """Mark the spaces that were not reached, as many as there is time for."""
    for start in range(0, len(unmarked), SPACES_AT_ONCE):
        if deadline - process.clock() <= LAST_ROUND:
            return
        process.store.map(lambda space_id: markers.leave(process, space_id), unmarked[start : start + SPACES_AT_ONCE])


def _add_oldest(report: Report, resting: Mapping[str, Marks], now: datetime) -> None:
    """Take in how long a note waits in the spaces that were not looked at: that of the oldest is enough."""
    waiting = [(moment, space_id) for space_id, marks in resting.items() for moment in marks.waiting]
    if waiting:
        moment, space_id = min(waiting)
        report.add(space_id, {OLDEST: pending.age(moment, now)})


def _look_after(
    process: Process, space_id: str, marks: Marks, end: datetime, *, daily: bool
) -> Mapping[str, float] | None:
    """What was done for the space until its share is over, None if that failed; and its markers are right."""
    try:
        done, oldest = _maintain(process.within(min(process.clock() + SHARE, end)), space_id, daily=daily)
    except LiveMemoryError as error:
        logger.warning("sweep of a space failed", extra={"space_id": space_id, "error_code": error.code})
        done = None
    except Exception as error:  # noqa: BLE001 - whatever lies in one space must not stop the sweep for all
        # Not with its text, which may hold data.
        logger.error("sweep of a space failed", extra={"space_id": space_id, "error": type(error).__name__})  # noqa: TRY400
        done = None
    if done is not None and MORE_WORK not in done:
        markers.rest(process, space_id, marks, oldest)
    elif not marks.plain:
        markers.leave(process, space_id)
    return done


def _maintain(process: Process, space_id: str, *, daily: bool) -> tuple[Mapping[str, float], datetime | None]:
    """What was done for the space, and when the oldest of its notes was written that wait."""
    space = maintainable.find(process, space_id, daily=daily)
    if not space:
        return _clear_remains(process, space_id), None
    done: dict[str, float] = {}
    for package in packages.PACKAGES:
        try:
            done.update(package.maintain(process, space))
        except ObjectUnreadable as error:
            # The other packages do not need it; who could not read it has left a marker.
            logger.warning("an object cannot be read", extra={"space_id": space_id, "key": error.key})
    if daily:
        unreadable.look(process, space)
    return done, pending.oldest(space.live)


def _clear_remains(process: Process, space_id: str) -> Mapping[str, float]:
    """Remove what an interrupted deletion or creation, or a write just after a deletion, left behind; and look after
    what is being brought here.
    """
    head = heads.find_any(process, space_id)
    if head and not head.meta.deleted_at:
        # Just created.
        return {MORE_WORK: 1}
    if head and head.meta.arriving():
        return bringing.maintain(process, head)
    if head:
        if life.clear_remains(process, head):
            return {"cleaned": 1, MORE_WORK: 1}
        return {MORE_WORK: 1} if head.age < TOMBSTONE_LIFE else {}
    entries = list(process.store.scan(keys.prefix(space_id)))
    names = [entry.key.removeprefix(keys.prefix(space_id)) for entry in entries]
    # A folder of the bucket that is not ours stays as it is; and so does what anybody may miss: an interrupted creation
    # leaves no memory.
    if not entries or not all(packages.owned(name) and not keys.is_memory(name) for name in names):
        return {}
    if any(entry.age < timing.DEAD_AFTER for entry in entries):
        return {MORE_WORK: 1}
    try:
        life.bury(process, space_id)
    except PreconditionLost:
        # Somebody creates the space right now.
        return {MORE_WORK: 1}
    return {"cleaned": 1, MORE_WORK: 1}
