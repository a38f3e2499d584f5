"""Claims: who does now what several workers may be asked for, such as the summaries of a conversation. They save money
and keep an order; that nothing is lost or doubled never rests on them alone.

A claim's life counts from when it was written, by the store's clock, and a worker renews it. After a failure of the LLM
it is kept as `backoff`, so that events don't ask a dead LLM again and again; whoever asks by hand takes it over.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from livemem.errors import Busy, PreconditionLost, StoreUnavailable
from livemem.process import Process
from livemem.spaces.lease import BACKOFF_FIRST, BACKOFF_LONGEST, LIFE, RENEWAL_TICK, RENEWED_AFTER
from livemem.store import documents
from livemem.store.documents import Count, Document, Seconds
from livemem.store.objects import Object

TRIES = 5


class Claim(Document):
    """The document."""

    worker: str
    delivery: str = ""
    """The invocation that it works in: a retry of it has the same. Empty for a request, which nobody delivers again."""
    job_id: str
    kind: Literal["work", "backoff"] = "work"
    seconds: Seconds
    """Life since it was written."""
    failures: Count = 0
    error: str | None = None


class Claimed(Busy):
    """Somebody else is at work, or failures are waited out."""

    def __init__(self, claim: Claim) -> None:
        at_work = "Another job is at this work."
        super().__init__(f"The work waits after a failure ({claim.error})." if claim.kind == "backoff" else at_work)
        self.claim = claim

    def fails(self, delivery: str) -> bool:
        """Whether an event must fail that finds the work claimed, so that it is delivered again behind the claim's end.

        The claim may be that of its own former try, which is dead: nobody is tried again before it has ended. Or it is
        that of a request, which is not tried again if it dies. Each other holder that dies comes again itself, and does
        what the event asks for too: where a hundred events meet it not all of them have to fail.
        """
        return self.claim.kind == "work" and bool(delivery) and self.claim.delivery in ("", delivery)


@dataclass
class Held:
    """A claim that is ours. `abandoned` is the job of a dead worker whose claim it was before."""

    key: str
    claim: Claim
    etag: str
    renewed: float
    abandoned: str | None = None


def look(process: Process, key: str) -> Claim | None:
    """The claim that stands now, or None: 1 GET."""
    found = process.store.get(key)
    return _standing(found) if found else None


def abandoned(process: Process, key: str) -> str | None:
    """The job of a worker that died at its work, if the claim is one's: 1 GET."""
    found = process.store.get(key)
    return _abandoned(found) if found else None


def _abandoned(found: Object) -> str | None:
    claim = _read(found)
    return claim.job_id if claim and claim.kind == "work" and not _standing(found) else None


def forget(process: Process, key: str, job_id: str) -> None:
    """Remove the claim of a worker that died at a job: 1 GET, 1 DELETE; none where it is not one's."""
    found = process.store.get(key)
    if found and _abandoned(found) == job_id:
        process.store.delete(key, if_match=found.etag)


def _standing(found: Object) -> Claim | None:
    claim = _read(found)
    return claim if claim and found.age < timedelta(seconds=claim.seconds) else None


def _read(found: Object) -> Claim | None:
    try:
        return Claim.from_bytes(found.body)
    except ValueError:
        return None


def acquire(process: Process, key: str, job_id: str, *, by_hand: bool, delivery: str = "") -> Held:
    """Take the claim for a job: 1 GET, 1 PUT. Who asks by hand does not wait for failures. Raises Claimed."""
    worker = process.new_id()
    for _ in range(TRIES):
        found = process.store.get(key)
        standing = _standing(found) if found else None
        if standing and not (by_hand and standing.kind == "backoff"):
            raise Claimed(standing)
        before = _read(found) if found else None
        failures = before.failures if before and before.kind == "backoff" else 0
        fresh = Claim(worker=worker, delivery=delivery, job_id=job_id, seconds=LIFE.total_seconds(), failures=failures)
        try:
            etag = process.store.put(
                key,
                fresh.to_bytes(),
                if_match=found.etag if found else None,
                if_none_match=not found,
                content_type=documents.JSON,
            )
        except PreconditionLost:
            again = process.store.get(key)
            # Perhaps our own first try, whose answer was lost.
            if not again or again.body != fresh.to_bytes():
                continue
            etag = again.etag
        return Held(key, fresh, etag, process.timer(), _abandoned(found) if found else None)
    raise Busy("Another job began this work just now.")


@contextmanager
def kept(process: Process, held: Held) -> Iterator[None]:
    """Renew the claim beside the work that is done in this context: 1 PUT a minute, none in the first."""

    def renew() -> None:
        if process.timer() - held.renewed >= RENEWED_AFTER.total_seconds():
            _rewrite(process, held, held.claim)

    with process.every(renew, RENEWAL_TICK):
        yield


def back_off(process: Process, held: Held, error_code: str, wait: timedelta | None = None) -> timedelta:
    """Keep automatic jobs away after a failure for `wait`; None: 1 minute, doubled with each further one, at most an
    hour. Returns for how long.
    """
    failures = held.claim.failures + 1
    wait = wait or min(BACKOFF_FIRST * 2 ** min(failures - 1, 10), BACKOFF_LONGEST)
    changes = {"kind": "backoff", "seconds": wait.total_seconds(), "failures": failures, "error": error_code}
    _rewrite(process, held, held.claim.model_copy(update=changes))
    return wait


def go_on_with(process: Process, held: Held, job_id: str) -> None:
    """Let the claim be another job's: 1 PUT."""
    _rewrite(process, held, held.claim.model_copy(update={"job_id": job_id}))


def _rewrite(process: Process, held: Held, claim: Claim) -> None:
    """Write the claim, unless it is no longer ours or the store fails: nothing depends on it."""
    try:
        held.etag = process.store.put(held.key, claim.to_bytes(), if_match=held.etag, content_type=documents.JSON)
    except (PreconditionLost, StoreUnavailable):
        return
    held.claim, held.renewed = claim, process.timer()


def release(process: Process, held: Held) -> None:
    """Give the claim back, unless it is no longer ours."""
    try:
        process.store.delete(held.key, if_match=held.etag)
    except StoreUnavailable:
        # It runs out.
        return
