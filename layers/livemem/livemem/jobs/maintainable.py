"""What each package of the domain offers for upkeep: sweep, health and deletion ask every package and know none."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from livemem import clock
from livemem.jobs import lease as leases
from livemem.jobs import places
from livemem.jobs.lease import RENEWAL_TICK, RENEWED_AFTER, SeenLease
from livemem.process import Process
from livemem.spaces import contents, pending
from livemem.spaces import head as heads
from livemem.spaces.due_index import Done, Due
from livemem.spaces.head import Head
from livemem.store import keys
from livemem.store.due_keys import Kind
from livemem.store.objects import Entry
from livemem.store.stored_documents import StoredDocument

RENEWED_LATE = RENEWED_AFTER + timedelta(seconds=RENEWAL_TICK)
SILENT_BY_HAND = timedelta(seconds=30)
"""For how long a holder without a limit of its own below may be silent, before health calls the space blocked."""
QUEUED_LONG = timedelta(minutes=5)
"""After which a queued run that still waits is worth a look: too few workers, or its invocation is lost."""

MORE_WORK = "more_work"
"""Name under which `maintain` tells the sweep to look again soon: something is under way, or was just done."""
OLDEST = "oldest_pending_note_seconds"

SILENT = {
    "queued": QUEUED_LONG,
    "consolidation": RENEWED_LATE,
    "sweep": RENEWED_LATE,
    "backup": RENEWED_LATE,
    "erasure": RENEWED_LATE,
}
"""For how long a lease of this kind is not written again while all is well; a change by hand takes 29 s at most."""


@dataclass(frozen=True)
class Space:
    """A living space as it was found at `now`: its head, and its lease if there is one."""

    space_id: str
    head: Head
    lease: SeenLease | None
    busy: bool
    """Whether somebody who has not ended holds the space."""
    live: list[Entry]
    """Its oldest live notes that wait for a consolidation, as many as its threshold; none where it does not
    consolidate by itself.
    """
    now: datetime
    daily: bool = False
    """Whether this is the look of once a day."""
    folders: frozenset[str] = frozenset()
    """The first parts of all its keys, on the look of once a day: most spaces have few kinds of things."""
    entries: tuple[Entry, ...] | None = None
    """All its objects, on the look of once a day, where they are at most 1,000."""

    def waiting_seconds(self) -> float:
        """Age of the oldest live note of a space that consolidates by itself, else 0."""
        return pending.age(pending.oldest(self.live), self.now)

    def is_due(self) -> bool:
        """Whether a consolidation should start by itself."""
        meta = self.head.meta
        return meta.automatic() and len(self.live) >= meta.consolidation_threshold

    def blocked(self) -> str | None:
        """Why the space stands still although it is held; None where all is as it should be."""
        if not self.lease or not self.busy:
            return None
        lease, silent = self.lease.lease, self.lease.age
        if lease.kind == "backoff":
            return f"Automatic runs wait after a failure ({lease.error})" if self.is_due() else None
        if silent < SILENT.get(lease.kind, SILENT_BY_HAND):
            return None
        if lease.kind == "queued":
            return f"The run {lease.owner} waits for its invocation since {silent.total_seconds():.0f} s"
        return f"Its holder ({lease.kind}) was not heard of for {silent.total_seconds():.0f} s"


@dataclass(frozen=True)
class HealthProblem:
    """Why a space needs a look; not `wrong`: somebody wanted it so."""

    space_id: str
    code: str
    detail: str
    wrong: bool = True


def _nothing_done(_: Process, __: Space) -> Mapping[str, float]:
    return {}


def _no_problem(_: Process, __: Space) -> list[HealthProblem]:
    return []


@dataclass(frozen=True)
class Damaged:
    """An object that cannot be read and is being set aside: its `name` below the space, and the id (an ULID) under
    which it is kept then. `head` is the space's, `entry` the object as a listing shows it, `author` who orders it.
    """

    head: Head
    name: str
    entry: Entry
    quarantine_id: str
    author: str

    @property
    def space_id(self) -> str:
        """The space's id."""
        return self.head.meta.space_id

    @property
    def written_at(self) -> str:
        """When the object was written, by the store's clock, as documents tell times."""
        return clock.iso_millis(self.entry.last_modified)


def _nothing_instead(_: Process, __: Damaged) -> StoredDocument | None:
    return None


@dataclass(frozen=True)
class DocumentKind:
    """A kind of documents that a package keeps. `check` raises ValueError for a body that is none.

    `instead` makes what takes the place of one that is set aside; None: nothing does, and what reads it does without.
    Something does where a number or an id must not be given twice, or where nothing would mean something else.
    """

    check: Callable[[bytes], object]
    instead: Callable[[Process, Damaged], StoredDocument | None] = _nothing_instead


def _no_kind(_: str) -> DocumentKind | None:
    return None


@dataclass(frozen=True)
class Maintainable:
    """What one package offers. `owns` says whether a key below the space, without the space's id, is the package's.

    `kind` tells what kind of document has to be under such a key; None: whatever is there can be read.

    `maintain` does what events and retries left undone, and returns what it did by name, with a number (how many,
    seconds). MORE_WORK is one of the names.
    `problems` is the package's part of health.
    `due` has, for each kind of entry in the due index that is the package's, what looks at all that is due of it until
    shortly before a deadline, and settles it (spaces/due_index.py).
    """

    owns: Callable[[str], bool]
    maintain: Callable[[Process, Space], Mapping[str, float]] = _nothing_done
    problems: Callable[[Process, Space], list[HealthProblem]] = _no_problem
    kind: Callable[[str], DocumentKind | None] = _no_kind
    due: Mapping[Kind, Callable[[Process, Sequence[Due], datetime], Done]] = field(default_factory=dict)


def find(process: Process, space_id: str, *, daily: bool = False) -> Space | None:
    """The space, or None where there is no living one: 2 GET, 3 where it is held, and 1 LIST where it consolidates by
    itself; on the look of once a day 1 more, 2 where it has more than 1,000 objects.
    """
    head = heads.find(process, space_id)
    if not head:
        return None
    place = places.of_space(space_id)
    seen = leases.look(process, place)
    busy = bool(seen and leases.holds(process, place, seen))
    threshold = head.meta.consolidation_threshold
    live = contents.waiting_notes(process, head.meta, most=threshold) if head.meta.automatic() else []
    below, entries = _below(process, space_id) if daily else (frozenset[str](), None)
    return Space(space_id, head, seen, busy, live, process.clock(), daily, below, entries)


def _below(process: Process, space_id: str) -> tuple[frozenset[str], tuple[Entry, ...] | None]:
    """The first parts of all keys of the space, and its objects where one listing tells them: 1 LIST, else 2."""
    prefix = keys.prefix(space_id)
    listed = process.store.first(prefix)
    if listed.more:
        return frozenset(process.store.folders(prefix)), None
    names = (entry.key.removeprefix(prefix) for entry in listed.entries)
    return frozenset(name.partition("/")[0] for name in names if "/" in name), tuple(listed.entries)
