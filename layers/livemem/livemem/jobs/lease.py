"""A lease names the one worker that does work now which several workers may be asked for. It saves money and keeps an
order. Correctness never depends on it alone: the compare-and-swap of the objects ensures that nothing is lost or done
twice.

Its life counts from its last write, by the store's clock: the clocks of two processes may be minutes apart. A worker
renews its lease. So a lease that was not renewed is a dead worker's, and soon runs out. The lease of a holder whose
work has ended is free at once, even if the request that removes it failed.

A `queued` lease keeps the place of a job whose invocation is still to come. It only holds off further events: a worker
that is ready takes the lease, and puts the `queued` one back at its end. While a job waits out failures of the LLM the
lease is kept as `backoff`, so that events don't ask a dead LLM again and again. A request by hand takes it over at
once.

A change by hand that meets a fold marks its lease as `wanted`, and waits a few seconds (`acquire_in_turn`). The fold
then leaves a `reserved` lease behind, which no fold takes. Any change by hand may take it: the one that waits, or the
one that was refused and comes again. So nothing has to be cleared away after a request that was interrupted.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from livemem import clock
from livemem.errors import Busy, LiveMemoryError, PreconditionLost, StoreUnavailable
from livemem.process import Process
from livemem.store import stored, timing
from livemem.store.objects import Object
from livemem.store.stored import Revised, Stored
from livemem.store.stored_documents import Count, Moment, Seconds

LIFE = timedelta(seconds=90)
"""Life of a worker's lease since its last renewal. Lambda tries again one minute and then two minutes after a worker
died, so the second try certainly finds it free."""
RENEWED_AFTER = timedelta(seconds=60)
RENEWAL_TICK = 20.0
"""Seconds between two checks whether it is time to renew, so that one failure of the store does not lose the lease."""

BACKOFF_FIRST = timedelta(minutes=1)
BACKOFF_LONGEST = timedelta(hours=1)

RESERVED = timing.BY_HAND
"""For how long no fold takes the lease that a change by hand waited for. Clients come again after `Busy.retry_after`,
and Lambda tries an invocation again after a minute."""
PAUSES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.0)
"""Seconds between two looks of a change by hand at a lease that is not free: 8 in all. So an HTTP function has time for
the change before it must have answered (timing.REQUEST)."""

_FOLDS = ("queued", "consolidation")

TRIES = 5


class Lease(Revised):
    """The document of a lease. `kind` is the holder's kind of work, `queued`, `backoff` or `reserved`."""

    owner: str = ""
    """The id of the job, or of the change by hand."""
    worker: str = ""
    """The one of the owner's workers that holds it."""
    delivery: str = ""
    """The invocation in which the worker runs. A retry has the same id. Empty for a request, which is never delivered
    again."""
    kind: str
    seconds: Seconds = 0
    """How long the lease lives from its last write."""
    expires_at: Moment = "1970-01-01T00:00:00Z"
    """The end by the holder's clock, for people only."""
    rev: Count = 1
    """Grows by one with every write, also from holder to holder."""
    abandoned: list[str] = []
    """Owners whose lease ran out and whose work may be orphaned: the next holder clears it away."""
    failures: Count = 0
    error: str | None = None
    """The code of the failure that a `backoff` waits out."""
    wanted: bool = False
    """Whether a change by hand waits for the end of this fold."""

    def life(self) -> timedelta:
        """How long the lease lives from its last write."""
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
        """Its age when it was read, by the store's clock."""
        return self.stored.age

    def live(self) -> bool:
        """Whether it has not run out."""
        return self.age < self.lease.life()

    def until(self) -> str:
        """When it runs out, by the store's clock."""
        written_at = (self.stored.seen_at or datetime.now(UTC)) - self.age
        return clock.iso(written_at + self.lease.life())

    def waiting_owner(self) -> str | None:
        """The owner whose work another worker should continue: its worker died, its invocation did not come, or its
        wait should be over. None if the lease has not run out.
        """
        return self.lease.owner if self.lease.kind != "unreadable" and not self.live() else None


