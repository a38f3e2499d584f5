"""Sessions of Cline's command line, which gives its hooks neither the words of the user nor the name of a file.

It keeps each session as one JSON document, which it writes again as a whole (3.0.65). The messages in it that are not
kept yet are kept as those of a client that hands them to its hooks.
"""

import json
import os
import re
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from live_memory.cli import own_files
from live_memory.cli.init.hooks import whole_sessions
from live_memory.cli.init.hooks.state import Files

MOST_BYTES = 64 * 1_048_576
"""Bytes of a document that is read. It holds the results of tools too."""
TRIES, PAUSE_SECONDS = 20, 0.05
"""The hook of an answer may begin a moment before the answer is in the document."""
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,199}", re.ASCII)


def path_of(environ: Mapping[str, str], session: str) -> Path | None:
    """The document of a session, by the variables that Cline itself reads. None: a name that is none of Cline's."""
    if not _NAME.fullmatch(session):
        return None
    home = environ.get("CLINE_DIR") or str(Path(environ.get("HOME") or Path.home()) / ".cline")
    data = environ.get("CLINE_DATA_DIR") or str(Path(home) / "data")
    folder = environ.get("CLINE_SESSION_DATA_DIR") or str(Path(data) / "sessions")
    return Path(folder) / session / f"{session}.messages.json"


def keep(
    path: Path,
    files: Files,
    log: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
    before: float | None = None,
) -> None:
    """Keep the messages of a document that are not kept yet, without what looks like a secret. Raises OSError.

    `before`: those until then alone (Unix time).
    """
    entries = _entries(path)
    for _ in range(TRIES):
        if entries and entries[-1].get("role") == "assistant":
            break
        sleep(PAUSE_SECONDS)
        entries = _entries(path)
    whole_sessions.keep(entries, files, log, before)


def _entries(path: Path) -> list[dict[str, Any]]:
    with open(path, "rb", opener=own_files.unblocked) as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_size > MOST_BYTES:
            raise OSError(f"{path} is not a file of at most {MOST_BYTES:,} bytes")
        try:
            document = json.loads(file.read(MOST_BYTES))
        except (ValueError, RecursionError):
            return []
    entries = document.get("messages") if isinstance(document, dict) else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
