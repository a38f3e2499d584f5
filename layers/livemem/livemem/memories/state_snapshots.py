"""Snapshots of the state, with the vectors beside them: a process without a cache reads little of the log."""

from contextlib import suppress

from livemem.errors import StoreUnavailable
from livemem.memories import log, memory_vectors
from livemem.memories import state as states
from livemem.memories.memory_vectors import Rows
from livemem.memories.state import State
from livemem.process import Process
from livemem.store import memory_keys as keys
from livemem.store import stored_documents
from livemem.store.memory_keys import Kind


def keep(process: Process, space_id: str, kind: Kind, state: State, rows: Rows | None) -> None:
    """Store a snapshot of this state if the last one is 100 operations old: 2 PUTs. Nothing depends on it."""
    if state.number - state.snapshot < log.SNAPSHOT_EVERY:
        return
    with suppress(StoreUnavailable):
        if rows is not None:
            # Vectors first, because a reader that finds the snapshot looks for them only once.
            memory_vectors.keep(process, space_id, kind, state.number, rows, state.memories.values())
        # It replaces an existing one: that is the same, or of a log that no longer exists.
        body = states.to_snapshot(state).to_bytes()
        process.store.put(keys.snapshot(space_id, kind, state.number), body, content_type=stored_documents.JSON)
        log.known_snapshot(process, space_id, kind, state)
