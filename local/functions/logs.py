"""The log file of one function: JSON lines, written by its environments and, about them, by the runtime."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# At start a file past this size makes way for a new one; one old file is kept.
ROTATE_BYTES = 20 * 1024 * 1024


class FunctionLog:
    """Appends to `<folder>/<function>.log`; environments append to the same file by themselves."""

    def __init__(self, folder: Path, function_id: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = folder / f"{function_id}.log"
        if self.path.exists() and self.path.stat().st_size > ROTATE_BYTES:
            self.path.replace(self.path.with_suffix(".log.1"))

    def write_report(self, kind: str, record: dict[str, Any]) -> None:
        """Append a line in the form of Lambda's platform events, for example `platform.report`."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        line = json.dumps({"time": now, "type": kind, "record": record}, ensure_ascii=False).encode() + b"\n"
        # One write of one line: appended whole, also while environments write.
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
