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
from livemem.store.documents import Document
from livemem.store.objects import Object

TRIES = 5


class Claim(Document):
    """The document."""

    worker: str
    job_id: str
    kind: Literal["work", "backoff"] = "work"
    seconds: float
    """Life since it was written."""
    failures: int = 0
    error: str | None = None


class Claimed(Busy):
    """Somebody else is at work, or failures are waited out."""

    def __init__(self, claim: Claim) -> None:
        at_work = "Another job is at this work."
        super().__init__(f"The work waits after a failure ({claim.error})." if claim.kind == "backoff" else at_work)
        self.claim = claim


@dataclass
class Held:
    """A claim that is ours."""

    key: str
    claim: Claim
    etag: str
    renewed: float


def look(process: Process, key: str) -> Claim | None:
    """The claim that stands now, or None: 1 GET."""
    found = process.store.get(key)
    return _standing(found) if found else None


def _standing(found: Object) -> Claim | None:
    claim = _read(found)
    return claim if claim and found.age < timedelta(seconds=claim.seconds) else None


def _read(found: Object) -> Claim | None:
    try:
        return Claim.from_bytes(found.body)
    except ValueError:
        return None


def acquire(process: Process, key: str, job_id: str, *, by_hand: bool) -> Held:
    """Take the claim for a job: 1 GET, 1 PUT. Who asks by hand does not wait for failures. Raises Claimed."""
    worker = process.new_id()
    for _ in range(TRIES):
        found = process.store.get(key)
        standing = _standing(found) if found else None
        if standing and not (by_hand and standing.kind == "backoff"):
            raise Claimed(standing)
        before = _read(found) if found else None
        failures = before.failures if before and before.kind == "backoff" else 0
        fresh = Claim(worker=worker, job_id=job_id, seconds=LIFE.total_seconds(), failures=failures)
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
        return Held(key, fresh, etag, process.timer())
    raise Busy("Another job began this work just now.")


@contextmanager
def kept(process: Process, held: Held) -> Iterator[None]:
    """Renew the claim beside the work that is done in this context: 1 PUT a minute, none in the first."""

    def renew() -> None:
        if process.timer() - held.renewed >= RENEWED_AFTER.total_seconds():
            _rewrite(process, held, held.claim)

    with process.meanwhile(renew, RENEWAL_TICK):
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
