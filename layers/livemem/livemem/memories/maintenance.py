"""Maintenance of memories: it deletes expired memories that the due index missed, and old snapshots."""

import json
from collections.abc import Mapping

from livemem.jobs.package import Package, Space
from livemem.memories import memory_expiry
from livemem.memories.operation import Operation
from livemem.memories.state import Snapshot
from livemem.process import Process
from livemem.store.bucket import (
    IN_MEMORIES,
    MEMORY_SNAPSHOT,
    OPERATION,
    VERDICT,
    snapshot_of,
)
from livemem.store.keys import MEMORY_FOLDERS, MEMORY_KINDS, MemoryKind

SNAPSHOTS_KEPT = 2
"""The newest, and the one before: a reader may be reading that, or the newest may be damaged."""


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Runs once a day in spaces with memories: 1 LIST, and for each existing kind 3 more and 1 GET."""
    if "memories" not in space.folders:
        return {}
    prefix = IN_MEMORIES.prefix(space.space_id)
    folders = set(process.store.folders(prefix))
    kinds = [kind for kind in MEMORY_KINDS if MEMORY_FOLDERS[kind] in folders]
    results = process.store.map(lambda kind: _maintain(process, space.space_id, kind), kinds)
    done = {
        memory_expiry.EXPIRED: sum(pair[0] for pair in results),
        "memory_snapshots_removed": sum(pair[1] for pair in results),
    }
    return {name: float(count) for name, count in done.items() if count}


def _maintain(process: Process, space_id: str, kind: MemoryKind) -> tuple[int, int]:
    snapshot_keys = [entry.key for entry in process.store.scan(MEMORY_SNAPSHOT.prefix(space_id, kind))]
    numbers = sorted({number for key in snapshot_keys if (number := MEMORY_SNAPSHOT.last(key)) is not None})
    remaining = numbers[-SNAPSHOTS_KEPT:]
    by_key = {key: snapshot_of(key) for key in snapshot_keys}
    # Also vectors whose snapshot was never written, because their writer died.
    doomed = [
        key
        for key, derived in by_key.items()
        if derived and remaining and derived.number < remaining[-1] and derived.number not in remaining
    ]
    if doomed:
        process.store.delete_many(doomed)
    return memory_expiry.delete_expired(process, space_id, kind), len(numbers) - len(remaining)


PACKAGE = Package(
    maintain=maintain,
    due={"memory": memory_expiry.delete_due},
    objects={
        OPERATION: Operation.from_bytes,
        MEMORY_SNAPSHOT: Snapshot.from_bytes,
        VERDICT: json.loads,
    },
)
