"""Reading live notes: one by its id, or pages with filters."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from livemem import clock, limits
from livemem.changes import late_duplicates, records
from livemem.errors import InvalidRequest, NotFound
from livemem.notes import note as notes
from livemem.notes.note import CopiedFrom, Note
from livemem.process import Process
from livemem.spaces import contents
from livemem.spaces import head as heads
from livemem.store import keys
from livemem.store.bucket import NOTE
from livemem.store.objects import Entry, Object
from livemem.text.items import folded

TAG_SCAN = 500
"""Most notes read for one page with a filter by tag. Tags are in the notes, all other filters are about names."""


IDS_MOST = 100
"""Notes that one request names."""

NAMES_SCAN = 5_000
"""Most names that are checked for one page: a LIST gives 1,000."""


@dataclass(frozen=True)
class NotesFilter:
    """Which notes a page shows; None is any. `since` and `until` are inclusive, and without a time zone where they name
    a day (clock.parse_bound). Agents and tags are compared as items.folded gives them.
    """

    category: str | None = None
    agent: str | None = None
    tag: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @classmethod
    def of(
        cls, *, category: str | None, agent: str | None, tag: str | None, since: str | None, until: str | None
    ) -> "NotesFilter":
        """The filter of a request's texts. Raises InvalidRequest or InvalidName, naming the field."""
        if category is not None and category not in keys.CATEGORIES:
            raise InvalidRequest.of("category", f"must be one of {', '.join(keys.CATEGORIES)}")
        if agent is not None:
            keys.check_agent(agent)
        return cls(category, agent, tag, _moment("since", since), _moment("until", until, last=True))

    def in_zone(self, zone: tzinfo) -> "NotesFilter":
        """The same, whose days are those of a time zone."""
        since, until = (bound and clock.in_zone(bound, zone) for bound in (self.since, self.until))
        return replace(self, since=since, until=until)

    def has_tag(self, tags: Sequence[str]) -> bool:
        """Whether a note with these tags may be shown."""
        return self.tag is None or folded(self.tag) in map(folded, tags)

    def admits(self, name: keys.NoteName) -> bool:
        """Whether a note of this name may be shown, as far as its name shows."""
        return (
            (self.category is None or name.category == self.category)
            and (self.agent is None or folded(name.agent) == folded(self.agent))
            and (self.since is None or name.timestamp >= self.since.replace(microsecond=0))
            and (self.until is None or name.timestamp <= self.until)
        )


def _moment(field: str, text: str | None, *, last: bool = False) -> datetime | None:
    try:
        # A plus sign that a client did not escape arrives as a space.
        return clock.parse_bound(text.replace(" ", "+"), last=last) if text is not None else None
    except ValueError:
        raise InvalidRequest.of(field, "must be a time in ISO 8601, such as 2026-02-20T14:00:00Z, or a day") from None


@dataclass(frozen=True)
class NotesPage:
    """One page of notes, and the note id after which the next one begins (None at the end)."""

    items: list[Note]
    next_after: str | None


def get(process: Process, space_id: str, note_id: str) -> Note:
    """A note, live or consolidated: 1 GET while it is live. Else 1 LIST and a read of the records that can hold it.

    Raises InvalidName, NotFound.
    """
    name = keys.parse_note_id(note_id)
    item = process.store.get(NOTE.key(space_id, note_id))
    if item and not late_duplicates.hidden(process, space_id, [item]):
        return notes.parse_note(space_id, name, item.body)
    heads.load(process, space_id)
    folded = records.find_note(process, space_id, name)
    if folded and folded.consolidation is not None:
        return recorded(space_id, name, folded.body, folded.consolidation)
    # It may have been consolidated, and undone, between the two looks; or a late request has removed it after an undo.
    item = item or process.store.get(NOTE.key(space_id, note_id))
    source = item or folded
    if not source:
        raise NotFound("note", note_id)
    return notes.parse_note(space_id, name, source.body)


def check_sources(process: Process, sources: Iterable[CopiedFrom]) -> None:
    """Raise NotFound unless the notes that are passed on exist: `of_ids` for each space. Of memories only the space is
    looked for.
    """
    ids_of: dict[str, list[str]] = {}
    for source in sources:
        ids_of.setdefault(source.space_id, []).append(source.id.removeprefix("notes/"))
    process.store.map(lambda item: _check_ids(process, *item), list(ids_of.items()))


def _check_ids(process: Process, space_id: str, ids: Sequence[str]) -> None:
    note_ids = [one for one in ids if keys.NOTE_ID.fullmatch(one)]
    if not note_ids:
        heads.load_recent(process, space_id)
        return
    found = {note.note_id for note in of_ids(process, space_id, note_ids)}
    for note_id in note_ids:
        if note_id not in found:
            raise NotFound("note", note_id)


