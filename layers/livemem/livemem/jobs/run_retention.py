"""How long the documents of runs are kept, and the totals of what was used on a day: RUN_RETENTION_DAYS.

Only what a sweep has seen to be over is removed, and that was two hours after its last request: the head remembers up
to which run nothing is left behind (changes/orphans.py). A write of a run that comes late finds nothing to replace,
as it is conditional; and its first document would have to be months late. What a run displaced stays: somebody wrote it
by hand, and it is nowhere else.
"""

from datetime import timedelta
from itertools import islice, takewhile

from livemem import clock
from livemem.process import Process
from livemem.spaces import usage_counts
from livemem.spaces.head import Head
from livemem.store import keys
from livemem.store.objects import DELETE_BATCH

AT_ONCE = DELETE_BATCH // 2
"""Runs that one look removes."""


def removable(process: Process, head: Head) -> list[str]:
    """The oldest runs of the space that are kept no longer, at most 500: 1 LIST, none where the space is younger.

    More than one LIST only where a thousand objects of so old runs are none that may be removed.
    """
    seen, before = head.meta.runs_seen, process.clock() - _kept(process)
    if not seen or clock.parse(head.meta.created_at) >= before:
        return []
    space_id = head.meta.space_id
    prefix = keys.runs_prefix(space_id)
    listed = process.store.scan(prefix, stop=prefix + keys.run_moment(int(before.timestamp() * 1_000)))
    found = (parsed[0] for entry in listed if (parsed := keys.parse_run(entry.key)))
    # However long a plan waits, its run stays: an approval ends it.
    waits = head.meta.review.run_id if head.meta.review else None
    ended = (run_id for run_id in takewhile(lambda run_id: run_id <= seen, found) if run_id != waits)
    return list(islice(ended, AT_ONCE))


def remove(process: Process, head: Head) -> int:
    """Remove these; returns how many: 1 LIST and 1 DeleteObjects, no DeleteObjects where there are none."""
    doomed, space_id = removable(process, head), head.meta.space_id
    process.store.delete_many([keys.run(space_id, run_id) for run_id in doomed])
    return len(doomed)


def remove_days(process: Process) -> int:
    """Remove the totals of days whose runs are kept no longer, the oldest first, at most 1,000 documents.

    1 LIST and 1 DeleteObjects, no DeleteObjects where there are none; returns how many.
    """
    oldest = process.clock() - _kept(process)
    listed = process.store.scan(keys.USAGE, stop=keys.usage_of_day(oldest.date()), limit=DELETE_BATCH)
    doomed = [entry.key for entry in listed if keys.parse_totals(entry.key)]
    process.store.delete_many(doomed)
    return len(doomed)


def _kept(process: Process) -> timedelta:
    return timedelta(days=max(process.settings.run_retention_days, usage_counts.KEPT_DAYS))
