"""How long a space's notes have been waiting."""

from collections.abc import Sequence
from datetime import datetime

from livemem.store import keys
from livemem.store.bucket import NOTE
from livemem.store.objects import Entry


def oldest(live: Sequence[Entry]) -> datetime | None:
    """When the oldest of the listed notes was written, by its name. None if there is no note."""
    note_id = NOTE.last(live[0].key) if live else None
    return keys.parse_note_id(note_id).timestamp if note_id else None


def age(moment: datetime | None, now: datetime) -> float:
    """Seconds since `moment`; 0 if it is still to come, or None."""
    return max((now - moment).total_seconds(), 0.0) if moment else 0.0
