"""Which digest of a space is open. Only that one may write its input, so no two digests take the same message.

One small document holds it: the job of the current digest, changed by compare-and-swap alone. It is not removed at the
end. Where a store ignores conditions on deletions, a late deletion could remove the job of a later digest.
"""

from contextlib import suppress
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, model_validator

from livemem import clock
from livemem.errors import PreconditionLost
from livemem.jobs.job import Job
from livemem.process import Process
from livemem.rooms import digest_progress
from livemem.spaces import unreadable
from livemem.store import keys, stored
from livemem.store.bucket import CURRENT_DIGEST, IN_DIGEST
from livemem.store.objects import Object
from livemem.store.stored import Stored
from livemem.store.stored_documents import Line

TRIES = 20


class CurrentDigest(Job):
    """`open.json`: the open digest, or the last one. Its id is its slot, empty before the first digest.

    `ordered` is the slot of a digest that a person asked for and that has not begun.
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
    """A current digest that is not written yet."""
    return CurrentDigest(job_id=slot, space_id=space_id, created_at=clock.iso_millis(process.clock()), **fields)


def find(process: Process, space_id: str) -> Stored[CurrentDigest]:
    """The current digest, without an ETag if there is no document yet: 1 GET.

    If it cannot be read, or is a copy from another space, it is derived from the documents of digests (1 LIST per
    1,000). The next write replaces it.
    """
    key = CURRENT_DIGEST.key(space_id)
    current = stored.find(process.store, key, lambda item: _read(process, space_id, item))
    return current or Stored(key, _none(process, space_id), "")


def _none(process: Process, space_id: str) -> CurrentDigest:
    return new(process, space_id, "", status="done")


def _read(process: Process, space_id: str, item: Object) -> CurrentDigest:
    document = unreadable.tolerated(process, CurrentDigest, item)
    return document if document and document.space_id == space_id else begun(process, space_id)


def begun(process: Process, space_id: str) -> CurrentDigest:
    """The newest digest that has an input and no end, as a job. Without one, a job with an empty slot."""
    names: dict[str, set[str]] = {}
    for entry in process.store.scan(IN_DIGEST.prefix(space_id)):
        if parsed := IN_DIGEST.parse(entry.key):
            names.setdefault(parsed[1], set()).add(parsed[2])
    slot = max(
        (slot for slot, files in names.items() if "input.json" in files and "done.json" not in files), default=""
    )
    return new(process, space_id, slot, status="running") if slot else _none(process, space_id)


def order(process: Process, space_id: str, slot: str) -> str:
    """Ask for a digest, and return its slot: 2 GETs, 1 PUT. A digest that is asked for and has not begun is returned.

    A digest that has begun may have read the rooms already. So if `slot`, the present second, belongs to a digest that
    has begun or ended, a later second is taken. Raises PreconditionLost.
    """
    for _ in range(TRIES):
        current = find(process, space_id)
        if current.value.ordered:
            return current.value.ordered
        free = slot
        while free == current.value.job_id or digest_progress.is_done(process, space_id, free):
            free = later(free)
        with suppress(PreconditionLost):
            update = current.value.model_copy(update={"ordered": free})
            stored.create(process.store, current.key, update, process.new_id, over=current if current.etag else None)
            return free
    raise PreconditionLost("Too many digests were started at the same time. Try again.")


def later(slot: str) -> str:
    """The slot of the next second."""
    return keys.compact_time(keys.slot_moment(slot) + timedelta(seconds=1))
