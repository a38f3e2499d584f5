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

While an agent folds (consolidation/agent_folds.py) its run has the lease as `agent`, until its next answer comes. It
keeps out automatic runs and other agents. Work that a person orders takes it over at once.

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

_FOLDS = ("queued", "consolidation", "agent")

TRIES = 5


class Lease(Revised):
    """The document of a lease. `kind` is the holder's kind of work, `queued`, `agent`, `backoff` or `reserved`."""

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
        message = f"Other work ({lease.kind}) holds the lease until {until}."
        if lease.kind == "backoff":
            message = f"The work waits after a failure ({lease.error}) until {until}."
        if lease.kind == "agent":
            message = f"An agent folds the notes until {until}."
        if lease.kind == "reserved":
            message = f"A change by hand comes before the next consolidation, until {until}."
        super().__init__(message)
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
class Hold:
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
    document = stored.find(process.store, place.key, _read)
    return SeenLease(document) if document else None


def _read(document: Object) -> Lease:
    try:
        return Lease.from_bytes(document.body)
    except ValueError:
        return Lease(kind="unreadable")


def holds(process: Process, place: LeasePlace, current: SeenLease) -> bool:
    """Whether a holder whose work has not ended holds the lease, or it is kept for somebody. No request if the lease
    has run out, else 1 GET.
    """
    return current.live() and (
        current.lease.kind in ("backoff", "reserved") or not place.has_ended(process, current.lease)
    )


def look_at_holder(process: Process, place: LeasePlace) -> tuple[SeenLease | None, bool]:
    """The lease, if there is one, and whether a holder whose work has not ended holds it: 1 GET, 2 if it has not run
    out.
    """
    current = look(process, place)
    return current, bool(current and holds(process, place, current))


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
) -> Hold:
    """Take a new or free lease, or the one that is queued for the same job: 1 GET, 1 PUT.

    A caller `by_hand` does not wait out failures. Where it meets a fold, it marks the lease as wanted: 1 PUT. Raises
    LeaseTaken, and Busy after too many lost races.
    """
    for _ in range(TRIES):
        current = look(process, place)
        if current and not _is_free(process, place, current, owner, kind, worker, by_hand=by_hand):
            if by_hand and kind not in _FOLDS:
                _want(process, current)
            raise LeaseTaken(current.lease, current.until())
        fresh = _fresh(current, owner, kind, life).model_copy(
            update={"worker": worker, "delivery": delivery, "expires_at": clock.iso_millis(process.clock() + life)}
        )
        try:
            written = stored.create(
                process.store, place.key, fresh, process.new_id, over=current.stored if current else None
            )
        except PreconditionLost:
            continue
        before = current.lease if current else None
        return Hold(place, written, before, _displaced(current, owner), process.timer())
    raise Busy("Another worker started just now. Try again.")


def acquire_in_turn(
    process: Process, place: LeasePlace, owner: str, kind: str, *, worker: str = "", life: timedelta = LIFE
) -> Hold:
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


def _want(process: Process, current: SeenLease) -> None:
    """Mark the lease of a fold as wanted, unless it is. Its end stays the same."""
    if current.lease.kind != "consolidation" or current.lease.wanted:
        return
    rest = (current.lease.life() - current.age).total_seconds()
    marked = current.lease.model_copy(update={"wanted": True, "seconds": rest, "rev": current.lease.rev + 1})
    # It is only a wish. Another look will see that it is not there.
    with suppress(PreconditionLost, StoreUnavailable):
        stored.swap(process.store, current.stored, marked, process.new_id)


def _is_free(
    process: Process, place: LeasePlace, current: SeenLease, owner: str, kind: str, worker: str, *, by_hand: bool
) -> bool:
    old = current.lease
    if not current.live():
        return True
    if old.kind == "backoff":
        return by_hand
    if old.kind == "reserved":
        return by_hand and kind not in _FOLDS
    if old.owner == owner:
        return old.kind in ("queued", "agent") or old.worker == worker
    if old.kind == "agent" and by_hand and kind != "agent":
        return True
    return (old.kind == "queued" and kind not in ("queued", "agent")) or place.has_ended(process, old)


def _fresh(current: SeenLease | None, owner: str, kind: str, life: timedelta) -> Lease:
    fresh = Lease(owner=owner, kind=kind, seconds=life.total_seconds())
    if not current:
        return fresh
    old = current.lease
    stands = old.kind == "backoff" or (old.kind == "queued" and current.live())
    left_behind = [] if stands or old.owner in ("", owner) else [old.owner]
    inheritance = {"rev": old.rev + 1, "abandoned": [*dict.fromkeys((*old.abandoned, *left_behind))]}
    # The next worker of the same run.
    inheritance["wanted"] = old.wanted and old.owner == owner
    return fresh.model_copy(update={**inheritance, "failures": old.failures, "error": old.error})


def _displaced(current: SeenLease | None, owner: str) -> Lease | None:
    if not current or current.lease.kind != "queued" or current.lease.owner == owner or not current.live():
        return None
    rest = (current.lease.life() - current.age).total_seconds()
    return current.lease.model_copy(update={"seconds": rest, "abandoned": []})


@contextmanager
def renewal(process: Process, hold: Hold) -> Iterator[None]:
    """Renew the lease beside the work that is done in this context: 1 PUT a minute, none in the first."""

    def renew() -> None:
        if process.timer() - hold.renewed >= RENEWED_AFTER.total_seconds():
            # A lease that can't be renewed runs out. That costs at most another worker's call of the LLM.
            _rewrite(process, hold, expires_at=clock.iso_millis(process.clock() + LIFE))

    with process.every(renew, RENEWAL_TICK):
        yield


