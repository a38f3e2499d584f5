"""A queue on disk: an accepted entry is done again after a restart until its worker says that it is finished.

One JSON file per entry, named by time, so that a listing is in the order in which they came. Delivery is at least once.
"""

import json
import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.files import write_file

_log = logging.getLogger(__name__)


def gather(root: Path, target: Path) -> None:
    """Move what waits in the queues of a data folder, its own and its workers', to the queue of one of them."""
    (target / "queue").mkdir(mode=0o700, parents=True, exist_ok=True)
    for entry in [*root.glob("queue/*.json"), *root.glob("workers/*/queue/*.json")]:
        if entry.parent.parent != target:
            name = entry.name
            while (target / "queue" / name).exists():
                name = f"{name.removesuffix('.json')}0.json"
            entry.rename(target / "queue" / name)


@dataclass(frozen=True)
class Entry:
    """One piece of work: a name that is unique in its spool, and its content."""

    name: str
    content: dict[str, Any]


class Spool:
    """A folder of entries. Safe for threads of one process; two processes never share one."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._lock = threading.Lock()
        self._last = 0

    def add(self, content: dict[str, Any]) -> Entry:
        """Keep an entry. When this returns it survives the end of the process (not a power failure)."""
        with self._lock:
            # Two entries of one clock tick, or a clock that was set back, still get names in the order of provisioning.
            self._last = max(time.time_ns(), self._last + 1)
            name = f"{self._last:020d}.json"
        write_file(self._folder / name, json.dumps(content).encode(), sync=False)
        return Entry(name, content)

    def remove(self, entry: Entry) -> None:
        """Forget a finished entry; one that is gone already is no error."""
        (self._folder / entry.name).unlink(missing_ok=True)

    def load(self) -> list[Entry]:
        """Return what an earlier process left, oldest first; an unreadable file is set aside and reported."""
        entries = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                content = json.loads(path.read_bytes())
            except ValueError:
                path.rename(path.with_suffix(".unreadable"))
                _log.warning("%s: not readable, set aside", path)
                continue
            entries.append(Entry(path.name, content))
        return entries
