"""Runs that no worker ends, and plans of runs that have ended: a sweep finds them and clears them away.

The ids of runs sort by time. So the head remembers up to which run there are no orphans, and one listing shows the
later runs. Those are from the last hours, so an invocation or a late write of them may still come.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from livemem import clock
from livemem.changes import recovery
from livemem.jobs import run as runs
from livemem.process import Process, Timer
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.store import timing
from livemem.store.bucket import PLAN, REVIEW, RUN
from livemem.store.objects import Entry

QUIET_AFTER = timing.DELIVERED + timing.LAST_WRITE + timing.APART
"""No request of a run comes later, counted from the time in its id, which another clock made."""

MOST_KNOWN = 100_000

MOST_LISTED = 1_000
"""Objects of runs that one sweep reads in a space: a page of a listing. A run at work has two."""


@dataclass(frozen=True)
class OrphanedRuns:
    """The runs `run_ids` have left orphans. Up to the run `seen_until` there are none, and none will come. `more`:
    later runs may still leave some.
    """

    run_ids: list[str]
    seen_until: str | None
    more: bool
    reviews: Sequence[str] = ()
    """Runs with an orphaned plan: it waits for no approval."""
    looked_at: int = 0
    """How many runs were looked at."""


class _Ended:
    """Runs of which this process has seen the end, which is final."""

    def __init__(self, _: Timer) -> None:
        self._run_ids: set[tuple[str, str]] = set()

    def knows(self, uid: str, run_id: str) -> bool:
        return (uid, run_id) in self._run_ids

    def add(self, uid: str, run_id: str) -> None:
        if len(self._run_ids) == MOST_KNOWN:
            self._run_ids.clear()
        self._run_ids.add((uid, run_id))


def find(process: Process, head: Head, *, ends: bool = True) -> OrphanedRuns:
    """The orphans of runs since the head's mark: 1 LIST, and 1 GET for each run that is not known to have ended.

    With `ends`, runs whose invocation never came are ended here: no worker holds the space for them.
    """
    entries = _listed(process, head)
    plans = {run_id for entry in entries if (run_id := PLAN.last(entry.key))}
    run_ids = [run_id for entry in entries if (run_id := RUN.last(entry.key))]
    ended = process.store.map(lambda run_id: _has_ended(process, head, run_id, ends=ends), run_ids)
    standing = dict(zip(run_ids, ended, strict=True))
    overdue = [run_id for run_id, state in standing.items() if state == "overdue"]
    # A plan of a change by hand has no run. While that change works the space is busy, and nothing is cleared away.
    overdue += sorted(run_id for run_id in plans if standing.get(run_id, "ended") == "ended" and run_id not in overdue)
    overdue = [run_id for run_id in overdue if run_id != head.meta.committed_run]
    review_ids = [run_id for entry in entries if (run_id := REVIEW.last(entry.key))]
    unasked = [run_id for run_id in review_ids if standing.get(run_id, "ended") == "ended"]
    seen_until = _seen_until(process, [run_id for run_id in run_ids if standing[run_id] != "ended"], run_ids)
    more = max(run_ids, default=None) != seen_until or len(entries) == MOST_LISTED
    return OrphanedRuns(overdue, seen_until, more, _of_nobody(process, head, unasked), len(run_ids))


def _of_nobody(process: Process, head: Head, run_ids: list[str]) -> list[str]:
    """The runs among `run_ids` whose plan neither waits nor was decided just now: no request for no runs, else 1 GET.

    The head is read again: a run that has come to rest since the first read may be the one whose plan waits.
    """
    newest = heads.find(process, head.meta.space_id) if run_ids else None
    waits = newest.meta.review.run_id if newest and newest.meta.review else None
    return [run_id for run_id in run_ids if newest and newest.meta.uid == head.meta.uid and run_id != waits]


def remember(process: Process, head: Head, orphaned: OrphanedRuns) -> None:
    """Write into the head up to which run there are no orphans: 1 PUT, if that is further than before."""
    if orphaned.seen_until and orphaned.seen_until > (head.meta.runs_seen or ""):
        heads.try_swap(process, head, runs_seen=orphaned.seen_until)


def _listed(process: Process, head: Head) -> list[Entry]:
    space_id, mark = head.meta.space_id, head.meta.runs_seen
    below = RUN.prefix(space_id)
    # Behind all objects of the run, and before those of later runs.
    return list(process.store.scan(below, start_after=f"{below}{mark}.~" if mark else "", limit=MOST_LISTED))


def _has_ended(process: Process, head: Head, run_id: str, *, ends: bool) -> str:
    """The state of the run: `ended`, `going_on` or `overdue`."""
    cache = process.cache(_Ended)
    if cache.knows(head.meta.uid, run_id):
        return "ended"
    saved = runs.find(process, head.meta.space_id, run_id)
    if not saved or saved.value.uid != head.meta.uid:
        # Unreadable, or of a deleted space of the same name: no process waits for it.
        return "ended"
    run = saved.value
    if run.status == "queued" and saved.age > timing.DELIVERED:
        if not ends:
            return "overdue"
        run = runs.finish(process, saved, "failed", error=recovery.NEVER_STARTED)
    if run.at_rest():
        cache.add(head.meta.uid, run_id)
        return "ended"
    return "overdue" if run.status == "running" and saved.age > timing.DEAD_AFTER else "going_on"


def _seen_until(process: Process, unended: list[str], run_ids: list[str]) -> str | None:
    quiet = process.clock() - QUIET_AFTER
    first = min(unended, default="~")
    settled = [run_id for run_id in run_ids if run_id < first and clock.id_time(run_id) < quiet]
    return max(settled, default=None)
