"""When digests begin: by the clock, by the first message after a missed digest, and by hand.

By hand too, the messages of chunks that a digest gave up return to their rooms.
"""

import logging
import math
import threading
from collections.abc import Sequence
from datetime import datetime

from cachetools import LRUCache

from livemem import clock
from livemem.errors import Conflict, LiveMemoryError, NotFound
from livemem.jobs import worker
from livemem.process import Process, Timer
from livemem.rooms import current_digest, digest_input, digest_progress, digest_reading, digested
from livemem.rooms.digest_documents import DeadLetter
from livemem.rooms.digest_work import KIND, DigestOrder, latest_slot, next_due
from livemem.rooms.digested import Input
from livemem.spaces import due_index, unreadable
from livemem.spaces import head as heads
from livemem.spaces.due_index import Due
from livemem.store import keys, stored, timing
from livemem.store.bucket import DEAD_LETTER, DIGEST_DONE, DIGEST_INPUT, IN_DIGEST, IN_SPACE
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Object

logger = logging.getLogger(__name__)

MOST_KNOWN = 10_000
AT_REST = ""
"""In place of a slot: no message waits."""
WAIT = timing.LAST_WRITE
"""After the end of a digest. Until then a delayed worker, or the store's client, may still remove messages."""


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
    slot = latest_slot(process, head.meta)
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


class _CaughtUp:
    """The last slot of each space that this process has checked."""

    def __init__(self, _: Timer) -> None:
        self._slots = LRUCache[str, str](MOST_KNOWN)
        self._lock = threading.Lock()

    def is_new(self, space_id: str, slot: str) -> bool:
        """Whether this is the first check of the slot. The slot then counts as checked."""
        with self._lock:
            if self._slots.get(space_id) == slot:
                return False
            self._slots[space_id] = slot
            return True


def next_at(process: Process, space_id: str) -> datetime:
    """When the next digest of the space is due: 1 GET, none if this process has read the space lately."""
    return next_due(process, heads.load_recent(process, space_id).meta)


def catch_up(process: Process, space_id: str) -> None:
    """Queue the latest digest if it was missed: 1 GET, none if this process has checked since it was due.

    It runs after a post. Its failures are logged and do not fail the post.
    """
    try:
        slot = latest_slot(process, heads.load_recent(process, space_id).meta)
        if process.cache(_CaughtUp).is_new(space_id, slot) and not digest_progress.is_done(process, space_id, slot):
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
