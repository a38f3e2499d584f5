"""Taking a promotion back: its note leaves the live notes, or its memory is deleted. The source stays as it is."""

from livemem.access.principal import Principal
from livemem.changes import archive_notes
from livemem.changes.archive_notes import NothingToMove
from livemem.errors import Forbidden, NotFound, PreconditionLost, PromotionFolded
from livemem.memories import log, operation
from livemem.memories.memory import Memory
from livemem.memories.operation import Operation
from livemem.memories.state import State
from livemem.process import Process
from livemem.promotions import copies
from livemem.promotions import promotion as promotions
from livemem.promotions.promotion import Promotion
from livemem.spaces import head as heads
from livemem.store import promotion_keys
from livemem.store.capability_check import require_conditional_writes
from livemem.store.memory_keys import Kind

REASON = "Its promotion was taken back."
NOT_YOURS = "Only the token that promoted it, or an admin, takes a promotion back."
TRIES = 3
"""Looks at a note that a consolidation folds at the same moment: the second look finds it in the record."""


def take_back(process: Process, principal: Principal, space_id: str, promotion_id: str) -> None:
    """Take a promotion into the space back. One that was taken back, or whose copy is gone, stays so.

    A live note moves to a record as a note that was discarded, by 3 GET and the requests of a change by hand
    (changes/direct.py). A memory of its own is deleted: 2 GET, 1 LIST, 1 PUT. A memory that the space had before, in
    the same words, stays. Raises InvalidName, NotFound, Forbidden, PromotionFolded, Busy, PreconditionLost,
    ObjectUnreadable.
    """
    promotion_keys.check_promotion_id(promotion_id)
    require_conditional_writes(process.store)
    heads.refresh(process, space_id)
    found = promotions.find(process, space_id, promotion_id)
    if not found:
        raise NotFound("promotion", promotion_id)
    if found.value.promoted_by != principal.name and "admin" not in principal.permissions:
        raise Forbidden(NOT_YOURS)
    if found.value.memory_id and found.value.memory_kind:
        _delete(process, principal.name, space_id, promotion_id, found.value, found.value.memory_kind)
    else:
        _archive(process, principal.name, space_id, found.value)


def _archive(process: Process, author: str, space_id: str, promotion: Promotion) -> None:
    for _ in range(TRIES):
        note = copies.find_note(process, space_id, promotion)
        if not note or copies.was_taken_back(process, space_id, note):
            return
        if note.consolidation is not None:
            raise PromotionFolded(
                f"The change {note.consolidation} folded the note {note.note_id}. Undo that change "
                f"(POST /v1/spaces/{space_id}/consolidations/{note.consolidation}/undo; newer changes first), "
                "then take the promotion back."
            )
        try:
            archive_notes.take_back(process, author, space_id, note.note_id, reason=REASON)
        except NothingToMove:
            continue
        return
    raise PreconditionLost("The note is being folded; try again.")


def _delete(process: Process, author: str, space_id: str, promotion_id: str, promotion: Promotion, kind: Kind) -> None:
    cause = operation.op_id(f"{promotions.cause(promotion_id, promotion.attempt)}/taken back")

    def decide(found: State) -> Operation | None:
        now = process.clock()
        own = found.find(promotion.memory_id or "", now)
        if own:
            if own.revision > 1:
                raise PromotionFolded(_changed(space_id, own))
            return operation.after(process, found.number, "delete", cause, author, own, reason=REASON)
        merged = copies.merged_into(found, promotion, now)
        if merged:
            raise PromotionFolded(
                f"The memory was merged into {merged.memory_id}. Split that one "
                f"(POST /v1/spaces/{space_id}/memories/{merged.memory_id}/split), then take the promotion back."
            )
        return None

    log.write(process, space_id, kind, decide)


def _changed(space_id: str, own: Memory) -> str:
    return (
        f"The memory {own.memory_id} was changed since it was promoted (revision {own.revision}, {own.updated_at}). "
        f"Correct it, or delete it (DELETE /v1/spaces/{space_id}/memories/{own.memory_id})."
    )
