"""What became of the copy of a promotion: the notes, the records and the log of the memories show it."""

from datetime import datetime

from livemem.changes import archive_notes, records
from livemem.errors import NotFound
from livemem.memories import log, operation
from livemem.memories.memory import Memory
from livemem.memories.state import State
from livemem.notes import pages
from livemem.notes.note import Note
from livemem.process import Process
from livemem.promotions import promotion as promotions
from livemem.promotions.promotion import Promotion


def find_note(process: Process, space_id: str, promotion: Promotion) -> Note | None:
    """The note of a promotion, live or consolidated. None where it was never written: 1 GET while it is live, else the
    requests of pages.get.
    """
    try:
        return pages.get(process, space_id, promotion.note_id or "")
    except NotFound:
        return None


def was_taken_back(process: Process, space_id: str, note: Note) -> bool:
    """Whether the note is in a record because its promotion was taken back: 1 LIST, and 1 GET unless it is cached."""
    if note.consolidation is None:
        return False
    return records.get(process, space_id, note.consolidation).trigger == archive_notes.TAKEN_BACK


def find_memory(
    process: Process, space_id: str, state: State, promotion_id: str, promotion: Promotion
) -> Memory | None:
    """The memory that a promotion is in this state: its own, or the one with which it was merged. None if it is gone,
    or was never stored. 1 GET where it was merged for its words.
    """
    now = process.clock()
    own = state.find(promotion.memory_id or "", now)
    if own:
        return own
    merged = merged_into(state, promotion, now)
    if merged:
        return merged
    done = state.done.get(operation.op_id(promotions.cause(promotion_id, promotion.attempt)))
    if not done or not promotion.memory_kind:
        return None
    stored_as = log.operation_at(process, space_id, promotion.memory_kind, done.number).memory
    return state.find(stored_as.memory_id, now)


def merged_into(state: State, promotion: Promotion, now: datetime) -> Memory | None:
    """The memory into which the promotion's own was merged, and from which it can be split off."""
    alive = state.alive(now)
    return next((one for one in alive if any(part.memory_id == promotion.memory_id for part in one.absorbed)), None)


def was_stored(state: State, promotion_id: str, promotion: Promotion) -> bool:
    """Whether the memory of this attempt was stored, and is gone by now."""
    done = operation.op_id(promotions.cause(promotion_id, promotion.attempt)) in state.done
    return done or promotion.memory_id in state.deleted
