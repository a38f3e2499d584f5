"""What became of a memory that was to be stored, as its operation tells it."""

from dataclasses import dataclass, field

from livemem.memories.memory import Memory
from livemem.memories.operation import By, Kept, Operation


@dataclass(frozen=True)
class Merge:
    """How a draft met a memory that was there."""

    into: str
    score: float
    by: By
    former: str
    """The content before."""
    kept: Kept
    """Which content stands now."""


@dataclass(frozen=True)
class StoredMemory:
    """A memory as it stands after its operation, or as it stood then if that was `repeated`.

    `fresh`: it is one of its own; else `merge` says how it met the one that was there. `redacted` is what was taken out
    of it, by kind.
    """

    memory: Memory
    number: int
    fresh: bool
    merge: Merge | None = None
    repeated: bool = False
    redacted: dict[str, int] = field(default_factory=dict, hash=False)


def told(written: Operation) -> StoredMemory:
    """What an operation that stored something is told as."""
    standing, merged = written.memory, written.merged
    if not merged:
        return StoredMemory(standing, written.number, fresh=standing.revision == 1)
    merge = Merge(standing.memory_id, merged.score, merged.by, merged.former, merged.kept)
    return StoredMemory(standing, written.number, False, merge)
