"""A lease: who does now what several workers may be asked for. It saves money and keeps an order; that nothing is lost
or doubled never rests on it alone, but on the compare-and-swap of what is worked on.

Its life counts from when it was written, by the store's clock: those of two processes may be minutes apart. A worker
renews it, so a lease that was not renewed is a dead worker's, and stands in nobody's way for long. The lease of a
holder whose work has ended is free at once, whatever became of the request that should have removed it.

A `queued` lease keeps the place of a job whose invocation is still to come, against further events alone: what is
ready to work goes ahead, and puts it back. While a job waits out failures of the LLM the lease is kept as `backoff`,
so that events don't ask a dead LLM again and again; whoever asks by hand takes it over at once.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from livemem import clock
from livemem.errors import Busy, LiveMemoryError, PreconditionLost, StoreUnavailable
from livemem.process import Process
from livemem.store import stored
from livemem.store.objects import Object
from livemem.store.stored import Revised, Stored
from livemem.store.stored_documents import Count, Moment, Seconds

LIFE = timedelta(seconds=90)
"""Of a worker's lease since it was last renewed. Lambda tries again a minute and then two after a worker died, so the
second try finds it free for sure."""
RENEWED_AFTER = timedelta(seconds=60)
RENEWAL_TICK = 20.0
"""Seconds between two looks whether it is time to renew, so that one failure of the store does not cost the lease."""

BACKOFF_FIRST = timedelta(minutes=1)
BACKOFF_LONGEST = timedelta(hours=1)

TRIES = 5


class Lease(Revised):
    """The document. `kind` is what the holder does, `queued`, or `backoff`."""

    owner: str = ""
    """The job, or the change by hand."""
    worker: str = ""
    """Which of the owner's workers."""
    delivery: str = ""
    """The invocation that it works in: a retry of it has the same. Empty for a request, which nobody delivers again."""
    kind: str
    seconds: Seconds = 0
    """Life since it was written."""
    expires_at: Moment = "1970-01-01T00:00:00Z"
    """For people: by the clock of the holder."""
    rev: Count = 1
    """Grows by one with every write, also from holder to holder."""
    abandoned: list[str] = []
    """Owners whose lease ran out, and whose work may lie about: the next holder clears it away."""
    failures: Count = 0
    error: str | None = None
    """Code of the failure that a `backoff` waits out."""

    def life(self) -> timedelta:
        """Since it was written."""
        return timedelta(seconds=self.seconds)


def _no_holder_has_ended(_: Process, __: Lease) -> bool:
    return False


@dataclass(frozen=True)
class LeasePlace:
    """Where a lease is kept, and how the bucket tells that the work of a holder has ended."""

    key: str
    has_ended: Callable[[Process, Lease], bool] = field(default=_no_holder_has_ended, compare=False)


@dataclass(frozen=True)
class SeenLease:
    """A lease as it was read."""

    stored: Stored[Lease]

    @property
    def lease(self) -> Lease:
        """The document."""
        return self.stored.value

    @property
    def age(self) -> timedelta:
        """Since it was written, by the store's clock, when it was read."""
        return self.stored.age

    def live(self) -> bool:
        """Whether it has not run out."""
        return self.age < self.lease.life()

    def until(self) -> str:
        """When it runs out, by the store's clock."""
        written_at = (self.stored.seen_at or datetime.now(UTC)) - self.age
        return clock.iso(written_at + self.lease.life())

    def waiting_owner(self) -> str | None:
        """The owner whose work somebody should go on with: its worker died, its invocation did not come, or what it
        waited for should be over.
        """
        return self.lease.owner if self.lease.kind != "unreadable" and not self.live() else None


class LeaseTaken(Busy):
    """Somebody else is at work, or failures are waited out."""

    def __init__(self, lease: Lease, until: str) -> None:
        waits = f"The work waits after a failure ({lease.error}) until {until}."
        super().__init__(waits if lease.kind == "backoff" else f"It is busy ({lease.kind}) until {until}.")
        self.lease = lease

    def fails(self, delivery: str) -> bool:
        """Whether an event must fail that finds the lease taken, so that it is delivered again behind the lease's end.

        The lease may be that of its own former try, which is dead: nobody is tried again before it has ended. Or it is
        that of a request, which is not tried again if it dies. Each other holder that dies comes again itself, and does
        what the event asks for too: where a hundred events meet it not all of them have to fail.
        """
        return self.lease.kind != "backoff" and bool(delivery) and self.lease.delivery in ("", delivery)


