"""Changes of banks that were interrupted: finished if they are committed, cleared away if not."""

from collections.abc import Mapping, Sequence

from livemem.changes import commit
from livemem.errors import Busy, NotFound
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import lease
from livemem.spaces.life import INTERRUPTED_AFTER
from livemem.spaces.room import Problem, Room, Space
from livemem.store import keys


def tend(process: Process, space: Space) -> Mapping[str, float]:
    """Finish what is committed, and clear away what is not, once its lease has run out."""
    return {"recovered": 1} if _unfinished(space) and clear_up(process, space.space_id) else {}


def clear_up(process: Process, space_id: str, ended: Sequence[str] = ()) -> bool:
    """Do so under the lease, also with what the runs `ended` left; False if the space is busy."""
    until = process.clock() + INTERRUPTED_AFTER
    try:
        held = lease.acquire(process, space_id, process.new_id(), "sweep", until=until, by_hand=False)
    except Busy:
        return False
    try:
        head = commit.recover(process, heads.load(process, space_id))
        commit.clear_abandoned(process, head, [*held.lease.abandoned, *ended])
    except NotFound:
        pass
    lease.release(process, held)
    return True


def problems(_: Process, space: Space) -> list[Problem]:
    """A commit that nobody is writing out, and a lease that nobody gave back."""
    found = []
    held = space.lease
    if held and not space.busy() and held.kind != "backoff":
        found.append(Problem(space.space_id, "run_died", "A run died; the sweep clears up after it."))
    if space.head.meta.committed_run and not space.busy():
        detail = "A commit is not written out; the sweep finishes it."
        found.append(Problem(space.space_id, "commit_unfinished", detail))
    return found


def _unfinished(space: Space) -> bool:
    if space.busy():
        return False
    left = space.lease and (space.lease.kind != "backoff" or space.lease.abandoned)
    return bool(space.head.meta.committed_run or left)


ROOM = Room(owns=keys.is_of_changes, tend=tend, problems=problems)
