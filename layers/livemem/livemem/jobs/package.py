"""What each package of the domain offers for upkeep. Sweep, health and deletion ask every package and know none by
name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from livemem.jobs import lease as leases
from livemem.jobs import places
from livemem.jobs.describable import Describable, KindName
from livemem.jobs.lease import RENEWAL_TICK, RENEWED_AFTER, SeenLease
from livemem.process import Process
from livemem.spaces import contents, pending
from livemem.spaces import head as heads
from livemem.spaces.due_index import Done, Due
from livemem.spaces.head import Head
from livemem.store import timing
from livemem.store.bucket import IN_SPACE
from livemem.store.due_keys import DueKind
from livemem.store.object_table import AnyKind
from livemem.store.objects import Entry

RENEWED_LATE = RENEWED_AFTER + timedelta(seconds=RENEWAL_TICK)
SILENT_BY_HAND = timedelta(seconds=30)
"""How long a holder without a limit of its own below may be silent before health calls the space blocked."""
QUEUED_LONG = timing.ON_ITS_WAY
"""Age after which a queued run that still waits needs a look: there are too few workers, or its invocation is lost."""

MORE_WORK = "more_work"
"""Name under which `maintain` asks the sweep to look again soon, because work is under way or was just done."""
OLDEST = "oldest_pending_note_seconds"

SILENT = {
    "queued": QUEUED_LONG,
    "agent": timing.AGENT,
    "consolidation": RENEWED_LATE,
    "sweep": RENEWED_LATE,
    "backup": RENEWED_LATE,
    "erasure": RENEWED_LATE,
}
"""How long a lease of this kind is not written again while all is well. A change by hand takes 29 s at most."""


@dataclass(frozen=True)
class Space:
    """A living space as it was found at `now`: its head, and its lease if there is one."""

    space_id: str
    head: Head
    lease: SeenLease | None
    busy: bool
    """Whether a holder whose work has not ended holds the space."""
    live: list[Entry]
    """Its oldest live notes that wait for a consolidation, as many as its threshold. Empty for a space without
    automatic consolidation.
    """
    now: datetime
    daily: bool = False
    """Whether this is the daily look."""
    folders: frozenset[str] = frozenset()
    """On the daily look, the first parts of all its keys: most spaces have few kinds of objects."""
    automatic: bool = False
    """Whether consolidations may start by themselves."""
    entries: tuple[Entry, ...] | None = None
    """On the daily look, all its objects, where they are at most 1,000."""

    def waiting_seconds(self) -> float:
        """Age in seconds of the oldest live note of a space with automatic consolidation, else 0."""
        return pending.age(pending.oldest(self.live), self.now)

    def is_due(self) -> bool:
        """Whether an automatic consolidation should start."""
        return self.automatic and len(self.live) >= self.head.meta.consolidation_threshold

    def blocked(self) -> str | None:
        """Why no work goes on in a space that is held. None where all is well."""
        if not self.lease or not self.busy:
            return None
        lease, silent = self.lease.lease, self.lease.age
        if lease.kind == "backoff":
            return f"Automatic runs wait after a failure ({lease.error})" if self.is_due() else None
        if silent < SILENT.get(lease.kind, SILENT_BY_HAND):
            return None
        if lease.kind == "queued":
            return f"The run {lease.owner} has waited for its invocation for {silent.total_seconds():.0f} s"
        return f"The worker that holds the space ({lease.kind}) has been silent for {silent.total_seconds():.0f} s"


@dataclass(frozen=True)
class HealthProblem:
    """Why a space needs a look. Not `wrong`: a user wants it this way."""

    space_id: str
    code: str
    detail: str
    wrong: bool = True


Reader = Callable[[bytes], object]
"""Reads a document. It raises ValueError for a body that is none of its kind."""


@dataclass(frozen=True)
class Package:
    """What one package offers. `objects` has the readers of the documents in its kinds of objects. Of other kinds any
    object can be read.

    `maintain` does the work that events and retries left undone, and returns names of that work, each with a number
    (how many, seconds). MORE_WORK is one of the names. `problems` is the package's part of health. `jobs` shows the
    package's kinds of jobs to users. `due` has a function for each of the package's kinds of entries in the due index
    (spaces/due_index.py). The function handles all due entries of its kind until shortly before a deadline, and settles
    them.
    """

    maintain: Callable[[Process, Space], Mapping[str, float]] = lambda *_: {}
    problems: Callable[[Process, Space], list[HealthProblem]] = lambda *_: []
    objects: Mapping[AnyKind, Reader] = field(default_factory=dict)
    jobs: Mapping[KindName, Describable] = field(default_factory=dict)
    due: Mapping[DueKind, Callable[[Process, Sequence[Due], datetime], Done]] = field(default_factory=dict)


def look_at_space(process: Process, space_id: str, *, daily: bool = False) -> Space | None:
    """The space, or None where there is no living one: 2 GET, 3 where it is held. 1 LIST where it consolidates
    automatically. On the daily look 1 LIST more, 2 where it has more than 1,000 objects.
    """
    head = heads.find(process, space_id)
    if not head:
        return None
    lease, busy = leases.look_at_holder(process, places.of_space(space_id))
    threshold = head.meta.consolidation_threshold
    automatic = head.meta.automatic(process.settings)
    live = contents.waiting_notes(process, head.meta, most=threshold) if automatic else []
    below, entries = _below(process, space_id) if daily else (frozenset[str](), None)
    return Space(space_id, head, lease, busy, live, process.clock(), daily, below, automatic, entries)


def _below(process: Process, space_id: str) -> tuple[frozenset[str], tuple[Entry, ...] | None]:
    """The first parts of all keys of the space, and its objects where one listing holds them all: 1 LIST, else 2."""
    prefix = IN_SPACE.prefix(space_id)
    listing = process.store.first(prefix)
    if listing.more:
        return frozenset(process.store.folders(prefix)), None
    names = (entry.key.removeprefix(prefix) for entry in listing.entries)
    return frozenset(name.partition("/")[0] for name in names if "/" in name), tuple(listing.entries)
