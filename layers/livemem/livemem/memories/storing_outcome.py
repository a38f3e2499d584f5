"""The outcome of storing a memory, from its operation."""

from dataclasses import dataclass, field

from livemem.memories.memory import Memory
from livemem.memories.operation import By, Kept, Operation


@dataclass(frozen=True)
class Merge:
    """How a draft was merged into an existing memory."""

    into: str
    score: float
    by: By
    former: str
    """The content before."""
    kept: Kept
    """Which content stands now."""


@dataclass(frozen=True)
class StoredMemory:
    """A memory after its operation; `repeated`: after the operation of an earlier request.

    `fresh`: it stands alone; otherwise `merge` says how it was merged. `redacted` counts the redactions, by kind.
    """

    memory: Memory
    number: int
    fresh: bool
    merge: Merge | None = None
    repeated: bool = False
    redacted: dict[str, int] = field(default_factory=dict, hash=False)


def outcome_of(written: Operation) -> StoredMemory:
    """The outcome of an operation that stored a memory."""
    standing, merged = written.memory, written.merged
    if not merged:
        return StoredMemory(standing, written.number, fresh=standing.revision == 1)
    merge = Merge(standing.memory_id, merged.score, merged.by, merged.former, merged.kept)
    return StoredMemory(standing, written.number, False, merge)
