"""The life of one note, oldest event first: from the writing to its backups and its erasure.

Each event is read from the document that shows it: the note, the records of changes, the plan that waits, the entries
of promotions, the logs of memories, the manifests of backups, the receipts of erasures. Nothing is stored for it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from livemem import clock
from livemem.access.principal import Principal
from livemem.audit import note_changes, note_copies
from livemem.audit.life_event import LifeEvent
from livemem.audit.note_changes import NoteInRecords
from livemem.bank import citations, files
from livemem.changes import proposals
from livemem.errors import NotFound
from livemem.notes import note as notes
from livemem.notes.note import CapturedFrom, Note, PromotedFrom
from livemem.notes.stub import is_stub
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.store.keys import NoteName

MOST_FILES = 20
"""Bank files in which it is looked where the note stands now."""


@dataclass(frozen=True)
class RestingSection:
    """A section of the bank that rests on the note now."""

    path: str
    section: list[str]


@dataclass(frozen=True)
class NoteLife:
    """The events, oldest first. `unread`: changes that may hold the note and were not read, beyond the newest 64.
    `unreadable`: keys of objects that may tell more, and cannot be read.
    """

    note_id: str
    status: Literal["live", "consolidated", "erased"]
    consolidation: int | None
    events: list[LifeEvent]
    sections: list[RestingSection]
    unread: int = 0
    unreadable: list[str] = field(default_factory=list)


def life(process: Process, principal: Principal, space_id: str, note_id: str) -> NoteLife:
    """The life of a note, also of one that was erased.

    1 GET for the head, 1 for the note, 1 for a plan that waits. The requests of note_changes.look, and of each look of
    note_copies: promotions, memories, and backups; for an erased note receipts in the place of backups. 2 GET for each
    file into which it was folded, at most 20.

    Raises InvalidName, NotFound; ObjectUnreadable where only an unreadable record may hold it.
    """
    name = keys.parse_note_id(note_id)
    meta = heads.refresh(process, space_id).meta
    # Before the records: a note that is folded in between is in one of them.
    live = process.store.get(keys.note(space_id, note_id))
    kept = note_changes.look(process, meta, name)
    body = kept.body if kept.consolidation is not None else (live.body if live else kept.body)
    gone = body is None or is_stub(note_id, body)
    erased = note_copies.erased(process, meta, name) if gone else []
    if body is None and not erased:
        if kept.missing:
            raise kept.missing[0]
        raise NotFound("note", note_id)
    unreadable = [error.key for error in kept.missing if error.key]
    note = notes.parse_note(space_id, name, body) if body is not None and not gone else None
    looks: list[Callable[[], list[LifeEvent]]] = [
        lambda: _planned(process, meta, name),
        lambda: note_copies.promoted(process, principal, meta, name),
        lambda: note_copies.remembered(process, meta, name, unreadable),
        lambda: [] if gone else note_copies.backed_up(process, meta, name),
    ]
    others = [event for found in process.store.map(lambda look: look(), looks) for event in found]
    events = [*_begun(principal, meta, name, note), *kept.events, *others, *erased]
    return NoteLife(
        note_id=note_id,
        status="erased" if gone else "live" if kept.consolidation is None else "consolidated",
        consolidation=kept.consolidation,
        # Sorting keeps the order of what happened in one second.
        events=sorted(events, key=lambda event: clock.parse(event.at)),
        sections=_resting(process, meta, name, kept),
        unread=kept.unread,
        unreadable=sorted(set(unreadable)),
    )


def _begun(principal: Principal, meta: Meta, name: NoteName, note: Note | None) -> Iterator[LifeEvent]:
    """How the note came into the space. Of an erased one only its name is known."""
    at = note.timestamp if note else clock.iso(name.timestamp)
    source = note.source if note else None
    if isinstance(source, CapturedFrom):
        yield LifeEvent("captured", at, by=name.agent, conversation_id=source.conversation, turns=source.turns)
    elif isinstance(source, PromotedFrom):
        yield LifeEvent(
            "promoted_here",
            source.promoted_at,
            by=source.promoted_by,
            space_id=source.space_id if principal.may_see(source.space_id) else None,
            note_id=source.note_id,
            promotion_id=source.promotion_id,
        )
    else:
        yield LifeEvent("written", at, by=note.agent if note else name.agent)
    came = meta.provisioning
    if came and clock.parse(came.started_at) > name.timestamp:
        other = came.space_id if came.space_id and principal.may_see(came.space_id) else None
        backup_id = came.backup_id if other else None
        ended = came.finished_at or came.started_at
        yield LifeEvent("came_with_space", ended, by=came.requested_by, space_id=other, backup_id=backup_id)


def _planned(process: Process, meta: Meta, name: NoteName) -> list[LifeEvent]:
    """The plan that waits for a person, if it takes the note: 1 GET where one waits."""
    review = meta.pending_plan
    plan = proposals.read(process, meta, review) if review else None
    if not review or not plan or all(source.note_id != name.note_id for source in plan.notes):
        return []
    return [LifeEvent("planned", review.planned_at, model=plan.model, run_id=review.run_id)]


def _resting(process: Process, meta: Meta, name: NoteName, kept: NoteInRecords) -> list[RestingSection]:
    """The sections that rest on it now, in the files into which a standing change folded it."""
    folded = [event for event in kept.events if event.consolidation == kept.consolidation and event.what == "folded"]
    paths = list(dict.fromkeys(file.path for event in folded for file in event.files))[:MOST_FILES]

    def of(path: str) -> list[RestingSection]:
        try:
            file = files.read(process, meta.space_id, path)
        except NotFound:
            return []
        cited = citations.citations(process, meta.space_id, file).sections
        resting = (one for one in cited if any(source.note_id == name.note_id for source in one.sources))
        return [RestingSection(path, one.path) for one in resting]

    return [section for found in process.store.map(of, paths) for section in found]
