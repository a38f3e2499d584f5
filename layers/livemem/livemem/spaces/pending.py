"""How long a space's notes have been waiting."""

from collections.abc import Sequence
from datetime import datetime

from livemem.store import keys
from livemem.store.objects import Entry


def oldest(live: Sequence[Entry]) -> datetime | None:
    """When the oldest of the listed notes was written, by its name. None if there is no note."""
    parsed = keys.parse_note(live[0].key) if live else None
    return parsed[1].timestamp if parsed else None


def age(moment: datetime | None, now: datetime) -> float:
    """Seconds since `moment`; 0 if it is still to come, or None."""
    return max((now - moment).total_seconds(), 0.0) if moment else 0.0
