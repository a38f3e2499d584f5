"""The sweep: every 15 minutes, what events and retries did not finish.

Each room tends its own part of a space; here is only the way through all spaces, and the remains of spaces whose
deletion or creation was interrupted.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from livemem.errors import LiveMemoryError, PreconditionLost
from livemem.process import Process
from livemem.spaces import directory, life, room
from livemem.spaces import head as heads
from livemem.spaces.life import INTERRUPTED_AFTER
from livemem.store import keys
from livemem.store.probe import require_conditional_writes
from livemem.upkeep import rooms

logger = logging.getLogger(__name__)

SPACES_AT_ONCE = 64
SHORTEST_ROUND = timedelta(seconds=30)
"""Time that must be left to begin with further spaces."""


@dataclass
class Report:
    """What a sweep did: `done` by what it was and by space, with how many or how old (in seconds) where that tells."""

    spaces: int = 0
    done: dict[str, dict[str, float]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

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


def sweep(process: Process, *, deadline: datetime) -> Report:
    """Look at every space once, until shortly before `deadline`. One space's failure does not stop the others."""
    require_conditional_writes(process.store)
    report = Report()
    waiting = directory.ids(process)
    while deadline - process.clock() > SHORTEST_ROUND and (some := list(islice(waiting, SPACES_AT_ONCE))):
        outcomes = process.store.map(lambda space_id: _tended(process, space_id), some)
        for space_id, done in zip(some, outcomes, strict=True):
            report.spaces += 1
            if done is None:
                report.failed.append(space_id)
            else:
                report.add(space_id, done)
    if next(waiting, None) is not None:
        logger.warning("sweep ran out of time", extra={"spaces": report.spaces})
    return report


def _tended(process: Process, space_id: str) -> Mapping[str, float] | None:
    """What was done for the space, None if that failed."""
    done: dict[str, float] = {}
    try:
        space = room.find(process, space_id)
        if not space:
            return {"cleaned": 1} if _clear_remains(process, space_id) else {}
        for one in rooms.ROOMS:
            done.update(one.tend(process, space))
    except LiveMemoryError as error:
        logger.warning("sweep of a space failed", extra={"space_id": space_id, "error_code": error.code})
        return None
    except Exception as error:  # noqa: BLE001 - whatever lies in one space must not stop the sweep for all
        # Not with its text, which may hold data.
        logger.error("sweep of a space failed", extra={"space_id": space_id, "error": type(error).__name__})  # noqa: TRY400
        return None
    return done


def _clear_remains(process: Process, space_id: str) -> bool:
    """Remove what an interrupted deletion or creation, or a write just after a deletion, left behind."""
    head = heads.find_any(process, space_id)
    if head and not head.meta.deleted_at:
        return False
    if head:
        return life.clear_remains(process, head)
    entries = list(process.store.scan(keys.prefix(space_id)))
    if not entries or any(entry.age < INTERRUPTED_AFTER for entry in entries):
        return False
    names = [entry.key.removeprefix(keys.prefix(space_id)) for entry in entries]
    # A folder of the bucket that is not ours stays as it is; and so does what anybody may miss: an interrupted creation
    # leaves no memory.
    if not all(rooms.owned(name) and not keys.is_memory(name) for name in names):
        return False
    try:
        life.bury(process, space_id)
    except PreconditionLost:
        # Somebody creates the space right now.
        return False
    return True
