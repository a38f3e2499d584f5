"""Changes of banks that were interrupted or disturbed: finished if committed, else cleared away."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from livemem.changes import direct, late_duplicates, orphans
from livemem.changes.records import Record
from livemem.errors import Busy, NotFound, PreconditionLost
from livemem.jobs import lease, places
from livemem.jobs.package import MORE_WORK, HealthProblem, Package, Space
from livemem.process import Process
from livemem.spaces import contents, due_index
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.store.bucket import PLAN, RECORD, REVIEW


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Finish a committed change, clear away plans that are not committed, remove late duplicates, repair damage by late
    requests, and end runs that no worker ends.
    """
    orphaned = orphans.find(process, space.head)
    unfinished = _unfinished(space)
    _remove_reviews(process, space, orphaned.reviews)
    if unfinished or orphaned.run_ids or space.head.meta.late_write_repair or _has_late_duplicates(process, space):
        due_index.leave(process, space.space_id)
        done = clear_up(process, space.space_id, orphaned.run_ids)
        return {MORE_WORK: 1, **({"recovered": 1} if done and (unfinished or orphaned.run_ids) else {})}
    orphans.remember(process, space.head, orphaned)
    return {MORE_WORK: 1} if orphaned.more else {}


def _remove_reviews(process: Process, space: Space, run_ids: Sequence[str]) -> None:
    """Remove plans that wait for no approval: their runs have ended, so no worker can ask for approval now."""
    process.store.delete_many([REVIEW.key(space.space_id, run_id) for run_id in run_ids])


def left_undone(process: Process, space: Space) -> int:
    """How many things `maintain` would finish, end or clear away: a commit, a lease that ran out, runs and plans that
    no worker ends, late duplicates. It only reads. 0 where the space is held: the holder clears up first.
    """
    if space.busy:
        return 0
    meta = space.head.meta
    orphaned = orphans.find(process, space.head, ends=False)
    stray = _late_duplicates(process, space.head) if _may_have_late_duplicates(space.head) else set()
    ran_out = space.lease is not None and space.lease.lease.kind != "backoff"
    undone = bool(meta.committed_run) + bool(meta.review and meta.review.decision)
    return undone + ran_out + len(orphaned.run_ids) + len(orphaned.reviews) + len({*stray, *meta.late_duplicates})


def clear_up(process: Process, space_id: str, run_ids: Sequence[str] = ()) -> bool:
    """Finish and clear away under the lease, also the orphans of these runs. False if the space is busy."""
    try:
        hold = lease.acquire(process, places.of_space(space_id), process.new_id(), "sweep")
    except Busy:
        return False
    with lease.renewal(process, hold), suppress(NotFound):
        remove_late_duplicates(process, direct.settled(process, space_id, [*hold.lease.abandoned, *run_ids]))
    lease.release(process, hold)
    return True


def remove_late_duplicates(process: Process, head: Head) -> Head:
    """Remove the late duplicates among the space's live notes. Returns the head after it. If the head changes, they
    wait.
    """
    duplicates = _late_duplicates(process, head)
    if not duplicates:
        return head
    try:
        return late_duplicates.remove(process, head, duplicates)
    except PreconditionLost:
        return heads.load(process, head.meta.space_id)


def _has_late_duplicates(process: Process, space: Space) -> bool:
    meta = space.head.meta
    if not _may_have_late_duplicates(space.head):
        return False
    if space.automatic and len(space.live) < meta.consolidation_threshold:
        # All notes that wait are listed already.
        return bool(late_duplicates.among(process, space.head, space.live))
    return bool(_late_duplicates(process, space.head))


def _may_have_late_duplicates(head: Head) -> bool:
    return bool(not head.meta.committed_run and head.meta.folded_until)


def _late_duplicates(process: Process, head: Head) -> set[str]:
    entries = list(contents.notes_until(process, head.meta.space_id, head.meta.folded_until))
    return late_duplicates.among(process, head, entries)


def problems(_: Process, space: Space) -> list[HealthProblem]:
    """Reports a commit that is not written out, a lease that was not given back, and one whose holder does not work."""
    causes = []
    lease_read = space.lease
    if lease_read and not space.busy and lease_read.lease.kind != "backoff":
        causes.append(
            HealthProblem(space.space_id, "run_died", "The worker of a run died. The sweep clears up after it.")
        )
    if space.head.meta.committed_run:
        detail = (
            "A committed change is not applied yet. The worker that holds the space, the next run, or the "
            "sweep finishes it."
        )
        causes.append(HealthProblem(space.space_id, "commit_unfinished", detail))
    reason = space.blocked()
    if lease_read and reason:
        causes.append(
            HealthProblem(
                space.space_id, "blocked", f"{reason}; the space is free at {lease_read.until()} at the latest."
            )
        )
    return causes


def _unfinished(space: Space) -> bool:
    if space.busy:
        return False
    lease_read = space.lease
    stale = lease_read and (lease_read.lease.kind != "backoff" or lease_read.lease.abandoned)
    meta = space.head.meta
    return bool(meta.committed_run or meta.late_duplicates or stale or (meta.review and meta.review.decision))


PACKAGE = Package(
    maintain=maintain,
    problems=problems,
    objects={
        RECORD: Record.from_bytes,
        PLAN: Record.from_bytes,
        REVIEW: Record.from_bytes,
    },
)
