"""What each room of the domain offers for upkeep: the sweep, health and deletion ask every room and know none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from livemem.process import Process
from livemem.spaces import contents, pending
from livemem.spaces import head as heads
from livemem.spaces import lease as leases
from livemem.spaces.head import Head
from livemem.spaces.lease import Lease
from livemem.store.objects import Entry


@dataclass(frozen=True)
class Space:
    """A living space as it was found at `now`: its head, and its lease if there is one."""

    space_id: str
    head: Head
    lease: Lease | None
    live: list[Entry]
    """Its oldest live notes that wait for a consolidation, as many as its threshold; none where it does not
    consolidate by itself.
    """
    now: datetime

    def busy(self) -> bool:
        """Whether somebody holds the space."""
        return bool(self.lease and self.lease.live(self.now))

    def waiting_seconds(self) -> float:
        """Age of the oldest live note of a space that consolidates by itself, else 0."""
        return pending.age(self.live, self.now)


@dataclass(frozen=True)
class Problem:
    """Why a space needs a look; not `wrong`: somebody wanted it so."""

    space_id: str
    code: str
    detail: str
    wrong: bool = True


def _nothing_done(_: Process, __: Space) -> Mapping[str, float]:
    return {}


def _no_problem(_: Process, __: Space) -> list[Problem]:
    return []


@dataclass(frozen=True)
class Room:
    """One room. `owns` says whether a key below the space, without the space's id, is the room's.

    `tend` does what events and retries left undone, and returns what it did by name, with a number (how many, seconds).
    `problems` is the room's part of health.
    """

    owns: Callable[[str], bool]
    tend: Callable[[Process, Space], Mapping[str, float]] = _nothing_done
    problems: Callable[[Process, Space], list[Problem]] = _no_problem


def find(process: Process, space_id: str) -> Space | None:
    """The space, or None where there is no living one: 2 GET, and 1 LIST where it consolidates by itself."""
    head = heads.find(process, space_id)
    if not head:
        return None
    seen = leases.look(process, space_id)
    threshold = head.meta.consolidation_threshold
    live = contents.waiting_notes(process, head.meta, most=threshold) if head.meta.automatic() else []
    return Space(space_id, head, seen[0] if seen else None, live, process.clock())
