"""Plans that wait for a person, in spaces that require approval before a model's change is committed.

Such a plan is a record, like that of every change (records.py), but under a key from which nothing commits it. It is
written once, and waits from the swap of the head that names it (spaces/head_fields.py). An approval makes a change of
it, which is committed and applied like every other one.
"""

import hashlib

from livemem import clock
from livemem.changes import commit, provenance
from livemem.changes.commit import CommitLost, LeaseLost, ModeChanged
from livemem.changes.records import Record
from livemem.errors import ObjectUnreadable, PreconditionLost, StoreUnavailable
from livemem.jobs import lease
from livemem.jobs import run as runs
from livemem.jobs.lease import Hold
from livemem.jobs.run import Run
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.spaces import unreadable
from livemem.spaces.head import Head, Meta
from livemem.spaces.head_fields import Review
from livemem.store import stored
from livemem.store.bucket import BANK_FILE, NOTE, REVIEW, SYNTHESIS_FILE
from livemem.store.stored import Stored

REVISION_CHARACTERS = 32


def propose(process: Process, head: Head, hold: Hold, record: Record) -> Head:
    """Let the plan wait for approval, and return the head that says so: 2 PUT. A plan that another worker of the run
    wrote before counts.

    Raises CommitLost if it can't be committed any more, ModeChanged if it needs no approval.
    """
    space_id = head.meta.space_id
    record = provenance.with_sources(process, space_id, record)
    body = _write(process, space_id, record.run_id, record.to_bytes())
    try:
        record = Record.from_bytes(body)
    except ValueError as error:
        key = REVIEW.key(space_id, record.run_id)
        unreadable.leave(process, key)
        raise unreadable.error(key) from error
    review = Review(
        run_id=record.run_id,
        revision=revision(body),
        planned_at=clock.iso(process.clock()),
        number=record.number,
        notes_count=len(record.notes),
    )
    for _ in range(commit.TRIES):
        try:
            return heads.swap(process, head, review=review)
        except (PreconditionLost, StoreUnavailable) as error:
            newest = heads.find(process, space_id)
            if newest and newest.meta.review and newest.meta.review.run_id == record.run_id:
                return newest
            if isinstance(error, StoreUnavailable):
                raise
        if not newest or newest.meta.review or not commit.follows(newest.meta, record):
            process.store.delete(REVIEW.key(space_id, record.run_id))
            raise CommitLost("The space was deleted, or its bank was changed by another process.")
        if not commit.needs_approval(newest.meta, record):
            process.store.delete(REVIEW.key(space_id, record.run_id))
            raise ModeChanged("The space does not require the approval of plans.")
        if not lease.still_ours(process, hold):
            raise LeaseLost("The time of this run is over.")
        head = newest
    raise CommitLost("The space was changed too often at the same time. Try again.")


def _write(process: Process, space_id: str, run_id: str, body: bytes) -> bytes:
    """Write the plan and return it, or return the one that exists."""
    key = REVIEW.key(space_id, run_id)
    for _ in range(commit.TRIES):
        written = stored.write_once(process.store, key, body)
        if not written.gone:
            return written.other.body if written.other else body
    raise StoreUnavailable("The plan can't be written.")


def revision(body: bytes) -> str:
    """A text that identifies the bytes of a plan."""
    return hashlib.sha256(body).hexdigest()[:REVISION_CHARACTERS]


def plan_of(process: Process, space_id: str, run_id: str) -> Record | None:
    """The plan that a worker of the run wrote before it died, or None: 1 GET. Raises ObjectUnreadable."""
    item = process.store.get(REVIEW.key(space_id, run_id))
    return unreadable.parsed(process, Record, item) if item else None


def wait(process: Process, saved: Stored[Run], record: Record | None = None) -> Run:
    """Write into the run that its plan waits, and return the run as it is then: 1 PUT, and 1 GET if the plan is not
    given.
    """
    try:
        plan = record or plan_of(process, saved.value.space_id, saved.value.job_id)
    except ObjectUnreadable:
        # The head says that it waits.
        plan = None
    fields = {"metrics": plan.metrics} if plan else {}
    return runs.finish(process, saved, "waiting", "awaiting_approval", error=None, **fields)


def read(process: Process, meta: Meta, review: Review) -> Record | None:
    """The plan that waits: 1 GET. None if it is gone, or is not the one that the head names."""
    item = process.store.get(REVIEW.key(meta.space_id, review.run_id))
    return Record.from_bytes(item.body) if item and revision(item.body) == review.revision else None


def changed_since(process: Process, head: Head, record: Record) -> bool:
    """Whether a note or file that the plan rests on has changed by now: 1 GET for each of them.

    A change of bank, rules or notes through the service shows in the head. The requests find changes made in the bucket
    itself.
    """
    space_id = head.meta.space_id
    if not commit.follows(head.meta, record):
        return True
    notes = process.store.get_many([NOTE.key(space_id, source.note_id) for source in record.notes])
    if any(not item or item.body != source.body() for item, source in zip(notes, record.notes, strict=True)):
        return True
    befores = {BANK_FILE.key(space_id, change.path): change.before for change in record.files}
    if record.synthesis:
        befores[SYNTHESIS_FILE.key(space_id)] = record.synthesis.before
    files = process.store.get_many(list(befores))
    return any(
        (item.etag if item else None) != (before.etag if before else None)
        for item, before in zip(files, befores.values(), strict=True)
    )
