"""Which digest of a space is open: only that one may write down what it takes, so no message is taken by two.

One small document says it: the job of the current digest, changed by compare-and-swap alone. It is not removed at the
end: a deletion that comes late could remove what stands there by then, where a store ignores conditions on deletions.
"""

from contextlib import suppress
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, model_validator

from livemem import clock
from livemem.digests import digest_progress
from livemem.errors import PreconditionLost
from livemem.jobs.job import Job
from livemem.process import Process
from livemem.spaces import unreadable
from livemem.store import keys as all_keys
from livemem.store import room_keys as keys
from livemem.store import stored
from livemem.store.objects import Object
from livemem.store.stored import Stored
from livemem.store.stored_documents import Line

TRIES = 20


class CurrentDigest(Job):
    """`open.json`: the digest that is open, or was the last one. Its id is its slot, empty as long as none was begun.
    `ordered` is a digest that somebody asked for, and that has not begun.
    """

    most_bytes: ClassVar[int] = 256 << 10

    kind: Line = "digest"
    ordered: Annotated[str, AfterValidator(keys.check_slot)] | None = None

    @model_validator(mode="after")
    def _has_a_slot_if_open(self) -> Self:
        if self.job_id or not self.ended():
            keys.check_slot(self.job_id)
        return self

    @property
    def open_slot(self) -> str | None:
        """Its slot, unless it has ended."""
        return None if self.ended() else self.job_id


def new(process: Process, space_id: str, slot: str, **fields: Any) -> CurrentDigest:
    """One that is not written yet."""
    return CurrentDigest(job_id=slot, space_id=space_id, created_at=clock.iso_millis(process.clock()), **fields)


def find(process: Process, space_id: str) -> Stored[CurrentDigest]:
    """The current digest; without an ETag where there is no document yet: 1 GET. Where it cannot be read, or is a copy
    of another space's, the documents of digests tell (1 LIST per 1,000); what is written next replaces it.
    """
    key = keys.open_slot(space_id)
    found = stored.find(process.store, key, lambda found: _read(process, space_id, found))
    return found or Stored(key, _none(process, space_id), "")


def over(seen: Stored[CurrentDigest]) -> Stored[CurrentDigest] | None:
    """Over what another one is written; None: where there is none."""
    return seen if seen.etag else None


def _none(process: Process, space_id: str) -> CurrentDigest:
    return new(process, space_id, "", status="done")


def _read(process: Process, space_id: str, found: Object) -> CurrentDigest:
    there = unreadable.tolerated(process, CurrentDigest, found)
    return there if there and there.space_id == space_id else begun(process, space_id)


def begun(process: Process, space_id: str) -> CurrentDigest:
    """The newest digest that has its input and no end; else none."""
    names: dict[str, set[str]] = {}
    for entry in process.store.scan(keys.digests_prefix(space_id)):
        if parsed := keys.parse_digest(entry.key):
            names.setdefault(parsed[0], set()).add(parsed[1])
    slot = max((slot for slot, some in names.items() if "input.json" in some and "done.json" not in some), default="")
    return new(process, space_id, slot, status="running") if slot else _none(process, space_id)


def order(process: Process, space_id: str, slot: str) -> str:
    """Ask for a digest, and return its slot: that which was asked for before, if it has not begun. 2 GETs, 1 PUT.

    One that has begun may have looked into the rooms already. So where `slot`, the present second, is that of such a
    one, or of one that is over, it is a later second's.
    """
    for _ in range(TRIES):
        seen = find(process, space_id)
        if seen.value.ordered:
            return seen.value.ordered
        free = slot
        while free == seen.value.job_id or digest_progress.is_done(process, space_id, free):
            free = later(free)
        with suppress(PreconditionLost):
            wanted = seen.value.model_copy(update={"ordered": free})
            stored.create(process.store, seen.key, wanted, process.new_id, over=over(seen))
            return free
    raise PreconditionLost("Too many digests were begun at once.")


def later(slot: str) -> str:
    """The slot of the next second."""
    return all_keys.compact_time(keys.slot_moment(slot) + timedelta(seconds=1))