def of_ids(process: Process, space_id: str, note_ids: Sequence[str]) -> list[Note]:
    """Notes by their ids, live or consolidated, in the order of the ids. Those that no longer exist are left out.

    1 GET each; of those that are not live 1 LIST, and the records that can hold them. Raises InvalidRequest, NotFound
    (the space).
    """
    names = [keys.parse_note_id(note_id) for note_id in dict.fromkeys(note_ids)]
    if not 0 < len(names) <= IDS_MOST:
        raise InvalidRequest.of("ids", f"must name 1 to {IDS_MOST} notes")
    heads.load_recent(process, space_id)
    items = process.store.get_many([NOTE.key(space_id, name.note_id) for name in names])
    hidden = late_duplicates.hidden(process, space_id, [item for item in items if item])
    live = {
        name.note_id: item.body for name, item in zip(names, items, strict=True) if item and name.note_id not in hidden
    }
    folded = records.find_notes(process, space_id, [name for name in names if name.note_id not in live])
    result = []
    for name in names:
        record_copy = folded.get(name.note_id)
        if name.note_id in live:
            result.append(notes.parse_note(space_id, name, live[name.note_id]))
        elif record_copy:
            result.append(recorded(space_id, name, record_copy.body, record_copy.consolidation))
    return result


def recorded(space_id: str, name: keys.NoteName, body: bytes, consolidation: int | None) -> Note:
    """A note of the records, with the consolidation that holds it. None: an undo gave it back, and it is live."""
    note = notes.parse_note(space_id, name, body)
    return note if consolidation is None else replace(note, status="consolidated", consolidation=consolidation)


def page(
    process: Process,
    space_id: str,
    filters: NotesFilter,
    *,
    limit: int,
    after: str | None = None,
    oldest_first: bool = False,
) -> NotesPage:
    """One page of live notes in the order in which they were written, or back: a few LIST, however many there are
    (contents.notes_in_order), and at most `limit` GET (with a tag filter at most 500).

    A note that this process has read before costs no GET. A page may hold fewer than `limit` notes and still have a
    next one: with large notes, a filter by tag, or a filter that few notes pass. Raises NotFound.
    """
    filters = filters.in_zone(heads.zone_of(process, heads.load_recent(process, space_id).meta))
    scan, end = _chosen(
        _behind(process, space_id, filters, after, oldest_first=oldest_first),
        filters,
        limit if filters.tag is None else max(limit, TAG_SCAN),
    )
    live = late_duplicates.without(process, space_id, [entry for entry, _ in scan])
    notes = [note for note in read_all(process, space_id, live) if note]
    matching = [note for note in notes if filters.has_tag(note.tags)]
    if len(matching) > limit or (len(matching) == limit and scan[-1][1].note_id != matching[-1].note_id):
        return NotesPage(matching[:limit], matching[limit - 1].note_id)
    return NotesPage(matching, end)


def _behind(
    process: Process, space_id: str, filters: NotesFilter, after: str | None, *, oldest_first: bool
) -> Iterator[tuple[Entry, keys.NoteName]]:
    """The notes behind the cursor `after`, of those from `since` to `until`."""
    cursor = keys.parse_note_id(after) if after else None
    since, until = filters.since, filters.until
    if cursor and oldest_first:
        since = max(cursor.timestamp, since or cursor.timestamp)
    elif cursor:
        until = min(cursor.timestamp, until or cursor.timestamp)
    for entry, name in contents.notes_in_order(process, space_id, oldest_first=oldest_first, since=since, until=until):
        if not cursor or (name.order > cursor.order if oldest_first else name.order < cursor.order):
            yield entry, name


def _chosen(
    ordered: Iterator[tuple[Entry, keys.NoteName]], filters: NotesFilter, most: int
) -> tuple[list[tuple[Entry, keys.NoteName]], str | None]:
    """The first notes that the filter admits: at least one, at most `most`, and no more than one answer can hold. With
    them the id of the last note that was checked, None at the end.
    """
    chosen: list[tuple[Entry, keys.NoteName]] = []
    size, last = 0, ""
    for count, (entry, name) in enumerate(ordered):
        if count >= NAMES_SCAN:
            return chosen, last
        if filters.admits(name):
            size += entry.size
            if len(chosen) == most or (chosen and size > limits.PAGE_BYTES):
                return chosen, last
            chosen.append((entry, name))
        last = name.note_id
    return chosen, None


def read_all(process: Process, space_id: str, entries: Sequence[Entry]) -> list[Note | None]:
    """The notes of listed objects, read in parallel: 1 GET for each unknown one. None for those that are gone."""
    cached = [process.reads.get(Note, entry.key, entry.etag) for entry in entries]
    items = iter(process.store.get_many([entry.key for entry, note in zip(entries, cached, strict=True) if not note]))
    return [note or _parsed(process, space_id, next(items)) for note in cached]


def _parsed(process: Process, space_id: str, item: Object | None) -> Note | None:
    note_id = item and NOTE.last(item.key)
    if not item or not note_id:
        return None
    note = notes.parse_note(space_id, keys.parse_note_id(note_id), item.body)
    return process.reads.put(item.key, item.etag, note, (note.content, *note.tags))
