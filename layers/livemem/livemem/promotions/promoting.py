"""Promoting: a note or a memory of one space is copied into another, where it is a live note or a memory like all
others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from livemem import clock
from livemem.access import decision
from livemem.access.principal import Principal
from livemem.errors import Conflict, InvalidName, InvalidRequest, PreconditionLost
from livemem.memories import log, reading, storing
from livemem.memories.memory import Memory, MemoryDraft, PromotedMemory
from livemem.notes import appending, pages
from livemem.notes import note as notes
from livemem.notes.appending import NoteDraft
from livemem.notes.note import Note, PromotedFrom
from livemem.notes.stub import is_stub
from livemem.process import Process
from livemem.promotions import copies
from livemem.promotions import promotion as promotions
from livemem.promotions.promotion import Promotion
from livemem.spaces import head as heads
from livemem.store import keys, memory_keys, promotion_keys, stored
from livemem.store.capability_check import require_conditional_writes
from livemem.store.objects import MARKDOWN
from livemem.store.stored import Stored

ERASED = "The note was erased: nothing is left of it to promote."
NOT_AN_ID = "must be the id of a note or of a memory"


@dataclass(frozen=True)
class Promoted:
    """A promotion, and its copy as it stands. `fresh`: this request wrote it. `already_known`: the copy is a memory
    that the space had before, which says the same. `redacted` counts the redactions of this request, by kind.
    """

    promotion_id: str
    promotion: Promotion
    copy: Note | Memory
    fresh: bool
    already_known: bool = False
    redacted: Mapping[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class _Order:
    """One request: the source, the two spaces and the author. `found`: the promotion, if it was begun before."""

    process: Process
    author: str
    space_id: str
    source_id: str
    target: str
    promotion_id: str
    found: Stored[Promotion] | None

    def begin(self, *, again: bool, **copy: str) -> Promotion:
        """The promotion that counts: the one that was found, unless it was taken back, else a new one (1 PUT)."""
        if self.found and not again:
            return self.found.value
        now = clock.iso(self.process.clock())
        wanted = Promotion(
            source_space_id=self.space_id,
            source_id=self.source_id,
            promoted_by=self.author,
            promoted_at=now,
            **copy,  # type: ignore[arg-type]
        )
        return promotions.begin(self.process, self.target, self.promotion_id, wanted, self.found, again=again)


def promote(
    process: Process, principal: Principal, space_id: str, source_id: str, target: str, until: datetime
) -> Promoted:
    """Copy a live or consolidated note, or a memory, of the space into the space `target`. `until`: models must answer
    before that.

    A note: 5 GET and 3 PUT; one that was consolidated takes the requests of pages.get twice. A memory: 3 GET, 6 LIST
    and 2 PUT in a process that knows the logs, and the requests of storing.store. A repeat: 4 GET, or 3 GET and 1 LIST
    for a memory. It gives the first promotion, unless that was taken back: then it promotes again.

    Raises InvalidRequest, InvalidName, Forbidden, NotFound, Conflict for an erased note, SpaceTooNew, and the errors of
    appending a note and storing a memory.
    """
    source_id = _checked(source_id)
    _check_target(space_id, target)
    decision.check_permission(principal, "read")
    decision.check_space(process, principal, target)
    require_conditional_writes(process.store)
    uids = heads.refresh(process, space_id).meta.uid, heads.refresh(process, target).meta.uid
    promotion_id = promotion_keys.id_of(uids[0], source_id, uids[1])
    found = promotions.find(process, target, promotion_id)
    order = _Order(process, principal.name, space_id, source_id, target, promotion_id, found)
    return _memory(order, until) if keys.RUN_ID.fullmatch(source_id) else _note(order)


def _check_target(space_id: str, target: str) -> None:
    try:
        keys.check_space_id(target)
    except InvalidName as error:
        raise InvalidName("target_space_id", error.message) from None
    if target == space_id:
        raise InvalidRequest.of("target_space_id", "must be another space")


def _checked(source_id: str) -> str:
    """The id of a note or a memory, also as start, search and read name it. Raises InvalidRequest."""
    try:
        return memory_keys.check_memory_id(source_id.removeprefix("memories/"))
    except InvalidName:
        pass
    try:
        return keys.parse_note_id(source_id.removeprefix("notes/")).note_id
    except InvalidName:
        raise InvalidRequest.of("id", NOT_AN_ID) from None


def _note(order: _Order) -> Promoted:
    process, target = order.process, order.target
    standing = copies.find_note(process, target, order.found.value) if order.found else None
    again = bool(standing and copies.was_taken_back(process, target, standing))
    if order.found and standing and not again:
        return Promoted(order.promotion_id, order.found.value, standing, fresh=False)
    _source_note(order)
    promotions.enter_copy(process, order.space_id, order.source_id, target)
    # An erasure that looked for copies before the entry has removed the words already.
    source = _source_note(order)
    # The copy is new, what it says is as old as the note.
    said = NoteDraft(source.category, source.content, source.tags, said_at=source.moment, author=source.author)
    draft = appending.prepare(process, said)
    attempt = order.found.value.attempt + 1 if order.found else 1
    name = keys.NoteName(
        process.clock().replace(microsecond=0),
        keys.check_agent(source.agent),
        source.category,
        promotions.suffix(order.promotion_id, attempt),
    )
    promotion = order.begin(again=again, note_id=name.note_id)
    copy = _copy(order, promotion, draft)
    key, body = keys.note(target, copy.note_id), notes.format_note(copy)
    fresh = stored.write_if(process.store, key, body, content_type=MARKDOWN) is not None
    # A note of this name is this copy: its digits follow from the promotion.
    if not fresh and not copies.find_note(process, target, promotion):
        raise PreconditionLost("The copy could not be written; try again.")
    return Promoted(order.promotion_id, promotion, copy, fresh, redacted=draft.redacted)


def _copy(order: _Order, promotion: Promotion, draft: NoteDraft) -> Note:
    assert promotion.note_id
    name = keys.parse_note_id(promotion.note_id)
    source = PromotedFrom(
        promotion.source_space_id,
        promotion.source_id,
        order.promotion_id,
        promotion.promoted_by,
        promotion.promoted_at,
    )
    return appending.new_note(order.target, name.agent, draft, name.timestamp, name.suffix, source)


def _source_note(order: _Order) -> Note:
    """The note to promote, live or consolidated. Raises NotFound, Conflict."""
    note = pages.get(order.process, order.space_id, order.source_id)
    if is_stub(note.note_id, notes.format_note(note)):
        raise Conflict(ERASED)
    return note


def _memory(order: _Order, until: datetime) -> Promoted:
    process, target = order.process, order.target
    again = False
    if order.found:
        state = log.load(process, target, order.found.value.memory_kind or "fact")
        standing = copies.find_memory(process, target, state, order.promotion_id, order.found.value)
        if standing:
            other = standing.memory_id != order.found.value.memory_id
            return Promoted(order.promotion_id, order.found.value, standing, fresh=False, already_known=other)
        again = copies.was_stored(state, order.promotion_id, order.found.value)
    reading.find(process, order.space_id, order.source_id)
    promotions.enter_copy(process, order.space_id, order.source_id, target)
    # As for a note.
    _, source = reading.find(process, order.space_id, order.source_id)
    promotion = order.begin(again=again, memory_id=process.new_id(), memory_kind=source.kind)
    cause = promotions.cause(order.promotion_id, promotion.attempt)
    done = storing.store(
        process, target, promotion.promoted_by, _draft(order, promotion, source), op_id=cause, until=until
    )
    return Promoted(
        order.promotion_id,
        promotion,
        done.memory,
        fresh=not done.repeated,
        already_known=not done.fresh,
        redacted=done.redacted,
    )


def _draft(order: _Order, promotion: Promotion, source: Memory) -> MemoryDraft:
    return MemoryDraft(
        source.content,
        kind=source.kind,
        category=source.category,
        subjects=source.subjects,
        source=source.source,
        # The copy is new, what it says is as old as the memory.
        said_at=source.moment,
        author=source.speaker,
        promoted=PromotedMemory(
            space_id=promotion.source_space_id,
            memory_id=promotion.source_id,
            promotion_id=order.promotion_id,
            promoted_by=promotion.promoted_by,
            promoted_at=promotion.promoted_at,
        ),
        memory_id=promotion.memory_id,
        expires_at=source.expires_at,
    )
