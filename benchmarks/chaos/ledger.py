"""What was acknowledged to the clients, and what they tried: the audit holds the bucket against it."""

import itertools
import threading
import time
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Life:
    """One life of a space: from its creation to its deletion. `deletion_asked` once somebody tried."""

    space_id: str
    uid: str
    deletion_asked: bool = False


@dataclass(frozen=True)
class Note:
    """An acknowledged note; `marker` begins its content and no other's."""

    note_id: str
    marker: str
    life: Life
    at: float = field(default_factory=time.time)


@dataclass
class Ledger:
    """Safe for threads."""

    notes: list[Note] = field(default_factory=list)
    posted: dict[str, int] = field(default_factory=dict)
    """How many requests may each have written a note of this marker: repeats with one key are one."""
    two_for_one_key: list[str] = field(default_factory=list)
    corrections: dict[str, Life] = field(default_factory=dict)
    """Acknowledged corrections by their markers."""
    lives: list[Life] = field(default_factory=list)
    runs: dict[str, Life] = field(default_factory=dict)
    """Runs that were promised to who asked for them by hand."""
    done: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def marker(self, letter: str) -> str:
        """A new text that occurs nowhere else."""
        return f"{letter}{next(self._numbers):07d}"

    def began(self, life: Life) -> None:
        """A space was created."""
        with self._lock:
            self.lives.append(life)

    def tried(self, marker: str) -> None:
        """A note of this marker was sent."""
        with self._lock:
            self.posted[marker] = 1

    def acknowledged(self, note: Note) -> None:
        """It was told that the note is kept."""
        with self._lock:
            self.notes.append(note)
            self.done["notes"] += 1

    def count(self, what: str, answer: str) -> None:
        """Something was asked, and answered so."""
        with self._lock:
            self.done[what] += 1
            self.answers[f"{what}: {answer}"] += 1
