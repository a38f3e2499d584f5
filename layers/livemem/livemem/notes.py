"""Live notes: immutable Markdown objects with front matter, one object each, named so that names sort by time."""

import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

import yaml
from frontmatter.default_handlers import YAMLHandler

from livemem import clock, documents, keys, limits, records, spaces
from livemem.errors import InvalidRequest, NotFound, PreconditionLost, TooLarge
from livemem.store import Entry, Store, require_conditional_writes

logger = logging.getLogger(__name__)

IDEMPOTENCY_LIFE = timedelta(days=7)
TAG_SCAN = 500
"""Notes read for one page that filters by tag: tags stand in the notes, all other filters in their names."""
APPEND_TRIES = 5

_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


class _Handler(YAMLHandler):
    # The library's pattern also swallows blank lines and takes any number of dashes, which would change bodies.
    FM_BOUNDARY = re.compile(r"^---[ \t]*\r?\n", re.MULTILINE)


_HANDLER = _Handler()


@dataclass(frozen=True)
class Note:
    """A note as users see it; `size` is the content's in bytes of UTF-8."""

    note_id: str
    space_id: str
    timestamp: str
    agent: str
    category: str
    tags: tuple[str, ...]
    content: str
    size: int
    status: str = "live"
    consolidation: int | None = None
    malformed: bool = False


@dataclass(frozen=True)
class Draft:
    """A note to be appended."""

    category: str
    content: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Filter:
    """Which notes a page shows; None is any. `since` and `until` are inclusive."""

    category: str | None = None
    agent: str | None = None
    tag: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @classmethod
    def of(
        cls, *, category: str | None, agent: str | None, tag: str | None, since: str | None, until: str | None
    ) -> "Filter":
        """The filter of a request's texts; raises InvalidRequest or InvalidName, naming the field."""
        if category is not None and category not in keys.CATEGORIES:
            raise InvalidRequest.of("category", f"must be one of {', '.join(keys.CATEGORIES)}")
        if agent is not None:
            keys.check_agent(agent)
        return cls(category, agent, tag, _moment("since", since), _moment("until", until))

    def admits(self, name: keys.NoteName) -> bool:
        """Whether a note of this name can be shown, as far as its name tells."""
        return (
            (self.category is None or name.category == self.category)
            and (self.agent is None or name.agent == self.agent)
            and (self.since is None or name.timestamp >= self.since.replace(microsecond=0))
            and (self.until is None or name.timestamp <= self.until)
        )


def _moment(field: str, text: str | None) -> datetime | None:
    try:
        # A plus sign that a client did not escape arrives as a space.
        return clock.parse(text.replace(" ", "+")) if text is not None else None
    except ValueError:
        raise InvalidRequest.of(field, "must be a time in ISO 8601, such as 2026-02-20T14:00:00Z") from None


@dataclass(frozen=True)
class Page:
    """One page of notes, and the note id after which the next one begins (None at the end)."""

    items: list[Note]
    next_after: str | None


def format_note(note: Note) -> bytes:
    """The object of a note (data-model.md): quoted YAML front matter, a blank line, the content byte for byte."""
    fields: dict[str, Any] = {
        "timestamp": note.timestamp,
        "agent": note.agent,
        "category": note.category,
        "tags": list(note.tags),
        "space_id": note.space_id,
    }
    lines = [
        f"{name}: {_HANDLER.export(value, default_style=chr(34), default_flow_style=True, width=10**9)}\n"
        for name, value in fields.items()
    ]
    return f"---\n{''.join(lines)}---\n\n{note.content}".encode()


