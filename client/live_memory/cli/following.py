"""The notes that are new since the last look. Each is shown once, also if it was consolidated between two looks.

A note is live, or it stands in the record of the change that folded it. A look reads the live notes first and then the
records. So a note that moves meanwhile is seen in one of them or in both, and at the latest by the next look. The
service names notes by its own clock to the second, and a note that was written earlier may appear later. So each look
goes back by `OVERLAP` before the newest note. Ids show which notes were shown already.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any, Protocol

OVERLAP = timedelta(minutes=2)
"""How late a note may become visible: a write is tried again for less than a minute, and clocks differ by less."""

Note = dict[str, Any]


class Source(Protocol):
    """The requests that following sends to the service."""

    def newest(self, count: int) -> Sequence[Note]:
        """At most `count` live notes, the newest."""

    def live(self, since: datetime | None) -> Iterable[Note]:
        """The live notes of `since` (inclusive) and later; of None all."""

    def changes(self) -> Iterable[dict[str, Any]]:
        """The changes of the bank, newest first."""

    def folded(self, number: int) -> Sequence[Note]:
        """The notes that a change folded, as they were."""


@dataclass(frozen=True)
class Seen:
    """The state so far: the newest note's time, the last change that was read, the ids within the overlap."""

    newest: datetime | None = None
    change: int = 0
    ids: frozenset[str] = field(default_factory=frozenset)

    @property
    def since(self) -> datetime | None:
        """Notes older than this were shown, or existed before. None while there was no note at all."""
        return self.newest - OVERLAP if self.newest else None


def begin(source: Source, count: int, now: datetime) -> tuple[list[Note], Seen]:
    """The start: at most `count` live notes, oldest first, and the state that counts as seen.

    A note that is folded during this look counts as new, unless it is among these notes.
    """
    number = next((int(change["number"]) for change in source.changes()), 0)
    notes = list(source.newest(max(count, 1)))
    newest = _newest([*notes, *_last_folded(source, number)], None, now)
    recent: list[Note] = []
    if newest:
        notes += source.live(newest - OVERLAP)
        recent = _recently_folded(source, number, newest - OVERLAP)
    there = sorted({note["note_id"]: note for note in notes}.values(), key=_order)
    seen = Seen(newest, number)
    return there[-count:] if count else [], Seen(newest, number, _ids([*there, *recent], seen.since))


def _last_folded(source: Source, number: int) -> Sequence[Note]:
    """The notes of the last change that folded some."""
    changes = (change for change in source.changes() if change["number"] <= number and _folds(change))
    last = next(changes, None)
    return source.folded(last["number"]) if last else ()


def _recently_folded(source: Source, number: int, since: datetime) -> list[Note]:
    """The notes that were folded since then. An undo may make them live again, and then they are not new."""
    # A change that was committed earlier has folded earlier notes alone.
    later = takewhile(lambda change: _moment(change["committed_at"]) >= since, source.changes())
    chosen = [change["number"] for change in later if change["number"] <= number and _folds(change)]
    return [note for one in chosen for note in source.folded(one)]


def look(source: Source, seen: Seen, now: datetime) -> tuple[list[Note], Seen]:
    """The notes that are new since `seen`, oldest first, and the new state."""
    found = {note["note_id"]: note for note in source.live(seen.since)}
    changes = list(takewhile(lambda change: change["number"] > seen.change, source.changes()))
    for change in filter(_folds, changes):
        found |= {note["note_id"]: note for note in source.folded(change["number"])}
    new = [note for note_id, note in found.items() if note_id not in seen.ids and not _before(note, seen.since)]
    newest = _newest(new, seen.newest, now)
    number = changes[0]["number"] if changes else seen.change
    after = Seen(newest, number)
    known = [*new, *({"note_id": note_id} for note_id in seen.ids)]
    return sorted(new, key=_order), Seen(newest, number, _ids(known, after.since))


def _folds(change: dict[str, Any]) -> bool:
    return bool(change["kind"] == "consolidation" and change["notes_count"])


def _time(note: Note) -> datetime:
    # The id begins with the time; an object that was put there by hand may have any other.
    return datetime.strptime(note["note_id"][:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)


def _moment(iso: str) -> datetime:
    return datetime.fromisoformat(iso)


def _order(note: Note) -> tuple[str, str]:
    # As they were written, whoever wrote them: the suffix counts up within a second.
    return note["note_id"][:15], note["note_id"].rpartition("_")[2]


def _before(note: Note, since: datetime | None) -> bool:
    return since is not None and _time(note) < since


def _newest(notes: Iterable[Note], former: datetime | None, now: datetime) -> datetime | None:
    # A note that was put there by hand may have a future time. Notes written until then must not be missed.
    times = [min(_time(note), now) for note in notes]
    return max([*times, *([former] if former else [])], default=None)


def _ids(notes: Iterable[Note], since: datetime | None) -> frozenset[str]:
    return frozenset(note["note_id"] for note in notes if not _before(note, since))