@dataclass
class Held:
    """A lease that is ours; what is stored changes when it is renewed."""

    place: LeasePlace
    stored: Stored[Lease]
    before: Lease | None = None
    """The lease in whose place it is."""
    put_back: Lease | None = None
    """The same, where it is another job's that waits for its invocation."""
    renewed: float = 0.0

    @property
    def lease(self) -> Lease:
        """The document."""
        return self.stored.value


def look(process: Process, place: LeasePlace) -> SeenLease | None:
    """The lease, or None: 1 GET. One that can't be read counts as run out."""
    found = stored.find(process.store, place.key, _read)
    return SeenLease(found) if found else None


def _read(found: Object) -> Lease:
    try:
        return Lease.from_bytes(found.body)
    except ValueError:
        return Lease(kind="unreadable")


def standing(process: Process, place: LeasePlace) -> Lease | None:
    """The lease if it has not run out: 1 GET."""
    seen = look(process, place)
    return seen.lease if seen and seen.live() else None


def holds(process: Process, place: LeasePlace, seen: SeenLease) -> bool:
    """Whether somebody who has not ended holds it: no request, 1 GET where the lease has not run out."""
    return seen.live() and (seen.lease.kind == "backoff" or not place.has_ended(process, seen.lease))


def acquire(
    process: Process,
    place: LeasePlace,
    owner: str,
    kind: str,
    *,
    worker: str = "",
    delivery: str = "",
    life: timedelta = LIFE,
    by_hand: bool = False,
) -> Held:
    """Take the lease, enter the one that our own job has queued, or take over a free one: 1 GET, 1 PUT.

    Who asks by hand does not wait for failures. Raises LeaseTaken, and Busy after too many lost races.
    """
    for _ in range(TRIES):
        seen = look(process, place)
        if seen and not _is_free(process, place, seen, owner, kind, worker, by_hand=by_hand):
            raise LeaseTaken(seen.lease, seen.until())
        fresh = _fresh(seen, owner, kind, life).model_copy(
            update={"worker": worker, "delivery": delivery, "expires_at": clock.iso_millis(process.clock() + life)}
        )
        try:
            written = stored.create(process.store, place.key, fresh, process.new_id, over=seen.stored if seen else None)
        except PreconditionLost:
            continue
        before = seen.lease if seen else None
        return Held(place, written, before, _displaced(seen, owner), process.timer())
    raise Busy("Somebody else began just now.")


def _is_free(
    process: Process, place: LeasePlace, seen: SeenLease, owner: str, kind: str, worker: str, *, by_hand: bool
) -> bool:
    old = seen.lease
    if not seen.live():
        return True
    if old.kind == "backoff":
        return by_hand
    if old.owner == owner:
        return old.kind == "queued" or old.worker == worker
    return (old.kind == "queued" and kind != "queued") or place.has_ended(process, old)


def _fresh(seen: SeenLease | None, owner: str, kind: str, life: timedelta) -> Lease:
    fresh = Lease(owner=owner, kind=kind, seconds=life.total_seconds())
    if not seen:
        return fresh
    old = seen.lease
    stands = old.kind == "backoff" or (old.kind == "queued" and seen.live())
    left_behind = [] if stands or old.owner in ("", owner) else [old.owner]
    left = {"rev": old.rev + 1, "abandoned": [*dict.fromkeys((*old.abandoned, *left_behind))]}
    return fresh.model_copy(update={**left, "failures": old.failures, "error": old.error})


def _displaced(seen: SeenLease | None, owner: str) -> Lease | None:
    if not seen or seen.lease.kind != "queued" or seen.lease.owner == owner or not seen.live():
        return None
    left = (seen.lease.life() - seen.age).total_seconds()
    return seen.lease.model_copy(update={"seconds": left, "abandoned": []})


