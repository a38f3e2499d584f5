"""The request to garbage collection (garbage.py), and its report."""

from dataclasses import dataclass, field
from typing import Literal

from livemem.copies.retention import Removal

AGE_DEFAULT = 30

Action = Literal["none", "consolidate", "move", "busy", "oversized_notes"]


@dataclass(frozen=True)
class GarbageRequest:
    """The operator's request. A note is old from `max_age_days` on. `delete_only`: old notes are moved to a record and
    not folded. `keep_last` and `backup_days` are the rule of retention, by default the settings'. `space_ids` empty:
    all spaces that the caller may see. Continues behind the space `after`.
    """

    max_age_days: int = AGE_DEFAULT
    dry_run: bool = True
    delete_only: bool = False
    keep_last: int | None = None
    backup_days: int | None = None
    space_ids: tuple[str, ...] = ()
    after: str | None = None


@dataclass
class GarbageOfSpace:
    """The garbage of a space, and what the call did there unless it is a dry run.

    `old_notes` are counted up to 10,000; `oldest` is when the first of them was written. `action`: a consolidation is
    queued (`run_id`), or the notes are moved; or somebody holds the space (`busy`), or they are too large for any run
    (`oversized_notes`). `orphans` counts the objects that interrupted work has left (changes/maintenance.py).
    """

    space_id: str
    old_notes: int = 0
    oldest: str | None = None
    action: Action = "none"
    run_id: str | None = None
    moved: int = 0
    records: list[int] = field(default_factory=list)
    """Numbers of the changes that the notes were moved to."""
    runs_removed: int = 0
    orphans: int = 0
    backups: list[Removal] = field(default_factory=list)
    """Old and unfinished backups that were removed, or would be."""
    unreadable: list[str] = field(default_factory=list)
    """Backups whose manifest cannot be read: they are left to the operator."""
    unfinished: bool = False
    """Whether there was too little time for all of it."""

    def is_empty(self) -> bool:
        """Whether there was nothing."""
        return self == GarbageOfSpace(self.space_id)


@dataclass(frozen=True)
class GarbageFailure:
    """A space in which something failed. Its `GarbageOfSpace` has the work done there before."""

    space_id: str
    code: str
    detail: str


@dataclass(frozen=True)
class CollectedGarbage:
    """The report of a call. `looked_at` counts spaces. `spaces` are those with anything to report, by id. Archives and
    uploads that are over (`exports_removed`, objects) are looked for where no spaces are named and the caller may see
    all. If there is `more`, a call with this `after` continues.
    """

    dry_run: bool
    looked_at: int
    spaces: list[GarbageOfSpace]
    failed: list[GarbageFailure]
    more: bool
    after: str | None
    exports_removed: int = 0
    tokens_removed: list[str] = field(default_factory=list)
    """Hashes of the revoked and expired tokens that were removed, or would be."""

    @property
    def old_notes(self) -> int:
        """Of all spaces."""
        return sum(space.old_notes for space in self.spaces)

    @property
    def runs_started(self) -> int:
        """Consolidations that were queued."""
        return sum(space.run_id is not None for space in self.spaces)

    @property
    def moved(self) -> int:
        """Notes that were moved to records."""
        return sum(space.moved for space in self.spaces)

    @property
    def runs_removed(self) -> int:
        """Documents of runs that were removed, or would be."""
        return sum(space.runs_removed for space in self.spaces)

    @property
    def backups_removed(self) -> int:
        """Old and unfinished backups that were removed, or would be."""
        return sum(len(space.backups) for space in self.spaces)

    @property
    def orphans(self) -> int:
        """Objects that interrupted work has left."""
        return sum(space.orphans for space in self.spaces)
