"""How long a space's notes have been waiting."""

from collections.abc import Sequence
from datetime import datetime

from livemem.store import keys
from livemem.store.objects import Entry


def age(live: Sequence[Entry], now: datetime) -> float:
    """Age in seconds of the oldest of the listed notes, by its name; 0 if there is none."""
    parsed = keys.parse_note(live[0].key) if live else None
    return max((now - parsed[1].timestamp).total_seconds(), 0.0) if parsed else 0.0
