"""The lease of a space: who changes its bank now. It saves money; safety rests on the commit.

Its life counts from when it was written, by the store's clock: those of two processes may be minutes apart. A worker
renews it, so a lease that was not renewed is a dead worker's, and stands in nobody's way for long. The lease of a
holder whose work has ended is free at once, whatever became of the request that should have removed it.

A `queued` lease keeps the place of a run whose invocation is still to come, against further events alone: what is
ready to work goes ahead, and puts it back. While a run waits out failures of the LLM the lease is kept as `backoff`,
so that put events don't ask a dead LLM again and again; whoever asks by hand takes it over at once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from livemem import clock
from livemem.errors import Busy, LiveMemoryError, PreconditionLost, StillAtWork, StoreUnavailable
from livemem.process import Process
from livemem.spaces import ended
from livemem.store import documents, keys
from livemem.store.documents import Count, Document, Moment, Seconds
from livemem.store.objects import Object

LIFE = timedelta(seconds=90)
"""Of a worker's lease since it was last renewed. Lambda tries again a minute and then two after a worker died, so the
second try finds it free for sure."""
RENEWED_AFTER = timedelta(seconds=60)
RENEWAL_TICK = 20.0
"""Seconds between two looks whether it is time to renew, so that one failure of the store does not cost the lease."""

BACKOFF_FIRST = timedelta(minutes=1)
BACKOFF_LONGEST = timedelta(hours=1)

TRIES = 5


class Lease(Document):
    """`_lease.json`.

    `kind` is what the holder does: `queued`, `consolidation`, `manual`, `rules`, `undo`, `review`, `gc`, `backup`,
    `erasure`, `sweep`; or `backoff`.
    """

    owner: str
    """The run, or the change by hand."""
    worker: str = ""
    """Which delivery of the run."""
    kind: str
    seconds: Seconds = 930
    """Life since it was written; this is what leases had that don't say it."""
    expires_at: Moment
    """For people: by the clock of the holder."""
    rev: Count = 1
    abandoned: list[str] = []
    """Runs whose lease ran out and whose plan may still lie about: the next holder clears it away."""
    failures: Count = 0
    error: str | None = None
    """Code of the failure that a `backoff` waits out."""


@dataclass(frozen=True)
class Seen:
    """A lease as it was read, and how old it was then."""

    lease: Lease
    etag: str
    age: timedelta
    written_at: datetime

    def live(self) -> bool:
        """Whether it has not run out."""
        return self.age < timedelta(seconds=self.lease.seconds)

    def until(self) -> str:
        """When it runs out, by the store's clock."""
        return clock.iso(self.written_at + timedelta(seconds=self.lease.seconds))


@dataclass
class Held:
    """A lease that is ours; `lease` and `etag` change when it is renewed."""

    space_id: str
    lease: Lease
    etag: str
    put_back: Lease | None = None
    """The queued lease in whose place it is."""
    renewed: float = 0.0


def look(process: Process, space_id: str) -> Seen | None:
    """The lease, or None: 1 GET. One that can't be read counts as run out."""
    found = process.store.get(keys.lease(space_id))
    return _seen(found) if found else None


def _seen(found: Object) -> Seen:
    try:
        lease = Lease.from_bytes(found.body)
    except ValueError:
        lease = Lease(owner="", kind="unreadable", seconds=0, expires_at="1970-01-01T00:00:00Z")
    return Seen(lease, found.etag, found.age, found.last_modified)


def holds(process: Process, space_id: str, seen: Seen) -> bool:
    """Whether somebody who has not ended holds the space: no request, 1 GET where the lease has not run out."""
    return seen.live() and (seen.lease.kind == "backoff" or not _has_ended(process, space_id, seen.lease))


def acquire(
    process: Process,
    space_id: str,
    run_id: str,
    kind: str,
    *,
    worker: str = "",
    life: timedelta = LIFE,
    by_hand: bool = False,
) -> Held:
    """Take the lease, enter the one that our run has queued, or take over a free one: 1 GET, 1 PUT.

    Raises Busy, or StillAtWork where another delivery of the same run holds it.
    """
    for _ in range(TRIES):
        seen = look(process, space_id)
        if seen:
            _refuse_if_bound(process, space_id, seen, run_id, kind, worker, by_hand=by_hand)
        fresh = _fresh(process, seen, run_id, kind, worker, life)
        try:
            etag = process.store.put(
                keys.lease(space_id),
                fresh.to_bytes(),
                if_match=seen.etag if seen else None,
                if_none_match=not seen,
                content_type=documents.JSON,
            )
        except PreconditionLost:
            # Perhaps our own first try, whose answer was lost.
            again = look(process, space_id)
            if not again or again.lease != fresh:
                continue
            etag = again.etag
        return Held(space_id, fresh, etag, _displaced(seen, run_id), process.timer())
    raise Busy("The space became busy just now.")


