"""A change of bank or rules that a user orders and sees at once: under the lease, without an LLM."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from livemem.changes import commit, late_write_repair, records, recovery
from livemem.changes.commit import CommitLost
from livemem.changes.records import Record
from livemem.errors import Busy, LiveMemoryError, NotFound, PreconditionLost
from livemem.jobs import counter, lease, places
from livemem.jobs.lease import Hold
from livemem.process import Process
from livemem.spaces import due_index
from livemem.spaces import head as heads
from livemem.spaces.head import Head
from livemem.store import timing
from livemem.store.capability_check import require_conditional_writes


def take(process: Process, space_id: str, kind: str) -> tuple[Hold, Head]:
    """Take the lease, in its turn beside folds. Returns it, and the space's head without an unfinished commit. Raises
    NotFound, Busy, PreconditionLost.
    """
    require_conditional_writes(process.store)
    heads.load(process, space_id)
    due_index.leave(process, space_id)
    hold = lease.acquire_in_turn(process, places.of_space(space_id), process.new_id(), kind, life=timing.BY_HAND)
    with freed_after_error(process, hold):
        return hold, settled(process, space_id, hold.lease.abandoned)


def settled(process: Process, space_id: str, abandoned: Iterable[str]) -> Head:
    """Bring a space whose lease is held into order before a change, and return its head. A commit is written out,
    orphans of the `abandoned` owners of the lease are cleared away, and damage by late requests is repaired.

    1 GET of the head, and some for each abandoned owner and each file that is watched. Raises NotFound,
    PreconditionLost.
    """
    head = recovery.recover(process, heads.load(process, space_id))
    return late_write_repair.settle(process, recovery.clear_abandoned(process, head, abandoned))


@contextmanager
def freed_after_error(process: Process, hold: Hold) -> Iterator[None]:
    """Give the lease up after an error. If the space is gone or busy there is nothing to clear away. Else the next
    holder clears up first.
    """
    try:
        yield
    except (NotFound, Busy):
        lease.quietly_release(process, hold)
        raise
    except LiveMemoryError:
        lease.let_go(process, hold)
        raise


def carry_out(process: Process, space_id: str, kind: str, plan: Callable[[Head, str], Record]) -> Record:
    """Plan, commit, apply and record a change under the lease. `plan` gets the head and the id of the change.

    If the space is at its threshold afterwards, the next run is started. Raises what `plan` does, NotFound, Busy,
    PreconditionLost.
    """
    hold, head = take(process, space_id, kind)
    try:
        record = plan(head, hold.lease.owner)
        # A record that can't be written fails here, while there is nothing to clear away.
        record.to_bytes()
    except Exception:
        lease.quietly_release(process, hold)
        raise
    try:
        record = commit.prepare(process, space_id, record)
        commit.apply(process, commit.commit(process, head, hold, record), record)
    except CommitLost as error:
        lease.quietly_release(process, hold)
        if not _is_made(process, space_id, record):
            raise PreconditionLost(str(error)) from error
    except LiveMemoryError:
        # The next holder clears away its orphans, or writes the change out if it is committed.
        lease.let_go(process, hold)
        raise
    else:
        lease.quietly_release(process, hold)
    counter.start_if_possible(process, space_id)
    return record


def _is_made(process: Process, space_id: str, record: Record) -> bool:
    """Whether the change is committed after all: the answer to the swap was lost, and other changes have followed."""
    try:
        return records.get(process, space_id, record.number).run_id == record.run_id
    except NotFound:
        return False