def extend(process: Process, hold: Hold, life: timedelta) -> None:
    """Let the lease live for `life` from now on, unless another holder has it by now."""
    _rewrite(process, hold, seconds=life.total_seconds(), expires_at=clock.iso_millis(process.clock() + life))


def let_go(process: Process, hold: Hold) -> None:
    """Expire the lease now, after a failure that Lambda will retry. The retry takes the lease and clears up after the
    job.
    """
    _rewrite(process, hold, seconds=0, expires_at=clock.iso_millis(process.clock()))


def pass_on(process: Process, hold: Hold, owner: str) -> None:
    """Give the lease to another job, which this worker continues: 1 PUT."""
    if hold.put_back and hold.put_back.owner == owner:
        hold.put_back = None
    _rewrite(process, hold, owner=owner)


def put_aside(process: Process, hold: Hold, life: timedelta) -> None:
    """Keep the job's place for its next invocation for `life`: 1 PUT. Later the sweep sees that it did not come."""
    if hold.put_back:
        quietly_release(process, hold)
    else:
        _rewrite(
            process,
            hold,
            kind="queued",
            seconds=life.total_seconds(),
            expires_at=clock.iso_millis(process.clock() + life),
        )


def wait_for_agent(process: Process, hold: Hold, until: str) -> None:
    """Keep the lease for the agent's next answer, `until` a moment by this process's clock: 1 PUT."""
    seconds = max((clock.parse(until) - process.clock()).total_seconds(), 0)
    _rewrite(process, hold, kind="agent", worker="", seconds=seconds, expires_at=until)


def back_off(
    process: Process,
    hold: Hold,
    error_code: str,
    wait: timedelta | None = None,
    *,
    longest: timedelta = BACKOFF_LONGEST,
) -> timedelta:
    """Keep automatic work away after a failure for `wait`, at most for `longest`. None: 1 minute, doubled with each
    further failure. Returns the time that was chosen.
    """
    failures = hold.lease.failures + 1
    wait = min(wait or BACKOFF_FIRST * 2 ** min(failures - 1, 10), longest)
    _rewrite(
        process,
        hold,
        kind="backoff",
        seconds=wait.total_seconds(),
        expires_at=clock.iso_millis(process.clock() + wait),
        failures=failures,
        error=error_code,
        abandoned=[],
    )
    return wait


def _rewrite(process: Process, hold: Hold, **changes: object) -> None:
    """Write the lease with `changes`, unless another holder has it or the store fails: nothing depends on the write."""
    with suppress(PreconditionLost, StoreUnavailable):
        try:
            _swap(process, hold, changes)
        except PreconditionLost:
            if not _marked_meanwhile(process, hold):
                raise
            _swap(process, hold, changes)


def _swap(process: Process, hold: Hold, changes: Mapping[str, object]) -> None:
    changed = hold.lease.model_copy(update={**changes, "rev": hold.lease.rev + 1})
    hold.stored = stored.swap(process.store, hold.stored, changed, process.new_id)
    hold.renewed = process.timer()


def _marked_meanwhile(process: Process, hold: Hold) -> bool:
    """Whether the lease is still this holder's, and was only marked as wanted. Then `hold` has the mark: 1 GET."""
    current = look(process, hold.place)
    mine = (hold.lease.owner, hold.lease.worker)
    if (
        not current
        or hold.lease.wanted
        or not current.lease.wanted
        or (current.lease.owner, current.lease.worker) != mine
    ):
        return False
    marked = hold.lease.model_copy(update={"wanted": True, "rev": current.lease.rev})
    hold.stored = Stored(current.stored.key, marked, current.stored.etag)
    return True


def still_ours(process: Process, hold: Hold) -> bool:
    """Whether no other holder took the lease over: 1 GET."""
    current = look(process, hold.place)
    return bool(
        current
        and current.live()
        and (current.lease.owner, current.lease.worker) == (hold.lease.owner, hold.lease.worker)
    )


def release(process: Process, hold: Hold) -> None:
    """Give the lease back, or to the queued job whose place it took, or reserve it for the change by hand that wants
    it, unless another holder has it.
    """
    waiting = hold.put_back
    if waiting and not hold.place.has_ended(process, waiting):
        _rewrite(process, hold, **waiting.model_dump())
    elif hold.lease.wanted or not _removed(process, hold):
        until = clock.iso_millis(process.clock() + RESERVED)
        reserved = Lease(kind="reserved", seconds=RESERVED.total_seconds(), expires_at=until)
        _rewrite(process, hold, **reserved.model_dump())


def _removed(process: Process, hold: Hold) -> bool:
    """Remove the lease. False if it is marked as wanted by now."""
    deleted = process.store.delete(hold.place.key, if_match=hold.stored.etag)
    return deleted or not _marked_meanwhile(process, hold)


def quietly_release(process: Process, hold: Hold) -> None:
    """Release the lease after work that has succeeded: a failure of the store now must not fail that work."""
    # Every process can see that the holder has ended, or the lease runs out.
    with suppress(LiveMemoryError):
        release(process, hold)


def forget(process: Process, place: LeasePlace, owner: str) -> None:
    """Remove a lease that has run out if it belongs to this owner, whose work has ended: 1 GET, 1 DELETE. Else no
    DELETE.
    """
    current = look(process, place)
    if current and current.waiting_owner() == owner:
        process.store.delete(place.key, if_match=current.stored.etag)