def _refuse_if_bound(
    process: Process, space_id: str, seen: Seen, run_id: str, kind: str, worker: str, *, by_hand: bool
) -> None:
    old = seen.lease
    if not seen.live():
        return
    if old.owner == run_id and old.kind != "backoff":
        if old.kind == "queued" or old.worker == worker:
            return
        raise StillAtWork("Another delivery of this run is at work.")
    if (old.kind == "queued" and kind != "queued") or (old.kind == "backoff" and by_hand):
        return
    if old.kind == "backoff" or not _has_ended(process, space_id, old):
        raise Busy(f"The space is busy ({old.kind}) until {seen.until()}.")


def _has_ended(process: Process, space_id: str, lease: Lease) -> bool:
    if lease.kind in ("queued", "consolidation"):
        return ended.run(process, space_id, lease.owner)
    return ended.change(process, space_id, lease.owner)


def _fresh(process: Process, seen: Seen | None, run_id: str, kind: str, worker: str, life: timedelta) -> Lease:
    fresh = Lease(
        owner=run_id,
        worker=worker,
        kind=kind,
        seconds=life.total_seconds(),
        expires_at=clock.iso_millis(process.clock() + life),
    )
    if not seen:
        return fresh
    old = seen.lease
    stands = old.kind == "backoff" or (old.kind == "queued" and seen.live())
    left_behind = [] if stands or old.owner in ("", run_id) else [old.owner]
    return fresh.model_copy(
        update={
            "rev": old.rev + 1,
            "abandoned": [*dict.fromkeys((*old.abandoned, *left_behind))],
            "failures": old.failures,
            "error": old.error,
        }
    )


def _displaced(seen: Seen | None, run_id: str) -> Lease | None:
    if not seen or seen.lease.kind != "queued" or seen.lease.owner == run_id or not seen.live():
        return None
    left = seen.lease.seconds - seen.age.total_seconds()
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
    """After a failure that Lambda will repeat: whoever comes next takes the lease over, and clears up after its run."""
    _rewrite(process, held, seconds=0, expires_at=clock.iso_millis(process.clock()))


def back_off(process: Process, held: Held, error_code: str, wait: timedelta | None = None) -> None:
    """Keep automatic runs away after a failure for `wait`; None: 1 minute, doubled with each further one, at most an
    hour.
    """
    failures = held.lease.failures + 1
    wait = wait or min(BACKOFF_FIRST * 2 ** min(failures - 1, 10), BACKOFF_LONGEST)
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


def _rewrite(process: Process, held: Held, **changes: object) -> None:
    """Write the lease with `changes`, unless it is no longer ours or the store fails: nothing depends on it."""
    changed = held.lease.model_copy(update={"rev": held.lease.rev + 1, **changes})
    key = keys.lease(held.space_id)
    try:
        try:
            etag = process.store.put(key, changed.to_bytes(), if_match=held.etag, content_type=documents.JSON)
        except PreconditionLost:
            seen = look(process, held.space_id)
            if not seen or seen.lease != changed:
                return
            etag = seen.etag
    except StoreUnavailable:
        return
    held.lease, held.etag, held.renewed = changed, etag, process.timer()


def still_ours(process: Process, held: Held) -> bool:
    """Whether nobody took the lease over: 1 GET."""
    seen = look(process, held.space_id)
    return bool(seen and seen.live() and (seen.lease.owner, seen.lease.worker) == (held.lease.owner, held.lease.worker))


def release(process: Process, held: Held) -> None:
    """Give the lease back, or to the queued run whose place it took, unless it is no longer ours."""
    waiting = held.put_back
    if waiting and not ended.run(process, held.space_id, waiting.owner):
        _rewrite(process, held, **(waiting.model_dump() | {"rev": held.lease.rev + 1}))
    else:
        process.store.delete(keys.lease(held.space_id), if_match=held.etag)


def quietly_release(process: Process, held: Held) -> None:
    """The same at the end of what has succeeded: that the store fails now must not make a failure of it."""
    try:
        release(process, held)
    except LiveMemoryError:
        # The holder has ended, which everybody can see: the lease is free.
        return
