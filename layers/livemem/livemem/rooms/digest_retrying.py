"""Retrying chunks that a digest gave up: their messages return to their rooms, and the next digest takes them."""

import math
from collections.abc import Sequence

from livemem import clock
from livemem.errors import Conflict, NotFound
from livemem.process import Process
from livemem.rooms import digest_input, digest_reading, digested
from livemem.rooms.digest_documents import DeadLetter
from livemem.spaces import due_index, unreadable
from livemem.spaces import head as heads
from livemem.store import keys, stored, timing
from livemem.store.bucket import DEAD_LETTER, DIGEST_DONE, IN_DIGEST, IN_SPACE
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import Object

WAIT = timing.LAST_WRITE
"""After the end of a digest. Until then a delayed worker, or the store's client, may still remove messages."""


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
    source = digest_input.find(process, space_id, slot)
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
