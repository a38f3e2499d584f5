"""The log of one function: JSON lines, of its invocations and, about them, of the runtime."""

import json
import os
import shutil
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from livemem import clock

# A file past this size is emptied, and what was in it is kept as one older file.
ROTATE_BYTES = 20 * 1024 * 1024


def keep_small(path: Path) -> None:
    """Empty a log that is past ROTATE_BYTES, after a copy to `<name>.1`. Lines written in between are lost.

    The file stays the same one, since other processes may keep it open.
    """
    with suppress(OSError):  # a log must not end the service, also where the disk is full
        if path.stat().st_size > ROTATE_BYTES:
            with suppress(OSError):
                shutil.copyfile(path, path.with_name(f"{path.name}.1"))
            os.truncate(path, 0)


class FunctionLog:
    """Appends to `<folder>/<function>.log`, without a folder to standard output. Safe for threads.

    A line that the disk refuses is lost: a log must not end the request that it is about.
    """

    def __init__(self, folder: Path | None, function_id: str) -> None:
        self.path = folder / f"{function_id}.log" if folder else None
        self._lock = threading.Lock()
        if folder and self.path:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            keep_small(self.path)

    def write_report(self, kind: str, record: dict[str, Any]) -> None:
        """Append a line in the form of Lambda's platform events, for example `platform.report`."""
        line = {"time": clock.iso_millis(clock.now()), "type": kind, "record": record}
        self.write(json.dumps(line, ensure_ascii=False))

    def write(self, line: str) -> None:
        """Append a line."""
        data = f"{line}\n".encode("utf-8", "replace")
        with suppress(OSError), self._lock:
            if self.path is None:
                sys.__stdout__.buffer.write(data)  # type: ignore[union-attr]
                sys.__stdout__.flush()  # type: ignore[union-attr]
                return
            # Opened for each line, since its user may remove it or move it away.
            with open(self.path, "ab", buffering=0) as file:  # noqa: PTH123 - a path's own `open` takes twice as long
                file.write(data)
                if file.tell() > ROTATE_BYTES:
                    keep_small(self.path)