class LeaseTaken(Busy):
    """Another worker is at work, or the work waits after a failure."""

    def __init__(self, lease: Lease, until: str) -> None:
        said = f"Other work ({lease.kind}) holds the lease until {until}."
        if lease.kind == "backoff":
            said = f"The work waits after a failure ({lease.error}) until {until}."
        if lease.kind == "reserved":
            said = f"A change by hand comes before the next consolidation, until {until}."
        super().__init__(said)
        self.lease = lease

    def fails(self, delivery: str) -> bool:
        """Whether an event that finds the lease taken must fail, so that it is delivered again after the lease's end.

        The lease may belong to a former try of the same event. That try is dead: a try starts after the former one has
        ended. Or the lease belongs to a request, which is not tried again if it dies. Every other holder that dies is
        delivered again itself, and then does the event's work too. So of a hundred events that meet it not all have to
        fail.
        """
        return self.lease.kind != "backoff" and bool(delivery) and self.lease.delivery in ("", delivery)


@dataclass
class Held:
    """A lease that this worker holds. A renewal replaces `stored`."""

    place: LeasePlace
    stored: Stored[Lease]
    before: Lease | None = None
    """The lease that it replaced."""
    put_back: Lease | None = None
    """The replaced lease, where another job queued it and waits for its invocation."""
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
    """The lease, or None if there is none or it has run out: 1 GET."""
    seen = look(process, place)
    return seen.lease if seen and seen.live() else None


def holds(process: Process, place: LeasePlace, seen: SeenLease) -> bool:
    """Whether a holder whose work has not ended holds the lease, or it is kept for somebody. No request if the lease
    has run out, else 1 GET.
    """
    return seen.live() and (seen.lease.kind in ("backoff", "reserved") or not place.has_ended(process, seen.lease))


def look_at_holder(process: Process, place: LeasePlace) -> tuple[SeenLease | None, bool]:
    """The lease, if there is one, and whether a holder whose work has not ended holds it: 1 GET, 2 if it has not run
    out.
    """
    seen = look(process, place)
    return seen, bool(seen and holds(process, place, seen))


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
    """Take a new or free lease, or the one that is queued for the same job: 1 GET, 1 PUT.

    A caller `by_hand` does not wait out failures. Where it meets a fold, it marks the lease as wanted: 1 PUT. Raises
    LeaseTaken, and Busy after too many lost races.
    """
    for _ in range(TRIES):
        seen = look(process, place)
        if seen and not _is_free(process, place, seen, owner, kind, worker, by_hand=by_hand):
            if by_hand and kind not in _FOLDS:
                _want(process, seen)
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
    raise Busy("Another worker started just now. Try again.")


def acquire_in_turn(
    process: Process, place: LeasePlace, owner: str, kind: str, *, worker: str = "", life: timedelta = LIFE
) -> Held:
    """Take the lease for a change by hand, as soon as it is free: as `acquire`, and again after each of PAUSES."""
    until = process.clock() + timedelta(seconds=sum(PAUSES))
    for pause in PAUSES:
        try:
            return acquire(process, place, owner, kind, worker=worker, life=life, by_hand=True)
        except Busy:
            # On a slow store the looks themselves take the time.
            if process.clock() >= until:
                raise
            process.store.sleep(pause)
    return acquire(process, place, owner, kind, worker=worker, life=life, by_hand=True)


def _want(process: Process, seen: SeenLease) -> None:
    """Mark the lease of a fold as wanted, unless it is. Its end stays the same."""
    if seen.lease.kind != "consolidation" or seen.lease.wanted:
        return
    left = (seen.lease.life() - seen.age).total_seconds()
    marked = seen.lease.model_copy(update={"wanted": True, "seconds": left, "rev": seen.lease.rev + 1})
    # It is only a wish. Another look will see that it is not there.
    with suppress(PreconditionLost, StoreUnavailable):
        stored.swap(process.store, seen.stored, marked, process.new_id)


def _is_free(
    process: Process, place: LeasePlace, seen: SeenLease, owner: str, kind: str, worker: str, *, by_hand: bool
) -> bool:
    old = seen.lease
    if not seen.live():
        return True
    if old.kind == "backoff":
        return by_hand
    if old.kind == "reserved":
        return by_hand and kind not in _FOLDS
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
    # The next worker of the same run.
    left["wanted"] = old.wanted and old.owner == owner
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
            # A lease that can't be renewed runs out. That costs at most another worker's call of the LLM.
            _rewrite(process, held, expires_at=clock.iso_millis(process.clock() + LIFE))

    with process.every(renew, RENEWAL_TICK):
        yield


