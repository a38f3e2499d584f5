"""Appending under a client's Idempotency-Key: a repeat gives the first notes."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import ClassVar

from livemem import clock, limits
from livemem.errors import InvalidRequest, NotFound, PreconditionLost
from livemem.notes import appending, pages
from livemem.notes.appending import NoteDraft
from livemem.notes.note import Note
from livemem.process import Process
from livemem.store import keys, stored
from livemem.store.bucket import IDEMPOTENCY
from livemem.store.objects import Object
from livemem.store.stored_documents import Line, Moment, NoteId, StoredDocument

IDEMPOTENCY_LIFE = timedelta(days=7)
"""For how long a repeat gives the first note (docs/bucket.md)."""


CLAIM_LIFE = IDEMPOTENCY_LIFE + timedelta(days=1)


CLAIMS_AT_ONCE = 1_000


class KeyedNote(StoredDocument):
    """`_idempotency/{sha256}.json`: the note of a key, a hash of its fields, and when the key came first."""

    most_bytes: ClassVar[int] = 4_096

    note_id: NoteId
    body: Line
    created_at: Moment


def append_once(
    process: Process, space_id: str, agent: str, draft: NoteDraft, idempotency_key: str
) -> tuple[Note, bool]:
    """Append one note under the client's Idempotency-Key: 2 PUT. Returns the note and whether it is new.

    The key's object names the note before the note is written. So a repeat completes a first try that died in between.
    Raises InvalidRequest if the key came with another request in the last 7 days.
    """
    return append_batch_once(process, space_id, agent, [draft], idempotency_key, None)[0]


def append_batch_once(
    process: Process,
    space_id: str,
    agent: str,
    drafts: Sequence[NoteDraft],
    idempotency_key: str,
    field: str | None = "items",
) -> list[tuple[Note, bool]]:
    """Append notes under the client's Idempotency-Key, each as `append_once` does under the key and its place: 3 round
    trips. All objects of keys are written before the first note, and the first one before the others. Whether
    the sources of notes exist is asked of a first try alone, for 1 GET more. `field` as in `appending.append_batch`.
    """
    if not 1 <= len(idempotency_key) <= limits.IDEMPOTENCY_KEY_CHARACTERS:
        raise InvalidRequest.of("Idempotency-Key", f"must have 1 to {limits.IDEMPOTENCY_KEY_CHARACTERS} characters")
    drafts = appending.prepare_all(process, space_id, drafts, field)
    # So many notes in a list are another request than fewer, or than a note alone.
    part = ["\n", field, str(len(drafts))] if field else []
    places = [_digest([agent, idempotency_key, *([str(place)] if place else [])]) for place in range(len(drafts))]
    claim_keys = [IDEMPOTENCY.key(space_id, place) for place in places]
    sources = [draft.source for draft in drafts if draft.source]
    # After a lost answer the source may be gone. The first try has looked for it.
    if sources and not _in_force(process, process.store.get(claim_keys[0])):
        pages.check_sources(process, sources)
    notes = appending.new_notes(process, space_id, agent, drafts)
    # The first one refuses another request before the others are claimed.
    first, *others = zip(claim_keys, notes, (_digest_of(draft, part) for draft in drafts), strict=True)
    claimed = [_claim(process, *first), *process.store.map(lambda item: _claim(process, *item), others)]
    return process.store.map(lambda item: _written(process, *item), list(zip(notes, drafts, claimed, strict=True)))


def _digest_of(draft: NoteDraft, part: Sequence[str]) -> str:
    """The digest of one note alone: an erasure of another one of the request leaves nothing of it here. A repeat from
    another version of the code is the same note.
    """
    # No tag has a line break.
    optional = ["\n", draft.said_at or "", draft.author or ""] if draft.said_at or draft.author else []
    source = ["\n", draft.source.space_id, draft.source.id] if draft.source else []
    return _digest([draft.category, draft.content, *draft.tags, *optional, *source, *part])


def _claim(process: Process, claim_key: str, note: Note, body: str) -> str | None:
    """Name the note in the object of its key. Returns the id of the note that an earlier request has named."""
    document = KeyedNote(note_id=note.note_id, body=body, created_at=clock.iso(process.clock()))
    claim = document.to_bytes()
    written = stored.write_once(process.store, claim_key, claim)
    if written.says_so:
        return None
    earlier = _in_force(process, written.other)
    if not earlier:
        # Gone meanwhile: the sweep removed it, or a caller deletes the space. Of two requests that try now one must win
        # too.
        if not stored.write_once(process.store, claim_key, claim, over=written.etag or None).says_so:
            raise PreconditionLost("Another request with the same Idempotency-Key is in progress. Try again.")
        return None
    if earlier.body != body:
        raise InvalidRequest.of(
            "Idempotency-Key", "was used for another request in the last 7 days: choose another key"
        )
    return earlier.note_id


def _in_force(process: Process, claim: Object | None) -> KeyedNote | None:
    """The note that the object of a key names; None where it names none, or its time is over."""
    earlier = _read_claim(claim.body) if claim else None
    is_old = earlier and process.clock() - clock.parse(earlier.created_at) > IDEMPOTENCY_LIFE
    return None if is_old else earlier


def _written(process: Process, note: Note, draft: NoteDraft, earlier: str | None) -> tuple[Note, bool]:
    if earlier is None:
        return appending.write(process, note), True
    try:
        return replace(pages.get(process, note.space_id, earlier), redacted=draft.redacted), False
    except NotFound:
        first = keys.parse_note_id(earlier)
        again = appending.new_note(note.space_id, note.agent, draft, first.timestamp, first.suffix)
        return appending.write(process, again), True


def drop_expired_claims(process: Process, space_id: str) -> int:
    """Delete the objects of Idempotency-Keys a day after their time, at most 1,000. Returns how many.

    1 LIST per 1,000 keys and 1 DELETE each. Conditional: the key may just be in use for another note.
    """
    claims = process.store.scan(IDEMPOTENCY.prefix(space_id))
    expired = list(
        islice((claim for claim in claims if process.clock() - claim.last_modified > CLAIM_LIFE), CLAIMS_AT_ONCE)
    )
    return sum(process.store.map(lambda claim: process.store.delete(claim.key, if_match=claim.etag), expired))


def _read_claim(body: bytes) -> KeyedNote | None:
    try:
        return KeyedNote.from_bytes(body)
    except ValueError:
        return None


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()
