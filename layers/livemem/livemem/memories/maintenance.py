"""Maintenance of memories: it deletes expired memories that the due index missed, and old snapshots."""

import json
from collections.abc import Mapping

from livemem.jobs.maintainable import Maintainable, Reader, Space
from livemem.memories import memory_expiry
from livemem.memories.operation import Operation
from livemem.memories.state import Snapshot
from livemem.process import Process
from livemem.store import memory_keys as keys
from livemem.store.memory_keys import KINDS, Kind

SNAPSHOTS_KEPT = 2
"""The newest, and the one before: a reader may be reading that, or the newest may be damaged."""


def maintain(process: Process, space: Space) -> Mapping[str, float]:
    """Runs once a day in spaces with memories: 1 LIST, and for each existing kind 3 more and 1 GET."""
    if "memories" not in space.folders:
        return {}
    prefix = keys.prefix(space.space_id)
    folders = set(process.store.folders(prefix))
    kinds = [kind for kind in KINDS if keys.FOLDERS[kind] in folders]
    results = process.store.map(lambda kind: _maintain(process, space.space_id, kind), kinds)
    done = {
        memory_expiry.EXPIRED: sum(pair[0] for pair in results),
        "memory_snapshots_removed": sum(pair[1] for pair in results),
    }
    return {name: float(count) for name, count in done.items() if count}


def _maintain(process: Process, space_id: str, kind: Kind) -> tuple[int, int]:
    snapshot_keys = [entry.key for entry in process.store.scan(keys.snapshots_prefix(space_id, kind))]
    numbers = sorted({parsed.number for key in snapshot_keys if (parsed := keys.parse_snapshot(key))})
    remaining = numbers[-SNAPSHOTS_KEPT:]
    by_key = {key: keys.parse_snapshot(key) or keys.parse_vectors(key) for key in snapshot_keys}
    # Also vectors whose snapshot was never written, because their writer died.
    doomed = [
        key
        for key, derived in by_key.items()
        if derived and remaining and derived.number < remaining[-1] and derived.number not in remaining
    ]
    if doomed:
        process.store.delete_many(doomed)
    return memory_expiry.delete_expired(process, space_id, kind), len(numbers) - len(remaining)


def kind(name: str) -> Reader | None:
    """The kind of a document: operation, snapshot or verdicts."""
    if keys.parse_operation(f"x/{name}"):
        return Operation.from_bytes
    if keys.parse_snapshot(f"x/{name}"):
        return Snapshot.from_bytes
    return json.loads if name.startswith(keys.VERDICTS) else None


MAINTAINABLE = Maintainable(
    owns=keys.is_of_memories, maintain=maintain, kind=kind, due={"memory": memory_expiry.delete_due}
)
