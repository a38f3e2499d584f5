"""Live notes: immutable Markdown objects with front matter, one object each, named so that names sort by time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate

from livemem import clock, front_matter, keys, limits, records, spaces
from livemem.cache import SizedCache
from livemem.errors import InvalidRequest, NotFound
from livemem.store import Entry, Object, Store

TAG_SCAN = 500
"""Notes read for one page that filters by tag: tags stand in the notes, all other filters in their names."""

CACHE_BYTES = 16 * 1024 * 1024
NOTE_OVERHEAD = 1_000
"""What a note takes in memory beyond its text, about."""

# Notes never change: a key with its ETag is always the same note, and a listing tells whether it is still there.
_read_before = SizedCache["Note"](CACHE_BYTES)


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
    fields = {
        "timestamp": note.timestamp,
        "agent": note.agent,
        "category": note.category,
        "tags": list(note.tags),
        "space_id": note.space_id,
    }
    head = "".join(front_matter.format_field(name, value) for name, value in fields.items())
    return f"---\n{head}---\n\n{note.content}".encode()


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
        fields, content = front_matter.read(text)
        tags = fields.get("tags") or []
        moment = fields["timestamp"]
        timestamp = clock.iso(clock.parse(moment.isoformat() if isinstance(moment, datetime) else moment))
        agent, category = keys.check_agent(fields["agent"]), fields["category"]
        if category not in keys.CATEGORIES or not isinstance(tags, list) or not all(isinstance(t, str) for t in tags):
            return fallback
    except (ValueError, KeyError, TypeError, AttributeError):
        return fallback
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

    A note that this process has read before costs no GET.
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
    """The notes of listed objects, in parallel, None for those that are gone by now; 1 GET for each unknown one."""
    known = [_read_before.get((store.bucket, entry.key, entry.etag)) for entry in entries]
    found = iter(store.get_many([entry.key for entry, note in zip(entries, known, strict=True) if not note]))
    return [note or _parsed(store, space_id, next(found)) for note in known]


def _parsed(store: Store, space_id: str, found: Object | None) -> Note | None:
    name = found and keys.parse_note(found.key)
    if not found or not name:
        return None
    note = parse_note(space_id, name[1], found.body)
    return _read_before.put((store.bucket, found.key, found.etag), note, len(found.body) + NOTE_OVERHEAD)
