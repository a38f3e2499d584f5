"""What shows of one note outside of the notes and records of its space: copies, memories, backups, erasures."""

from itertools import islice

from livemem import clock
from livemem.access.principal import Principal
from livemem.audit.life_event import LifeEvent
from livemem.backups import catalog
from livemem.erasure import receipts
from livemem.memories import log
from livemem.process import Process
from livemem.promotions import promotion as promotions
from livemem.spaces.head import Meta
from livemem.store import keys
from livemem.store.keys import NoteName
from livemem.store.memory_keys import KINDS

MOST_BACKUPS = 100
MOST_COPIES = 100
MOST_MEMORIES = 100


def promoted(process: Process, principal: Principal, meta: Meta, name: NoteName) -> list[LifeEvent]:
    """The spaces into which it was promoted, or was about to be, at most 100: 1 LIST. A space that the caller may not
    see has no name.
    """
    entered = islice(promotions.copies_of(process, meta.space_id, name.note_id), MOST_COPIES)
    return [
        LifeEvent("promoted", clock.iso(at), space_id=target if principal.may_see(target) else None)
        for target, at in entered
    ]


def remembered(process: Process, meta: Meta, name: NoteName, missing: list[str]) -> list[LifeEvent]:
    """The memories that name the note as their source, at most 100: the requests of log.load for each kind."""
    now = process.clock()
    found = [
        memory
        for kind in KINDS
        for memory in log.load(process, meta.space_id, kind, missing).alive(now)
        if memory.provenance.note_id == name.note_id
    ]
    return [
        LifeEvent("remembered", one.created_at, by=one.provenance.author, memory_id=one.memory_id)
        for one in found[:MOST_MEMORIES]
    ]


def backed_up(process: Process, meta: Meta, name: NoteName) -> list[LifeEvent]:
    """The newest 100 complete backups of the space that were begun after the note was written: a backup holds all notes
    of the space, live or in records. 1 LIST per 1,000 backups, 1 GET for each.
    """
    later = [one for one in catalog.ids(process, meta.space_id) if keys.backup_moment(one) > name.timestamp]
    found = (seen.value for seen in catalog.looks(process, meta.space_id, later[-MOST_BACKUPS:]) if seen)
    return [
        LifeEvent("backed_up", one.created_at, by=one.requested_by, backup_id=one.job_id)
        for one in found
        if one and one.complete and one.uid == meta.uid
    ]


def erased(process: Process, meta: Meta, name: NoteName) -> list[LifeEvent]:
    """The erasures of the note, as the newest 100 receipts since it was written show them: 1 LIST per 1,000, 1 GET for
    each.
    """
    found = receipts.of_note(process, meta.space_id, name.note_id)
    return [LifeEvent("erased", one.created_at, by=one.requested_by, erasure_id=one.job_id) for one in found]
