"""How many messages a room holds, as this process knows it. From 10,000 on the process asks for a digest. From 20,000
on it refuses more. No message is dropped.
"""

import logging
import threading
from dataclasses import dataclass

from cachetools import LRUCache

from livemem.errors import LiveMemoryError, RoomFull
from livemem.process import Process, Timer
from livemem.spaces import caps
from livemem.store.bucket import ROOM_MESSAGE

logger = logging.getLogger(__name__)

FULL = 10_000
REFUSED = 20_000
COUNTED_FOR = 300.0
"""Seconds for which a count holds."""
FORCED_EVERY = 60.0
"""Seconds between two digests that one process asks for, and between two counts of a room that is full."""
MOST_KNOWN = 10_000


@dataclass
class _Count:
    counted: int
    at: float
    added: int = 0

    @property
    def figure(self) -> int:
        return self.counted + self.added

    def holds(self, now: float) -> bool:
        """Whether the count is still usable. It ages: other processes post too, and digests remove messages."""
        if self.figure < FULL:
            return now - self.at < COUNTED_FOR
        # Only the messages that this process added passed the limit, or a digest may have made room since.
        return self.counted >= FULL and now - self.at < FORCED_EVERY


class _Counts:
    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._rooms = LRUCache[tuple[str, str], _Count](MOST_KNOWN)
        self._forced = LRUCache[str, float](MOST_KNOWN)
        self._lock = threading.Lock()

    def figure(self, space_id: str, room: str) -> int | None:
        with self._lock:
            count = self._rooms.get((space_id, room))
            return count.figure if count and count.holds(self._timer()) else None

    def set(self, space_id: str, room: str, count: int) -> None:
        with self._lock:
            self._rooms[space_id, room] = _Count(count, self._timer())

    def add(self, space_id: str, room: str, count: int) -> None:
        with self._lock:
            known_count = self._rooms.get((space_id, room))
            if known_count:
                known_count.added += count

    def may_force(self, space_id: str) -> bool:
        """Whether this process asked for no digest in the last minute. If so, this call counts as asking."""
        with self._lock:
            last, now = self._forced.get(space_id), self._timer()
            if last is not None and now - last < FORCED_EVERY:
                return False
            self._forced[space_id] = now
            return True


def check(process: Process, space_id: str, room: str, coming: int) -> None:
    """Raise RoomFull where the room can't take `coming` more, and ask for a digest where it holds too many.

    No request as a rule. 1 LIST per 1,000 messages at first and after 5 minutes, and each minute while it is full. If
    the room is empty then, 1 GET, and once a day 1 PUT for the space's cap. Raises CapReached.
    """
    counts = process.cache(_Counts)
    figure = counts.figure(space_id, room)
    if figure is None:
        entries = process.store.scan(ROOM_MESSAGE.prefix(space_id, room), limit=REFUSED + 1)
        figure = sum(1 for _ in entries)
        if not figure:
            caps.begin_room(process, space_id, room)
        counts.set(space_id, room, figure)
    if figure + coming > FULL and counts.may_force(space_id):
        try:
            process.enqueue("digest", {"space_id": space_id, "forced": True})
        except LiveMemoryError as error:
            # The digest of the next digest time takes them too.
            logger.warning("a digest was not queued", extra={"space_id": space_id, "error_code": error.code})
    if figure + coming > REFUSED:
        raise RoomFull(
            f"The room {room!r} holds {figure} messages that wait for a digest, and the limit is {REFUSED}. A "
            "digest is requested. Post again once it has ended.",
            retry_after=int(FORCED_EVERY),
        )


def added(process: Process, space_id: str, room: str, count: int) -> None:
    """Add messages that this process has written to its count."""
    process.cache(_Counts).add(space_id, room, count)
