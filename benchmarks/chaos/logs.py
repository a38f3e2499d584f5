"""What happened, as JSON lines in the data folder: who wants to know how a violation came about reads them."""

import json
import threading
import time
from pathlib import Path
from typing import Any


class Log:
    """One file. Times are in seconds since the benchmark began. Safe for threads."""

    def __init__(self, path: Path, began: float) -> None:
        self.path = path
        self._began = began
        self._lock = threading.Lock()
        self._file = path.open("a", encoding="utf-8")

    def now(self) -> float:
        """Seconds since the beginning."""
        return round(time.monotonic() - self._began, 3)

    def write(self, **fields: Any) -> None:
        """Append a line; fields that are None are left out."""
        line = json.dumps({name: value for name, value in fields.items() if value is not None}, ensure_ascii=False)
        with self._lock:
            self._file.write(line + "\n")

    def flush(self) -> None:
        """Bring it to the disk, for readers of the file."""
        with self._lock:
            self._file.flush()