def extend(process: Process, held: Held, life: timedelta) -> None:
    """Let the lease live for `life` from now on, unless another holder has it by now."""
    _rewrite(process, held, seconds=life.total_seconds(), expires_at=clock.iso_millis(process.clock() + life))


def let_go(process: Process, held: Held) -> None:
    """Expire the lease now, after a failure that Lambda will retry. The retry takes the lease and clears up after the
    job.
    """
    _rewrite(process, held, seconds=0, expires_at=clock.iso_millis(process.clock()))


def pass_on(process: Process, held: Held, owner: str) -> None:
    """Give the lease to another job, which this worker continues: 1 PUT."""
    if held.put_back and held.put_back.owner == owner:
        held.put_back = None
    _rewrite(process, held, owner=owner)


def put_aside(process: Process, held: Held, life: timedelta) -> None:
    """Keep the job's place for its next invocation for `life`: 1 PUT. Later the sweep sees that it did not come."""
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
    """Keep automatic work away after a failure for `wait`, at most for `longest`. None: 1 minute, doubled with each
    further failure. Returns the time that was chosen.
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
    """Write the lease with `changes`, unless another holder has it or the store fails: nothing depends on the write."""
    with suppress(PreconditionLost, StoreUnavailable):
        try:
            _swap(process, held, changes)
        except PreconditionLost:
            if not _marked_meanwhile(process, held):
                raise
            _swap(process, held, changes)


def _swap(process: Process, held: Held, changes: Mapping[str, object]) -> None:
    changed = held.lease.model_copy(update={**changes, "rev": held.lease.rev + 1})
    held.stored = stored.swap(process.store, held.stored, changed, process.new_id)
    held.renewed = process.timer()


def _marked_meanwhile(process: Process, held: Held) -> bool:
    """Whether the lease is still this holder's, and was only marked as wanted. Then `held` has the mark: 1 GET."""
    seen = look(process, held.place)
    mine = (held.lease.owner, held.lease.worker)
    if not seen or held.lease.wanted or not seen.lease.wanted or (seen.lease.owner, seen.lease.worker) != mine:
        return False
    marked = held.lease.model_copy(update={"wanted": True, "rev": seen.lease.rev})
    held.stored = Stored(seen.stored.key, marked, seen.stored.etag)
    return True


def still_ours(process: Process, held: Held) -> bool:
    """Whether no other holder took the lease over: 1 GET."""
    seen = look(process, held.place)
    return bool(seen and seen.live() and (seen.lease.owner, seen.lease.worker) == (held.lease.owner, held.lease.worker))


def release(process: Process, held: Held) -> None:
    """Give the lease back, or to the queued job whose place it took, or reserve it for the change by hand that wants
    it, unless another holder has it.
    """
    waiting = held.put_back
    if waiting and not held.place.has_ended(process, waiting):
        _rewrite(process, held, **waiting.model_dump())
    elif held.lease.wanted or not _removed(process, held):
        until = clock.iso_millis(process.clock() + RESERVED)
        reserved = Lease(kind="reserved", seconds=RESERVED.total_seconds(), expires_at=until)
        _rewrite(process, held, **reserved.model_dump())


def _removed(process: Process, held: Held) -> bool:
    """Remove the lease. False if it is marked as wanted by now."""
    deleted = process.store.delete(held.place.key, if_match=held.stored.etag)
    return deleted or not _marked_meanwhile(process, held)


def quietly_release(process: Process, held: Held) -> None:
    """Release the lease after work that has succeeded: a failure of the store now must not fail that work."""
    # Every process can see that the holder has ended, or the lease runs out.
    with suppress(LiveMemoryError):
        release(process, held)


def forget(process: Process, place: LeasePlace, owner: str) -> None:
    """Remove a lease that has run out if it belongs to this owner, whose work has ended: 1 GET, 1 DELETE. Else no
    DELETE.
    """
    seen = look(process, place)
    if seen and seen.waiting_owner() == owner:
        process.store.delete(place.key, if_match=seen.stored.etag)
