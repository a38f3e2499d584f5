"""A change of the bank that somebody orders and sees at once: under the lease, without an LLM."""

from collections.abc import Callable
from datetime import timedelta

from livemem.changes import commit
from livemem.changes.commit import CommitLost
from livemem.changes.records import Record
from livemem.errors import Conflict, NotFound, PreconditionLost
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

    Raises what `plan` does, NotFound, Busy, PreconditionLost.
    """
    require_conditional_writes(process.store)
    heads.load(process, space_id)
    run_id = process.new_id()
    held = lease.acquire(process, space_id, run_id, kind, until=process.clock() + LEASE_LIFE, by_hand=True)
    try:
        head = commit.recover(process, heads.load(process, space_id))
        head = commit.clear_abandoned(process, head, held)
        record = commit.prepare(process, space_id, plan(head, run_id))
        head = commit.commit(process, head, held, record)
    except CommitLost as error:
        lease.release(process, held)
        raise PreconditionLost(str(error)) from error
    except (NotFound, Conflict):
        lease.release(process, held)
        raise
    # After a failure from here on the lease stays: it tells the sweep that there is something to finish.
    commit.apply(process, head, record)
    lease.release(process, held)
    counter.start_if_due(process, space_id, "threshold")
    return record
