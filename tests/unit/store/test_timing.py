"""The order that safety needs, whatever the single numbers are."""

from datetime import timedelta
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from livemem.changes import late_write_repair, orphans
from livemem.conversations import removal
from livemem.copies import catalog
from livemem.jobs import job as jobs
from livemem.jobs import lease
from livemem.rooms import digest_work
from livemem.spaces import caps, due_index, lifecycle
from livemem.store import due_keys, timing


def up_to(most: timedelta) -> Any:
    return st.timedeltas(timedelta(), most)


SKEWS = st.timedeltas(-timing.SKEW, timing.SKEW)


@given(began=up_to(timing.INVOCATION), repeated=up_to(timing.REPEATED), one=SKEWS, other=SKEWS)
def test_nothing_of_a_worker_acts_when_its_watch_is_over(began, repeated, one, other):
    """The watch begins at 0, while a worker is at work; it sends its last request at `began`."""
    acts = began + repeated

    assert acts <= timing.LAST_WRITE <= digest_work.WAIT
    assert acts <= removal.REMAINS_AFTER
    # Told by the clock of who writes, and read by another.
    assert acts <= late_write_repair.WATCHED_FOR + one - other


@given(
    waits=up_to(timing.DELIVERED),
    works=up_to(timing.INVOCATION),
    repeated=up_to(timing.REPEATED),
    one=SKEWS,
    other=SKEWS,
)
def test_nothing_of_a_run_or_a_job_comes_when_it_is_over(waits, works, repeated, one, other):
    assert waits + works + repeated <= orphans.QUIET_AFTER + one - other
    assert lease.BACKOFF_LONGEST + timing.SWEEPS + timing.SWEEPING + waits + works < jobs.SILENT


@given(first=up_to(timing.INVOCATION), waits=up_to(timing.BACKUP_DELIVERED), works=up_to(timing.INVOCATION))
def test_nobody_goes_on_with_a_backup_when_its_remains_are_removed(first, waits, works):
    assert first + waits + works + timing.REPEATED < catalog.NOBODY_COMES


@given(works=up_to(timing.SWEEPING), repeated=up_to(timing.REPEATED))
def test_an_id_is_free_when_no_deletion_of_its_space_can_come(works, repeated):
    assert works + repeated < lifecycle.TOMBSTONE_LIFE


@given(repeated=up_to(timing.REPEATED), works=up_to(timing.ANSWER), one=SKEWS, other=SKEWS)
def test_entries_of_the_due_index_stay_until_what_they_stand_for_is_there(repeated, works, one, other):
    """Who writes one relies on it for RELIED_ON, or until its time; that is told by one clock and read by another."""
    assert works + repeated <= due_index.KEPT + one - other
    assert timedelta() == due_index.RELIED_ON % due_keys.STEP


def test_a_lease_is_renewed_in_time_and_free_before_lambda_has_tried_for_the_last_time():
    renewed = lease.RENEWED_AFTER + timedelta(seconds=lease.RENEWAL_TICK)

    assert timing.RETRIES[0] <= lease.RENEWED_AFTER
    assert renewed < lease.LIFE < sum(timing.RETRIES, timedelta())
    # The lease of a request outlives it; the place of a question outlives who answers it.
    assert timing.ANSWER < timing.BY_HAND
    assert timing.INVOCATION < timing.DEAD_AFTER
    assert timing.INVOCATION < caps.QUESTION
    # A sweep that comes late for another finds it ended.
    assert timing.SWEEPING < timing.SWEEPS