def parse_note(space_id: str, name: keys.NoteName, body: bytes) -> Note:
    """The note in an object. What does not parse is read with what its name tells and marked `malformed`."""
    text = body.decode("utf-8", errors="replace")
    fallback = Note(
        note_id=name.note_id,
        space_id=space_id,
        timestamp=clock.iso(name.timestamp),
        agent=name.agent,
        category=name.category,
        tags=(),
        content=text,
        size=len(text.encode()),
        malformed=True,
    )
    try:
        body.decode("utf-8")
        if not _HANDLER.detect(text):
            return fallback
        head, content = _HANDLER.split(text)
        fields = _HANDLER.load(head)
        tags = fields.get("tags") or []
        moment = fields["timestamp"]
        timestamp = clock.iso(clock.parse(moment.isoformat() if isinstance(moment, datetime) else moment))
        agent, category = keys.check_agent(fields["agent"]), fields["category"]
        if category not in keys.CATEGORIES or not isinstance(tags, list) or not all(isinstance(t, str) for t in tags):
            return fallback
    except (ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError, RecursionError):
        return fallback
    content = re.sub(r"\A\r?\n", "", content)
    return replace(
        fallback,
        timestamp=timestamp,
        agent=agent,
        category=category,
        tags=tuple(tags),
        content=content,
        size=len(content.encode()),
        malformed=False,
    )


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
    notes = [_new_note(space_id, agent, draft, now, f"{base + index:08x}") for index, draft in enumerate(drafts)]
    return store.map(lambda note: _write(store, note, new_suffix), notes)


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
        store.put(claim_key, claim, if_match=found.etag if found else None, content_type=documents.JSON)
        return _write(store, note, new_suffix), True
    if earlier["body"] != body_digest:
        raise InvalidRequest.of("Idempotency-Key", "was used for another note in the last 7 days")
    try:
        return get(store, space_id, earlier["note_id"]), False
    except NotFound:
        first = keys.parse_note_id(earlier["note_id"])
        return _write(store, _new_note(space_id, agent, draft, first.timestamp, first.suffix), new_suffix), True


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
    body = format_note(note)
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


def get(store: Store, space_id: str, note_id: str) -> Note:
    """A note, live or consolidated: 1 GET while it is live, else 1 LIST and the records that can hold it.

    Raises InvalidName, NotFound.
    """
    name = keys.parse_note_id(note_id)
    found = store.get(keys.note(space_id, note_id))
    if found:
        return parse_note(space_id, name, found.body)
    spaces.load(store, space_id)
    held = records.find_note(store, space_id, name)
    if not held:
        # It may have been consolidated, and undone, between the two looks.
        found = store.get(keys.note(space_id, note_id))
        if found:
            return parse_note(space_id, name, found.body)
        raise NotFound("note", note_id)
    number, raw = held
    return replace(parse_note(space_id, name, raw.encode()), status="consolidated", consolidation=number)


def page(
    store: Store, space_id: str, wanted: Filter, *, limit: int, after: str | None = None, oldest_first: bool = False
) -> Page:
    """One page of live notes: ceil(N/1000) LIST and at most `limit` GET (with a tag filter at most 500).

    A page of large notes, or by tag, may hold fewer than `limit` notes and still have a next one.
    """
    start = keys.note(space_id, after) if after and oldest_first else ""
    entries = list(store.scan(keys.live_prefix(space_id), start_after=start))
    named = [(entry, found[1]) for entry in entries if (found := keys.parse_note(entry.key))]
    if not oldest_first:
        named.reverse()
    if after:
        named = [(e, n) for e, n in named if (n.note_id > after if oldest_first else n.note_id < after)]
    named = [(entry, name) for entry, name in named if wanted.admits(name)]
    scan = _within_a_page(named[: limit if wanted.tag is None else max(limit, TAG_SCAN)])
    notes = [note for note in read_all(store, space_id, [entry for entry, _ in scan]) if note]
    shown = [note for note in notes if wanted.tag is None or wanted.tag in note.tags][:limit]
    last_read = shown[-1].note_id if len(shown) == limit else (scan[-1][1].note_id if scan else "")
    more = bool(named) and named[-1][1].note_id != last_read
    return Page(shown, last_read if more and last_read else None)


def _within_a_page(named: list[tuple[Entry, keys.NoteName]]) -> list[tuple[Entry, keys.NoteName]]:
    """The first of them that together are small enough for one answer, and at least one."""
    ends = accumulate(entry.size for entry, _ in named)
    return named[: max(1, sum(end <= limits.PAGE_BYTES for end in ends))]


def read_all(store: Store, space_id: str, entries: Sequence[Entry]) -> list[Note | None]:
    """The notes of listed objects, in parallel, None for those that are gone by now."""
    found = store.get_many([entry.key for entry in entries])
    parsed = [keys.parse_note(entry.key) for entry in entries]
    return [
        parse_note(space_id, name[1], body.body) if body and name else None
        for body, name in zip(found, parsed, strict=True)
    ]