@contextmanager
def kept(process: Process, held: Held) -> Iterator[None]:
    """Renew the lease beside the work that is done in this context: 1 PUT a minute, none in the first."""

    def renew() -> None:
        if process.timer() - held.renewed >= RENEWED_AFTER.total_seconds():
            # What can't be renewed runs out: that costs at most another's call of the LLM.
            _rewrite(process, held, expires_at=clock.iso_millis(process.clock() + LIFE))

    with process.every(renew, RENEWAL_TICK):
        yield


def extend(process: Process, held: Held, life: timedelta) -> None:
    """Let the lease live for `life` from now on, unless somebody else has it by now."""
    _rewrite(process, held, seconds=life.total_seconds(), expires_at=clock.iso_millis(process.clock() + life))


def let_go(process: Process, held: Held) -> None:
    """Expire the lease now, after a failure that Lambda will retry: the retry takes the lease over and clears up after
    the job.
    """
    _rewrite(process, held, seconds=0, expires_at=clock.iso_millis(process.clock()))


def pass_on(process: Process, held: Held, owner: str) -> None:
    """Let the lease be another job's, which we go on with: 1 PUT."""
    if held.put_back and held.put_back.owner == owner:
        held.put_back = None
    _rewrite(process, held, owner=owner)


def put_aside(process: Process, held: Held, life: timedelta) -> None:
    """Keep the job's place for its next invocation for so long; then the sweep sees that it did not come: 1 PUT."""
    if held.put_back:
        quietly_release(process, held)
    else:
        _rewrite(
            process,
            held,
            kind="queued",
            seconds=life.total_seconds(),
            expires_at=clock.iso_millis(process.clock() + life),
        )


def back_off(
    process: Process,
    held: Held,
    error_code: str,
    wait: timedelta | None = None,
    *,
    longest: timedelta = BACKOFF_LONGEST,
) -> timedelta:
    """Keep automatic work away after a failure for `wait`; None: 1 minute, doubled with each further one. At most for
    the `longest`. Returns for how long.
    """
    failures = held.lease.failures + 1
    wait = min(wait or BACKOFF_FIRST * 2 ** min(failures - 1, 10), longest)
    _rewrite(
        process,
        held,
        kind="backoff",
        seconds=wait.total_seconds(),
        expires_at=clock.iso_millis(process.clock() + wait),
        failures=failures,
        error=error_code,
        abandoned=[],
    )
    return wait


def _rewrite(process: Process, held: Held, **changes: object) -> None:
    """Write the lease with `changes`, unless it is no longer ours or the store fails: nothing depends on it."""
    with suppress(PreconditionLost, StoreUnavailable):
        changed = held.lease.model_copy(update={**changes, "rev": held.lease.rev + 1})
        held.stored = stored.swap(process.store, held.stored, changed, process.new_id)
        held.renewed = process.timer()


def still_ours(process: Process, held: Held) -> bool:
    """Whether nobody took the lease over: 1 GET."""
    seen = look(process, held.place)
    return bool(seen and seen.live() and (seen.lease.owner, seen.lease.worker) == (held.lease.owner, held.lease.worker))


def release(process: Process, held: Held) -> None:
    """Give the lease back, or to the queued job whose place it took, unless it is no longer ours."""
    waiting = held.put_back
    if waiting and not held.place.has_ended(process, waiting):
        _rewrite(process, held, **waiting.model_dump())
    else:
        process.store.delete(held.place.key, if_match=held.stored.etag)


def quietly_release(process: Process, held: Held) -> None:
    """The same at the end of what has succeeded: that the store fails now must not make a failure of it."""
    # The holder has ended, which everybody can see, or the lease runs out.
    with suppress(LiveMemoryError):
        release(process, held)


def forget(process: Process, place: LeasePlace, owner: str) -> None:
    """Remove a lease that has run out if it is this owner's, whose work has ended: 1 GET, 1 DELETE; else no DELETE."""
    seen = look(process, place)
    if seen and seen.waiting_owner() == owner:
        process.store.delete(place.key, if_match=seen.stored.etag)
