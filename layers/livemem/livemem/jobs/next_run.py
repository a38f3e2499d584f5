"""What waits in a space, when its next consolidation starts by itself, and why not sooner."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from livemem import clock
from livemem.jobs import lease as leases
from livemem.jobs import places
from livemem.jobs.lease import SeenLease
from livemem.process import Process
from livemem.settings import Settings
from livemem.spaces import contents, pending
from livemem.spaces.head import Meta
from livemem.store.objects import Entry

COUNTED_MOST = 900
"""Notes that are counted exactly: one listing holds them, with the notes that are set aside."""

WaitReason = Literal[
    "review", "running", "queued", "held", "after_failure", "paused", "by_hand", "due", "session_end", "threshold"
]


@dataclass(frozen=True)
class NextRun:
    """What the next automatic consolidation waits for. `run_id`: the run at work, queued, or with a plan to approve.

    `not_before`: the end of the wait after a failure. `detail`: the reason of a pause, the code of the failure, or the
    kind of work that holds the space.
    """

    why: WaitReason
    notes_missing: int | None = None
    run_id: str | None = None
    not_before: str | None = None
    detail: str | None = None


@dataclass(frozen=True)
class Waiting:
    """The live notes that wait for a consolidation. There are more of them if not `exact`."""

    notes_count: int
    exact: bool
    oldest_note_at: str | None
    next_run: NextRun


def look(process: Process, meta: Meta) -> Waiting:
    """What waits in a space: 1 GET and 1 LIST side by side, 1 GET more in a space that is held."""
    lease, notes = process.store.concurrently(
        lambda: holder_lease(process, meta.space_id),
        lambda: contents.waiting_notes(process, meta, most=COUNTED_MOST),
    )
    return waiting(process, meta, lease, notes, exact=len(notes) < COUNTED_MOST)


def holder_lease(process: Process, space_id: str) -> SeenLease | None:
    """The lease of a space whose holder is at work: 1 GET, 2 where there is one."""
    lease, busy = leases.look_at_holder(process, places.of_space(space_id))
    return lease if busy else None


def waiting(
    process: Process, meta: Meta, lease: SeenLease | None, notes: Sequence[Entry], *, exact: bool = True
) -> Waiting:
    """What waits, of the listed notes, oldest first. `lease`: that of a holder at work. No request."""
    oldest, next_one = pending.oldest(notes), _next(process.settings, meta, lease, len(notes))
    if next_one.why == "threshold" and process.settings.session_folds:
        next_one = NextRun("session_end")
    return Waiting(len(notes), exact, clock.iso(oldest) if oldest else None, next_one)


def _next(settings: Settings, meta: Meta, lease: SeenLease | None, count: int) -> NextRun:
    if lease and lease.lease.kind in ("consolidation", "queued", "agent"):
        return NextRun("queued" if lease.lease.kind == "queued" else "running", run_id=lease.lease.owner)
    if meta.pending_plan:
        return NextRun("review", run_id=meta.pending_plan.run_id)
    if meta.auto_paused:
        return NextRun("paused", detail=meta.pause_reason)
    if meta.consolidation_threshold == 0 or meta.nobody_folds(settings):
        return NextRun("by_hand")
    missing = max(meta.consolidation_threshold - count, 0)
    if missing:
        return NextRun("threshold", notes_missing=missing)
    if lease and lease.lease.kind == "backoff":
        return NextRun("after_failure", not_before=lease.until(), detail=lease.lease.error)
    if lease:
        return NextRun("held", detail=lease.lease.kind)
    return NextRun("due")
