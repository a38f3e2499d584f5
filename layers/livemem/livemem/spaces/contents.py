"""The contents of a space: its live notes and its bank files, as listings show them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import groupby, islice

from livemem.process import Process
from livemem.spaces.head import Meta
from livemem.store import keys, timeline
from livemem.store.bucket import BANK_FILE, NOTE
from livemem.store.cache import TimedCache
from livemem.store.keys import NoteName
from livemem.store.objects import Entry
from livemem.store.timeline import Timeline

NEAR = 150
"""How many of the newest notes a page's first listing should hold: a few pages."""
KNOWN_SPACES = 1_000

LAST_SECOND = datetime.max.replace(microsecond=0, tzinfo=UTC)


_NEWEST = partial(TimedCache[str, int | None], KNOWN_SPACES)
"""The time from which a space's newest notes begin, as this process has seen it. It is a guess: no answer needs it."""


def live_notes(process: Process, space_id: str, *, limit: int | None = None) -> list[Entry]:
    """The space's live notes, oldest first; other objects below `live/` are ignored."""
    listing = process.store.scan(NOTE.prefix(space_id), limit=limit)
    return [entry for entry in listing if NOTE.parse(entry.key)]


def notes_until(process: Process, space_id: str, moment: str | None) -> Iterator[Entry]:
    """The live notes up to a compact time, inclusive, oldest first. None: all of them. Lazy: 1 LIST per 1,000."""
    # `~` sorts behind all that a note's name can hold.
    stop = f"{NOTE.prefix(space_id)}{moment}~" if moment is not None else ""
    listing = process.store.scan(NOTE.prefix(space_id), stop=stop)
    return (entry for entry in listing if NOTE.parse(entry.key))


def waiting_notes(process: Process, meta: Meta, *, most: int) -> list[Entry]:
    """At most `most` live notes of the space that wait for a consolidation. Oversized notes do not wait.

    1 LIST of `most` keys and a few more; 2 where that is more than 1,000.
    """
    aside = meta.oversized_notes.standing(process.settings.llmaas_context_tokens)
    # One key more than notes: `.keep`.
    entries = live_notes(process, meta.space_id, limit=most + 1 + len(aside))
    return [entry for entry in entries if note_name(entry).note_id not in aside][:most]


def note_name(entry: Entry) -> keys.NoteName:
    """The name of a listed live note."""
    note_id = NOTE.last(entry.key)
    assert note_id
    return keys.parse_note_id(note_id)


def all_live_notes(process: Process, space_id: str) -> list[Entry]:
    """All live notes, oldest first. Many notes are listed in parallel, in few round trips."""
    return timeline.everything(process.store, _timeline(space_id), now=timeline.seconds(process.clock()))


@dataclass(frozen=True)
class Newest:
    """The newest live notes, newest first. `listing`: all notes that the look saw. If not `exact`, there are more."""

    entries: list[Entry]
    listing: list[Entry]
    exact: bool


def newest_notes(process: Process, space_id: str, most: int) -> Newest:
    """Up to `most` of the newest live notes: 1 LIST, and a few more where there are more than 1,000."""
    listing = process.store.first(NOTE.prefix(space_id))
    ordered = [(note_name(entry).order, entry) for entry in listing.entries if NOTE.parse(entry.key)]
    if listing.more:
        newest = [entry for entry, _ in islice(notes_in_order(process, space_id), most)]
        return Newest(newest, [entry for _, entry in ordered], exact=False)
    ordered.sort(key=lambda item: item[0], reverse=True)
    entries = [entry for _, entry in ordered]
    return Newest(entries[:most], entries, exact=True)


def notes_in_order(
    process: Process,
    space_id: str,
    *,
    oldest_first: bool = False,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Iterator[tuple[Entry, NoteName]]:
    """The live notes from `since` to `until`, both inclusive, in the order in which they were written, or back.

    Lazy: a caller who stops early pays for little (timeline.newest_first). Notes of one second are always listed whole.
    """
    first = timeline.seconds(since) if since else None
    end = timeline.seconds(until) + 1 if until and until < LAST_SECOND else None
    line = _timeline(space_id)
    if oldest_first:
        batches = _by_second(process.store.scan(line.prefix, start_after=line.key(first), stop=line.key(end)))
    else:
        now, near = timeline.seconds(process.clock()), process.cache(_NEWEST).get(space_id)
        batches = timeline.newest_first(process.store, line, now=now, since=first, before=end, near=near)
        if first is None and end is None:
            batches = _noting(process, space_id, batches)
    for batch in batches:
        pairs = [(entry, note_name(entry)) for entry in batch if NOTE.parse(entry.key)]
        yield from sorted(pairs, key=lambda item: item[1].order, reverse=not oldest_first)


def _noting(process: Process, space_id: str, batches: Iterator[list[Entry]]) -> Iterator[list[Entry]]:
    """The same batches. It keeps for the next page where the newest notes begin."""
    cache, count = process.cache(_NEWEST), 0
    for batch in batches:
        if batch and count <= NEAR:
            count += len(batch)
            cache.put(space_id, _second(batch[max(count - NEAR, 0)].key))
        yield batch
    if count <= NEAR:
        # One listing holds so few.
        cache.put(space_id, None)


def _by_second(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    for _, batch in groupby(entries, key=lambda entry: _second(entry.key)):
        yield list(batch)


def _timeline(space_id: str) -> Timeline:
    return Timeline(NOTE.prefix(space_id), lambda moment: keys.compact_time(timeline.from_seconds(moment)), _second)


def _second(key: str) -> int | None:
    note_id = NOTE.last(key)
    return timeline.seconds(keys.parse_note_id(note_id).timestamp) if note_id else None


def bank_files(process: Process, space_id: str) -> list[Entry]:
    """The space's bank files in the order of their paths."""
    return [entry for entry in process.store.scan(BANK_FILE.prefix(space_id)) if BANK_FILE.parse(entry.key)]
