"""Appending live notes: one, a batch, or one under a client's Idempotency-Key."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from livemem import clock, documents, keys, limits, notes, spaces
from livemem.errors import InvalidRequest, NotFound, PreconditionLost, TooLarge
from livemem.notes import Note
from livemem.store import Store, require_conditional_writes

IDEMPOTENCY_LIFE = timedelta(days=7)
"""For how long a repeat gives the first note (data-model.md)."""
CLAIM_LIFE = IDEMPOTENCY_LIFE + timedelta(days=1)
CLAIMS_AT_ONCE = 1_000
APPEND_TRIES = 5

_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True)
class Draft:
    """A note to be appended."""

    category: str
    content: str
    tags: tuple[str, ...] = ()


def check_draft(draft: Draft, field: str = "") -> None:
    """Raise InvalidRequest or TooLarge, naming the field below `field` (such as `notes.3.`), unless the note is fit."""
    if draft.category not in keys.CATEGORIES:
        raise InvalidRequest.of(f"{field}category", f"must be one of {', '.join(keys.CATEGORIES)}")
    limits.check_text(f"{field}content", draft.content, limits.NOTE_BYTES)
    if len(draft.tags) > limits.TAGS:
        raise InvalidRequest.of(f"{field}tags", f"at most {limits.TAGS} tags")
    for tag in draft.tags:
        if not tag.strip() or len(tag) > limits.TAG_CHARACTERS or _CONTROL.search(tag):
            raise InvalidRequest.of(
                f"{field}tags", f"a tag has 1 to {limits.TAG_CHARACTERS} characters and no line breaks"
            )
        limits.check_text(f"{field}tags", tag, 4 * limits.TAG_CHARACTERS)


def append(
    store: Store, space_id: str, agent: str, draft: Draft, *, now: datetime, new_suffix: Callable[[], str]
) -> Note:
    """Append one note: 1 PUT. `new_suffix` makes 8 hex digits. Raises NotFound for an unknown space."""
    check_draft(draft)
    spaces.load_recent(store, space_id)
    require_conditional_writes(store)
    return _write(store, _new_note(space_id, agent, draft, now, new_suffix()), new_suffix)


def append_batch(
    store: Store, space_id: str, agent: str, drafts: Sequence[Draft], *, now: datetime, new_suffix: Callable[[], str]
) -> list[Note]:
    """Append notes, all checked before the first is written, then one PUT each in parallel.

    If the store fails on the way some are written: the error says so and the client may list what arrived.
    """
    if not drafts:
        raise InvalidRequest.of("notes", "must hold at least one note")
    if len(drafts) > limits.BATCH_NOTES:
        raise TooLarge.of("notes", len(drafts), limits.BATCH_NOTES, "notes")
    for index, draft in enumerate(drafts):
        check_draft(draft, f"notes.{index}.")
    spaces.load_recent(store, space_id)
    require_conditional_writes(store)
    # Names sort by time and then by suffix: counting suffixes keep the batch's order within its second.
    base = int(new_suffix(), 16) & ~0x7F
    made = [_new_note(space_id, agent, draft, now, f"{base + index:08x}") for index, draft in enumerate(drafts)]
    return store.map(lambda note: _write(store, note, new_suffix), made)


def append_once(
    store: Store,
    space_id: str,
    agent: str,
    draft: Draft,
    idempotency_key: str,
    *,
    now: datetime,
    new_suffix: Callable[[], str],
) -> tuple[Note, bool]:
    """Append one note under the client's Idempotency-Key: 2 PUT. Returns the note and whether it is new.

    The key's object names the note before the note is written, so a repeat completes a first try that died between.
    Raises InvalidRequest if the key came with another note in the last 7 days.
    """
    if not 1 <= len(idempotency_key) <= limits.IDEMPOTENCY_KEY_CHARACTERS:
        raise InvalidRequest.of("Idempotency-Key", f"1 to {limits.IDEMPOTENCY_KEY_CHARACTERS} characters")
    check_draft(draft)
    spaces.load_recent(store, space_id)
    require_conditional_writes(store)
    claim_key = keys.idempotency(space_id, _digest([agent, idempotency_key]))
    body_digest = _digest([draft.category, draft.content, *draft.tags])
    note = _new_note(space_id, agent, draft, now, new_suffix())
    claim = json.dumps({"note_id": note.note_id, "body": body_digest, "created_at": clock.iso(now)}).encode()
    try:
        store.put(claim_key, claim, if_none_match=True, content_type=documents.JSON)
        return _write(store, note, new_suffix), True
    except PreconditionLost:
        found = store.get(claim_key)
    earlier = _read_claim(found.body) if found else None
    if not earlier or now - clock.parse(earlier["created_at"]) > IDEMPOTENCY_LIFE:
        # Gone meanwhile: the sweep took it away, or somebody deletes the space. Of two who try now one must win too.
        condition = {"if_match": found.etag} if found else {"if_none_match": True}
        store.put(claim_key, claim, content_type=documents.JSON, **condition)
        return _write(store, note, new_suffix), True
    if earlier["body"] != body_digest:
        raise InvalidRequest.of("Idempotency-Key", "was used for another note in the last 7 days")
    try:
        return notes.get(store, space_id, earlier["note_id"]), False
    except NotFound:
        first = keys.parse_note_id(earlier["note_id"])
        return _write(store, _new_note(space_id, agent, draft, first.timestamp, first.suffix), new_suffix), True


def drop_expired_claims(store: Store, space_id: str, now: datetime) -> int:
    """Delete what Idempotency-Keys left a day after their time, at most 1,000 of them; returns how many.

    1 LIST per 1,000 keys and 1 DELETE each. Conditional: the key may just be in use for another note.
    """
    claims = store.scan(keys.idempotency_prefix(space_id))
    expired = list(islice((claim for claim in claims if now - claim.last_modified > CLAIM_LIFE), CLAIMS_AT_ONCE))
    return sum(store.map(lambda claim: store.delete(claim.key, if_match=claim.etag), expired))


def _read_claim(body: bytes) -> dict[str, str] | None:
    try:
        claim = json.loads(body)
        clock.parse(claim["created_at"])
        keys.parse_note_id(claim["note_id"])
        return {name: str(claim[name]) for name in ("note_id", "body", "created_at")}
    except (ValueError, KeyError, TypeError):
        return None


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()


def _new_note(space_id: str, agent: str, draft: Draft, now: datetime, suffix: str) -> Note:
    name = keys.NoteName(now, keys.check_agent(agent), draft.category, suffix)
    return Note(
        note_id=name.note_id,
        space_id=space_id,
        timestamp=clock.iso(now),
        agent=agent,
        category=draft.category,
        tags=draft.tags,
        content=draft.content,
        size=len(draft.content.encode()),
    )


def _write(store: Store, note: Note, new_suffix: Callable[[], str]) -> Note:
    body = notes.format_note(note)
    for _ in range(APPEND_TRIES):
        key = keys.note(note.space_id, note.note_id)
        try:
            store.put(key, body, if_none_match=True)
            return note
        except PreconditionLost:
            # Our own first try, answered with an error, or one chance in four thousand million.
            found = store.get(key)
            if found and found.body == body:
                return note
            note = replace(note, note_id=replace(keys.parse_note_id(note.note_id), suffix=new_suffix()).note_id)
    raise PreconditionLost("No free name for the note.")
