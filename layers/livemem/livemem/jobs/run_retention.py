"""How long the documents of runs and the daily totals of usage are kept: RUN_RETENTION_DAYS.

A run is removed only after a sweep has seen that it is over, two hours after its last request. The head remembers up to
which run no orphans exist (changes/orphans.py). A late write of a run is conditional, so it finds nothing to replace. A
late write of its first document would have to be months late. A bank file that a run displaced stays: a person wrote
it, and it exists nowhere else.
"""

from datetime import timedelta
from itertools import islice, takewhile

from livemem import clock
from livemem.process import Process
from livemem.spaces import usage_counts
from livemem.spaces.head import Head
from livemem.store import keys
from livemem.store.bucket import RUN, TOTALS
from livemem.store.objects import DELETE_BATCH

AT_ONCE = DELETE_BATCH // 2
"""How many runs one look removes."""


def removable(process: Process, head: Head) -> list[str]:
    """The oldest runs of the space whose retention is over, at most 500: 1 LIST, none where the space is younger.

    More than one LIST only where none of a thousand objects of such old runs may be removed.
    """
    last_seen, before = head.meta.runs_seen, process.clock() - _kept(process)
    if not last_seen or clock.parse(head.meta.created_at) >= before:
        return []
    space_id = head.meta.space_id
    prefix = RUN.prefix(space_id)
    entries = process.store.scan(prefix, stop=prefix + keys.run_moment(int(before.timestamp() * 1_000)))
    run_ids = (run_id for entry in entries if (run_id := RUN.last(entry.key)))
    # The run of a waiting plan stays for as long as the plan waits: an approval ends it.
    waits = head.meta.review.run_id if head.meta.review else None
    ended = (run_id for run_id in takewhile(lambda run_id: run_id <= last_seen, run_ids) if run_id != waits)
    return list(islice(ended, AT_ONCE))


def remove(process: Process, head: Head) -> int:
    """Remove these runs and return how many: 1 LIST and 1 DeleteObjects, no DeleteObjects where there are none."""
    doomed, space_id = removable(process, head), head.meta.space_id
    process.store.delete_many([RUN.key(space_id, run_id) for run_id in doomed])
    return len(doomed)


def remove_days(process: Process) -> int:
    """Remove the totals of days whose retention is over, the oldest first, at most 1,000 documents.

    Returns how many: 1 LIST and 1 DeleteObjects, no DeleteObjects where there are none.
    """
    oldest = process.clock() - _kept(process)
    entries = process.store.scan(TOTALS.prefix(), stop=TOTALS.prefix(oldest.date()), limit=DELETE_BATCH)
    doomed = [entry.key for entry in entries if TOTALS.parse(entry.key)]
    process.store.delete_many(doomed)
    return len(doomed)


def _kept(process: Process) -> timedelta:
    return timedelta(days=max(process.settings.run_retention_days, usage_counts.KEPT_DAYS))
