"""The claim on a conversation: who makes its summaries now. It saves money; correctness rests on names and seals.

Its life counts from when it was written, by the store's clock, and a worker renews it. After a failure of the LLM it is
kept as `backoff`, so that events don't ask a dead LLM again and again; whoever asks by hand takes it over.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from livemem.errors import Busy, PreconditionLost, StoreUnavailable
from livemem.process import Process
from livemem.spaces.lease import BACKOFF_FIRST, BACKOFF_LONGEST, LIFE, RENEWAL_TICK, RENEWED_AFTER
from livemem.store import conversation_keys as keys
from livemem.store import documents
from livemem.store.documents import Document
from livemem.store.objects import Object

TRIES = 5


class Claim(Document):
    """`claims/summaries.json`."""

    worker: str
    job_id: str
    kind: Literal["work", "backoff"] = "work"
    seconds: float
    """Life since it was written."""
    failures: int = 0
    error: str | None = None


class Claimed(Busy):
    """Somebody else makes the summaries of the conversation now, or failures are waited out."""

    def __init__(self, claim: Claim) -> None:
        at_work = "Another job makes summaries of this conversation."
        super().__init__(f"Summaries wait after a failure ({claim.error})." if claim.kind == "backoff" else at_work)
        self.claim = claim


@dataclass
class Held:
    """A claim that is ours."""

    key: str
    claim: Claim
    etag: str
    renewed: float


def look(process: Process, space_id: str, conversation_id: str) -> Claim | None:
    """The claim that stands now, or None: 1 GET."""
    found = process.store.get(keys.claim(space_id, conversation_id))
    return _standing(found) if found else None


def _standing(found: Object) -> Claim | None:
    claim = _read(found)
    return claim if claim and found.age < timedelta(seconds=claim.seconds) else None


def _read(found: Object) -> Claim | None:
    try:
        return Claim.from_bytes(found.body)
    except ValueError:
        return None


def acquire(process: Process, space_id: str, conversation_id: str, job_id: str, *, by_hand: bool) -> Held:
    """Take the claim: 1 GET, 1 PUT. Raises Claimed."""
    key = keys.claim(space_id, conversation_id)
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
    raise Busy("The conversation became busy just now.")


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
