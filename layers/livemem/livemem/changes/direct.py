"""A change of bank or rules that somebody orders and sees at once: under the lease, without an LLM."""

from collections.abc import Callable
from datetime import timedelta

from livemem.changes import commit
from livemem.changes.commit import CommitLost
from livemem.changes.records import Record
from livemem.errors import NotFound, PreconditionLost
from livemem.process import Process
from livemem.runs import counter
from livemem.spaces import head as heads
from livemem.spaces import lease
from livemem.spaces.head import Head
from livemem.store.probe import require_conditional_writes

LEASE_LIFE = timedelta(seconds=60)
"""Longer than an HTTP function can run (29 s)."""


def carry_out(process: Process, space_id: str, kind: str, plan: Callable[[Head, str], Record]) -> Record:
    """Plan, commit, apply and record a change under the lease; `plan` gets the head and the id of the change.

    If the space is at its threshold afterwards, the next run is started. Raises what `plan` does, NotFound, Busy,
    PreconditionLost.
    """
    require_conditional_writes(process.store)
    heads.load(process, space_id)
    run_id = process.new_id()
    held = lease.acquire(process, space_id, run_id, kind, until=process.clock() + LEASE_LIFE, by_hand=True)
    # Where a failure leaves something behind the lease stays: it tells the next one, or the sweep, what to clear away.
    try:
        head = commit.recover(process, heads.load(process, space_id))
        head = commit.clear_abandoned(process, head, held.lease.abandoned)
    except NotFound:
        lease.release(process, held)
        raise
    try:
        record = plan(head, run_id)
        # What can't be written is found out now, while there is nothing to clear away.
        record.to_bytes()
    except Exception:
        lease.release(process, held)
        raise
    try:
        record = commit.prepare(process, space_id, record)
        head = commit.commit(process, head, held, record)
    except CommitLost as error:
        lease.release(process, held)
        raise PreconditionLost(str(error)) from error
    commit.apply(process, head, record)
    lease.release(process, held)
    counter.start_if_possible(process, space_id)
    return record
