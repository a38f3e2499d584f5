"""The log of one function: JSON lines, written by its environments and, about them, by the runtime."""

import json
import os
import shutil
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# A file past this size is emptied, and what was in it is kept as one older file.
ROTATE_BYTES = 20 * 1024 * 1024
_STDOUT = 1


def keep_small(path: Path) -> None:
    """Empty a log that is past ROTATE_BYTES, after a copy to `<name>.1`. Lines written in between are lost.

    The file stays the same one, since processes that append to it keep it open.
    """
    with suppress(OSError):  # a log must not end the service, also where the disk is full
        if path.stat().st_size > ROTATE_BYTES:
            with suppress(OSError):
                shutil.copyfile(path, path.with_name(f"{path.name}.1"))
            os.truncate(path, 0)


class FunctionLog:
    """Appends to `<folder>/<function>.log`; environments append to the same file by themselves.

    Without a folder all of them write to standard output.
    """

    def __init__(self, folder: Path | None, function_id: str) -> None:
        self.path = folder / f"{function_id}.log" if folder else None
        self._lock = threading.Lock()
        if folder and self.path:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            keep_small(self.path)

    def write_report(self, kind: str, record: dict[str, Any]) -> None:
        """Append a line in the form of Lambda's platform events, for example `platform.report`. A line that the disk
        refuses is lost: a log must not end the service.
        """
        with suppress(OSError):
            self._append(kind, record)

    def _append(self, kind: str, record: dict[str, Any]) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        line = json.dumps({"time": now, "type": kind, "record": record}, ensure_ascii=False).encode() + b"\n"
        if self.path is None:
            os.write(_STDOUT, line)
            return
        # One write of one line: appended whole, also while environments write.
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
        # Of two threads at once the second one would keep the emptied file in the place of the full one.
        with self._lock:
            keep_small(self.path)
