"""Which digest of a space is open: only that one may write down what it takes, so no message is taken by two.

One small document says it, changed by compare-and-swap alone. It is not removed at the end: a deletion that comes late
could remove what stands there by then, where a store ignores conditions on deletions.
"""

from dataclasses import dataclass
from typing import ClassVar

from livemem import clock
from livemem.errors import PreconditionLost
from livemem.process import Process
from livemem.store import documents
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
    """1 GET. A document that can't be read counts as nothing open: it is replaced."""
    found = process.store.get(keys.open_slot(space_id))
    if not found:
        return Seen()
    try:
        there = Opening.from_bytes(found.body)
        for slot in (there.slot, there.ordered):
            if slot is not None:
                keys.check_slot(slot)
    except ValueError:
        return Seen(etag=found.etag)
    return Seen(there.slot, there.ordered, found.etag)


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
    """Ask for a digest, and return its slot: that which was asked for before, if it has not begun. 1 GET, 1 PUT."""
    for _ in range(TRIES):
        seen = look(process, space_id)
        if seen.ordered:
            return seen.ordered
        if seen.slot == slot or _swap(process, space_id, seen.slot, slot, seen):
            return slot
    raise PreconditionLost("Too many digests were begun at once.")


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
