"""The lease of a space: who changes its bank now, until when. It saves money; safety rests on the commit.

While a run waits out failures of the LLM the lease is kept as `backoff`, so that put events don't ask a dead LLM
again and again; whoever asks by hand takes it over at once.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from livemem import clock
from livemem.errors import Busy, PreconditionLost
from livemem.process import Process
from livemem.store import documents, keys
from livemem.store.documents import Document, Moment

BACKOFF_FIRST = timedelta(minutes=1)
BACKOFF_LONGEST = timedelta(hours=1)


class Lease(Document):
    """`_lease.json`.

    `kind` is what the holder does: `queued`, `consolidation`, `manual`, `rules`, `undo`, `sweep`; or `backoff`.
    """

    owner: str
    kind: str
    expires_at: Moment
    rev: int = 1
    abandoned: list[str] = []
    """Runs whose lease ran out and whose plan may still lie about: the next holder clears it away."""
    failures: int = 0
    error: str | None = None
    """Code of the failure that a `backoff` waits out."""

    def live(self, now: datetime) -> bool:
        """Whether the lease still binds others."""
        return now < clock.parse(self.expires_at)


@dataclass(frozen=True)
class Held:
    """A lease that is ours, with the ETag that says so."""

    space_id: str
    lease: Lease
    etag: str


def look(process: Process, space_id: str) -> tuple[Lease, str] | None:
    """The lease and its ETag, or None. One that can't be read counts as run out."""
    found = process.store.get(keys.lease(space_id))
    if not found:
        return None
    try:
        return Lease.from_bytes(found.body), found.etag
    except ValueError:
        return Lease(owner="", kind="unreadable", expires_at="1970-01-01T00:00:00Z"), found.etag


def binds(lease: Lease, run_id: str, now: datetime, *, by_hand: bool) -> bool:
    """Whether `lease` keeps the run out: it is another's and has not run out, or waits after a failure."""
    if lease.owner == run_id or not lease.live(now):
        return False
    return not (lease.kind == "backoff" and by_hand)


def acquire(process: Process, space_id: str, run_id: str, kind: str, *, until: datetime, by_hand: bool) -> Held:
    """Take the lease, re-enter our own, or take over one that ran out: 1 GET, 1 PUT. Raises Busy."""
    seen = look(process, space_id)
    fresh = Lease(owner=run_id, kind=kind, expires_at=clock.iso_millis(until))
    if seen:
        old = seen[0]
        if binds(old, run_id, process.clock(), by_hand=by_hand):
            raise Busy(f"The space is busy ({old.kind}) until {old.expires_at}.")
        left_behind = [old.owner] if old.owner not in ("", run_id) and old.kind != "backoff" else []
        fresh = fresh.model_copy(
            update={
                "rev": old.rev + 1,
                "abandoned": [*old.abandoned, *left_behind],
                "failures": old.failures,
                "error": old.error,
            }
        )
    try:
        etag = process.store.put(
            keys.lease(space_id),
            fresh.to_bytes(),
            if_match=seen[1] if seen else None,
            if_none_match=not seen,
            content_type=documents.JSON,
        )
    except PreconditionLost:
        # Perhaps our own first try, answered with an error.
        again = look(process, space_id)
        if again and again[0] == fresh:
            return Held(space_id, fresh, again[1])
        raise Busy("The space became busy just now.") from None
    return Held(space_id, fresh, etag)


def still_ours(process: Process, held: Held) -> bool:
    """Whether nobody took the lease over: 1 GET."""
    seen = look(process, held.space_id)
    return bool(seen and seen[1] == held.etag and seen[0].live(process.clock()))


def release(process: Process, held: Held) -> None:
    """Give the lease back, unless it is no longer ours."""
    process.store.delete(keys.lease(held.space_id), if_match=held.etag)


def back_off(process: Process, held: Held, error_code: str) -> None:
    """Keep automatic runs away after a failure: 1 minute, doubled with each further one, at most an hour."""
    failures = held.lease.failures + 1
    wait = min(BACKOFF_FIRST * 2 ** min(failures - 1, 10), BACKOFF_LONGEST)
    waiting = held.lease.model_copy(
        update={
            "kind": "backoff",
            "rev": held.lease.rev + 1,
            "expires_at": clock.iso_millis(process.clock() + wait),
            "failures": failures,
            "error": error_code,
            "abandoned": [],
        }
    )
    try:
        process.store.put(
            keys.lease(held.space_id), waiting.to_bytes(), if_match=held.etag, content_type=documents.JSON
        )
    except PreconditionLost:
        return
