"""Which digest of a space is open: only that one may write down what it takes, so no message is taken by two.

One small document says it, changed by compare-and-swap alone. It is not removed at the end: a deletion that comes late
could remove what stands there by then, where a store ignores conditions on deletions.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from livemem import clock
from livemem.digests import progress
from livemem.errors import PreconditionLost
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store import documents
from livemem.store import keys as all_keys
from livemem.store import room_keys as keys
from livemem.store.documents import Document, Moment

TRIES = 20


class Opening(Document):
    """`open.json`. `ordered` is a digest that somebody asked for, and that has not begun."""

    most_bytes: ClassVar[int] = 16 << 10

    slot: str | None = None
    ordered: str | None = None
    at: Moment
    by: str
    """Makes its bytes unlike all others, so that a write that comes late finds nothing to replace."""


@dataclass(frozen=True)
class Seen:
    """What is open, and asked for, with the ETag that a change of it needs."""

    slot: str | None = None
    ordered: str | None = None
    etag: str | None = None


def look(process: Process, space_id: str) -> Seen:
    """1 GET. Where the document cannot be read the newest digest that has begun and not ended is open (1 LIST per 1,000
    documents); what is written next replaces it.
    """
    found = process.store.get(keys.open_slot(space_id))
    if not found:
        return Seen()
    there = unreadable.tolerated(process, Opening, found)
    try:
        for slot in (there.slot, there.ordered) if there else ():
            if slot is not None:
                keys.check_slot(slot)
    except ValueError:
        there = None
    return Seen(there.slot, there.ordered, found.etag) if there else Seen(begun(process, space_id), etag=found.etag)


def begun(process: Process, space_id: str) -> str | None:
    """The newest digest that has its input and no end."""
    names: dict[str, set[str]] = {}
    for entry in process.store.scan(keys.digests_prefix(space_id)):
        if parsed := keys.parse_digest(entry.key):
            names.setdefault(parsed[0], set()).add(parsed[1])
    return max((slot for slot, some in names.items() if "input.json" in some and "done.json" not in some), default=None)


def take(process: Process, space_id: str, slot: str, seen: Seen) -> bool:
    """Open a slot where none is; whether it is open now: 1 PUT."""
    ordered = None if seen.ordered == slot else seen.ordered
    return _swap(process, space_id, slot, ordered, seen)


def close(process: Process, space_id: str, slot: str) -> None:
    """Take note that the slot's digest has ended: 1 GET, 1 PUT."""
    for _ in range(TRIES):
        seen = look(process, space_id)
        if seen.slot != slot or _swap(process, space_id, None, seen.ordered, seen):
            return


def order(process: Process, space_id: str, slot: str) -> str:
    """Ask for a digest, and return its slot: that which was asked for before, if it has not begun. 2 GETs, 1 PUT.

    One that has begun may have looked into the rooms already. So where `slot`, the present second, is that of such a
    one, or of one that is over, it is a later second's.
    """
    for _ in range(TRIES):
        seen = look(process, space_id)
        if seen.ordered:
            return seen.ordered
        free = slot
        while free == seen.slot or progress.find_done(process, space_id, free):
            free = later(free)
        if _swap(process, space_id, seen.slot, free, seen):
            return free
    raise PreconditionLost("Too many digests were begun at once.")


def later(slot: str) -> str:
    """The slot of the next second."""
    return all_keys.compact_time(keys.slot_moment(slot) + timedelta(seconds=1))


def _swap(process: Process, space_id: str, slot: str | None, ordered: str | None, seen: Seen) -> bool:
    key = keys.open_slot(space_id)
    wanted = Opening(slot=slot, ordered=ordered, at=clock.iso_millis(process.clock()), by=process.new_id())
    try:
        process.store.put(
            key, wanted.to_bytes(), if_match=seen.etag, if_none_match=not seen.etag, content_type=documents.JSON
        )
    except PreconditionLost:
        # Perhaps our own first try, whose answer was lost.
        found = process.store.get(key)
        return bool(found and found.body == wanted.to_bytes())
    return True
